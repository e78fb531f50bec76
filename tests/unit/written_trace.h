/* SPDX-License-Identifier: MIT
 *
 * A trace that was written, as a JSON parser of others reads it.
 */
#ifndef HB_TEST_WRITTEN_TRACE_H
#define HB_TEST_WRITTEN_TRACE_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* To be deleted. */
static inline cJSON *load_trace(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    fclose(f);
    cJSON *trace = cJSON_Parse(text);
    free(text);
    assert_non_null(trace);
    return trace;
}

/* "": there is none, or it is no text. */
static inline const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
    return text ? text : "";
}

/* Events of that name. */
static inline int count_named(const cJSON *trace, const char *name)
{
    int n = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents")) n +=
        strcmp(text_of(event, "name"), name) == 0;
    return n;
}

#endif
