/* Events: the queue with and without poll(2), and the callbacks of a subscription. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

static int readable(int fd) {
    struct pollfd wait;
    wait.fd = fd;
    wait.events = POLLIN;
    wait.revents = 0;
    CHECK(poll(&wait, 1, 0) >= 0);
    return (wait.revents & POLLIN) != 0;
}

static void expect_event(taskhold_events *events, const char *kind, const char *task_id) {
    char *event = NULL, *error = NULL;
    CHECK_OK(taskhold_events_next(events, 0, &event, &error));
    CHECK_JSON(event, "/event", kind);
    CHECK_JSON(event, "/taskId", task_id);
    drop(&event);
}

static void expect_silence(taskhold_events *events) {
    char *event = NULL, *error = NULL;
    CHECK_REFUSED(TASKHOLD_TIMEOUT, "timeout", taskhold_events_next(events, 0, &event, &error));
    CHECK(event == NULL);
}

static void queue(taskhold_manager *manager) {
    taskhold_events *events = NULL;
    char *error = NULL, *first, *second;
    int32_t fd = -1;
    CHECK_OK(taskhold_manager_open_events(manager, 16, &events, &error));
    CHECK_OK(taskhold_events_fd(events, &fd, &error));
    CHECK(fd >= 0);
    CHECK(!readable(fd));
    expect_silence(events);

    first = new_task(manager, NULL);
    second = new_task(manager, NULL);
    CHECK_OK(taskhold_manager_mark_task_working(manager, first, "On it", NULL, NULL, &error));
    /* Level-triggered: readable as long as something waits, and the two changes of one task are one event. */
    CHECK(readable(fd));
    expect_event(events, "changed", first);
    CHECK(readable(fd));
    expect_event(events, "changed", second);
    CHECK(!readable(fd));
    expect_silence(events);

    CHECK_OK(taskhold_manager_request_task_cancelation(manager, "/mcp", NULL, second, &error));
    expect_event(events, "cancelation_requested", second);
    CHECK_OK(taskhold_manager_request_task_cancelation(manager, "/mcp", NULL, second, &error));
    expect_silence(events);
    CHECK_OK(taskhold_manager_publish_task_changed(manager, second, &error));
    expect_event(events, "changed", second);
    CHECK(taskhold_events_close(events) == TASKHOLD_OK);
    CHECK(taskhold_events_close(events) == TASKHOLD_OK);
    CHECK(taskhold_events_next(events, 0, &error, NULL) == TASKHOLD_INVALID_HANDLE);
    drop(&first);
    drop(&second);
}

static void overflow(taskhold_manager *manager) {
    taskhold_events *events = NULL;
    char *error = NULL, *ids[3];
    int at;
    CHECK_OK(taskhold_manager_open_events(manager, 1, &events, &error));
    for (at = 0; at < 3; at++) {
        ids[at] = new_task(manager, NULL);
    }
    expect_event(events, "changed", ids[0]);
    expect_event(events, "lagged", NULL);
    expect_silence(events);
    CHECK_OK(taskhold_manager_mark_task_working(manager, ids[2], NULL, NULL, NULL, &error));
    expect_event(events, "changed", ids[2]);
    CHECK(taskhold_events_close(events) == TASKHOLD_OK);
    for (at = 0; at < 3; at++) {
        drop(&ids[at]);
    }
}

/* What a subscriber was told. */
struct log {
    char last[64];
    int calls, released;
    taskhold_manager *manager;
    taskhold_subscription **close_inside; /* closed by the callback itself when not NULL */
};

static void on_task_changed(void *user_data, const char *task_id) {
    struct log *log = user_data;
    char *record = NULL, *error = NULL;
    CHECK(strlen(task_id) < sizeof log->last);
    strcpy(log->last, task_id);
    log->calls++;
    CHECK(log->released == 0);
    /* The new state is readable, and no lock is held while the callback runs. */
    CHECK_OK(taskhold_manager_find_task(log->manager, task_id, &record, &error));
    CHECK(record != NULL);
    drop(&record);
    if (log->close_inside != NULL) {
        CHECK(taskhold_subscription_close(*log->close_inside) == TASKHOLD_OK);
        CHECK(log->released == 0); /* not while this call runs */
    }
}

static void on_release(void *user_data) {
    struct log *log = user_data;
    log->released++;
}

static void callbacks(taskhold_manager *manager) {
    struct log first, second;
    taskhold_subscription *one = NULL, *two = NULL;
    char *error = NULL, *id;
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    first.manager = second.manager = manager;
    second.close_inside = &two;
    CHECK_OK(taskhold_manager_subscribe(manager, on_task_changed, &first, on_release, &one, &error));
    CHECK_OK(taskhold_manager_subscribe(manager, on_task_changed, &second, on_release, &two, &error));

    id = new_task(manager, NULL);
    CHECK(first.calls == 1 && strcmp(first.last, id) == 0);
    CHECK(second.calls == 1 && second.released == 1);
    CHECK_OK(taskhold_manager_request_task_cancelation(manager, "/mcp", NULL, id, &error));
    CHECK(first.calls == 1); /* a cancelation request is not announced to subscribers */
    CHECK_OK(taskhold_manager_cancel_task(manager, id, NULL, NULL, NULL, &error));
    CHECK(first.calls == 2 && second.calls == 1);

    CHECK(taskhold_subscription_close(one) == TASKHOLD_OK);
    CHECK(first.released == 1);
    CHECK(taskhold_subscription_close(one) == TASKHOLD_OK);
    CHECK(first.released == 1 && second.released == 1);
    drop(&id);
    id = new_task(manager, NULL);
    CHECK(first.calls == 2);
    drop(&id);

    /* release also runs when subscribing fails. */
    CHECK_REFUSED(TASKHOLD_INVALID_HANDLE, "null",
                  taskhold_manager_subscribe(NULL, on_task_changed, &first, on_release, &one, &error));
    CHECK(first.released == 2);
}

static void finalized(void) {
    taskhold_state_provider *provider = NULL;
    taskhold_events *events = NULL;
    char *error = NULL;
    CHECK_OK(taskhold_state_provider_open(NULL, NULL, &provider, &error));
    CHECK_OK(taskhold_state_provider_open_events(provider, 4, &events, &error));
    CHECK_OK(taskhold_state_provider_save_task(
        provider, NULL, "{\"id\": \"a\", \"status\": {\"state\": \"working\"}}", NULL, NULL, &error));
    expect_silence(events);
    CHECK_OK(taskhold_state_provider_save_task(
        provider, NULL, "{\"id\": \"a\", \"status\": {\"state\": \"failed\"}}", NULL, NULL, &error));
    expect_event(events, "finalized", "a");
    CHECK_OK(taskhold_state_provider_save_task(
        provider, NULL, "{\"id\": \"a\", \"status\": {\"state\": \"canceled\"}}", NULL, NULL, &error));
    CHECK_OK(taskhold_state_provider_save_task(provider, NULL,
                                               "{\"id\": \"b\", \"status\": {\"state\": \"completed\"}}",
                                               "{\"isReplicated\": true}", NULL, &error));
    expect_silence(events);
    CHECK(taskhold_events_close(events) == TASKHOLD_OK);
    CHECK(taskhold_state_provider_close(provider) == TASKHOLD_OK);
}

int main(void) {
    taskhold_manager *manager = NULL;
    char *error = NULL;
    CHECK_OK(taskhold_manager_open(NULL, NULL, &manager, &error));
    queue(manager);
    overflow(manager);
    callbacks(manager);
    finalized();
    CHECK(taskhold_manager_close(manager) == TASKHOLD_OK);
    return finished();
}
