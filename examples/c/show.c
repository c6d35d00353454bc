/* Printing: wrapped JSON, narration, times and refusals. */
#include "demo.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 100, INDENT = 4 };

/* Prints bytes as they are, but for control characters, which could steer a terminal. */
static void put_bytes(const char *bytes, size_t length) {
    size_t at;
    for (at = 0; at < length; at++) {
        unsigned char byte = (unsigned char)bytes[at];
        putchar(byte < 0x20 || byte == 0x7F ? '?' : byte);
    }
}

static void put_indent(int indent) {
    printf("%*s", indent, "");
}

/* Narration, wrapped between words. */
void show_text(const char *text) {
    size_t column = 0;
    while (*text != '\0') {
        size_t word;
        text += strspn(text, " ");
        word = strcspn(text, " ");
        if (word == 0) {
            break;
        }
        if (column > 0 && column + 1 + word > WIDTH) {
            putchar('\n');
            column = 0;
        } else if (column > 0) {
            putchar(' ');
            column++;
        }
        put_bytes(text, word);
        column += word;
        text += word;
    }
    putchar('\n');
}

/* The short name of an id that this run created, or the id itself. */
void show_name(const struct demo *demo, const char *id) {
    size_t at;
    for (at = 0; at < demo->task_ids.count; at++) {
        if (strcmp(demo->task_ids.items[at], id) == 0) {
            printf("task%lu", (unsigned long)(at + 1));
            return;
        }
    }
    for (at = 0; at < demo->session_ids.count; at++) {
        if (strcmp(demo->session_ids.items[at], id) == 0) {
            printf("session%lu", (unsigned long)(at + 1));
            return;
        }
    }
    put_bytes(id, strlen(id));
}

void format_time(int64_t epoch_ms, char out[32]) {
    time_t seconds = (time_t)(epoch_ms / 1000);
    const struct tm *utc = gmtime(&seconds);
    size_t length = utc == NULL ? 0 : strftime(out, 32, "%Y-%m-%dT%H:%M:%S", utc);
    snprintf(out + length, 32 - length, ".%03dZ", (int)(epoch_ms % 1000));
}

void show_time(int64_t epoch_ms) {
    char time[32];
    format_time(epoch_ms, time);
    fputs(time, stdout);
}

/* The length of a value with one space behind each colon and comma and none elsewhere. */
static size_t put_compact(const char *at, size_t length, int print) {
    const char *end = at + length;
    size_t printed = 0;
    while (at < end) {
        size_t part = *at == '"' ? (size_t)(json_skip(at) - at) : 1;
        if (strchr(" \t\r\n", *at) == NULL) {
            if (print) {
                put_bytes(at, part);
            }
            printed += part;
            if (*at == ',' || *at == ':') {
                if (print) {
                    putchar(' ');
                }
                printed++;
            }
        }
        at += part;
    }
    return printed;
}

/* A value, broken between members where a line would get too long; gives the column behind it. taskhold bounds
   the depth of what comes here. */
static size_t put_value(const char *value, size_t length, int indent, size_t column) {
    const char *cursor = value;
    struct span name, member;
    size_t compact = put_compact(value, length, 0);
    int first = 1;
    if ((*value != '{' && *value != '[') || column + compact <= WIDTH) {
        put_compact(value, length, 1);
        return column + compact;
    }
    putchar(*value);
    column++;
    while (json_next_member(&cursor, &name, &member)) {
        size_t label = *value == '{' ? name.length + strlen("\"\": ") : 0;
        if (!first) {
            int fits = column + 2 + label + put_compact(member.start, member.length, 0) < WIDTH;
            putchar(',');
            putchar(fits ? ' ' : '\n');
            column = fits ? column + 2 : (size_t)indent + INDENT;
            put_indent(fits ? 0 : indent + INDENT);
        }
        first = 0;
        if (label > 0) {
            putchar('"');
            put_bytes(name.start, name.length);
            fputs("\": ", stdout);
        }
        column = put_value(member.start, member.length, indent + INDENT, column + label);
    }
    putchar(value[length - 1]);
    return column + 1;
}

/* A JSON text wrapped; any other text, such as a broken request, as it is. */
void show_json(struct demo *demo, const char *text) {
    const char *json = json_get(demo, text, "");
    put_indent(INDENT);
    if (json != NULL && (*json == '{' || *json == '[')) {
        put_value(json, (size_t)(json_skip(json) - json), INDENT, INDENT);
    } else {
        put_bytes(text, strlen(text));
    }
    putchar('\n');
}

/* A refusal is part of the story and is printed; a failure of the library or its storage ends the program. */
int show_outcome(struct demo *demo, taskhold_status status, const char *error) {
    const char *reason = error == NULL ? NULL : json_get(demo, error, "/reason");
    const char *message = error == NULL ? NULL : json_get(demo, error, "/message");
    const char *key = error == NULL ? NULL : json_get(demo, error, "/key");
    int refused;
    if (status == TASKHOLD_OK) {
        return DONE;
    }
    refused = status == TASKHOLD_INVALID_ARGUMENT || status == TASKHOLD_NOT_FOUND ||
              status == TASKHOLD_INVALID_STATE || status == TASKHOLD_CAPACITY_EXHAUSTED ||
              status == TASKHOLD_LIMIT_EXCEEDED || status == TASKHOLD_CONFLICT;
    fflush(stdout);
    fprintf(refused ? stdout : stderr, "  %s: %s (%s): %s%s%s\n", refused ? "refused" : "failed",
            taskhold_status_name(status), reason == NULL ? "no reason" : reason,
            message == NULL ? "no message" : message, key == NULL ? "" : ": ", key == NULL ? "" : key);
    return refused ? DONE : FAILED;
}
