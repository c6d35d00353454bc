/* The life of a task, a session and an A2A task, over one store on a manual clock. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#define NAME_REQUEST                                                                                         \
    "{\"name\": {\"method\": \"elicitation/create\", \"params\": {\"message\": \"Your name?\", "             \
    "\"requestedSchema\": {\"type\": \"object\", \"properties\": {}}}}}"
#define CAPABLE "{\"elicitation\": {}, \"extensions\": {\"io.modelcontextprotocol/tasks\": {}}}"

static void task_with_input(taskhold_manager *manager) {
    char *record = NULL, *outcome = NULL, *responses = NULL, *error = NULL, *id = new_task(manager, "alice");
    int32_t requested = 9;

    CHECK_OK(taskhold_manager_find_task(manager, id, &record, &error));
    CHECK_JSON(record, "/task/status", "working");
    CHECK_JSON(record, "/revision", "1");
    CHECK_JSON(record, "/origin", "{\"name\": \"tool\"}");
    drop(&record);
    CHECK_OK(taskhold_manager_mark_task_working(manager, id, "Half way", NULL, &record, &error));
    CHECK_JSON(record, "/task/statusMessage", "Half way");
    drop(&record);
    CHECK_OK(taskhold_manager_request_task_input(manager, id, NAME_REQUEST, NULL, NULL, &record, &error));
    CHECK_JSON(record, "/task/status", "input_required");
    CHECK_JSON(record, "/task/inputRequests/name/params/message", "Your name?");
    drop(&record);

    CHECK_OK(taskhold_manager_update_task(
        manager, "/mcp", "alice", id,
        "{\"name\": {\"action\": \"accept\", \"content\": {\"name\": \"Luca\"}}, "
        "\"zz\": {\"action\": \"decline\"}}",
        NULL, &outcome, &error));
    CHECK_JSON(outcome, "/accepted", "[\"name\"]");
    CHECK_JSON(outcome, "/ignored", "[\"zz\"]");
    drop(&outcome);
    CHECK_REFUSED(TASKHOLD_INVALID_STATE, "input_responses_untaken",
                  taskhold_manager_request_task_input(manager, id, "{\"more\": {\"method\": \"roots/list\"}}",
                                                      NULL, NULL, NULL, &error));
    CHECK_OK(taskhold_manager_take_task_input_responses(manager, id, NULL, &responses, &error));
    CHECK_JSON(responses, "/name/content/name", "Luca");
    drop(&responses);
    CHECK_OK(taskhold_manager_take_task_input_responses(manager, id, NULL, &responses, &error));
    CHECK(strcmp(responses, "{}") == 0);
    drop(&responses);

    CHECK_OK(taskhold_manager_request_task_cancelation(manager, "/mcp", "alice", id, &error));
    CHECK_OK(taskhold_manager_is_task_cancelation_requested(manager, id, &requested, &error));
    CHECK(requested == 1);
    CHECK_OK(taskhold_manager_complete_task(manager, id, "{\"content\": [],  \"big\": 1e999}", "Done", NULL,
                                            &record, &error));
    CHECK_JSON(record, "/task/status", "completed");
    CHECK_JSON(record, "/task/result", "{\"content\": [],  \"big\": 1e999}");
    CHECK_JSON(record, "/cancelationRequested", "true");
    drop(&record);
    CHECK_REFUSED(TASKHOLD_INVALID_STATE, "task_terminal",
                  taskhold_manager_cancel_task(manager, id, NULL, NULL, &record, &error));
    drop(&id);
}

static void task_ends(taskhold_manager *manager) {
    char *record = NULL, *error = NULL, *failed = new_task(manager, NULL),
         *canceled = new_task(manager, NULL);
    CHECK_OK(taskhold_manager_fail_task(manager, failed, "{\"code\": -32603, \"message\": \"No luck\"}", NULL,
                                        "{\"expectedRevision\": 1}", &record, &error));
    CHECK_JSON(record, "/task/status", "failed");
    CHECK_JSON(record, "/task/error/code", "-32603");
    drop(&record);
    CHECK_REFUSED(
        TASKHOLD_CONFLICT, "revision_mismatch",
        taskhold_manager_cancel_task(manager, canceled, NULL, "{\"expectedRevision\": 7}", NULL, &error));
    CHECK_OK(taskhold_manager_cancel_task(manager, canceled, "Stopped", NULL, &record, &error));
    CHECK_JSON(record, "/task/status", "cancelled");
    drop(&record);
    drop(&failed);
    drop(&canceled);
}

static void task_over_the_wire(taskhold_manager *manager) {
    char request[300], *json = NULL, *error = NULL, *id = new_task(manager, "alice");
    uint64_t revision = 0;
    CHECK_OK(taskhold_manager_render_task(manager, "/mcp", "alice", id, TASKHOLD_RENDER_CREATE_RESULT, NULL,
                                          &json, &revision, &error));
    CHECK_JSON(json, "/resultType", "task");
    CHECK_JSON(json, "/taskId", id);
    CHECK(revision == 1);
    drop(&json);
    CHECK_OK(taskhold_manager_render_task(manager, "/mcp", "alice", id, TASKHOLD_RENDER_GET_RESULT, NULL,
                                          &json, NULL, &error));
    CHECK_JSON(json, "/resultType", "complete");
    drop(&json);
    CHECK_OK(taskhold_manager_render_task(manager, "/mcp", "alice", id, TASKHOLD_RENDER_NOTIFICATION,
                                          "{\"subscriptionId\": \"s1\"}", &json, NULL, &error));
    CHECK_JSON(json, "/method", "notifications/tasks");
    CHECK_JSON(json, "/params/_meta/io.modelcontextprotocol~1subscriptionId", "s1");
    drop(&json);

    strcpy(request,
           "{\"jsonrpc\": \"2.0\", \"id\": \"r-1\", \"method\": \"tasks/get\", \"params\": {\"taskId\": \"");
    strcat(request, id);
    strcat(request, "\"}}");
    CHECK_OK(taskhold_manager_handle_request(manager, "/mcp", "alice", CAPABLE, request, &json, &error));
    CHECK_JSON(json, "/id", "r-1");
    CHECK_JSON(json, "/result/status", "working");
    drop(&json);
    CHECK_OK(taskhold_manager_handle_request(manager, "/mcp", NULL, CAPABLE, request, &json, &error));
    CHECK_JSON(json, "/error/code", "-32602");
    CHECK_JSON(json, "/result", NULL);
    drop(&json);
    CHECK_OK(taskhold_manager_find_authorized_task(manager, "/mcp", "mallory", id, &json, &error));
    CHECK(json == NULL);
    CHECK_OK(taskhold_manager_find_authorized_task(manager, "/mcp", "alice", id, &json, &error));
    CHECK(json != NULL);
    drop(&json);
    drop(&id);
}

/* The creation belongs to the caller again when the call returns. */
static void creation_is_copied(taskhold_manager *manager) {
    char creation[] =
        "{\"endpoint\": \"/mcp\", \"authorizationPartition\": \"alice\", \"origin\": {\"name\": \"x\"}}";
    char *record = NULL, *found = NULL, *error = NULL, *id;
    CHECK_OK(taskhold_manager_create_task(manager, creation, &record, &error));
    memset(creation, '#', sizeof creation - 1);
    id = get_json(record, "/task/taskId");
    CHECK_OK(taskhold_manager_find_authorized_task(manager, "/mcp", "alice", id, &found, &error));
    CHECK(strcmp(found, record) == 0);
    CHECK_JSON(found, "/origin", "{\"name\": \"x\"}");
    drop(&found);
    drop(&record);
    drop(&id);
}

/* Asks for what the tool never declared, then corrects it. */
static void corrected_round(taskhold_manager *manager) {
    char request[200], *record = NULL, *response = NULL, *error = NULL, *id;
    CHECK_OK(taskhold_manager_create_task(
        manager, "{\"endpoint\": \"/mcp\", \"origin\": 1, \"declaredInputRequests\": [\"elicitation/form\"]}",
        &record, &error));
    id = get_json(record, "/task/taskId");
    drop(&record);
    snprintf(request, sizeof request,
             "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tasks/get\", \"params\": {\"taskId\": \"%s\"}}",
             id);
    CHECK_OK(taskhold_manager_request_task_input(manager, id, "{\"roots\": {\"method\": \"roots/list\"}}",
                                                 NULL, NULL, NULL, &error));
    CHECK_OK(taskhold_manager_handle_request(manager, "/mcp", NULL, CAPABLE, request, &response, &error));
    CHECK_JSON(response, "/error/code", "-32603");
    drop(&response);
    CHECK_OK(taskhold_manager_mark_task_working(manager, id, NULL, NULL, &record, &error));
    CHECK_JSON(record, "/revision", "3"); /* the failed read counts nowhere */
    drop(&record);
    CHECK_OK(taskhold_manager_request_task_input(manager, id, NAME_REQUEST, NULL, NULL, NULL, &error));
    CHECK_OK(taskhold_manager_handle_request(manager, "/mcp", NULL, CAPABLE, request, &response, &error));
    CHECK_JSON(response, "/result/inputRequests/name/method", "elicitation/create");
    CHECK_JSON(response, "/result/inputRequests/roots", NULL);
    drop(&response);
    drop(&id);
}

/* Without a store of its own a manager's tasks end with it. */
static void private_state_is_lost(void) {
    taskhold_manager *manager = NULL;
    char *record = NULL, *error = NULL, *id;
    CHECK_OK(taskhold_manager_open(NULL, NULL, &manager, &error));
    id = new_task(manager, NULL);
    CHECK(taskhold_manager_close(manager) == TASKHOLD_OK);
    CHECK_OK(taskhold_manager_open(NULL, NULL, &manager, &error));
    CHECK_OK(taskhold_manager_find_task(manager, id, &record, &error));
    CHECK(record == NULL);
    drop(&id);
    CHECK(taskhold_manager_close(manager) == TASKHOLD_OK);
}

/* Expired tasks leave the memory as other calls come by; nobody has to ask for it. */
static void expired_tasks_are_removed(taskhold_clock *clock) {
    taskhold_store *store = NULL;
    taskhold_manager *manager = NULL;
    char *stats = NULL, *record = NULL, *error = NULL, *id, *pending;
    int at, calls;
    CHECK_OK(taskhold_store_open("memory:", NULL, clock, &store, &error));
    CHECK_OK(taskhold_manager_open(store, "{\"taskTimeToLiveMs\": 1000}", &manager, &error));
    for (at = 0; at < 100; at++) {
        id = new_task(manager, NULL);
        drop(&id);
    }
    CHECK_OK(taskhold_clock_advance(clock, 1000, &error));
    CHECK_OK(taskhold_store_stats(store, &stats, &error));
    pending = get_json(stats, "/expiredPending");
    CHECK(strcmp(pending, "0") != 0);
    drop(&stats);
    for (calls = 0; calls < 1000 && strcmp(pending, "0") != 0; calls++) {
        drop(&pending);
        id = new_task(manager, NULL);
        CHECK_OK(taskhold_manager_find_task(manager, id, &record, &error));
        drop(&record);
        drop(&id);
        CHECK_OK(taskhold_store_stats(store, &stats, &error));
        pending = get_json(stats, "/expiredPending");
        drop(&stats);
    }
    CHECK(strcmp(pending, "0") == 0);
    drop(&pending);
    CHECK(taskhold_store_close(store) == TASKHOLD_OK);
    CHECK(taskhold_manager_close(manager) == TASKHOLD_OK);
}

static void tasks(taskhold_store *store, taskhold_clock *clock) {
    taskhold_manager *manager = NULL;
    char *json = NULL, *error = NULL, *id;
    CHECK_OK(taskhold_manager_open(store, "{\"taskTimeToLiveMs\": 60000, \"maximumRetainedTasks\": 7}",
                                   &manager, &error));
    CHECK_OK(taskhold_manager_options(manager, &json, &error));
    CHECK_JSON(json, "/taskTimeToLiveMs", "60000");
    CHECK_JSON(json, "/pollIntervalMs", "1000");
    drop(&json);
    task_with_input(manager);
    task_ends(manager);
    task_over_the_wire(manager);
    creation_is_copied(manager);
    corrected_round(manager);
    CHECK_OK(taskhold_manager_list_tasks(manager, "{\"status\": \"completed\"}", &json, &error));
    CHECK_JSON(json, "/records/0/task/status", "completed");
    CHECK_JSON(json, "/records/1", NULL);
    drop(&json);

    id = new_task(manager, NULL);
    CHECK_REFUSED(
        TASKHOLD_CAPACITY_EXHAUSTED, "capacity_exhausted",
        taskhold_manager_create_task(manager, "{\"endpoint\": \"/mcp\", \"origin\": 1}", &json, &error));
    CHECK_OK(taskhold_manager_wait_task(manager, id, 0, TASKHOLD_WAIT_FOREVER, &json, &error));
    CHECK_JSON(json, "/revision", "1");
    drop(&json);
    CHECK_REFUSED(TASKHOLD_TIMEOUT, "timeout", taskhold_manager_wait_task(manager, id, 1, 0, &json, &error));
    CHECK_OK(taskhold_clock_advance(clock, 59999, &error));
    CHECK_OK(taskhold_manager_find_task(manager, id, &json, &error));
    CHECK(json != NULL);
    drop(&json);
    CHECK_OK(taskhold_clock_advance(clock, 1, &error));
    CHECK_OK(taskhold_manager_find_task(manager, id, &json, &error));
    CHECK(json == NULL);
    CHECK_REFUSED(TASKHOLD_NOT_FOUND, "task_not_found",
                  taskhold_manager_mark_task_working(manager, id, NULL, NULL, &json, &error));
    drop(&id);
    CHECK(taskhold_manager_close(manager) == TASKHOLD_OK);
}

static void sessions(taskhold_store *store, taskhold_clock *clock) {
    taskhold_session_store *sessions = NULL;
    char *session = NULL, *found = NULL, *error = NULL, *id, updated[1000], *version;
    int32_t replaced = 9, pinned = 9;
    CHECK_OK(taskhold_session_store_open(store, "{\"concurrentSessionLimit\": 1, \"keepExpired\": 4}",
                                         &sessions, &error));
    CHECK_OK(taskhold_session_store_options(sessions, &found, &error));
    CHECK_JSON(found, "/idleTimeoutMs", "86400000");
    drop(&found);
    CHECK_OK(taskhold_session_store_create(sessions, "/mcp", "{\"authorizationPartition\": \"alice\"}",
                                           &session, &error));
    CHECK_JSON(session, "/initialized", "false");
    CHECK_JSON(session, "/version", "0");
    id = get_json(session, "/sessionId");
    CHECK_OK(taskhold_session_store_create(sessions, "/mcp", NULL, &found, &error));
    CHECK(found == NULL); /* declined: the limit is reached */
    CHECK_OK(taskhold_session_store_find_authorized_session(sessions, "/mcp", "mallory", id, &found, &error));
    CHECK(found == NULL);
    CHECK_OK(taskhold_session_store_find_authorized_session(sessions, "/mcp", "alice", id, &found, &error));
    CHECK(strcmp(found, session) == 0);
    drop(&found);
    CHECK_OK(taskhold_session_store_list_sessions(sessions, "{\"authorizationPartition\": \"alice\"}", &found, &error));
    CHECK_JSON(found, "/sessions/0", session);
    CHECK_JSON(found, "/sessions/1", NULL);
    CHECK_JSON(found, "/nextPageToken", "");
    drop(&found);
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "invalid_page_token",
                  taskhold_session_store_list_sessions(sessions, "{\"pageToken\": \"1\"}", &found, &error));

    /* The next snapshot is the one that was given out with its last member counted up. */
    CHECK(strlen(session) < sizeof updated);
    strcpy(updated, session);
    version = strstr(updated, "\"version\":0");
    CHECK(version != NULL);
    version[strlen("\"version\":")] = '1';
    CHECK_OK(taskhold_session_store_replace(sessions, session, updated, &replaced, &error));
    CHECK(replaced == 1);
    CHECK_OK(taskhold_session_store_replace(sessions, session, updated, &replaced, &error));
    CHECK(replaced == 0);
    CHECK_REFUSED(TASKHOLD_INVALID_ARGUMENT, "invalid_replacement",
                  taskhold_session_store_replace(sessions, updated, session, &replaced, &error));

    CHECK_OK(taskhold_session_store_pin(sessions, id, &pinned, &error));
    CHECK(pinned == 1);
    CHECK_OK(taskhold_session_store_unpin(sessions, id, &error));
    CHECK_OK(taskhold_clock_advance(clock, 60001, &error)); /* never initialized in time */
    CHECK_OK(taskhold_session_store_find_by_session_id(sessions, id, &found, &error));
    CHECK(found == NULL);
    CHECK_OK(taskhold_session_store_take_expired(sessions, &found, &error));
    CHECK_JSON(found, "/0/reason", "uninitialized");
    CHECK_JSON(found, "/0/sessionId", id);
    CHECK_JSON(found, "/1", NULL);
    drop(&found);
    CHECK_OK(taskhold_session_store_pin(sessions, id, &pinned, &error));
    CHECK(pinned == 0);
    CHECK_OK(taskhold_session_store_delete_by_session_id(sessions, id, &error));
    drop(&session);
    drop(&id);
    CHECK(taskhold_session_store_close(sessions) == TASKHOLD_OK);
}

static void a2a(taskhold_store *store, taskhold_clock *clock) {
    taskhold_state_provider *provider = NULL;
    const char *working =
        "{\"id\": \"t1\", \"contextId\": \"c\", \"status\": {\"state\": \"TASK_STATE_WORKING\"}}";
    const char *completed = "{\"id\": \"t1\", \"contextId\": \"c\", \"status\": {\"state\": \"completed\"}}";
    char *json = NULL, *error = NULL;
    int32_t answer = 9;
    uint64_t revision = 0, stored = 0;
    CHECK_OK(taskhold_state_provider_open(store, "{\"gracePeriodMs\": 1000}", &provider, &error));
    CHECK_OK(taskhold_state_provider_options(provider, &json, &error));
    CHECK_JSON(json, "/gracePeriodMs", "1000");
    drop(&json);
    CHECK_OK(taskhold_state_provider_task_liveness(provider, "t1", &answer, &error));
    CHECK(answer == TASKHOLD_LIVENESS_ABSENT);
    CHECK_OK(taskhold_state_provider_save_task(provider, "alice", working, "{\"expectedRevision\": 0}",
                                               &revision, &error));
    CHECK_OK(taskhold_state_provider_task_liveness(provider, "t1", &answer, &error));
    CHECK(answer == TASKHOLD_LIVENESS_ACTIVE);
    CHECK_OK(taskhold_state_provider_get_task(provider, "alice", "t1", NULL, &json, &stored, &error));
    CHECK(strcmp(json, working) == 0 && stored == revision);
    drop(&json);
    CHECK_OK(taskhold_state_provider_get_task(provider, "mallory", "t1", NULL, &json, NULL, &error));
    CHECK(json == NULL);

    CHECK_OK(taskhold_state_provider_save_task(provider, "alice", completed, NULL, NULL, &error));
    CHECK_OK(taskhold_state_provider_is_task_active(provider, "t1", &answer, &error));
    CHECK(answer == 1);
    CHECK_OK(taskhold_state_provider_is_task_finalized(provider, "t1", &answer, &error));
    CHECK(answer == 1);
    CHECK_OK(taskhold_state_provider_task_liveness(provider, "t1", &answer, &error));
    CHECK(answer == TASKHOLD_LIVENESS_GRACE);
    CHECK_OK(taskhold_clock_advance(clock, 1000, &error));
    CHECK_OK(taskhold_state_provider_task_liveness(provider, "t1", &answer, &error));
    CHECK(answer == TASKHOLD_LIVENESS_FINALIZED);
    CHECK_OK(taskhold_state_provider_is_task_active(provider, "t1", &answer, &error));
    CHECK(answer == 0);
    CHECK_REFUSED(TASKHOLD_INVALID_STATE, "task_final",
                  taskhold_state_provider_save_task(provider, "alice", working, NULL, &revision, &error));
    CHECK_OK(taskhold_state_provider_list_tasks(provider, "alice", "{\"contextId\": \"c\"}", &json, &error));
    CHECK_JSON(json, "/totalSize", "1");
    CHECK_JSON(json, "/tasks/0/id", "t1");
    drop(&json);
    CHECK_OK(taskhold_state_provider_delete_task(provider, "alice", "t1", &error));
    CHECK_OK(taskhold_state_provider_task_liveness(provider, "t1", &answer, &error));
    CHECK(answer == TASKHOLD_LIVENESS_ABSENT);
    CHECK(taskhold_state_provider_close(provider) == TASKHOLD_OK);
}

int main(void) {
    taskhold_clock *clock = NULL;
    taskhold_store *store = NULL;
    char *json = NULL, *error = NULL;
    CHECK(taskhold_abi_version() == TASKHOLD_ABI_VERSION);
    CHECK_OK(taskhold_clock_open_manual(0, &clock, &error));
    CHECK_OK(taskhold_store_open(NULL, NULL, clock, &store, &error));
    private_state_is_lost();
    tasks(store, clock);
    expired_tasks_are_removed(clock);
    sessions(store, clock);
    a2a(store, clock);
    CHECK_OK(taskhold_store_stats(store, &json, &error));
    CHECK_JSON(json, "/backend", "memory");
    CHECK_JSON(json, "/a2aTasks", "0");
    drop(&json);
    CHECK_OK(taskhold_describe(&json, &error));
    CHECK_JSON(json, "/version", taskhold_version());
    CHECK_JSON(json, "/liveHandles", "2");
    drop(&json);
    CHECK(taskhold_store_close(store) == TASKHOLD_OK);
    CHECK(taskhold_clock_close(clock) == TASKHOLD_OK);
    return finished();
}
