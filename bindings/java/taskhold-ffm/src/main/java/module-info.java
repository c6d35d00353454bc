/**
 * The backend of taskhold for Java 22 and later. Start Java with {@code --enable-native-access=dev.taskhold.ffm}, or
 * with {@code ALL-UNNAMED} when the jars are on the class path.
 */
module dev.taskhold.ffm {
    requires transitive dev.taskhold;
    requires static org.jspecify;

    exports dev.taskhold.ffm;

    provides dev.taskhold.spi.NativeBackend with
            dev.taskhold.ffm.FfmBackend;
}
