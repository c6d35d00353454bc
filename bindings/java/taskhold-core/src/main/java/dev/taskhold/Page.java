package dev.taskhold;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One page of a listing.
 *
 * @param items what is on this page
 * @param nextPageToken the token of the next page; empty on the last one
 * @param totalSize how many there are on all pages, where the listing counts them
 * @param corrupt the ids of records on this page that cannot be read, each as the library names it
 * @param json the page as the library gave it
 * @param <T> what is listed
 */
public record Page<T>(
        List<T> items, Optional<String> nextPageToken, OptionalLong totalSize, List<String> corrupt, String json) {
    /** Keeps copies of the lists. */
    public Page {
        items = List.copyOf(items);
        corrupt = List.copyOf(corrupt);
    }

    static <T> Page<T> read(String json, JsonObject members, List<T> items) {
        return new Page<>(
                items,
                members.text("nextPageToken").filter(token -> !token.isEmpty()),
                members.someNumber("totalSize"),
                members.texts("corrupt"),
                json);
    }
}
