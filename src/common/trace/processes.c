/* SPDX-License-Identifier: MIT */
#include "trace/processes.h"

#include <stdlib.h>

#include "base/list.h"

enum { NO_PROCESS = UINT32_MAX };

/* A number in use by a process. */
typedef struct use {
    int64_t id;
    uint32_t process;
} use;

typedef struct uses {
    use *list; /* sorted by id, then process, once all are there */
    uint32_t count, capacity;
    bool shared; /* by two processes */
} uses;

typedef struct call {
    int64_t corr, ext;
    double ts;
    uint32_t process;
} call;

/* A device, and the process that works there. */
typedef struct place {
    uint64_t pid;
    uint32_t *votes; /* by process: pieces of work that it may have launched */
    uint32_t total;
    uint32_t process; /* NO_PROCESS: several, or none */
} place;

typedef struct separator {
    const hb_id_events *events;
    uint64_t *pids; /* of the processes, in the order of their first events */
    uint32_t num_pids, last;
    uses exts, corrs, tids;
    call *calls; /* sorted by correlation */
    uint32_t num_calls, calls_capacity;
    place *places;
    uint32_t num_places;
    int64_t stride; /* of ids between two processes */
    bool no_memory;
} separator;

static void *grow(separator *s, void *list, uint32_t count, uint32_t *capacity, size_t size)
{
    void *grown = hb_list_grow(list, count, capacity, size);
    s->no_memory |= !grown;
    return grown ? grown : list;
}

static hb_ids ids_of(const separator *s, uint32_t event)
{
    hb_ids ids = {HB_ID_ABSENT, HB_ID_ABSENT, HB_ID_ABSENT, 0, 0, HB_ID_OTHER};
    s->events->get(s->events->context, event, &ids);
    return ids;
}

static bool is_host(const hb_ids *ids)
{
    return ids->role == HB_ID_SCOPE || ids->role == HB_ID_CALL;
}

/* ---- the processes ---- */

static uint32_t process_of(separator *s, uint64_t pid)
{
    if (s->last < s->num_pids && s->pids[s->last] == pid) return s->last;
    for (uint32_t i = 0; i < s->num_pids; i++)
        if (s->pids[i] == pid) return s->last = i;
    return NO_PROCESS;
}

static void find_processes(separator *s)
{
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < s->events->count && !s->no_memory; i++) {
        hb_ids ids = ids_of(s, i);
        if (!is_host(&ids) || process_of(s, ids.pid) != NO_PROCESS) continue;
        s->pids = grow(s, s->pids, s->num_pids, &capacity, sizeof *s->pids);
        if (!s->no_memory) s->pids[s->num_pids++] = ids.pid;
    }
}

/* ---- what they use ---- */

static void add_use(separator *s, uses *u, int64_t id, uint32_t process)
{
    if (id == HB_ID_ABSENT || s->no_memory) return;
    u->list = grow(s, u->list, u->count, &u->capacity, sizeof *u->list);
    if (!s->no_memory) u->list[u->count++] = (use){id, process};
}

static int compare_uses(const void *x, const void *y)
{
    const use *a = x, *b = y;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static void sort_uses(uses *u)
{
    if (u->count == 0) return;
    qsort(u->list, u->count, sizeof *u->list, compare_uses);
    for (size_t i = 1; i < u->count; i++)
        u->shared |=
            u->list[i].id == u->list[i - 1].id && u->list[i].process != u->list[i - 1].process;
}

/* Whether a process before this one uses the id, too. */
static bool is_taken(const uses *u, int64_t id, uint32_t process)
{
    size_t at = HB_LOWER_BOUND(u->list, u->count, id, id);
    return at < u->count && u->list[at].id == id && u->list[at].process < process;
}

static int compare_calls(const void *x, const void *y)
{
    const call *a = x, *b = y;
    if (a->corr != b->corr) return a->corr < b->corr ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static void add_call(separator *s, const hb_ids *ids, uint32_t process)
{
    if (ids->corr == HB_ID_ABSENT || s->no_memory) return;
    s->calls = grow(s, s->calls, s->num_calls, &s->calls_capacity, sizeof *s->calls);
    if (!s->no_memory) s->calls[s->num_calls++] = (call){ids->corr, ids->ext, ids->ts, process};
}

/* Damaged ids may be negative. */
static void widen(int64_t *least, int64_t *largest, int64_t id)
{
    if (id == HB_ID_ABSENT) return;
    *least = HB_MIN(*least, id);
    *largest = HB_MAX(*largest, id);
}

static void note_ids(separator *s)
{
    int64_t least = 0, largest = 0;
    for (uint32_t i = 0; i < s->events->count && !s->no_memory; i++) {
        hb_ids ids = ids_of(s, i);
        widen(&least, &largest, ids.ext);
        widen(&least, &largest, ids.corr);
        if (!is_host(&ids)) continue;
        uint32_t process = process_of(s, ids.pid);
        if (ids.ext != 0) add_use(s, &s->exts, ids.ext, process);
        add_use(s, &s->tids, ids.tid, process);
        if (ids.role != HB_ID_CALL) continue;
        add_use(s, &s->corrs, ids.corr, process);
        add_call(s, &ids, process);
    }
    sort_uses(&s->exts);
    sort_uses(&s->corrs);
    sort_uses(&s->tids);
    if (s->num_calls) qsort(s->calls, s->num_calls, sizeof *s->calls, compare_calls);
    /* Above these an id is no number that readers of JSON keep; nobody writes such. */
    uint64_t range = (uint64_t)largest - (uint64_t)least;
    s->stride = range < ((uint64_t)1 << 60) / s->num_pids ? (int64_t)range + 1 : 0;
}

/* ---- whose work it is ---- */

static place *place_of(separator *s, uint64_t pid)
{
    for (uint32_t i = 0; i < s->num_places; i++)
        if (s->places[i].pid == pid) return &s->places[i];
    place *grown = realloc(s->places, (s->num_places + 1) * sizeof *grown);
    if (!grown) return NULL;
    s->places = grown;
    place *p = &grown[s->num_places];
    *p = (place){.pid = pid, .votes = calloc(s->num_pids, sizeof *p->votes), .process = NO_PROCESS};
    s->num_places += p->votes != NULL;
    return p->votes ? p : NULL;
}

static size_t first_call(const separator *s, int64_t corr)
{
    return HB_LOWER_BOUND(s->calls, s->num_calls, corr, corr);
}

/* How well a call fits as the launch of the work: by the operator's id, and begun before. */
static int fitness(const call *c, const hb_ids *work)
{
    return 2 * (c->ext == work->ext) + (c->ts <= work->ts);
}

/* The launch that fits best; of equal ones the last before the work. */
static uint32_t launcher_of(const separator *s, const hb_ids *work)
{
    const call *best = NULL;
    for (size_t i = first_call(s, work->corr); i < s->num_calls; i++) {
        const call *c = &s->calls[i];
        if (c->corr != work->corr) break;
        int more = best ? fitness(c, work) - fitness(best, work) : 1;
        if (more > 0 || (more == 0 && c->ts > best->ts && c->ts <= work->ts)) best = c;
    }
    return best ? best->process : NO_PROCESS;
}

static void vote(separator *s, place *p, const hb_ids *work)
{
    size_t first = first_call(s, work->corr), end = first;
    int best = -1;
    for (; end < s->num_calls && s->calls[end].corr == work->corr; end++)
        best = HB_MAX(best, fitness(&s->calls[end], work));
    for (size_t i = first; i < end; i++)
        p->votes[s->calls[i].process] += fitness(&s->calls[i], work) == best;
    p->total += end > first;
}

/* Processes that count alike fit each other's work; but each has devices of its own, and both come
 * in the order of ranks. One that fits less than most of the work has not all of it. */
static void choose(separator *s, place *p, uint32_t *devices)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < s->num_pids; i++)
        if (p->votes[i] > p->votes[best] ||
            (p->votes[i] == p->votes[best] && devices[i] < devices[best]))
            best = i;
    p->process = p->total && p->votes[best] >= 0.9 * p->total ? best : NO_PROCESS;
    if (p->process != NO_PROCESS) devices[best]++;
}

static int compare_places(const void *x, const void *y)
{
    const place *a = x, *b = y;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static void find_devices(separator *s)
{
    for (uint32_t i = 0; i < s->events->count && !s->no_memory; i++) {
        hb_ids ids = ids_of(s, i);
        if (ids.role != HB_ID_WORK || ids.corr == HB_ID_ABSENT) continue;
        place *p = place_of(s, ids.pid);
        if (p)
            vote(s, p, &ids);
        else
            s->no_memory = true;
    }
    uint32_t *devices = calloc(s->num_pids, sizeof *devices);
    s->no_memory |= !devices;
    if (s->num_places) qsort(s->places, s->num_places, sizeof *s->places, compare_places);
    for (uint32_t i = 0; devices && i < s->num_places; i++)
        choose(s, &s->places[i], devices);
    free(devices);
}

static uint32_t owner_of(separator *s, const hb_ids *ids)
{
    if (ids->role != HB_ID_WORK) return process_of(s, ids->pid);
    place *p = place_of(s, ids->pid);
    if (!p || p->process != NO_PROCESS || ids->corr == HB_ID_ABSENT)
        return p ? p->process : NO_PROCESS;
    return launcher_of(s, ids);
}

/* ---- numbers of their own ---- */

static int64_t stride_of_tids(const separator *s)
{
    int64_t least = 0, largest = 0;
    if (s->tids.count) {
        widen(&least, &largest, s->tids.list[0].id);
        widen(&least, &largest, s->tids.list[s->tids.count - 1].id);
    }
    return (int64_t)((uint64_t)largest - (uint64_t)least + 1);
}

static bool rename_ids(separator *s, hb_ids *ids, uint32_t process)
{
    hb_ids before = *ids;
    int64_t offset = s->exts.shared || s->corrs.shared ? s->stride * process : 0;
    if (ids->ext != HB_ID_ABSENT && ids->ext != 0) ids->ext += offset;
    if (ids->corr != HB_ID_ABSENT) ids->corr += offset;
    if (ids->role != HB_ID_WORK && ids->tid != HB_ID_ABSENT &&
        is_taken(&s->tids, ids->tid, process))
        ids->tid = (int64_t)((uint64_t)ids->tid + (uint64_t)stride_of_tids(s) * process);
    return ids->ext != before.ext || ids->corr != before.corr || ids->tid != before.tid;
}

static uint64_t rename_all(separator *s)
{
    uint64_t changed = 0;
    for (uint32_t i = 0; i < s->events->count && !s->no_memory; i++) {
        hb_ids ids = ids_of(s, i);
        uint32_t process = owner_of(s, &ids);
        if (process == NO_PROCESS || process == 0 || !rename_ids(s, &ids, process)) continue;
        s->events->set(s->events->context, i, &ids);
        changed++;
    }
    return changed;
}

hb_result hb_separate_processes(const hb_id_events *events, uint64_t *changed)
{
    separator s = {.events = events};
    *changed = 0;
    find_processes(&s);
    if (s.num_pids > 1) note_ids(&s);
    if (s.exts.shared || s.corrs.shared || s.tids.shared) {
        find_devices(&s);
        *changed = rename_all(&s);
    }
    for (uint32_t i = 0; i < s.num_places; i++)
        free(s.places[i].votes);
    free(s.places);
    free(s.calls);
    free(s.exts.list);
    free(s.corrs.list);
    free(s.tids.list);
    free(s.pids);
    return s.no_memory ? hb_fail(HB_ERROR_NO_MEMORY, "out of memory for the processes' ids")
                       : HB_OK;
}
