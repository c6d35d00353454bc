package dev.taskhold;

import static dev.taskhold.Text.utf8;

import java.util.Optional;

/** Small JSON tools, for programs that have no JSON library. */
public final class Json {
    private Json() {}

    /**
     * Reads one value out of a JSON text.
     *
     * @param json a JSON text
     * @param pointer an RFC 6901 pointer: {@code ""} is the whole text, {@code "/task/taskId"} a member of a member,
     *     {@code "/tasks/0"} an element
     * @return the value: a string decoded, anything else as its text in {@code json}; empty when it is not there
     * @throws TaskholdException.InvalidArgument if {@code json} or {@code pointer} is malformed ({@code invalid_value}), or
     *     if the string holds U+0000 ({@code embedded_nul}: ask for its parent)
     * @throws TaskholdException.LimitExceeded {@code nesting_too_deep}
     */
    public static Optional<String> get(String json, String pointer) {
        long[] value = new long[1];
        long[] error = new long[1];
        int status = Library.ABI.taskhold_json_get(utf8(json), utf8(pointer), value, error);
        return Optional.ofNullable(Outcome.text(status, value, error));
    }

    /**
     * Begins a JSON object.
     *
     * @return a writer without any member
     */
    public static JsonWriter writer() {
        return new JsonWriter();
    }

    /** Refuses a text that is not one JSON value; {@code key} says where it was to go. */
    static void check(String json, String key) {
        try {
            get(json, "");
        } catch (TaskholdException.LimitExceeded tooDeep) {
            // It is too deep for the call that it is for, too, which names its own limit.
        } catch (TaskholdException.InvalidArgument refusal) {
            if (!refusal.reason().equals("embedded_nul") || json.indexOf(0) >= 0) {
                throw TaskholdException.about(key, refusal);
            }
        }
    }

    /**
     * Writes a JSON string.
     *
     * @param text any text without an unpaired surrogate
     * @return the string with its quotes; characters that JSON does not allow inside are escaped, others stand as they are
     */
    public static String quote(String text) {
        StringBuilder quoted = new StringBuilder(text.length() + 2).append('"');
        for (int at = 0; at < text.length(); at++) {
            char unit = text.charAt(at);
            if (unit == '"' || unit == '\\') {
                quoted.append('\\').append(unit);
            } else if (unit < ' ') {
                quoted.append(String.format("\\u%04x", (int) unit));
            } else {
                quoted.append(unit);
            }
        }
        return quoted.append('"').toString();
    }
}
