/* SPDX-License-Identifier: MIT
 *
 * Metadata entries: any text or JSON, made safe for the place that they take in the trace.
 */
#include "profiler/user_metadata.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json_line.h"
#include "profiler/arbitration.h"
#include "record/clock_told.h"
#include "record/strings.h"
#include "replay/window.h"

/* Keys of the document itself. */
static const char *const reserved_keys[] = {
    "schemaVersion",        "deviceProperties", "displayTimeUnit", "baseTimeNanoseconds",
    "traceEvents",          "traceName",        "trace_id",        "host_name",
    "distributedInfo",      "with_stack",       "profile_memory",  "record_shapes",
    "with_modules",         "with_flops",       "hipboard_lost",   HB_METADATA_REASON,
    HB_METADATA_REQUEST_ID, HB_METADATA_RING,   HB_METADATA_CLOCK,
};

static hb_result check_key(const char *key)
{
    if (!key || !*key)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "metadata: the key is NULL or empty");
    for (size_t i = 0; i < HB_ARRAY_LEN(reserved_keys); i++)
        if (strcmp(key, reserved_keys[i]) == 0)
            return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                           "metadata: the trace itself has a key \"%s\"; choose another", key);
    return HB_OK;
}

/* At the end of a list, or with `replace` in the place of the key's former value. */
static hb_result keep(hb_kept_metadata **at, uint32_t key, uint32_t json, bool replace)
{
    while (*at && !(replace && (*at)->key == key))
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (!*at) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a metadata entry");
    }
    (*at)->key = key;
    (*at)->json = json;
    return HB_OK;
}

static uint32_t intern(const char *text)
{
    return hb_strings_intern(text, strlen(text));
}

static hb_result add(hb_profiler *prof, const char *key_text, const char *text, bool preset)
{
    uint32_t key = intern(key_text), json = intern(text);
    if (key == HB_STRING_DROPPED || json == HB_STRING_DROPPED)
        return hb_fail(HB_ERROR_LIMIT, "metadata: the table of names is full");
    bool ring = hb_ring_wanted(&prof->options);
    hb_arbitration_lock(prof);
    hb_result result = HB_OK;
    /* Of a ring each dump is a cycle that it belongs to, however long ago it was told. */
    if (preset || ring)
        result = keep(&prof->preset, key, json, true);
    else if (!prof->session)
        result = keep(&prof->pending, key, json, false);
    if (prof->session && !preset) hb_record_metadata_entry(key, json);
    hb_arbitration_unlock(prof);
    return result;
}

hb_result hb_profiler_add_metadata(hb_profiler *prof, const char *key, const char *value)
{
    if (!prof || !value)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "metadata: the profiler or the value is NULL");
    HB_TRY(check_key(key));
    hb_buf json;
    hb_buf_init(&json, (size_t)64 << 20);
    hb_buf_json_string(&json, value, strlen(value));
    hb_result result = json.failed ? hb_fail(HB_ERROR_LIMIT, "metadata: \"%s\" is over 64 MiB", key)
                                   : add(prof, key, hb_buf_text(&json), false);
    hb_buf_free(&json);
    return result;
}

static hb_result add_json(hb_profiler *prof, const char *key, const char *json, bool preset)
{
    char what[120];
    hb_buf line;
    if (!prof || !json)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "metadata: the profiler or the value is NULL");
    HB_TRY(check_key(key));
    snprintf(what, sizeof what, "metadata: \"%.80s\"", key);
    hb_buf_init(&line, (size_t)64 << 20);
    hb_result result = hb_json_line(&line, json, what);
    if (result == HB_OK) result = add(prof, key, hb_buf_text(&line), preset);
    hb_buf_free(&line);
    return result;
}

hb_result hb_profiler_add_metadata_json(hb_profiler *prof, const char *key, const char *json)
{
    return add_json(prof, key, json, false);
}

hb_result hb_profiler_preset_metadata_json(hb_profiler *prof, const char *key, const char *json)
{
    return add_json(prof, key, json, true);
}

static void drop(hb_kept_metadata **list)
{
    for (hb_kept_metadata *next; *list; *list = next) {
        next = (*list)->next;
        free(*list);
    }
}

void hb_metadata_drop(hb_profiler *prof)
{
    drop(&prof->preset);
    drop(&prof->pending);
}

static void record(const hb_kept_metadata *list)
{
    for (; list; list = list->next)
        hb_record_metadata_entry(list->key, list->json);
}

static void emit_text(const char *key, const char *text)
{
    hb_buf json;
    hb_buf_init(&json, (size_t)1 << 20);
    hb_buf_json_string(&json, text, strlen(text));
    if (!json.failed) hb_record_metadata_entry(intern(key), intern(hb_buf_text(&json)));
    hb_buf_free(&json);
}

/* Why there is this cycle. */
static void emit_request(const hb_profiler *prof)
{
    const hb_request *r = &prof->demand.request;
    char reason[sizeof r->reason + 80];
    snprintf(reason, sizeof reason, "%s%s", r->reason,
             prof->demand.late ? " (heard of when its time was over: other ranks may have begun "
                                 "elsewhere)"
                               : "");
    emit_text(HB_METADATA_REASON, reason);
    if (r->id[0]) emit_text(HB_METADATA_REQUEST_ID, r->id);
}

void hb_metadata_repeat(const hb_profiler *prof)
{
    if (prof->distributed_json)
        hb_record_metadata_entry(intern(HB_METADATA_DISTRIBUTED), intern(prof->distributed_json));
    if (prof->rccl_json)
        hb_record_metadata_entry(intern(HB_METADATA_DISTRIBUTED_RCCL), intern(prof->rccl_json));
    hb_clock_told_record();
    record(prof->preset);
}

void hb_metadata_emit(hb_profiler *prof)
{
    hb_metadata_repeat(prof);
    record(prof->pending);
    drop(&prof->pending);
    if (prof->options.on_demand && hb_demand_number(prof)) emit_request(prof);
}
