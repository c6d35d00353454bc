import dev.taskhold.Caller;
import dev.taskhold.InputRequests;
import dev.taskhold.InputResponse;
import dev.taskhold.Json;
import dev.taskhold.Store;
import dev.taskhold.Task;
import dev.taskhold.TaskCreation;
import dev.taskhold.TaskEvents;
import dev.taskhold.TaskId;
import dev.taskhold.TaskManager;
import dev.taskhold.TaskRecord;
import dev.taskhold.TaskStatus;
import dev.taskhold.Taskhold;
import dev.taskhold.TaskholdException;
import dev.taskhold.Tasks;
import dev.taskhold.TransitionOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A server with two tasks. Its worker asks the client of the first one for a name and then completes it, and ends the second
 * one when its client asks for that. The protocol side answers what the client sends, and nothing else: it and the worker
 * meet in the store only. On SQLite they could be two processes.
 */
public class Conversation {
    private static final Caller ALICE = Caller.at("/mcp").withPartition("alice");
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** What Alice's client declares in each of its requests. */
    private static final String CAPABILITIES = """
            {"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}""";

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("taskhold-conversation");
        System.out.println("taskhold " + Taskhold.version() + " through " + Taskhold.backend());
        try (Store store = openOnDisk(folder.resolve("tasks.db"));
                Tasks server = Tasks.open(TaskManager.builder().store(store));
                Tasks worker = Tasks.open(TaskManager.builder().store(store));
                TaskEvents events = server.openEvents(100)) {
            TaskId greeting = create(server, "greet");
            CompletableFuture<Void> greeted = CompletableFuture.runAsync(() -> greet(worker, greeting));

            // The server learns of each change, and tells the client, which then looks.
            waitUntilAsked(server, events, greeting);
            String asked = request(server, "tasks/get", greeting, "{}");
            System.out.println("the user reads: " + Json.get(asked, "/result/inputRequests/name/params/message").orElseThrow());
            request(server, "tasks/update", greeting, """
                    {"name": {"action": "accept", "content": {"name": "Luca"}}}""");
            greeted.join();
            request(server, "tasks/get", greeting, "{}");

            TaskId endless = create(server, "count");
            CompletableFuture<Void> counted = CompletableFuture.runAsync(() -> count(worker, endless));
            request(server, "tasks/cancel", endless, "{}");
            counted.join();
            request(server, "tasks/get", endless, "{}");

            // Nobody else gets to see either.
            System.out.println("Mallory: " + server.findAuthorized(ALICE.withPartition("mallory"), greeting).isPresent());
            System.out.println("stored in " + Json.get(store.stats(), "/backend").orElseThrow() + ": "
                    + Json.get(store.stats(), "/tasks").orElseThrow());
        } finally {
            for (String file : new String[] {"tasks.db", "tasks.db-wal", "tasks.db-shm"}) {
                Files.deleteIfExists(folder.resolve(file));
            }
            Files.deleteIfExists(folder);
        }
    }

    /** A SQLite file if the library was built with SQLite, else memory. */
    private static Store openOnDisk(Path file) {
        try {
            return Store.builder().url("sqlite:" + file).open();
        } catch (TaskholdException.Unsupported refusal) {
            return Store.inMemory();
        }
    }

    // The server.

    private static TaskId create(Tasks server, String tool) {
        String origin = Json.writer().text("name", tool).toString();
        return server.create(TaskCreation.of(ALICE, origin).declaredInputRequests("elicitation/form")).taskId();
    }

    /** Sends what Alice's client sends, and prints it with the answer. */
    private static String request(Tasks server, String method, TaskId id, String inputResponses) {
        String params = Json.writer().text("taskId", id.value()).json("inputResponses", inputResponses).toString();
        String request = Json.writer().text("jsonrpc", "2.0").number("id", 1).text("method", method)
                .json("params", params).toString();
        String response = server.handleRequest(ALICE, CAPABILITIES, request).orElseThrow();
        System.out.println("> " + request);
        System.out.println("< " + response);
        return response;
    }

    private static void waitUntilAsked(Tasks server, TaskEvents events, TaskId id) throws InterruptedException {
        Task task;
        do {
            events.next(PATIENCE).orElseThrow();
            task = server.find(id).orElseThrow().task();
        } while (task.status() != TaskStatus.INPUT_REQUIRED);
    }

    // The worker: its own threads, and in a real host its own process.

    private static void greet(Tasks worker, TaskId id) {
        String form = """
                {"type": "object", "properties": {"name": {"type": "string"}}}""";
        TaskRecord record = worker.requestInput(id, InputRequests.form("name", "Your name?", form), "Waiting for you", null);
        try {
            while (record.status() == TaskStatus.INPUT_REQUIRED) {
                record = worker.await(record, PATIENCE);
            }
        } catch (InterruptedException interrupt) {
            throw new IllegalStateException(interrupt);
        }
        InputResponse answer = worker.takeInputResponses(id).get("name");
        String text = Json.writer().text("type", "text").text("text", "Hello, " + answer.field("name").orElse("you") + "!").toString();
        worker.complete(id, Json.writer().json("content", "[" + text + "]").toString());
    }

    /** Counts for ever, or until the client has had enough. */
    private static void count(Tasks worker, TaskId id) {
        for (int count = 1; ; count++) {
            try {
                worker.markWorking(id, "Counted to " + count, TransitionOptions.none().unlessCancelationRequested());
            } catch (TaskholdException.InvalidState refusal) {
                worker.cancel(id, "Stopped counting", null);
                return;
            }
        }
    }
}
