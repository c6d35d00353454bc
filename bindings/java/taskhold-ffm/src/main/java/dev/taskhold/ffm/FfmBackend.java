package dev.taskhold.ffm;

import dev.taskhold.spi.Abi;
import dev.taskhold.spi.NativeBackend;
import java.nio.file.Path;

/** Calls the library through {@code java.lang.foreign}, on Java 22 and later. */
public final class FfmBackend implements NativeBackend {

    /** Makes the backend; {@link java.util.ServiceLoader} does it. */
    public FfmBackend() {}

    @Override
    public String name() {
        return "ffm";
    }

    @Override
    public int preference() {
        return 2;
    }

    @Override
    public Abi load(Path library) {
        try {
            Calls.load(library);
        } catch (IllegalCallerException refusal) {
            Module module = FfmBackend.class.getModule();
            String name = module.isNamed() ? module.getName() : "ALL-UNNAMED";
            throw new UnsatisfiedLinkError(refusal.getMessage() + " (start Java with --enable-native-access=" + name + ")");
        } catch (IllegalArgumentException refusal) {
            throw new UnsatisfiedLinkError(refusal.getMessage());
        }
        return new FfmAbi();
    }
}
