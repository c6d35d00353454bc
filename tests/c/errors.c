/* Misuse: every one gives a status and changes nothing, none is undefined behavior. */
#include "check.h"

#include <string.h>

#define CREATION "{\"endpoint\": \"/mcp\", \"origin\": 1}"

static void null_pointers(taskhold_manager *manager) {
    char *error = NULL, *json = NULL;
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument", taskhold_describe(NULL, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument", taskhold_clock_open_manual(0, NULL, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument",
                  taskhold_store_open(NULL, NULL, NULL, NULL, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument",
                  taskhold_manager_open(NULL, NULL, NULL, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument",
                  taskhold_session_store_open(NULL, NULL, NULL, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument",
                  taskhold_state_provider_open(NULL, NULL, NULL, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument", taskhold_json_get("{}", NULL, &json, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument", taskhold_json_get(NULL, "", &json, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument", taskhold_json_get("{}", "", NULL, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument",
                  taskhold_manager_create_task(manager, NULL, &json, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument",
                  taskhold_manager_find_task(manager, NULL, &json, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument",
                  taskhold_manager_complete_task(manager, "t", NULL, NULL, NULL, &json, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument",
                  taskhold_manager_handle_request(manager, "/mcp", NULL, NULL, "{}", NULL, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "null_argument",
                  taskhold_manager_subscribe(manager, NULL, NULL, NULL, NULL, &error));
    /* The parameter is named. */
    CHECK(taskhold_manager_find_task(manager, NULL, &json, &error) == TASKHOLD_INVALID_ARGUMENT);
    CHECK_JSON(error, "/key", "task_id");
    drop(&error);
    taskhold_string_free(NULL);
}

static void handles(taskhold_manager *manager) {
    taskhold_store *store = NULL;
    taskhold_manager *closed = NULL;
    char *json = NULL, *error = NULL;
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "null", taskhold_manager_options(NULL, &json, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "foreign",
                  taskhold_manager_options((taskhold_manager *)(void *)&store, &json, &error));
    CHECK_OK(taskhold_store_open("memory:", NULL, NULL, &store, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "foreign",
                  taskhold_manager_options((taskhold_manager *)(void *)store, &json, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "foreign",
                  taskhold_store_stats((taskhold_store *)(void *)manager, &json, &error));
    CHECK_OK(taskhold_manager_open(store, NULL, &closed, &error));
    CHECK(taskhold_store_close(store) == TASKHOLD_OK);
    CHECK(taskhold_store_close(store) == TASKHOLD_OK);
    CHECK(taskhold_store_close(NULL) == TASKHOLD_OK);
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "closed", taskhold_store_stats(store, &json, &error));
    /* What was opened over a store goes on when the store's own handle is closed. */
    CHECK_OK(taskhold_manager_create_task(closed, CREATION, NULL, &error));
    CHECK(taskhold_manager_close(closed) == TASKHOLD_OK);
    CHECK(taskhold_manager_close(closed) == TASKHOLD_OK);
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "closed",
                  taskhold_manager_create_task(closed, CREATION, &json, &error));
    CHECK(taskhold_manager_close(manager) == TASKHOLD_OK);
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "closed", taskhold_manager_options(manager, &json, &error));
}

static void outputs(taskhold_manager *manager) {
    char garbage[] = "not a string of the library", *error = garbage, *json = garbage;
    int32_t requested = 77;
    /* Outputs are cleared on entry and never read. */
    CHECK(taskhold_manager_find_task(manager, " ", &json, &error) == TASKHOLD_INVALID_ARGUMENT);
    CHECK(json == NULL && error != garbage);
    CHECK_JSON(error, "/reason", "invalid_identifier");
    taskhold_string_free(error);
    error = garbage;
    json = garbage;
    CHECK(taskhold_manager_find_task(manager, "unknown", &json, &error) == TASKHOLD_OK);
    CHECK(json == NULL && error == NULL);
    CHECK_REFUSED(TASKHOLD_NOT_FOUND, "task_not_found",
                  taskhold_manager_is_task_cancelation_requested(manager, "unknown", &requested, &error));
    CHECK(requested == 0);
    /* Nobody has to want the error. */
    CHECK(taskhold_manager_options(NULL, &json, NULL) == TASKHOLD_INVALID_HANDLE);
    CHECK(taskhold_manager_find_task(manager, "unknown", NULL, NULL) == TASKHOLD_OK);
}

static void payloads(taskhold_manager *manager) {
    static char large[2000];
    char deep[2 * 145 + 1], *json = NULL, *error = NULL, *id = new_task(manager, NULL);
    struct {
        const char *creation, *reason;
    } refused[] = {
        {"", "invalid_json"},
        {"{\"endpoint\": \"/mcp\", \"origin\": 01}", "invalid_json"},
        {"\xEF\xBB\xBF{\"endpoint\": \"/mcp\", \"origin\": 1}", "invalid_json"},
        {"{\"endpoint\": \"/mcp\", \"origin\": \"\xC3\x28\"}", "invalid_utf8"},
        {"{\"endpoint\": \"/mcp\", \"origin\": \"\\ud800\"}", "lone_surrogate"},
        {"{\"endpoint\": \"/mcp\", \"origin\": {\"a\": 1, \"\\u0061\": 2}}", "duplicate_key"},
        {"{\"endpoint\": \"/mcp\", \"origin\": 1, \"taskId\": \"mine\"}", "unknown_key"},
        {"{\"endpoint\": \"/mcp\"}", "missing_key"},
    };
    size_t at;
    for (at = 0; at < sizeof refused / sizeof *refused; at++) {
        CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, refused[at].reason,
                      taskhold_manager_create_task(manager, refused[at].creation, &json, &error));
        CHECK(json == NULL);
    }
    CHECK(taskhold_manager_create_task(manager, refused[6].creation, NULL, &error) ==
          TASKHOLD_INVALID_ARGUMENT);
    CHECK_JSON(error, "/key", "taskId");
    drop(&error);

    memset(deep, '[', 145);
    memset(deep + 145, ']', 145);
    deep[2 * 145] = '\0';
    CHECK_REFUSED(TASKHOLD_LIMIT_EXCEEDED, "nesting_too_deep", taskhold_json_get(deep, "", &json, &error));
    memset(large, ' ', sizeof large - 1);
    memcpy(large, "{}", 2);
    CHECK_REFUSED(TASKHOLD_LIMIT_EXCEEDED, "payload_too_large",
                  taskhold_manager_complete_task(manager, id, large, NULL, NULL, &json, &error));
    /* None of this changed the task. */
    CHECK_OK(taskhold_manager_find_task(manager, id, &json, &error));
    CHECK_JSON(json, "/revision", "1");
    drop(&json);
    drop(&id);
}

static void json_get(void) {
    const char *text = "{\"a\": {\"b/c\": [1e999, \"\\u00e9\\n\"]}, \"zero\": \"\\u0000\"}";
    char *value = NULL, *error = NULL;
    CHECK_JSON(text, "/a/b~1c/0", "1e999");
    CHECK_JSON(text, "/a/b~1c/1", "\xC3\xA9\n");
    CHECK_JSON(text, "/a/nothing", NULL);
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "embedded_nul",
                  taskhold_json_get(text, "/zero", &value, &error));
    CHECK_OK(taskhold_json_get(text, "", &value, &error));
    CHECK(strcmp(value, text) == 0);
    drop(&value);
}

int main(void) {
    taskhold_manager *manager = NULL;
    char *error = NULL;
    CHECK(strcmp(taskhold_status_name(TASKHOLD_OK), "ok") == 0);
    CHECK(strcmp(taskhold_status_name(TASKHOLD_CAPACITY_EXHAUSTED), "capacity_exhausted") == 0);
    CHECK(strcmp(taskhold_status_name(12345), "unknown") == 0);
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "unknown_key",
                  taskhold_manager_open(NULL, "{\"maximumRetained\": 1}", &manager, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "invalid_value",
                  taskhold_manager_open(NULL, "{\"maximumRetainedTasks\": 0}", &manager, &error));
    CHECK(manager == NULL);
    CHECK_OK(taskhold_manager_open(NULL, "{\"maximumPayloadBytes\": 1000}", &manager, &error));
    null_pointers(manager);
    outputs(manager);
    payloads(manager);
    json_get();
    handles(manager); /* closes it */
    return finished();
}
