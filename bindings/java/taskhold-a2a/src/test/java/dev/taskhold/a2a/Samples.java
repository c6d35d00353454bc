package dev.taskhold.a2a;

import io.a2a.spec.Artifact;
import io.a2a.spec.DataPart;
import io.a2a.spec.FilePart;
import io.a2a.spec.FileWithBytes;
import io.a2a.spec.FileWithUri;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatus;
import io.a2a.spec.TextPart;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Random tasks, of all that the SDK's records can hold and its mapper gives back as it was. */
final class Samples {
    private static final Instant START = Instant.parse("2026-01-31T12:00:00Z");
    private static final List<TaskState> STATES = List.of(TaskState.values()).stream()
            .filter(state -> state != TaskState.UNRECOGNIZED)
            .toList();

    private Samples() {}

    static Task task(Random random, String id) {
        return new Task(
                id,
                "context-" + random.nextInt(3),
                new TaskStatus(
                        state(random),
                        random.nextBoolean() ? message(random, 9) : null,
                        time(random).atOffset(ZoneOffset.ofHours(random.nextInt(3) - 1))),
                IntStream.range(0, random.nextInt(3)).mapToObj(at -> artifact(random, at)).toList(),
                IntStream.range(0, random.nextInt(4)).mapToObj(at -> message(random, at)).toList(),
                metadata(random));
    }

    static TaskState state(Random random) {
        return STATES.get(random.nextInt(STATES.size()));
    }

    /** Of 20 milliseconds, with what is below them. */
    static Instant time(Random random) {
        return START.plusMillis(random.nextInt(20)).plusNanos(random.nextInt(3) * 333_333L);
    }

    private static Message message(Random random, int at) {
        return Message.builder()
                .messageId("m" + at)
                .role(Message.Role.values()[random.nextInt(2)])
                .parts(parts(random))
                .metadata(metadata(random))
                .build();
    }

    private static Artifact artifact(Random random, int at) {
        return new Artifact("a" + at, random.nextBoolean() ? "name" : null, null, parts(random), metadata(random), null);
    }

    private static List<Part<?>> parts(Random random) {
        return switch (random.nextInt(4)) {
            case 0 -> List.of(new TextPart("<b>\"q\\\" \n\u0000 \u2028 \ud83d\ude00", metadata(random)));
            case 1 -> List.of(new DataPart(value(random, 3), metadata(random)), new TextPart("", null));
            case 2 -> List.of(new FilePart(new FileWithBytes("text/plain", "a.txt", "aGk="), metadata(random)));
            default -> List.of(new FilePart(new FileWithUri("text/plain", "a.txt", "file:///a.txt"), null));
        };
    }

    private static @Nullable Map<String, Object> metadata(Random random) {
        return random.nextBoolean() ? null : Map.of("key", value(random, 2), "", value(random, 0));
    }

    private static Object value(Random random, int depth) {
        return switch (random.nextInt(depth == 0 ? 5 : 7)) {
            case 0 -> "text " + random.nextInt(100);
            case 1 -> random.nextLong();
            case 2 -> random.nextDouble();
            case 3 -> random.nextBoolean();
            case 4 -> List.of(Long.MAX_VALUE, Long.MIN_VALUE, -0.0, 1e300, 5e-324).get(random.nextInt(5));
            case 5 -> List.of(value(random, depth - 1), value(random, depth - 1));
            default -> Map.of("inner", value(random, depth - 1));
        };
    }
}
