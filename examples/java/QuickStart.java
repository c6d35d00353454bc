import dev.taskhold.Caller;
import dev.taskhold.TaskCreation;
import dev.taskhold.TaskId;
import dev.taskhold.Tasks;

public class QuickStart {
    public static void main(String[] arguments) {
        try (Tasks tasks = Tasks.open()) {
            // A tool call will take long: the server creates a task and hands out its id.
            Caller alice = Caller.at("/mcp").withPartition("alice");
            TaskId id = tasks.create(TaskCreation.of(alice, """
                    {"name": "hello"}""")).taskId();

            // The worker completes it later, on any thread.
            tasks.complete(id, """
                    {"content": [{"type": "text", "text": "Hello, Luca!"}]}""");

            // Alice's client polls: the manager answers the whole request.
            String client = """
                    {"extensions": {"io.modelcontextprotocol/tasks": {}}}""";
            String request = """
                    {"jsonrpc": "2.0", "id": 7, "method": "tasks/get", "params": {"taskId": "%s"}}""".formatted(id);
            System.out.println(tasks.handleRequest(alice, client, request).orElseThrow());
        }
    }
}
