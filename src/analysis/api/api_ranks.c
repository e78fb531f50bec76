/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: the ranks of a distributed run.
 */
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "plugin/workers.h"

/* A trace, of which no more is kept than what is shown and compared. */
typedef struct entry {
    const char *name;
    int64_t rank;
    const hb_worker_comms *comms;
    hb_rank_step *steps;
    hb_string_id *step_names;
    uint32_t num_steps;
} entry;

struct hb_ranks {
    hb_arena arena;
    hb_texts texts; /* names of steps and collectives */
    HB_VEC(entry) entries;
    hb_distributed distributed;
    hb_worker *workers; /* sorted by name, as the plugin does */
    size_t num_steps, num_averages, num_operations;
    bool compared;
    hb_rank_step *steps, *averages;
    hb_rank_operation *operations;
};

static bool by_name(const void *context, const void *x, const void *y)
{
    (void)context;
    return strcmp(((const entry *)x)->name, ((const entry *)y)->name) < 0;
}

/* ---- adding ---- */

static hb_rank_step overlap_of(const entry *e, const hb_step *s)
{
    return (hb_rank_step){.worker = e->name,
                          .rank = e->rank,
                          .computation_us = s->computation.v - s->overlap.v,
                          .overlap_us = s->overlap.v,
                          .communication_us = s->communication.v - s->overlap.v,
                          .other_us = s->other.v,
                          .transfer_us = -1,
                          .wait_us = -1};
}

static hb_string_id keep_name(hb_ranks *r, const hb_analysis *a, hb_string_id name)
{
    hb_str text = hb_trace_text(a->trace, name);
    hb_string_id id = hb_texts_add(&r->texts, text.s ? text.s : "", text.len);
    if (!id) hb_arena_leave(&r->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

static void add_entry(hb_ranks *r, const hb_analysis *a, const char *worker, int64_t rank)
{
    size_t size = strlen(worker) + 1;
    char *name = HB_NEW_ARRAY(&r->arena, char, size);
    memcpy(name, worker, size);
    entry e = {.name = name, .rank = rank, .num_steps = a->steps.count};
    e.comms = hb_worker_comms_of(&r->arena, a, &r->texts);
    e.steps = HB_NEW_ARRAY(&r->arena, hb_rank_step, a->steps.count + 1);
    e.step_names = HB_NEW_ARRAY(&r->arena, hb_string_id, a->steps.count + 1);
    for (uint32_t i = 0; i < a->steps.count; i++) {
        e.steps[i] = overlap_of(&e, &a->steps.items[i]);
        e.step_names[i] = keep_name(r, a, a->steps.items[i].name);
    }
    *HB_PUSH(&r->arena, &r->entries) = e;
}

hb_result hb_ranks_begin(hb_ranks **ranks)
{
    if (!ranks) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no place for the result");
    hb_ranks *r = *ranks = calloc(1, sizeof *r);
    if (r && hb_texts_init(&r->texts)) return HB_OK;
    hb_ranks_destroy(r);
    *ranks = NULL;
    return hb_no_memory();
}

hb_result hb_ranks_add(hb_ranks *r, hb_trace_file *file, const char *worker)
{
    int64_t rank = -1;
    if (!r || !file || !worker || r->workers)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL, or all is compared");
    const hb_analysis *a = hb_trace_file_analysis(file);
    if (!a) return HB_ERROR_FORMAT;
    hb_trace_file_rank(file, &rank);
    uint32_t before = r->entries.count;
    if (hb_arena_try(&r->arena))
        add_entry(r, a, worker, rank);
    else
        r->entries.count = before;
    return hb_arena_outcome(&r->arena);
}

/* ---- steps ---- */

static const hb_wait_stat *find_wait(const hb_ranks *r, uint32_t w, hb_string_id step)
{
    const entry *e = &r->entries.items[w];
    for (uint32_t i = 0; r->compared && i < r->distributed.stats[w].waits.count; i++) {
        const hb_wait_stat *wait = &r->distributed.stats[w].waits.items[i];
        if (wait->step >= 0 && e->step_names[wait->step] == step) return wait;
    }
    return NULL;
}

static void set_wait(hb_rank_step *to, const hb_wait_stat *wait)
{
    to->transfer_us = wait->real.v;
    to->wait_us = wait->total.v - wait->real.v;
}

static void list_steps(hb_ranks *r, uint32_t w)
{
    const entry *e = &r->entries.items[w];
    for (uint32_t i = 0; i < e->num_steps; i++) {
        hb_rank_step *to = &r->steps[r->num_steps++];
        *to = e->steps[i];
        to->step = hb_texts_get(&r->texts, e->step_names[i]).s;
        const hb_wait_stat *wait = find_wait(r, w, e->step_names[i]);
        if (wait) set_wait(to, wait);
    }
    for (uint32_t i = 0; r->compared && i < r->distributed.stats[w].waits.count; i++) {
        if (r->distributed.stats[w].waits.items[i].step >= 0) continue;
        hb_rank_step *to = &r->steps[r->num_steps++];
        *to = (hb_rank_step){.worker = e->name, .rank = e->rank, .step = ""};
        set_wait(to, &r->distributed.stats[w].waits.items[i]);
    }
}

/* The plugin divides waits by the steps that have collectives, "outside" among them. */
static void average_waits(const hb_ranks *r, uint32_t w, hb_rank_step *mean)
{
    const hb_worker_stats *stats = &r->distributed.stats[w];
    mean->transfer_us = mean->wait_us = 0;
    for (uint32_t i = 0; i < stats->waits.count; i++) {
        mean->transfer_us += stats->waits.items[i].real.v;
        mean->wait_us += stats->waits.items[i].total.v - stats->waits.items[i].real.v;
    }
    mean->transfer_us /= HB_MAX(1, stats->waits.count);
    mean->wait_us /= HB_MAX(1, stats->waits.count);
}

static void average(hb_ranks *r, uint32_t w)
{
    const entry *e = &r->entries.items[w];
    hb_rank_step *mean = &r->averages[r->num_averages++];
    *mean = (hb_rank_step){.worker = e->name, .rank = e->rank, .transfer_us = -1, .wait_us = -1};
    for (uint32_t i = 0; i < e->num_steps; i++) {
        mean->computation_us += e->steps[i].computation_us;
        mean->overlap_us += e->steps[i].overlap_us;
        mean->communication_us += e->steps[i].communication_us;
        mean->other_us += e->steps[i].other_us;
    }
    mean->computation_us /= HB_MAX(1, e->num_steps);
    mean->overlap_us /= HB_MAX(1, e->num_steps);
    mean->communication_us /= HB_MAX(1, e->num_steps);
    mean->other_us /= HB_MAX(1, e->num_steps);
    if (r->compared) average_waits(r, w, mean);
}

static void list_operations(hb_ranks *r, uint32_t w)
{
    const hb_worker_stats *stats = &r->distributed.stats[w];
    for (uint32_t i = 0; i < stats->ops.count; i++) {
        const hb_comm_stat *op = &stats->ops.items[i];
        r->operations[r->num_operations++] =
            (hb_rank_operation){.worker = r->entries.items[w].name,
                                .rank = r->entries.items[w].rank,
                                .name = hb_texts_get(&r->texts, op->name).s,
                                .calls = op->calls,
                                .bytes = op->bytes.v,
                                .total_us = op->total.v,
                                .transfer_us = op->real.v};
    }
}

static void make_lists(hb_ranks *r)
{
    size_t steps = 0, operations = 0;
    for (uint32_t w = 0; w < r->entries.count; w++) {
        steps += r->entries.items[w].num_steps;
        if (r->compared) steps += r->distributed.stats[w].waits.count;
        if (r->compared) operations += r->distributed.stats[w].ops.count;
    }
    r->steps = HB_NEW_ARRAY(&r->arena, hb_rank_step, steps + 1);
    r->averages = HB_NEW_ARRAY(&r->arena, hb_rank_step, r->entries.count + 1);
    r->operations = HB_NEW_ARRAY(&r->arena, hb_rank_operation, operations + 1);
    for (uint32_t w = 0; w < r->entries.count; w++) {
        list_steps(r, w);
        average(r, w);
        if (r->compared) list_operations(r, w);
    }
}

/* ---- comparing ---- */

static void sort_workers(hb_ranks *r)
{
    uint32_t n = r->entries.count;
    hb_sort(&r->arena, r->entries.items, n, sizeof *r->entries.items, by_name, NULL);
    r->workers = HB_NEW_ARRAY(&r->arena, hb_worker, n + 1);
    for (uint32_t i = 0; i < n; i++)
        r->workers[i] =
            (hb_worker){.name = r->entries.items[i].name, .comms = r->entries.items[i].comms};
}

hb_result hb_ranks_compare(hb_ranks *r)
{
    if (!r || !r->entries.count || r->workers)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no traces were added, or all is compared");
    if (hb_arena_try(&r->arena)) sort_workers(r);
    HB_TRY(hb_arena_outcome(&r->arena));
    locale_t before = hb_enter_c_locale();
    hb_result result =
        hb_distributed_run(&r->distributed, r->workers, r->entries.count, &r->compared);
    hb_leave_c_locale(before);
    if (result == HB_OK && hb_arena_try(&r->arena)) make_lists(r);
    return result == HB_OK ? hb_arena_outcome(&r->arena) : result;
}

hb_result hb_ranks_create(hb_trace_file *const *files, const char *const *workers, size_t count,
                          hb_ranks **ranks)
{
    hb_ranks *r;
    if (!files || !workers || !count || !ranks)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no files or no place for the result");
    *ranks = NULL;
    HB_TRY(hb_ranks_begin(&r));
    hb_result result = HB_OK;
    for (size_t i = 0; i < count && result == HB_OK; i++)
        result = hb_ranks_add(r, files[i], workers[i]);
    if (result == HB_OK) result = hb_ranks_compare(r);
    if (result == HB_OK)
        *ranks = r;
    else
        hb_ranks_destroy(r);
    return result;
}

void hb_ranks_destroy(hb_ranks *r)
{
    if (!r) return;
    hb_distributed_free(&r->distributed);
    hb_texts_free(&r->texts);
    hb_arena_free(&r->arena);
    free(r);
}

/* ---- results ---- */

const char *hb_ranks_mismatch(const hb_ranks *r)
{
    return r && !r->compared ? r->distributed.mismatch : NULL;
}

static hb_result check(const hb_ranks *r, const void *list, const size_t *count)
{
    return r && list && count ? HB_OK : hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
}

hb_result hb_ranks_steps(hb_ranks *r, const hb_rank_step **steps, size_t *count)
{
    HB_TRY(check(r, steps, count));
    *steps = r->steps;
    *count = r->num_steps;
    return HB_OK;
}

hb_result hb_ranks_averages(hb_ranks *r, const hb_rank_step **steps, size_t *count)
{
    HB_TRY(check(r, steps, count));
    *steps = r->averages;
    *count = r->num_averages;
    return HB_OK;
}

hb_result hb_ranks_operations(hb_ranks *r, const hb_rank_operation **operations, size_t *count)
{
    HB_TRY(check(r, operations, count));
    *operations = r->operations;
    *count = r->num_operations;
    return HB_OK;
}
