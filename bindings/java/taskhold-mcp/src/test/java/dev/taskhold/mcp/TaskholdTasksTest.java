package dev.taskhold.mcp;

import static dev.taskhold.mcp.Peer.LONG;
import static dev.taskhold.mcp.Peer.awaitStatus;
import static dev.taskhold.mcp.Peer.members;
import static dev.taskhold.mcp.Peer.questions;
import static dev.taskhold.mcp.Peer.said;
import static dev.taskhold.mcp.Peer.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.taskhold.InputResponse;
import dev.taskhold.ManualClock;
import dev.taskhold.Store;
import dev.taskhold.TaskManager;
import dev.taskhold.TaskStatus;
import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpAsyncResponse;
import io.modelcontextprotocol.modern.server.feature.McpAsyncTool;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Mono;

/** Tools that run as tasks, as a client of the SDK's server sees them. */
class TaskholdTasksTest {
    private static final Map<String, Object> NONE = Map.of();
    private static final Map<String, Object> TASKS_ALONE = Map.of("extensions", Map.of(Wire.EXTENSION, Map.of()));
    private static final Map<String, Object> SCHEMA =
            Map.of("type", "object", "properties", Map.of("name", Map.of("type", "string")));
    private static final Map<String, Object> ACCEPTED = Map.of("action", "accept", "content", Map.of("name", "Luca"));

    private final TaskManager manager = TaskManager.builder().open();
    private final TaskholdTasks tasks = TaskholdTasks.over(manager);

    @AfterEach
    void close() {
        tasks.close();
        manager.close();
    }

    private static McpSchema.ElicitFormRequest form(String message) {
        return McpSchema.ElicitFormRequest.builder(message, SCHEMA).build();
    }

    private Map<String, Object> ended(Peer peer, String taskId, TaskStatus status) throws InterruptedException {
        awaitStatus(manager, taskId, status);
        return peer.get(taskId);
    }

    private static Map<String, Object> update(String taskId, Map<String, Object> answers) {
        return Map.of("taskId", taskId, "inputResponses", answers);
    }

    @Test
    void aCallBecomesATaskOnlyForClientsThatKnowTasks() throws InterruptedException {
        tasks.tool("greet").handler((context, arguments) -> {
            assertEquals(arguments.containsKey("task"), context.taskId().isPresent());
            return said("Hello, " + arguments.get("name"));
        });
        Peer knowing = new Peer(tasks);
        Map<String, Object> task = knowing.call("greet", Map.of("name", "Ann", "task", true));
        assertEquals("task", task.get("resultType"));
        assertEquals("working", task.get("status"));
        Map<String, Object> done = ended(knowing, (String) task.get("taskId"), TaskStatus.COMPLETED);
        assertEquals("complete", done.get("resultType"));
        assertEquals("complete", members(done.get("result")).get("resultType"));
        assertEquals("Hello, Ann", text(done));

        Map<String, Object> inline = new Peer(tasks).declaring(NONE).call("greet", Map.of("name", "Bob"));
        assertEquals("complete", inline.get("resultType"));
        assertEquals("Hello, Bob", text(inline));
    }

    @Test
    void aToolThatIsATaskAlwaysRefusesOtherClients() {
        tasks.tool("long").taskSupport(TaskSupport.REQUIRED).handler((context, arguments) -> said("done"));
        Map<String, Object> call = Map.of("name", "long", "arguments", NONE);
        Map<String, Object> refusal = new Peer(tasks).declaring(NONE).error("tools/call", call);
        assertEquals(-32021, refusal.get("code"));
        assertEquals(Map.of("requiredCapabilities", TASKS_ALONE), refusal.get("data"));
        assertTrue(new Peer(tasks).call("long", NONE).containsKey("taskId"));
    }

    @Test
    void theExtensionAndTheToolsAreAnnounced() {
        tasks.tool("a").title("A").description("Does a.").inputSchema("{\"type\": \"object\"}")
                .handler((context, arguments) -> said("a"));
        tasks.add(McpAsyncTool.of(
                McpSchema.Tool.builder("b", SCHEMA).build(),
                (context, call) -> Mono.just(McpAsyncResponse.result(said("b")))));
        Peer peer = new Peer(tasks);
        Map<String, Object> capabilities = members(peer.result("server/discover", NONE).get("capabilities"));
        assertTrue(members(capabilities.get("extensions")).containsKey(Wire.EXTENSION));
        List<?> listed = (List<?>) peer.result("tools/list", NONE).get("tools");
        assertEquals(List.of("a", "b"), listed.stream().map(tool -> members(tool).get("name")).toList());
        assertEquals("b", text(peer.call("b", NONE)));
        assertThrows(IllegalArgumentException.class, () -> tasks.tool("a").handler((context, arguments) -> said("")));
    }

    @Test
    void whatAToolComesToIsStoredAsTheExtensionSays() throws InterruptedException {
        tasks.tool("error").handler((context, arguments) -> McpSchema.CallToolResult.builder()
                .addContent(McpSchema.TextContent.builder("no luck").build())
                .isError(true)
                .build());
        tasks.tool("protocol").handler((context, arguments) -> {
            throw new McpException(-32000, "broken", Map.of("why", "it is"));
        });
        tasks.tool("exception").handler((context, arguments) -> {
            throw new IllegalStateException("a secret");
        });
        tasks.tool("unfit").outputSchema(SCHEMA).handler((context, arguments) -> said("no structure"));
        tasks.tool("fit").outputSchema(SCHEMA).handler((context, arguments) ->
                McpSchema.CallToolResult.builder().structuredContent(Map.of("name", "Ann")).build());
        Peer peer = new Peer(tasks);

        Map<String, Object> error = ended(peer, peer.start("error"), TaskStatus.COMPLETED);
        assertEquals(true, members(error.get("result")).get("isError"));
        assertEquals("no luck", text(error));
        Map<String, Object> protocol = ended(peer, peer.start("protocol"), TaskStatus.FAILED);
        assertEquals(
                Map.of("code", -32000, "message", "broken", "data", Map.of("why", "it is")), protocol.get("error"));
        Map<String, Object> internal = Map.of("code", -32603, "message", "Internal error");
        assertEquals(internal, ended(peer, peer.start("exception"), TaskStatus.FAILED).get("error"));
        assertEquals(internal, ended(peer, peer.start("unfit"), TaskStatus.FAILED).get("error"));
        Map<String, Object> fit = ended(peer, peer.start("fit"), TaskStatus.COMPLETED);
        assertEquals("{\"name\":\"Ann\"}", text(fit));
        assertEquals(Map.of("name", "Ann"), members(fit.get("result")).get("structuredContent"));
    }

    @Test
    void aQuestionStaysOpenWhileTheToolTellsHowFarItIs() throws Exception {
        CompletableFuture<TaskContext> asking = new CompletableFuture<>();
        tasks.tool("ask").handler((context, arguments) -> {
            asking.complete(context);
            InputResponse answer = context.elicit(form("Your name?"));
            return said(answer.isAccepted() + " " + answer.field("name").orElseThrow());
        });
        Peer peer = new Peer(tasks);
        String taskId = peer.start("ask");
        awaitStatus(manager, taskId, TaskStatus.INPUT_REQUIRED);
        asking.get().progress("still here");
        asking.get().progress(1, 2.0, null);
        Map<String, Object> task = peer.get(taskId);
        assertEquals("input_required", task.get("status"));
        assertEquals("1/2", task.get("statusMessage"));
        Map<String, Object> question = members(members(task.get("inputRequests")).get(questions(task).get(0)));
        assertEquals("elicitation/create", question.get("method"));
        assertEquals("Your name?", members(question.get("params")).get("message"));
        peer.result("tasks/update", update(taskId, Map.of(questions(task).get(0), ACCEPTED)));
        assertEquals("true Luca", text(ended(peer, taskId, TaskStatus.COMPLETED)));
    }

    @Test
    void severalQuestionsAreAnsweredOneByOne() throws InterruptedException {
        tasks.tool("ask").handler((context, arguments) -> {
            List<InputResponse> answers = context.ask(List.of(
                    McpSchema.InputRequest.elicit(form("First?")), McpSchema.InputRequest.elicit(form("Second?"))));
            InputResponse third = context.elicit(form("Third?"));
            return said(answers.get(0).isAccepted() + " " + answers.get(1).isAccepted() + " " + third.isAccepted());
        });
        Peer peer = new Peer(tasks);
        String taskId = peer.start("ask");
        awaitStatus(manager, taskId, TaskStatus.INPUT_REQUIRED);
        Map<String, Object> requests = members(peer.get(taskId).get("inputRequests"));
        assertEquals(2, requests.size());
        for (Map.Entry<String, Object> request : requests.entrySet()) {
            boolean first = members(members(request.getValue()).get("params")).get("message").equals("First?");
            Map<String, Object> answer = first ? ACCEPTED : Map.of("action", "decline");
            peer.result("tasks/update", update(taskId, Map.of(request.getKey(), answer)));
        }
        // The third question comes once both answers were taken.
        awaitQuestion(peer, taskId, requests.keySet());
        peer.result("tasks/update", update(taskId, Map.of(questions(peer.get(taskId)).get(0), ACCEPTED)));
        assertEquals("true false true", text(ended(peer, taskId, TaskStatus.COMPLETED)));
    }

    private void awaitQuestion(Peer peer, String taskId, Set<String> before) throws InterruptedException {
        awaitStatus(manager, taskId, TaskStatus.INPUT_REQUIRED);
        assertFalse(before.contains(questions(peer.get(taskId)).get(0)));
    }

    @Test
    void aClientThatCannotAnswerIsNotAsked() throws InterruptedException {
        tasks.tool("ask").handler((context, arguments) -> said(context.elicit(form("Your name?")).json()));
        Peer peer = new Peer(tasks).declaring(TASKS_ALONE);
        Map<String, Object> error = members(ended(peer, peer.start("ask"), TaskStatus.FAILED).get("error"));
        assertEquals(-32021, error.get("code"));
        assertEquals(
                Map.of("requiredCapabilities", Map.of("elicitation", Map.of("form", NONE))), error.get("data"));
        Map<String, Object> call = Map.of("name", "ask", "arguments", NONE);
        assertEquals(-32021, new Peer(tasks).declaring(NONE).error("tools/call", call).get("code"));
    }

    @Test
    void aResultThatAsksForInputIsAskedThroughTheTask() throws InterruptedException {
        tasks.tool("ask").handler((context, arguments) -> {
            if (context.inputResponses().isEmpty()) {
                return McpSchema.InputRequiredResult.builder().elicit("who", form("Your name?")).requestState("s").build();
            }
            assertEquals("s", context.requestState().orElseThrow());
            return said(members(members(context.inputResponses().get("who")).get("content")).get("name").toString());
        });
        Peer peer = new Peer(tasks);
        String taskId = peer.start("ask");
        awaitStatus(manager, taskId, TaskStatus.INPUT_REQUIRED);
        peer.result("tasks/update", update(taskId, Map.of(questions(peer.get(taskId)).get(0), ACCEPTED)));
        assertEquals("Luca", text(ended(peer, taskId, TaskStatus.COMPLETED)));
    }

    @Test
    void aToolMayAskInTheForegroundAndBecomeATaskThen() throws InterruptedException {
        tasks.tool("later").startsInForeground().handler((context, arguments) -> {
            if (context.inputResponses().isEmpty()) {
                return McpSchema.InputRequiredResult.builder().elicit("who", form("Your name?")).build();
            }
            context.detach();
            context.detach();
            return said("in the background: " + context.taskId().isPresent());
        });
        Peer peer = new Peer(tasks);
        Map<String, Object> asked = peer.call("later", NONE);
        assertEquals("input_required", asked.get("resultType"));
        Map<String, Object> again = Map.of("name", "later", "arguments", NONE, "inputResponses", Map.of("who", ACCEPTED));
        Map<String, Object> task = peer.result("tools/call", again);
        assertEquals("task", task.get("resultType"));
        assertEquals(
                "in the background: true",
                text(ended(peer, (String) task.get("taskId"), TaskStatus.COMPLETED)));
    }

    @Test
    void progressOfAToolThatRunsInlineIsNotified() {
        tasks.tool("steps").handler((context, arguments) -> {
            context.progress(1, 2.0, "half");
            context.progress("all");
            return said("done");
        });
        Peer peer = new Peer(tasks).declaring(NONE).withProgress("p");
        List<Map<String, Object>> messages =
                peer.messages("tools/call", Map.of("name", "steps", "arguments", NONE)).collectList().block(LONG);
        assertEquals(3, messages.size());
        assertEquals("notifications/progress", messages.get(0).get("method"));
        assertEquals("half", members(messages.get(0).get("params")).get("message"));
        assertEquals("all", members(messages.get(1).get("params")).get("message"));
        assertEquals("done", text(members(messages.get(2).get("result"))));
    }

    @Test
    void cancelationInterruptsTheTool() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<Boolean> told = new CompletableFuture<>();
        tasks.tool("wait").handler((context, arguments) -> {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
                return said("never");
            } finally {
                told.complete(context.isStopped());
            }
        });
        Peer peer = new Peer(tasks);
        String taskId = peer.start("wait");
        begun.await();
        peer.result("tasks/cancel", Map.of("taskId", taskId));
        awaitStatus(manager, taskId, TaskStatus.CANCELLED);
        assertTrue(told.join());
    }

    @Test
    void cancelationEndsAQuestion() throws InterruptedException {
        tasks.tool("ask").handler((context, arguments) -> said(context.elicit(form("Your name?")).json()));
        Peer peer = new Peer(tasks);
        String taskId = peer.start("ask");
        awaitStatus(manager, taskId, TaskStatus.INPUT_REQUIRED);
        peer.result("tasks/cancel", Map.of("taskId", taskId));
        awaitStatus(manager, taskId, TaskStatus.CANCELLED);
    }

    @Test
    void aToolThatEndsAllTheSameHasItsResult() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        tasks.tool("stubborn").handler((context, arguments) -> {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException asked) {
                assertThrows(CancellationException.class, context::throwIfStopped);
            }
            return said("done");
        });
        Peer peer = new Peer(tasks);
        String taskId = peer.start("stubborn");
        begun.await();
        peer.result("tasks/cancel", Map.of("taskId", taskId));
        assertEquals("done", text(ended(peer, taskId, TaskStatus.COMPLETED)));
    }

    @Test
    void aTaskIsSeenByItsOwnerAlone() {
        tasks.tool("greet").handler((context, arguments) -> said("hello"));
        String taskId = new Peer(tasks).as("ann").start("greet");
        assertEquals(taskId, new Peer(tasks).as("ann").get(taskId).get("taskId"));
        for (String method : List.of("tasks/get", "tasks/cancel")) {
            Map<String, Object> foreign = new Peer(tasks).as("bob").error(method, Map.of("taskId", taskId));
            assertEquals(-32602, foreign.get("code"));
            assertEquals(foreign, new Peer(tasks).as("bob").error(method, Map.of("taskId", "unknown")));
        }
        assertEquals(-32602, new Peer(tasks).error("tasks/get", Map.of("taskId", taskId)).get("code"));
        // A name beyond the limit of a partition is one all the same.
        String longer = "x".repeat(2000);
        String longOnes = new Peer(tasks).as(longer).start("greet");
        assertEquals(longOnes, new Peer(tasks).as(longer).get(longOnes).get("taskId"));
        assertEquals(-32602, new Peer(tasks).as(longer + "y").error("tasks/get", Map.of("taskId", longOnes)).get("code"));
    }

    @Test
    void theNameInTheHeaderMustBeTheTask() {
        tasks.tool("greet").handler((context, arguments) -> said("hello"));
        String taskId = new Peer(tasks).start("greet");
        Map<String, Object> params = Map.of("taskId", taskId);
        assertEquals(taskId, new Peer(tasks).withHeader(taskId).get(taskId).get("taskId"));
        assertEquals(-32020, new Peer(tasks).withHeader("other").error("tasks/get", params).get("code"));
        assertEquals(-32020, new Peer(tasks).withHeader(null).error("tasks/get", params).get("code"));
    }

    @Test
    void aListenerGetsEachStateOfTheTasksItMaySee() throws InterruptedException {
        tasks.tool("ask").handler((context, arguments) -> said(context.elicit(form("Your name?")).json()));
        Peer peer = new Peer(tasks).as("ann");
        String taskId = peer.start("ask");
        String foreign = new Peer(tasks).as("bob").start("ask");
        awaitStatus(manager, taskId, TaskStatus.INPUT_REQUIRED);
        Map<String, Object> wanted = Map.of("notifications", Map.of("taskIds", List.of(taskId, foreign, "unknown")));
        List<Map<String, Object>> messages = peer.messages("subscriptions/listen", wanted)
                .doOnNext(message -> {
                    Map<String, Object> params = members(message.get("params"));
                    if ("input_required".equals(params.get("status"))) {
                        peer.result("tasks/update", update(taskId, Map.of(questions(params).get(0), ACCEPTED)));
                    }
                })
                .takeUntil(message -> "completed".equals(members(message.get("params")).get("status")))
                .collectList()
                .block(LONG);
        assertEquals("notifications/subscriptions/acknowledged", messages.get(0).get("method"));
        Map<String, Object> acknowledged = members(members(messages.get(0).get("params")).get("notifications"));
        assertEquals(List.of(taskId), acknowledged.get("taskIds"));
        Map<String, Object> last = messages.get(messages.size() - 1);
        assertEquals("notifications/tasks", last.get("method"));
        assertEquals(taskId, members(last.get("params")).get("taskId"));
        assertEquals(
                7, members(members(last.get("params")).get("_meta")).get("io.modelcontextprotocol/subscriptionId"));
        assertEquals(-32021, new Peer(tasks).declaring(NONE).error("subscriptions/listen", wanted).get("code"));
        Map<String, Object> malformed = Map.of("notifications", Map.of("taskIds", List.of(1)));
        assertEquals(-32602, peer.error("subscriptions/listen", malformed).get("code"));
    }

    @Test
    void theLimitOfTasksIsTold() {
        try (TaskManager small = TaskManager.builder().maximumRetainedTasks(1).open();
                TaskholdTasks few = TaskholdTasks.builder(small).build()) {
            few.tool("greet").handler((context, arguments) -> said("hello"));
            Peer peer = new Peer(few);
            peer.start("greet");
            Map<String, Object> refusal = peer.error("tools/call", Map.of("name", "greet", "arguments", NONE));
            assertEquals("Too many tasks are retained", refusal.get("message"));
        }
    }

    @Test
    void aServerThatStopsFailsWhatIsNotDone() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        tasks.tool("wait").handler((context, arguments) -> {
            begun.countDown();
            new CountDownLatch(1).await();
            return said("never");
        });
        Peer peer = new Peer(tasks);
        String taskId = peer.start("wait");
        begun.await();
        tasks.close();
        assertEquals(
                "The server stopped before the work was done",
                members(peer.get(taskId).get("error")).get("message"));
        assertEquals(-32603, peer.error("tools/call", Map.of("name", "wait", "arguments", NONE)).get("code"));
    }

    @Test
    void tasksOutliveTheirServer(@TempDir Path folder) throws InterruptedException {
        String url = "sqlite:" + folder.resolve("tasks.db");
        CountDownLatch begun = new CountDownLatch(1);
        String done;
        String dead;
        try (ManualClock clock = ManualClock.open(Instant.parse("2026-01-01T00:00:00Z"))) {
            CountDownLatch release = new CountDownLatch(1);
            try (Store store = Store.builder().url(url).clock(clock).open();
                    TaskManager first = TaskManager.builder().store(store).open()) {
                TaskholdTasks before = TaskholdTasks.over(first);
                before.tool("greet").handler((context, arguments) -> said("hello"));
                before.tool("wait").handler((context, arguments) -> {
                    begun.countDown();
                    assertTrue(release.await(1, TimeUnit.MINUTES));
                    return said("too late");
                });
                Peer peer = new Peer(before);
                done = peer.start("greet");
                awaitStatus(first, done, TaskStatus.COMPLETED);
                dead = peer.start("wait");
                begun.await();
                // The manager goes without the end of its work, as in a process that dies.
            }
            release.countDown();
            clock.advance(Duration.ofMinutes(1));
            try (Store store = Store.builder().url(url).clock(clock).open();
                    TaskManager second = TaskManager.builder().store(store).open();
                    TaskholdTasks after = TaskholdTasks.over(second)) {
                Peer peer = new Peer(after);
                assertEquals("hello", text(peer.get(done)));
                awaitStatus(second, dead, TaskStatus.FAILED);
                assertEquals("failed", peer.get(dead).get("status"));
            }
        }
    }
}
