/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: counters of kernels, as whoever imported the trace, or joined
 * those of another run to it, has summed them up.
 */
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "base/json_members.h"

/* Texts are kept as where they begin, until they move no more. */
typedef struct reading {
    hb_buf rows, texts;
    hb_kernel_counter row;
    size_t kernel, counter;
} reading;

static size_t keep_text(reading *r, const hb_value *value)
{
    size_t begin = r->texts.size;
    if (value->type == HB_JSON_STRING) hb_value_decode(value, &r->texts);
    hb_buf_append(&r->texts, "", 1);
    return begin;
}

static bool take_member(void *context, const hb_value *key, const hb_value *value)
{
    reading *r = context;
    bool number = value->type == HB_JSON_INT || value->type == HB_JSON_FLOAT;
    int64_t count;
    if (hb_value_is(key, "kernel")) r->kernel = keep_text(r, value);
    if (hb_value_is(key, "counter")) r->counter = keep_text(r, value);
    if (hb_value_is(key, "kernels") && hb_value_int(value, &count))
        r->row.kernels = (uint64_t)HB_MAX(count, 0);
    if (hb_value_is(key, "mean") && number) r->row.mean = hb_value_double(value);
    if (hb_value_is(key, "max") && number) r->row.max = hb_value_double(value);
    return true;
}

static bool take_row(void *context, const hb_value *value)
{
    reading *r = context;
    r->row = (hb_kernel_counter){0};
    r->kernel = r->counter = 0;
    if (value->type != HB_JSON_OBJECT) return true;
    hb_json_each_member((hb_str){value->s, (uint32_t)value->size}, take_member, r);
    r->row.kernel = (const char *)r->kernel; /* offsets, for now */
    r->row.counter = (const char *)r->counter;
    hb_buf_append(&r->rows, &r->row, sizeof r->row);
    return true;
}

/* One block: the rows, then their texts. */
static hb_result hand_out(const reading *r, hb_kernel_counter **list, size_t *count)
{
    size_t n = r->rows.size / sizeof **list;
    char *block = r->rows.failed || r->texts.failed ? NULL : malloc(r->rows.size + r->texts.size);
    if (!block) return hb_no_memory();
    memcpy(block, r->rows.data, r->rows.size);
    memcpy(block + r->rows.size, r->texts.data, r->texts.size);
    *list = (hb_kernel_counter *)(void *)block;
    for (size_t i = 0; i < n; i++) {
        (*list)[i].kernel = block + r->rows.size + (size_t)(*list)[i].kernel;
        (*list)[i].counter = block + r->rows.size + (size_t)(*list)[i].counter;
    }
    *count = n;
    return HB_OK;
}

hb_result hb_trace_file_counters(hb_trace_file *file, hb_kernel_counter **list, size_t *count)
{
    if (!file || !list || !count)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no file or no place for the result");
    *list = NULL;
    *count = 0;
    const hb_trace *trace = hb_trace_file_trace(file);
    hb_str imported = hb_trace_member(trace, "hipboard_import"),
           joined = hb_trace_member(trace, "hipboard_counters");
    hb_value own = {0};
    if (imported.len) own = hb_json_member(imported, "counters");
    reading r = {0};
    hb_buf_init(&r.rows, SIZE_MAX / 2);
    hb_buf_init(&r.texts, SIZE_MAX / 2);
    hb_buf_append(&r.texts, "", 1);
    locale_t before = hb_enter_c_locale();
    if (own.type == HB_JSON_ARRAY) hb_json_each((hb_str){own.s, (uint32_t)own.size}, take_row, &r);
    if (joined.len && hb_json_value(joined).type == HB_JSON_ARRAY)
        hb_json_each(joined, take_row, &r);
    hb_leave_c_locale(before);
    hb_result result = r.rows.size || r.rows.failed ? hand_out(&r, list, count) : HB_OK;
    hb_buf_free(&r.rows);
    hb_buf_free(&r.texts);
    return result;
}
