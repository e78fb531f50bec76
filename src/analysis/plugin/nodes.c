/* SPDX-License-Identifier: MIT
 *
 * Operators, runtime calls and device work, linked by correlation and external id. Calls and device
 * work come first: steps need no more.
 */
#include <ctype.h>
#include <stdlib.h>

#include "plugin/analysis.h"

/* The threads of one of the trace's tracks: index + 1. */
typedef struct track_threads {
    uint32_t thread, pl_thread;
} track_threads;

struct hb_links {
    hb_analysis *a;
    hb_dict tids, pl_tids;     /* integer tid -> thread */
    hb_dict calls_by_corr;     /* correlation -> runtime */
    hb_dict devices_by_corr;   /* correlation -> list of device nodes without a call so far */
    hb_dict calls_by_external; /* external id -> list of runtimes */
    HB_VEC(hb_u32s) lists;
    hb_dict zero_calls; /* raw tid -> list */
    hb_dict pids;
    track_threads *tracks; /* by hb_row.track */
};

typedef struct hb_links linker;

static hb_u32s *list_of(linker *l, hb_dict *dict, uint64_t key)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&l->a->arena, dict, key, &added);
    if (added) {
        *HB_PUSH(&l->a->arena, &l->lists) = (hb_u32s){0};
        e->value = l->lists.count - 1;
    }
    return &l->lists.items[e->value];
}

static void check_key(hb_analysis *a, uint32_t row, hb_key key, const char *what)
{
    if (hb_key_tag(key) == HB_KEY_TAG_CONTAINER)
        hb_reject_trace(a, "event %u: %s is a container", row, what);
}

static double plugin_end(const hb_analysis *a, const hb_row *row)
{
    return hb_plugin_ts(a->trace, row) + hb_plugin_dur(a->trace, row);
}

/* ---- device work ---- */

static bool device_before(const void *context, const void *x, const void *y)
{
    const hb_analysis *a = context;
    const hb_device_node *m = &a->devices.items[*(const uint32_t *)x];
    const hb_device_node *n = &a->devices.items[*(const uint32_t *)y];
    return m->start != n->start ? m->start < n->start : m->end > n->end;
}

static void append_device(hb_analysis *a, hb_runtime *rt, uint32_t device)
{
    a->devices.items[device].next = 0;
    if (rt->first_device)
        a->devices.items[rt->last_device - 1].next = device + 1;
    else
        rt->first_device = device + 1;
    rt->last_device = device + 1;
    rt->has_device = true;
}

static void append_sorted(hb_analysis *a, hb_runtime *rt, hb_u32s *devices)
{
    hb_sort(&a->arena, devices->items, devices->count, sizeof *devices->items, device_before, a);
    for (uint32_t i = 0; i < devices->count; i++)
        append_device(a, rt, devices->items[i]);
}

static bool has_float_time(const hb_row *row)
{
    return (row->flags & (HB_ROW_TS_INT | HB_ROW_DUR_INT)) != (HB_ROW_TS_INT | HB_ROW_DUR_INT);
}

static void add_device(linker *l, const hb_ev *ev, const hb_row *row)
{
    hb_analysis *a = l->a;
    hb_key corr = hb_row_correlation_key(a->trace, row);
    hb_key pid = hb_row_pid_key(a->trace, row);
    check_key(a, ev->row, pid, "pid");
    check_key(a, ev->row, corr, "correlation");
    if (ev->type == HB_TYPE_KERNEL) check_key(a, ev->row, hb_row_key(a->trace, row), "External id");
    hb_dict_set(&a->arena, &l->pids, pid, 1);
    hb_device_node *d = HB_PUSH(&a->arena, &a->devices);
    *d = (hb_device_node){.start = hb_plugin_ts(a->trace, row),
                          .end = plugin_end(a, row),
                          .row = ev->row,
                          .type = ev->type,
                          .is_float = has_float_time(row),
                          .tc_used = (hb_name_class(a, row->name) & HB_NAME_TC_KERNEL) != 0};
    uint32_t index = a->devices.count - 1;
    const hb_dict_entry *call = hb_dict_get(&l->calls_by_corr, corr);
    if (call)
        append_device(a, &a->runtimes.items[call->value], index);
    else
        *HB_PUSH(&a->arena, list_of(l, &l->devices_by_corr, corr)) = index;
}

static void add_runtime(linker *l, const hb_ev *ev, const hb_row *row)
{
    hb_analysis *a = l->a;
    hb_key corr = hb_row_correlation_key(a->trace, row);
    check_key(a, ev->row, corr, "correlation");
    check_key(a, ev->row, hb_row_key(a->trace, row), "External id");
    hb_runtime *rt = HB_PUSH(&a->arena, &a->runtimes);
    *rt = (hb_runtime){.start = hb_plugin_ts(a->trace, row),
                       .end = plugin_end(a, row),
                       .row = ev->row,
                       .is_float = has_float_time(row)};
    uint32_t index = a->runtimes.count - 1;
    hb_dict_entry *waiting = hb_dict_get(&l->devices_by_corr, corr);
    if (waiting) {
        waiting->alive = false;
        append_sorted(a, rt, &l->lists.items[waiting->value]);
    }
    hb_dict_set(&a->arena, &l->calls_by_corr, corr, index);
    *HB_PUSH(&a->arena, list_of(l, &l->calls_by_external, hb_row_key(a->trace, row))) = index;
    if (row->id == HB_ID_ZERO) {
        check_key(a, ev->row, hb_row_tid_key(a->trace, row), "tid");
        *HB_PUSH(&a->arena, list_of(l, &l->zero_calls, hb_row_tid_key(a->trace, row))) = index;
    }
}

/* ---- host work ---- */

/* Python's int() of a text: blanks around, a sign, digits with single underscores between. */
static bool python_int(hb_str s, char digits[32], int64_t *value)
{
    const char *p = s.s, *end = s.s + s.len;
    uint32_t n = 0;
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || *p == '_' || end[-1] == '_') return false;
    uint64_t v = 0;
    for (; p < end; p++) {
        if (*p == '_' && p[-1] != '_') continue;
        if (!isdigit((unsigned char)*p)) return false;
        v = v * 10 + (uint64_t)(*p - '0');
        if ((n || *p != '0') && n < 30) digits[n++ + negative] = *p;
    }
    if (negative && n) digits[0] = '-';
    if (!n) digits[n++] = '0';
    digits[n + (negative && n && digits[0] == '-')] = 0;
    *value = (int64_t)(negative ? 0 - v : v);
    return true;
}

/* Python's int() of a number that is no 61-bit integer. Beyond 64 bits any number of its own will
 * do: it only has to be another thread's. */
static int64_t int_of_number(hb_analysis *a, uint32_t row, hb_key key, const char *text)
{
    double value = strtod(text, NULL);
    if (value - value != 0) hb_reject_trace(a, "event %u: tid is not finite", row);
    if (value > -9e18 && value < 9e18) return (int64_t)value;
    return INT64_MAX - (int64_t)hb_key_string(key);
}

static int64_t int_tid(hb_analysis *a, uint32_t row, hb_key key)
{
    char digits[32];
    int64_t value;
    if (hb_key_tag(key) == HB_KEY_TAG_INT) return hb_key_value(key);
    if (hb_key_tag(key) == HB_KEY_TAG_TEXT) {
        hb_str s = hb_trace_text(a->trace, hb_key_string(key));
        if (*s.s != '"') return int_of_number(a, row, key, s.s);
        if (python_int((hb_str){s.s + 1, s.len - 1}, digits, &value)) return value;
    }
    hb_reject_trace(a, "event %u: tid is not a number", row);
}

static uint32_t find_thread(linker *l, hb_threads *threads, hb_dict *tids, int64_t tid)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&l->a->arena, tids, (uint64_t)tid, &added);
    if (added) {
        *HB_PUSH(&l->a->arena, threads) = (hb_tree_thread){.tid = tid};
        e->value = threads->count - 1;
    }
    return e->value;
}

/* All rows of a track are of one thread. */
static hb_tree_thread *thread_of(linker *l, const hb_ev *ev, const hb_row *row)
{
    hb_analysis *a = l->a;
    bool profile = ev->type == HB_TYPE_PL_PROFILE;
    hb_threads *threads = profile ? &a->pl_threads : &a->threads;
    track_threads *track = &l->tracks[row->track];
    uint32_t *known = profile ? &track->pl_thread : &track->thread;
    if (!*known) {
        int64_t tid = int_tid(a, ev->row, hb_row_tid_key(a->trace, row));
        *known = 1 + find_thread(l, threads, profile ? &l->pl_tids : &l->tids, tid);
    }
    return &threads->items[*known - 1];
}

static hb_class class_of(hb_analysis *a, hb_type type, hb_string_id name)
{
    unsigned bits = hb_name_class(a, name);
    switch (type) {
    case HB_TYPE_STEP: return HB_CLASS_STEP;
    case HB_TYPE_MODULE: return HB_CLASS_MODULE;
    case HB_TYPE_PL_MODULE: return HB_CLASS_PL_MODULE;
    case HB_TYPE_PL_PROFILE: return HB_CLASS_PL_PROFILE;
    default:
        return bits & HB_NAME_LOADER      ? HB_CLASS_LOADER
               : bits & HB_NAME_OPTIMIZER ? HB_CLASS_OPTIMIZER
                                          : HB_CLASS_PLAIN;
    }
}

static hb_string_id without(hb_analysis *a, hb_str name, hb_known word)
{
    hb_buf buf;
    hb_str part = hb_known_text(word);
    hb_buf_init(&buf, SIZE_MAX / 2);
    for (size_t i = 0; i < name.len;) {
        bool skip = name.len - i >= part.len && memcmp(name.s + i, part.s, part.len) == 0;
        if (!skip) hb_buf_append(&buf, name.s + i, 1);
        i += skip ? part.len : 1;
    }
    hb_string_id id = hb_intern(a, buf.data ? buf.data : "", buf.size);
    hb_buf_free(&buf);
    return id;
}

/* Lightning's names carry a mark, and its modules their type: "[pl][module]type: name". */
static hb_string_id node_name(hb_analysis *a, hb_type type, const hb_row *row)
{
    hb_str name = hb_trace_text(a->trace, row->name);
    if (type == HB_TYPE_PL_PROFILE) return without(a, name, HB_KNOWN_LIGHTNING_PROFILE);
    if (type != HB_TYPE_PL_MODULE) return row->name;
    hb_str bare = hb_trace_text(a->trace, without(a, name, HB_KNOWN_LIGHTNING_MODULE));
    const char *colon = memmem(bare.s, bare.len, ": ", 2);
    /* Python: find() gives -1 when there is none, and the slice begins at 1. */
    size_t from = colon ? (size_t)(colon - bare.s) + 2 : HB_MIN(1, bare.len);
    return hb_intern(a, bare.s + from, bare.len - from);
}

/* Times as plugin_end() has them. */
static hb_node *new_node(linker *l, const hb_ev *ev, const hb_row *row)
{
    hb_analysis *a = l->a;
    hb_tree_thread *thread = thread_of(l, ev, row);
    hb_node *n = &a->nodes[thread->first_node + thread->num_nodes++];
    double start = hb_plugin_ts(a->trace, row);
    hb_string_id name = node_name(a, (hb_type)ev->type, row);
    bool start_float = !(row->flags & HB_ROW_TS_INT);
    *n = (hb_node){.start = start,
                   .end = start + hb_plugin_dur(a->trace, row),
                   .row = ev->row,
                   .name = name,
                   .class = (uint8_t)class_of(a, (hb_type)ev->type, name),
                   .type = (uint8_t)ev->type,
                   .start_float = start_float,
                   .end_float = start_float || !(row->flags & HB_ROW_DUR_INT),
                   .tc_eligible = (hb_name_class(a, name) & HB_NAME_TC_OP) != 0};
    return n;
}

/* One a key: a later collective of the same external id takes the earlier one's place. */
static void add_collective(hb_analysis *a, const hb_ev *ev, const hb_row *row)
{
    unsigned bits = hb_name_class(a, row->name);
    bool added;
    check_key(a, ev->row, hb_row_key(a->trace, row), "External id");
    a->has_nccl |= (bits & HB_NAME_NCCL) != 0;
    a->has_gloo |= (bits & HB_NAME_GLOO) != 0;
    hb_dict_entry *e = hb_dict_add(&a->arena, &a->comm_ids, hb_row_key(a->trace, row), &added);
    if (added) {
        e->value = a->comms.count;
        HB_PUSH(&a->arena, &a->comms);
    }
    const hb_op_row *op = hb_trace_op(a->trace, row);
    hb_comm *c = &a->comms.items[e->value];
    *c = (hb_comm){.name = row->name, .dims = op->dims, .types = op->types, .step = -1};
    hb_range range = hb_row_range(a, row);
    c->start = range.start;
    c->end = range.end;
    *HB_PUSH(&a->arena, &c->ranges) = range;
}

/* What steps need of it; its node is made later. */
static void count_host(linker *l, const hb_ev *ev, const hb_row *row)
{
    hb_type type = (hb_type)ev->type;
    bool plain = type == HB_TYPE_OPERATOR || type == HB_TYPE_PYTHON || type == HB_TYPE_ANNOTATION;
    if (plain && hb_name_class(l->a, row->name) & HB_NAME_COLLECTIVE) add_collective(l->a, ev, row);
}

static void add_host(linker *l, const hb_ev *ev, const hb_row *row)
{
    hb_analysis *a = l->a;
    const hb_node *node = new_node(l, ev, row);
    if (hb_name_class(a, node->name) & HB_NAME_NO_OPERATOR) {
        hb_str name = hb_node_name(a, node);
        if (hb_name_is(HB_KNOWN_DP_FORWARD, name)) a->use_dp = true;
        if (hb_name_is(HB_KNOWN_DDP_FORWARD, name)) a->use_ddp = true;
    }
}

/* ---- linking ---- */

static void add_call(hb_analysis *a, hb_node *node, uint32_t *last, uint32_t runtime)
{
    *HB_PUSH(&a->arena, &a->refs) = (hb_call_ref){runtime, 0};
    if (*last)
        a->refs.items[*last - 1].next = a->refs.count;
    else
        hb_add_work(a, node)->calls = a->refs.count;
    *last = a->refs.count;
}

/* By equality of the id only: the first node of an id takes all its calls. A module's own id does
 * not count: it takes the calls without an id. */
static void link_calls(linker *l)
{
    hb_analysis *a = l->a;
    uint32_t left = l->calls_by_external.entries.count;
    for (uint32_t t = 0; t < a->threads.count; t++) {
        const hb_tree_thread *thread = &a->threads.items[t];
        for (uint32_t i = 0; i < thread->num_nodes; i++) {
            hb_node *node = &a->nodes[thread->first_node + i];
            const hb_row *row = hb_trace_row(a->trace, node->row);
            hb_key id = node->type == HB_TYPE_MODULE ? HB_KEY_NONE : hb_row_key(a->trace, row);
            /* Python looks at a key only while the dict holds something. */
            if (left) check_key(a, node->row, id, "External id");
            hb_dict_entry *calls = hb_dict_get(&l->calls_by_external, id);
            if (!calls) continue;
            calls->alive = false;
            left--;
            const hb_u32s *list = &l->lists.items[calls->value];
            uint32_t last = 0;
            for (uint32_t k = 0; k < list->count; k++)
                add_call(a, node, &last, list->items[k]);
        }
    }
}

/* Every kernel of a collective's id is a part of it; only nccl's do so. */
static void link_collectives(hb_analysis *a)
{
    if (!a->has_nccl) return;
    for (uint32_t i = 0; i < a->devices.count; i++) {
        const hb_device_node *d = &a->devices.items[i];
        const hb_row *row = hb_trace_row(a->trace, d->row);
        const hb_dict_entry *e =
            d->type == HB_TYPE_KERNEL ? hb_dict_get(&a->comm_ids, hb_row_key(a->trace, row)) : NULL;
        if (!e) continue;
        *HB_PUSH(&a->arena, &a->comms.items[e->value].ranges) = hb_row_range(a, row);
    }
}

static void collect_stale(linker *l)
{
    hb_analysis *a = l->a;
    for (uint32_t i = 0; i < l->devices_by_corr.entries.count; i++) {
        const hb_dict_entry *e = &l->devices_by_corr.entries.items[i];
        if (!e->alive) continue;
        const hb_u32s *list = &l->lists.items[e->value];
        for (uint32_t k = 0; k < list->count; k++)
            if (a->devices.items[list->items[k]].type == HB_TYPE_KERNEL)
                *HB_PUSH(&a->arena, &a->stale) = list->items[k];
    }
    hb_runtime list = {0};
    append_sorted(a, &list, &a->stale);
    a->stale_first = list.first_device;
}

static bool is_number_key(const hb_trace *t, hb_key key)
{
    return hb_key_tag(key) == HB_KEY_TAG_INT ||
           (hb_key_tag(key) == HB_KEY_TAG_TEXT && *hb_trace_text(t, hb_key_string(key)).s != '"');
}

static double number_of(const hb_trace *t, hb_key key)
{
    if (hb_key_tag(key) == HB_KEY_TAG_INT) return (double)hb_key_value(key);
    return strtod(hb_trace_text(t, hb_key_string(key)).s, NULL);
}

/* Of keys of one sort: integers, perhaps beside other numbers, or texts. */
static bool key_less(const void *context, const void *x, const void *y)
{
    const hb_trace *t = context;
    hb_key m = *(const hb_key *)x, n = *(const hb_key *)y;
    bool whole = hb_key_tag(m) == HB_KEY_TAG_INT && hb_key_tag(n) == HB_KEY_TAG_INT;
    if (whole) return hb_key_value(m) < hb_key_value(n);
    if (is_number_key(t, m)) return number_of(t, m) < number_of(t, n);
    hb_str s = hb_trace_text(t, hb_key_string(m)), u = hb_trace_text(t, hb_key_string(n));
    int order = memcmp(s.s, u.s, HB_MIN(s.len, u.len));
    return order ? order < 0 : s.len < u.len;
}

/* Python sorts the pids, and cannot when they are of different sorts. */
static void sort_pids(linker *l)
{
    hb_analysis *a = l->a;
    uint32_t n = l->pids.entries.count;
    a->used_devices = HB_NEW_ARRAY(&a->arena, hb_key, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        hb_key key = l->pids.entries.items[i].key;
        if (i && (is_number_key(a->trace, key) != is_number_key(a->trace, a->used_devices[0]) ||
                  key == HB_KEY_NONE || a->used_devices[0] == HB_KEY_NONE))
            hb_reject_trace(a, "pids of device events are both numbers and texts");
        a->used_devices[i] = key;
    }
    a->num_used_devices = n;
    hb_sort(&a->arena, a->used_devices, n, sizeof *a->used_devices, key_less, a->trace);
}

static void find_zero_calls(linker *l)
{
    hb_threads *threads = &l->a->threads;
    for (uint32_t i = 0; i < threads->count; i++) {
        const hb_dict_entry *e = hb_dict_get(&l->zero_calls, hb_key_int(threads->items[i].tid));
        if (e) threads->items[i].zero_calls = l->lists.items[e->value];
    }
}

static bool is_host(hb_type type)
{
    return type <= HB_TYPE_BACKWARD;
}

void hb_analyze_links(hb_analysis *a)
{
    linker *l = a->links = HB_NEW_ARRAY(&a->arena, linker, 1);
    l->a = a;
    l->tracks = HB_NEW_ARRAY(&a->arena, track_threads, a->trace->tracks.items.count + 1);
    for (uint32_t i = 0; i < a->num_events; i++) {
        const hb_ev *ev = &a->events[i];
        const hb_row *row = hb_trace_row(a->trace, ev->row);
        switch ((hb_type)ev->type) {
        case HB_TYPE_KERNEL:
        case HB_TYPE_MEMCPY:
        case HB_TYPE_MEMSET: add_device(l, ev, row); break;
        case HB_TYPE_RUNTIME: add_runtime(l, ev, row); break;
        case HB_TYPE_SPAN:
        case HB_TYPE_FUNCTION:
        case HB_TYPE_MEMORY: break;
        default: count_host(l, ev, row); break;
        }
    }
    link_collectives(a);
    collect_stale(l);
    sort_pids(l);
}

static uint32_t place_threads(hb_threads *threads, uint32_t next)
{
    for (uint32_t i = 0; i < threads->count; i++) {
        hb_tree_thread *thread = &threads->items[i];
        thread->first_node = next;
        next += thread->num_nodes;
        thread->num_nodes = 0;
    }
    return next;
}

/* Those of one thread side by side, as its tree is walked along them several times. */
static void place_nodes(linker *l)
{
    hb_analysis *a = l->a;
    for (uint32_t i = 0; i < a->num_events; i++)
        if (is_host((hb_type)a->events[i].type))
            thread_of(l, &a->events[i], hb_trace_row(a->trace, a->events[i].row))->num_nodes++;
    a->num_nodes = place_threads(&a->pl_threads, place_threads(&a->threads, 1));
    /* With some room for the roots of the trees, so that the array need not move. */
    a->nodes_capacity = a->num_nodes + 256;
    a->nodes = HB_NEW_ARRAY(&a->arena, hb_node, a->nodes_capacity);
    *HB_PUSH(&a->arena, &a->works) = (hb_node_work){0};
}

void hb_analyze_nodes(hb_analysis *a)
{
    linker *l = a->links;
    place_nodes(l);
    for (uint32_t i = 0; i < a->num_events; i++)
        if (is_host((hb_type)a->events[i].type))
            add_host(l, &a->events[i], hb_trace_row(a->trace, a->events[i].row));
    link_calls(l);
    find_zero_calls(l);
}
