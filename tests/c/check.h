/* What the C clients share: checks that end the program with the line at fault, and reading of JSON answers. */
#ifndef CHECK_H
#define CHECK_H

#include "taskhold.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CHECK(condition) check_true((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

/* The call, whose last argument must be &error, gives OK and no error. */
#define CHECK_OK(call) check_ok((call), &error, #call, __FILE__, __LINE__)

/* The call, whose last argument must be &error, is refused with this reason, and the status that the error
   names is the one that was returned. */
#define CHECK_REFUSED(status, reason, call)                                                                  \
    check_refused((call), (status), (reason), &error, #call, __FILE__, __LINE__)

/* The value at `pointer`, a string decoded and anything else as its text; NULL = must be absent. */
#define CHECK_JSON(json, pointer, expected) check_json((json), (pointer), (expected), __FILE__, __LINE__)

void check_true(int condition, const char *text, const char *file, int line);
void check_ok(taskhold_status status, char **error, const char *call, const char *file, int line);
void check_refused(taskhold_status status, taskhold_status expected, const char *reason, char **error,
                   const char *call, const char *file, int line);
void check_json(const char *json, const char *pointer, const char *expected, const char *file, int line);

/* The value at `pointer`, which must be there; the caller frees it with taskhold_string_free. */
char *get_json(const char *json, const char *pointer);

/* Frees a string of the library and forgets it. */
void drop(char **string);

/* A task in `manager` at "/mcp" for `partition` (NULL = anonymous); gives its id. */
char *new_task(taskhold_manager *manager, const char *partition);

/* The last line of every client: all handles are closed. */
int finished(void);

#ifdef __cplusplus
}
#endif

#endif
