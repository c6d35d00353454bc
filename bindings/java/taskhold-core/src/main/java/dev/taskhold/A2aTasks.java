package dev.taskhold;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A2A tasks as objects: the calls of a {@link StateProvider} with {@link A2aTask} in the place of texts. Each method fails as
 * that of {@link StateProvider} which it names. Any thread may use it.
 */
public final class A2aTasks implements AutoCloseable {
    private final StateProvider provider;

    private A2aTasks(StateProvider provider) {
        this.provider = provider;
    }

    /**
     * Opens a provider of tasks in this process's memory.
     *
     * @return the tasks
     */
    public static A2aTasks open() {
        return open(StateProvider.builder());
    }

    /**
     * Opens a provider of tasks.
     *
     * @param options where the tasks live, and more
     * @return the tasks
     * @throws TaskholdException.InvalidArgument {@code invalid_value}: {@link TaskholdException#key} names the option
     */
    public static A2aTasks open(StateProvider.Builder options) {
        return new A2aTasks(options.open());
    }

    /**
     * Gives the tasks of a provider that is open. Closing them closes it.
     *
     * @param provider the provider
     * @return the tasks
     */
    public static A2aTasks over(StateProvider provider) {
        return new A2aTasks(provider);
    }

    /**
     * Gives the provider: the same calls with texts, and as futures.
     *
     * @return the provider
     */
    public StateProvider provider() {
        return provider;
    }

    /**
     * Saves a task; see {@link StateProvider#saveTask}.
     *
     * @param owner whose task it is
     * @param task an A2A Task object, kept byte for byte
     * @return the task as it is stored now
     */
    public A2aTask save(Owner owner, String task) {
        return save(owner, task, null);
    }

    /**
     * Saves a task; see {@link StateProvider#saveTask}.
     *
     * @param owner whose task it is
     * @param task an A2A Task object, kept byte for byte
     * @param options conditions, or null
     * @return the task as it is stored now
     */
    public A2aTask save(Owner owner, String task, @Nullable SaveOptions options) {
        return new A2aTask(
                task, provider.saveTask(owner.name(), task, options == null ? null : options.toJson()));
    }

    /**
     * Finds one of the owner's tasks, with its whole history; see {@link StateProvider#getTask}.
     *
     * @param owner whose task
     * @param id the task's id
     * @return the task
     */
    public Optional<A2aTask> find(Owner owner, TaskId id) {
        return provider.getTask(owner.name(), id.value(), null)
                .map(found -> new A2aTask(found.json(), found.revision()));
    }

    /**
     * Finds one of the owner's tasks; see {@link StateProvider#getTask}.
     *
     * @param owner whose task
     * @param id the task's id
     * @param historyLength the most messages that come along, the last ones
     * @return the task
     */
    public Optional<A2aTask> find(Owner owner, TaskId id, int historyLength) {
        String params = new JsonWriter().number("historyLength", historyLength).toString();
        return provider.getTask(owner.name(), id.value(), params)
                .map(found -> new A2aTask(found.json(), found.revision()));
    }

    /**
     * Deletes one of the owner's tasks; see {@link StateProvider#deleteTask}.
     *
     * @param owner whose task
     * @param id the task's id
     */
    public void delete(Owner owner, TaskId id) {
        provider.deleteTask(owner.name(), id.value());
    }

    /**
     * Lists the owner's tasks, one page; see {@link StateProvider#listTasks}.
     *
     * @param owner whose tasks
     * @param query which ones
     * @return a page
     */
    public Page<A2aTask> list(Owner owner, A2aQuery query) {
        return page(owner, query.typed());
    }

    /**
     * Walks over the owner's tasks, page by page, as the stream is read. Records that cannot be read are left out;
     * {@link #list} names them.
     *
     * @param owner whose tasks
     * @param query which ones
     * @return the tasks; a terminal operation fails as {@link StateProvider#listTasks} does
     */
    public Stream<A2aTask> stream(Owner owner, A2aQuery query) {
        return PageWalk.stream(() -> page(owner, query.typed()), token -> page(owner, query.typed(token)));
    }

    private Page<A2aTask> page(Owner owner, String params) {
        String json = provider.listTasks(owner.name(), params);
        JsonObject members = JsonObject.of(json);
        List<String> tasks = members.json("tasks").map(JsonObject::elements).orElse(List.of());
        List<String> revisions = members.json("revisions").map(JsonObject::elements).orElse(List.of());
        List<A2aTask> all = new ArrayList<>();
        for (int at = 0; at < tasks.size(); at++) {
            all.add(new A2aTask(tasks.get(at), Long.parseLong(revisions.get(at))));
        }
        return Page.read(json, members, all);
    }

    /**
     * Tells where a task stands; see {@link StateProvider#taskLiveness}.
     *
     * @param id the task's id, whoever owns it
     * @return where it stands
     */
    public Liveness liveness(TaskId id) {
        return provider.taskLiveness(id.value());
    }

    /**
     * Opens a queue of events; see {@link StateProvider#openEvents}.
     *
     * @param capacity the most events that wait in it, at least 1
     * @return the queue
     */
    public TaskEvents openEvents(int capacity) {
        return provider.openEvents(capacity);
    }

    /** Closes the provider; see {@link StateProvider#close}. */
    @Override
    public void close() {
        provider.close();
    }
}
