/* A program of two static Rust libraries: taskhold, and one whose function uses the Rust runtime and catches a panic
 * of its own. */

#include <stdio.h>

#include <taskhold.h>

int other_caught_panics(void);

int main(void) {
    char *description = NULL, *error = NULL;
    int caught = other_caught_panics();

    if (taskhold_describe(&description, &error) != TASKHOLD_OK || caught != 1) {
        fprintf(stderr, "%d panics caught, %s\n", caught, error != NULL ? error : "described");
        return 1;
    }
    taskhold_string_free(description);
    puts("both work");
    return 0;
}
