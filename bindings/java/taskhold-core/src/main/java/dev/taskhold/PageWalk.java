package dev.taskhold;

import java.util.Iterator;
import java.util.List;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** Walks over all pages of a listing. A page is asked for when the one before it is used up. */
final class PageWalk<T> extends Spliterators.AbstractSpliterator<T> {
    private final Supplier<Page<T>> first;
    private final Function<String, Page<T>> following;
    private @Nullable Page<T> page;
    private Iterator<T> items = List.<T>of().iterator();

    private PageWalk(Supplier<Page<T>> first, Function<String, Page<T>> following) {
        super(Long.MAX_VALUE, Spliterator.ORDERED | Spliterator.NONNULL | Spliterator.IMMUTABLE);
        this.first = first;
        this.following = following;
    }

    /** Gives the items of all pages: the first one, and then that of each token. */
    static <T> Stream<T> stream(Supplier<Page<T>> first, Function<String, Page<T>> following) {
        return StreamSupport.stream(new PageWalk<>(first, following), false);
    }

    @Override
    public boolean tryAdvance(Consumer<? super T> action) {
        // A page may be empty and yet not the last one.
        while (!items.hasNext()) {
            Page<T> current = page;
            if (current == null) {
                current = first.get();
            } else if (current.nextPageToken().isPresent()) {
                current = following.apply(current.nextPageToken().get());
            } else {
                return false;
            }
            page = current;
            items = current.items().iterator();
        }
        action.accept(items.next());
        return true;
    }
}
