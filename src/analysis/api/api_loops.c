/* SPDX-License-Identifier: MIT
 *
 * Loops of a recorded program, which its trace tells (steps/find_steps.h).
 */
#include "api/api_trace_file.h"
#include "base/json_members.h"

typedef struct walk {
    bool (*fn)(void *context, const hb_loop_stats *loop);
    void *context;
    bool failed, more;
} walk;

static void put_text(hb_buf *to, hb_str loop, const char *name)
{
    hb_value v = hb_json_member(loop, name);
    if (v.type == HB_JSON_STRING) hb_value_decode(&v, to);
    hb_buf_append(to, "", 1);
}

/* 0 of what is no count. */
static uint64_t count_of(hb_str loop, const char *name)
{
    int64_t count;
    hb_value v = hb_json_member(loop, name);
    return hb_value_int(&v, &count) && count > 0 ? (uint64_t)count : 0;
}

static hb_loop_stats stats_of(hb_str loop, const char *from, const char *launch)
{
    return (hb_loop_stats){
        .number = (unsigned)count_of(loop, "loop"),
        .level = (int)count_of(loop, "level"),
        .rounds = count_of(loop, "rounds"),
        .launches = count_of(loop, "launches"),
        .coverage = hb_json_number(loop, "coverage", 0),
        .round_us = hb_json_number(loop, "round_us", 0),
        .is_step = hb_json_member(loop, "steps").type == HB_JSON_TRUE,
        .from = from,
        .launch = launch,
    };
}

static bool take(void *context, const hb_value *value)
{
    walk *w = context;
    hb_str loop = {value->s, (uint32_t)value->size};
    hb_buf texts; /* one behind the other */
    hb_buf_init(&texts, SIZE_MAX / 2);
    put_text(&texts, loop, "from");
    size_t launch = texts.size;
    put_text(&texts, loop, "launch");
    w->failed = texts.failed;
    if (!w->failed) {
        locale_t before = hb_enter_c_locale();
        hb_loop_stats stats = stats_of(loop, texts.data, texts.data + launch);
        hb_leave_c_locale(before);
        w->more = w->fn(w->context, &stats);
    }
    hb_buf_free(&texts);
    return !w->failed && w->more;
}

hb_result hb_trace_file_loops(hb_trace_file *file,
                              bool (*fn)(void *context, const hb_loop_stats *loop), void *context)
{
    walk w = {.fn = fn, .context = context};
    if (!file || !fn) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    hb_str json = hb_trace_member(hb_trace_file_trace(file), "hipboard_loops");
    if (json.len) hb_json_each(json, take, &w);
    return w.failed ? hb_no_memory() : HB_OK;
}
