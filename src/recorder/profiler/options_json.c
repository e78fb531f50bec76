/* SPDX-License-Identifier: MIT
 *
 * A profiler's options as JSON, for languages that have no C structs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/guard.h"
#include "base/json_line.h"
#include "base/json_members.h"

enum field_kind { FIELD_BOOL, FIELD_UNSIGNED, FIELD_INT, FIELD_I64, FIELD_U64, FIELD_TEXT };

typedef struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
} field;

#define OPTION(member, kind)                                 \
    {                                                        \
#member, kind, offsetof(hb_profiler_options, member) \
    }
#define DISTRIBUTED(member, kind)                            \
    {                                                        \
#member, kind, offsetof(hb_distributed_info, member) \
    }
#define SCHEDULE(member)                                         \
    {                                                            \
#member, FIELD_I64, offsetof(hb_schedule_params, member) \
    }
#define HANDLER(member, kind)                          \
    {                                                  \
#member, kind, offsetof(handler_words, member) \
    }

typedef struct handler_words {
    const char *dir_name, *worker_name, *dialect;
    bool use_gzip, by_zlib, event_file, skip_empty, pftrace;
} handler_words;

static const field option_fields[] = {
    OPTION(record_shapes, FIELD_BOOL),
    OPTION(profile_memory, FIELD_BOOL),
    OPTION(with_stack, FIELD_BOOL),
    OPTION(with_flops, FIELD_BOOL),
    OPTION(with_modules, FIELD_BOOL),
    OPTION(acc_events, FIELD_BOOL),
    OPTION(max_record_bytes, FIELD_U64),
    OPTION(spool_dir, FIELD_TEXT),
    OPTION(time_slice_ns, FIELD_I64),
    OPTION(yields, FIELD_BOOL),
    OPTION(sync, FIELD_BOOL),
    OPTION(on_demand, FIELD_BOOL),
    OPTION(trigger_signal, FIELD_INT),
    OPTION(trigger_slow_step, FIELD_UNSIGNED),
    OPTION(trigger_hip_errors, FIELD_BOOL),
    OPTION(trigger_metric, FIELD_TEXT),
    OPTION(control_file, FIELD_TEXT),
    OPTION(max_cycles, FIELD_I64),
    OPTION(max_disk_bytes, FIELD_U64),
    OPTION(stop_hands_over, FIELD_BOOL),
    OPTION(kernel_sampling, FIELD_U64),
    OPTION(ring_ns, FIELD_I64),
    OPTION(ring_steps, FIELD_I64),
    OPTION(ring_bytes, FIELD_U64),
    OPTION(operators, FIELD_TEXT),
    OPTION(find_steps, FIELD_BOOL),
    OPTION(step_loop, FIELD_UNSIGNED),
    OPTION(sample_hz, FIELD_UNSIGNED),
    {0},
};

static const field schedule_fields[] = {
    SCHEDULE(wait),
    SCHEDULE(warmup),
    SCHEDULE(active),
    SCHEDULE(repeat),
    SCHEDULE(skip_first),
    SCHEDULE(skip_first_wait),
    {0},
};

static const field distributed_fields[] = {
    DISTRIBUTED(backend, FIELD_TEXT),
    DISTRIBUTED(rank, FIELD_I64),
    DISTRIBUTED(world_size, FIELD_I64),
    DISTRIBUTED(nccl_version, FIELD_TEXT),
    {0},
};

static const field handler_fields[] = {
    HANDLER(dir_name, FIELD_TEXT),
    HANDLER(worker_name, FIELD_TEXT),
    HANDLER(use_gzip, FIELD_BOOL),
    HANDLER(by_zlib, FIELD_BOOL),
    HANDLER(dialect, FIELD_TEXT),
    HANDLER(event_file, FIELD_BOOL),
    HANDLER(skip_empty, FIELD_BOOL),
    HANDLER(pftrace, FIELD_BOOL),
    {0},
};

/* What is read of the text; texts live until the profiler is made. */
typedef struct reading {
    hb_profiler_options options;
    handler_words handler;
    char *texts[16];
    size_t num_texts;
    const char *where; /* "schedule.", or "" */
    const field *fields;
    void *to;
    hb_result result;
} reading;

HB_PRINTF(4, 5)
static bool refuse(reading *r, hb_result result, const hb_value *key, const char *format, ...)
{
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    r->result = hb_fail(result, "options: \"%s%.*s\" %s", r->where, (int)HB_MIN(key->size, 100),
                        key->s, why);
    return false;
}

static bool take_text(reading *r, const hb_value *key, const hb_value *value, const char **to)
{
    hb_buf text;
    if (r->num_texts == HB_ARRAY_LEN(r->texts))
        return refuse(r, HB_ERROR_INVALID_ARGUMENT, key, "is one text too many");
    hb_buf_init(&text, (size_t)1 << 20);
    hb_value_decode(value, &text);
    hb_buf_append(&text, "", 1);
    if (text.failed) {
        hb_buf_free(&text);
        r->result = hb_no_memory();
        return false;
    }
    *to = r->texts[r->num_texts++] = text.data;
    if (strlen(text.data) + 1 == text.size) return true;
    return refuse(r, HB_ERROR_INVALID_ARGUMENT, key, "has a NUL character in it");
}

static bool take_number(reading *r, const field *f, const hb_value *key, int64_t number)
{
    char *at = (char *)r->to + f->offset;
    int64_t least = f->kind == FIELD_U64 || f->kind == FIELD_UNSIGNED ? 0 : INT64_MIN;
    int64_t most = f->kind == FIELD_INT || f->kind == FIELD_UNSIGNED ? INT32_MAX : INT64_MAX;
    if (number < least || number > most)
        return refuse(r, HB_ERROR_INVALID_ARGUMENT, key, "is out of range: %lld",
                      (long long)number);
    switch (f->kind) {
    case FIELD_INT: *(int *)(void *)at = (int)number; break;
    case FIELD_UNSIGNED: *(unsigned *)(void *)at = (unsigned)number; break;
    default: *(int64_t *)(void *)at = number;
    }
    return true;
}

static bool take_field(reading *r, const field *f, const hb_value *key, const hb_value *value)
{
    char *at = (char *)r->to + f->offset;
    int64_t number;
    if (hb_value_is_null(value)) return true;
    if (f->kind == FIELD_BOOL) {
        if (value->type != HB_JSON_TRUE && value->type != HB_JSON_FALSE)
            return refuse(r, HB_ERROR_INVALID_ARGUMENT, key, "must be true or false");
        *(bool *)at = value->type == HB_JSON_TRUE;
        return true;
    }
    if (f->kind == FIELD_TEXT) {
        if (value->type != HB_JSON_STRING)
            return refuse(r, HB_ERROR_INVALID_ARGUMENT, key, "must be a text");
        return take_text(r, key, value, (const char **)(void *)at);
    }
    if (!hb_value_int(value, &number))
        return refuse(r, HB_ERROR_INVALID_ARGUMENT, key, "must be a whole number");
    return take_number(r, f, key, number);
}

static bool take_member(void *context, const hb_value *key, const hb_value *value)
{
    reading *r = context;
    for (const field *f = r->fields; f->name; f++)
        if (hb_value_is(key, f->name)) return take_field(r, f, key, value);
    return refuse(r, HB_ERROR_INVALID_ARGUMENT, key, "is no option");
}

/* ---- members that have members ---- */

static bool take_object(reading *r, const char *where, const field *fields, void *to,
                        const hb_value *key, const hb_value *value)
{
    if (hb_value_is_null(value)) return true;
    if (value->type != HB_JSON_OBJECT)
        return refuse(r, HB_ERROR_INVALID_ARGUMENT, key, "must be an object");
    const char *outer_where = r->where;
    const field *outer_fields = r->fields;
    void *outer_to = r->to;
    r->where = where;
    r->fields = fields;
    r->to = to;
    hb_json_each_member((hb_str){value->s, (uint32_t)value->size}, take_member, r);
    r->where = outer_where;
    r->fields = outer_fields;
    r->to = outer_to;
    return r->result == HB_OK;
}

static bool take_schedule(reading *r, const hb_value *key, const hb_value *value)
{
    hb_schedule_params params = {0};
    if (!take_object(r, "schedule.", schedule_fields, &params, key, value)) return false;
    if (!hb_value_is_null(value)) r->options.schedule = hb_schedule_from(&params);
    return true;
}

typedef struct activities {
    unsigned bits;
    bool wrong;
} activities;

static bool take_activity(void *context, const hb_value *value)
{
    activities *a = context;
    unsigned bit = hb_value_is(value, "cpu")    ? HB_ACTIVITY_CPU
                   : hb_value_is(value, "hip")  ? HB_ACTIVITY_HIP
                   : hb_value_is(value, "comm") ? HB_ACTIVITY_COMM
                                                : 0;
    a->bits |= bit;
    a->wrong |= bit == 0;
    return !a->wrong;
}

static bool take_activities(reading *r, const hb_value *key, const hb_value *value)
{
    activities a = {0};
    if (hb_value_is_null(value)) return true;
    if (value->type == HB_JSON_ARRAY)
        hb_json_each((hb_str){value->s, (uint32_t)value->size}, take_activity, &a);
    if (value->type != HB_JSON_ARRAY || a.wrong)
        return refuse(r, HB_ERROR_INVALID_ARGUMENT, key,
                      "must be a list of \"cpu\", \"hip\" and \"comm\"");
    r->options.activities = a.bits;
    return true;
}

static bool take_option(void *context, const hb_value *key, const hb_value *value)
{
    reading *r = context;
    if (hb_value_is(key, "activities")) return take_activities(r, key, value);
    if (hb_value_is(key, "schedule")) return take_schedule(r, key, value);
    if (hb_value_is(key, "distributed"))
        return take_object(r, "distributed.", distributed_fields, &r->options.distributed, key,
                           value);
    if (hb_value_is(key, "tensorboard_trace_handler"))
        return take_object(r, "tensorboard_trace_handler.", handler_fields, &r->handler, key,
                           value);
    return take_member(r, key, value);
}

/* ---- the profiler ---- */

static hb_result make_handler(reading *r)
{
    const handler_words *h = &r->handler;
    bool kineto = h->dialect && strcmp(h->dialect, "kineto") == 0;
    if (h->dialect && !kineto && strcmp(h->dialect, "tensorboard") != 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "options: \"tensorboard_trace_handler.dialect\" must be \"tensorboard\" or "
                       "\"kineto\"");
    unsigned flags = (h->use_gzip ? HB_GZIP : 0) | (h->by_zlib ? HB_GZIP_BY_ZLIB : 0) |
                     (kineto ? HB_DIALECT_KINETO : 0) | (h->event_file ? 0 : HB_NO_EVENT_FILE) |
                     (h->skip_empty ? HB_SKIP_EMPTY : 0) | (h->pftrace ? HB_PFTRACE : 0);
    if (h->dir_name)
        r->options.on_trace_ready =
            hb_tensorboard_trace_handler(h->dir_name, h->worker_name, flags);
    return HB_OK;
}

static hb_result read_options(reading *r, hb_buf *text, const char *json)
{
    static const char zeros[HB_SCAN_PADDING] = {0};
    HB_TRY(hb_json_line(text, json, "options"));
    uint32_t size = (uint32_t)text->size;
    hb_buf_append(text, zeros, sizeof zeros);
    if (text->failed) return hb_no_memory();
    if (text->data[0] != '{')
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "options: no JSON object ({...})");
    hb_json_each_member((hb_str){text->data, size}, take_option, r);
    HB_TRY(r->result);
    return make_handler(r);
}

hb_profiler *hb_profiler_create_json(const char *json)
{
    HB_GUARDED();
    hb_buf text;
    reading r = {.options = HB_PROFILER_OPTIONS_INIT,
                 .handler = {.event_file = true},
                 .where = "",
                 .fields = option_fields};
    r.to = &r.options;
    hb_buf_init(&text, (size_t)1 << 24);
    hb_profiler *prof = NULL;
    if (read_options(&r, &text, json ? json : "{}") == HB_OK) prof = hb_profiler_create(&r.options);
    for (size_t i = 0; i < r.num_texts; i++)
        free(r.texts[i]);
    hb_buf_free(&text);
    return prof;
}
