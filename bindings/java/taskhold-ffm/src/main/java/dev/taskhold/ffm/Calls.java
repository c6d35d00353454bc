package dev.taskhold.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.taskhold.spi.Abi;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Binds C functions by the methods of {@link Abi} and calls those of the common forms. Pointers cross as
 * {@code JAVA_LONG}, so that a form is a number of arguments.
 */
final class Calls {
    private static final Linker LINKER = Linker.nativeLinker();

    private static volatile @Nullable SymbolLookup library;

    private Calls() {}

    /** Loads the file; it stays loaded, as a library with threads or thread-local values has to. */
    static void load(Path file) {
        library = SymbolLookup.libraryLookup(file, Arena.global());
    }

    /** Binds the C function {@code name}, which is also the name of a method of {@link Abi}. */
    static MethodHandle bind(String name) {
        SymbolLookup lookup = library;
        if (lookup == null) {
            throw new IllegalStateException("no library is loaded");
        }
        Method method = Arrays.stream(Abi.class.getMethods())
                .filter(candidate -> candidate.getName().equals(name))
                .findFirst()
                .orElseThrow();
        MemoryLayout[] parameters =
                Arrays.stream(method.getParameterTypes()).map(Calls::layout).toArray(MemoryLayout[]::new);
        Class<?> returned = method.getReturnType();
        FunctionDescriptor descriptor = returned == void.class
                ? FunctionDescriptor.ofVoid(parameters)
                : FunctionDescriptor.of(layout(returned), parameters);
        return LINKER.downcallHandle(
                lookup.find(name).orElseThrow(() -> new UnsatisfiedLinkError("no function " + name)), descriptor);
    }

    private static MemoryLayout layout(Class<?> type) {
        return type == int.class ? JAVA_INT : JAVA_LONG;
    }

    /** Names the texts of a call. */
    static byte[] @Nullable [] texts(byte[] @Nullable ... texts) {
        return texts;
    }

    /** Calls a function of a handle, then texts, then outputs. */
    static int call(MethodHandle function, long handle, byte[] @Nullable [] texts, Object... outputs) {
        try (Frame frame = new Frame()) {
            long[] a = new long[texts.length + outputs.length];
            int count = 0;
            for (byte @Nullable [] text : texts) {
                a[count++] = frame.in(text);
            }
            for (Object output : outputs) {
                a[count++] = frame.out(output);
            }
            int status = switch (count) {
                case 1 -> (int) function.invokeExact(handle, a[0]);
                case 2 -> (int) function.invokeExact(handle, a[0], a[1]);
                case 3 -> (int) function.invokeExact(handle, a[0], a[1], a[2]);
                case 4 -> (int) function.invokeExact(handle, a[0], a[1], a[2], a[3]);
                case 5 -> (int) function.invokeExact(handle, a[0], a[1], a[2], a[3], a[4]);
                case 6 -> (int) function.invokeExact(handle, a[0], a[1], a[2], a[3], a[4], a[5]);
                case 7 -> (int) function.invokeExact(handle, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
                default -> throw new IllegalArgumentException("no function has " + count + " of these");
            };
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    /** Calls a function of a handle, then a number, then an output and the error. */
    static int call(MethodHandle function, long handle, int number, long[] output, long[] error) {
        try (Frame frame = new Frame()) {
            int status = (int) function.invokeExact(handle, number, frame.out(output), frame.out(error));
            return frame.returned(status);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    /** Calls a function of a handle and nothing else. */
    static int close(MethodHandle function, long handle) {
        try {
            return (int) function.invokeExact(handle);
        } catch (Throwable failure) {
            throw unexpected(failure);
        }
    }

    /** A downcall throws nothing by itself; what comes is an error of the virtual machine. */
    static RuntimeException unexpected(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return failure instanceof RuntimeException exception ? exception : new IllegalStateException(failure);
    }
}
