package dev.taskhold.jackson;

import dev.taskhold.WorkHandler;
import java.lang.reflect.Type;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Makes objects of JSON texts and back: {@code mapping.read(work.input(), Order.class)},
 * {@code tasks.complete(id, mapping.write(receipt))}. It serves whatever is a text in {@code dev.taskhold}: arguments, results,
 * checkpoints, answers, metadata, the contexts of sessions. Any thread may use it.
 */
public interface JsonMapping {
    /**
     * Writes an object.
     *
     * @param value the object; null is written as {@code null}
     * @return its JSON
     * @throws IllegalArgumentException it has no JSON; the cause says why
     */
    String write(@Nullable Object value);

    /**
     * Reads an object of a type with parameters, which the caller's variable says again.
     *
     * @param <T> what is expected
     * @param json a JSON text
     * @param type what it is, such as the {@code getType()} of one of Jackson's type references
     * @return the object; null for the text {@code null}
     * @throws IllegalArgumentException the text is none of this type; the cause says why, and may quote it
     */
    <T> @Nullable T read(String json, Type type);

    /**
     * Reads an object.
     *
     * @param <T> what is expected
     * @param json a JSON text
     * @param type what it is
     * @return the object; null for the text {@code null}
     * @throws IllegalArgumentException the text is none of this type; the cause says why, and may quote it
     */
    default <T> @Nullable T read(String json, Class<T> type) {
        return this.<T>read(json, (Type) type);
    }

    /**
     * Reads what may be there, such as a result or a checkpoint.
     *
     * @param <T> what is expected
     * @param json a JSON text, if there is one
     * @param type what it is
     * @return the object, if the text is there and not {@code null}
     * @throws IllegalArgumentException the text is none of this type; the cause says why, and may quote it
     */
    default <T> Optional<T> read(Optional<String> json, Class<T> type) {
        return json.map(text -> read(text, type));
    }

    /**
     * Makes a handler for a {@link dev.taskhold.Worker} out of one that takes and gives objects. A task whose work is not there,
     * or is none of the type, is an attempt that did not succeed.
     *
     * @param <I> what the tasks' work is
     * @param input what the tasks' work is
     * @param handler what is done with each
     * @return the handler
     */
    default <I> WorkHandler handler(Class<I> input, MappedHandler<I> handler) {
        return work -> {
            I given = read(work.input(), input)
                    .orElseThrow(() -> new IllegalArgumentException("The task has no work"));
            Object result = handler.handle(given, work);
            return result == null ? null : write(result);
        };
    }
}
