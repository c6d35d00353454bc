/* A program that has a SQLite of its own beside taskhold's. Each must use its own: theirs counts the memory that it
 * uses, taskhold's does not. usage: sqlite_beside STORE-URL */

#include <stdio.h>

#include <taskhold.h>

/* Of sqlite3.h, which need not be installed. */
typedef struct sqlite3 sqlite3;
int sqlite3_open(const char *filename, sqlite3 **database);
int sqlite3_exec(sqlite3 *database, const char *sql, int (*row)(void *, int, char **, char **), void *data,
                 char **message);
int sqlite3_close(sqlite3 *database);
long long sqlite3_memory_used(void);
int sqlite3_compileoption_used(const char *name);

int main(int count, char **arguments) {
    char *record = NULL, *error = NULL;
    taskhold_store *store = NULL;
    taskhold_manager *tasks = NULL;
    sqlite3 *database = NULL;
    long long before, after;
    int outcome = 1;

    if (count != 2 || taskhold_store_open(arguments[1], NULL, NULL, &store, &error) != TASKHOLD_OK ||
        taskhold_manager_open(store, NULL, &tasks, &error) != TASKHOLD_OK ||
        taskhold_manager_create_task(tasks, "{\"endpoint\": \"/mcp\", \"origin\": {}}", &record, &error) !=
            TASKHOLD_OK) {
        fprintf(stderr, "taskhold: %s\n", error != NULL ? error : "failed");
    } else {
        before = sqlite3_memory_used();
        if (sqlite3_open(":memory:", &database) != 0 ||
            sqlite3_exec(database, "CREATE TABLE mine (value); INSERT INTO mine VALUES (1)", NULL, NULL,
                         NULL) != 0) {
            fprintf(stderr, "sqlite3 failed\n");
        } else {
            after = sqlite3_memory_used();
            printf(
                "taskhold used %s SQLite, the program used %s\n", before == 0 ? "its own" : "the program's",
                after > 0 && !sqlite3_compileoption_used("DEFAULT_MEMSTATUS=0") ? "its own" : "taskhold's");
            outcome = 0;
        }
        sqlite3_close(database);
    }
    taskhold_manager_close(tasks);
    taskhold_store_close(store);
    taskhold_string_free(record);
    taskhold_string_free(error);
    return outcome;
}
