/* The MCP task steps: the client's JSON-RPC requests, and what the worker does meanwhile. */
#include "demo.h"

#include <stdio.h>
#include <string.h>

#define TASKS_EXTENSION "/extensions/io.modelcontextprotocol~1tasks"

/* {"jsonrpc":"2.0","id":<id as it came>,"<member>":<json>} */
static const char *respond(struct demo *demo, struct span id, const char *member, const char *json) {
    struct text response = {0};
    text_add(&response, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_add_bytes(&response, id.start, id.length);
    text_add(&response, ",\"");
    text_add(&response, member);
    text_add(&response, "\":");
    text_add(&response, json);
    text_add(&response, "}");
    return text_keep(demo, &response);
}

/* Whether the client declared the Tasks extension, in the step or in the request. */
static int client_knows_tasks(struct demo *demo, const char *capabilities, const char *request) {
    if (capabilities == NULL) {
        capabilities = json_get(demo, request, "/params/_meta/io.modelcontextprotocol~1clientCapabilities");
    }
    return capabilities != NULL && json_get(demo, capabilities, TASKS_EXTENSION) != NULL;
}

/* The creation of a task: its origin is the request's params, spliced in as they came. */
static const char *creation(struct demo *demo, const char *endpoint, const char *partition,
                            const char *origin, const char *declared) {
    struct text json = {0};
    text_add(&json, "{\"endpoint\":");
    text_add_json_string(&json, endpoint);
    if (partition != NULL) {
        text_add(&json, ",\"authorizationPartition\":");
        text_add_json_string(&json, partition);
    }
    if (declared != NULL) {
        text_add(&json, ",\"declaredInputRequests\":");
        text_add(&json, declared);
    }
    text_add(&json, ",\"origin\":");
    text_add(&json, origin);
    text_add(&json, "}");
    return text_keep(demo, &json);
}

/* tools/call as a tool answers it that always takes long: with a task. NULL = not answered here. */
static int call_tool(struct demo *demo, const char *endpoint, const char *partition, const char *capabilities,
                     const char *declared, const char *request, const char **out_response) {
    char *record = NULL, *result = NULL, *error = NULL;
    const char *origin = json_get(demo, request, "/params");
    const char *task_id;
    struct span id;
    taskhold_status status;

    *out_response = NULL;
    if (!json_member(request, "id", &id) || strchr("\"-0123456789", *id.start) == NULL) {
        return DONE;
    }
    if (origin == NULL || *origin != '{' || json_get(demo, origin, "/name") == NULL) {
        *out_response = respond(demo, id, "error", "{\"code\":-32602,\"message\":\"a tool name is needed\"}");
        return DONE;
    }
    if (!client_knows_tasks(demo, capabilities, request)) {
        *out_response =
            respond(demo, id, "error",
                    "{\"code\":-32021,\"message\":\"Missing required client capability\",\"data\":"
                    "{\"requiredCapabilities\":{\"extensions\":"
                    "{\"io.modelcontextprotocol/tasks\":{}}}}}");
        return DONE;
    }
    status = taskhold_manager_create_task(demo->tasks, creation(demo, endpoint, partition, origin, declared),
                                          &record, &error);
    keep_library(demo, record);
    keep_library(demo, error);
    if (status != TASKHOLD_OK) {
        *out_response = respond(demo, id, "error", "{\"code\":-32603,\"message\":\"no task was created\"}");
        return show_outcome(demo, status, error);
    }
    task_id = json_get(demo, record, "/task/taskId");
    if (task_id == NULL) {
        fputs("  failed: a task without an id\n", stderr);
        return FAILED;
    }
    ids_add(&demo->task_ids, task_id);
    status = taskhold_manager_render_task(demo->tasks, endpoint, partition, task_id,
                                          TASKHOLD_RENDER_CREATE_RESULT, NULL, &result, NULL, &error);
    keep_library(demo, result);
    keep_library(demo, error);
    if (status != TASKHOLD_OK) {
        return show_outcome(demo, status, error);
    }
    *out_response = respond(demo, id, "result", result);
    return DONE;
}

/* Everything but tools/call: the manager answers the whole request. */
static int handle(struct demo *demo, const char *endpoint, const char *partition, const char *capabilities,
                  const char *request, const char **out_response) {
    char *response = NULL, *error = NULL;
    taskhold_status status = taskhold_manager_handle_request(demo->tasks, endpoint, partition, capabilities,
                                                             request, &response, &error);
    keep_library(demo, error);
    *out_response = keep_library(demo, response);
    if (status == TASKHOLD_OK) {
        return DONE;
    }
    /* When the storage fails, the response that the client should get stands in the error. */
    *out_response = error == NULL ? NULL : json_get(demo, error, "/response");
    return show_outcome(demo, status, error);
}

static void show_request(struct demo *demo, const char *endpoint, const char *partition,
                         const char *request) {
    printf("\nclient -> server, endpoint %s, partition %s\n", endpoint,
           partition == NULL ? "(none)" : partition);
    show_json(demo, request);
}

/* {"endpoint", "partition", "clientCapabilities", "declaredInputRequests", "request"} */
int task_request(struct demo *demo, const char *step) {
    const char *endpoint, *partition, *capabilities, *declared, *request, *method;
    const char *response = NULL;
    int outcome = step_members_known(demo, step,
                                     " endpoint partition clientCapabilities declaredInputRequests request ");
    if (outcome != DONE || (outcome = step_string(demo, step, "endpoint", &endpoint)) != DONE ||
        (outcome = step_string(demo, step, "partition", &partition)) != DONE ||
        (outcome = step_value(demo, step, "clientCapabilities", &capabilities)) != DONE ||
        (outcome = step_value(demo, step, "declaredInputRequests", &declared)) != DONE ||
        (outcome = step_required_value(demo, step, "request", &request)) != DONE) {
        return outcome;
    }
    if (endpoint == NULL) {
        endpoint = "/mcp";
    }
    show_request(demo, endpoint, partition, request);
    method = json_get(demo, request, "/method");
    if (method != NULL && strcmp(method, "tools/call") == 0) {
        outcome = call_tool(demo, endpoint, partition, capabilities, declared, request, &response);
    }
    if (outcome == DONE && response == NULL) {
        outcome = handle(demo, endpoint, partition, capabilities, request, &response);
    }
    if (response == NULL) {
        puts("client <- server: no response");
    } else {
        puts("client <- server");
        show_json(demo, response);
    }
    return outcome;
}

static int advance(struct demo *demo, const char *step) {
    const int64_t hundred_years = INT64_C(3155760000000);
    char *error = NULL;
    int64_t ms;
    taskhold_status status;
    int outcome = step_milliseconds(demo, step, "ms", &ms);
    if (outcome != DONE) {
        return outcome;
    }
    if (ms > hundred_years) {
        return bad_input(demo, "the clock takes at most a hundred years in one step", "ms");
    }
    status = taskhold_clock_advance(demo->clock, ms, &error);
    keep_library(demo, error);
    if (status != TASKHOLD_OK) {
        return show_outcome(demo, status, error);
    }
    demo->now_ms += ms;
    printf("\nthe clock goes on by %lld ms to ", (long long)ms);
    show_time(demo->now_ms);
    putchar('\n');
    return DONE;
}

static void show_record(struct demo *demo, const char *record) {
    const char *status = json_get(demo, record, "/task/status");
    const char *message = json_get(demo, record, "/task/statusMessage");
    const char *revision = json_get(demo, record, "/revision");
    printf("  now %s, revision %s%s", status == NULL ? "?" : status, revision == NULL ? "?" : revision,
           message == NULL ? "\n" : ": ");
    if (message != NULL) {
        show_text(message);
    }
}

/* Finishes a worker's step whose answer is the task's record. */
static int finish(struct demo *demo, taskhold_status status, char *record, char *error) {
    keep_library(demo, record);
    keep_library(demo, error);
    if (status == TASKHOLD_OK && record != NULL) {
        show_record(demo, record);
    }
    return show_outcome(demo, status, error);
}

static int take_responses(struct demo *demo, const char *task) {
    char *responses = NULL, *error = NULL;
    taskhold_status status =
        taskhold_manager_take_task_input_responses(demo->tasks, task, NULL, &responses, &error);
    keep_library(demo, responses);
    keep_library(demo, error);
    if (status == TASKHOLD_OK && responses != NULL) {
        show_json(demo, responses);
    }
    return show_outcome(demo, status, error);
}

static int cancelation_requested(struct demo *demo, const char *task) {
    char *error = NULL;
    int32_t requested = 0;
    taskhold_status status =
        taskhold_manager_is_task_cancelation_requested(demo->tasks, task, &requested, &error);
    keep_library(demo, error);
    if (status == TASKHOLD_OK) {
        puts(requested ? "  yes" : "  no");
    }
    return show_outcome(demo, status, error);
}

/* What a worker can do, and the member of the step that it needs for it. */
static const struct action {
    const char *name;
    const char *payload;
} actions[] = {
    {"working", NULL}, {"request_input", "inputRequests"}, {"complete", "result"},         {"fail", "error"},
    {"cancel", NULL},  {"take_responses", NULL},           {"cancelation_requested", NULL}};

static const struct action *find_action(const char *name) {
    size_t at;
    for (at = 0; at < sizeof actions / sizeof *actions; at++) {
        if (strcmp(actions[at].name, name) == 0) {
            return &actions[at];
        }
    }
    return NULL;
}

static int act(struct demo *demo, const char *action, const char *task, const char *payload,
               const char *message, const char *options) {
    char *record = NULL, *error = NULL;
    taskhold_status status;
    if (strcmp(action, "take_responses") == 0) {
        return take_responses(demo, task);
    }
    if (strcmp(action, "cancelation_requested") == 0) {
        return cancelation_requested(demo, task);
    }
    if (strcmp(action, "working") == 0) {
        status = taskhold_manager_mark_task_working(demo->tasks, task, message, options, &record, &error);
    } else if (strcmp(action, "request_input") == 0) {
        status = taskhold_manager_request_task_input(demo->tasks, task, payload, message, options, &record,
                                                     &error);
    } else if (strcmp(action, "complete") == 0) {
        status =
            taskhold_manager_complete_task(demo->tasks, task, payload, message, options, &record, &error);
    } else if (strcmp(action, "fail") == 0) {
        status = taskhold_manager_fail_task(demo->tasks, task, payload, message, options, &record, &error);
    } else {
        status = taskhold_manager_cancel_task(demo->tasks, task, message, options, &record, &error);
    }
    return finish(demo, status, record, error);
}

/* {"worker": "…", "task": "${task1}", "message": "…", …} */
int task_worker(struct demo *demo, const char *step, const char *name) {
    const char *task, *message, *options, *payload = NULL;
    const struct action *action = find_action(name);
    int outcome;

    if (strcmp(name, "advance") == 0) {
        outcome = step_members_known(demo, step, " worker ms ");
        return outcome == DONE ? advance(demo, step) : outcome;
    }
    if (action == NULL) {
        return bad_input(demo, "a worker does not know this action", NULL);
    }
    outcome = step_members_known(demo, step, " worker task message options inputRequests result error ");
    if (outcome != DONE || (outcome = step_required_string(demo, step, "task", &task)) != DONE ||
        (outcome = step_string(demo, step, "message", &message)) != DONE ||
        (outcome = step_value(demo, step, "options", &options)) != DONE ||
        (action->payload != NULL &&
         (outcome = step_required_value(demo, step, action->payload, &payload)) != DONE)) {
        return outcome;
    }
    printf("\nworker: %s ", name);
    show_name(demo, task);
    putchar('\n');
    if (payload != NULL) {
        show_json(demo, payload);
    }
    return act(demo, name, task, payload, message, options);
}
