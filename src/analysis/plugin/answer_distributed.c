/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/answer_bodies.h"

static void head(hb_emitter *out, const char *title)
{
    hb_emit_open(out, '{');
    hb_emit_open_key(out, "metadata", '{');
    hb_emit_pair(out, "title", title);
}

/* ---- devices ---- */

typedef struct process {
    const char *node;
    size_t node_size;
    char name[300];
    const hb_analysis *analysis;
    bool hidden; /* a later worker has the same names */
} process;

/* "<node>_<digits>": the last underscore before a digit. */
static bool split_name(const char *name, size_t *node_size, size_t *digits)
{
    for (size_t i = strlen(name); i-- > 0;) {
        if (name[i] != '_' || !isdigit((unsigned char)name[i + 1])) continue;
        *node_size = i;
        for (*digits = 0; isdigit((unsigned char)name[i + 1 + *digits]);)
            ++*digits;
        return !memchr(name, '\n', i);
    }
    return false;
}

static uint32_t list_processes(const hb_distributed *d, process *list)
{
    uint32_t n = 0;
    int unnamed = 0;
    for (uint32_t w = 0; w < d->num_workers; w++) {
        const char *name = d->workers[w].name;
        process *p = &list[n];
        size_t digits;
        if (!d->workers[w].analysis->props.present) continue;
        *p = (process){.node = name, .node_size = strlen(name), .analysis = d->workers[w].analysis};
        if (split_name(name, &p->node_size, &digits))
            snprintf(p->name, sizeof p->name, "Process %.*s", (int)HB_MIN(digits, 280),
                     name + p->node_size + 1);
        else
            snprintf(p->name, sizeof p->name, "Process %d", unnamed++);
        n++;
    }
    return n;
}

static bool same_node(const process *p, const process *q)
{
    return p->node_size == q->node_size && memcmp(p->node, q->node, p->node_size) == 0;
}

static int by_process(const void *x, const void *y)
{
    return strcmp((*(const process *const *)x)->name, (*(const process *const *)y)->name);
}

static void out_process(hb_emitter *out, const process *p)
{
    const hb_analysis *a = p->analysis;
    hb_emit_open_key(out, p->name, '{');
    for (uint32_t i = 0; i < a->num_used_devices; i++) {
        int64_t id = hb_key_value(a->used_devices[i]);
        char key[32];
        if (id < 0 || id >= a->props.count) continue;
        snprintf(key, sizeof key, "GPU%lld", (long long)id);
        hb_emit_key(out, key);
        hb_answer_gpu(out, &a->props.items[id]);
    }
    hb_emit_close(out, '}');
}

static void out_node(hb_emitter *out, const process *list, uint32_t n, uint32_t first,
                     const process **found)
{
    uint32_t count = 0;
    for (uint32_t i = first; i < n; i++)
        if (same_node(&list[i], &list[first]) && !list[i].hidden) found[count++] = &list[i];
    qsort(found, count, sizeof *found, by_process);
    hb_emit_key_str(out, (hb_str){list[first].node, (uint32_t)list[first].node_size});
    hb_emit_open(out, '{');
    for (uint32_t i = 0; i < count; i++)
        out_process(out, found[i]);
    hb_emit_close(out, '}');
}

void hb_answer_gpu_info(hb_emitter *out, const hb_distributed *d)
{
    process *list = calloc(d->num_workers + 1, sizeof *list);
    const process **found = calloc(d->num_workers + 1, sizeof *found);
    uint32_t n = list && found ? list_processes(d, list) : 0;
    if (!n) {
        hb_emit_null(out);
    } else {
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = i + 1; k < n; k++)
                if (same_node(&list[i], &list[k]) && strcmp(list[i].name, list[k].name) == 0)
                    list[i].hidden = true;
        head(out, "Device Information");
        hb_emit_close(out, '}');
        hb_emit_open_key(out, "data", '{');
        for (uint32_t i = 0; i < n; i++) {
            uint32_t first = 0;
            while (!same_node(&list[first], &list[i]))
                first++;
            if (first == i) out_node(out, list, n, i, found);
        }
        hb_emit_close(out, '}');
        hb_emit_close(out, '}');
    }
    free(list);
    free(found);
}

/* ---- steps ---- */

/* Distinct names, in order of appearance over the workers. */
typedef HB_VEC(hb_str) step_table;

static const hb_str no_step = {NULL, 0};

static hb_str step_name(const hb_analysis *a, int step)
{
    return step < 0 ? no_step : hb_trace_text(a->trace, a->steps.items[step].name);
}

static bool same_step(hb_str s, hb_str u)
{
    if (!s.s || !u.s) return s.s == u.s;
    return s.len == u.len && memcmp(s.s, u.s, s.len) == 0;
}

static void add_step(step_table *t, hb_str name)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (same_step(t->items[i], name)) return;
    hb_str *added = HB_APPEND(t);
    if (added) *added = name;
}

static void out_step_key(hb_emitter *out, hb_str name)
{
    hb_emit_key_str(out, name.s ? name : HB_STR("null"));
}

static void out_numbers(hb_emitter *out, const char *worker, const hb_num *numbers, int count)
{
    hb_emit_open_key(out, worker, '[');
    for (int i = 0; i < count; i++)
        hb_emit_num(out, numbers[i]);
    hb_emit_close(out, ']');
}

/* Truncated means over the steps. */
static void out_means(hb_emitter *out, const char *worker, const hb_num *sums, int count,
                      uint32_t steps)
{
    hb_num means[4];
    for (int i = 0; i < count; i++)
        means[i] = hb_int(trunc(sums[i].v / HB_MAX(1, steps)));
    out_numbers(out, worker, means, count);
}

static void legends(hb_emitter *out, const char *const *texts, size_t count)
{
    hb_emit_open_key(out, "legends", '[');
    for (size_t i = 0; i < count; i++)
        hb_emit_text(out, texts[i]);
    hb_emit_close(out, ']');
    hb_emit_pair(out, "units", "us");
    hb_emit_close(out, '}');
    hb_emit_open_key(out, "data", '{');
}

static void overlap_of(const hb_step *s, hb_num numbers[4])
{
    numbers[0] = hb_num_sub(s->computation, s->overlap);
    numbers[1] = s->overlap;
    numbers[2] = hb_num_sub(s->communication, s->overlap);
    numbers[3] = s->other;
}

static void overlap_all(hb_emitter *out, const hb_distributed *d)
{
    hb_emit_open_key(out, "all", '{');
    for (uint32_t w = 0; w < d->num_workers; w++) {
        const hb_analysis *a = d->workers[w].analysis;
        hb_num sums[4] = {{0}}, numbers[4];
        for (uint32_t i = 0; i < a->steps.count; i++) {
            overlap_of(&a->steps.items[i], numbers);
            for (int k = 0; k < 4; k++)
                sums[k] = hb_num_add(sums[k], numbers[k]);
        }
        out_means(out, d->workers[w].name, sums, 4, a->steps.count);
    }
    hb_emit_close(out, '}');
}

void hb_answer_overlap(hb_emitter *out, const hb_distributed *d)
{
    static const char *const texts[] = {"Computation", "Overlapping", "Communication", "Other"};
    step_table t = {0};
    head(out, "Computation/Communication Overview");
    legends(out, texts, HB_ARRAY_LEN(texts));
    overlap_all(out, d);
    for (uint32_t w = 0; w < d->num_workers; w++) {
        const hb_analysis *a = d->workers[w].analysis;
        for (uint32_t i = 0; i < a->steps.count; i++)
            add_step(&t, step_name(a, (int)i));
    }
    for (uint32_t s = 0; s < t.count; s++) {
        out_step_key(out, t.items[s]);
        hb_emit_open(out, '{');
        for (uint32_t w = 0; w < d->num_workers; w++) {
            const hb_analysis *a = d->workers[w].analysis;
            hb_num numbers[4];
            uint32_t i = a->steps.count; /* of equal names the last one counts */
            while (i > 0 && !same_step(step_name(a, (int)i - 1), t.items[s]))
                i--;
            if (!i) continue;
            overlap_of(&a->steps.items[i - 1], numbers);
            out_numbers(out, d->workers[w].name, numbers, 4);
        }
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, '}');
    hb_emit_close(out, '}');
    free(t.items);
}

static void wait_all(hb_emitter *out, const hb_distributed *d)
{
    hb_emit_open_key(out, "all", '{');
    for (uint32_t w = 0; w < d->num_workers; w++) {
        hb_num sums[2] = {{0}};
        for (uint32_t i = 0; i < d->stats[w].waits.count; i++) {
            const hb_wait_stat *s = &d->stats[w].waits.items[i];
            sums[0] = hb_num_add(sums[0], s->real);
            sums[1] = hb_num_add(sums[1], hb_num_sub(s->total, s->real));
        }
        out_means(out, d->workers[w].name, sums, 2, d->stats[w].waits.count);
    }
    hb_emit_close(out, '}');
}

void hb_answer_wait_time(hb_emitter *out, const hb_distributed *d)
{
    static const char *const texts[] = {"Data Transfer Time", "Synchronizing Time"};
    step_table t = {0};
    head(out, "Synchronizing/Communication Overview");
    legends(out, texts, HB_ARRAY_LEN(texts));
    wait_all(out, d);
    for (uint32_t w = 0; w < d->num_workers; w++)
        for (uint32_t i = 0; i < d->stats[w].waits.count; i++)
            add_step(&t, step_name(d->workers[w].analysis, d->stats[w].waits.items[i].step));
    for (uint32_t s = 0; s < t.count; s++) {
        out_step_key(out, t.items[s]);
        hb_emit_open(out, '{');
        for (uint32_t w = 0; w < d->num_workers; w++) {
            const hb_analysis *a = d->workers[w].analysis;
            for (uint32_t i = 0; i < d->stats[w].waits.count; i++) {
                const hb_wait_stat *wait = &d->stats[w].waits.items[i];
                if (!same_step(step_name(a, wait->step), t.items[s])) continue;
                hb_num numbers[2] = {wait->real, hb_num_sub(wait->total, wait->real)};
                out_numbers(out, d->workers[w].name, numbers, 2);
            }
        }
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, '}');
    hb_emit_close(out, '}');
    free(t.items);
}

/* ---- operations ---- */

static void out_op(hb_emitter *out, const hb_analysis *a, const hb_comm_stat *op)
{
    hb_num numbers[] = {op->bytes, op->total, op->real};
    hb_emit_open(out, '[');
    hb_emit_str(out, hb_trace_text(a->trace, op->name));
    hb_emit_int(out, op->calls);
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers); i++) {
        hb_emit_num(out, numbers[i]);
        hb_emit_int(out, hb_py_round(numbers[i].v / op->calls, 0));
    }
    hb_emit_close(out, ']');
}

void hb_answer_comm_ops(hb_emitter *out, const hb_distributed *d)
{
    static const char *const columns[] = {"Calls",
                                          "Total Size (bytes)",
                                          "Avg Size (bytes)",
                                          "Total Latency (us)",
                                          "Avg Latency (us)",
                                          "Data Transfer Time (us)",
                                          "Avg Data Transfer Time (us)"};
    head(out, "Communication Operations Stats");
    hb_emit_close(out, '}');
    hb_emit_open_key(out, "data", '{');
    for (uint32_t w = 0; w < d->num_workers; w++) {
        hb_emit_open_key(out, d->workers[w].name, '{');
        hb_emit_open_key(out, "columns", '[');
        hb_emit_column(out, "string", "Name", NULL);
        for (size_t i = 0; i < HB_ARRAY_LEN(columns); i++)
            hb_emit_column(out, "number", columns[i], NULL);
        hb_emit_close(out, ']');
        hb_emit_open_key(out, "rows", '[');
        for (uint32_t i = 0; i < d->stats[w].ops.count; i++)
            out_op(out, d->workers[w].analysis, &d->stats[w].ops.items[i]);
        hb_emit_close(out, ']');
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, '}');
    hb_emit_close(out, '}');
}
