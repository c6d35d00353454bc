/* The MCP session steps. A snapshot keeps the name that a step gives it with "as"; a replacement is made of a
   named snapshot by splicing in what changes and the next version. */
#include "demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints a session, or that there is none, and keeps it under the name in `as`. */
static int show_session(struct demo *demo, taskhold_status status, char *session, char *error, const char *as,
                        const char *absent) {
    keep_library(demo, session);
    keep_library(demo, error);
    if (status != TASKHOLD_OK) {
        return show_outcome(demo, status, error);
    }
    if (session == NULL) {
        printf("  %s\n", absent);
        return DONE;
    }
    show_json(demo, session);
    if (as != NULL) {
        snapshot_put(demo, as, session);
    }
    return DONE;
}

static int create(struct demo *demo, const char *step) {
    const char *endpoint, *creation, *as, *id;
    char *session = NULL, *error = NULL;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " session endpoint creation as ");
    if (outcome != DONE || (outcome = step_required_string(demo, step, "endpoint", &endpoint)) != DONE ||
        (outcome = step_value(demo, step, "creation", &creation)) != DONE ||
        (outcome = step_string(demo, step, "as", &as)) != DONE) {
        return outcome;
    }
    printf("\nsession store: create, endpoint %s\n", endpoint);
    status = taskhold_session_store_create(demo->sessions, endpoint, creation, &session, &error);
    if (status == TASKHOLD_OK && session != NULL && (id = json_get(demo, session, "/sessionId")) != NULL) {
        ids_add(&demo->session_ids, id);
    }
    return show_session(demo, status, session, error, as, "declined: the limit of sessions is reached");
}

static int find(struct demo *demo, const char *step) {
    const char *endpoint, *partition, *id, *as;
    char *session = NULL, *error = NULL;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " session endpoint partition id as ");
    if (outcome != DONE || (outcome = step_string(demo, step, "endpoint", &endpoint)) != DONE ||
        (outcome = step_string(demo, step, "partition", &partition)) != DONE ||
        (outcome = step_required_string(demo, step, "id", &id)) != DONE ||
        (outcome = step_string(demo, step, "as", &as)) != DONE) {
        return outcome;
    }
    printf("\nsession store: find ");
    show_name(demo, id);
    if (endpoint == NULL) {
        putchar('\n');
        status = taskhold_session_store_find_by_session_id(demo->sessions, id, &session, &error);
    } else {
        printf(" for endpoint %s, partition %s\n", endpoint, partition == NULL ? "(none)" : partition);
        status = taskhold_session_store_find_authorized_session(demo->sessions, endpoint, partition, id,
                                                                &session, &error);
    }
    return show_session(demo, status, session, error, as, "absent");
}

/* The snapshot with the members of `change` spliced in and the version after it. */
static int changed(struct demo *demo, const char *expected, const char *change, const char **out_updated) {
    const char *version = json_get(demo, expected, "/version");
    const char *updated = expected;
    const char *cursor = change;
    struct span name, value;
    char next[32];
    if (version == NULL || *change != '{') {
        return bad_input(demo, "the member must be an object", "change");
    }
    snprintf(next, sizeof next, "%lld", strtoll(version, NULL, 10) + 1);
    updated = json_with(demo, updated, "version", next);
    while (updated != NULL && json_next_member(&cursor, &name, &value)) {
        struct text name_text = {0}, value_text = {0};
        text_add_bytes(&name_text, name.start, name.length);
        text_add_bytes(&value_text, value.start, value.length);
        updated = json_with(demo, updated, text_keep(demo, &name_text), text_keep(demo, &value_text));
    }
    *out_updated = updated;
    return updated == NULL ? bad_input(demo, "a session has no such member", "change") : DONE;
}

static int replace(struct demo *demo, const char *step) {
    const char *expected_name, *change, *as, *expected, *updated;
    char *error = NULL;
    int32_t replaced = 0;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " session expected change as ");
    if (outcome != DONE || (outcome = step_required_string(demo, step, "expected", &expected_name)) != DONE ||
        (outcome = step_required_value(demo, step, "change", &change)) != DONE ||
        (outcome = step_string(demo, step, "as", &as)) != DONE) {
        return outcome;
    }
    expected = snapshot_find(demo, expected_name);
    if (expected == NULL) {
        return bad_input(demo, "no snapshot has this name", "expected");
    }
    outcome = changed(demo, expected, change, &updated);
    if (outcome != DONE) {
        return outcome;
    }
    printf("\nsession store: replace the snapshot \"");
    show_name(demo, expected_name);
    puts("\" by one with");
    show_json(demo, change);
    status = taskhold_session_store_replace(demo->sessions, expected, updated, &replaced, &error);
    keep_library(demo, error);
    if (status != TASKHOLD_OK) {
        return show_outcome(demo, status, error);
    }
    puts(replaced ? "  won: replaced"
                  : "  lost: the stored session is not the expected one; nothing changed");
    if (replaced && as != NULL) {
        snapshot_put(demo, as, updated);
    }
    return DONE;
}

static int by_id(struct demo *demo, const char *step, const char *action) {
    const char *id;
    char *error = NULL;
    int32_t pinned = 0;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " session id ");
    if (outcome != DONE || (outcome = step_required_string(demo, step, "id", &id)) != DONE) {
        return outcome;
    }
    printf("\nsession store: %s ", action);
    show_name(demo, id);
    putchar('\n');
    if (strcmp(action, "pin") == 0) {
        status = taskhold_session_store_pin(demo->sessions, id, &pinned, &error);
        if (status == TASKHOLD_OK) {
            puts(pinned ? "  pinned" : "  absent");
        }
    } else if (strcmp(action, "unpin") == 0) {
        status = taskhold_session_store_unpin(demo->sessions, id, &error);
    } else {
        status = taskhold_session_store_delete_by_session_id(demo->sessions, id, &error);
    }
    keep_library(demo, error);
    return show_outcome(demo, status, error);
}

static int take_expired(struct demo *demo, const char *step) {
    char *expired = NULL, *error = NULL;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " session ");
    if (outcome != DONE) {
        return outcome;
    }
    puts("\nsession store: which sessions expired?");
    status = taskhold_session_store_take_expired(demo->sessions, &expired, &error);
    keep_library(demo, expired);
    keep_library(demo, error);
    if (status == TASKHOLD_OK && expired != NULL) {
        show_json(demo, expired);
    }
    return show_outcome(demo, status, error);
}

/* {"session": "create" | "find" | "replace" | "delete" | "pin" | "unpin" | "take_expired", …} */
int session_step(struct demo *demo, const char *step, const char *action) {
    if (strcmp(action, "create") == 0) {
        return create(demo, step);
    }
    if (strcmp(action, "find") == 0) {
        return find(demo, step);
    }
    if (strcmp(action, "replace") == 0) {
        return replace(demo, step);
    }
    if (strcmp(action, "delete") == 0 || strcmp(action, "pin") == 0 || strcmp(action, "unpin") == 0) {
        return by_id(demo, step, action);
    }
    if (strcmp(action, "take_expired") == 0) {
        return take_expired(demo, step);
    }
    return bad_input(demo, "a session step does not know this action", NULL);
}
