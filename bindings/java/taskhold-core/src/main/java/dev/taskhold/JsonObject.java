package dev.taskhold;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The members of one JSON object that the library wrote, each by its text. It finds where values begin and end and checks
 * nothing else: what the library gives out is well formed. Payloads are never looked into.
 */
final class JsonObject {
    private final String text;
    private final List<String> names;
    /** The first character of the value of each name and the one after its last, in turn. */
    private final int[] spans;

    private JsonObject(String text, List<String> names, int[] spans) {
        this.text = text;
        this.names = names;
        this.spans = spans;
    }

    /**
     * Finds the members of an object.
     *
     * @throws IllegalArgumentException if the text is no JSON object
     */
    static JsonObject of(String text) {
        List<String> names = new ArrayList<>();
        int[] spans = new int[32];
        try {
            int at = expect(text, skipSpace(text, 0), '{');
            while (text.charAt(at) != '}') {
                if (text.charAt(at) != '"') {
                    throw new IllegalArgumentException("this is not a JSON object");
                }
                int end = skipString(text, at);
                int begin = expect(text, skipSpace(text, end), ':');
                if (2 * names.size() == spans.length) {
                    spans = Arrays.copyOf(spans, 2 * spans.length);
                }
                spans[2 * names.size()] = begin;
                spans[2 * names.size() + 1] = skipValue(text, begin);
                names.add(decoded(text, at, end));
                at = skipSpace(text, spans[2 * names.size() - 1]);
                if (text.charAt(at) != '}') {
                    at = expect(text, at, ',');
                }
            }
        } catch (StringIndexOutOfBoundsException cutShort) {
            throw new IllegalArgumentException("this is not a whole JSON object", cutShort);
        }
        return new JsonObject(text, names, spans);
    }

    private static int expect(String text, int at, char wanted) {
        if (text.charAt(at) != wanted) {
            throw new IllegalArgumentException("this is not a JSON object");
        }
        return skipSpace(text, at + 1);
    }

    /** Gives the text of a member's value; null when it is absent or null. */
    @Nullable String find(String name) {
        int at = names.indexOf(name) * 2;
        return at < 0 || text.startsWith("null", spans[at]) ? null : text.substring(spans[at], spans[at + 1]);
    }

    /** Gives the JSON text of a member's value; empty when it is absent or null. */
    Optional<String> json(String name) {
        return Optional.ofNullable(find(name));
    }

    /** Gives a string; empty when it is absent or null. */
    Optional<String> text(String name) {
        return json(name).map(JsonObject::string);
    }

    /** Gives a string that is always there. */
    String someText(String name) {
        return text(name).orElseThrow(() -> missing(name));
    }

    /** Gives a whole number that is always there. */
    long number(String name) {
        return Long.parseLong(json(name).orElseThrow(() -> missing(name)));
    }

    /** Gives a whole number; empty when it is absent or null. */
    OptionalLong someNumber(String name) {
        String found = find(name);
        return found == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(found));
    }

    /** Tells whether a member is true. */
    boolean flag(String name) {
        return "true".equals(find(name));
    }

    /** Gives a timestamp; empty when it is absent or null. */
    Optional<Instant> time(String name) {
        return text(name).map(Instant::parse);
    }

    /** Gives the elements of an array of strings; none when it is absent or null. */
    List<String> texts(String name) {
        return elements(name).stream().map(JsonObject::string).toList();
    }

    /** Gives the JSON text of a member that is always there, also when it is null. */
    String literal(String name) {
        int at = names.indexOf(name) * 2;
        if (at < 0) {
            throw missing(name);
        }
        return text.substring(spans[at], spans[at + 1]);
    }

    /** Gives the elements of an array, each as its JSON text; none when it is absent or null. */
    List<String> elements(String name) {
        return json(name).map(JsonObject::elementsOf).orElse(List.of());
    }

    /** Gives all members, each as its JSON text, in their order. */
    Map<String, String> members() {
        Map<String, String> all = new LinkedHashMap<>();
        for (int at = 0; at < names.size(); at++) {
            all.put(names.get(at), text.substring(spans[2 * at], spans[2 * at + 1]));
        }
        return all;
    }

    private static IllegalArgumentException missing(String name) {
        return new IllegalArgumentException("the object has no " + name);
    }

    /** Gives the elements of an array, each as its JSON text. */
    private static List<String> elementsOf(String array) {
        List<String> all = new ArrayList<>();
        int at = skipSpace(array, skipSpace(array, 0) + 1);
        while (array.charAt(at) != ']') {
            int end = skipValue(array, at);
            all.add(array.substring(at, end));
            at = skipSpace(array, end);
            if (array.charAt(at) == ',') {
                at = skipSpace(array, at + 1);
            }
        }
        return all;
    }

    /** Decodes a JSON string; anything else stays its text. */
    static String string(String json) {
        return json.charAt(0) == '"' ? decoded(json, 0, json.length()) : json;
    }

    private static int skipSpace(String text, int from) {
        int at = from;
        while (text.charAt(at) <= ' ') {
            at++;
        }
        return at;
    }

    private static int skipValue(String text, int from) {
        char first = text.charAt(from);
        if (first == '"') {
            return skipString(text, from);
        }
        int at = from;
        if (first != '{' && first != '[') {
            while (at < text.length() && ",]}".indexOf(text.charAt(at)) < 0 && text.charAt(at) > ' ') {
                at++;
            }
            return at;
        }
        int depth = 0;
        do {
            char unit = text.charAt(at);
            if (unit == '"') {
                at = skipString(text, at);
                continue;
            }
            if (unit == '{' || unit == '[') {
                depth++;
            } else if (unit == '}' || unit == ']') {
                depth--;
            }
            at++;
        } while (depth > 0);
        return at;
    }

    /** Gives the end of the string that begins at {@code from}: its closing quote is not escaped. */
    private static int skipString(String text, int from) {
        int quote = from;
        int slashes;
        do {
            quote = text.indexOf('"', quote + 1);
            if (quote < 0) {
                throw new StringIndexOutOfBoundsException(from);
            }
            slashes = 0;
            while (text.charAt(quote - 1 - slashes) == '\\') {
                slashes++;
            }
        } while (slashes % 2 == 1);
        return quote + 1;
    }

    private static String decoded(String text, int begin, int end) {
        int slash = text.indexOf('\\', begin);
        if (slash < 0 || slash >= end) {
            return text.substring(begin + 1, end - 1);
        }
        StringBuilder decoded = new StringBuilder(end - begin);
        for (int at = begin + 1; at < end - 1; at++) {
            char unit = text.charAt(at);
            if (unit == '\\') {
                unit = text.charAt(++at);
                switch (unit) {
                    case 'b' -> unit = '\b';
                    case 'f' -> unit = '\f';
                    case 'n' -> unit = '\n';
                    case 'r' -> unit = '\r';
                    case 't' -> unit = '\t';
                    case 'u' -> {
                        unit = (char) Integer.parseInt(text, at + 1, at + 5, 16);
                        at += 4;
                    }
                    default -> { }
                }
            }
            decoded.append(unit);
        }
        return decoded.toString();
    }
}
