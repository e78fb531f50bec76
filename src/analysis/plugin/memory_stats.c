/* SPDX-License-Identifier: MIT
 *
 * The allocator's records and the operators at work when they were made.
 */
#include "plugin/memory_stats.h"

#include <math.h>
#include <stdlib.h>

#include "plugin/analysis.h"

typedef struct device_index {
    hb_dict ids;   /* UINT64_MAX: the CPU, else index of hb_trace.keys -> number of the device */
    hb_dict names; /* the device's name -> its number: 0 and "0" are two devices of one name */
} device_index;

static uint32_t device_of(hb_analysis *a, device_index *index, const hb_memory_row *m)
{
    bool added;
    if (m->device_type > 1) return 0;
    uint64_t key = m->device_type == 0 ? UINT64_MAX : m->device;
    hb_dict_entry *e = hb_dict_add(&a->arena, &index->ids, key, &added);
    if (!added) return e->value;
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_buf_str(&buf, m->device_type == 0 ? "CPU" : "GPU");
    if (m->device_type == 1) hb_buf_key(&buf, a->trace, hb_trace_key_at(a->trace, m->device));
    hb_string_id name = hb_intern(a, buf.data, buf.size);
    hb_buf_free(&buf);
    hb_dict_entry *named = hb_dict_add(&a->arena, &index->names, name, &added);
    if (added) {
        *HB_PUSH(&a->arena, &a->device_names) = name;
        named->value = a->device_names.count;
    }
    return e->value = named->value;
}

static void take_records(hb_analysis *a)
{
    device_index index = {0};
    for (uint32_t i = 0; i < a->num_events; i++) {
        if (a->events[i].type != HB_TYPE_MEMORY) continue;
        const hb_row *row = hb_trace_row(a->trace, a->events[i].row);
        const hb_memory_row *m = hb_trace_memory(a->trace, row);
        hb_memory_record r = {.ts = hb_plugin_ts(a->trace, row),
                              .bytes = m->bytes,
                              .allocated = m->allocated,
                              .reserved = m->reserved,
                              .addr = m->addr,
                              .tid = hb_row_tid(a->trace, row),
                              .row = a->events[i].row,
                              .device = device_of(a, &index, m)};
        r.bytes_bad = m->bytes_state == HB_NUMBER_BAD;
        r.bytes_float = m->bytes_state == HB_NUMBER_FLOAT;
        r.allocated_bad = m->allocated_state == HB_NUMBER_BAD;
        r.reserved_bad = m->reserved_state == HB_NUMBER_BAD;
        if (m->allocated_state == HB_NUMBER_NONE) r.allocated = __builtin_nan("");
        if (m->reserved_state == HB_NUMBER_NONE) r.reserved = __builtin_nan("");
        *HB_PUSH(&a->arena, &a->memory) = r;
    }
}

/* ---- attribution ---- */

/* A walk through one thread's tree that only goes forward, as records and children are in order of
 * time. What has been passed is not looked at again, even where calls overlap. */
typedef struct walk {
    hb_analysis *a;
    struct place {
        uint32_t node, child;
    } stack[1024];
    uint32_t depth, node, child; /* child: the next one to look at, 0: none left */
} walk;

static bool is_allocation(hb_analysis *a, const hb_memory_record *r)
{
    if (r->bytes_bad) hb_reject_trace(a, "event %u: Bytes is not a number", r->row);
    return r->bytes > 0;
}

static void attribute(walk *w, hb_memory_record *r, uint32_t index, uint32_t *last)
{
    hb_analysis *a = w->a;
    uint32_t node = hb_node_id(a, w->node);
    if (!hb_is_operator(a, &a->nodes[node])) return;
    r->node = node;
    if (last[node])
        a->memory.items[last[node] - 1].next = index + 1;
    else
        a->node_records[node] = index + 1;
    last[node] = index + 1;
    if (!is_allocation(a, r)) return;
    r->op_name = a->nodes[node].name;
    if (w->depth) r->parent_name = a->nodes[w->stack[w->depth - 1].node].name;
}

static void descend(walk *w, double ts)
{
    hb_analysis *a = w->a;
    while (w->child) {
        const hb_node *c = &a->nodes[w->child];
        if (ts < c->start) return;
        if (ts >= c->end) {
            w->child = c->next;
            continue;
        }
        a->nodes[hb_node_id(a, w->child)].visited = true;
        if (w->depth == HB_ARRAY_LEN(w->stack)) hb_reject_trace(a, "calls are nested too deeply");
        w->stack[w->depth++] = (struct place){w->node, w->child};
        w->node = w->child;
        w->child = c->first_child;
    }
}

/* False: the record lies before the tree, or the walk is over. */
static bool place(walk *w, double ts)
{
    hb_analysis *a = w->a;
    while (w->node && !a->nodes[w->node].no_time && ts >= a->nodes[w->node].end) {
        struct place up = w->depth ? w->stack[--w->depth] : (struct place){0, 0};
        w->node = up.node;
        w->child = up.child ? a->nodes[up.child].next : 0;
    }
    if (!w->node || a->nodes[w->node].no_time || ts < a->nodes[w->node].start) return false;
    descend(w, ts);
    return true;
}

static hb_tree_thread *thread_of(hb_analysis *a, hb_key tid)
{
    for (uint32_t i = 0; hb_key_tag(tid) == HB_KEY_TAG_INT && i < a->threads.count; i++)
        if (a->threads.items[i].tid == hb_key_value(tid) && !a->threads.items[i].gone)
            return &a->threads.items[i];
    return NULL;
}

static bool is_finite_number(hb_analysis *a, hb_key key)
{
    if (hb_key_tag(key) == HB_KEY_TAG_INT) return true;
    if (hb_key_tag(key) != HB_KEY_TAG_TEXT) return false;
    const char *text = hb_trace_text(a->trace, hb_key_string(key)).s;
    return *text != '"' && isfinite(strtod(text, NULL));
}

/* The plugin logs a record that is behind or outside all trees by its number; a text fails there.
 */
static void check_logged(hb_analysis *a, const hb_memory_record *r, hb_key tid)
{
    if (!is_finite_number(a, tid))
        hb_reject_trace(a, "event %u: a memory event outside all calls has no numeric tid", r->row);
}

static void attribute_thread(hb_analysis *a, uint32_t tid_index, const hb_u32s *records,
                             uint32_t *last)
{
    hb_key tid = hb_trace_key_at(a->trace, tid_index);
    hb_tree_thread *thread = thread_of(a, tid);
    walk *w = HB_NEW_ARRAY(&a->arena, walk, 1);
    w->a = a;
    if (hb_key_tag(tid) == HB_KEY_TAG_CONTAINER)
        hb_reject_trace(a, "a memory event's tid is a container");
    if (thread) {
        w->node = thread->root;
        w->child = a->nodes[thread->root].first_child;
        a->nodes[thread->root].visited = true;
    }
    for (uint32_t i = 0; i < records->count; i++) {
        hb_memory_record *r = &a->memory.items[records->items[i]];
        if (place(w, r->ts))
            attribute(w, r, records->items[i], last);
        else if (!w->node || a->nodes[w->node].no_time)
            check_logged(a, r, tid);
    }
}

/* A release inherits the names of the allocation at its address. */
static void pair_releases(hb_analysis *a)
{
    hb_dict open = {0};
    for (uint32_t i = 0; i < a->memory.count; i++) {
        hb_memory_record *r = &a->memory.items[i];
        if (r->addr == HB_KEY_NONE) continue;
        if (hb_key_tag(r->addr) == HB_KEY_TAG_CONTAINER)
            hb_reject_trace(a, "event %u: Addr is a container", r->row);
        if (is_allocation(a, r)) {
            hb_dict_set(&a->arena, &open, r->addr, i);
            continue;
        }
        hb_dict_entry *e = hb_dict_get(&open, r->addr);
        if (!e) continue;
        r->op_name = a->memory.items[e->value].op_name;
        r->parent_name = a->memory.items[e->value].parent_name;
        e->alive = false;
    }
}

void hb_analyze_memory(hb_analysis *a)
{
    hb_dict tids = {0};
    HB_VEC(hb_u32s) lists = {0};
    bool added;
    take_records(a);
    if (!a->memory.count) return;
    for (uint32_t i = 0; i < a->memory.count; i++) {
        hb_dict_entry *e = hb_dict_add(&a->arena, &tids, a->memory.items[i].tid, &added);
        if (added) {
            e->value = lists.count;
            *HB_PUSH(&a->arena, &lists) = (hb_u32s){0};
        }
        *HB_PUSH(&a->arena, &lists.items[e->value]) = i;
    }
    a->node_records = HB_NEW_ARRAY(&a->arena, uint32_t, a->num_nodes);
    uint32_t *last = HB_NEW_ARRAY(&a->arena, uint32_t, a->num_nodes);
    for (uint32_t i = 0; i < lists.count; i++)
        attribute_thread(a, (uint32_t)tids.entries.items[i].key, &lists.items[i], last);
    pair_releases(a);
}

/* ---- statistics ---- */

/* What a node's records say of one device. Most nodes have none, the others few of all devices. */
typedef struct share {
    uint32_t device, next; /* the node's next one, index + 1 */
    double metrics[HB_MEMORY_METRICS];
} share;

typedef struct stat_walk {
    hb_analysis *a;
    hb_arena *arena;
    const hb_memory_window *window;
    HB_VEC(share) shares;
    hb_dict places;  /* node and device -> index of shares */
    uint32_t *first; /* node -> index of shares + 1; the others behind it as they were made */
    hb_u32s nodes;   /* that have shares, in the order of their first ones */
    hb_u32s ops;
} stat_walk;

/* The last one made; a node has one a device. */
static void append_share(stat_walk *s, uint32_t node)
{
    uint32_t made = s->shares.count, last = s->first[node];
    if (!last) {
        s->first[node] = made;
        *HB_PUSH(s->arena, &s->nodes) = node;
        return;
    }
    while (s->shares.items[last - 1].next)
        last = s->shares.items[last - 1].next;
    s->shares.items[last - 1].next = made;
}

static double *metrics_of(stat_walk *s, uint32_t node, uint32_t device)
{
    bool added;
    uint64_t key = (uint64_t)node << 32 | device;
    hb_dict_entry *e = hb_dict_add(s->arena, &s->places, key, &added);
    if (added) {
        e->value = s->shares.count;
        *HB_PUSH(s->arena, &s->shares) = (share){.device = device};
        append_share(s, node);
    }
    return s->shares.items[e->value].metrics;
}

static void add_own(stat_walk *s, uint32_t node)
{
    for (uint32_t i = s->a->node_records[node]; i; i = s->a->memory.items[i - 1].next) {
        const hb_memory_record *r = &s->a->memory.items[i - 1];
        if (!hb_in_window(s->window, r->ts) || !r->device) continue;
        double *m = metrics_of(s, node, r->device - 1);
        double own[HB_MEMORY_SELF_METRICS] = {r->bytes, r->bytes > 0 ? r->bytes : 0, r->bytes > 0};
        for (int k = 0; k < HB_MEMORY_SELF_METRICS; k++) {
            m[k] += own[k];
            m[HB_MEMORY_SELF_METRICS + k] += own[k];
        }
    }
}

static void add_totals(stat_walk *s, uint32_t node, uint32_t child)
{
    for (uint32_t i = s->first[child]; i; i = s->shares.items[i - 1].next) {
        double *to = metrics_of(s, node, s->shares.items[i - 1].device);
        const double *from = s->shares.items[i - 1].metrics; /* which moves when one is added */
        for (int k = HB_MEMORY_SELF_METRICS; k < HB_MEMORY_METRICS; k++)
            to[k] += from[k];
    }
}

/* Only nodes on the way of a record were visited; below others the plugin does not look. */
static void walk_stats(stat_walk *s, uint32_t index)
{
    hb_analysis *a = s->a;
    uint32_t node = hb_node_id(a, index);
    const hb_node *n = &a->nodes[node];
    if (s->window->has_start && n->end < s->window->start) return;
    if (s->window->has_end && n->start > s->window->end) return;
    bool op = hb_is_operator(a, n);
    if (op) *HB_PUSH(s->arena, &s->ops) = node;
    if (!n->visited) return;
    if (op) add_own(s, node);
    for (uint32_t c = n->first_child; c; c = a->nodes[c].next) {
        walk_stats(s, c);
        add_totals(s, node, hb_node_id(a, c));
    }
}

static bool any_metric(const double *m)
{
    for (int k = 0; k < HB_MEMORY_METRICS; k++)
        if (m[k] != 0) return true;
    return false;
}

static bool stat_before(const void *context, const void *x, const void *y)
{
    const hb_analysis *a = context;
    const hb_memory_stat *m = x, *n = y;
    hb_str s = hb_trace_text(a->trace, m->name), u = hb_trace_text(a->trace, n->name);
    int order = memcmp(s.s, u.s, HB_MIN(s.len, u.len));
    return order ? order < 0 : s.len < u.len;
}

static void sum_by_name(stat_walk *s, hb_memory_stats *sums, hb_u32s *order)
{
    hb_dict names = {0}; /* device and name -> index of its sums */
    bool added;
    for (uint32_t k = 0; k < s->nodes.count; k++) {
        uint32_t node = s->nodes.items[k];
        if (!hb_is_operator(s->a, &s->a->nodes[node])) continue;
        hb_string_id name = s->a->nodes[node].name;
        for (uint32_t i = s->first[node]; i; i = s->shares.items[i - 1].next) {
            const share *from = &s->shares.items[i - 1];
            hb_memory_stats *to = &sums[from->device];
            if (!to->count) *HB_PUSH(s->arena, order) = from->device;
            uint64_t key = (uint64_t)from->device << 32 | name;
            hb_dict_entry *e = hb_dict_add(s->arena, &names, key, &added);
            if (added) {
                e->value = to->count;
                *HB_PUSH(s->arena, to) = (hb_memory_stat){.name = name};
            }
            for (int m = 0; m < HB_MEMORY_METRICS; m++)
                to->items[e->value].metrics[m] += from->metrics[m];
        }
    }
}

/* Calls of a name are all there were, with and without memory. */
static void count_calls(const stat_walk *s, hb_dict *calls)
{
    bool added;
    for (uint32_t i = 0; i < s->ops.count; i++)
        hb_dict_add(s->arena, calls, s->a->nodes[s->ops.items[i]].name, &added)->value++;
}

static void take_stats(const stat_walk *s, const hb_dict *calls, const hb_memory_stats *sums,
                       hb_memory_stats *stats)
{
    for (uint32_t i = 0; i < sums->count; i++) {
        hb_memory_stat *m = &sums->items[i];
        const hb_dict_entry *e = hb_dict_get(calls, m->name);
        if (!any_metric(m->metrics)) continue;
        m->calls = e ? e->value : 0;
        *HB_PUSH(s->arena, stats) = *m;
    }
    hb_sort(s->arena, stats->items, stats->count, sizeof *stats->items, stat_before, s->a);
}

void hb_memory_statistics(hb_analysis *a, hb_arena *arena, const hb_memory_window *window,
                          hb_memory_stats *stats, hb_u32s *order)
{
    stat_walk s = {.a = a, .arena = arena, .window = window};
    hb_dict calls = {0};
    hb_memory_stats *sums = HB_NEW_ARRAY(arena, hb_memory_stats, a->device_names.count);
    s.first = HB_NEW_ARRAY(arena, uint32_t, a->num_nodes);
    for (uint32_t i = 0; i < a->threads.count; i++) {
        if (a->threads.items[i].gone) continue;
        for (uint32_t c = a->nodes[a->threads.items[i].root].first_child; c; c = a->nodes[c].next)
            walk_stats(&s, c);
    }
    sum_by_name(&s, sums, order);
    count_calls(&s, &calls);
    for (uint32_t d = 0; d < a->device_names.count; d++)
        take_stats(&s, &calls, &sums[d], &stats[d]);
}
