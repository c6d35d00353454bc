package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.taskhold.spi.Abi;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What the files beside the code say of it is true. */
class PackagingTest {
    private static final Path BINDING = Path.of(System.getProperty("taskhold.root"), "bindings", "java");
    private static final Pattern ARTIFACT = Pattern.compile("<artifactId>(taskhold-[\\w-]+)</artifactId>\\s*<version>([^<]*)<");
    private static final Pattern MODULE = Pattern.compile("<module>(taskhold-[\\w-]+)</module>");

    private static Set<String> found(Pattern pattern, String text) {
        return pattern.matcher(text).results().map(one -> one.group(1)).collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void theBomNamesWhatIsPublished() throws IOException {
        Set<String> published = found(MODULE, Files.readString(BINDING.resolve("pom.xml")));
        published.removeAll(Set.of("taskhold-bom", "taskhold-tests", "taskhold-bench", "taskhold-bundle"));
        String bom = Files.readString(BINDING.resolve("taskhold-bom/pom.xml"));
        Set<String> named = found(ARTIFACT, bom.substring(bom.indexOf("<dependencyManagement>")));
        assertEquals(published, named);
        Matcher version = Pattern.compile("taskhold-parent</artifactId>\\s*<version>([^<]*)<")
                .matcher(Files.readString(BINDING.resolve("pom.xml")));
        assertTrue(version.find());
        assertTrue(bom.contains("<version>" + version.group(1) + "</version>"), version.group(1));
    }

    @Test
    void aNativeImageKnowsEveryCall() throws IOException {
        Path file = BINDING.resolve("taskhold-ffm/src/main/resources/META-INF/native-image/dev.taskhold/taskhold-ffm/"
                + "reachability-metadata.json");
        Map<String, Object> foreign =
                JsonText.object(JsonText.object(JsonText.parse(Files.readString(file))).get("foreign"));
        Set<String> known = JsonText.array(foreign.get("downcalls")).stream()
                .map(JsonText::write)
                .collect(Collectors.toCollection(TreeSet::new));
        Set<String> made = Arrays.stream(Abi.class.getMethods())
                .filter(method -> method.getName().startsWith("taskhold_"))
                .map(PackagingTest::downcall)
                .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(String.join("\n", made), String.join("\n", known));
    }

    @Test
    void aNativeImageTakesTheLibraryAlong() throws IOException {
        String library = "dev/taskhold/native/" + Platform.current() + "/libtaskhold.so";
        assertNotNull(Taskhold.class.getResource("/" + library), library);
        Path file = BINDING.resolve("taskhold-core/src/main/resources/META-INF/native-image/dev.taskhold/taskhold-core/"
                + "reachability-metadata.json");
        List<Object> resources = JsonText.array(JsonText.object(JsonText.parse(Files.readString(file))).get("resources"));
        assertTrue(
                resources.stream()
                        .map(resource -> "glob:" + JsonText.object(resource).get("glob"))
                        .anyMatch(glob -> FileSystems.getDefault().getPathMatcher(glob).matches(Path.of(library))),
                library);
    }

    /** Pointers cross as numbers. */
    private static String downcall(Method method) {
        String parameters = Arrays.stream(method.getParameterTypes())
                .map(PackagingTest::nativeType)
                .map(Json::quote)
                .collect(Collectors.joining(","));
        return "{\"returnType\":" + Json.quote(nativeType(method.getReturnType())) + ",\"parameterTypes\":[" + parameters + "]}";
    }

    private static String nativeType(Class<?> type) {
        return type == void.class ? "void" : type == int.class ? "jint" : "jlong";
    }
}
