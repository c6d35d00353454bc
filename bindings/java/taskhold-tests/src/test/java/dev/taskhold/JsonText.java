package dev.taskhold;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A small JSON reader and writer for the tests. Objects are ordered maps, numbers keep their text ({@link Num}), null is
 * {@link #NULL}.
 */
final class JsonText {
    static final Object NULL = new Object() {
        @Override
        public String toString() {
            return "null";
        }
    };

    private final String text;
    private int at;

    private JsonText(String text) {
        this.text = text;
    }

    /** A number, by its digits. */
    record Num(String digits) {
        @Override
        public String toString() {
            return digits;
        }
    }

    static Object parse(String text) {
        JsonText reader = new JsonText(text);
        Object value = reader.value();
        if (reader.next() != 0) {
            throw new IllegalArgumentException("something follows the JSON value at " + reader.at);
        }
        return value;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Object> array(Object value) {
        return (List<Object>) value;
    }

    /** The text of the value that a pointer names: a string decoded, anything else as it stands there. */
    static Optional<String> at(String text, String pointer) {
        JsonText reader = new JsonText(text);
        reader.next();
        for (String token : pointer.isEmpty() ? List.<String>of() : List.of(pointer.substring(1).split("/", -1))) {
            if (!reader.enter(token.replace("~1", "/").replace("~0", "~"))) {
                return Optional.empty();
            }
        }
        reader.next();
        int start = reader.at;
        Object value = reader.value();
        return Optional.of(value instanceof String string ? string : text.substring(start, reader.at));
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> members) {
            String separator = "{";
            for (Map.Entry<?, ?> member : members.entrySet()) {
                out.append(separator).append(Json.quote((String) member.getKey())).append(':');
                write(member.getValue(), out);
                separator = ",";
            }
            out.append(members.isEmpty() ? "{}" : "}");
        } else if (value instanceof List<?> elements) {
            String separator = "[";
            for (Object element : elements) {
                out.append(separator);
                write(element, out);
                separator = ",";
            }
            out.append(elements.isEmpty() ? "[]" : "]");
        } else {
            out.append(value instanceof String string ? Json.quote(string) : value.toString());
        }
    }

    /** Goes to the start of a member or an element of the value that begins here. */
    private boolean enter(String token) {
        char open = next();
        if (open != '{' && open != '[') {
            return false;
        }
        at++;
        for (int index = 0; next() != '}' && text.charAt(at) != ']'; index++) {
            String name = String.valueOf(index);
            if (open == '{') {
                name = string();
                expect(':');
            }
            if (name.equals(token)) {
                return true;
            }
            value();
            if (next() == ',') {
                at++;
            }
        }
        return false;
    }

    private Object value() {
        char first = next();
        switch (first) {
            case '{':
                Map<String, Object> members = new LinkedHashMap<>();
                for (at++; next() != '}'; ) {
                    next();
                    String name = string();
                    expect(':');
                    members.put(name, value());
                    comma('}');
                }
                at++;
                return members;
            case '[':
                List<Object> elements = new ArrayList<>();
                for (at++; next() != ']'; ) {
                    elements.add(value());
                    comma(']');
                }
                at++;
                return elements;
            case '"':
                return string();
            default:
                int start = at;
                while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
                    at++;
                }
                String word = text.substring(start, at);
                return switch (word) {
                    case "true" -> Boolean.TRUE;
                    case "false" -> Boolean.FALSE;
                    case "null" -> NULL;
                    case "" -> throw new IllegalArgumentException("a value is missing at " + at);
                    default -> new Num(word);
                };
        }
    }

    private void comma(char end) {
        if (next() == ',') {
            at++;
        } else if (next() != end) {
            throw new IllegalArgumentException("expected , or " + end + " at " + at);
        }
    }

    private void expect(char wanted) {
        if (next() != wanted) {
            throw new IllegalArgumentException("expected " + wanted + " at " + at);
        }
        at++;
    }

    /** The next character that is not white space, which stays to be read; 0 at the end. */
    private char next() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private String string() {
        StringBuilder string = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
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
                        unit = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
                        at += 4;
                    }
                    default -> { }
                }
            }
            string.append(unit);
        }
        at++;
        return string.toString();
    }
}
