/* Many threads on one handle: races have one winner, waiters wake, and closing under load is harmless. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 200 };

struct shared {
    taskhold_manager *manager;
    taskhold_session_store *sessions;
    taskhold_events *events;
    const char *id;
    const char *expected, *updated;
    pthread_barrier_t start;
};

struct worker {
    struct shared *shared;
    pthread_t thread;
    int won;
    taskhold_status status;
};

static void meet(struct shared *shared) {
    int arrived = pthread_barrier_wait(&shared->start);
    CHECK(arrived == 0 || arrived == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void run(struct shared *shared, struct worker *workers, void *(*body)(void *)) {
    int at;
    memset(workers, 0, THREADS * sizeof *workers);
    for (at = 0; at < THREADS; at++) {
        workers[at].shared = shared;
        CHECK(pthread_create(&workers[at].thread, NULL, body, &workers[at]) == 0);
    }
}

static int join(struct worker *workers) {
    int at, won = 0;
    for (at = 0; at < THREADS; at++) {
        CHECK(pthread_join(workers[at].thread, NULL) == 0);
        won += workers[at].won;
    }
    return won;
}

static void *complete(void *argument) {
    struct worker *worker = argument;
    char *error = NULL;
    meet(worker->shared);
    worker->status = taskhold_manager_complete_task(worker->shared->manager, worker->shared->id, "{}", NULL,
                                                    NULL, NULL, &error);
    if (worker->status == TASKHOLD_OK) {
        worker->won = 1;
    } else {
        CHECK(worker->status == TASKHOLD_INVALID_STATE);
        CHECK_JSON(error, "/reason", "task_terminal");
    }
    drop(&error);
    return NULL;
}

static void *replace(void *argument) {
    struct worker *worker = argument;
    char *error = NULL;
    int32_t replaced = 9;
    meet(worker->shared);
    CHECK_OK(taskhold_session_store_replace(worker->shared->sessions, worker->shared->expected,
                                            worker->shared->updated, &replaced, &error));
    worker->won = replaced == 1;
    return NULL;
}

static void *take(void *argument) {
    struct worker *worker = argument;
    char *responses = NULL, *error = NULL;
    meet(worker->shared);
    CHECK_OK(taskhold_manager_take_task_input_responses(worker->shared->manager, worker->shared->id, NULL,
                                                        &responses, &error));
    worker->won = strcmp(responses, "{}") != 0;
    drop(&responses);
    return NULL;
}

/* Each answer is taken by one thread only. */
static void racing_takes(struct shared *shared) {
    struct worker workers[THREADS];
    char *id, *error = NULL;
    int round;
    for (round = 0; round < 20; round++) {
        id = new_task(shared->manager, NULL);
        shared->id = id;
        CHECK_OK(taskhold_manager_request_task_input(
            shared->manager, id, "{\"roots\": {\"method\": \"roots/list\"}}", NULL, NULL, NULL, &error));
        CHECK_OK(taskhold_manager_update_task(shared->manager, "/mcp", NULL, id,
                                              "{\"roots\": {\"roots\": []}}", NULL, NULL, &error));
        run(shared, workers, take);
        CHECK(join(workers) == 1);
        drop(&id);
    }
}

/* The library works on the threads that call it. */
static void no_thread_was_started(void) {
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *entry;
    int count = 0;
    CHECK(threads != NULL);
    while ((entry = readdir(threads)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    CHECK(closedir(threads) == 0);
    CHECK(count == 1);
}

static void races(struct shared *shared) {
    struct worker workers[THREADS];
    char *id, *session = NULL, *error = NULL, updated[1000], *version;
    int round;
    for (round = 0; round < 20; round++) {
        id = new_task(shared->manager, NULL);
        shared->id = id;
        run(shared, workers, complete);
        CHECK(join(workers) == 1);
        drop(&id);
    }
    for (round = 0; round < 20; round++) {
        CHECK_OK(taskhold_session_store_create(shared->sessions, "/mcp", NULL, &session, &error));
        CHECK(strlen(session) < sizeof updated);
        strcpy(updated, session);
        version = strstr(updated, "\"version\":0");
        CHECK(version != NULL);
        version[strlen("\"version\":")] = '1';
        shared->expected = session;
        shared->updated = updated;
        run(shared, workers, replace);
        CHECK(join(workers) == 1);
        drop(&session);
    }
}

/* Creates, reads and ends tasks until the handle is closed under it. */
static void *hammer(void *argument) {
    struct worker *worker = argument;
    taskhold_manager *manager = worker->shared->manager;
    int round;
    meet(worker->shared);
    for (round = 0; worker->status == TASKHOLD_OK; round++) {
        char *record = NULL, *id = NULL, *error = NULL;
        worker->status =
            taskhold_manager_create_task(manager, "{\"endpoint\": \"/mcp\", \"origin\": 1}", &record, &error);
        if (worker->status == TASKHOLD_OK) {
            id = get_json(record, "/task/taskId");
            drop(&record);
            worker->status = taskhold_manager_cancel_task(manager, id, NULL, NULL, &record, &error);
        }
        if (worker->status == TASKHOLD_OK) {
            CHECK_JSON(record, "/task/status", "cancelled");
        }
        /* The closer starts when every thread has done some rounds. */
        if (round == ROUNDS) {
            meet(worker->shared);
        }
        drop(&record);
        drop(&id);
        drop(&error);
    }
    CHECK(round > ROUNDS);
    return NULL;
}

static void *wait_for_change(void *argument) {
    struct worker *worker = argument;
    char *record = NULL;
    meet(worker->shared);
    worker->status = taskhold_manager_wait_task(worker->shared->manager, worker->shared->id, 1,
                                                TASKHOLD_WAIT_FOREVER, &record, NULL);
    drop(&record);
    return NULL;
}

static void *wait_for_event(void *argument) {
    struct worker *worker = argument;
    char *event = NULL;
    meet(worker->shared);
    worker->status = taskhold_events_next(worker->shared->events, TASKHOLD_WAIT_FOREVER, &event, NULL);
    drop(&event);
    return NULL;
}

/* A waiter either waits when the handle closes, or comes after that. */
static void expect_woken(struct worker *workers) {
    int at;
    join(workers);
    for (at = 0; at < THREADS; at++) {
        CHECK(workers[at].status == TASKHOLD_CLOSED || workers[at].status == TASKHOLD_INVALID_HANDLE);
    }
}

int main(void) {
    struct shared shared;
    struct worker workers[THREADS], waiters[THREADS];
    char *error = NULL, *id;
    int at;
    memset(&shared, 0, sizeof shared);
    CHECK_OK(taskhold_manager_open(NULL, "{\"maximumRetainedTasks\": 10000000}", &shared.manager, &error));
    CHECK_OK(taskhold_session_store_open(NULL, NULL, &shared.sessions, &error));

    id = new_task(shared.manager, NULL);
    drop(&id);
    no_thread_was_started();

    CHECK(pthread_barrier_init(&shared.start, NULL, THREADS) == 0);
    races(&shared);
    racing_takes(&shared);

    /* Any number of waiters see a change. */
    id = new_task(shared.manager, NULL);
    shared.id = id;
    run(&shared, waiters, wait_for_change);
    CHECK_OK(taskhold_manager_mark_task_working(shared.manager, id, "Changed", NULL, NULL, &error));
    join(waiters);
    for (at = 0; at < THREADS; at++) {
        CHECK(waiters[at].status == TASKHOLD_OK);
    }
    drop(&id);
    CHECK(pthread_barrier_destroy(&shared.start) == 0);

    /* Close while everybody works and waits. */
    CHECK(pthread_barrier_init(&shared.start, NULL, THREADS + 1) == 0);
    CHECK_OK(taskhold_session_store_close(shared.sessions));
    CHECK_OK(taskhold_manager_open_events(shared.manager, 1, &shared.events, &error));
    run(&shared, workers, wait_for_event);
    meet(&shared);
    CHECK(taskhold_events_close(shared.events) == TASKHOLD_OK);
    expect_woken(workers);

    id = new_task(shared.manager, NULL);
    shared.id = id;
    run(&shared, waiters, wait_for_change);
    meet(&shared);
    run(&shared, workers, hammer);
    meet(&shared);
    meet(&shared);
    CHECK(taskhold_manager_close(shared.manager) == TASKHOLD_OK);
    join(workers);
    for (at = 0; at < THREADS; at++) {
        CHECK(workers[at].status == TASKHOLD_INVALID_HANDLE);
    }
    expect_woken(waiters);
    drop(&id);
    CHECK(pthread_barrier_destroy(&shared.start) == 0);
    return finished();
}
