package dev.taskhold;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Texts on their way into the library: UTF-8 with a final NUL, whatever the default charset is. */
final class Text {
    /** A byte that no UTF-8 has. */
    private static final byte NEVER_UTF8 = (byte) 0xFF;

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

    /**
     * Encodes a request as it came from outside. What cannot cross is no JSON either, and becomes bytes that are no JSON, so
     * that the library answers as to anything that cannot be parsed.
     */
    static byte[] request(String text) {
        try {
            return Objects.requireNonNull(utf8(text));
        } catch (TaskholdException.InvalidArgument cannotCross) {
            return new byte[] {NEVER_UTF8, 0};
        }
    }

    /** Terminates a request that is encoded already. A NUL is no JSON, and must not end the text early. */
    static byte[] request(byte[] body) {
        byte[] terminated = Arrays.copyOf(body, body.length + 1);
        for (int at = 0; at < body.length; at++) {
            if (terminated[at] == 0) {
                terminated[at] = NEVER_UTF8;
            }
        }
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
