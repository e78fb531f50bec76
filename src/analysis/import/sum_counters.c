/* SPDX-License-Identifier: MIT */
#include "import/sum_counters.h"

#include <math.h>

enum { MOST = 20000 }; /* kernels with a counter; of others nothing is told */

typedef struct sum {
    hb_string_id kernel, counter;
    uint64_t kernels;
    double total, max;
} sum;

typedef HB_VEC(sum) sums;

static void add(hb_arena *arena, hb_dict *index, sums *list, hb_string_id kernel,
                const hb_import_value *value)
{
    bool added;
    uint64_t key = (uint64_t)kernel << 32 | value->name;
    if (list->count >= MOST && !hb_dict_get(index, key)) return;
    hb_dict_entry *entry = hb_dict_add(arena, index, key, &added);
    if (added) {
        entry->value = list->count;
        *HB_PUSH(arena, list) = (sum){.kernel = kernel, .counter = value->name, .max = -INFINITY};
    }
    sum *s = &list->items[entry->value];
    s->kernels++;
    s->total += value->value;
    s->max = HB_MAX(s->max, value->value);
}

static void put_text(hb_buf *json, const hb_import_rows *rows, const char *key, hb_string_id text)
{
    hb_str s = hb_texts_get(rows->texts, text);
    hb_buf_printf(json, "\"%s\": ", key);
    hb_buf_json_string(json, s.s, s.len);
    hb_buf_str(json, ", ");
}

static void put_number(hb_buf *json, const char *key, double number, const char *behind)
{
    if (isfinite(number))
        hb_buf_printf(json, "\"%s\": %.12g%s", key, number, behind);
    else
        hb_buf_printf(json, "\"%s\": null%s", key, behind);
}

void hb_sum_counters(hb_arena *arena, const hb_import_rows *rows, hb_buf *json)
{
    hb_dict index = {0};
    sums list = {0};
    for (uint32_t i = 0; i < rows->works.count; i++) {
        const hb_import_work *work = hb_column_at(&rows->works, i);
        for (uint32_t k = 0; k < work->num_values; k++)
            add(arena, &index, &list, work->name, hb_column_at(&rows->values, work->values + k));
    }
    for (uint32_t i = 0; i < list.count; i++) {
        const sum *s = &list.items[i];
        hb_buf_str(json, i ? ", {" : "[{");
        put_text(json, rows, "kernel", s->kernel);
        put_text(json, rows, "counter", s->counter);
        hb_buf_printf(json, "\"kernels\": %llu, ", (unsigned long long)s->kernels);
        put_number(json, "mean", s->total / (double)s->kernels, ", ");
        put_number(json, "max", s->max, "}");
    }
    if (list.count) hb_buf_str(json, "]");
}
