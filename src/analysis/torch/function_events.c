/* SPDX-License-Identifier: MIT */
#include "torch/function_events.h"

#include <math.h>

#include "rules/name_class.h"
#include "trace/edges.h"
#include "trace/op_work.h"

typedef struct memory_index {
    int64_t *times;       /* sorted */
    double *cpu, *device; /* sums of all records before */
    int32_t *covers;      /* events that begin minus events that end before the record */
    uint32_t *order;      /* record by time -> record in file order */
    const uint32_t *rows; /* file order */
    uint32_t count;
} memory_index;

typedef struct builder {
    hb_fn_list *list;
    HB_VEC(hb_fn) fns;
    HB_VEC(uint32_t) memory_rows, oom_rows;
    uint32_t *classes; /* by category: flags + 1, or CLASS_NONE */
    uint8_t *names;    /* by name: enum name_kind */
    int64_t start_ns;
    bool *has_work;         /* by track: a stream's */
    uint32_t ending_thread; /* that ended the recording, where calls' own threads are not told */
    memory_index memory;
} builder;

enum { CLASS_NONE = UINT32_MAX, NO_THREAD = UINT32_MAX };

enum name_kind {
    NAME_UNKNOWN,
    NAME_PLAIN,    /* kept as it is */
    NAME_CHANGED,  /* a step's, or perhaps with an overload's name */
    NAME_FILTERED, /* torch leaves such events out */
};

/* ---- which rows are events ---- */

static uint32_t class_of_category(const hb_row *row, hb_str cat)
{
    switch ((hb_kind)row->kind) {
    case HB_KIND_OPERATOR:
    case HB_KIND_PYTHON:
    case HB_KIND_FUNCTION: return 0;
    case HB_KIND_ANNOTATION:
        return HB_FN_ANNOTATION |
               (hb_category_is(HB_CATEGORY_GPU_USER_ANNOTATION, cat) ? (uint32_t)HB_FN_DEVICE : 0);
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL: return HB_FN_RUNTIME | HB_FN_LINKED;
    case HB_KIND_KERNEL:
    case HB_KIND_MEMCPY:
    case HB_KIND_MEMSET: return HB_FN_DEVICE | HB_FN_LINKED;
    default: break;
    }
    switch (hb_category_of(cat)) {
    case HB_CATEGORY_OUTSIDE_TREE: return 0;
    case HB_CATEGORY_OVERHEAD: return HB_FN_RUNTIME;
    case HB_CATEGORY_CUDA_SYNC:
    case HB_CATEGORY_CUDA_EVENT: return HB_FN_DEVICE | HB_FN_LINKED;
    default: return CLASS_NONE;
    }
}

/* What torch's _filter_name() leaves out. */
static bool is_filtered(hb_str name)
{
    return (hb_scope_class_of(name) & HB_NAME_UNLISTED) != 0;
}

/* With capture_overload_names, "aten::add.Tensor" is "aten::add" and "Tensor". */
static void split_overload(builder *b, const hb_row *row, hb_fn *fn)
{
    hb_str name = hb_trace_text(b->list->trace, row->name);
    const char *dot = row->kind == HB_KIND_OPERATOR ? memchr(name.s, '.', name.len) : NULL;
    const char *colons = dot ? memchr(name.s, ':', (size_t)(dot - name.s)) : NULL;
    if (!colons || colons[1] != ':' || dot == colons + 2 || dot + 1 == name.s + name.len) return;
    hb_texts *strings = &b->list->trace->strings;
    size_t rest = name.len - (size_t)(dot + 1 - name.s);
    for (size_t i = 0; i < name.len; i++)
        if (name.s[i] == ' ' || name.s[i] == '(') return;
    fn->overload = hb_texts_add(strings, dot + 1, rest);
    fn->name = hb_texts_add(strings, name.s, (size_t)(dot - name.s));
    if (!fn->overload || !fn->name)
        hb_arena_leave(b->list->arena, HB_ERROR_NO_MEMORY, "out of memory");
}

static enum name_kind kind_of_name(builder *b, hb_string_id id)
{
    if (b->names[id] == NAME_UNKNOWN) {
        hb_str name = hb_trace_text(b->list->trace, id);
        bool changed = hb_is_step(name) || memchr(name.s, '.', name.len);
        b->names[id] = is_filtered(name) ? NAME_FILTERED : changed ? NAME_CHANGED : NAME_PLAIN;
    }
    return (enum name_kind)b->names[id];
}

static void set_name(builder *b, const hb_row *row, hb_fn *fn)
{
    if (hb_is_step(hb_trace_text(b->list->trace, row->name))) {
        fn->name = hb_texts_add(&b->list->trace->strings, HB_EVERY_STEP, sizeof HB_EVERY_STEP - 1);
        if (!fn->name) hb_arena_leave(b->list->arena, HB_ERROR_NO_MEMORY, "out of memory");
        return;
    }
    split_overload(b, row, fn);
}

static uint32_t class_of(builder *b, const hb_row *row)
{
    if (!(row->flags & HB_ROW_COMPLETE) || !(row->flags & HB_ROW_TS) ||
        !(row->flags & HB_ROW_NAME) || !(row->flags & HB_ROW_CAT))
        return CLASS_NONE;
    hb_string_id category = hb_row_category(b->list->trace, row);
    if (!b->classes[category]) {
        uint32_t class = class_of_category(row, hb_trace_text(b->list->trace, category));
        b->classes[category] = class == CLASS_NONE ? CLASS_NONE : class + 1;
    }
    uint32_t known = b->classes[category];
    return known == CLASS_NONE ? CLASS_NONE : known - 1;
}

/* Two numberings of threads: operators' and the runtime's. They meet where a call is linked. In
 * torch, calls that are not have the thread that ended the recording. */
static uint32_t thread_of(const builder *b, const hb_row *row, bool runtime)
{
    if (runtime && b->ending_thread != NO_THREAD) return b->ending_thread;
    return hb_row_tid(b->list->trace, row) * 2 + runtime;
}

static bool is_on_host(const builder *b, const hb_row *row)
{
    return !b->has_work[row->track] &&
           !hb_row_is_of(b->list->trace, row, HB_CATEGORY_GPU_USER_ANNOTATION);
}

/* torch's traces do not say which thread ended the recording: it has the steps, or else is the
 * process's first. Those of hipboard, which tell their host, have each call on its own. */
static void find_ending_thread(builder *b)
{
    const hb_trace *trace = b->list->trace;
    uint32_t first = NO_THREAD, steps = NO_THREAD;
    b->ending_thread = NO_THREAD;
    if (hb_trace_member(trace, "host_name").len) return;
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (row->kind == HB_KIND_OPERATOR && hb_row_tid(trace, row) == hb_row_pid(trace, row))
            first = thread_of(b, row, false);
        if (row->kind == HB_KIND_ANNOTATION && row->flags & HB_ROW_NAME && is_on_host(b, row) &&
            hb_is_step(hb_trace_text(trace, row->name)))
            steps = thread_of(b, row, false);
    }
    b->ending_thread = steps != NO_THREAD ? steps : first;
}

static void find_streams(builder *b)
{
    const hb_trace *trace = b->list->trace;
    b->has_work = HB_NEW_ARRAY(b->list->arena, bool, trace->tracks.items.count + 1);
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (hb_row_is_work(row)) b->has_work[row->track] = true;
    }
}

/* As `hipboard convert` leaves steps of GPUs, so that the plugin does not count them again. */
static bool is_hidden_annotation(const builder *b, const hb_row *row)
{
    return b->has_work[row->track] && hb_row_is_of(b->list->trace, row, HB_CATEGORY_OUTSIDE_TREE) &&
           hb_is_step(hb_trace_text(b->list->trace, row->name));
}

static bool is_joined(const hb_row *row)
{
    return hb_row_is_call(row) || hb_row_is_work(row);
}

/* Other device events have nothing but their ids. */
static bool tells_scope(const hb_trace *trace, const hb_row *row)
{
    return trace->ids_are_scopes || is_joined(row);
}

/* The id by which operators, calls and device work are joined. Where ids tell nothing, calls and
 * work have that of the operator around: what torch had in memory when it wrote such a file. */
static hb_id link_of(const hb_trace *trace, const hb_row *row)
{
    if (is_joined(row) && !trace->ids_are_scopes) {
        uint32_t scope = hb_event_scope(trace, row);
        return scope == HB_NO_EVENT ? HB_ID_NONE : hb_trace_row(trace, scope)->id;
    }
    return row->kind == HB_KIND_FUNCTION || row->id == HB_ID_ZERO ? HB_ID_NONE : row->id;
}

static void add_row(builder *b, uint32_t index)
{
    const hb_row *row = hb_trace_row(b->list->trace, index);
    uint32_t class = class_of(b, row);
    enum name_kind name = class == CLASS_NONE ? NAME_FILTERED : kind_of_name(b, row->name);
    if (name == NAME_FILTERED) return;
    if (class == 0 && is_hidden_annotation(b, row)) class = HB_FN_ANNOTATION | HB_FN_DEVICE;
    /* An annotation of a GPU is drawn a nanosecond longer on both sides than its work took. */
    bool wider = class == (HB_FN_ANNOTATION | HB_FN_DEVICE) && row->duration > 1;
    hb_fn fn = {.start_ns = row->start - b->start_ns + wider,
                .end_ns = row->start - b->start_ns + HB_MAX(row->duration, 0) - wider,
                .row = index,
                .name = row->name,
                .thread = thread_of(b, row, class & HB_FN_RUNTIME),
                .flags = class,
                .parent = HB_NO_FN,
                .first_child = HB_NO_FN,
                .last_child = HB_NO_FN,
                .next = HB_NO_FN};
    if (name == NAME_CHANGED) set_name(b, row, &fn);
    fn.link = link_of(b->list->trace, row);
    if (!fn.link || !tells_scope(b->list->trace, row)) fn.flags &= ~(uint32_t)HB_FN_LINKED;
    if (class & (HB_FN_DEVICE | HB_FN_RUNTIME)) b->list->use_device = true;
    *HB_PUSH(b->list->arena, &b->fns) = fn;
}

/* Python's events and the span with the profiler's name begin where its clock was read. */
static int64_t find_start(const hb_trace *trace)
{
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (!hb_row_has_start(trace, row)) continue;
        if (row->kind == HB_KIND_SPAN && row->flags & HB_ROW_NAME &&
            hb_str_begins(hb_trace_text(trace, row->name), "PyTorch Profiler"))
            return row->start;
        if (row->flags & HB_ROW_COMPLETE) first = HB_MIN(first, row->start);
    }
    return first == INT64_MAX ? 0 : first;
}

static void collect(builder *b)
{
    hb_trace *trace = b->list->trace;
    b->start_ns = b->list->start_ns = find_start(trace);
    find_streams(b);
    find_ending_thread(b);
    uint32_t num_strings = trace->strings.count; /* that rows have; more are added below */
    b->classes = HB_NEW_ARRAY(b->list->arena, uint32_t, num_strings);
    b->names = HB_NEW_ARRAY(b->list->arena, uint8_t, num_strings);
    /* Room for all that can be events: what is not used costs nothing, growing would. */
    b->fns.items = HB_NEW_ARRAY(b->list->arena, hb_fn, trace->rows.count);
    b->fns.capacity = trace->rows.count;
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (!hb_row_has_start(trace, row)) continue;
        if (row->kind == HB_KIND_MEMORY)
            *HB_PUSH(b->list->arena, &b->memory_rows) = i;
        else if (row->flags & HB_ROW_INSTANT && row->flags & HB_ROW_NAME &&
                 hb_name_is(HB_KNOWN_OUT_OF_MEMORY, hb_trace_text(trace, row->name)))
            *HB_PUSH(b->list->arena, &b->oom_rows) = i;
        else
            add_row(b, i);
    }
}

/* ---- memory: every event gets what any thread allocated meanwhile ---- */

static bool earlier(const void *context, const void *x, const void *y)
{
    const int64_t *times = context;
    return times[*(const uint32_t *)x] < times[*(const uint32_t *)y];
}

static double bytes_of(const hb_trace *trace, uint32_t index, bool device)
{
    const hb_row *row = hb_trace_row(trace, index);
    const hb_memory_row *m = hb_trace_memory(trace, row);
    bool counts = device ? m->device_type == 1 || m->device_type == 2 : m->device_type == 0;
    return counts && hb_is_byte_count(m->bytes) ? trunc(m->bytes) : 0;
}

static void index_memory(builder *b)
{
    memory_index *m = &b->memory;
    hb_arena *arena = b->list->arena;
    const hb_trace *trace = b->list->trace;
    m->count = b->memory_rows.count;
    m->rows = b->memory_rows.items;
    int64_t *unsorted = HB_NEW_ARRAY(arena, int64_t, m->count + 1);
    m->times = HB_NEW_ARRAY(arena, int64_t, m->count + 1);
    m->cpu = HB_NEW_ARRAY(arena, double, m->count + 1);
    m->device = HB_NEW_ARRAY(arena, double, m->count + 1);
    m->covers = HB_NEW_ARRAY(arena, int32_t, m->count + 1);
    m->order = HB_NEW_ARRAY(arena, uint32_t, m->count + 1);
    for (uint32_t i = 0; i < m->count; i++) {
        m->order[i] = i;
        unsorted[i] = hb_trace_row(trace, m->rows[i])->start;
    }
    hb_sort(arena, m->order, m->count, sizeof *m->order, earlier, unsorted);
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t row = m->rows[m->order[i]];
        m->times[i] = unsorted[m->order[i]] - b->start_ns;
        m->cpu[i + 1] = m->cpu[i] + bytes_of(trace, row, false);
        m->device[i + 1] = m->device[i] + bytes_of(trace, row, true);
    }
}

/* The first record at or after `time`. */
static uint32_t first_record(const memory_index *m, int64_t time)
{
    uint32_t low = 0, high = m->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->times[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void cover(memory_index *m, const hb_fn *fn)
{
    if (fn->flags & HB_FN_DEVICE) return;
    m->covers[first_record(m, fn->start_ns)]++;
    m->covers[first_record(m, fn->end_ns + 1)]--;
}

/* `record`: its place + 1; 0: it is none. */
static void add_instant(builder *b, uint32_t index, uint32_t record)
{
    const hb_row *row = hb_trace_row(b->list->trace, index);
    int64_t time = row->start - b->start_ns;
    *HB_PUSH(b->list->arena, &b->fns) = (hb_fn){.start_ns = time,
                                                .end_ns = time,
                                                .link = record,
                                                .row = HB_NO_FN,
                                                .name = row->name,
                                                .thread = thread_of(b, row, false),
                                                .parent = HB_NO_FN,
                                                .first_child = HB_NO_FN,
                                                .last_child = HB_NO_FN,
                                                .next = HB_NO_FN};
}

static void share_memory(builder *b)
{
    memory_index *m = &b->memory;
    index_memory(b);
    for (uint32_t i = 0; i < b->fns.count; i++)
        cover(m, &b->fns.items[i]);
    bool *covered = HB_NEW_ARRAY(b->list->arena, bool, m->count + 1);
    for (uint32_t i = 0, covers = 0; i < m->count; i++) {
        covers += (uint32_t)m->covers[i];
        covered[m->order[i]] = covers > 0;
    }
    for (uint32_t i = 0; i < m->count; i++)
        if (!covered[i]) add_instant(b, m->rows[i], i + 1);
    for (uint32_t i = 0; i < b->oom_rows.count; i++)
        add_instant(b, b->oom_rows.items[i], 0);
}

/* ---- device work ---- */

static double microseconds(const hb_fn *fn)
{
    return (double)fn->end_ns / 1000 - (double)fn->start_ns / 1000;
}

/* The operators that calls and device work are linked to, by id; HB_NO_FN where there is none.
 * False when nothing is linked. */
static bool find_linked(const builder *b, hb_dict *ops)
{
    for (uint32_t i = 0; i < b->fns.count; i++)
        if (b->fns.items[i].flags & HB_FN_LINKED)
            hb_dict_set(b->list->arena, ops, b->fns.items[i].link, HB_NO_FN);
    for (uint32_t i = 0; ops->entries.count && i < b->fns.count; i++) {
        const hb_fn *fn = &b->fns.items[i];
        if (!fn->link || fn->row == HB_NO_FN ||
            fn->flags & (HB_FN_LINKED | HB_FN_DEVICE | HB_FN_RUNTIME))
            continue;
        hb_dict_entry *e = hb_dict_get(ops, fn->link);
        if (e) e->value = i;
    }
    return ops->entries.count > 0;
}

/* Gives linked calls the operator's thread and linked device work to the operators. In torch the
 * order of both is that of the file; an id belongs to the last event that has it. */
static void link_device_work(builder *b)
{
    hb_arena *arena = b->list->arena;
    hb_dict ops = {0};
    if (!find_linked(b, &ops)) return;
    uint32_t *last = HB_NEW_ARRAY(arena, uint32_t, b->fns.count + 1);
    for (uint32_t i = 0; i < b->fns.count; i++) {
        hb_fn *fn = &b->fns.items[i];
        const hb_dict_entry *e = fn->flags & HB_FN_LINKED ? hb_dict_get(&ops, fn->link) : NULL;
        if (!e || e->value == HB_NO_FN) continue;
        hb_fn *op = &b->fns.items[e->value];
        if (fn->flags & HB_FN_RUNTIME) {
            fn->thread = op->thread;
            continue;
        }
        fn->flags |= HB_FN_GIVEN;
        *HB_PUSH(arena, &b->list->kernels) = (hb_fn_kernel){microseconds(fn), 0};
        if (last[e->value])
            b->list->kernels.items[last[e->value] - 1].next = b->list->kernels.count;
        else
            op->kernels = b->list->kernels.count;
        last[e->value] = b->list->kernels.count;
    }
}

/* ---- call trees ---- */

/* Where an event stands in time; events themselves are four times as large. */
typedef struct fn_place {
    int64_t start_ns, end_ns;
    uint32_t index;
} fn_place;

static bool before(const void *context, const void *x, const void *y)
{
    const fn_place *a = x, *b = y;
    (void)context;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    return a->end_ns > b->end_ns;
}

/* places[i] says which event goes to i; along each circle of them one waits aside. */
static void rearrange(hb_fn *fns, fn_place *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (places[i].index == i) continue;
        hb_fn aside = fns[i];
        uint32_t to = i;
        for (uint32_t from; (from = places[to].index) != i; to = from) {
            fns[to] = fns[from];
            places[to].index = to;
        }
        fns[to] = aside;
        places[to].index = to;
    }
}

/* Of equal ones the first stays the first. */
static void sort_events(hb_fn_list *list)
{
    fn_place *places = HB_NEW_ARRAY(list->arena, fn_place, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++)
        places[i] = (fn_place){list->items[i].start_ns, list->items[i].end_ns, i};
    hb_sort(list->arena, places, list->count, sizeof *places, before, NULL);
    rearrange(list->items, places, list->count);
}

static void add_child(hb_fn *fns, uint32_t parent, uint32_t child)
{
    fns[child].parent = parent;
    if (fns[parent].last_child == HB_NO_FN)
        fns[parent].first_child = child;
    else
        fns[fns[parent].last_child].next = child;
    fns[parent].last_child = child;
}

/* The innermost open event of a thread is followed by its parents. */
static void build_trees(hb_fn_list *list)
{
    hb_dict threads = {0};
    hb_fn *fns = list->items;
    for (uint32_t i = 0; i < list->count; i++) {
        bool added;
        if (fns[i].flags & HB_FN_DEVICE) continue;
        hb_dict_entry *top = hb_dict_add(list->arena, &threads, fns[i].thread, &added);
        uint32_t parent = added ? HB_NO_FN : top->value;
        while (parent != HB_NO_FN &&
               (fns[i].start_ns >= fns[parent].end_ns || fns[i].end_ns > fns[parent].end_ns))
            parent = fns[parent].parent;
        if (parent != HB_NO_FN) add_child(fns, parent, i);
        top->value = i;
    }
}

/* An only child of its parent's name is the same call seen twice: the parent takes its place. */
static void merge_twins(hb_fn_list *list)
{
    hb_fn *fns = list->items;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t parent = fns[i].parent;
        if (parent == HB_NO_FN || fns[parent].name != fns[i].name ||
            fns[parent].first_child != fns[parent].last_child)
            continue;
        fns[parent].first_child = fns[i].first_child;
        fns[parent].last_child = fns[i].last_child;
        fns[parent].kernels = fns[i].kernels;
        for (uint32_t c = fns[i].first_child; c != HB_NO_FN; c = fns[c].next)
            fns[c].parent = parent;
        fns[i].flags |= HB_FN_GONE;
    }
}

static double kernel_time(const hb_fn_list *list, const hb_fn *fn)
{
    double sum = 0;
    for (uint32_t k = fn->kernels; k; k = list->kernels.items[k - 1].next)
        sum += list->kernels.items[k - 1].us;
    return sum;
}

static void sum_up(const hb_fn_list *list, hb_fn *fn)
{
    if (fn->flags & HB_FN_DEVICE) {
        fn->device_total = fn->self_device = microseconds(fn);
        return;
    }
    double cpu = 0, device = 0;
    for (uint32_t c = fn->first_child; c != HB_NO_FN; c = list->items[c].next) {
        const hb_fn *child = &list->items[c];
        cpu += child->cpu_total;
        device += child->device_total;
    }
    fn->cpu_total = microseconds(fn);
    fn->self_cpu = fn->cpu_total - cpu;
    fn->device_total = kernel_time(list, fn) + device;
    fn->self_device = fn->device_total - device;
}

/* ---- what few traces tell ---- */

static void take_memory(const builder *b, const hb_fn *fn, hb_fn_extra *to)
{
    const memory_index *m = &b->memory;
    if (fn->flags & HB_FN_DEVICE || !m->count) return;
    if (fn->row == HB_NO_FN) {
        if (!fn->link) return;
        to->cpu_bytes = bytes_of(b->list->trace, m->rows[fn->link - 1], false);
        to->device_bytes = bytes_of(b->list->trace, m->rows[fn->link - 1], true);
        return;
    }
    uint32_t low = first_record(m, fn->start_ns), high = first_record(m, fn->end_ns + 1);
    to->cpu_bytes = m->cpu[high] - m->cpu[low];
    to->device_bytes = m->device[high] - m->device[low];
}

static void take_self_bytes(const hb_fn_list *list, uint32_t i)
{
    hb_fn_extra *to = &list->extras[i];
    double cpu = 0, device = 0;
    if (list->items[i].flags & HB_FN_DEVICE) return;
    for (uint32_t c = list->items[i].first_child; c != HB_NO_FN; c = list->items[c].next) {
        cpu += list->extras[c].cpu_bytes;
        device += list->extras[c].device_bytes;
    }
    to->self_cpu_bytes = to->cpu_bytes - cpu;
    to->self_device_bytes = to->device_bytes - device;
}

static void take_extras(builder *b)
{
    hb_fn_list *list = b->list;
    if (!list->with_flops && !b->memory.count) return;
    list->extras = HB_NEW_ARRAY(list->arena, hb_fn_extra, list->count + 1);
    for (uint32_t i = 0; i < list->count; i++) {
        const hb_fn *fn = &list->items[i];
        take_memory(b, fn, &list->extras[i]);
        if (list->with_flops && fn->row != HB_NO_FN)
            list->extras[i].flops =
                hb_op_flops(list->trace, hb_trace_row(list->trace, fn->row), fn->name);
    }
    for (uint32_t i = 0; i < list->count; i++)
        take_self_bytes(list, i);
}

static bool is_set(const hb_trace *trace, const char *key)
{
    hb_str json = hb_trace_member(trace, key);
    return json.len && !hb_str_is(json, "0") && !hb_str_is(json, "false") &&
           !hb_str_is(json, "null");
}

void hb_fn_list_make(hb_fn_list *list, hb_arena *arena, hb_trace *trace)
{
    hb_str properties = hb_trace_member(trace, "deviceProperties");
    if (hb_trace_link(trace) != HB_OK) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    *list = (hb_fn_list){.arena = arena,
                         .trace = trace,
                         .use_device = properties.len && memchr(properties.s, '{', properties.len),
                         .profile_memory = is_set(trace, "profile_memory"),
                         .with_flops = is_set(trace, "with_flops")};
    builder b = {.list = list};
    collect(&b);
    share_memory(&b);
    link_device_work(&b);
    list->items = b.fns.items;
    list->count = b.fns.count;
    sort_events(list);
    build_trees(list);
    merge_twins(list);
    for (uint32_t i = list->count; i-- > 0;) /* children stand behind their parents */
        sum_up(list, &list->items[i]);
    take_extras(&b);
}
