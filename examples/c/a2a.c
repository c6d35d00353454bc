/* The A2A task steps. */
#include "demo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *owner_text(const char *owner) {
    return owner == NULL ? "(none)" : owner;
}

static int save(struct demo *demo, const char *step) {
    const char *owner, *task, *options;
    char *error = NULL;
    uint64_t revision = 0;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " a2a owner task saveOptions ");
    if (outcome != DONE || (outcome = step_string(demo, step, "owner", &owner)) != DONE ||
        (outcome = step_required_value(demo, step, "task", &task)) != DONE ||
        (outcome = step_value(demo, step, "saveOptions", &options)) != DONE) {
        return outcome;
    }
    printf("\nagent: save, owner %s\n", owner_text(owner));
    show_json(demo, task);
    status = taskhold_state_provider_save_task(demo->a2a, owner, task, options, &revision, &error);
    keep_library(demo, error);
    if (status == TASKHOLD_OK) {
        printf("  revision %" PRIu64 "\n", revision);
    }
    return show_outcome(demo, status, error);
}

static int liveness(struct demo *demo, const char *step) {
    static const char *const names[] = {"absent", "active", "grace", "finalized"};
    const char *id;
    char *error = NULL;
    int32_t active = 0, finalized = 0, answer = 0;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " a2a id ");
    if (outcome != DONE || (outcome = step_required_string(demo, step, "id", &id)) != DONE) {
        return outcome;
    }
    printf("\nqueue manager: is %s still active?\n", id);
    status = taskhold_state_provider_is_task_active(demo->a2a, id, &active, &error);
    if (status == TASKHOLD_OK) {
        status = taskhold_state_provider_is_task_finalized(demo->a2a, id, &finalized, &error);
    }
    if (status == TASKHOLD_OK) {
        status = taskhold_state_provider_task_liveness(demo->a2a, id, &answer, &error);
    }
    keep_library(demo, error);
    if (status == TASKHOLD_OK) {
        printf("  active: %s, finalized: %s, liveness: %s\n", active ? "yes" : "no", finalized ? "yes" : "no",
               answer >= 0 && answer <= 3 ? names[answer] : "unknown");
    }
    return show_outcome(demo, status, error);
}

static int get(struct demo *demo, const char *step) {
    const char *owner, *id, *params;
    char *task = NULL, *error = NULL;
    uint64_t revision = 0;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " a2a owner id params ");
    if (outcome != DONE || (outcome = step_string(demo, step, "owner", &owner)) != DONE ||
        (outcome = step_required_string(demo, step, "id", &id)) != DONE ||
        (outcome = step_value(demo, step, "params", &params)) != DONE) {
        return outcome;
    }
    printf("\nagent: get %s, owner %s\n", id, owner_text(owner));
    status = taskhold_state_provider_get_task(demo->a2a, owner, id, params, &task, &revision, &error);
    keep_library(demo, task);
    keep_library(demo, error);
    if (status == TASKHOLD_OK && task == NULL) {
        puts("  absent");
    } else if (status == TASKHOLD_OK) {
        show_json(demo, task);
        printf("  revision %" PRIu64 "\n", revision);
    }
    return show_outcome(demo, status, error);
}

static int list(struct demo *demo, const char *step) {
    const char *owner, *params;
    char *result = NULL, *error = NULL;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " a2a owner params ");
    if (outcome != DONE || (outcome = step_string(demo, step, "owner", &owner)) != DONE ||
        (outcome = step_value(demo, step, "params", &params)) != DONE) {
        return outcome;
    }
    printf("\nagent: list, owner %s\n", owner_text(owner));
    status = taskhold_state_provider_list_tasks(demo->a2a, owner, params, &result, &error);
    keep_library(demo, result);
    keep_library(demo, error);
    if (status == TASKHOLD_OK && result != NULL) {
        show_json(demo, result);
    }
    return show_outcome(demo, status, error);
}

static int delete_task(struct demo *demo, const char *step) {
    const char *owner, *id;
    char *error = NULL;
    taskhold_status status;
    int outcome = step_members_known(demo, step, " a2a owner id ");
    if (outcome != DONE || (outcome = step_string(demo, step, "owner", &owner)) != DONE ||
        (outcome = step_required_string(demo, step, "id", &id)) != DONE) {
        return outcome;
    }
    printf("\nagent: delete %s, owner %s\n", id, owner_text(owner));
    status = taskhold_state_provider_delete_task(demo->a2a, owner, id, &error);
    keep_library(demo, error);
    return show_outcome(demo, status, error);
}

/* {"a2a": "save" | "get" | "list" | "delete" | "liveness", …} */
int a2a_step(struct demo *demo, const char *step, const char *action) {
    if (strcmp(action, "save") == 0) {
        return save(demo, step);
    }
    if (strcmp(action, "liveness") == 0) {
        return liveness(demo, step);
    }
    if (strcmp(action, "get") == 0) {
        return get(demo, step);
    }
    if (strcmp(action, "list") == 0) {
        return list(demo, step);
    }
    if (strcmp(action, "delete") == 0) {
        return delete_task(demo, step);
    }
    return bad_input(demo, "an A2A step does not know this action", NULL);
}
