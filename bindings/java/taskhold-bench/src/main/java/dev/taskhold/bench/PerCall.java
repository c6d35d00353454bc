package dev.taskhold.bench;

import dev.taskhold.Json;
import dev.taskhold.TaskCreation;
import dev.taskhold.TaskId;
import dev.taskhold.TaskManager;
import dev.taskhold.TaskRecord;
import dev.taskhold.TaskStatus;
import dev.taskhold.Taskhold;
import dev.taskhold.Tasks;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What a call costs, tasks with 500 bytes of origin in memory. {@code version} hardly does anything: it is the price of
 * crossing. The reference is a task manager in Java alone that keeps to one lock and sweeps before each call; it hands out
 * references where the library copies.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@State(Scope.Benchmark)
public class PerCall {
    private static final int HOT = 1_000;

    /** How many tasks are retained. */
    @Param({"1000", "100000"})
    public int tasks;

    private TaskManager manager = TaskManager.builder().open();
    private SweepingManager reference = new SweepingManager();
    private Tasks typed = Tasks.over(manager);
    private final String[] ids = new String[HOT];
    private final TaskId[] typedIds = new TaskId[HOT];
    private final String[] referenceIds = new String[HOT];
    private int turn;

    /** Fills both managers. */
    @Setup(Level.Trial)
    public void fill() {
        manager.close();
        manager = TaskManager.builder().maximumRetainedTasks(tasks).open();
        typed = Tasks.over(manager);
        String creation = TaskCreation.at("/mcp", Json.quote("x".repeat(500))).toJson();
        for (int at = 0; at < tasks; at++) {
            String id = Json.get(manager.createTask(creation), "/task/taskId").orElseThrow();
            ids[at % HOT] = id;
            typedIds[at % HOT] = TaskId.of(id);
            referenceIds[at % HOT] = reference.fill(creation);
        }
    }

    /** Closes the manager. */
    @TearDown(Level.Trial)
    public void close() {
        manager.close();
    }

    private int next() {
        turn = (turn + 1) % HOT;
        return turn;
    }

    /**
     * Crosses.
     *
     * @return the version
     */
    @Benchmark
    public String version() {
        return Taskhold.version();
    }

    /**
     * Finds a task.
     *
     * @return its record
     */
    @Benchmark
    public Optional<String> find() {
        return manager.findTask(ids[next()]);
    }

    /**
     * Finds a task as an object.
     *
     * @return its record
     */
    @Benchmark
    public Optional<TaskRecord> findObject() {
        return typed.find(typedIds[next()]);
    }

    /**
     * Finds a task as an object and looks into it.
     *
     * @return its status
     */
    @Benchmark
    public TaskStatus findStatus() {
        return typed.find(typedIds[next()]).orElseThrow().status();
    }

    /**
     * Finds a task and reads its status without an object.
     *
     * @return its status
     */
    @Benchmark
    public Optional<String> findStatusByPointer() {
        return Json.get(manager.findTask(ids[next()]).orElseThrow(), "/task/status");
    }

    /**
     * Changes a task.
     *
     * @return its record
     */
    @Benchmark
    public String markWorking() {
        return manager.markTaskWorking(ids[next()], null, null);
    }

    /**
     * Finds a task in the reference.
     *
     * @return its record
     */
    @Benchmark
    public Optional<String> referenceFind() {
        return reference.findTask(referenceIds[next()]);
    }

    /**
     * Changes a task in the reference.
     *
     * @return its record
     */
    @Benchmark
    public String referenceMarkWorking() {
        return reference.markTaskWorking(referenceIds[next()]);
    }
}
