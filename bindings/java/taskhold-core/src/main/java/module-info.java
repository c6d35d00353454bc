/**
 * The state of MCP tasks, MCP sessions and A2A tasks, kept by a native library. A backend has to be there too:
 * {@code dev.taskhold.ffm} or {@code dev.taskhold.jna}.
 *
 * @uses dev.taskhold.spi.NativeBackend the way to call the library
 */
module dev.taskhold {
    requires static org.jspecify;

    exports dev.taskhold;
    exports dev.taskhold.spi;

    uses dev.taskhold.spi.NativeBackend;
}
