package dev.taskhold;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Texts on their way into the library: UTF-8 with a final NUL, whatever the default charset is. */
final class Text {
    private Text() {}

    /**
     * Encodes a text; null stays null. What would not survive is refused: U+0000 would end the text early, and an
     * unpaired surrogate has no encoding.
     */
    static byte @Nullable [] utf8(@Nullable String text) {
        if (text == null) {
            return null;
        }
        check(text);
        byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
        byte[] terminated = new byte[encoded.length + 1];
        System.arraycopy(encoded, 0, terminated, 0, encoded.length);
        return terminated;
    }

    private static void check(String text) {
        for (int at = 0; at < text.length(); at++) {
            char unit = text.charAt(at);
            if (unit == 0) {
                throw refusal("embedded_nul", "a string holds U+0000 where it must cross as a C string");
            }
            if (Character.isSurrogate(unit)) {
                boolean pair = Character.isHighSurrogate(unit)
                        && at + 1 < text.length()
                        && Character.isLowSurrogate(text.charAt(at + 1));
                if (!pair) {
                    throw refusal("lone_surrogate", "a string has a surrogate without its other half");
                }
                at++;
            }
        }
    }

    private static TaskholdException refusal(String reason, String message) {
        return TaskholdException.made(Status.INVALID_ARGUMENT, reason, message);
    }
}
