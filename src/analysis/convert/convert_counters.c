/* SPDX-License-Identifier: MIT
 *
 * Hardware counters of another run of the program, which cannot be read while a trace is to show
 * how kernels follow each other. Where one run's kernels are the first ones of the other's, they
 * are joined one by one; else the n-th kernel of a name is the n-th of that name there, and names
 * that do not come as often in both are left alone.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "convert/convert.h"
#include "import/demangle.h"
#include "import/import_set.h"
#include "import/sum_counters.h"
#include "rules/categories.h"

/* A kernel of the trace, or of the other run. */
typedef struct kernel {
    hb_string_id name;
    double start;
    const hb_import_work *work; /* of the other run */
    uint32_t item;              /* of the trace */
} kernel;

typedef struct joiner {
    hb_plan *plan;
    hb_arena arena;
    hb_texts texts;
    const hb_import_process *other;
    HB_VEC(kernel) trace, run;
    hb_dict names; /* of counters: which process gave them */
    uint32_t next; /* event of the trace */
} joiner;

/* Where the members that a kernel gets stand in plan->counters. */
typedef struct given {
    uint32_t item, at, size;
} given;

/* ---- kernels ---- */

static bool take_event(void *context, const hb_raw_event *raw, hb_str text, bool defective)
{
    joiner *j = context;
    uint32_t item = j->next++;
    hb_value cat = hb_raw_get(raw, HB_SLOT_CAT), name = hb_raw_get(raw, HB_SLOT_NAME);
    hb_str category = {cat.s, (uint32_t)cat.size};
    hb_buf decoded;
    (void)text;
    (void)defective;
    if (item >= j->plan->items.count) return false;
    bool is_kernel = cat.type == HB_JSON_STRING && hb_category_is(HB_CATEGORY_KERNEL, category);
    if (!is_kernel || name.type != HB_JSON_STRING) return true;
    hb_buf_init(&decoded, SIZE_MAX / 4);
    hb_value_decode(&name, &decoded);
    hb_str of = {hb_buf_text(&decoded), (uint32_t)decoded.size};
    *HB_PUSH(&j->arena, &j->trace) =
        (kernel){.name = hb_import_kernel_name(&j->arena, &j->texts, of),
                 .start = hb_plan_item(j->plan, item)->ts,
                 .item = item};
    hb_buf_free(&decoded);
    return true;
}

static void list_trace(joiner *j)
{
    hb_trace ignored;
    hb_read_report report;
    hb_read_options options = {.event = take_event, .context = j};
    hb_result result = hb_read_trace(j->plan->input, &options, &ignored, &report);
    hb_trace_free(&ignored);
    if (result != HB_OK) hb_arena_leave(&j->arena, result, "%s", hb_last_error());
}

static void list_run(joiner *j)
{
    const hb_import_rows *rows = &j->other->rows;
    for (uint32_t i = 0; i < rows->works.count; i++) {
        const hb_import_work *work = hb_column_at(&rows->works, i);
        if (hb_import_launch_of(rows, work)->kind != HB_EVENT_KERNEL) continue;
        hb_str name = hb_texts_get(rows->texts, work->name);
        *HB_PUSH(&j->arena, &j->run) =
            (kernel){.name = hb_import_kernel_name(&j->arena, &j->texts, name),
                     .start = (double)work->start,
                     .work = work};
    }
}

static bool by_name_and_start(const void *context, const void *a, const void *b)
{
    const kernel *x = a, *y = b;
    (void)context;
    return x->name != y->name ? x->name < y->name : x->start < y->start;
}

/* ---- joining ---- */

static void put_values(joiner *j, const kernel *to, const hb_import_work *work)
{
    hb_plan *plan = j->plan;
    const hb_import_rows *rows = &j->other->rows;
    given g = {.item = to->item, .at = (uint32_t)plan->counters.size};
    if (!work->num_values) return;
    for (uint32_t i = 0; i < work->num_values; i++) {
        const hb_import_value *v = hb_column_at(&rows->values, work->values + i);
        hb_str name = hb_texts_get(rows->texts, v->name);
        hb_buf_str(&plan->counters, ", ");
        hb_buf_json_string(&plan->counters, name.s, name.len);
        hb_buf_printf(&plan->counters, ": %.12g", v->value);
    }
    g.size = (uint32_t)plan->counters.size - g.at;
    hb_buf_append(&plan->counted, &g, sizeof g);
}

static uint32_t count_name(const kernel *list, uint32_t count, uint32_t from)
{
    uint32_t n = 0;
    while (from + n < count && list[from + n].name == list[from].name)
        n++;
    return n;
}

static bool by_start(const void *context, const void *a, const void *b)
{
    const kernel *x = a, *y = b;
    (void)context;
    return x->start != y->start ? x->start < y->start : x->item < y->item;
}

/* False: they differ. */
static bool join_in_order(joiner *j)
{
    uint32_t n = HB_MIN(j->trace.count, j->run.count);
    hb_sort(&j->arena, j->trace.items, j->trace.count, sizeof(kernel), by_start, NULL);
    hb_sort(&j->arena, j->run.items, j->run.count, sizeof(kernel), by_start, NULL);
    for (uint32_t i = 0; i < n; i++)
        if (j->trace.items[i].name != j->run.items[i].name) return false;
    for (uint32_t i = 0; i < n; i++)
        put_values(j, &j->trace.items[i], j->run.items[i].work);
    j->plan->counts[HB_CHANGE_NO_COUNTERS] += j->trace.count - n;
    return true;
}

static void join(joiner *j)
{
    uint32_t at = 0, of, times;
    if (join_in_order(j)) return;
    hb_sort(&j->arena, j->trace.items, j->trace.count, sizeof(kernel), by_name_and_start, NULL);
    hb_sort(&j->arena, j->run.items, j->run.count, sizeof(kernel), by_name_and_start, NULL);
    for (uint32_t i = 0; i < j->trace.count; i += of) {
        const kernel *first = &j->trace.items[i];
        of = count_name(j->trace.items, j->trace.count, i);
        while (at < j->run.count && j->run.items[at].name < first->name)
            at++;
        bool there = at < j->run.count && j->run.items[at].name == first->name;
        times = there ? count_name(j->run.items, j->run.count, at) : 0;
        if (times != of) j->plan->counts[HB_CHANGE_NO_COUNTERS] += of;
        for (uint32_t k = 0; k < of && times == of; k++)
            put_values(j, &first[k], j->run.items[at + k].work);
    }
}

/* Of two processes of a job nobody could tell whose a kernel's are. */
static void check_names(joiner *j, uint32_t number)
{
    const hb_import_rows *rows = &j->other->rows;
    for (uint32_t i = 0; i < rows->values.count; i++) {
        const hb_import_value *v = hb_column_at(&rows->values, i);
        bool added;
        hb_dict_entry *of = hb_dict_add(&j->arena, &j->names, v->name, &added);
        if (added) of->value = number;
        if (of->value != number)
            hb_arena_leave(&j->arena, HB_ERROR_UNSUPPORTED,
                           "%s: %s of two processes: name the file of one",
                           j->plan->options->counters, hb_texts_get(rows->texts, v->name).s);
    }
}

static int by_item(const void *a, const void *b)
{
    const given *x = a, *y = b;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void count_kernels(hb_plan *plan)
{
    given *all = (given *)(void *)plan->counted.data;
    size_t n = plan->counted.size / sizeof *all;
    if (n) qsort(all, n, sizeof *all, by_item);
    for (size_t i = 0; i < n; i++)
        plan->counts[HB_CHANGE_COUNTERS] += !i || all[i - 1].item != all[i].item;
}

/* By kernel, for the view of kernels. */
static void put_sums(joiner *j, hb_buf *json)
{
    hb_buf one;
    hb_buf_init(&one, (size_t)64 << 20);
    hb_sum_counters(&j->arena, &j->other->rows, &one);
    if (one.size > 2) { /* a list: its elements */
        hb_buf_str(json, json->size ? ", " : "[");
        hb_buf_append(json, one.data + 1, one.size - 2);
    }
    json->failed |= one.failed;
    hb_buf_free(&one);
}

static bool tell_sums(hb_plan *plan, hb_buf *json)
{
    uint32_t before = plan->trace.members_before;
    if (!json->size) return true;
    hb_buf_str(json, "]");
    hb_str key = HB_STR("hipboard_counters"), text = {hb_buf_text(json), (uint32_t)json->size};
    bool fine = !json->failed && hb_trace_add_member(&plan->trace, key, text);
    plan->trace.members_before = before + 1;
    return fine;
}

static bool has_counters(const hb_import_process *p)
{
    return !p->merged && p->rows.values.count > 0;
}

static void join_all(joiner *j, const hb_import *import, hb_buf *sums)
{
    if (!hb_texts_init(&j->texts)) hb_arena_leave(&j->arena, HB_ERROR_NO_MEMORY, "out of memory");
    list_trace(j);
    for (uint32_t i = 0; i < import->num_processes; i++) {
        j->other = import->processes[i];
        if (!has_counters(j->other)) continue;
        check_names(j, i);
        j->run.count = 0;
        list_run(j);
        join(j);
        put_sums(j, sums);
    }
    if (!sums->size)
        hb_arena_leave(&j->arena, HB_ERROR_NOT_FOUND, "%s: no counters of kernels in it",
                       j->plan->options->counters);
    count_kernels(j->plan);
    bool fine = tell_sums(j->plan, sums) && !j->plan->counters.failed && !j->plan->counted.failed;
    if (!fine) hb_arena_leave(&j->arena, HB_ERROR_NO_MEMORY, "out of memory");
}

static hb_result try_to_join(joiner *j, const hb_import *import, hb_buf *sums)
{
    if (hb_arena_try(&j->arena)) join_all(j, import, sums);
    return hb_arena_outcome(&j->arena);
}

hb_result hb_plan_counters(hb_plan *plan)
{
    hb_import *import;
    hb_buf sums;
    joiner j = {.plan = plan};
    const char *path = plan->options->counters;
    if (!path) return HB_OK;
    hb_buf_init(&plan->counters, (size_t)4 << 30);
    hb_buf_init(&plan->counted, (size_t)4 << 30);
    hb_buf_init(&sums, (size_t)64 << 20);
    hb_result result = hb_import_open(&path, 1, NULL, &import);
    if (result == HB_OK) {
        result = try_to_join(&j, import, &sums);
        hb_import_close(import);
    }
    hb_buf_free(&sums);
    hb_texts_free(&j.texts);
    hb_arena_free(&j.arena);
    return result;
}

/* ---- writing ---- */

/* Behind "args": of an event's text; NULL: it has none. */
static const char *args_of(const char *text, size_t size)
{
    const char *end = text + size, *at = memmem(text, size, "\"args\"", 6);
    if (!at) return NULL;
    at = hb_scan_space(at + 6);
    if (at >= end || *at != ':') return NULL;
    at = hb_scan_space(at + 1);
    return at < end && *at == '{' ? at + 1 : NULL;
}

void hb_put_counters(const hb_plan *plan, uint32_t item, hb_buf *event)
{
    const given *all = (const given *)(const void *)plan->counted.data;
    size_t n = plan->counted.size / sizeof *all, i = HB_LOWER_BOUND(all, n, item, item);
    const char *args = i < n && all[i].item == item ? args_of(event->data, event->size) : NULL;
    if (!args) return;
    bool empty = *hb_scan_space(args) == '}';
    size_t at = (size_t)(args - event->data), rest = event->size - at, comma = 2;
    char *behind = malloc(rest + 1);
    if (!behind) return;
    memcpy(behind, args, rest);
    event->size = at;
    for (; i < n && all[i].item == item; i++) {
        hb_buf_append(event, plan->counters.data + all[i].at + comma, all[i].size - comma);
        comma = 0;
    }
    if (!empty) hb_buf_str(event, ", ");
    hb_buf_append(event, behind, rest);
    free(behind);
}
