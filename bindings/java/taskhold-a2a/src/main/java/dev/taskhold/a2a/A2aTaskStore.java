package dev.taskhold.a2a;

import static dev.taskhold.a2a.TaskJson.caused;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.taskhold.Json;
import dev.taskhold.JsonWriter;
import dev.taskhold.Owner;
import dev.taskhold.SaveOptions;
import dev.taskhold.StateProvider;
import dev.taskhold.TaskholdException;
import io.a2a.jsonrpc.common.wrappers.ListTasksResult;
import io.a2a.server.tasks.TaskStateProvider;
import io.a2a.server.tasks.TaskStore;
import io.a2a.spec.InternalError;
import io.a2a.spec.InvalidParamsError;
import io.a2a.spec.ListTasksParams;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The SDK's {@code TaskStore} and {@code TaskStateProvider} over a {@link StateProvider}: where that one's store is a file or a
 * database, tasks outlive the process, and several processes serve them.
 *
 * <p>A task is kept as the JSON that the SDK's own mapper makes of it. A task that was completed, canceled, failed or rejected
 * never becomes active again, whichever process saves it; it stays active for the provider's grace period. The SDK tells its
 * stores nothing of the call, and saves on a thread of its own; so all tasks of one object have one owner: a server with
 * several owners makes a request handler for each, over {@link #of}.
 *
 * <p>Any thread may use it. A failed storage is {@link TaskholdException.Unavailable}, which the SDK turns into an internal error
 * for the client.
 */
public final class A2aTaskStore implements TaskStore, TaskStateProvider {
    private static final System.Logger LOG = System.getLogger("dev.taskhold");
    private static final String REPLICATED = SaveOptions.none().replicated().toJson();

    private final StateProvider provider;
    private final Owner owner;

    /**
     * Keeps the anonymous owner's tasks in a provider, which stays the caller's to close.
     *
     * @param provider the provider
     */
    public A2aTaskStore(StateProvider provider) {
        this(provider, Owner.ANONYMOUS);
    }

    private A2aTaskStore(StateProvider provider, Owner owner) {
        this.provider = provider;
        this.owner = owner;
    }

    /**
     * Gives the store of another owner's tasks in the same provider.
     *
     * @param owner the owner
     * @return that owner's store
     */
    public A2aTaskStore of(Owner owner) {
        return new A2aTaskStore(provider, owner);
    }

    Owner owner() {
        return owner;
    }

    /**
     * Gives the provider, which waits for saves, too, and keeps logs of events.
     *
     * @return the provider
     */
    public StateProvider provider() {
        return provider;
    }

    /**
     * Saves a task: a new one, or in place of the stored one.
     *
     * @param task the task
     * @param isReplicated whether another node saved it first: nothing is announced then
     * @throws InvalidParamsError the id or the context's id is empty or longer than 1024 bytes, or the task holds a value that
     *     JSON cannot hold
     * @throws TaskholdException.InvalidState {@code task_final}: the stored task is final, and this one is not
     * @throws TaskholdException.NotFound {@code task_not_found}: the id belongs to another owner
     * @throws TaskholdException.CapacityExhausted the limit of retained tasks is reached
     * @throws TaskholdException.LimitExceeded the task is too large or nested too deep
     */
    @Override
    public void save(Task task, boolean isReplicated) {
        try {
            provider.saveTask(owner.name(), TaskJson.write(task), isReplicated ? REPLICATED : null);
        } catch (TaskholdException.InvalidArgument refusal) {
            throw caused(new InvalidParamsError(refusal.getMessage()), refusal);
        }
    }

    /**
     * Finds one of the owner's tasks.
     *
     * @param taskId the task's id
     * @return the task; null for what is unknown, or is another owner's
     * @throws InternalError what is stored is not a task of the SDK
     */
    @Override
    public @Nullable Task get(String taskId) {
        try {
            return provider.getTask(owner.name(), taskId, null)
                    .map(found -> TaskJson.read(found.json()))
                    .orElse(null);
        } catch (TaskholdException.InvalidArgument noTaskHasThisId) {
            return null;
        }
    }

    /**
     * Deletes one of the owner's tasks, with its events and push notification configs; what is not there is left alone.
     *
     * @param taskId the task's id
     */
    @Override
    public void delete(String taskId) {
        try {
            provider.deleteTask(owner.name(), taskId);
        } catch (TaskholdException.InvalidArgument noTaskHasThisId) {
            return;
        }
    }

    /**
     * Lists the owner's tasks, one page, in the SDK's order: by the millisecond of the status descending, then by id. What is
     * stored and is not a task of the SDK is left out, and logged.
     *
     * @param params which ones; {@code statusTimestampAfter} includes that time, as the protocol says it, and is compared in whole
     *     milliseconds; the tenant is not looked at
     * @return a page
     * @throws InvalidParamsError the token is none, or one of another owner or of other filters; or the state is
     *     {@code UNRECOGNIZED}
     */
    @Override
    public ListTasksResult list(ListTasksParams params) {
        String page;
        try {
            page = provider.listTasks(owner.name(), query(params));
        } catch (TaskholdException.InvalidArgument refusal) {
            throw caused(new InvalidParamsError(refusal.getMessage()), refusal);
        }
        JsonObject members = JsonParser.parseString(page).getAsJsonObject();
        List<Task> tasks = new ArrayList<>();
        JsonArray corrupt = members.getAsJsonArray("corrupt");
        int unread = corrupt == null ? 0 : corrupt.size();
        for (JsonElement stored : members.getAsJsonArray("tasks")) {
            try {
                tasks.add(TaskJson.read(stored));
            } catch (InternalError refusal) {
                unread++;
            }
        }
        if (unread > 0) {
            LOG.log(System.Logger.Level.ERROR, "taskhold: {0} A2A tasks cannot be read, and are left out of a listing", unread);
        }
        String next = members.get("nextPageToken").getAsString();
        return new ListTasksResult(tasks, members.get("totalSize").getAsInt(), tasks.size(), next.isEmpty() ? null : next);
    }

    private static String query(ListTasksParams params) {
        TaskState state = params.status();
        return Json.writer()
                .text("contextId", params.contextId())
                .text("status", state == null ? null : state.name())
                .text("statusTimestampAfter", params.statusTimestampAfter() == null
                        ? null
                        : params.statusTimestampAfter().toString())
                .text("pageToken", params.pageToken())
                .number("pageSize", params.getEffectivePageSize())
                .number("historyLength", params.getEffectiveHistoryLength())
                .bool("includeArtifacts", params.shouldIncludeArtifacts())
                .toString();
    }

    /**
     * Tells whether a task is not final, or final but within the grace period after it became so.
     *
     * @param taskId the task's id, whoever owns it
     * @return whether it is active; false for an unknown task
     * @throws TaskholdException.Unavailable a failed storage is never reported as "not active"
     */
    @Override
    public boolean isTaskActive(String taskId) {
        try {
            return provider.isTaskActive(taskId);
        } catch (TaskholdException.InvalidArgument noTaskHasThisId) {
            return false;
        }
    }

    /**
     * Tells whether a task is in a final state, whatever the grace period.
     *
     * @param taskId the task's id, whoever owns it
     * @return whether it is final; false for an unknown task
     * @throws TaskholdException.Unavailable a failed storage is never reported as "not final"
     */
    @Override
    public boolean isTaskFinalized(String taskId) {
        try {
            return provider.isTaskFinalized(taskId);
        } catch (TaskholdException.InvalidArgument noTaskHasThisId) {
            return false;
        }
    }
}
