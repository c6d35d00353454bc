import dev.taskhold.Json;
import dev.taskhold.TaskCreation;
import dev.taskhold.TaskManager;

public class QuickStart {
    public static void main(String[] arguments) {
        try (TaskManager tasks = TaskManager.builder().open()) {
            // A tool call will take long: the server creates a task and hands out its id.
            String call = TaskCreation.at("/mcp", "{\"name\": \"hello\"}").authorizationPartition("alice").toJson();
            String id = Json.get(tasks.createTask(call), "/task/taskId").orElseThrow();

            // The worker completes it later, on any thread.
            tasks.completeTask(id, "{\"content\": [{\"type\": \"text\", \"text\": \"Hello, Luca!\"}]}", null, null);

            // Alice's client polls: the manager answers the whole request.
            String client = "{\"extensions\": {\"io.modelcontextprotocol/tasks\": {}}}";
            String request = "{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tasks/get\", \"params\": {\"taskId\": \"%s\"}}";
            System.out.println(tasks.handleRequest("/mcp", "alice", client, request.formatted(id)).orElseThrow());
        }
    }
}
