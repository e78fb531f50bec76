/* SPDX-License-Identifier: MIT
 *
 * For tests of HIP capture: a profiler, and its cycle as the JSON that users get.
 */
#ifndef CAPTURED_H
#define CAPTURED_H

#include "hip_test.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <limits.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

static inline hb_profiler *capture_start(unsigned activities)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = activities;
    o.profile_memory = true;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

/* Some runtimes must hear of a profiler before they start. */
static inline void capture_prepare(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hb_profiler_destroy(hb_profiler_create(&o));
}

static inline cJSON *read_json(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    text[size] = '\0';
    fclose(file);
    assert_null(strstr(text, "\\u0000")); /* behind which cJSON sees nothing of a text */
    cJSON *json = cJSON_Parse(text);
    assert_non_null(json);
    free(text);
    return json;
}

/* The n-th of a directory, oldest first; NULL: there are fewer. */
static inline cJSON *nth_trace(const char *dir, int n)
{
    struct dirent **names;
    int count = scandir(dir, &names, NULL, alphasort), found = 0;
    char path[PATH_MAX] = "";
    for (int i = 0; i < count; i++) {
        if (strstr(names[i]->d_name, ".pt.trace.json") && found++ == n)
            snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return *path ? read_json(path) : NULL;
}

static inline void remove_all(const char *dir)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

/* In the last cycle. */
static inline void assert_nothing_lost(hb_profiler *prof)
{
    hb_lost lost = {.struct_size = sizeof lost};
    const hb_lost none = lost;
    assert_int_equal(hb_profiler_lost(prof, &lost), HB_OK);
    assert_memory_equal(&lost, &none, sizeof lost);
}

/* Stops the profiler; its trace, for cJSON_Delete(). */
static inline cJSON *capture_stop(hb_profiler *prof)
{
    char path[] = "/tmp/hipboard-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_nothing_lost(prof);
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    hb_profiler_destroy(prof);
    cJSON *trace = read_json(path);
    unlink(path);
    return trace;
}

static inline const cJSON *events_of(const cJSON *trace)
{
    return cJSON_GetObjectItemCaseSensitive(trace, "traceEvents");
}

static inline const char *text_of(const cJSON *event, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, key));
    return text ? text : "";
}

static inline double number_of(const cJSON *event, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, key);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static inline const cJSON *args_of(const cJSON *event)
{
    return cJSON_GetObjectItemCaseSensitive(event, "args");
}

static inline double arg(const cJSON *event, const char *key)
{
    return number_of(args_of(event), key);
}

static inline bool is_event(const cJSON *event, const char *category, const char *name)
{
    return strcmp(text_of(event, "cat"), category) == 0 &&
           (!name || strcmp(text_of(event, "name"), name) == 0);
}

/* Of the runtime and the driver, as they say it. */
static inline void assert_versions(const cJSON *trace)
{
    int runtime, driver;
    HIP_OK(hipRuntimeGetVersion(&runtime));
    HIP_OK(hipDriverGetVersion(&driver));
    assert_true(number_of(trace, "hip_runtime_version") == runtime);
    assert_true(number_of(trace, "hip_driver_version") == driver);
}

/* The n-th event of the category and, unless NULL, name; NULL when there are not that many. */
static inline const cJSON *nth_event(const cJSON *trace, const char *category, const char *name,
                                     int n)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, events_of(trace)) if (is_event(event, category, name) &&
                                                    n-- == 0) return event;
    return NULL;
}

static inline int count_events(const cJSON *trace, const char *category, const char *name)
{
    int n = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, events_of(trace)) n += is_event(event, category, name);
    return n;
}

/* Whether it was made in that function of the program, the first frame that its operator shows. */
static inline bool was_made_in(const cJSON *operator, const char * function)
{
    const char *stack = text_of(args_of(operator), "Call stack");
    const char *found = strstr(stack, function);
    return found && found < stack + strcspn(stack, ";");
}

/* The runtime call that a device event belongs to. */
static inline const cJSON *call_of(const cJSON *trace, const cJSON *work)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, events_of(trace)) if (is_event(event, "Runtime", NULL) &&
                                                    arg(event, "correlation") ==
                                                        arg(work, "correlation")) return event;
    return NULL;
}

static inline bool metadata_says(const cJSON *trace, const char *key, const char *part)
{
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(trace, key));
    bool says = text && strstr(text, part);
    cJSON_free(text);
    return says;
}

#endif
