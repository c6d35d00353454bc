/* What the files of the conversation example share: the open handles, the names that steps may use, and a
   list of strings to free when a step ends, so that a step can return from anywhere without leaking. */
#ifndef DEMO_H
#define DEMO_H

#include <stddef.h>
#include <stdint.h>

#include "taskhold.h"

/* How a step, and in the end the program, came out. The values are exit codes. */
enum outcome { DONE = 0, FAILED = 1, BAD_INPUT = 2 };

/* Strings that live until the step ends. */
struct scratch {
    char **own; /* from malloc */
    size_t own_count;
    char **library; /* from taskhold, freed with taskhold_string_free */
    size_t library_count;
};

/* Ids in the order of their creation: ${task1}, ${task2}, … */
struct ids {
    char **items;
    size_t count;
};

/* A session snapshot under the name that a step gave it. */
struct snapshot {
    char *name;
    char *json;
    struct snapshot *next;
};

struct demo {
    taskhold_clock *clock;
    taskhold_store *store;
    taskhold_manager *tasks;
    taskhold_session_store *sessions;
    taskhold_state_provider *a2a;
    int64_t now_ms;
    struct ids task_ids;
    struct ids session_ids;
    struct snapshot *snapshots;
    struct scratch scratch;
    const char *file;
    unsigned long line;
};

/* A text that grows. */
struct text {
    char *bytes; /* NUL-terminated, NULL while empty */
    size_t length;
    size_t capacity;
};

/* A part of a JSON text, as it stands there. */
struct span {
    const char *start;
    size_t length;
};

/* memory.c: these end the program when there is no memory */
void text_add(struct text *text, const char *more);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_add_json_string(struct text *text, const char *string);
char *text_keep(struct demo *demo, struct text *text);
char *keep_library(struct demo *demo, char *string);
void scratch_free(struct demo *demo);
void ids_add(struct ids *ids, const char *id);
void ids_free(struct ids *ids);
void snapshot_put(struct demo *demo, const char *name, const char *json);
const char *snapshot_find(const struct demo *demo, const char *name);
void snapshots_free(struct demo *demo);

/* json.c: reading is taskhold_json_get, writing is splicing */
const char *json_get(struct demo *demo, const char *json, const char *pointer);
const char *json_skip(const char *value);
int json_member(const char *object, const char *name, struct span *out_value);
int json_next_member(const char **cursor, struct span *out_name, struct span *out_value);
char *json_with(struct demo *demo, const char *object, const char *name, const char *value);

/* step.c: reading the members of a step */
int bad_input(const struct demo *demo, const char *problem, const char *name);
int step_members_known(const struct demo *demo, const char *step, const char *known);
int step_string(struct demo *demo, const char *step, const char *name, const char **out_value);
int step_required_string(struct demo *demo, const char *step, const char *name, const char **out_value);
int step_value(struct demo *demo, const char *step, const char *name, const char **out_value);
int step_required_value(struct demo *demo, const char *step, const char *name, const char **out_value);
int step_milliseconds(struct demo *demo, const char *step, const char *name, int64_t *out_value);
char *step_with_names(struct demo *demo, const char *line);

/* show.c: what the reader sees */
void show_text(const char *text);
void show_name(const struct demo *demo, const char *id);
void show_time(int64_t epoch_ms);
void show_json(struct demo *demo, const char *text);
int show_outcome(struct demo *demo, taskhold_status status, const char *error);
void format_time(int64_t epoch_ms, char out[32]);

/* One file of steps per system. */
int task_request(struct demo *demo, const char *step);
int task_worker(struct demo *demo, const char *step, const char *name);
int session_step(struct demo *demo, const char *step, const char *action);
int a2a_step(struct demo *demo, const char *step, const char *action);

#endif
