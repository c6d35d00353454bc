/* JSON without a JSON library: values are read with taskhold_json_get, and documents are written by splicing
   the texts that are there. Splicing trusts its text: only what taskhold has validated comes here. */
#include "demo.h"

#include <string.h>

/* The value at `pointer`: a string decoded, anything else as its text, NULL when absent or not readable. */
const char *json_get(struct demo *demo, const char *json, const char *pointer) {
    char *value = NULL;
    if (taskhold_json_get(json, pointer, &value, NULL) != TASKHOLD_OK) {
        return NULL;
    }
    return keep_library(demo, value);
}

static const char *skip_space(const char *at) {
    return at + strspn(at, " \t\r\n");
}

static const char *skip_string(const char *at) {
    for (at++; *at != '"' && *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0') {
            at++;
        }
    }
    return *at == '"' ? at + 1 : at;
}

/* The end of the value that begins at `value`. */
const char *json_skip(const char *value) {
    unsigned depth = 0;
    const char *at = value;
    if (*at == '"') {
        return skip_string(at);
    }
    if (*at != '{' && *at != '[') {
        return at + strcspn(at, ",]} \t\r\n");
    }
    while (*at != '\0') {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        if (*at == '{' || *at == '[') {
            depth++;
        } else if ((*at == '}' || *at == ']') && --depth == 0) {
            return at + 1;
        }
        at++;
    }
    return at;
}

/* Steps through the members of an object or the elements of an array (whose names are empty). `*cursor` starts
   at the opening bracket. Gives 0 at the end. */
int json_next_member(const char **cursor, struct span *out_name, struct span *out_value) {
    const char *at = skip_space(*cursor);
    int named = *at == '{';
    if (*at == '{' || *at == '[') {
        at = skip_space(at + 1);
    } else if (*at == ',') {
        /* A member's name is a string with a colon behind it; an element has none. */
        at = skip_space(at + 1);
        named = *at == '"' && *skip_space(skip_string(at)) == ':';
    }
    out_name->start = at;
    out_name->length = 0;
    if (*at == '}' || *at == ']' || *at == '\0') {
        return 0;
    }
    if (named) {
        const char *end = skip_string(at);
        out_name->start = at + 1;
        out_name->length = (size_t)(end - at) - 2;
        at = skip_space(skip_space(end) + 1);
    }
    out_value->start = at;
    out_value->length = (size_t)(json_skip(at) - at);
    *cursor = at + out_value->length;
    return 1;
}

/* The value of a member as it stands in the text: unlike taskhold_json_get this tells "1" from 1. */
int json_member(const char *object, const char *name, struct span *out_value) {
    const char *cursor = skip_space(object);
    struct span found;
    if (*cursor != '{') {
        return 0;
    }
    while (json_next_member(&cursor, &found, out_value)) {
        if (found.length == strlen(name) && memcmp(found.start, name, found.length) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The object with the value of one of its members replaced; NULL when it has no such member. */
char *json_with(struct demo *demo, const char *object, const char *name, const char *value) {
    struct text spliced = {0};
    struct span old;
    if (!json_member(object, name, &old)) {
        return NULL;
    }
    text_add_bytes(&spliced, object, (size_t)(old.start - object));
    text_add(&spliced, value);
    text_add(&spliced, old.start + old.length);
    return text_keep(demo, &spliced);
}
