/* Reading the members of a step, and saying what is wrong with one. */
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says what is wrong with the current line, and about which member when `name` is given. */
int bad_input(const struct demo *demo, const char *problem, const char *name) {
    fflush(stdout);
    fprintf(stderr, "%s:%lu: %s%s%s\n", demo->file, demo->line, problem, name == NULL ? "" : ": ",
            name == NULL ? "" : name);
    return BAD_INPUT;
}

/* Refuses a member whose name is not in `known`, a list with a space around each name. */
int step_members_known(const struct demo *demo, const char *step, const char *known) {
    const char *cursor = step;
    struct span name, value;
    while (json_next_member(&cursor, &name, &value)) {
        char wanted[40];
        if (name.length + 3 > sizeof wanted) {
            return bad_input(demo, "the step has an unknown member", NULL);
        }
        snprintf(wanted, sizeof wanted, " %.*s ", (int)name.length, name.start);
        if (strstr(known, wanted) == NULL) {
            wanted[name.length + 1] = '\0';
            return bad_input(demo, "the step has an unknown member", wanted + 1);
        }
    }
    return DONE;
}

/* The pointer of a top-level member; names here need no escaping. */
static const char *member_text(struct demo *demo, const char *step, const char *name) {
    struct text pointer = {0};
    text_add(&pointer, "/");
    text_add(&pointer, name);
    return json_get(demo, step, text_keep(demo, &pointer));
}

/* The JSON text of a member; NULL when it is absent or null. A string comes decoded. */
int step_value(struct demo *demo, const char *step, const char *name, const char **out_value) {
    struct span raw;
    *out_value = NULL;
    if (!json_member(step, name, &raw) || (raw.length == 4 && memcmp(raw.start, "null", 4) == 0)) {
        return DONE;
    }
    *out_value = member_text(demo, step, name);
    return *out_value == NULL ? bad_input(demo, "the member cannot be read", name) : DONE;
}

int step_required_value(struct demo *demo, const char *step, const char *name, const char **out_value) {
    int outcome = step_value(demo, step, name, out_value);
    if (outcome == DONE && *out_value == NULL) {
        return bad_input(demo, "the step lacks a member", name);
    }
    return outcome;
}

/* The same for a member that must be a string. */
int step_string(struct demo *demo, const char *step, const char *name, const char **out_value) {
    struct span raw;
    int outcome = step_value(demo, step, name, out_value);
    if (outcome == DONE && *out_value != NULL && json_member(step, name, &raw) && *raw.start != '"') {
        return bad_input(demo, "the member must be a string", name);
    }
    return outcome;
}

int step_required_string(struct demo *demo, const char *step, const char *name, const char **out_value) {
    int outcome = step_string(demo, step, name, out_value);
    if (outcome == DONE && *out_value == NULL) {
        return bad_input(demo, "the step lacks a member", name);
    }
    return outcome;
}

int step_milliseconds(struct demo *demo, const char *step, const char *name, int64_t *out_value) {
    const char *text;
    char *end;
    long long value;
    int outcome = step_required_value(demo, step, name, &text);
    if (outcome != DONE) {
        return outcome;
    }
    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 0) {
        return bad_input(demo, "the member must be a whole number of milliseconds", name);
    }
    *out_value = value;
    return DONE;
}

/* Whether `text` begins with `prefix`. */
static int begins(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The id that `${task1}` or `${session1}` stands for; `*after` is set behind the closing brace. */
static const char *named_id(const struct ids *ids, const char *digits, const char **after) {
    char *end;
    unsigned long number;
    if (*digits < '1' || *digits > '9') {
        return NULL;
    }
    number = strtoul(digits, &end, 10);
    if (*end != '}' || number > ids->count) {
        return NULL;
    }
    *after = end + 1;
    return ids->items[number - 1];
}

/* The line with `${task1}`, `${session1}` and `${now}` replaced, other `${` left alone; NULL, after a message,
   when the task or session is unknown. */
char *step_with_names(struct demo *demo, const char *line) {
    struct text replaced = {0};
    const char *at = line;
    const char *reference;
    while ((reference = strstr(at, "${")) != NULL) {
        const char *value;
        char now[32];
        text_add_bytes(&replaced, at, (size_t)(reference - at));
        if (begins(reference, "${now}")) {
            format_time(demo->now_ms, now);
            value = now;
            at = reference + strlen("${now}");
        } else if (begins(reference, "${task")) {
            value = named_id(&demo->task_ids, reference + strlen("${task"), &at);
        } else if (begins(reference, "${session")) {
            value = named_id(&demo->session_ids, reference + strlen("${session"), &at);
        } else {
            value = "${";
            at = reference + strlen("${");
        }
        if (value == NULL) {
            text_keep(demo, &replaced);
            bad_input(demo, "a ${...} names nothing that was created before this line", NULL);
            return NULL;
        }
        /* An id may hold any visible character; inside a JSON string two of them need an escape. */
        for (; *value != '\0'; value++) {
            if (*value == '"' || *value == '\\') {
                text_add(&replaced, "\\");
            }
            text_add_bytes(&replaced, value, 1);
        }
    }
    text_add(&replaced, at);
    return text_keep(demo, &replaced);
}
