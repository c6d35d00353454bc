package dev.taskhold.jna;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import dev.taskhold.spi.Abi;
import dev.taskhold.spi.NativeBackend;
import java.nio.file.Path;
import java.util.Map;

/** Calls the library through JNA, on Java 17 and later. */
public final class JnaBackend implements NativeBackend {

    /** Makes the backend; {@link java.util.ServiceLoader} does it. */
    public JnaBackend() {}

    @Override
    public String name() {
        return "jna";
    }

    @Override
    public int preference() {
        return 1;
    }

    @Override
    public Abi load(Path library) {
        if (Native.POINTER_SIZE != Long.BYTES) {
            throw new UnsatisfiedLinkError("this is not a 64-bit Java");
        }
        Native.register(
                JnaAbi.class,
                NativeLibrary.getInstance(library.toString(), Map.of(Library.OPTION_STRING_ENCODING, "UTF-8")));
        return new JnaAbi();
    }
}
