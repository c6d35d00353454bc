/** Payloads as objects, by Jackson 2 or Jackson 3, of which an application brings the one that it uses. */
module dev.taskhold.jackson {
    requires transitive dev.taskhold;
    requires static com.fasterxml.jackson.databind;
    requires static tools.jackson.databind;
    requires static org.jspecify;

    exports dev.taskhold.jackson;
}
