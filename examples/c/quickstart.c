#include <stdio.h>

#include "taskhold.h"

int main(void) {
    const char *call =
        "{\"endpoint\": \"/mcp\", \"authorizationPartition\": \"alice\", \"origin\": {\"name\": \"hello\"}}";
    const char *result = "{\"content\": [{\"type\": \"text\", \"text\": \"Hello, Luca!\"}]}";
    const char *client = "{\"extensions\": {\"io.modelcontextprotocol/tasks\": {}}}";
    const char *get =
        "{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tasks/get\", \"params\": {\"taskId\": \"%s\"}}";
    char *record = NULL, *id = NULL, *response = NULL, *error = NULL, request[200];
    taskhold_manager *tasks = NULL;
    int outcome = 1;

    if (taskhold_manager_open(NULL, NULL, &tasks, &error) != TASKHOLD_OK ||
        /* A tool call will take long: the server creates a task and hands out its id. */
        taskhold_manager_create_task(tasks, call, &record, &error) != TASKHOLD_OK ||
        taskhold_json_get(record, "/task/taskId", &id, &error) != TASKHOLD_OK ||
        /* The worker completes it later, on any thread. */
        taskhold_manager_complete_task(tasks, id, result, NULL, NULL, NULL, &error) != TASKHOLD_OK ||
        /* Alice's client polls: the manager answers the whole request. */
        snprintf(request, sizeof request, get, id) < 0 ||
        taskhold_manager_handle_request(tasks, "/mcp", "alice", client, request, &response, &error) !=
            TASKHOLD_OK) {
        fprintf(stderr, "%s\n", error != NULL ? error : "failed");
    } else {
        puts(response);
        outcome = 0;
    }
    taskhold_manager_close(tasks);
    taskhold_string_free(record);
    taskhold_string_free(id);
    taskhold_string_free(error);
    taskhold_string_free(response);
    return outcome;
}
