/* A server that keeps its state in a file is killed with kill -9 in the middle of its work. A new process opens the
   file, finds everything that was acknowledged, byte for byte, and goes on where the first one stopped.

   usage: restart STORE-URL          a file that is not there yet, for instance sqlite:/tmp/agents.db

   Exit codes: 0 nothing was lost, 1 something was lost or failed. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "taskhold.h"

/* The worker has so many pages to translate, and is killed when it has said that this one is done. */
enum { PAGES = 250, KILLED_AFTER_PAGE = 20 };

#define OWNER "alice"
#define ENDPOINT "/mcp"

/* Everything that this process has open. */
struct server {
    taskhold_store *store;
    taskhold_manager *tasks;
    taskhold_session_store *sessions;
    taskhold_state_provider *a2a;
};

/* What the first process acknowledged last of one thing: its document, as it must be in the file. */
enum thing { SUMMARY, BOOKING, TRANSLATION, SESSION, AGENT_TASK, THINGS };
static const char *const names[THINGS] = {"task summary", "task booking", "task translation", "session",
                                          "A2A task"};
struct acknowledged {
    char *id[THINGS];
    char *document[THINGS];
};

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

/* A text that the caller frees. */
static char *copy(const char *text) {
    char *copied = text == NULL ? NULL : malloc(strlen(text) + 1);
    if (copied == NULL) {
        fail("memory", "none is left, or there is nothing to copy");
    }
    return strcpy(copied, text);
}

/* The value at `pointer`; the caller frees it with taskhold_string_free. */
static char *value(const char *json, const char *pointer) {
    char *found = NULL, *error = NULL;
    must(taskhold_json_get(json, pointer, &found, &error), &error, "json_get");
    if (found == NULL) {
        fail("a document lacks", pointer);
    }
    return found;
}

static void open_server(struct server *server, const char *url) {
    char *error = NULL;
    must(taskhold_store_open(url, NULL, NULL, &server->store, &error), &error, "store_open");
    must(taskhold_manager_open(server->store, NULL, &server->tasks, &error), &error, "manager_open");
    must(taskhold_session_store_open(server->store, NULL, &server->sessions, &error), &error,
         "session_store_open");
    must(taskhold_state_provider_open(server->store, NULL, &server->a2a, &error), &error,
         "state_provider_open");
}

static void close_server(struct server *server) {
    char *description = NULL, *live;
    taskhold_state_provider_close(server->a2a);
    taskhold_session_store_close(server->sessions);
    taskhold_manager_close(server->tasks);
    taskhold_store_close(server->store);
    must(taskhold_describe(&description, NULL), NULL, "describe");
    live = value(description, "/liveHandles");
    if (strcmp(live, "0") != 0) {
        fail("handles are still open", live);
    }
    taskhold_string_free(live);
    taskhold_string_free(description);
}

/* The first process: it says what it has done, one line for each acknowledged change. */

/* One line: the thing, its id, its document. Documents here have no line breaks. */
static void acknowledge(enum thing thing, const char *id, const char *document) {
    printf("%d %s %s\n", (int)thing, id, document);
    fflush(stdout);
}

static char *create(struct server *server, const char *origin) {
    char creation[256], *record = NULL, *id, *error = NULL;
    snprintf(creation, sizeof creation,
             "{\"endpoint\": \"" ENDPOINT "\", \"authorizationPartition\": \"" OWNER "\", \"origin\": %s}",
             origin);
    must(taskhold_manager_create_task(server->tasks, creation, &record, &error), &error, "create_task");
    id = value(record, "/task/taskId");
    taskhold_string_free(record);
    return id;
}

static void first_summary(struct server *server) {
    char *id = create(server, "{\"name\": \"summarize\"}"), *record = NULL, *error = NULL;
    const char *result = "{\"content\": [{\"type\": \"text\", \"text\": \"Twelve pages, one idea.\"}]}";
    must(taskhold_manager_complete_task(server->tasks, id, result, NULL, NULL, &record, &error), &error,
         "complete_task");
    acknowledge(SUMMARY, id, record);
    taskhold_string_free(record);
    taskhold_string_free(id);
}

static void first_booking(struct server *server) {
    char *id = create(server, "{\"name\": \"book_flight\"}"), *record = NULL, *error = NULL;
    const char *requests =
        "{\"seat\": {\"method\": \"elicitation/create\", \"params\": {\"message\": \"Window or aisle?\", "
        "\"requestedSchema\": {\"type\": \"object\", \"properties\": {\"seat\": {\"type\": \"string\"}}}}}}";
    must(taskhold_manager_request_task_input(server->tasks, id, requests, "Which seat?", NULL, &record,
                                             &error),
         &error, "request_task_input");
    acknowledge(BOOKING, id, record);
    taskhold_string_free(record);
    taskhold_string_free(id);
}

static void first_session(struct server *server) {
    char *old = NULL, *error = NULL, *id, *created, initialized[1024];
    int32_t replaced = 0;
    must(taskhold_session_store_create(server->sessions, ENDPOINT,
                                       "{\"authorizationPartition\": \"" OWNER "\"}", &old, &error),
         &error, "session create");
    id = value(old, "/sessionId");
    created = value(old, "/createdAt");
    snprintf(initialized, sizeof initialized,
             "{\"sessionId\": \"%s\", \"endpoint\": \"" ENDPOINT "\", \"authorizationPartition\": \"" OWNER
             "\", \"createdAt\": \"%s\", \"lastActivityAt\": \"%s\", \"initialized\": true, "
             "\"initializedNotificationReceived\": true, \"protocolVersion\": \"2025-11-25\", "
             "\"clientCapabilities\": {}, "
             "\"negotiatedCapabilities\": {}, \"sessionContext\": {\"theme\": \"dark\"}, \"terminatedAt\": "
             "null, \"version\": 1}",
             id, created, created);
    must(taskhold_session_store_replace(server->sessions, old, initialized, &replaced, &error), &error,
         "replace");
    if (replaced != 1) {
        fail("replace", "somebody else was faster");
    }
    acknowledge(SESSION, id, initialized);
    taskhold_string_free(created);
    taskhold_string_free(id);
    taskhold_string_free(old);
}

static void first_agent_task(struct server *server) {
    const char *task =
        "{\"id\": \"agent-task-1\", \"contextId\": \"c1\", \"status\": {\"state\": \"TASK_STATE_WORKING\"}, "
        "\"artifacts\": [{\"artifactId\": \"a\", \"parts\": [{\"text\": \"draft\"}]}]}";
    char *error = NULL;
    must(taskhold_state_provider_save_task(server->a2a, OWNER, task, NULL, NULL, &error), &error,
         "save_task");
    acknowledge(AGENT_TASK, "agent-task-1", task);
}

/* Translates pages from `page` on; each is acknowledged when the file has it. */
static void translate(struct server *server, const char *id, int page, int is_first_process) {
    for (; page <= PAGES; page++) {
        char message[64], *record = NULL, *error = NULL;
        snprintf(message, sizeof message, "page %d of %d", page, PAGES);
        must(taskhold_manager_mark_task_working(server->tasks, id, message, NULL, &record, &error), &error,
             "mark_task_working");
        if (is_first_process) {
            acknowledge(TRANSLATION, id, record);
        }
        taskhold_string_free(record);
    }
}

static void first_process(const char *url) {
    struct server server = {0};
    char *translation;
    open_server(&server, url);
    first_summary(&server);
    first_booking(&server);
    first_session(&server);
    first_agent_task(&server);
    translation = create(&server, "{\"name\": \"translate\"}");
    translate(&server, translation, 1, 1);
    fail("the first process", "it finished before it was killed");
}

static void show(enum thing thing, const char *document, const char *remark) {
    const char *const pointers[THINGS] = {"/task/status", "/task/status", "/task/status", "/initialized",
                                          "/status/state"};
    char *shown = value(document, pointers[thing]);
    printf("  %-16s  %s%s%s\n", names[thing], thing == SESSION ? "initialized: " : "", shown, remark);
    taskhold_string_free(shown);
}

/* The page that a record of the translation has come to. */
static int page_of(const char *record) {
    char *message = value(record, "/task/statusMessage");
    int page = 0;
    if (sscanf(message, "page %d of", &page) != 1) {
        fail("a status message was changed", message);
    }
    taskhold_string_free(message);
    return page;
}

/* Starts the first process, kills it in its work, and keeps what it has acknowledged until then. */
static void kill_first_process(const char *url, struct acknowledged *kept) {
    int channel[2], status = 0, thing, page = 0;
    char *line = NULL;
    size_t capacity = 0;
    FILE *said;
    pid_t process;
    fflush(stdout);
    if (pipe(channel) != 0 || (process = fork()) < 0) {
        fail("a process", "it cannot be started");
    }
    if (process == 0) {
        dup2(channel[1], STDOUT_FILENO);
        close(channel[0]);
        close(channel[1]);
        first_process(url);
    }
    close(channel[1]);
    said = fdopen(channel[0], "r");
    printf("\nProcess %ld works, and acknowledges:\n", (long)process);
    while (said != NULL && getline(&line, &capacity, said) > 0) {
        char *id = strchr(line, ' '), *document = id == NULL ? NULL : strchr(id + 1, ' ');
        char *end = strchr(line, '\n');
        thing = *line - '0';
        if (thing < 0 || thing >= THINGS || document == NULL || end == NULL) {
            continue; /* Killed in the middle of a line: this one was not acknowledged. */
        }
        *document = *end = '\0';
        if (kept->id[thing] == NULL) {
            show((enum thing)thing, document + 1, "");
        }
        free(kept->id[thing]);
        free(kept->document[thing]);
        kept->id[thing] = copy(id + 1);
        kept->document[thing] = copy(document + 1);
        if (thing == TRANSLATION && (page = page_of(kept->document[thing])) == KILLED_AFTER_PAGE) {
            printf("  ... page %d of %d\n\nkill -9 %ld\n", page, PAGES, (long)process);
            kill(process, SIGKILL);
        }
    }
    if (waitpid(process, &status, 0) != process) {
        fail("the first process", "it cannot be waited for");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
        exit(1); /* It has said why. */
    }
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
        fail("the first process", "it ended before it was killed");
    }
    printf("It is dead; page %d was the last one that it acknowledged.\n", page);
    free(line);
    fclose(said);
}

/* The second process. */

/* The document of a thing as it is now in the file, or NULL. */
static char *look(struct server *server, enum thing thing, const char *id) {
    char *document = NULL, *error = NULL;
    taskhold_status status;
    if (thing == SESSION) {
        status = taskhold_session_store_find_authorized_session(server->sessions, ENDPOINT, OWNER, id,
                                                                &document, &error);
    } else if (thing == AGENT_TASK) {
        status = taskhold_state_provider_get_task(server->a2a, OWNER, id, NULL, &document, NULL, &error);
    } else {
        status = taskhold_manager_find_task(server->tasks, id, &document, &error);
    }
    must(status, &error, names[thing]);
    return document;
}

/* Shows what the file holds and compares it with what was acknowledged; gives the number of things lost. */
static int compare(struct server *server, const struct acknowledged *kept) {
    int thing, lost = 0;
    for (thing = 0; thing < THINGS; thing++) {
        char *document = kept->id[thing] == NULL ? NULL : look(server, (enum thing)thing, kept->id[thing]);
        int is_kept = document != NULL && strcmp(document, kept->document[thing]) == 0;
        if (document != NULL && thing == TRANSLATION) {
            /* Killed between a change and its word, it may have come one page further. */
            int page = page_of(document), acknowledged = page_of(kept->document[thing]);
            char remark[64];
            is_kept = page == acknowledged || page == acknowledged + 1;
            snprintf(remark, sizeof remark, ", page %d of %d", page, PAGES);
            show(TRANSLATION, document, remark);
        } else if (is_kept) {
            show((enum thing)thing, document, ", the same to the byte");
        }
        if (!is_kept) {
            printf("  %-16s  LOST\n", names[thing]);
            lost++;
        }
        taskhold_string_free(document);
    }
    return lost;
}

/* Alice answers the question that the first process asked, and the worker takes the answer and ends the task. */
static void go_on_with_booking(struct server *server, const char *id) {
    char *outcome = NULL, *responses = NULL, *seat, *record = NULL, *error = NULL;
    const char *answer = "{\"seat\": {\"action\": \"accept\", \"content\": {\"seat\": \"window\"}}}";
    must(taskhold_manager_update_task(server->tasks, ENDPOINT, OWNER, id, answer, NULL, &outcome, &error),
         &error, "update_task");
    must(taskhold_manager_take_task_input_responses(server->tasks, id, NULL, &responses, &error), &error,
         "take_task_input_responses");
    seat = value(responses, "/seat/content/seat");
    printf("  %-16s  the client answers, the worker takes: %s\n", names[BOOKING], seat);
    must(taskhold_manager_complete_task(server->tasks, id, "{\"content\": []}", NULL, NULL, &record, &error),
         &error, "complete_task");
    show(BOOKING, record, "");
    taskhold_string_free(record);
    taskhold_string_free(seat);
    taskhold_string_free(responses);
    taskhold_string_free(outcome);
}

static void go_on_with_translation(struct server *server, const char *id) {
    char *record = look(server, TRANSLATION, id), *error = NULL;
    int page = page_of(record) + 1;
    taskhold_string_free(record);
    record = NULL;
    translate(server, id, page, 0);
    printf("  %-16s  pages %d to %d\n", names[TRANSLATION], page, PAGES);
    must(taskhold_manager_complete_task(server->tasks, id, "{\"content\": []}", NULL, NULL, &record, &error),
         &error, "complete_task");
    show(TRANSLATION, record, "");
    taskhold_string_free(record);
}

static void go_on_with_agent_task(struct server *server, const char *id) {
    const char *task = "{\"id\": \"agent-task-1\", \"contextId\": \"c1\", \"status\": {\"state\": "
                       "\"TASK_STATE_COMPLETED\"}}";
    char *error = NULL, *document;
    must(taskhold_state_provider_save_task(server->a2a, OWNER, task, NULL, NULL, &error), &error,
         "save_task");
    document = look(server, AGENT_TASK, id);
    show(AGENT_TASK, document, "");
    taskhold_string_free(document);
}

int main(int argc, char **argv) {
    struct acknowledged kept = {{NULL}, {NULL}};
    struct server server = {0};
    char *stats = NULL, *counts, *error = NULL;
    int thing, lost;
    if (argc != 2) {
        fprintf(stderr, "usage: %s STORE-URL\n", argv[0]);
        return 1;
    }
    if (taskhold_abi_version() != TASKHOLD_ABI_VERSION) {
        fail("this program and the taskhold library", "they do not belong together");
    }
    printf("\n\n# A server is killed and starts again: %s\n", argv[1]);
    kill_first_process(argv[1], &kept);

    printf("\nProcess %ld opens the store and finds:\n", (long)getpid());
    open_server(&server, argv[1]);
    lost = compare(&server, &kept);
    if (lost == 0) {
        puts("\nIt goes on where the first one stopped:");
        go_on_with_booking(&server, kept.id[BOOKING]);
        go_on_with_translation(&server, kept.id[TRANSLATION]);
        go_on_with_agent_task(&server, kept.id[AGENT_TASK]);
        must(taskhold_store_stats(server.store, &stats, &error), &error, "store_stats");
        counts = value(stats, "/tasks");
        printf("\nThe store counts %s.\n", counts);
        taskhold_string_free(counts);
        taskhold_string_free(stats);
    }
    close_server(&server);
    for (thing = 0; thing < THINGS; thing++) {
        free(kept.id[thing]);
        free(kept.document[thing]);
    }
    puts(lost == 0 ? "Nothing that was acknowledged is lost; every handle is closed."
                   : "\nAcknowledged state is lost.");
    if (fflush(stdout) != 0) {
        fail("standard output", "it cannot be written");
    }
    return lost == 0 ? 0 : 1;
}
