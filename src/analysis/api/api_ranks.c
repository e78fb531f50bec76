/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: the ranks of a distributed run.
 */
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "plugin/workers.h"

struct hb_ranks {
    hb_distributed distributed;
    hb_worker *workers; /* sorted by name, as the plugin does */
    int64_t *ranks;     /* by worker */
    size_t num_workers, num_steps, num_averages, num_operations;
    bool compared;
    hb_rank_step *steps, *averages;
    hb_rank_operation *operations;
};

typedef struct entry {
    hb_worker worker;
    int64_t rank;
} entry;

static int by_name(const void *x, const void *y)
{
    return strcmp(((const entry *)x)->worker.name, ((const entry *)y)->worker.name);
}

static const char *text_of(const hb_analysis *a, hb_sid id)
{
    return hb_trace_text(a->trace, id).s;
}

/* ---- steps ---- */

static hb_rank_step overlap_of(const hb_ranks *r, size_t w, const hb_step *s)
{
    return (hb_rank_step){.worker = r->workers[w].name,
                          .rank = r->ranks[w],
                          .computation_us = s->computation.v - s->overlap.v,
                          .overlap_us = s->overlap.v,
                          .communication_us = s->communication.v - s->overlap.v,
                          .other_us = s->other.v,
                          .transfer_us = -1,
                          .wait_us = -1};
}

static const hb_wait_stat *find_wait(const hb_ranks *r, size_t w, hb_sid step)
{
    const hb_analysis *a = r->workers[w].analysis;
    for (uint32_t i = 0; r->compared && i < r->distributed.stats[w].waits.count; i++) {
        const hb_wait_stat *wait = &r->distributed.stats[w].waits.items[i];
        if (wait->step >= 0 && a->steps.items[wait->step].name == step) return wait;
    }
    return NULL;
}

static void set_wait(hb_rank_step *to, const hb_wait_stat *wait)
{
    to->transfer_us = wait->real.v;
    to->wait_us = wait->total.v - wait->real.v;
}

static void list_steps(hb_ranks *r, size_t w)
{
    const hb_analysis *a = r->workers[w].analysis;
    for (uint32_t i = 0; i < a->steps.count; i++) {
        const hb_step *s = &a->steps.items[i];
        hb_rank_step *to = &r->steps[r->num_steps++];
        *to = overlap_of(r, w, s);
        to->step = text_of(a, s->name);
        const hb_wait_stat *wait = find_wait(r, w, s->name);
        if (wait) set_wait(to, wait);
    }
    for (uint32_t i = 0; r->compared && i < r->distributed.stats[w].waits.count; i++) {
        if (r->distributed.stats[w].waits.items[i].step >= 0) continue;
        hb_rank_step *to = &r->steps[r->num_steps++];
        *to = (hb_rank_step){.worker = r->workers[w].name, .rank = r->ranks[w], .step = ""};
        set_wait(to, &r->distributed.stats[w].waits.items[i]);
    }
}

/* The plugin divides waits by the steps that have collectives, "outside" among them. */
static void average_waits(const hb_ranks *r, size_t w, hb_rank_step *mean)
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

static void average(hb_ranks *r, size_t w)
{
    const hb_analysis *a = r->workers[w].analysis;
    hb_rank_step *mean = &r->averages[r->num_averages++];
    *mean = (hb_rank_step){
        .worker = r->workers[w].name, .rank = r->ranks[w], .transfer_us = -1, .wait_us = -1};
    for (uint32_t i = 0; i < a->steps.count; i++) {
        hb_rank_step s = overlap_of(r, w, &a->steps.items[i]);
        mean->computation_us += s.computation_us;
        mean->overlap_us += s.overlap_us;
        mean->communication_us += s.communication_us;
        mean->other_us += s.other_us;
    }
    mean->computation_us /= HB_MAX(1, a->steps.count);
    mean->overlap_us /= HB_MAX(1, a->steps.count);
    mean->communication_us /= HB_MAX(1, a->steps.count);
    mean->other_us /= HB_MAX(1, a->steps.count);
    if (r->compared) average_waits(r, w, mean);
}

static void list_operations(hb_ranks *r, size_t w)
{
    const hb_worker_stats *stats = &r->distributed.stats[w];
    for (uint32_t i = 0; i < stats->ops.count; i++) {
        const hb_comm_stat *op = &stats->ops.items[i];
        r->operations[r->num_operations++] =
            (hb_rank_operation){.worker = r->workers[w].name,
                                .rank = r->ranks[w],
                                .name = text_of(r->workers[w].analysis, op->name),
                                .calls = op->calls,
                                .bytes = op->bytes.v,
                                .total_us = op->total.v,
                                .transfer_us = op->real.v};
    }
}

static hb_result make_lists(hb_ranks *r)
{
    size_t steps = 0, operations = 0;
    for (size_t w = 0; w < r->num_workers; w++) {
        steps += r->workers[w].analysis->steps.count;
        if (r->compared) steps += r->distributed.stats[w].waits.count;
        if (r->compared) operations += r->distributed.stats[w].ops.count;
    }
    r->steps = calloc(steps + 1, sizeof *r->steps);
    r->averages = calloc(r->num_workers + 1, sizeof *r->averages);
    r->operations = calloc(operations + 1, sizeof *r->operations);
    if (!r->steps || !r->averages || !r->operations) return hb_no_memory();
    for (size_t w = 0; w < r->num_workers; w++) {
        list_steps(r, w);
        average(r, w);
        if (r->compared) list_operations(r, w);
    }
    return HB_OK;
}

/* ---- creating ---- */

static hb_result take_workers(hb_ranks *r, hb_trace_file *const *files, const char *const *workers)
{
    entry *list = calloc(r->num_workers + 1, sizeof *list);
    r->workers = calloc(r->num_workers + 1, sizeof *r->workers);
    r->ranks = calloc(r->num_workers + 1, sizeof *r->ranks);
    hb_result result = list && r->workers && r->ranks ? HB_OK : hb_no_memory();
    for (size_t i = 0; result == HB_OK && i < r->num_workers; i++) {
        list[i] = (entry){{workers[i], hb_trace_file_analysis(files[i])}, -1};
        if (!list[i].worker.analysis) result = HB_ERROR_FORMAT;
        hb_trace_file_rank(files[i], &list[i].rank);
    }
    if (result == HB_OK) qsort(list, r->num_workers, sizeof *list, by_name);
    for (size_t i = 0; result == HB_OK && i < r->num_workers; i++) {
        r->workers[i] = list[i].worker;
        r->ranks[i] = list[i].rank;
    }
    free(list);
    return result;
}

static hb_result make(hb_ranks *r, hb_trace_file *const *files, const char *const *workers)
{
    HB_TRY(take_workers(r, files, workers));
    locale_t before = hb_enter_c_locale();
    hb_result result =
        hb_distributed_run(&r->distributed, r->workers, (uint32_t)r->num_workers, &r->compared);
    hb_leave_c_locale(before);
    return result == HB_OK ? make_lists(r) : result;
}

hb_result hb_ranks_create(hb_trace_file *const *files, const char *const *workers, size_t count,
                          hb_ranks **ranks)
{
    if (!files || !workers || !count || !ranks)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no files or no place for the result");
    *ranks = NULL;
    hb_ranks *r = calloc(1, sizeof *r);
    if (!r) return hb_no_memory();
    r->num_workers = count;
    hb_result result = make(r, files, workers);
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
    free(r->workers);
    free(r->ranks);
    free(r->steps);
    free(r->averages);
    free(r->operations);
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
