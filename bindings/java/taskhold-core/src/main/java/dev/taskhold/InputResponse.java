package dev.taskhold;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** What a client answered to one input request. */
public final class InputResponse extends Snapshot {
    InputResponse(String json) {
        super(json);
    }

    /**
     * Reads an answer.
     *
     * @param json a JSON object
     * @return the answer
     */
    public static InputResponse of(String json) {
        return new InputResponse(json);
    }

    /** Reads answers by key. */
    static Map<String, InputResponse> all(String json) {
        Map<String, InputResponse> all = new LinkedHashMap<>();
        JsonObject.of(json).members().forEach((key, answer) -> all.put(key, new InputResponse(answer)));
        return all;
    }

    /**
     * Tells whether the user accepted an elicitation; the alternatives are to decline and to cancel it.
     *
     * @return whether {@code action} is {@code accept}
     */
    public boolean isAccepted() {
        return members().text("action").filter("accept"::equals).isPresent();
    }

    /**
     * Gives one field of an accepted form. The library checked the shape of the answer, but not against the requested schema.
     *
     * @param field the name of the field
     * @return its value: a string decoded, anything else as its JSON text; empty when it is absent or null
     */
    public Optional<String> field(String field) {
        return members().json("content")
                .filter(content -> content.startsWith("{"))
                .map(content -> JsonObject.of(content).find(field))
                .map(JsonObject::string);
    }

    /**
     * Gives the content: the fields of a form, or what the model said.
     *
     * @return JSON; empty when it is absent or null
     */
    public Optional<String> content() {
        return members().json("content");
    }
}
