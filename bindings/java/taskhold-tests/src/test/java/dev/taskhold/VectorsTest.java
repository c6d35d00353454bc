package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.TestFactory;

/** The cases that all languages share, on every storage backend that needs no server. */
@Order(2)
class VectorsTest {

    @TestFactory
    Stream<DynamicContainer> onEachBackend() throws IOException {
        List<Vectors.Case> cases = Vectors.all().stream().filter(one -> !one.raw()).toList();
        assertTrue(cases.size() > 600, "only " + cases.size() + " cases were found");
        return Backends.available().stream().map(backend -> DynamicContainer.dynamicContainer(
                backend,
                cases.stream()
                        .filter(one -> one.isFor(backend))
                        .map(one -> DynamicTest.dynamicTest(one.title(), () -> Vectors.play(one, backend)))));
    }
}
