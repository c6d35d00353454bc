/* Plays a conversation with an MCP server and an A2A agent whose state taskhold keeps.

   usage: conversation [FILE.jsonl … | -]

   Each line is one step, a JSON object; without a file, or with "-", the steps come from standard input.
     {"title": "…"}, {"say": "…"}                   narration
     {"endpoint", "partition", "request": {…}}      a client's JSON-RPC request
     {"worker": "working" | "request_input" | "take_responses" | "cancelation_requested" | "complete" | "fail" |
                "cancel" | "advance", …}            what happens on the server's side, and the passing of time
     {"session": "create" | "find" | "replace" | …} the session store
     {"a2a": "save" | "liveness" | "get" | …}       the A2A task state
   ${task1} and ${session1} stand for the id of the first task and session created, ${now} for the time.
   Time stands still but for "advance", so every run prints the same, ids apart.

   Exit codes: 0 all steps were played, 1 something failed, 2 a line is not a step. */
#include "demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum line { LINE_READ, LINE_END, LINE_BROKEN };

/* Reads one line of any length; a NUL in it would hide the rest. */
static enum line read_line(FILE *input, struct text *line) {
    int c;
    line->length = 0;
    while ((c = getc(input)) != EOF && c != '\n') {
        char byte = (char)c;
        if (c == '\0') {
            return LINE_BROKEN;
        }
        text_add_bytes(line, &byte, 1);
    }
    if (c == EOF && line->length == 0) {
        return LINE_END;
    }
    text_add_bytes(line, "", 0);
    return LINE_READ;
}

static int narrate(struct demo *demo, const char *step, const char *member) {
    const char *text;
    int outcome = step_members_known(demo, step, " say title ");
    if (outcome != DONE || (outcome = step_required_string(demo, step, member, &text)) != DONE) {
        return outcome;
    }
    fputs(strcmp(member, "title") == 0 ? "\n\n# " : "\n", stdout);
    show_text(text);
    return DONE;
}

static int play_step(struct demo *demo, const char *line) {
    char *error = NULL, *whole = NULL;
    const char *step, *action;
    struct span value;
    int outcome;

    step = step_with_names(demo, line);
    if (step == NULL) {
        return BAD_INPUT;
    }
    if (taskhold_json_get(step, "", &whole, &error) != TASKHOLD_OK) {
        const char *message = error == NULL ? NULL : json_get(demo, error, "/message");
        keep_library(demo, error);
        return bad_input(demo, "the line is not a JSON object", message);
    }
    keep_library(demo, whole);
    step = whole;
    if (step == NULL || *step != '{') {
        return bad_input(demo, "the line is not a JSON object", NULL);
    }
    if (json_member(step, "say", &value)) {
        return narrate(demo, step, "say");
    }
    if (json_member(step, "title", &value)) {
        return narrate(demo, step, "title");
    }
    if (json_member(step, "request", &value)) {
        return task_request(demo, step);
    }
    if ((outcome = step_string(demo, step, "worker", &action)) != DONE || action != NULL) {
        return outcome == DONE ? task_worker(demo, step, action) : outcome;
    }
    if ((outcome = step_string(demo, step, "session", &action)) != DONE || action != NULL) {
        return outcome == DONE ? session_step(demo, step, action) : outcome;
    }
    if ((outcome = step_string(demo, step, "a2a", &action)) != DONE || action != NULL) {
        return outcome == DONE ? a2a_step(demo, step, action) : outcome;
    }
    return bad_input(demo, "a step has a member request, worker, session, a2a, say or title", NULL);
}

static int play(struct demo *demo, const char *path) {
    struct text line = {0};
    int standard_input = strcmp(path, "-") == 0;
    FILE *input = standard_input ? stdin : fopen(path, "r");
    enum line read = LINE_END;
    int outcome = DONE;

    demo->file = standard_input ? "standard input" : path;
    demo->line = 0;
    if (input == NULL) {
        fprintf(stderr, "%s: cannot be opened; usage: conversation [FILE.jsonl ... | -]\n", path);
        return BAD_INPUT;
    }
    while (outcome == DONE && (read = read_line(input, &line)) != LINE_END) {
        demo->line++;
        if (read == LINE_BROKEN) {
            outcome = bad_input(demo, "the line holds a NUL byte", NULL);
        } else if (line.bytes[strspn(line.bytes, " \t\r")] != '\0') {
            outcome = play_step(demo, line.bytes);
        }
        scratch_free(demo);
    }
    if (outcome == DONE && ferror(input)) {
        fprintf(stderr, "%s: cannot be read\n", demo->file);
        outcome = FAILED;
    }
    free(line.bytes);
    if (!standard_input) {
        fclose(input);
    }
    return outcome;
}

static int open_all(struct demo *demo) {
    char *error = NULL;
    int outcome;
    taskhold_status status = taskhold_clock_open_manual(demo->now_ms, &demo->clock, &error);
    if (status == TASKHOLD_OK) {
        status = taskhold_store_open("memory:", NULL, demo->clock, &demo->store, &error);
    }
    if (status == TASKHOLD_OK) {
        status = taskhold_manager_open(demo->store, NULL, &demo->tasks, &error);
    }
    if (status == TASKHOLD_OK) {
        status = taskhold_session_store_open(demo->store, "{\"keepExpired\": 16}", &demo->sessions, &error);
    }
    if (status == TASKHOLD_OK) {
        status = taskhold_state_provider_open(demo->store, NULL, &demo->a2a, &error);
    }
    keep_library(demo, error);
    outcome = show_outcome(demo, status, error);
    scratch_free(demo);
    return status == TASKHOLD_OK ? DONE : outcome == DONE ? FAILED : outcome;
}

/* Closes everything and makes sure that it is closed. Closing NULL is OK, so a half opened demo may come here. */
static int close_all(struct demo *demo) {
    char *description = NULL, *error = NULL;
    const char *live = NULL;
    int outcome = DONE;
    if (taskhold_state_provider_close(demo->a2a) != TASKHOLD_OK ||
        taskhold_session_store_close(demo->sessions) != TASKHOLD_OK ||
        taskhold_manager_close(demo->tasks) != TASKHOLD_OK ||
        taskhold_store_close(demo->store) != TASKHOLD_OK ||
        taskhold_clock_close(demo->clock) != TASKHOLD_OK) {
        fputs("a handle could not be closed\n", stderr);
        outcome = FAILED;
    }
    if (taskhold_describe(&description, &error) == TASKHOLD_OK && description != NULL) {
        live = json_get(demo, description, "/liveHandles");
    }
    if (live == NULL || strcmp(live, "0") != 0) {
        fprintf(stderr, "%s handles are still open\n", live == NULL ? "an unknown number of" : live);
        outcome = FAILED;
    }
    keep_library(demo, description);
    keep_library(demo, error);
    scratch_free(demo);
    ids_free(&demo->task_ids);
    ids_free(&demo->session_ids);
    snapshots_free(demo);
    return outcome;
}

int main(int argc, char **argv) {
    struct demo demo = {0};
    int outcome, closed, at;
    demo.now_ms = INT64_C(1767225600000); /* 2026-01-01T00:00:00Z */
    if (taskhold_abi_version() != TASKHOLD_ABI_VERSION) {
        fputs("this program and the taskhold library do not belong together\n", stderr);
        return FAILED;
    }
    outcome = open_all(&demo);
    if (outcome == DONE && argc < 2) {
        outcome = play(&demo, "-");
    }
    for (at = 1; outcome == DONE && at < argc; at++) {
        outcome = play(&demo, argv[at]);
    }
    closed = close_all(&demo);
    if (outcome == DONE && closed == DONE) {
        puts("\nThe conversation is over; every handle is closed.");
    }
    if (fflush(stdout) != 0) {
        fputs("standard output cannot be written\n", stderr);
        return FAILED;
    }
    return outcome == DONE ? closed : outcome;
}
