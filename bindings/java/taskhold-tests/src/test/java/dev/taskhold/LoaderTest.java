package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.taskhold.outside.ModuleProbe;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Starts Java anew, to see how the library is found and loaded. */
class LoaderTest {
    private static final String BACKEND_JAR = "taskhold-" + Taskhold.backend();

    @TempDir
    private Path folder;

    /** What a Java that was started printed, and whether it ended well. */
    record Run(int status, String output) {
        String last() {
            return output.strip().substring(output.strip().lastIndexOf('\n') + 1);
        }
    }

    static Run java(Map<String, String> environment, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(Arrays.asList(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().remove("TASKHOLD_LIBRARY");
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        builder.environment().putAll(environment);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        return new Run(process.exitValue(), output);
    }

    /** Runs {@link Probe} with the class path of this test. */
    private static Run probe(Map<String, String> environment, String... options) throws IOException, InterruptedException {
        List<String> arguments = new ArrayList<>(Arrays.asList(options));
        if (Runtime.version().feature() >= 24) {
            arguments.addAll(List.of("--enable-native-access=ALL-UNNAMED", "--illegal-native-access=deny"));
        }
        arguments.addAll(List.of(
                "-Dtaskhold.backend=" + Taskhold.backend(), "-cp", System.getProperty("java.class.path"), Probe.class.getName()));
        return java(environment, arguments.toArray(String[]::new));
    }

    private List<Path> filesIn(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.toList();
        }
    }

    @Test
    void theLibraryInTheJarIsExtractedOnce() throws Exception {
        Path target = folder.resolve("private");
        for (int round = 0; round < 2; round++) {
            Run run = probe(Map.of(), "-Dtaskhold.tmpdir=" + target);
            assertEquals(0, run.status(), run.output());
            Path library = Path.of(run.last().split(" ")[0]);
            assertEquals(List.of(library), filesIn(target));
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(target)));
            assertTrue(library.getFileName().toString().matches("[0-9a-f]{32}-libtaskhold.so"), library.toString());
            // The second round finds a file that somebody cut short, and mends it.
            Files.write(library, new byte[] {1});
        }
    }

    @Test
    void theFolderMustBePrivate() throws Exception {
        Path open = Files.createDirectory(folder.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        Run run = probe(Map.of(), "-Dtaskhold.tmpdir=" + open);
        assertTrue(run.output().contains("it is not a folder that only this user can write"), run.output());
        assertEquals(List.of(), filesIn(open));
        Path link = Files.createSymbolicLink(folder.resolve("link"), Files.createDirectory(folder.resolve("behind")));
        assertTrue(probe(Map.of(), "-Dtaskhold.tmpdir=" + link).output().contains("it is not a folder"));
    }

    @Test
    void aTakenFolderStopsNobody() throws Exception {
        // Whoever takes the name: a file, a folder that others can write, a link.
        String user = System.getProperty("user.name");
        for (String taken : List.of("file", "open", "link", "nameless")) {
            Path temporary = Files.createDirectory(folder.resolve(taken));
            Path shared = temporary.resolve("taskhold-" + user);
            switch (taken) {
                case "file" -> Files.createFile(shared);
                case "open" -> Files.setPosixFilePermissions(
                        Files.createDirectory(shared), PosixFilePermissions.fromString("rwxrwxrwx"));
                case "link" -> Files.createSymbolicLink(shared, Files.createDirectory(temporary.resolve("behind")));
                default -> { }
            }
            String name = taken.equals("nameless") ? "?" : user;
            Run run = probe(Map.of(), "-Djava.io.tmpdir=" + temporary, "-Duser.name=" + name);
            assertEquals(0, run.status(), run.output());
            Path library = Path.of(run.last().split(" ")[0]);
            assertTrue(library.startsWith(temporary), library.toString());
            assertFalse(library.startsWith(shared), library.toString());
            assertFalse(library.startsWith(temporary.resolve("behind")), library.toString());
            // It goes with its process.
            assertFalse(Files.exists(library.getParent()), library.toString());
        }
        Path fresh = Files.createDirectory(folder.resolve("fresh"));
        Run run = probe(Map.of(), "-Djava.io.tmpdir=" + fresh);
        assertEquals(fresh.resolve("taskhold-" + user), Path.of(run.last().split(" ")[0]).getParent());
    }

    @Test
    void platformsAreTold() {
        assertEquals("linux-x86_64", Platform.key("Linux", "amd64", "7f /usr/lib/x86_64-linux-gnu/libc.so.6\n"));
        assertEquals("linux-x86_64-musl", Platform.key("Linux", "amd64", "7f /lib/ld-musl-x86_64.so.1\n"));
        assertEquals("linux-aarch64-musl", Platform.key("Linux", "aarch64", "7f /lib/ld-musl-aarch64.so.1\n"));
        assertEquals("macos-aarch64", Platform.key("Mac OS X", "aarch64", ""));
        assertEquals("macos-x86_64", Platform.key("Mac OS X", "x86_64", ""));
        assertEquals("windows-x86_64", Platform.key("Windows Server 2022", "amd64", ""));
        assertEquals("freebsd-riscv64", Platform.key("FreeBSD", "riscv64", ""));
        assertTrue(Platform.KNOWN.contains(Platform.current()), Platform.current());
    }

    @Test
    void aPlatformWithoutALibraryIsToldWhichThereAre() throws Exception {
        Run run = probe(Map.of(), "-Dos.arch=sparc");
        assertFalse(run.status() == 0);
        assertTrue(run.output().contains("no library for linux-sparc, only for " + Platform.current()), run.output());
    }

    @Test
    void aFileCanBeNamed() throws Exception {
        String built = Path.of(System.getProperty("taskhold.root"), "build", "lib", "libtaskhold.so.0").toRealPath().toString();
        assertEquals(built, probe(Map.of(), "-Dtaskhold.library=" + built).last().split(" ")[0]);
        assertEquals(built, probe(Map.of("TASKHOLD_LIBRARY", built)).last().split(" ")[0]);
        Run property = probe(Map.of("TASKHOLD_LIBRARY", built), "-Dtaskhold.library=/nowhere/lib.so");
        assertTrue(property.output().contains("-Dtaskhold.library is /nowhere/lib.so, which is not a file"), property.output());
        Run variable = probe(Map.of("TASKHOLD_LIBRARY", "/nowhere/lib.so"));
        assertTrue(variable.output().contains("TASKHOLD_LIBRARY is /nowhere/lib.so"), variable.output());
    }

    @Test
    void whatWasTriedIsTold() throws Exception {
        Path text = Files.writeString(folder.resolve("text.so"), "this is no library");
        Run run = probe(Map.of(), "-Dtaskhold.library=" + text);
        assertFalse(run.status() == 0);
        assertTrue(run.output().contains("the library " + text + " cannot be loaded; tried: "), run.output());
        assertTrue(run.output().contains(Taskhold.backend() + ": "), run.output());

        String core = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !entry.contains("taskhold-jna") && !entry.contains("taskhold-ffm"))
                .reduce((left, right) -> left + File.pathSeparator + right)
                .orElseThrow();
        Run alone = java(Map.of(), "-cp", core, Probe.class.getName());
        assertTrue(alone.output().contains("no backend is on the class path"), alone.output());
    }

    @Test
    void aBackendForANewerJavaIsSkipped() throws Exception {
        if (Runtime.version().feature() >= 22) {
            return;
        }
        // Both backends are on the class path here, and nobody chooses.
        Run run = java(Map.of(), "-cp", System.getProperty("java.class.path"), Probe.class.getName());
        assertEquals(0, run.status(), run.output());
        assertTrue(run.last().endsWith(" jna ok"), run.output());
    }

    @Test
    void theDefaultCharsetDoesNotMatter() throws Exception {
        List<String> charsets = new ArrayList<>(List.of("US-ASCII", "ISO-8859-1", "windows-31j", "UTF-8"));
        if (Taskhold.backend().equals("ffm")) {
            // JNA itself does not start when ASCII is not a part of the charset.
            charsets.addAll(List.of("UTF-16", "IBM037"));
        }
        for (String charset : charsets) {
            Run run = probe(Map.of("LC_ALL", "C", "LANG", "C"), "-Dfile.encoding=" + charset, "-Dstdout.encoding=UTF-8");
            assertEquals(0, run.status(), () -> charset + ": " + run.output());
        }
    }

    @Test
    void theModulesWorkOnTheModulePath() throws Exception {
        List<String> wanted = List.of("taskhold-core", BACKEND_JAR, "/jna/");
        String path = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> wanted.stream().anyMatch(entry::contains))
                .reduce((left, right) -> left + File.pathSeparator + right)
                .orElseThrow();
        String module = "dev.taskhold." + Taskhold.backend();
        List<String> arguments = new ArrayList<>(List.of("-p", path, "--add-modules", module));
        if (Runtime.version().feature() >= 24) {
            String granted = Taskhold.backend().equals("jna") ? "com.sun.jna" : module;
            arguments.addAll(List.of("--enable-native-access=" + granted, "--illegal-native-access=deny"));
        }
        // The probe is outside of the modules, and may use only what is public.
        arguments.addAll(List.of("-cp", ownClasses(), ModuleProbe.class.getName()));
        Run run = java(Map.of(), arguments.toArray(String[]::new));
        assertEquals("module dev.taskhold " + Taskhold.backend(), run.last(), run.output());
    }

    @Test
    void aNamedModuleCompilesAgainstThemAlone() throws Exception {
        Path source = Files.createDirectories(folder.resolve("consumer"));
        Files.writeString(source.resolve("module-info.java"), "module consumer { requires dev.taskhold; }");
        Files.writeString(source.resolve("Consumer.java"), """
                package consumer;

                class Consumer {
                    static String create(dev.taskhold.TaskManager tasks) {
                        return tasks.markTaskWorking(tasks.createTask("{}"), null, null);
                    }
                }
                """);
        String core = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> entry.contains("taskhold-core"))
                .findFirst()
                .orElseThrow();
        StringWriter output = new StringWriter();
        int status = ToolProvider.findFirst("javac").orElseThrow().run(
                new PrintWriter(output),
                new PrintWriter(output),
                "-Xlint:all", "-Werror", "-cp", source.toString(), "-p", core, "-d", folder.resolve("compiled").toString(),
                source.resolve("module-info.java").toString(), source.resolve("Consumer.java").toString());
        assertEquals(0, status, output.toString());
    }

    /** A folder with nothing but the probe, which is in a package of its own. */
    private String ownClasses() throws IOException {
        Path copy = folder.resolve("probe").resolve(ModuleProbe.class.getName().replace('.', '/') + ".class");
        Files.createDirectories(copy.getParent());
        try (InputStream in = ModuleProbe.class.getResourceAsStream("ModuleProbe.class")) {
            Files.write(copy, in.readAllBytes());
        }
        return folder.resolve("probe").toString();
    }

    /** Says which library was loaded, through which backend, and whether texts come back. */
    static final class Probe {
        public static void main(String[] arguments) {
            String text = "\u00e9\u65e5\ud83d\ude00";
            try (TaskManager tasks = TaskManager.builder().name(text).open()) {
                boolean same = Json.get(tasks.options(), "/name").orElseThrow().equals(text);
                String error = "";
                try {
                    tasks.markTaskWorking(text, null, null);
                } catch (TaskholdException.NotFound refusal) {
                    error = refusal.reason();
                }
                boolean ok = same && error.equals("task_not_found");
                System.out.println(Taskhold.library() + " " + Taskhold.backend() + (ok ? " ok" : " differs"));
                System.exit(ok ? 0 : 1);
            }
        }
    }
}
