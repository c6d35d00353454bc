import dev.taskhold.Caller;
import dev.taskhold.InputRequests;
import dev.taskhold.Json;
import dev.taskhold.TaskCreation;
import dev.taskhold.TaskRecord;
import dev.taskhold.TaskStatus;
import dev.taskhold.Tasks;
import dev.taskhold.Work;
import dev.taskhold.Worker;
import java.time.Duration;
import java.util.List;

/**
 * A worker that makes reports out of a queue. It asks the client how long a report may be, and then the first attempt fails: the
 * second one has the answer and does not ask again. Over a store on disk the worker could be another process.
 */
public class Reports {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final String FORM = """
            {"type": "object", "properties": {"pages": {"type": "integer"}}, "required": ["pages"]}""";

    public static void main(String[] arguments) throws InterruptedException {
        Caller alice = Caller.at("/mcp").withPartition("alice");
        try (Tasks tasks = Tasks.open();
                Worker worker = tasks.worker(List.of("reports"), 4, Reports::report)) {
            TaskRecord task = tasks.create(TaskCreation.of(alice, """
                            {"name": "report"}""")
                    .queue("reports")
                    .work("""
                            {"about": "tides"}""")
                    .attempts(3, Duration.ofMillis(100), Duration.ofSeconds(1)));
            while (task.status() != TaskStatus.INPUT_REQUIRED) {
                task = tasks.await(task, PATIENCE);
            }
            tasks.update(alice, task.taskId(), """
                    {"pages": {"action": "accept", "content": {"pages": 2}}}""");
            System.out.println(tasks.awaitEnd(task.taskId(), PATIENCE).task().result().orElseThrow());
        }
    }

    private static String report(Work work) throws InterruptedException {
        InputRequests howLong = InputRequests.form("pages", "How many pages?", FORM);
        String pages = work.ask(howLong).get("pages").field("pages").orElse("1");
        if (work.attempt() == 1) {
            throw new IllegalStateException("the printer is out of paper");
        }
        String about = Json.get(work.input().orElseThrow(), "/about").orElseThrow();
        return Json.writer().text("about", about).json("pages", pages).number("attempt", work.attempt()).toString();
    }
}
