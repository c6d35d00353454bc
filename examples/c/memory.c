/* Memory: a growing text, the scratch list of a step, and the names that steps may use. */
#include "demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *resize(void *block, size_t size) {
    void *resized = realloc(block, size);
    if (resized == NULL) {
        fputs("conversation: out of memory\n", stderr);
        exit(FAILED);
    }
    return resized;
}

static char *copy(const char *string) {
    size_t size = strlen(string) + 1;
    return memcpy(resize(NULL, size), string, size);
}

void text_add_bytes(struct text *text, const char *bytes, size_t length) {
    if (text->capacity - text->length <= length) {
        text->capacity = 2 * (text->length + length) + 64;
        text->bytes = resize(text->bytes, text->capacity);
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *more) {
    text_add_bytes(text, more, strlen(more));
}

void text_add_json_string(struct text *text, const char *string) {
    const char *c;
    text_add(text, "\"");
    for (c = string; *c != '\0'; c++) {
        char escape[8];
        if (*c == '"' || *c == '\\') {
            snprintf(escape, sizeof escape, "\\%c", *c);
            text_add(text, escape);
        } else if ((unsigned char)*c < 0x20) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*c);
            text_add(text, escape);
        } else {
            text_add_bytes(text, c, 1);
        }
    }
    text_add(text, "\"");
}

/* Hands the text over to the scratch list. */
char *text_keep(struct demo *demo, struct text *text) {
    struct scratch *scratch = &demo->scratch;
    text_add_bytes(text, "", 0);
    scratch->own = resize(scratch->own, (scratch->own_count + 1) * sizeof *scratch->own);
    scratch->own[scratch->own_count++] = text->bytes;
    return text->bytes;
}

/* Hands a string of the library over to the scratch list; NULL stays NULL. */
char *keep_library(struct demo *demo, char *string) {
    struct scratch *scratch = &demo->scratch;
    if (string == NULL) {
        return NULL;
    }
    scratch->library = resize(scratch->library, (scratch->library_count + 1) * sizeof *scratch->library);
    scratch->library[scratch->library_count++] = string;
    return string;
}

void scratch_free(struct demo *demo) {
    struct scratch *scratch = &demo->scratch;
    size_t at;
    for (at = 0; at < scratch->own_count; at++) {
        free(scratch->own[at]);
    }
    for (at = 0; at < scratch->library_count; at++) {
        taskhold_string_free(scratch->library[at]);
    }
    free(scratch->own);
    free(scratch->library);
    memset(scratch, 0, sizeof *scratch);
}

void ids_add(struct ids *ids, const char *id) {
    ids->items = resize(ids->items, (ids->count + 1) * sizeof *ids->items);
    ids->items[ids->count++] = copy(id);
}

void ids_free(struct ids *ids) {
    size_t at;
    for (at = 0; at < ids->count; at++) {
        free(ids->items[at]);
    }
    free(ids->items);
    memset(ids, 0, sizeof *ids);
}

static struct snapshot *snapshot_entry(const struct demo *demo, const char *name) {
    struct snapshot *entry = demo->snapshots;
    while (entry != NULL && strcmp(entry->name, name) != 0) {
        entry = entry->next;
    }
    return entry;
}

void snapshot_put(struct demo *demo, const char *name, const char *json) {
    struct snapshot *entry = snapshot_entry(demo, name);
    char *stored = copy(json);
    if (entry == NULL) {
        entry = resize(NULL, sizeof *entry);
        entry->name = copy(name);
        entry->next = demo->snapshots;
        demo->snapshots = entry;
    } else {
        free(entry->json);
    }
    entry->json = stored;
}

const char *snapshot_find(const struct demo *demo, const char *name) {
    const struct snapshot *entry = snapshot_entry(demo, name);
    return entry == NULL ? NULL : entry->json;
}

void snapshots_free(struct demo *demo) {
    while (demo->snapshots != NULL) {
        struct snapshot *entry = demo->snapshots;
        demo->snapshots = entry->next;
        free(entry->name);
        free(entry->json);
        free(entry);
    }
}
