/* SPDX-License-Identifier: MIT */
#include "replay/correlation.h"

#include <stdlib.h>

typedef struct correlation {
    uint64_t key; /* what it is found by */
    hb_record_ref call;
} correlation;

void hb_correlations_init(hb_correlations *j, hb_record_reader *reader)
{
    *j = (hb_correlations){.reader = reader};
    hb_buf_init(&j->by_work, SIZE_MAX / 2);
    hb_buf_init(&j->completed, SIZE_MAX / 2);
    hb_buf_init(&j->replays, SIZE_MAX / 2);
    hb_buf_init(&j->captured, SIZE_MAX / 2);
}

void hb_correlations_free(hb_correlations *j)
{
    hb_buf_free(&j->by_work);
    hb_buf_free(&j->completed);
    hb_buf_free(&j->replays);
    hb_buf_free(&j->captured);
}

void hb_correlations_begin_thread(hb_correlations *j)
{
    j->num_recent = 0;
}

static void add(hb_buf *list, uint64_t key, hb_record_ref call)
{
    correlation entry = {key, call};
    hb_buf_append(list, &entry, sizeof entry);
}

void hb_correlations_add_call(hb_correlations *j, const hb_record_call *call, hb_record_ref ref)
{
    if (call->work) add(&j->by_work, call->work, ref);
    if (call->head.flags & HB_RECORD_REPLAYS) add(&j->replays, call->head.start, ref);
    if ((call->head.flags & HB_RECORD_CAPTURED) && hb_call_names_kernel(call))
        add(&j->captured, ((const hb_record_launch *)call)->kernel, ref);
    uint32_t at = j->num_recent++ % HB_CORRELATIONS_RECENT;
    j->recent[at].correlation = call->correlation;
    j->recent[at].call = ref;
}

/* NULL when it can't be read. */
static const hb_record_call *read_call(const hb_correlations *j, hb_record_ref ref)
{
    const hb_record *r = hb_record_read(j->reader, ref);
    bool is_call = r && r->type >= HB_RECORD_CALL && r->type <= HB_RECORD_ALLOCATION;
    return is_call ? (const hb_record_call *)r : NULL;
}

void hb_correlations_add_link(hb_correlations *j, const hb_record_link *link)
{
    uint32_t n = HB_MIN(j->num_recent, HB_CORRELATIONS_RECENT);
    for (uint32_t i = 0; i < n; i++) {
        if (j->recent[i].correlation != link->correlation) continue;
        add(&j->by_work, link->work, j->recent[i].call);
        return;
    }
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_key(const void *a, const void *b)
{
    const correlation *x = a, *y = b;
    return COMPARE(x->key, y->key);
}

static size_t count(const hb_buf *buf, size_t size)
{
    return buf->size / size;
}

static bool is_sorted(const correlation *all, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (all[i - 1].key > all[i].key) return false;
    return true;
}

hb_result hb_correlations_finish(hb_correlations *j)
{
    correlation *all = (correlation *)j->by_work.data;
    size_t n = count(&j->by_work, sizeof *all);
    size_t captured = count(&j->captured, sizeof(correlation));
    size_t replays = count(&j->replays, sizeof(correlation));
    for (size_t i = 0; i < n; i++)
        hb_buf_append(&j->completed, "", 1);
    if (j->by_work.failed || j->completed.failed || j->replays.failed || j->captured.failed)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory to join %zu HIP calls with their work", n);
    /* One thread's calls are in order as they stand. */
    if (n && !is_sorted(all, n)) qsort(all, n, sizeof *all, by_key);
    if (replays) qsort(j->replays.data, replays, sizeof(correlation), by_key);
    j->last_captured = captured ? captured - 1 : 0;
    return HB_OK;
}

/* NULL when there is none. */
static const correlation *find(const hb_correlations *j, uint64_t work)
{
    const correlation *all = (const correlation *)j->by_work.data;
    size_t low = 0, high = count(&j->by_work, sizeof *all);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].key == work) return &all[middle];
        if (all[middle].key < work)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const hb_record_call *hb_correlations_find(const hb_correlations *j, uint64_t work)
{
    const correlation *found = find(j, work);
    return found ? read_call(j, found->call) : NULL;
}

void hb_correlations_completed(hb_correlations *j, uint64_t work)
{
    const correlation *found = find(j, work);
    if (found) j->completed.data[found - (const correlation *)j->by_work.data] = 1;
}

static bool completed(const hb_correlations *j, uint64_t work)
{
    const correlation *found = find(j, work);
    return found && j->completed.data[found - (const correlation *)j->by_work.data];
}

bool hb_correlations_have_work(const hb_correlations *j, const hb_record_call *call)
{
    bool replays = call->head.flags & HB_RECORD_REPLAYS;
    bool later = call->head.flags & HB_RECORD_CAPTURED;
    bool unsure = call->head.flags & HB_RECORD_UNSURE;
    return replays || (call->work && !later && (!unsure || completed(j, call->work)));
}

const hb_record_call *hb_correlations_replay_of(const hb_correlations *j,
                                                const hb_record_call *captured,
                                                const hb_clock_fit *fit, int64_t unix_ns)
{
    const correlation *all = (const correlation *)j->replays.data;
    size_t low = 0, n = count(&j->replays, sizeof *all), high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hb_clock_unix(fit, all[middle].key) <= unix_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && all[low - 1].key > captured->head.start) return read_call(j, all[low - 1].call);
    /* The clocks disagree a little: it is the next one. */
    return low < n && all[low].key > captured->head.start ? read_call(j, all[low].call) : NULL;
}

const hb_record_launch *hb_correlations_captured(hb_correlations *j, uint32_t kernel)
{
    const correlation *all = (const correlation *)j->captured.data;
    size_t n = count(&j->captured, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        size_t at = (j->last_captured + 1 + i) % n;
        if (all[at].key != kernel) continue;
        j->last_captured = at;
        const hb_record_call *call = read_call(j, all[at].call);
        return call && hb_call_names_kernel(call) ? (const hb_record_launch *)call : NULL;
    }
    return NULL;
}
