/* A handle made before fork() is dead in the child, harmless to close there, and as before in the parent. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(taskhold_store *store, taskhold_manager *manager, taskhold_events *events, const char *id,
                  int ids_out) {
    taskhold_manager *own = NULL;
    char *json = NULL, *error = NULL, *own_id;
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "forked", taskhold_store_stats(store, &json, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "forked", taskhold_manager_find_task(manager, id, &json, &error));
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "forked", taskhold_events_next(events, 0, &json, &error));
    CHECK(taskhold_events_close(events) == TASKHOLD_OK);
    CHECK(taskhold_manager_close(manager) == TASKHOLD_OK);
    CHECK(taskhold_store_close(store) == TASKHOLD_OK);

    CHECK_OK(taskhold_manager_open(NULL, NULL, &own, &error));
    own_id = new_task(own, NULL);
    CHECK_OK(taskhold_manager_find_task(own, own_id, &json, &error));
    CHECK(json != NULL);
    drop(&json);
    CHECK(write(ids_out, own_id, strlen(own_id)) == (ssize_t)strlen(own_id));
    drop(&own_id);
    CHECK(taskhold_manager_close(own) == TASKHOLD_OK);
}

/* A process that ends with its handles open ends as usual. */
static void ends_without_close(void) {
    int status = 0;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        taskhold_manager *manager = NULL;
        char *error = NULL, *id;
        CHECK_OK(taskhold_manager_open(NULL, NULL, &manager, &error));
        id = new_task(manager, NULL);
        drop(&id);
        exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    taskhold_store *store = NULL;
    taskhold_manager *manager = NULL;
    taskhold_events *events = NULL;
    char *record = NULL, *error = NULL, *id, *next_id, child_id[64];
    int ids[2], status = 0;
    ssize_t length;
    pid_t pid;
    CHECK_OK(taskhold_store_open(NULL, NULL, NULL, &store, &error));
    CHECK_OK(taskhold_manager_open(store, NULL, &manager, &error));
    CHECK_OK(taskhold_manager_open_events(manager, 4, &events, &error));
    id = new_task(manager, NULL);
    CHECK(pipe(ids) == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        child(store, manager, events, id, ids[1]);
        _exit(0);
    }
    CHECK(close(ids[1]) == 0);
    next_id = new_task(manager, NULL);
    length = read(ids[0], child_id, sizeof child_id - 1);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(length > 0);
    child_id[length] = '\0';
    CHECK(strcmp(child_id, next_id) != 0); /* the random numbers go apart */
    CHECK(close(ids[0]) == 0);

    CHECK_OK(taskhold_manager_find_task(manager, id, &record, &error));
    CHECK(record != NULL);
    drop(&record);
    CHECK_OK(taskhold_manager_find_task(manager, child_id, &record, &error));
    CHECK(record == NULL);
    CHECK_OK(taskhold_events_next(events, 0, &record, &error));
    CHECK_JSON(record, "/taskId", id);
    drop(&record);
    drop(&id);
    drop(&next_id);
    CHECK(taskhold_events_close(events) == TASKHOLD_OK);
    CHECK(taskhold_manager_close(manager) == TASKHOLD_OK);
    CHECK(taskhold_store_close(store) == TASKHOLD_OK);
    ends_without_close();
    return finished();
}
