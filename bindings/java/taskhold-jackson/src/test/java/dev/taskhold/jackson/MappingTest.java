package dev.taskhold.jackson;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.taskhold.Caller;
import dev.taskhold.Claim;
import dev.taskhold.TaskCreation;
import dev.taskhold.TaskId;
import dev.taskhold.TaskRecord;
import dev.taskhold.Tasks;
import dev.taskhold.Work;
import dev.taskhold.WorkHandler;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Payloads cross as objects by either Jackson. */
class MappingTest {
    record Order(String item, int count, @Nullable List<String> notes) {}

    record Receipt(String of, double price) {}

    /** A mapping, and the type of a map from texts to orders. */
    record Jackson(JsonMapping mapping, Type orders) {}

    static Stream<Named<Jackson>> both() {
        return Stream.of(
                Named.of(
                        "Jackson 2",
                        new Jackson(
                                new Jackson2(new com.fasterxml.jackson.databind.ObjectMapper()),
                                new com.fasterxml.jackson.core.type.TypeReference<Map<String, Order>>() {}.getType())),
                Named.of(
                        "Jackson 3",
                        new Jackson(
                                new Jackson3(new tools.jackson.databind.ObjectMapper()),
                                new tools.jackson.core.type.TypeReference<Map<String, Order>>() {}.getType())));
    }

    @ParameterizedTest
    @MethodSource("both")
    void whatIsWrittenIsRead(Jackson jackson) {
        JsonMapping mapping = jackson.mapping();
        Order order = new Order("a\"\u0000\u2028\ud83d\ude00", 3, List.of("x"));
        assertEquals(order, mapping.read(mapping.write(order), Order.class));
        assertEquals(Map.of("k", order), mapping.<Map<String, Order>>read(mapping.write(Map.of("k", order)), jackson.orders()));
        assertEquals(Optional.of(order), mapping.read(Optional.of(mapping.write(order)), Order.class));
        assertEquals(Optional.empty(), mapping.read(Optional.empty(), Order.class));
        assertEquals(Optional.empty(), mapping.read(Optional.of("null"), Order.class));
        assertEquals("null", mapping.write(null));
        assertNull(mapping.read("null", Order.class));
    }

    @ParameterizedTest
    @MethodSource("both")
    void whatDoesNotFitIsRefusedWithoutThePayload(Jackson jackson) {
        JsonMapping mapping = jackson.mapping();
        for (String text : List.of("", "{", "\"secret\"", "{\"count\":\"secret\"}")) {
            IllegalArgumentException refusal =
                    assertThrows(IllegalArgumentException.class, () -> mapping.read(text, Order.class), text);
            assertFalse(refusal.getMessage().contains("secret"));
            assertTrue(refusal.getMessage().contains("Order"), refusal.getMessage());
            assertNotNull(refusal.getCause());
        }
        Object[] itself = new Object[1];
        itself[0] = itself;
        assertThrows(IllegalArgumentException.class, () -> mapping.write(itself));
    }

    @ParameterizedTest
    @MethodSource("both")
    void aHandlerTakesAndGivesObjects(Jackson jackson) throws Exception {
        JsonMapping mapping = jackson.mapping();
        try (Tasks tasks = Tasks.open()) {
            TaskId id = tasks.create(queued().work(mapping.write(new Order("tea", 2, null)))).taskId();
            WorkHandler handler = mapping.handler(Order.class, (order, work) -> {
                work.checkpoint(mapping.write(order));
                return new Receipt(order.item(), order.count() * 1.5);
            });
            try (Work work = claim(tasks)) {
                work.complete(handler.handle(work));
            }
            TaskRecord record = tasks.find(id).orElseThrow();
            assertEquals(
                    Optional.of(new Receipt("tea", 3.0)), mapping.read(record.task().result(), Receipt.class));
        }
    }

    @ParameterizedTest
    @MethodSource("both")
    void aHandlerMayEndTheWorkItself(Jackson jackson) throws Exception {
        try (Tasks tasks = Tasks.open()) {
            tasks.create(queued().work("{\"item\":\"tea\",\"count\":0}"));
            try (Work work = claim(tasks)) {
                assertNull(jackson.mapping().handler(Order.class, (order, same) -> null).handle(work));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("both")
    void workThatIsNotThereOrOfAnotherTypeIsRefused(Jackson jackson) throws Exception {
        WorkHandler handler = jackson.mapping().handler(Order.class, (order, work) -> fail("no work"));
        for (TaskCreation creation : List.of(queued(), queued().work("null"), queued().work("[1]"))) {
            try (Tasks tasks = Tasks.open()) {
                tasks.create(creation);
                try (Work work = claim(tasks)) {
                    assertThrows(IllegalArgumentException.class, () -> handler.handle(work));
                }
            }
        }
    }

    private static TaskCreation queued() {
        return TaskCreation.of(Caller.at("/mcp"), "{\"name\":\"buy\"}").queue("orders");
    }

    private static Work claim(Tasks tasks) throws InterruptedException {
        return tasks.claim(Claim.from("orders"), Duration.ZERO).orElseThrow();
    }
}
