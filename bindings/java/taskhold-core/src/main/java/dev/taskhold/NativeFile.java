package dev.taskhold;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/**
 * Finds the native library: {@code -Dtaskhold.library}, the environment variable {@code TASKHOLD_LIBRARY}, or the file
 * inside the jar. That one is copied once, under the hash of its content, into a folder that only this user can
 * write: {@code -Dtaskhold.tmpdir}, else a folder in {@code java.io.tmpdir}, or a fresh one there when that name is taken.
 */
final class NativeFile {
    private static final Set<PosixFilePermission> PRIVATE = PosixFilePermissions.fromString("rwx------");
    private static final Set<PosixFilePermission> WRITABLE_BY_OTHERS =
            Set.of(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);
    private static final String NAME = System.mapLibraryName("taskhold");

    private NativeFile() {}

    static Path locate() {
        String property = System.getProperty("taskhold.library");
        if (property != null && !property.isEmpty()) {
            return given("-Dtaskhold.library", property);
        }
        String variable = System.getenv("TASKHOLD_LIBRARY");
        if (variable != null && !variable.isEmpty()) {
            return given("TASKHOLD_LIBRARY", variable);
        }
        return extracted();
    }

    private static Path given(String source, String value) {
        Path file = Path.of(value).toAbsolutePath();
        if (!Files.isRegularFile(file)) {
            throw new UnsatisfiedLinkError(source + " is " + value + ", which is not a file");
        }
        return file;
    }

    private static Path extracted() {
        String platform = Platform.current();
        String resource = resource(platform);
        byte[] library;
        try (InputStream in = NativeFile.class.getResourceAsStream(resource)) {
            if (in == null) {
                List<String> there = Platform.KNOWN.stream()
                        .filter(other -> NativeFile.class.getResource(resource(other)) != null)
                        .toList();
                throw new UnsatisfiedLinkError("tried -Dtaskhold.library: not set; TASKHOLD_LIBRARY: not set; the jar: it has "
                        + "no library for " + platform + ", only for " + (there.isEmpty() ? "none" : String.join(", ", there)));
            }
            library = in.readAllBytes();
        } catch (IOException failure) {
            throw new UnsatisfiedLinkError("cannot read " + resource + " in the jar: " + failure);
        }
        String chosen = System.getProperty("taskhold.tmpdir");
        if (chosen != null && !chosen.isEmpty()) {
            Path folder = Path.of(chosen).toAbsolutePath();
            try {
                return copy(library, folder);
            } catch (IOException | UnsupportedOperationException failure) {
                throw cannotExtract(folder, failure.toString());
            }
        }
        return extractedAnywhere(library);
    }

    private static String resource(String platform) {
        return "native/" + platform + "/" + NAME;
    }

    /**
     * Extracts into the folder that this user's processes share, so that the file is there once. Anybody can take that
     * folder's name in a folder for all; then, and when it goes away meanwhile, this process has a folder of its own.
     */
    private static Path extractedAnywhere(byte[] library) {
        Path temporary = Path.of(System.getProperty("java.io.tmpdir")).toAbsolutePath();
        String user = System.getProperty("user.name", "");
        Path shared = temporary.resolve("taskhold-" + user);
        String why = "there is no user name";
        // Users without a name are all called "?".
        if (user.matches("[\\p{L}\\p{N}._@-]+")) {
            try {
                return copy(library, shared);
            } catch (IOException | UnsupportedOperationException refusal) {
                why = refusal.toString();
            }
        }
        try {
            // Java makes it with a random name, for this user only, and it must not be there yet.
            Path own = Files.createTempDirectory(temporary, "taskhold-");
            own.toFile().deleteOnExit();
            Path file = own.resolve(NAME);
            file.toFile().deleteOnExit();
            return Files.write(file, library, StandardOpenOption.CREATE_NEW);
        } catch (IOException failure) {
            throw cannotExtract(shared, why + ", nor into a folder of its own: " + failure);
        }
    }

    private static UnsatisfiedLinkError cannotExtract(Path folder, String why) {
        return new UnsatisfiedLinkError(
                "cannot extract the library into " + folder + ": " + why + " (another folder: -Dtaskhold.tmpdir)");
    }

    /** Puts the library into the folder, unless it is there already. Two processes may do it at once. */
    private static Path copy(byte[] library, Path folder) throws IOException {
        try {
            Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(PRIVATE));
        } catch (FileAlreadyExistsException expected) {
            // Whether it may be used is looked at below.
        }
        Path fresh = Files.createTempFile(folder, "new", ".tmp");
        try {
            checkPrivate(folder, fresh);
            Path target = folder.resolve(hash(library) + "-" + NAME);
            if (!Files.isRegularFile(target, LinkOption.NOFOLLOW_LINKS)
                    || !Arrays.equals(Files.readAllBytes(target), library)) {
                Files.write(fresh, library);
                Files.move(fresh, target, StandardCopyOption.ATOMIC_MOVE);
            }
            return target;
        } finally {
            Files.deleteIfExists(fresh);
        }
    }

    /** Someone else who could write into the folder could put code into this process. */
    private static void checkPrivate(Path folder, Path own) throws IOException {
        boolean mine = Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
                && Files.getOwner(folder).equals(Files.getOwner(own))
                && Collections.disjoint(Files.getPosixFilePermissions(folder), WRITABLE_BY_OTHERS);
        if (!mine) {
            throw new IOException("it is not a folder that only this user can write");
        }
    }

    private static String hash(byte[] library) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(library);
            return HexFormat.of().formatHex(digest, 0, 16);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
