import dev.taskhold.Json;
import dev.taskhold.Store;
import dev.taskhold.TaskCreation;
import dev.taskhold.TaskEvent;
import dev.taskhold.TaskEvents;
import dev.taskhold.TaskManager;
import dev.taskhold.Taskhold;
import dev.taskhold.TaskholdException;
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
    private static final String ENDPOINT = "/mcp";
    private static final String ALICE = "alice";
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** What Alice's client declares in each of its requests. */
    private static final String CAPABILITIES = """
            {"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}""";

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("taskhold-conversation");
        Path file = folder.resolve("tasks.db");
        System.out.println("taskhold " + Taskhold.version() + " through " + Taskhold.backend());
        try (Store store = openOnDisk(file);
                TaskManager server = TaskManager.builder().store(store).open();
                TaskManager worker = TaskManager.builder().store(store).open();
                TaskEvents events = server.openEvents(100)) {
            String greeting = create(server, "greet");
            CompletableFuture<Void> greeted = CompletableFuture.runAsync(() -> greet(worker, greeting));

            // The server learns of each change, and tells the client, which then looks.
            String asked = askedFor(server, events, greeting);
            String question = Json.get(asked, "/result/inputRequests/name/params/message").orElseThrow();
            System.out.println("the user reads: " + question);
            request(server, "tasks/update", greeting,
                    ", \"inputResponses\": {\"name\": {\"action\": \"accept\", \"content\": {\"name\": \"Luca\"}}}");
            greeted.join();
            get(server, greeting);

            String endless = create(server, "count");
            CompletableFuture<Void> counted = CompletableFuture.runAsync(() -> count(worker, endless));
            request(server, "tasks/cancel", endless, "");
            counted.join();
            get(server, endless);

            // Nobody else gets to see either.
            System.out.println("Mallory: " + server.findAuthorizedTask(ENDPOINT, "mallory", greeting).isPresent());
            System.out.println("stored in " + Json.get(store.stats(), "/backend").orElseThrow() + ": "
                    + Json.get(store.stats(), "/tasks").orElseThrow());
        } finally {
            for (String suffix : new String[] {"", "-wal", "-shm"}) {
                Files.deleteIfExists(folder.resolve("tasks.db" + suffix));
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

    private static String create(TaskManager server, String tool) {
        String creation = TaskCreation.at(ENDPOINT, "{\"name\": " + Json.quote(tool) + "}")
                .authorizationPartition(ALICE)
                .declaredInputRequests("elicitation/form")
                .toJson();
        return Json.get(server.createTask(creation), "/task/taskId").orElseThrow();
    }

    private static String get(TaskManager server, String id) {
        return request(server, "tasks/get", id, "");
    }

    private static String request(TaskManager server, String method, String id, String params) {
        String request = "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": " + Json.quote(method)
                + ", \"params\": {\"taskId\": " + Json.quote(id) + params + "}}";
        String response = server.handleRequest(ENDPOINT, ALICE, CAPABILITIES, request).orElseThrow();
        System.out.println("> " + request);
        System.out.println("< " + response);
        return response;
    }

    /** Takes events until the task asks for input, and gives what the client then gets. */
    private static String askedFor(TaskManager server, TaskEvents events, String id) throws InterruptedException {
        for (;;) {
            TaskEvent event = events.next(PATIENCE).orElseThrow();
            String record = server.findTask(id).orElseThrow();
            if (event.taskId().orElse("").equals(id)
                    && Json.get(record, "/task/status").orElseThrow().equals("input_required")) {
                return get(server, id);
            }
        }
    }

    // The worker: its own threads, and in a real host its own process.

    private static void greet(TaskManager worker, String id) {
        String question = """
                {"name": {"method": "elicitation/create", "params": {"message": "Your name?", \
                "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}}}""";
        worker.requestTaskInput(id, question, "Waiting for you", null);
        String answers = nextAnswers(worker, id);
        String name = Json.get(answers, "/name/content/name").orElseThrow();
        String text = Json.quote("Hello, " + name + "!");
        worker.completeTask(id, "{\"content\": [{\"type\": \"text\", \"text\": " + text + "}]}", null, null);
    }

    /** Waits until there is nothing to wait for any more, and takes the answers. */
    private static String nextAnswers(TaskManager worker, String id) {
        String record = worker.findTask(id).orElseThrow();
        while (Json.get(record, "/task/status").orElseThrow().equals("input_required")) {
            record = next(worker, id, record);
        }
        return worker.takeTaskInputResponses(id, null);
    }

    private static String next(TaskManager worker, String id, String record) {
        long revision = Long.parseLong(Json.get(record, "/revision").orElseThrow());
        try {
            return worker.waitTask(id, revision, PATIENCE);
        } catch (InterruptedException interrupt) {
            throw new IllegalStateException(interrupt);
        }
    }

    /** Counts for ever, or until the client has had enough. */
    private static void count(TaskManager worker, String id) {
        for (int count = 1; ; count++) {
            try {
                String unlessAsked = TransitionOptions.none().unlessCancelationRequested().toJson();
                worker.markTaskWorking(id, "Counted to " + count, unlessAsked);
            } catch (TaskholdException.InvalidState refusal) {
                worker.cancelTask(id, "Stopped counting", null);
                return;
            }
        }
    }
}
