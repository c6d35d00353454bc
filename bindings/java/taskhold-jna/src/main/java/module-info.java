/**
 * The backend of taskhold for Java 17 and later, by JNA. From Java 24 on, start Java with
 * {@code --enable-native-access=com.sun.jna}, or with {@code ALL-UNNAMED} when the jars are on the class path.
 */
module dev.taskhold.jna {
    requires transitive dev.taskhold;
    requires com.sun.jna;
    requires static org.jspecify;

    exports dev.taskhold.jna;

    provides dev.taskhold.spi.NativeBackend with
            dev.taskhold.jna.JnaBackend;
}
