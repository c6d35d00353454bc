package dev.taskhold.a2a;

import static dev.taskhold.a2a.TaskJson.caused;

import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import dev.taskhold.Owner;
import dev.taskhold.StateProvider;
import dev.taskhold.TaskholdException;
import io.a2a.jsonrpc.common.json.JsonUtil;
import io.a2a.server.tasks.PushNotificationConfigStore;
import io.a2a.spec.InvalidParamsError;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.ListTaskPushNotificationConfigResult;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.TaskNotFoundError;
import io.a2a.spec.TaskPushNotificationConfig;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The SDK's {@code PushNotificationConfigStore}: configs are stored with their task, and go with it. One that a client sends along
 * with the message that makes the task waits in this process for the task's first save. Tokens and credentials are stored as they
 * are. Any thread may use it.
 */
public final class A2aPushConfigStore implements PushNotificationConfigStore {
    private final StateProvider provider;
    private final Owner owner;

    /**
     * Keeps the configs of a store's tasks.
     *
     * @param tasks the store
     */
    public A2aPushConfigStore(A2aTaskStore tasks) {
        this.provider = tasks.provider();
        this.owner = tasks.owner();
    }

    /**
     * Keeps a config, in the place of the one with the same id.
     *
     * @param taskId the task's id
     * @param config the config; without an id it has the task's
     * @return the config, with its id
     * @throws InvalidParamsError an id is empty, or longer than 1024 bytes
     * @throws TaskNotFoundError the task is another owner's
     * @throws TaskholdException.CapacityExhausted the task has 100 configs
     */
    @Override
    public PushNotificationConfig setInfo(String taskId, PushNotificationConfig config) {
        String id = config.id();
        PushNotificationConfig named = id == null || id.isEmpty()
                ? PushNotificationConfig.builder(config).id(taskId).build()
                : config;
        try {
            provider.setPushConfig(owner.name(), taskId, named.id(), JsonUtil.OBJECT_MAPPER.toJson(named));
        } catch (TaskholdException.InvalidArgument refusal) {
            throw caused(new InvalidParamsError(refusal.getMessage()), refusal);
        } catch (TaskholdException.NotFound refusal) {
            throw caused(new TaskNotFoundError(), refusal);
        }
        return named;
    }

    /**
     * Lists the configs of one of the owner's tasks, the one that was set first coming first.
     *
     * @param params the task's id, and the page; all of them without a page size
     * @return a page
     * @throws InvalidParamsError the token is none, or its config has gone
     */
    @Override
    public ListTaskPushNotificationConfigResult getInfo(ListTaskPushNotificationConfigParams params) {
        List<TaskPushNotificationConfig> configs = configs(params);
        int begin = params.pageSize() <= 0 ? 0 : place(configs, params.pageToken());
        int rest = configs.size() - begin;
        if (params.pageSize() <= 0 || rest <= params.pageSize()) {
            return new ListTaskPushNotificationConfigResult(configs.subList(begin, configs.size()), null);
        }
        int end = begin + params.pageSize();
        return new ListTaskPushNotificationConfigResult(
                configs.subList(begin, end), configs.get(end).config().id());
    }

    private List<TaskPushNotificationConfig> configs(ListTaskPushNotificationConfigParams params) {
        String listed;
        try {
            listed = provider.listPushConfigs(owner.name(), params.id(), null);
        } catch (TaskholdException.InvalidArgument noTaskHasThisId) {
            return List.of();
        }
        List<TaskPushNotificationConfig> configs = new ArrayList<>();
        for (JsonElement entry :
                JsonParser.parseString(listed).getAsJsonObject().getAsJsonArray("configs")) {
            PushNotificationConfig config = JsonUtil.OBJECT_MAPPER.fromJson(
                    entry.getAsJsonObject().get("config"), PushNotificationConfig.class);
            configs.add(new TaskPushNotificationConfig(params.id(), config, params.tenant()));
        }
        return configs;
    }

    /** A token is the id of the config that a page begins with, as in the SDK's store. */
    private static int place(List<TaskPushNotificationConfig> configs, @Nullable String token) {
        if (token == null || token.isBlank()) {
            return 0;
        }
        for (int at = 0; at < configs.size(); at++) {
            if (token.equals(configs.get(at).config().id())) {
                return at;
            }
        }
        throw new InvalidParamsError("Invalid page token");
    }

    /**
     * Deletes a config of one of the owner's tasks; what is not there is left alone.
     *
     * @param taskId the task's id
     * @param configId the config's id; null stands for the task's
     */
    @Override
    public void deleteInfo(String taskId, @Nullable String configId) {
        try {
            provider.deletePushConfig(owner.name(), taskId, configId == null ? taskId : configId);
        } catch (TaskholdException.InvalidArgument noTaskHasThisId) {
            return;
        }
    }
}
