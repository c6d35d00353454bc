package dev.taskhold.jackson;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Type;
import org.jspecify.annotations.Nullable;

/** The mapping by Jackson 2. What is written and read how is the mapper's: its modules, features and annotations. */
public final class Jackson2 implements JsonMapping {
    private final ObjectMapper mapper;

    /**
     * Makes the mapping of a mapper.
     *
     * @param mapper the mapper, which is not to be configured any more
     */
    public Jackson2(ObjectMapper mapper) {
        this.mapper = mapper;
    }

    @Override
    public String write(@Nullable Object value) {
        try {
            return mapper.writeValueAsString(value);
        } catch (JsonProcessingException refusal) {
            throw new IllegalArgumentException("The value cannot be written as JSON", refusal);
        }
    }

    @Override
    public <T> @Nullable T read(String json, Type type) {
        try {
            return mapper.readValue(json, mapper.constructType(type));
        } catch (JsonProcessingException refusal) {
            throw new IllegalArgumentException("The JSON is no " + type.getTypeName(), refusal);
        }
    }
}
