package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.taskhold.spi.Abi;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Compares the functions and the constants here with the C header. The JNA backend declares the methods of {@link Abi} as
 * native ones, and the other one binds functions by them, so that there is one place to compare.
 */
class HeaderTest {
    private static final Pattern FUNCTION = Pattern.compile("^(\\w[\\w ]*?[ *]+)(taskhold_\\w+)\\(([^;]*)\\);", Pattern.MULTILINE);
    /** No C code calls into Java. */
    private static final Set<String> CALLBACKS = Set.of("taskhold_manager_subscribe", "taskhold_subscription_close");

    private static final Pattern CONSTANT =
            Pattern.compile("^#define TASKHOLD_(\\w+) (\\d+)$", Pattern.MULTILINE);

    private final String header = Files.readString(Path.of(System.getProperty("taskhold.root"), "include", "taskhold.h"));

    HeaderTest() throws IOException {}

    @Test
    void everyFunctionHasItsSignature() {
        Map<String, String> wanted = new TreeMap<>();
        Matcher functions = FUNCTION.matcher(header);
        while (functions.find()) {
            if (!CALLBACKS.contains(functions.group(2))) {
                wanted.put(functions.group(2), signature(functions.group(1), functions.group(3)));
            }
        }
        assertTrue(wanted.size() > 50, "the header was not understood");

        Map<String, String> declared = new TreeMap<>();
        for (Method method : Abi.class.getMethods()) {
            if (method.getName().startsWith("taskhold_")) {
                declared.put(method.getName(), method.getReturnType().getSimpleName() + Arrays.stream(
                                method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")")));
            }
        }
        assertEquals(lines(wanted), lines(declared));
    }

    private static String lines(Map<String, String> functions) {
        return functions.entrySet().stream()
                .map(function -> function.getKey() + " " + function.getValue())
                .collect(Collectors.joining("\n"));
    }

    private static String signature(String returned, String parameters) {
        String list = parameters.strip().equals("void")
                ? ""
                : Arrays.stream(parameters.split(","))
                        .map(parameter -> javaType(parameter.strip().replaceFirst("\\w+$", "")))
                        .collect(Collectors.joining(", "));
        return (returned.equals("const char *") ? "long" : javaType(returned)) + "(" + list + ")";
    }

    private static String javaType(String c) {
        String type = c.replace(" ", "");
        return switch (type) {
            case "void", "int" -> type;
            case "taskhold_status", "int32_t", "uint32_t" -> "int";
            case "int64_t", "uint64_t", "char*" -> "long";
            case "int32_t*" -> "int[]";
            case "uint64_t*", "char**" -> "long[]";
            case "constchar*" -> "byte[]";
            default -> {
                assertTrue(type.matches("taskhold_\\w+\\*{1,2}"), "unknown type " + c);
                yield type.endsWith("**") ? "long[]" : "long";
            }
        };
    }

    @Test
    void everyConstantHasItsValue() {
        Map<String, Integer> wanted = new TreeMap<>();
        Matcher constants = CONSTANT.matcher(header);
        while (constants.find()) {
            if (!constants.group(1).startsWith("VERSION_")) {
                wanted.put(constants.group(1), Integer.parseInt(constants.group(2)));
            }
        }
        Map<String, Integer> declared = new TreeMap<>(Map.of("ABI_VERSION", Library.ABI_VERSION));
        for (Status status : Status.values()) {
            if (status != Status.UNKNOWN) {
                declared.put(status.name(), status.code());
                assertEquals(
                        status.name().toLowerCase(Locale.ROOT),
                        Library.ABI.text(Library.ABI.taskhold_status_name(status.code())));
            }
        }
        for (Rendering rendering : Rendering.values()) {
            declared.put("RENDER_" + rendering.name(), rendering.code());
        }
        for (Liveness liveness : Liveness.values()) {
            declared.put("LIVENESS_" + liveness.name(), liveness.code());
            assertEquals(liveness, Liveness.of(liveness.code()));
        }
        assertEquals(wanted, declared);
    }

    @Test
    void everyStatusIsAnExceptionOfItsOwn() {
        for (Status status : Status.values()) {
            TaskholdException exception = TaskholdException.made(status, "reason", "message");
            if (status == Status.OK || status == Status.UNKNOWN) {
                assertEquals(TaskholdException.class, exception.getClass());
            } else {
                assertEquals(
                        status.name().replace("_", ""),
                        exception.getClass().getSimpleName().toUpperCase(Locale.ROOT));
                assertEquals(status, exception.status());
            }
        }
    }
}
