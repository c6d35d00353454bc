/* A program of somebody else's: it knows the installed library only. It keeps one task and prints what it linked. */

#include <stdio.h>
#include <string.h>

#include <taskhold.h>

int main(void) {
    char *record = NULL, *id = NULL, *error = NULL;
    taskhold_manager *tasks = NULL;
    int outcome = 1;

    if (strcmp(taskhold_version(), TASKHOLD_VERSION) != 0 || taskhold_abi_version() != TASKHOLD_ABI_VERSION) {
        fprintf(stderr, "compiled for %s, running with %s\n", TASKHOLD_VERSION, taskhold_version());
    } else if (taskhold_manager_open(NULL, NULL, &tasks, &error) != TASKHOLD_OK ||
               taskhold_manager_create_task(tasks, "{\"endpoint\": \"/mcp\", \"origin\": {}}", &record,
                                            &error) != TASKHOLD_OK ||
               taskhold_json_get(record, "/task/taskId", &id, &error) != TASKHOLD_OK ||
               taskhold_manager_complete_task(tasks, id, "{}", NULL, NULL, NULL, &error) != TASKHOLD_OK) {
        fprintf(stderr, "%s\n", error != NULL ? error : "failed");
    } else {
        printf("taskhold %s completed a task\n", taskhold_version());
        outcome = 0;
    }
    taskhold_manager_close(tasks);
    taskhold_string_free(record);
    taskhold_string_free(id);
    taskhold_string_free(error);
    return outcome;
}
