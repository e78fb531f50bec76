/* SPDX-License-Identifier: MIT */
#include "trace/processes.h"

#include "base/hash_map.h"

enum { NO_PROCESS = UINT32_MAX };

/* A number in use by a process. */
typedef struct use {
    int64_t id;
    uint32_t process;
} use;

typedef struct uses {
    HB_VEC(use) list; /* sorted by id, then process, once all are there */
    bool shared;      /* by two processes */
} uses;

/* How a process's own are made of those that it has. */
typedef struct numbers {
    int64_t stride;    /* between two processes */
    int64_t first_far; /* beyond those of all processes: for those that are far */
    uint32_t count;    /* of these */
    hb_dict *far;      /* by process: which became which */
} numbers;

typedef struct call {
    int64_t corr, ext;
    double ts;
    uint32_t process;
} call;

/* A device, and the process that works there. */
typedef struct place {
    uint64_t pid;
    hb_dict votes; /* by process: pieces of work that it may have launched */
    uint32_t total;
    uint32_t process; /* NO_PROCESS: several, or none */
} place;

typedef struct separator {
    const hb_id_events *events;
    hb_arena arena;
    hb_dict pids; /* of the processes, in the order of their first events: their numbers */
    uint64_t last_pid;
    uint32_t last;           /* its process; NO_PROCESS: none was asked for so far */
    HB_VEC(bool) has_scopes; /* by process */
    bool any_scopes;
    uses exts, corrs, tids;
    HB_VEC(call) calls;   /* sorted by correlation */
    HB_VEC(place) places; /* in the order of their pids once all are there */
    hb_dict by_pid;       /* index of `places` */
    int64_t far;          /* ids from there on: see is_near() */
    numbers ids, threads;
} separator;

static hb_ids ids_of(const separator *s, uint32_t event)
{
    hb_ids ids = {HB_ID_ABSENT, HB_ID_ABSENT, HB_ID_ABSENT, 0, 0, HB_ID_OTHER};
    s->events->get(s->events->context, event, &ids);
    return ids;
}

/* Far from 0 there is no room beside an id for those of all processes. Such ids are damaged ones,
 * or hashes: they get numbers one by one. */
static bool is_near(const separator *s, int64_t id)
{
    return id > -s->far && id < s->far;
}

static bool is_host(const hb_ids *ids)
{
    return ids->role == HB_ID_SCOPE || ids->role == HB_ID_CALL;
}

/* ---- the processes ---- */

static uint32_t process_of(separator *s, uint64_t pid)
{
    if (s->last != NO_PROCESS && s->last_pid == pid) return s->last;
    const hb_dict_entry *entry = hb_dict_get(&s->pids, pid);
    if (!entry) return NO_PROCESS;
    s->last_pid = pid;
    return s->last = entry->value;
}

static uint32_t add_process(separator *s, uint64_t pid)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(&s->arena, &s->pids, pid, &added);
    *HB_PUSH(&s->arena, &s->has_scopes) = false;
    return entry->value = s->pids.entries.count - 1;
}

static void find_processes(separator *s)
{
    for (uint32_t i = 0; i < s->events->count; i++) {
        hb_ids ids = ids_of(s, i);
        if (!is_host(&ids)) continue;
        uint32_t process = process_of(s, ids.pid);
        if (process == NO_PROCESS) process = add_process(s, ids.pid);
        if (ids.role == HB_ID_SCOPE) s->has_scopes.items[process] = s->any_scopes = true;
    }
}

/* Where there are operators, what has calls only has no operators' ids of its own: those that it
 * tells are of another's, as where a tool writes calls below a pid that is nobody's. */
static bool has_own_exts(const separator *s, uint32_t process)
{
    return s->has_scopes.items[process] || !s->any_scopes;
}

/* ---- what they use ---- */

static void add_use(separator *s, uses *u, int64_t id, uint32_t process)
{
    if (id != HB_ID_ABSENT) *HB_PUSH(&s->arena, &u->list) = (use){id, process};
}

static bool use_before(const void *context, const void *x, const void *y)
{
    (void)context;
    const use *a = x, *b = y;
    return a->id != b->id ? a->id < b->id : a->process < b->process;
}

static void sort_uses(separator *s, uses *u)
{
    const use *list = u->list.items;
    hb_sort(&s->arena, u->list.items, u->list.count, sizeof *list, use_before, NULL);
    for (uint32_t i = 1; i < u->list.count; i++)
        u->shared |= list[i].id == list[i - 1].id && list[i].process != list[i - 1].process;
}

/* The first process that uses the id; NO_PROCESS: none does. */
static uint32_t first_user(const uses *u, int64_t id)
{
    const use *list = u->list.items;
    size_t at = HB_LOWER_BOUND(list, u->list.count, id, id);
    return at < u->list.count && list[at].id == id ? list[at].process : NO_PROCESS;
}

static bool call_before(const void *context, const void *x, const void *y)
{
    (void)context;
    const call *a = x, *b = y;
    return a->corr != b->corr ? a->corr < b->corr : a->process < b->process;
}

static void add_call(separator *s, const hb_ids *ids, uint32_t process)
{
    if (ids->corr != HB_ID_ABSENT)
        *HB_PUSH(&s->arena, &s->calls) = (call){ids->corr, ids->ext, ids->ts, process};
}

/* Damaged ids may be negative. */
static void widen(int64_t *least, int64_t *largest, int64_t id)
{
    *least = HB_MIN(*least, id);
    *largest = HB_MAX(*largest, id);
}

static numbers numbers_beyond(separator *s, int64_t least, int64_t largest)
{
    uint32_t processes = s->pids.entries.count;
    int64_t stride = largest - least + 1;
    return (numbers){.stride = stride,
                     .first_far = largest + stride * processes,
                     .far = HB_NEW_ARRAY(&s->arena, hb_dict, processes)};
}

static void note_ids(separator *s)
{
    int64_t least = 0, largest = 0, least_tid = 0, largest_tid = 0;
    for (uint32_t i = 0; i < s->events->count; i++) {
        hb_ids ids = ids_of(s, i);
        if (is_near(s, ids.ext)) widen(&least, &largest, ids.ext);
        if (is_near(s, ids.corr)) widen(&least, &largest, ids.corr);
        if (!is_host(&ids)) continue;
        uint32_t process = process_of(s, ids.pid);
        if (is_near(s, ids.tid)) widen(&least_tid, &largest_tid, ids.tid);
        if (ids.ext != 0 && has_own_exts(s, process)) add_use(s, &s->exts, ids.ext, process);
        add_use(s, &s->tids, ids.tid, process);
        if (ids.role != HB_ID_CALL) continue;
        add_use(s, &s->corrs, ids.corr, process);
        add_call(s, &ids, process);
    }
    sort_uses(s, &s->exts);
    sort_uses(s, &s->corrs);
    sort_uses(s, &s->tids);
    hb_sort(&s->arena, s->calls.items, s->calls.count, sizeof *s->calls.items, call_before, NULL);
    s->ids = numbers_beyond(s, least, largest);
    s->threads = numbers_beyond(s, least_tid, largest_tid);
}

/* ---- whose work it is ---- */

static place *place_of(separator *s, uint64_t pid)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(&s->arena, &s->by_pid, pid, &added);
    if (!added) return &s->places.items[entry->value];
    entry->value = s->places.count;
    place *p = HB_PUSH(&s->arena, &s->places);
    *p = (place){.pid = pid, .process = NO_PROCESS};
    return p;
}

/* Calls of one correlation. A process gives each one once, so that what many have tells nothing:
 * there are none then. */
typedef struct call_range {
    size_t first, end;
} call_range;

static size_t end_of(const separator *s, int64_t corr)
{
    const call *calls = s->calls.items;
    return corr < INT64_MAX ? HB_LOWER_BOUND(calls, s->calls.count, corr, corr + 1)
                            : s->calls.count;
}

static call_range calls_of(const separator *s, int64_t corr)
{
    const call *calls = s->calls.items;
    size_t first = HB_LOWER_BOUND(calls, s->calls.count, corr, corr), end = end_of(s, corr);
    size_t most = 16 + 4 * (size_t)s->pids.entries.count;
    return (call_range){first, end - first > most ? first : end};
}

/* How well a call fits as the launch of the work: by the operator's id, and begun before. */
static int fitness(const call *c, const hb_ids *work)
{
    return 2 * (c->ext == work->ext) + (c->ts <= work->ts);
}

/* The process of all of them. */
static uint32_t only_process_of(const separator *s, int64_t corr)
{
    const call *list = s->calls.items;
    size_t first = HB_LOWER_BOUND(list, s->calls.count, corr, corr), end = end_of(s, corr);
    return first < end && list[first].process == list[end - 1].process ? list[first].process
                                                                       : NO_PROCESS;
}

/* The launch that fits best; of equal ones the last before the work. */
static uint32_t launcher_of(const separator *s, const hb_ids *work)
{
    const call *best = NULL;
    call_range calls = calls_of(s, work->corr);
    if (calls.first == calls.end) return only_process_of(s, work->corr);
    for (size_t i = calls.first; i < calls.end; i++) {
        const call *c = &s->calls.items[i];
        int more = best ? fitness(c, work) - fitness(best, work) : 1;
        if (more > 0 || (more == 0 && c->ts > best->ts && c->ts <= work->ts)) best = c;
    }
    return best ? best->process : NO_PROCESS;
}

/* An id that work tells and no scope of its process has is of nobody there, though it be of one in
 * another process. */
static void note_work(separator *s)
{
    for (uint32_t i = 0; i < s->events->count && !s->exts.shared; i++) {
        hb_ids ids = ids_of(s, i);
        if (ids.role != HB_ID_WORK || ids.corr == HB_ID_ABSENT) continue;
        if (ids.ext == HB_ID_ABSENT || ids.ext == 0) continue;
        uint32_t process = launcher_of(s, &ids), owner = first_user(&s->exts, ids.ext);
        s->exts.shared = process != NO_PROCESS && has_own_exts(s, process) && owner != NO_PROCESS &&
                         owner != process;
    }
}

static void vote(separator *s, place *p, const hb_ids *work)
{
    call_range calls = calls_of(s, work->corr);
    int best = -1;
    for (size_t i = calls.first; i < calls.end; i++)
        best = HB_MAX(best, fitness(&s->calls.items[i], work));
    for (size_t i = calls.first; i < calls.end; i++) {
        bool added;
        if (fitness(&s->calls.items[i], work) == best)
            hb_dict_add(&s->arena, &p->votes, s->calls.items[i].process, &added)->value++;
    }
    p->total += calls.end > calls.first;
}

/* Processes that count alike fit each other's work; but each has devices of its own, and both come
 * in the order of ranks. One that fits less than most of the work has not all of it. */
static void choose(place *p, uint32_t *devices)
{
    uint32_t best = NO_PROCESS, most = 0;
    for (uint32_t i = 0; i < p->votes.entries.count; i++) {
        uint32_t process = (uint32_t)p->votes.entries.items[i].key;
        uint32_t votes = p->votes.entries.items[i].value;
        bool fewer = best != NO_PROCESS && (devices[process] < devices[best] ||
                                            (devices[process] == devices[best] && process < best));
        if (votes < most || (votes == most && !fewer)) continue;
        best = process;
        most = votes;
    }
    p->process = p->total && most >= 0.9 * p->total ? best : NO_PROCESS;
    if (p->process != NO_PROCESS) devices[best]++;
}

static bool place_before(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const place *)x)->pid < ((const place *)y)->pid;
}

static void find_devices(separator *s)
{
    for (uint32_t i = 0; i < s->events->count; i++) {
        hb_ids ids = ids_of(s, i);
        if (ids.role == HB_ID_WORK && ids.corr != HB_ID_ABSENT) vote(s, place_of(s, ids.pid), &ids);
    }
    uint32_t *devices = HB_NEW_ARRAY(&s->arena, uint32_t, s->pids.entries.count);
    hb_sort(&s->arena, s->places.items, s->places.count, sizeof *s->places.items, place_before,
            NULL);
    for (uint32_t i = 0; i < s->places.count; i++) {
        hb_dict_set(&s->arena, &s->by_pid, s->places.items[i].pid, i);
        choose(&s->places.items[i], devices);
    }
}

static uint32_t owner_of(separator *s, const hb_ids *ids)
{
    if (ids->role != HB_ID_WORK) return process_of(s, ids->pid);
    const hb_dict_entry *entry = hb_dict_get(&s->by_pid, ids->pid);
    uint32_t process = entry ? s->places.items[entry->value].process : NO_PROCESS;
    if (process != NO_PROCESS || ids->corr == HB_ID_ABSENT) return process;
    return launcher_of(s, ids);
}

/* ---- numbers of their own ---- */

/* Those that are far get one of the first process, too: it may be another's by now. */
static void rename_id(separator *s, numbers *n, uint32_t process, int64_t *id)
{
    if (*id == HB_ID_ABSENT) return;
    if (is_near(s, *id)) {
        *id += n->stride * process;
        return;
    }
    bool added;
    hb_dict_entry *own = hb_dict_add(&s->arena, &n->far[process], (uint64_t)*id, &added);
    if (added) own->value = n->count++;
    *id = n->first_far + own->value;
}

static bool rename_ids(separator *s, hb_ids *ids, uint32_t process)
{
    hb_ids before = *ids;
    if (s->exts.shared || s->corrs.shared) {
        if (ids->ext != 0 && (s->exts.shared || has_own_exts(s, process)))
            rename_id(s, &s->ids, process, &ids->ext);
        rename_id(s, &s->ids, process, &ids->corr);
    }
    /* NO_PROCESS is beyond them all */
    bool renamed = !is_near(s, ids->tid) || first_user(&s->tids, ids->tid) < process;
    if (s->tids.shared && ids->role != HB_ID_WORK && renamed)
        rename_id(s, &s->threads, process, &ids->tid);
    return ids->ext != before.ext || ids->corr != before.corr || ids->tid != before.tid;
}

static uint64_t rename_all(separator *s)
{
    uint64_t changed = 0;
    for (uint32_t i = 0; i < s->events->count; i++) {
        hb_ids ids = ids_of(s, i);
        uint32_t process = owner_of(s, &ids);
        if (process == NO_PROCESS || !rename_ids(s, &ids, process)) continue;
        s->events->set(s->events->context, i, &ids);
        changed++;
    }
    return changed;
}

static void separate(separator *s, uint64_t *changed)
{
    find_processes(s);
    if (s->pids.entries.count < 2) return;
    s->far = (INT64_C(1) << 59) / s->pids.entries.count;
    note_ids(s);
    note_work(s);
    if (!s->exts.shared && !s->corrs.shared && !s->tids.shared) return;
    find_devices(s);
    *changed = rename_all(s);
}

hb_result hb_separate_processes(const hb_id_events *events, uint64_t *changed)
{
    separator s = {.events = events, .last = NO_PROCESS};
    *changed = 0;
    if (hb_arena_try(&s.arena)) separate(&s, changed);
    hb_result result = hb_arena_outcome(&s.arena);
    hb_arena_free(&s.arena);
    return result;
}
