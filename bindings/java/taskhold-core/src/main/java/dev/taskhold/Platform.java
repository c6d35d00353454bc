package dev.taskhold;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * The platform that a native library is for: {@code linux-x86_64}, {@code linux-x86_64-musl}, {@code macos-aarch64} and so on.
 * On Linux the C library counts too: a file for glibc cannot be loaded by a Java that was built for musl, nor the reverse.
 */
final class Platform {
    /** Those that a jar may hold a library for. */
    static final List<String> KNOWN = List.of(
            "linux-x86_64",
            "linux-x86_64-musl",
            "linux-aarch64",
            "linux-aarch64-musl",
            "macos-x86_64",
            "macos-aarch64",
            "windows-x86_64",
            "windows-aarch64");

    private Platform() {}

    /** The platform of this process. */
    static String current() {
        return key(System.getProperty("os.name"), System.getProperty("os.arch"), mappedFiles());
    }

    /**
     * Gives the name of a platform.
     *
     * @param os the value of {@code os.name}
     * @param arch the value of {@code os.arch}
     * @param mapped on Linux what the process has mapped, as {@code /proc/self/maps} lists it
     */
    static String key(String os, String arch, String mapped) {
        String system = os.toLowerCase(Locale.ROOT);
        String machine = arch.toLowerCase(Locale.ROOT);
        String family = system.startsWith("mac") || system.startsWith("darwin")
                ? "macos"
                : system.startsWith("windows") ? "windows" : system.replace(' ', '_');
        String processor = switch (machine) {
            case "amd64", "x64", "x86-64", "x86_64" -> "x86_64";
            case "arm64", "aarch64" -> "aarch64";
            default -> machine;
        };
        // The dynamic loader of musl is its C library too, so that every process over it has it mapped.
        boolean musl = family.equals("linux") && mapped.contains("/ld-musl-");
        return family + "-" + processor + (musl ? "-musl" : "");
    }

    private static String mappedFiles() {
        try {
            return Files.readString(Path.of("/proc/self/maps"), StandardCharsets.ISO_8859_1);
        } catch (IOException | SecurityException unknown) {
            return "";
        }
    }
}
