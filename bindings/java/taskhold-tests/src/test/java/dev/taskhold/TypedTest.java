package dev.taskhold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the library gives out, as objects: they say what the texts say. */
class TypedTest {
    private static final Caller ALICE = Caller.at("/mcp").withPartition("alice");
    private static final Instant START = Instant.parse("2026-01-31T12:00:00.007Z");

    @Test
    void aTaskFromItsCreationToItsEnd() throws InterruptedException {
        try (ManualClock clock = ManualClock.open(START);
                Store store = Store.builder().clock(clock).open();
                Tasks tasks = Tasks.open(TaskManager.builder()
                        .store(store)
                        .taskTimeToLive(Duration.ofMinutes(2))
                        .pollInterval(Duration.ofSeconds(3)))) {
            TaskRecord record = tasks.create(TaskCreation.of(ALICE, "{\"a\": [1.0, \"}\\\"\"]}")
                    .metadata("{\"k\":1}")
                    .declaredInputRequests("roots/list", "elicitation/form"));
            Task task = record.task();
            TaskId id = task.taskId();
            assertEquals(id, record.taskId());
            assertEquals(TaskStatus.WORKING, task.status());
            assertEquals(Optional.empty(), task.statusMessage());
            assertEquals(START, task.createdAt());
            assertEquals(START, task.lastUpdatedAt());
            assertEquals(Duration.ofMinutes(2), task.timeToLive());
            assertEquals(Duration.ofSeconds(3), task.pollInterval());
            assertEquals(Map.of(), task.inputRequests());
            assertEquals(1, record.revision());
            assertEquals(ALICE, record.caller());
            assertEquals(Optional.of("{\"a\": [1.0, \"}\\\"\"]}"), record.origin());
            assertEquals(Optional.of("{\"k\":1}"), record.metadata());
            assertEquals(Optional.of(List.of("roots/list", "elicitation/form")), record.declaredInputRequests());
            assertFalse(record.isCancelationRequested());
            assertEquals(Optional.empty(), record.queue());
            assertEquals(Optional.empty(), record.lease());
            assertEquals(Optional.of(record), tasks.find(id));
            assertEquals(record.json(), tasks.manager().findTask(id.value()).orElseThrow());
            assertEquals(record, TaskRecord.of(record.json()));

            InputRequests requests = InputRequests.form("na\"me", "Your \"name\"?", "{\"type\": \"object\", \"properties\": {}}")
                    .and("r", "{\"method\": \"roots/list\"}");
            record = tasks.requestInput(id, requests, "Waiting \\ for you", null);
            assertEquals(Optional.of("Waiting \\ for you"), record.task().statusMessage());
            assertEquals(List.of("na\"me", "r"), List.copyOf(record.task().inputRequests().keySet()));
            assertEquals("{\"method\": \"roots/list\"}", record.task().inputRequests().get("r"));
            UpdateOutcome outcome = tasks.update(ALICE, id, """
                    {"na\\"me": {"action": "accept", "content": {"first": "Lu\\u0063a", "age": 7}}, "x": {}}""");
            assertEquals(List.of("na\"me"), outcome.accepted());
            assertEquals(List.of("x"), outcome.ignored());
            tasks.update(ALICE, id, "{\"r\": {\"roots\": []}}");
            Map<String, InputResponse> answers = tasks.takeInputResponses(id);
            assertTrue(answers.get("na\"me").isAccepted());
            assertEquals(Optional.of("Luca"), answers.get("na\"me").field("first"));
            assertEquals(Optional.of("7"), answers.get("na\"me").field("age"));
            assertEquals(Optional.empty(), answers.get("na\"me").field("last"));
            assertEquals(Optional.empty(), answers.get("r").content());
            assertEquals(Map.of(), tasks.takeInputResponses(id));

            clock.advance(Duration.ofSeconds(1));
            tasks.requestCancelation(ALICE, id);
            assertTrue(tasks.isCancelationRequested(id));
            assertThrows(
                    TaskholdException.InvalidState.class,
                    () -> tasks.markWorking(id, "on", TransitionOptions.none().unlessCancelationRequested()));
            tasks.complete(id, "{\"content\": []}", "Done", null);
            record = tasks.awaitEnd(id, Duration.ZERO);
            assertTrue(record.status().isTerminal());
            assertEquals(Optional.of("{\"content\": []}"), record.task().result());
            assertEquals(START.plusSeconds(1), record.task().lastUpdatedAt());
            assertEquals("TaskRecord[COMPLETED, revision " + record.revision() + "]", record.toString());
            assertEquals(Optional.of(record), tasks.findAuthorized(ALICE, id));
            assertEquals(Optional.empty(), tasks.findAuthorized(ALICE.withPartition(null), id));
            assertEquals(record.revision(), tasks.render(ALICE, id, Rendering.GET_RESULT).revision());

            TaskRecord failed = tasks.create(TaskCreation.of(Caller.at(""), "1"));
            assertTrue(failed.caller().partition().isAnonymous());
            assertEquals(Optional.empty(), failed.declaredInputRequests());
            failed = tasks.fail(failed.taskId(), Failure.of(-32603, "It \"broke\"").withData("[1]"));
            assertEquals(new Failure(-32603, "It \"broke\"", Optional.of("[1]")), failed.task().error().orElseThrow());
            assertEquals(TaskStatus.UNKNOWN, TaskStatus.of("younger"));
        }
    }

    @Test
    void aWalkMeetsEveryTaskOnce() {
        for (String backend : Backends.available()) {
            try (Store store = Store.builder().url(Backends.url(backend)).open();
                    Tasks tasks = Tasks.open(TaskManager.builder().store(store))) {
                List<TaskId> made = new ArrayList<>();
                for (int at = 0; at < 25; at++) {
                    Caller caller = at % 5 == 0 ? ALICE : Caller.at("/mcp");
                    made.add(tasks.create(TaskCreation.of(caller, "1")).taskId());
                }
                for (int size : new int[] {1, 7, 25, 1000}) {
                    TaskQuery query = TaskQuery.all().pageSize(size);
                    assertEquals(made, tasks.stream(query).map(TaskRecord::taskId).toList());
                    assertEquals(made.get(0), tasks.stream(query).findFirst().orElseThrow().taskId());
                }
                assertEquals(5, tasks.stream(TaskQuery.all().pageSize(2).partition(ALICE.partition())).count());
                assertEquals(20, tasks.stream(TaskQuery.all().partition(Partition.ANONYMOUS)).count());
                assertEquals(0, tasks.stream(TaskQuery.all().status(TaskStatus.FAILED)).count());
                Page<TaskRecord> page = tasks.list(TaskQuery.all().endpoint(Endpoint.of("/mcp")).pageSize(24));
                assertEquals(24, page.items().size());
                Page<TaskRecord> last = tasks.list(TaskQuery.all()
                        .endpoint(Endpoint.of("/mcp"))
                        .pageSize(24)
                        .pageToken(page.nextPageToken().orElseThrow()));
                assertEquals(1, last.items().size());
                assertEquals(Optional.empty(), last.nextPageToken());
                Stream<TaskRecord> unread = tasks.stream(TaskQuery.all().pageSize(0));
                assertThrows(TaskholdException.InvalidArgument.class, unread::count);
            }
        }
    }

    @Test
    void sessionsAreListedPageByPage() {
        try (Sessions sessions = Sessions.open()) {
            List<String> made = new ArrayList<>();
            for (int number = 0; number < 9; number++) {
                SessionCreation creation = SessionCreation.defaults().authorizationPartition(number % 3 == 0 ? "alice" : null);
                made.add(sessions.create(ALICE.endpoint(), creation).orElseThrow().sessionId());
            }
            for (int size : new int[] {1, 4, 9, 1000}) {
                SessionQuery query = SessionQuery.all().pageSize(size);
                assertEquals(made, sessions.stream(query).map(Session::sessionId).toList());
            }
            assertEquals(3, sessions.stream(SessionQuery.all().pageSize(2).partition(ALICE.partition())).count());
            assertEquals(6, sessions.stream(SessionQuery.all().partition(Partition.ANONYMOUS)).count());
            assertEquals(9, sessions.stream(SessionQuery.all().endpoint(ALICE.endpoint()).partition(null)).count());
            assertEquals(0, sessions.stream(SessionQuery.all().endpoint(Endpoint.of("/none"))).count());
            Page<Session> page = sessions.list(SessionQuery.all().pageSize(8));
            assertEquals(sessions.find(made.get(7)).orElseThrow(), page.items().get(7));
            String token = page.nextPageToken().orElseThrow();
            Page<Session> last = sessions.list(SessionQuery.all().pageSize(8).pageToken(token));
            assertEquals(made.subList(8, 9), last.items().stream().map(Session::sessionId).toList());
            assertEquals(Optional.empty(), last.nextPageToken());
            Stream<Session> unread = sessions.stream(SessionQuery.all().pageToken(token).endpoint(Endpoint.of("/none")));
            assertThrows(TaskholdException.InvalidArgument.class, unread::count);
        }
    }

    @Test
    void sessionsAreReplacedByUpdates() {
        try (Sessions sessions = Sessions.open(SessionStore.builder().concurrentSessionLimit(1))) {
            SessionCreation mine = SessionCreation.defaults().sessionId("mine").authorizationPartition("alice");
            Session made = sessions.create(ALICE.endpoint(), mine).orElseThrow();
            assertEquals(Optional.empty(), sessions.create(ALICE.endpoint()));
            assertEquals("mine", made.sessionId());
            assertEquals(ALICE, made.caller());
            assertFalse(made.isInitialized());
            assertEquals(Optional.empty(), made.protocolVersion());
            assertEquals(Optional.of("{}"), made.sessionContext());
            Instant later = made.lastActivityAt().plus(Duration.ofSeconds(2));
            SessionUpdate update = made.update()
                    .initialized(true)
                    .initializedNotificationReceived(true)
                    .protocolVersion("2026-06-30")
                    .clientCapabilities("{\"roots\": {}}")
                    .negotiatedCapabilities("{}")
                    .sessionContext("{\"a\": 1.50}")
                    .lastActivityAt(later);
            assertTrue(sessions.replace(made, update));
            assertFalse(sessions.replace(made, update));
            Session found = sessions.findAuthorized(ALICE, "mine").orElseThrow();
            assertTrue(found.isInitialized() && found.isInitializedNotificationReceived());
            assertEquals(1, found.version());
            assertEquals(later, found.lastActivityAt());
            assertEquals(Optional.of("2026-06-30"), found.protocolVersion());
            assertEquals(Optional.of("{\"roots\": {}}"), found.clientCapabilities());
            assertEquals(Optional.of("{\"a\": 1.50}"), found.sessionContext());
            assertTrue(sessions.replace(found, found.update().terminatedAt(later)));
            assertEquals(Optional.of(later), sessions.find("mine").orElseThrow().terminatedAt());
            assertTrue(sessions.pin("mine"));
            sessions.unpin("mine");
            sessions.delete("mine");
            assertEquals(Optional.empty(), sessions.find("mine"));
        }
    }

    @Test
    void aPartitionHasItsOwnLimit() {
        try (Sessions sessions = Sessions.open(SessionStore.builder().concurrentSessionLimitPerPartition(1));
                Tasks tasks = Tasks.open(TaskManager.builder().maximumRetainedTasksPerPartition(1))) {
            SessionCreation mine = SessionCreation.defaults().authorizationPartition("alice");
            assertTrue(sessions.create(ALICE.endpoint(), mine).isPresent());
            assertEquals(Optional.empty(), sessions.create(ALICE.endpoint(), mine));
            assertTrue(sessions.create(ALICE.endpoint()).isPresent());
            tasks.create(TaskCreation.of(ALICE, "1"));
            TaskholdException full = assertThrows(
                    TaskholdException.CapacityExhausted.class, () -> tasks.create(TaskCreation.of(ALICE, "1")));
            assertEquals("partition_capacity_exhausted", full.reason());
            tasks.create(TaskCreation.of(ALICE.withPartition(null), "1"));
        }
    }

    @Test
    void a2aTasksHaveTheirRevisions() {
        Owner owner = Owner.of("o");
        try (A2aTasks tasks = A2aTasks.open()) {
            for (int at = 0; at < 9; at++) {
                String state = at % 3 == 0 ? "TASK_STATE_COMPLETED" : "input-required";
                tasks.save(owner, """
                        {"id": "t%d", "contextId": "c", "history": [{}, {}],
                         "status": {"state": "%s", "timestamp": "2026-01-31T12:00:0%d+01:00"}}""".formatted(at, state, at));
            }
            TaskId id = TaskId.of("t4");
            A2aTask task = tasks.find(owner, id).orElseThrow();
            assertEquals(A2aState.INPUT_REQUIRED, task.state());
            assertEquals(Optional.of(Instant.parse("2026-01-31T11:00:04Z")), task.timestamp());
            assertEquals(Optional.of("c"), task.contextId());
            assertEquals(Optional.of("{}"), tasks.find(owner, id, 1).orElseThrow().get("/history/0"));
            assertEquals(Optional.empty(), tasks.find(Owner.ANONYMOUS, id));
            A2aTask saved = tasks.save(owner, task.json(), SaveOptions.none().expectedRevision(task.revision()));
            assertEquals(saved, tasks.find(owner, id).orElseThrow());
            assertNotEquals(task, saved);
            assertThrows(
                    TaskholdException.Conflict.class,
                    () -> tasks.save(owner, task.json(), SaveOptions.none().expectedRevision(task.revision())));
            for (int size : new int[] {2, 9, 100}) {
                List<A2aTask> all = tasks.stream(owner, A2aQuery.all().pageSize(size).historyLength(9)).toList();
                assertEquals(9, all.size());
                assertEquals(saved.revision(), all.get(4).revision());
                assertEquals(6, tasks.stream(owner, A2aQuery.all().state(A2aState.INPUT_REQUIRED).pageSize(size)).count());
            }
            Page<A2aTask> page = tasks.list(owner, A2aQuery.all().statusTimestampAfter(Instant.parse("2026-01-31T11:00:07Z")));
            assertEquals(2, page.totalSize().orElseThrow());
            assertEquals(Liveness.GRACE, tasks.liveness(TaskId.of("t0")));
            tasks.delete(owner, id);
            assertEquals(Liveness.ABSENT, tasks.liveness(id));
            assertEquals(A2aState.CANCELED, A2aState.of("cancelled"));
            assertEquals(A2aState.UNKNOWN, A2aState.of("TASK_STATE_PAUSED"));
        }
    }

    @Test
    void operatorsSeeTheTasksOfAllOwners() {
        try (ManualClock clock = ManualClock.open(START);
                Store store = Store.builder().clock(clock).open();
                A2aTasks tasks = A2aTasks.open(
                        StateProvider.builder().store(store).activeRetention(Duration.ofMinutes(5)))) {
            List<OwnedTask> saved = new ArrayList<>();
            for (Owner owner : List.of(Owner.ANONYMOUS, Owner.of(""), Owner.of("a"), Owner.of("b\""))) {
                String task = "{\"id\": \"t%d\", \"status\": {\"state\": \"working\"}}".formatted(saved.size());
                saved.add(new OwnedTask(owner, tasks.save(owner, task)));
            }
            assertEquals(saved, tasks.streamAll(A2aQuery.all().pageSize(3)).toList());
            Page<OwnedTask> page = tasks.listAll(A2aQuery.all().state(A2aState.WORKING));
            assertEquals(4, page.totalSize().orElseThrow());
            assertEquals(saved, page.items());
            // Nobody saves them any more.
            clock.advance(Duration.ofMinutes(5));
            assertEquals(0, tasks.streamAll(A2aQuery.all()).count());
        }
    }

    @Test
    void aLogIsFollowedFromSaveToSave() throws Exception {
        for (String backend : Backends.available()) {
            try (Store store = Store.builder().url(Backends.url(backend)).open();
                    A2aTasks tasks = A2aTasks.open(StateProvider.builder().store(store).announceSaves().maximumEventsPerTask(3));
                    TaskEvents saves = tasks.openEvents(16)) {
                Owner owner = Owner.of("o");
                TaskId id = TaskId.of("t");
                String task = "{\"id\": \"t\", \"status\": {\"state\": \"working\"}}";
                assertEquals(new EventLog(List.of(), 0, false, ""), withoutJson(tasks.readEvents(id, 0)));
                assertThrows(TaskholdException.NotFound.class, () -> tasks.await(id, 0, Duration.ofMinutes(1)));
                assertThrows(
                        TaskholdException.NotFound.class,
                        () -> tasks.save(owner, task, SaveOptions.none().mustExist()));
                A2aTask saved = tasks.save(owner, task, SaveOptions.none().event("{\"n\": 1.0}"));
                assertEquals(TaskEvent.Kind.SAVED, saves.next(Duration.ofMinutes(1)).orElseThrow().kind());
                assertEquals(saved.revision(), tasks.await(id, 0, Duration.ZERO));
                assertThrows(
                        TaskholdException.Timeout.class,
                        () -> tasks.await(id, saved.revision(), Duration.ofMillis(5)));
                CompletableFuture<Long> later = tasks.provider().async().waitTask("t", saved.revision(), Duration.ofMinutes(1));
                CompletableFuture<Long> cancelled = tasks.provider().async().waitTask("t", saved.revision(), Duration.ofMinutes(1));
                cancelled.cancel(true);
                for (int at = 2; at <= 5; at++) {
                    tasks.save(owner, task, SaveOptions.none().unlessFinal().event(Integer.toString(at)));
                }
                assertTrue(later.get(1, TimeUnit.MINUTES) > saved.revision());
                EventLog log = tasks.readEvents(id, 0, 2);
                assertTrue(log.missing());
                assertEquals(List.of("3", "4"), log.events().stream().map(EventLog.Event::json).toList());
                EventLog rest = tasks.readEvents(id, log.next());
                assertEquals(List.of("5"), rest.events().stream().map(EventLog.Event::json).toList());
                assertEquals(rest.revision(), tasks.readEvents(id, rest.next()).next());
                assertFalse(rest.missing());

                tasks.setPushConfig(owner, id, new PushConfig(null, "{\"url\": \"https://example.org\"}"));
                tasks.setPushConfig(owner, id, new PushConfig("2", "{}"));
                List<PushConfig> both =
                        List.of(new PushConfig("t", "{\"url\": \"https://example.org\"}"), new PushConfig("2", "{}"));
                assertEquals(both, tasks.pushConfigs(owner, id));
                assertEquals(both, tasks.pushConfigs(id));
                assertEquals(List.of(), tasks.pushConfigs(Owner.ANONYMOUS, id));
                tasks.deletePushConfig(owner, id, "t");
                assertEquals(both.subList(1, 2), tasks.pushConfigs(owner, id));
                tasks.deletePushConfig(owner, id, null);
                assertEquals(List.of(), tasks.pushConfigs(owner, id));

                Thread waiting = Thread.currentThread();
                waiting.interrupt();
                assertThrows(InterruptedException.class, () -> tasks.await(id, rest.revision(), Duration.ofMinutes(1)));
            }
        }
    }

    private static EventLog withoutJson(EventLog log) {
        return new EventLog(log.events(), log.revision(), log.missing(), "");
    }

    @Test
    void anyPayloadIsFoundInItsRecord() {
        Random random = new Random(11);
        try (Tasks tasks = Tasks.open(TaskManager.builder().maximumRetainedTasks(2_000))) {
            for (int round = 0; round < 1_000; round++) {
                String origin = "{\"o\": " + value(random, 4) + "}";
                String metadata = "{" + Json.quote(string(random)) + " :\t" + value(random, 3) + " }";
                Partition partition = Partition.of(string(random));
                TaskRecord record = tasks.create(TaskCreation.of(new Caller(Endpoint.of(string(random)), partition), origin)
                        .metadata(metadata));
                assertEquals(Optional.of(origin), record.origin());
                assertEquals(Optional.of(metadata), record.metadata());
                assertEquals(partition, record.caller().partition());
                assertEquals(Json.get(record.json(), "/task"), Optional.of(record.task().json()));
                record = tasks.complete(record.taskId(), origin);
                assertEquals(Optional.of(origin), record.task().result());
            }
        }
    }

    /** Any JSON value, with white space and escapes where they are allowed. */
    private static String value(Random random, int depth) {
        return switch (random.nextInt(depth == 0 ? 5 : 7)) {
            case 0 -> "null";
            case 1 -> "-1.5e+07";
            case 2 -> "true";
            case 3 -> "\"\\\\\\\"\\u0000{[,:]}\"";
            case 4 -> Json.quote(string(random));
            case 5 -> "[ " + value(random, depth - 1) + " ,\n" + value(random, depth - 1) + "]";
            default -> "{\"a\" : " + value(random, depth - 1) + ",\"\\\"b\":" + value(random, depth - 1) + "\r}";
        };
    }

    private static String string(Random random) {
        StringBuilder string = new StringBuilder();
        for (int at = random.nextInt(6); at > 0; at--) {
            string.append("\"\\{}[],: \n\u00e9a".charAt(random.nextInt(12)));
        }
        return string.toString();
    }

    @Test
    void whatIsNoObjectIsRefused() {
        for (String bad : new String[] {"", " ", "[]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{1:2}", "{\"a\" 1}", "\"", "{\"a\":[}"}) {
            assertThrows(IllegalArgumentException.class, () -> TaskRecord.of(bad).revision(), bad);
        }
        assertThrows(IllegalArgumentException.class, () -> TaskRecord.of("{}").revision());
    }

    @Test
    void objectsAreWrittenWithoutEscapingByHand() {
        assertEquals(
                "{\"a\\\"\":\"x\\ny\",\"b\":1,\"c\":true,\"d\":[\"\\\\\"],\"e\":[1, 2]}",
                Json.writer()
                        .text("a\"", "x\ny")
                        .number("b", 1)
                        .bool("c", true)
                        .texts("d", List.of("\\"))
                        .json("e", "[1, 2]")
                        .text("f", "there")
                        .text("f", null)
                        .toString()
                        .replace("\\u000a", "\\n"));
    }
}
