package dev.taskhold.jackson;

import tools.jackson.core.JacksonException;
import tools.jackson.databind.ObjectMapper;
import java.lang.reflect.Type;
import org.jspecify.annotations.Nullable;

/** The mapping by Jackson 3. What is written and read how is the mapper's: its modules, features and annotations. */
public final class Jackson3 implements JsonMapping {
    private final ObjectMapper mapper;

    /**
     * Makes the mapping of a mapper.
     *
     * @param mapper the mapper, which is not to be configured any more
     */
    public Jackson3(ObjectMapper mapper) {
        this.mapper = mapper;
    }

    @Override
    public String write(@Nullable Object value) {
        try {
            return mapper.writeValueAsString(value);
        } catch (JacksonException refusal) {
            throw new IllegalArgumentException("The value cannot be written as JSON", refusal);
        }
    }

    @Override
    public <T> @Nullable T read(String json, Type type) {
        try {
            return mapper.readValue(json, mapper.constructType(type));
        } catch (JacksonException refusal) {
            throw new IllegalArgumentException("The JSON is no " + type.getTypeName(), refusal);
        }
    }
}
