package dev.taskhold;

import dev.taskhold.spi.Abi;
import dev.taskhold.spi.NativeBackend;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/** The library of this process: which backend calls it, from which file. Loaded at the first use. */
final class Library {
    /** The version of the C interface that these classes are written for. */
    static final int ABI_VERSION = 1;

    static final Path FILE;
    static final String BACKEND;
    static final Abi ABI;

    static {
        List<String> tried = new ArrayList<>();
        List<NativeBackend> backends = backends(tried);
        if (backends.isEmpty()) {
            throw failure("no backend is on the class path or module path: add taskhold-ffm (Java 22 and later) or "
                    + "taskhold-jna", tried);
        }
        FILE = NativeFile.locate();
        Abi loaded = null;
        String name = "";
        for (NativeBackend backend : backends) {
            try {
                loaded = backend.load(FILE);
                name = backend.name();
                break;
            } catch (LinkageError refusal) {
                tried.add(backend.name() + ": " + chain(refusal));
            }
        }
        if (loaded == null) {
            throw failure("the library " + FILE + " cannot be loaded", tried);
        }
        int version = loaded.taskhold_abi_version();
        if (version != ABI_VERSION) {
            throw failure("the library " + FILE + " has version " + version + " of the C interface, not "
                    + ABI_VERSION, tried);
        }
        ABI = loaded;
        BACKEND = name;
    }

    private Library() {}

    /** The backends that this Java can run, the preferred one first; what cannot is noted in {@code tried}. */
    private static List<NativeBackend> backends(List<String> tried) {
        String wanted = System.getProperty("taskhold.backend", "auto");
        List<NativeBackend> found = new ArrayList<>();
        Iterator<NativeBackend> services =
                ServiceLoader.load(NativeBackend.class, Library.class.getClassLoader()).iterator();
        // A provider for a newer Java fails in hasNext() or in next(), with an error of either kind, and the
        // following one comes all the same. The bound is for a loader that fails without end.
        for (int failures = 0; failures < 16; ) {
            try {
                if (!services.hasNext()) {
                    break;
                }
                NativeBackend backend = services.next();
                if (wanted.equals("auto") || wanted.equals(backend.name())) {
                    found.add(backend);
                } else {
                    tried.add(backend.name() + ": not wanted, taskhold.backend is " + wanted);
                }
            } catch (ServiceConfigurationError | LinkageError refusal) {
                failures++;
                tried.add(chain(refusal));
            }
        }
        found.sort(Comparator.comparingInt(NativeBackend::preference).reversed());
        return found;
    }

    /** A failed initialiser has its reason in the cause only. */
    private static String chain(Throwable refusal) {
        Throwable cause = refusal.getCause();
        return cause == null ? refusal.toString() : refusal + ", because of " + chain(cause);
    }

    private static UnsatisfiedLinkError failure(String message, List<String> tried) {
        return new UnsatisfiedLinkError(tried.isEmpty() ? message : message + "; tried: " + String.join("; ", tried));
    }
}
