package dev.taskhold;

import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/** Asks the client of one task and waits for its answers; none is taken here. */
final class Asking {
    /** Where answers stand in a checkpoint. */
    private static final String ANSWERS = "answers";

    /** So long a wait goes on at most without noticing that the lease is lost. */
    private static final Duration LOOK = Duration.ofSeconds(1);

    private final Work work;
    private final TaskManager manager;

    Asking(Work work, TaskManager manager) {
        this.work = work;
        this.manager = manager;
    }

    /** Gives all answers that are there once these requests are answered. */
    Map<String, InputResponse> answers(InputRequests requests, @Nullable String statusMessage)
            throws InterruptedException {
        String id = work.taskId().value();
        Set<String> there = new HashSet<>(peek().keySet());
        TaskRecord now = new TaskRecord(manager.waitTask(id, 0, Duration.ZERO));
        there.addAll(now.task().inputRequests().keySet());
        // An earlier attempt may have asked, and the client may have answered in part.
        if (!there.containsAll(requests.keys())) {
            now = new TaskRecord(
                    manager.requestTaskInput(id, requests.toJson(), statusMessage, work.options().toString()));
        }
        awaitAnswers(now);
        return peek();
    }

    private Map<String, InputResponse> peek() {
        String options = work.options().bool("peek", true).toString();
        return InputResponse.all(manager.takeTaskInputResponses(work.taskId().value(), options));
    }

    private void awaitAnswers(TaskRecord asked) throws InterruptedException {
        TaskRecord now = asked;
        while (now.status() == TaskStatus.INPUT_REQUIRED) {
            if (now.isCancelationRequested()) {
                work.tellCancelation();
                throw new CancellationException("cancelation of the task was requested");
            }
            if (work.isLost()) {
                throw Work.leaseLost();
            }
            try {
                now = new TaskRecord(manager.waitTask(work.taskId().value(), now.revision(), LOOK));
            } catch (TaskholdException.Timeout nothingYet) {
                // A renewal may have told of a loss.
            }
        }
    }

    /** Gives the answers that stand in a checkpoint. */
    static Map<String, InputResponse> noted(@Nullable String checkpoint) {
        return members(checkpoint).json(ANSWERS).map(InputResponse::all).orElseGet(Map::of);
    }

    /** Adds answers to a checkpoint. */
    static String withAnswers(@Nullable String checkpoint, Map<String, InputResponse> answers) {
        JsonWriter all = new JsonWriter();
        noted(checkpoint).forEach((key, answer) -> all.set(key, answer.json()));
        answers.forEach((key, answer) -> all.set(key, answer.json()));
        JsonWriter noted = new JsonWriter();
        members(checkpoint).members().forEach(noted::set);
        return noted.set(ANSWERS, all.toString()).toString();
    }

    private static JsonObject members(@Nullable String checkpoint) {
        try {
            return JsonObject.of(checkpoint == null || checkpoint.equals("null") ? "{}" : checkpoint);
        } catch (IllegalArgumentException noObject) {
            throw new IllegalStateException("the checkpoint is no JSON object: make it yourself", noObject);
        }
    }
}
