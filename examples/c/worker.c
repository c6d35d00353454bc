/* Work that outlives its worker. Workers, each a process of its own, claim tasks from a queue in one file:

   - one is killed with kill -9 in its work; the next takes the task over and goes on behind its checkpoint;
   - one is stopped for longer than its lease; when it wakes, its completion is refused;
   - one asks a question and lets go of the task; the client's answer brings the task back to the queue.

   usage: worker STORE-URL           a file that is not there yet, for instance sqlite:/tmp/work.db

   Exit codes: 0 all went as it must, 1 it did not. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "taskhold.h"

/* A report has so many pages, and the first worker dies in this one. */
enum { PAGES = 20, DIES_IN_PAGE = 13 };

#define OWNER "alice"
#define ENDPOINT "/mcp"
#define QUEUE "reports"

/* How long a claim is good for without a renewal. A real worker takes 30 seconds or more, longer than any pause
   that it should survive, and renews at a third of that. Here nobody wants to wait. */
#define LEASE_MS "500"

/* Longer than a lease and its backoff: no claim here waits so long. */
enum { CLAIM_TIMEOUT_MS = 60000 };

/* What a worker has claimed. */
struct work {
    char *record;
    char *id;
    char *token;
};

/* A worker's process: what it says, line by line, and the orders that it waits for. */
struct process {
    const char *name;
    pid_t id;
    FILE *said;
    FILE *orders;
};

typedef void role(taskhold_manager *tasks, const char *name);

static void fail(const char *what, const char *why) {
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* Ends the program when a call failed. `*error` says why, without ids or payloads. */
static void must(taskhold_status status, char *const *error, const char *call) {
    if (status != TASKHOLD_OK) {
        fail(call, error != NULL && *error != NULL ? *error : taskhold_status_name(status));
    }
}

/* The value at `pointer`, or NULL; the caller frees it with taskhold_string_free. */
static char *look(const char *json, const char *pointer) {
    char *found = NULL, *error = NULL;
    must(taskhold_json_get(json, pointer, &found, &error), &error, "json_get");
    return found;
}

/* The same for a value that must be there. */
static char *value(const char *json, const char *pointer) {
    char *found = look(json, pointer);
    if (found == NULL) {
        fail("a document lacks", pointer);
    }
    return found;
}

/* Ends the program unless the value at `pointer` is `expected`. */
static void check(const char *json, const char *pointer, const char *expected) {
    char *found = value(json, pointer);
    if (strcmp(found, expected) != 0) {
        fail(pointer, found);
    }
    taskhold_string_free(found);
}

static void say(const char *text) {
    puts(text);
    fflush(stdout);
}

/* A worker waits for the next order; there is one kind. */
static void wait_for_order(void) {
    char line[16];
    if (fgets(line, sizeof line, stdin) == NULL) {
        exit(1); /* The program that gives orders has ended. */
    }
}

/* What every worker does. */

static struct work claim(taskhold_manager *tasks, const char *name) {
    struct work work = {NULL, NULL, NULL};
    char *error = NULL, request[128];
    snprintf(request, sizeof request,
             "{\"worker\": \"%s\", \"queues\": [\"" QUEUE "\"], \"leaseMs\": " LEASE_MS "}", name);
    must(taskhold_manager_claim_task(tasks, request, CLAIM_TIMEOUT_MS, &work.record, &error), &error,
         "claim_task");
    if (work.record == NULL) {
        fail(name, "no work came");
    }
    work.id = value(work.record, "/task/taskId");
    work.token = value(work.record, "/lease/token");
    return work;
}

static void forget(struct work *work) {
    taskhold_string_free(work->record);
    taskhold_string_free(work->id);
    taskhold_string_free(work->token);
}

/* Renews the lease and notes in the same step that `page` is done. */
static void checkpoint(taskhold_manager *tasks, const struct work *work, int page) {
    char renewals[256], *outcome = NULL, *error = NULL;
    snprintf(renewals, sizeof renewals,
             "{\"leaseMs\": " LEASE_MS ", \"tasks\": [{\"taskId\": \"%s\", \"lease\": %s, \"checkpoint\": "
             "{\"page\": %d}}]}",
             work->id, work->token, page);
    must(taskhold_manager_renew_leases(tasks, renewals, &outcome, &error), &error, "renew_leases");
    check(outcome, "/renewed/0", work->id);
    taskhold_string_free(outcome);
}

/* The page behind which the work goes on. */
static int pages_done(const struct work *work) {
    char *page = look(work->record, "/checkpoint/page");
    int done = page == NULL ? 0 : (int)strtol(page, NULL, 10);
    taskhold_string_free(page);
    return done;
}

static taskhold_status complete(taskhold_manager *tasks, const struct work *work, char **error) {
    char options[64];
    snprintf(options, sizeof options, "{\"lease\": %s}", work->token);
    return taskhold_manager_complete_task(tasks, work->id, "{\"content\": []}", NULL, options, NULL, error);
}

/* The first story. */

static void write_until_killed(taskhold_manager *tasks, const char *name) {
    struct work work = claim(tasks, name);
    int page;
    for (page = 1; page < DIES_IN_PAGE; page++) {
        checkpoint(tasks, &work, page);
    }
    printf("claims the report, writes %d pages, and is in the middle of page %d\n", DIES_IN_PAGE - 1,
           DIES_IN_PAGE);
    say("ready");
    wait_for_order();
    forget(&work);
}

static void write_the_rest(taskhold_manager *tasks, const char *name) {
    struct work work = claim(tasks, name);
    char *attempt = value(work.record, "/attempt"), *error = NULL;
    int page = pages_done(&work) + 1;
    printf("claims it when the lease has lapsed: attempt %s, behind page %d\n", attempt, page - 1);
    if (page != DIES_IN_PAGE) {
        fail("the checkpoint", "it is not what was acknowledged");
    }
    for (; page <= PAGES; page++) {
        checkpoint(tasks, &work, page);
    }
    must(complete(tasks, &work, &error), &error, "complete_task");
    printf("writes pages %d to %d and completes the task\n", DIES_IN_PAGE, PAGES);
    taskhold_string_free(attempt);
    forget(&work);
}

/* The second story. */

static void sleep_over_the_lease(taskhold_manager *tasks, const char *name) {
    struct work work = claim(tasks, name);
    char *error = NULL, *reason;
    puts("claims the report");
    say("ready");
    wait_for_order();
    if (complete(tasks, &work, &error) != TASKHOLD_CONFLICT) {
        fail("a late completion", "it was not refused as a lost lease");
    }
    reason = value(error, "/reason");
    printf("wakes, and its completion is refused: %s\n", reason);
    taskhold_string_free(reason);
    taskhold_string_free(error);
    forget(&work);
}

static void take_over(taskhold_manager *tasks, const char *name) {
    struct work work = claim(tasks, name);
    char *error = NULL;
    puts("claims it when the lease has lapsed");
    say("ready");
    wait_for_order();
    must(complete(tasks, &work, &error), &error, "complete_task");
    puts("completes the task");
    forget(&work);
}

/* The third story. */

static void ask_and_let_go(taskhold_manager *tasks, const char *name) {
    struct work work = claim(tasks, name);
    char options[96], *error = NULL;
    const char *requests =
        "{\"paper\": {\"method\": \"elicitation/create\", \"params\": {\"message\": \"A4 or letter?\", "
        "\"requestedSchema\": {\"type\": \"object\", \"properties\": {\"paper\": {\"type\": \"string\"}}}}}}";
    snprintf(options, sizeof options, "{\"lease\": %s, \"park\": true, \"checkpoint\": {\"page\": 7}}",
             work.token);
    must(taskhold_manager_request_task_input(tasks, work.id, requests, "Which paper?", options, NULL, &error),
         &error, "request_task_input");
    puts("claims the report, asks \"A4 or letter?\" behind page 7, and lets go of it");
    forget(&work);
}

static void take_the_answer(taskhold_manager *tasks, const char *name) {
    struct work work = claim(tasks, name);
    char *responses = NULL, *answer, *attempt = value(work.record, "/attempt"), *error = NULL, options[96];
    /* The answers are taken together with the checkpoint that holds them, or a crash in between would lose them. */
    snprintf(options, sizeof options, "{\"lease\": %s, \"peek\": true}", work.token);
    must(taskhold_manager_take_task_input_responses(tasks, work.id, options, &responses, &error), &error,
         "take_task_input_responses");
    answer = value(responses, "/paper/content/paper");
    taskhold_string_free(responses);
    snprintf(options, sizeof options, "{\"lease\": %s, \"checkpoint\": {\"page\": 7, \"paper\": \"%s\"}}",
             work.token, answer);
    must(taskhold_manager_take_task_input_responses(tasks, work.id, options, &responses, &error), &error,
         "take_task_input_responses");
    printf("claims it: still attempt %s, behind page %d, on %s\n", attempt, pages_done(&work), answer);
    must(complete(tasks, &work, &error), &error, "complete_task");
    puts("completes the task");
    taskhold_string_free(responses);
    taskhold_string_free(answer);
    taskhold_string_free(attempt);
    forget(&work);
}

/* The server, which makes the tasks and watches. */

static struct process start(const char *url, const char *name, role *plays) {
    struct process process = {name, 0, NULL, NULL};
    int said[2], orders[2];
    fflush(stdout);
    if (pipe(said) != 0 || pipe(orders) != 0 || (process.id = fork()) < 0) {
        fail("a process", "it cannot be started");
    }
    if (process.id == 0) {
        taskhold_store *store = NULL;
        taskhold_manager *tasks = NULL;
        char *error = NULL;
        dup2(said[1], STDOUT_FILENO);
        dup2(orders[0], STDIN_FILENO);
        close(said[0]);
        close(said[1]);
        close(orders[0]);
        close(orders[1]);
        /* What the parent has open is of no use here: a process opens its own. */
        must(taskhold_store_open(url, NULL, NULL, &store, &error), &error, "store_open");
        must(taskhold_manager_open(store, NULL, &tasks, &error), &error, "manager_open");
        plays(tasks, name);
        taskhold_manager_close(tasks);
        taskhold_store_close(store);
        fflush(stdout);
        _exit(0);
    }
    close(said[1]);
    close(orders[0]);
    process.said = fdopen(said[0], "r");
    process.orders = fdopen(orders[1], "w");
    if (process.said == NULL || process.orders == NULL) {
        fail("a process", "it cannot be heard");
    }
    return process;
}

/* Prints what the worker says until it is ready for its order, or has ended. */
static void listen(const struct process *process) {
    char line[256];
    while (fgets(line, sizeof line, process->said) != NULL && strcmp(line, "ready\n") != 0) {
        printf("  %s  %s", process->name, line);
    }
    fflush(stdout);
}

static void order(const struct process *process) {
    fputs("go\n", process->orders);
    fflush(process->orders);
}

/* Waits for the end, which must be this signal or, with 0, a good one. */
static void join(const struct process *process, int signal_number) {
    int status = 0;
    if (waitpid(process->id, &status, 0) != process->id) {
        fail(process->name, "it cannot be waited for");
    }
    if (signal_number == 0 ? !WIFEXITED(status) || WEXITSTATUS(status) != 0
                           : !WIFSIGNALED(status) || WTERMSIG(status) != signal_number) {
        fail(process->name, "it did not end as it should");
    }
    fclose(process->said);
    fclose(process->orders);
}

static void play(const char *url, const char *name, role *plays) {
    struct process process = start(url, name, plays);
    listen(&process);
    join(&process, 0);
}

static char *create(taskhold_manager *tasks) {
    /* Reports may be begun again; most tools must not, so that one attempt is the default. */
    const char *creation =
        "{\"endpoint\": \"" ENDPOINT "\", \"authorizationPartition\": \"" OWNER
        "\", \"origin\": {\"name\": \"write_report\"}, "
        "\"queue\": \"" QUEUE "\", \"work\": {\"pages\": 20}, \"attempts\": {\"maximum\": 3, \"backoffMs\": 10}}";
    char *record = NULL, *id, *error = NULL;
    must(taskhold_manager_create_task(tasks, creation, &record, &error), &error, "create_task");
    id = value(record, "/task/taskId");
    taskhold_string_free(record);
    return id;
}

/* Ends a story: the task must have ended well. */
static void finish(taskhold_manager *tasks, char *id) {
    char *record = NULL, *error = NULL;
    must(taskhold_manager_find_task(tasks, id, &record, &error), &error, "find_task");
    if (record == NULL) {
        fail("a task", "it is not there");
    }
    check(record, "/task/status", "completed");
    taskhold_string_free(record);
    taskhold_string_free(id);
}

static void tell_of_a_kill(const char *url, taskhold_manager *tasks) {
    char *id = create(tasks);
    struct process first;
    puts("\nA worker dies:");
    first = start(url, "worker 1", write_until_killed);
    listen(&first);
    printf("  kill -9 %ld\n", (long)first.id);
    kill(first.id, SIGKILL);
    join(&first, SIGKILL);
    play(url, "worker 2", write_the_rest);
    finish(tasks, id);
}

static void tell_of_a_stop(const char *url, taskhold_manager *tasks) {
    char *id = create(tasks);
    struct process sleeper, other;
    puts("\nA worker only sleeps:");
    sleeper = start(url, "worker 3", sleep_over_the_lease);
    listen(&sleeper);
    printf("  kill -STOP %ld\n", (long)sleeper.id);
    kill(sleeper.id, SIGSTOP);
    other = start(url, "worker 4", take_over);
    listen(&other);
    printf("  kill -CONT %ld\n", (long)sleeper.id);
    kill(sleeper.id, SIGCONT);
    order(&sleeper);
    listen(&sleeper);
    join(&sleeper, 0);
    order(&other);
    listen(&other);
    join(&other, 0);
    finish(tasks, id);
}

static void tell_of_a_question(const char *url, taskhold_manager *tasks) {
    const char *answer = "{\"paper\": {\"action\": \"accept\", \"content\": {\"paper\": \"A4\"}}}";
    char *id = create(tasks), *page = NULL, *outcome = NULL, *error = NULL;
    puts("\nA worker asks:");
    play(url, "worker 5", ask_and_let_go);
    must(taskhold_manager_list_tasks(tasks, "{\"workState\": \"parked\"}", &page, &error), &error,
         "list_tasks");
    check(page, "/records/0/task/taskId", id);
    check(page, "/records/0/lease", "null");
    puts("  nobody    holds the task while a person thinks");
    must(taskhold_manager_update_task(tasks, ENDPOINT, OWNER, id, answer, NULL, &outcome, &error), &error,
         "update_task");
    check(outcome, "/accepted/0", "paper");
    puts("  client    answers: A4");
    play(url, "worker 6", take_the_answer);
    taskhold_string_free(outcome);
    taskhold_string_free(page);
    finish(tasks, id);
}

int main(int argc, char **argv) {
    taskhold_store *store = NULL;
    taskhold_manager *tasks = NULL;
    char *stats = NULL, *error = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: %s STORE-URL\n", argv[0]);
        return 1;
    }
    if (taskhold_abi_version() != TASKHOLD_ABI_VERSION) {
        fail("this program and the taskhold library", "they do not belong together");
    }
    printf("\n\n# Workers come and go, the work goes on: %s\n", argv[1]);
    must(taskhold_store_open(argv[1], NULL, NULL, &store, &error), &error, "store_open");
    must(taskhold_manager_open(store, NULL, &tasks, &error), &error, "manager_open");
    tell_of_a_kill(argv[1], tasks);
    tell_of_a_stop(argv[1], tasks);
    tell_of_a_question(argv[1], tasks);
    must(taskhold_store_stats(store, &stats, &error), &error, "store_stats");
    check(stats, "/tasks/completed", "3");
    puts("\nThree tasks were created, and each was completed once.");
    taskhold_string_free(stats);
    taskhold_manager_close(tasks);
    taskhold_store_close(store);
    if (fflush(stdout) != 0) {
        fail("standard output", "it cannot be written");
    }
    return 0;
}
