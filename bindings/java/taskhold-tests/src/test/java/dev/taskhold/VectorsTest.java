package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The cases that all languages share, on every storage backend that there is. */
@Order(2)
class VectorsTest {

    @TestFactory
    Stream<DynamicContainer> onEachBackend() throws IOException {
        List<Vectors.Case> cases = Vectors.all().stream().filter(one -> !one.raw()).toList();
        assertTrue(cases.size() > 600, "only " + cases.size() + " cases were found");
        return Backends.ofVectors().stream().map(backend -> DynamicContainer.dynamicContainer(
                backend,
                cases.stream()
                        .filter(one -> one.isFor(backend))
                        .map(one -> DynamicTest.dynamicTest(one.title(), () -> Vectors.play(one, backend)))));
    }

    @Test
    void aCaseThatDoesNotHoldFails() {
        assertThrows(AssertionError.class, () -> Vectors.play(oneStep("\"out\": {\"subset\": {\"revision\": 2}}"), "memory"));
        assertThrows(AssertionError.class, () -> Vectors.play(oneStep("\"status\": \"conflict\""), "memory"));
        assertThrows(AssertionError.class, () -> Vectors.play(oneStep("\"unheardOf\": 1"), "memory"));
    }

    private static Vectors.Case oneStep(String expect) {
        Object steps = JsonText.parse("""
                [{"open": "manager", "as": "m"},
                 {"call": "manager_create_task", "on": "m", "args": {"creation": {"endpoint": "", "origin": 1}},
                  "expect": {%s}}]""".formatted(expect));
        return new Vectors.Case("none", "one step", false, null, 0, JsonText.array(steps));
    }
}
