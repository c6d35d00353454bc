package dev.taskhold;

import java.time.Duration;
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

    /**
     * Lists the tasks of all owners, one page, for operators and never for clients; see {@link StateProvider#listTasks}.
     *
     * @param query which ones
     * @return a page; the tasks of one owner stand together, the anonymous owner's first
     */
    public Page<OwnedTask> listAll(A2aQuery query) {
        return pageOfAll(query.ofAllOwners());
    }

    /**
     * Walks over the tasks of all owners, page by page, for operators and never for clients.
     *
     * @param query which ones
     * @return the tasks; a terminal operation fails as {@link StateProvider#listTasks} does
     */
    public Stream<OwnedTask> streamAll(A2aQuery query) {
        return PageWalk.stream(() -> pageOfAll(query.ofAllOwners()), token -> pageOfAll(query.ofAllOwners(token)));
    }

    private Page<OwnedTask> pageOfAll(String params) {
        String json = provider.listTasks(null, params);
        JsonObject members = JsonObject.of(json);
        return Page.read(json, members, members.elements("tasks").stream().map(OwnedTask::read).toList());
    }

    private Page<A2aTask> page(Owner owner, String params) {
        String json = provider.listTasks(owner.name(), params);
        JsonObject members = JsonObject.of(json);
        List<String> tasks = members.elements("tasks");
        List<String> revisions = members.elements("revisions");
        List<A2aTask> all = new ArrayList<>();
        for (int at = 0; at < tasks.size(); at++) {
            all.add(new A2aTask(tasks.get(at), Long.parseLong(revisions.get(at))));
        }
        return Page.read(json, members, all);
    }

    /**
     * Reads a task's log of events, at most 100 at once; see {@link StateProvider#readEvents}.
     *
     * @param id the task's id, whoever owns it
     * @param afterRevision where to continue: {@link EventLog#next} of the part before, 0 at first
     * @return a part of the log, oldest first
     */
    public EventLog readEvents(TaskId id, long afterRevision) {
        return readEvents(id, afterRevision, 100);
    }

    /**
     * Reads a task's log of events; see {@link StateProvider#readEvents}.
     *
     * @param id the task's id, whoever owns it
     * @param afterRevision where to continue: {@link EventLog#next} of the part before, 0 at first
     * @param limit the most events, 1 to 1000
     * @return a part of the log, oldest first
     */
    public EventLog readEvents(TaskId id, long afterRevision, int limit) {
        String params = new JsonWriter().number("afterRevision", afterRevision).number("limit", limit).toString();
        return EventLog.read(provider.readEvents(id.value(), params));
    }

    /**
     * Waits until a task was saved since a revision was seen; see {@link StateProvider#waitTask}.
     *
     * @param id the task's id, whoever owns it
     * @param seenRevision the revision seen last; 0 for none
     * @param timeout the longest wait, real time; zero looks and returns
     * @return the task's revision
     * @throws InterruptedException if this thread is interrupted while it waits
     */
    public long await(TaskId id, long seenRevision, Duration timeout) throws InterruptedException {
        return provider.waitTask(id.value(), seenRevision, timeout);
    }

    /**
     * Keeps a push notification config for a task; see {@link StateProvider#setPushConfig}.
     *
     * @param owner whose task
     * @param id the task's id
     * @param config the config and its id
     */
    public void setPushConfig(Owner owner, TaskId id, PushConfig config) {
        provider.setPushConfig(owner.name(), id.value(), config.id(), config.json());
    }

    /**
     * Lists the push notification configs of a task; see {@link StateProvider#listPushConfigs}.
     *
     * @param owner whose task
     * @param id the task's id
     * @return the configs, the one that was set first coming first
     */
    public List<PushConfig> pushConfigs(Owner owner, TaskId id) {
        return PushConfig.all(provider.listPushConfigs(owner.name(), id.value(), null));
    }

    /**
     * Lists the push notification configs of a task whoever owns it, for sending notifications, never for clients; see
     * {@link StateProvider#listPushConfigs}.
     *
     * @param id the task's id
     * @return the configs, the one that was set first coming first
     */
    public List<PushConfig> pushConfigs(TaskId id) {
        return PushConfig.all(
                provider.listPushConfigs(null, id.value(), new JsonWriter().bool("anyOwner", true).toString()));
    }

    /**
     * Deletes a push notification config of a task; see {@link StateProvider#deletePushConfig}.
     *
     * @param owner whose task
     * @param id the task's id
     * @param configId the config's id; null deletes all of the task's
     */
    public void deletePushConfig(Owner owner, TaskId id, @Nullable String configId) {
        provider.deletePushConfig(owner.name(), id.value(), configId);
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
