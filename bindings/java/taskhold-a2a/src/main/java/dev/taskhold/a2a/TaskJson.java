package dev.taskhold.a2a;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import dev.taskhold.Json;
import io.a2a.jsonrpc.common.json.JsonUtil;
import io.a2a.spec.InternalError;
import io.a2a.spec.InvalidParamsError;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import java.util.Locale;

/** Tasks as the texts that the SDK's own mapper makes of them, without the object that it puts around an event. */
final class TaskJson {
    private static final String AROUND = Task.STREAMING_EVENT_ID;

    private TaskJson() {}

    static String write(Task task) {
        String event;
        try {
            event = JsonUtil.OBJECT_MAPPER.toJson(task);
        } catch (IllegalArgumentException refusal) {
            // The mapper's message has the value.
            throw caused(new InvalidParamsError("The task holds a value that JSON cannot hold"), refusal);
        }
        return Json.get(event, "/" + AROUND).orElseThrow();
    }

    static Task read(String json) {
        return read(JsonParser.parseString(json));
    }

    static Task read(JsonElement stored) {
        try {
            JsonObject task = stored.getAsJsonObject();
            JsonObject status = task.getAsJsonObject("status");
            status.add("state", new JsonPrimitive(state(status.get("state").getAsString()).name()));
            JsonObject event = new JsonObject();
            event.add(AROUND, task);
            return JsonUtil.OBJECT_MAPPER.fromJson(event, Task.class);
        } catch (RuntimeException refusal) {
            // The mapper has many exceptions, those of the records' constructors among them.
            throw caused(new InternalError("A stored A2A task is not of the SDK's form"), refusal);
        }
    }

    /** A state as this version of the protocol spells it: hosts of earlier versions write {@code input-required}. */
    private static TaskState state(String written) {
        String name = written.toUpperCase(Locale.ROOT).replace('-', '_').replaceFirst("^TASK_STATE_", "");
        String known = "TASK_STATE_" + (name.equals("CANCELLED") ? "CANCELED" : name);
        for (TaskState state : TaskState.values()) {
            if (state.name().equals(known)) {
                return state;
            }
        }
        return TaskState.UNRECOGNIZED;
    }

    static <E extends RuntimeException> E caused(E error, Throwable cause) {
        error.initCause(cause);
        return error;
    }
}
