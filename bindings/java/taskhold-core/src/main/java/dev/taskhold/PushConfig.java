package dev.taskhold;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where a client wants to be told of an A2A task. Whether the URL in it may be called is the host's to decide.
 *
 * @param id the config's id, unique for its task; null stands for the task's id
 * @param json the config, a JSON object, byte for byte as it was given
 */
public record PushConfig(@Nullable String id, String json) {

    static List<PushConfig> all(String list) {
        return JsonObject.of(list).elements("configs").stream()
                .map(JsonObject::of)
                .map(config -> new PushConfig(config.someText("id"), config.literal("config")))
                .toList();
    }
}
