/* SPDX-License-Identifier: MIT
 *
 * The allocator's records and the operators at work when they were made.
 */
#include "analyze/memory.h"
#include "analyze/analysis.h"

static uint32_t device_of(hb_analysis *a, hb_dict *names, const hb_memory_row *m)
{
    bool added;
    if (m->device_type > 1) return 0;
    uint64_t key = m->device_type == 0 ? UINT64_MAX : m->device;
    hb_dict_entry *e = hb_dict_add(&a->arena, names, key, &added);
    if (!added) return e->value;
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_buf_str(&buf, m->device_type == 0 ? "CPU" : "GPU");
    if (m->device_type == 1) hb_buf_key(&buf, a->trace, a->trace->keys[m->device]);
    hb_sid name = hb_intern(a, buf.data, buf.size);
    hb_buf_free(&buf);
    uint32_t i = 0; /* 0 and "0" are two devices of one name */
    while (i < a->device_names.count && a->device_names.items[i] != name)
        i++;
    if (i == a->device_names.count) *HB_PUSH(&a->arena, &a->device_names) = name;
    return e->value = i + 1;
}

static void take_records(hb_analysis *a)
{
    hb_dict names = {0};
    for (uint32_t i = 0; i < a->num_events; i++) {
        if (a->events[i].type != HB_TYPE_MEMORY) continue;
        const hb_row *row = hb_trace_row(a->trace, a->events[i].row);
        const hb_memory_row *m = hb_trace_memory(a->trace, row);
        hb_memory_record r = {.ts = row->ts,
                              .bytes = row->dur,
                              .allocated = m->allocated,
                              .reserved = m->reserved,
                              .addr = row->ext,
                              .tid = row->tid,
                              .row = a->events[i].row,
                              .device = device_of(a, &names, m)};
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
    if (r->bytes_bad) hb_lose(a, "event %u: Bytes is not a number", r->row);
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
        if (w->depth == HB_ARRAY_LEN(w->stack)) hb_lose(a, "calls are nested too deeply");
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

/* The plugin logs a record that is behind or outside all trees by its number; a text fails there.
 */
static void check_logged(hb_analysis *a, const hb_memory_record *r, hb_key tid)
{
    bool number =
        hb_key_tag(tid) == HB_KEY_TAG_INT ||
        (hb_key_tag(tid) == HB_KEY_TAG_TEXT && *hb_trace_text(a->trace, hb_key_sid(tid)).s != '"');
    if (!number)
        hb_lose(a, "event %u: a memory event outside all calls has no numeric tid", r->row);
}

static void attribute_thread(hb_analysis *a, uint32_t tid_index, const hb_u32s *records,
                             uint32_t *last)
{
    hb_key tid = a->trace->keys[tid_index];
    hb_tree_thread *thread = thread_of(a, tid);
    walk *w = HB_NEW_ARRAY(&a->arena, walk, 1);
    w->a = a;
    if (hb_key_tag(tid) == HB_KEY_TAG_CONTAINER) hb_lose(a, "a memory event's tid is a container");
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
            hb_lose(a, "event %u: Addr is a container", r->row);
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

typedef struct stat_walk {
    hb_analysis *a;
    hb_arena *arena;
    const hb_memory_window *window;
    uint32_t num_devices;
    double *metrics; /* [node][device][metric], of the nodes that have some */
    uint32_t *slot;  /* node -> index into metrics + 1 */
    uint32_t num_slots, capacity;
    hb_u32s ops;
} stat_walk;

static double *metrics_of(stat_walk *s, uint32_t node)
{
    size_t size = (size_t)s->num_devices * HB_MEMORY_METRICS;
    if (!s->slot[node]) {
        s->metrics =
            hb_arena_grow(s->arena, s->metrics, s->num_slots, &s->capacity, size * sizeof(double));
        s->slot[node] = ++s->num_slots;
    }
    return s->metrics + (s->slot[node] - 1) * size;
}

static void add_own(stat_walk *s, uint32_t node)
{
    for (uint32_t i = s->a->node_records[node]; i; i = s->a->memory.items[i - 1].next) {
        const hb_memory_record *r = &s->a->memory.items[i - 1];
        if (!hb_in_window(s->window, r->ts) || !r->device) continue;
        double *m = metrics_of(s, node) + (size_t)(r->device - 1) * HB_MEMORY_METRICS;
        double own[HB_MEMORY_SELF_METRICS] = {r->bytes, r->bytes > 0 ? r->bytes : 0, r->bytes > 0};
        for (int k = 0; k < HB_MEMORY_SELF_METRICS; k++) {
            m[k] += own[k];
            m[HB_MEMORY_SELF_METRICS + k] += own[k];
        }
    }
}

static void add_totals(stat_walk *s, uint32_t node, uint32_t child)
{
    if (!s->slot[child]) return;
    metrics_of(s, node);
    double *to = metrics_of(s, node), *from = metrics_of(s, child);
    for (uint32_t d = 0; d < s->num_devices;
         d++, to += HB_MEMORY_METRICS, from += HB_MEMORY_METRICS)
        for (int k = HB_MEMORY_SELF_METRICS; k < HB_MEMORY_METRICS; k++)
            to[k] += from[k];
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

static void sum_by_name(stat_walk *s, uint32_t device, hb_memory_stats *out)
{
    hb_dict names = {0};
    bool added;
    for (uint32_t node = 1; node < s->a->num_nodes; node++) {
        if (!s->slot[node] || !hb_is_operator(s->a, &s->a->nodes[node])) continue;
        const double *m = metrics_of(s, node) + (size_t)device * HB_MEMORY_METRICS;
        hb_dict_entry *e = hb_dict_add(s->arena, &names, s->a->nodes[node].name, &added);
        if (added) {
            e->value = out->count;
            *HB_PUSH(s->arena, out) = (hb_memory_stat){.name = s->a->nodes[node].name};
        }
        for (int k = 0; k < HB_MEMORY_METRICS; k++)
            out->items[e->value].metrics[k] += m[k];
    }
    for (uint32_t i = 0; i < s->ops.count; i++) {
        hb_dict_entry *e = hb_dict_get(&names, s->a->nodes[s->ops.items[i]].name);
        if (e) out->items[e->value].calls++;
    }
}

void hb_memory_statistics(hb_analysis *a, hb_arena *arena, const hb_memory_window *window,
                          hb_memory_stats *stats)
{
    stat_walk s = {.a = a, .arena = arena, .window = window, .num_devices = a->device_names.count};
    s.slot = HB_NEW_ARRAY(arena, uint32_t, a->num_nodes);
    for (uint32_t i = 0; i < a->threads.count; i++) {
        if (a->threads.items[i].gone) continue;
        for (uint32_t c = a->nodes[a->threads.items[i].root].first_child; c; c = a->nodes[c].next)
            walk_stats(&s, c);
    }
    for (uint32_t d = 0; d < s.num_devices; d++) {
        hb_memory_stats all = {0};
        sum_by_name(&s, d, &all);
        for (uint32_t i = 0; i < all.count; i++)
            if (any_metric(all.items[i].metrics)) *HB_PUSH(arena, &stats[d]) = all.items[i];
        hb_sort(arena, stats[d].items, stats[d].count, sizeof *stats[d].items, stat_before, a);
    }
}
