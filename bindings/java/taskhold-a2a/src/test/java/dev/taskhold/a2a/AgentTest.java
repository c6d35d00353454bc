package dev.taskhold.a2a;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.taskhold.StateProvider;
import dev.taskhold.Store;
import io.a2a.server.ServerCallContext;
import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.auth.UnauthenticatedUser;
import io.a2a.server.events.InMemoryQueueManager;
import io.a2a.server.events.MainEventBus;
import io.a2a.server.events.MainEventBusProcessor;
import io.a2a.server.events.MainEventBusProcessorCallback;
import io.a2a.server.requesthandlers.DefaultRequestHandler;
import io.a2a.server.tasks.AgentEmitter;
import io.a2a.spec.A2AError;
import io.a2a.spec.Event;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.ListTasksParams;
import io.a2a.spec.Message;
import io.a2a.spec.MessageSendParams;
import io.a2a.spec.Part;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.Task;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskNotCancelableError;
import io.a2a.spec.TaskNotFoundError;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TextPart;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The SDK's own request handler runs an agent on the store, and another process finds the task where the first left it. */
class AgentTest {
    private static final ServerCallContext CALL =
            new ServerCallContext(UnauthenticatedUser.INSTANCE, Map.of(), Set.of());
    private static final Duration LONG = Duration.ofMinutes(2);

    /**
     * Asks for a name, and greets with it. It goes on when what it said is stored and has reached the client's queue: the SDK waits
     * for that a second and a half after an agent has ended, which is too short on a slow machine.
     */
    private static final class Greeter implements AgentExecutor, MainEventBusProcessorCallback {
        private final Semaphore processed = new Semaphore(0);

        @Override
        public void execute(RequestContext context, AgentEmitter emitter) {
            if (context.getTask() == null) {
                say(emitter::submit);
                say(() -> emitter.requiresInput(emitter.newAgentMessage(List.of(new TextPart("Your name?")), null)));
            } else {
                List<Part<?>> greeting = List.of(new TextPart("Hello, " + context.getUserInput("") + "!"));
                say(() -> emitter.addArtifact(greeting, "greeting", null, null));
                say(emitter::complete);
            }
        }

        @Override
        public void cancel(RequestContext context, AgentEmitter emitter) {
            say(emitter::cancel);
        }

        private void say(Runnable event) {
            event.run();
            processed.acquireUninterruptibly();
        }

        @Override
        public void onEventProcessed(String taskId, Event event) {
            processed.release();
        }

        @Override
        public void onTaskFinalized(String taskId) {}
    }

    /** One process's server. */
    private static final class Server implements AutoCloseable {
        private final Store store;
        private final StateProvider provider;
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final Thread saving;
        final A2aTaskStore tasks;
        final DefaultRequestHandler handler;

        Server(String url) {
            store = Store.builder().url(url).open();
            provider = StateProvider.builder().store(store).open();
            tasks = new A2aTaskStore(provider);
            MainEventBus bus = new MainEventBus();
            InMemoryQueueManager queues = new InMemoryQueueManager(tasks, bus);
            MainEventBusProcessor processor = new MainEventBusProcessor(bus, tasks, event -> {}, queues);
            Greeter agent = new Greeter();
            processor.setCallback(agent);
            saving = new Thread(processor);
            saving.setDaemon(true);
            saving.start();
            handler = DefaultRequestHandler.create(
                    agent, tasks, queues, new A2aPushConfigStore(tasks), processor, threads, threads);
        }

        Task send(String text, @Nullable Task about) throws A2AError {
            Message message = Message.builder()
                    .role(Message.Role.ROLE_USER)
                    .messageId("message of " + text)
                    .taskId(about == null ? null : about.id())
                    .contextId(about == null ? null : about.contextId())
                    .parts(List.of(new TextPart(text)))
                    .build();
            return assertInstanceOf(Task.class, handler.onMessageSend(new MessageSendParams(message, null, null), CALL));
        }

        Task get(String id) throws A2AError {
            return handler.onGetTask(new TaskQueryParams(id), CALL);
        }

        /** The agent runs on while the client has its answer already. */
        Task await(String id, TaskState state) throws InterruptedException {
            long seen = 0;
            for (;;) {
                seen = provider.waitTask(id, seen, LONG);
                Task task = tasks.get(id);
                if (task.status().state() == state) {
                    return task;
                }
            }
        }

        @Override
        public void close() {
            saving.interrupt();
            threads.shutdownNow();
            provider.close();
            store.close();
        }
    }

    @Test
    void anAgentGoesOnInAnotherProcess(@TempDir Path folder) throws Exception {
        String url = "sqlite:" + folder.resolve("agents.db");
        Task asking;
        TaskPushNotificationConfig config;
        try (Server first = new Server(url)) {
            String id = first.send("greet me", null).id();
            asking = first.await(id, TaskState.TASK_STATE_INPUT_REQUIRED);
            assertEquals(asking, first.get(id));
            config = first.handler.onCreateTaskPushNotificationConfig(
                    new TaskPushNotificationConfig(
                            id, PushNotificationConfig.builder().url("https://client.example/").id("a").build(), ""),
                    CALL);
        }
        try (Server second = new Server(url)) {
            assertEquals(asking, second.get(asking.id()));
            assertEquals(
                    List.of(config),
                    second.handler
                            .onListTaskPushNotificationConfig(
                                    new ListTaskPushNotificationConfigParams(asking.id(), 0, "", ""), CALL)
                            .configs());
            second.send("Luca", asking);
            Task done = second.await(asking.id(), TaskState.TASK_STATE_COMPLETED);
            assertEquals(done, second.get(asking.id()));
            assertEquals(List.of(new TextPart("Hello, Luca!")), done.artifacts().get(0).parts());
            assertEquals("Your name?", ((TextPart) done.history().get(done.history().size() - 2).parts().get(0)).text());
            assertEquals(
                    List.of(done),
                    second.handler
                            .onListTasks(
                                    ListTasksParams.builder().historyLength(9).includeArtifacts(true).build(), CALL)
                            .tasks());
            assertThrows(
                    TaskNotCancelableError.class, () -> second.handler.onCancelTask(new TaskIdParams(done.id()), CALL));
            assertThrows(TaskNotFoundError.class, () -> second.get("unknown"));
        }
    }

    @Test
    void aTaskIsCanceled() throws Exception {
        try (Server server = new Server("memory:")) {
            String id = server.send("greet me", null).id();
            server.await(id, TaskState.TASK_STATE_INPUT_REQUIRED);
            Task canceled = server.handler.onCancelTask(new TaskIdParams(id), CALL);
            assertEquals(TaskState.TASK_STATE_CANCELED, canceled.status().state());
            assertEquals(canceled, server.await(id, TaskState.TASK_STATE_CANCELED));
        }
    }
}
