/* SPDX-License-Identifier: MIT */
#include "device/joins.h"

#include <stdlib.h>

typedef struct join {
    uint64_t work;
    const hb_record_call *call;
} join;

void hb_joins_init(hb_joins *j)
{
    *j = (hb_joins){0};
    hb_buf_init(&j->by_work, SIZE_MAX / 2);
    hb_buf_init(&j->came, SIZE_MAX / 2);
    hb_buf_init(&j->replays, SIZE_MAX / 2);
    hb_buf_init(&j->captured, SIZE_MAX / 2);
}

void hb_joins_free(hb_joins *j)
{
    hb_buf_free(&j->by_work);
    hb_buf_free(&j->came);
    hb_buf_free(&j->replays);
    hb_buf_free(&j->captured);
}

void hb_joins_begin_thread(hb_joins *j)
{
    j->num_recent = 0;
}

static void add(hb_joins *j, uint64_t work, const hb_record_call *call)
{
    join entry = {work, call};
    hb_buf_append(&j->by_work, &entry, sizeof entry);
}

void hb_joins_add_call(hb_joins *j, const hb_record_call *call)
{
    if (call->work) add(j, call->work, call);
    if (call->head.flags & HB_RECORD_REPLAYS) hb_buf_append(&j->replays, &call, sizeof call);
    if ((call->head.flags & HB_RECORD_CAPTURED) && hb_call_names_kernel(call))
        hb_buf_append(&j->captured, &call, sizeof call);
    j->recent[j->num_recent++ % HB_JOINS_RECENT] = call;
}

void hb_joins_add_link(hb_joins *j, const hb_record_link *link)
{
    uint32_t n = HB_MIN(j->num_recent, HB_JOINS_RECENT);
    for (uint32_t i = 0; i < n; i++) {
        if (j->recent[i]->correlation != link->correlation) continue;
        add(j, link->work, j->recent[i]);
        return;
    }
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_work(const void *a, const void *b)
{
    const join *x = a, *y = b;
    return COMPARE(x->work, y->work);
}

static int by_start(const void *a, const void *b)
{
    const hb_record_call *const *x = a, *const *y = b;
    return COMPARE((*x)->head.start, (*y)->head.start);
}

static size_t count(const hb_buf *buf, size_t size)
{
    return buf->size / size;
}

static bool is_sorted(const join *all, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (all[i - 1].work > all[i].work) return false;
    return true;
}

hb_result hb_joins_finish(hb_joins *j)
{
    join *all = (join *)j->by_work.data;
    size_t n = count(&j->by_work, sizeof *all);
    size_t captured = count(&j->captured, sizeof(hb_record_call *));
    size_t replays = count(&j->replays, sizeof(hb_record_call *));
    for (size_t i = 0; i < n; i++)
        hb_buf_append(&j->came, "", 1);
    if (j->by_work.failed || j->came.failed || j->replays.failed || j->captured.failed)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory to join %zu HIP calls with their work", n);
    /* One thread's calls are in order as they stand. */
    if (n && !is_sorted(all, n)) qsort(all, n, sizeof *all, by_work);
    if (replays) qsort(j->replays.data, replays, sizeof(hb_record_call *), by_start);
    j->last_captured = captured ? captured - 1 : 0;
    return HB_OK;
}

/* NULL when there is none. */
static const join *find(const hb_joins *j, uint64_t work)
{
    const join *all = (const join *)j->by_work.data;
    size_t low = 0, high = count(&j->by_work, sizeof *all);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].work == work) return &all[middle];
        if (all[middle].work < work)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const hb_record_call *hb_joins_find(const hb_joins *j, uint64_t work)
{
    const join *found = find(j, work);
    return found ? found->call : NULL;
}

void hb_joins_came(hb_joins *j, uint64_t work)
{
    const join *found = find(j, work);
    if (found) j->came.data[found - (const join *)j->by_work.data] = 1;
}

static bool came(const hb_joins *j, uint64_t work)
{
    const join *found = find(j, work);
    return found && j->came.data[found - (const join *)j->by_work.data];
}

bool hb_joins_has_work(const hb_joins *j, const hb_record_call *call)
{
    bool replays = call->head.flags & HB_RECORD_REPLAYS;
    bool later = call->head.flags & HB_RECORD_CAPTURED;
    bool unsure = call->head.flags & HB_RECORD_UNSURE;
    return replays || (call->work && !later && (!unsure || came(j, call->work)));
}

const hb_record_call *hb_joins_replay_of(const hb_joins *j, const hb_record_call *captured,
                                         const hb_clock_fit *fit, int64_t unix_ns)
{
    const hb_record_call *const *all = (const hb_record_call *const *)j->replays.data;
    size_t low = 0, n = count(&j->replays, sizeof *all), high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hb_clock_unix(fit, all[middle]->head.start) <= unix_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && all[low - 1]->head.start > captured->head.start) return all[low - 1];
    /* The clocks disagree a little: it is the next one. */
    return low < n && all[low]->head.start > captured->head.start ? all[low] : NULL;
}

const hb_record_launch *hb_joins_captured(hb_joins *j, uint32_t kernel)
{
    const hb_record_launch *const *all = (const hb_record_launch *const *)j->captured.data;
    size_t n = count(&j->captured, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        size_t at = (j->last_captured + 1 + i) % n;
        if (all[at]->kernel != kernel) continue;
        j->last_captured = at;
        return all[at];
    }
    return NULL;
}
