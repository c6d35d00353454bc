package dev.taskhold;

/**
 * A JSON text and the revision that it shows, both from one reading.
 *
 * @param json the text
 * @param revision the revision
 */
public record Revisioned(String json, long revision) {}
