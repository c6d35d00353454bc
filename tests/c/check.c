#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_true(int condition, const char *text, const char *file, int line) {
    if (!condition) {
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
        exit(1);
    }
}

void check_ok(taskhold_status status, char **error, const char *call, const char *file, int line) {
    if (status != TASKHOLD_OK || *error != NULL) {
        fprintf(stderr, "%s:%d: %s\n  gives %s, %s\n", file, line, call, taskhold_status_name(status),
                *error == NULL ? "no error" : *error);
        exit(1);
    }
}

void check_refused(taskhold_status status, taskhold_status expected, const char *reason, char **error,
                   const char *call, const char *file, int line) {
    if (status != expected || *error == NULL) {
        fprintf(stderr, "%s:%d: %s\n  gives %s, %s\n", file, line, call, taskhold_status_name(status),
                *error == NULL ? "no error" : *error);
        exit(1);
    }
    check_json(*error, "/reason", reason, file, line);
    check_json(*error, "/status", taskhold_status_name(expected), file, line);
    drop(error);
}

void check_json(const char *json, const char *pointer, const char *expected, const char *file, int line) {
    char *value = NULL, *error = NULL;
    check_true(json != NULL, "there is a JSON text", file, line);
    check_ok(taskhold_json_get(json, pointer, &value, &error), &error, pointer, file, line);
    if ((value == NULL) != (expected == NULL) || (value != NULL && strcmp(value, expected) != 0)) {
        fprintf(stderr, "%s:%d: %s is %s instead of %s in\n  %s\n", file, line, pointer,
                value == NULL ? "absent" : value, expected == NULL ? "absent" : expected, json);
        exit(1);
    }
    taskhold_string_free(value);
}

char *get_json(const char *json, const char *pointer) {
    char *value = NULL, *error = NULL;
    CHECK_OK(taskhold_json_get(json, pointer, &value, &error));
    CHECK(value != NULL);
    return value;
}

void drop(char **string) {
    taskhold_string_free(*string);
    *string = NULL;
}

char *new_task(taskhold_manager *manager, const char *partition) {
    char creation[200], *record = NULL, *error = NULL, *id;
    snprintf(creation, sizeof creation,
             "{\"endpoint\": \"/mcp\", \"authorizationPartition\": %s%s%s, \"origin\": {\"name\": \"tool\"}}",
             partition == NULL ? "" : "\"", partition == NULL ? "null" : partition,
             partition == NULL ? "" : "\"");
    CHECK_OK(taskhold_manager_create_task(manager, creation, &record, &error));
    id = get_json(record, "/task/taskId");
    drop(&record);
    return id;
}

int finished(void) {
    char *description = NULL, *error = NULL;
    CHECK_OK(taskhold_describe(&description, &error));
    CHECK_JSON(description, "/liveHandles", "0");
    drop(&description);
    return 0;
}
