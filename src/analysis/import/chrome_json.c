/* SPDX-License-Identifier: MIT
 *
 * Chrome's JSON: of ONNX Runtime, whose lists of several sessions stand one behind the other, and
 * of anyone who has categories of his own. PyTorch's traces, which are read as they are, come here
 * to become another format.
 */
#include <stdlib.h>

#include "base/hash_map.h"
#include "base/json_members.h"
#include "import/json_cursor.h"
#include "import/named_event.h"
#include "import/whole_file.h"

/* Begun, and not yet ended. */
typedef struct open_slice {
    hb_named_event event;
    hb_import_process *process;
    struct open_slice *below;
} open_slice;

typedef struct process_name {
    int64_t pid;
    const char *name;
} process_name;

typedef struct chrome {
    hb_import *import;
    const char *format;
    hb_arena *arena;
    hb_json_cursor c;
    char *text;
    HB_VEC(hb_import_process *) processes;
    hb_dict by_pid; /* index of `processes` */
    HB_VEC(process_name) names;
    bool named;       /* the first process has its pid */
    bool one_process; /* pids tell no GPU */
    int64_t base;     /* Unix time at ts 0; -1: not told */
    hb_dict arg_kinds, categories;
    hb_dict pids, tids, stack_ids; /* stack_ids: numbers of a pid and a tid */
    hb_named_event event;
    HB_VEC(open_slice *) stacks; /* by thread */
    open_slice *spare;
    int64_t last; /* the latest time */
    uint64_t count;
    hb_device_info device;
} chrome;

static hb_str text_of(const hb_value *v)
{
    return v->type == HB_JSON_STRING ? (hb_str){v->s, (uint32_t)v->size} : (hb_str){"", 0};
}

static hb_string_id intern(chrome *f, const hb_value *v)
{
    hb_buf text;
    hb_string_id id;
    hb_buf_init(&text, SIZE_MAX / 2);
    if (v->escaped) hb_value_decode(v, &text);
    id = v->escaped ? hb_texts_add(&f->import->texts, text.size ? text.data : "", text.size)
                    : hb_texts_add(&f->import->texts, v->s, v->size);
    hb_buf_free(&text);
    if (!id) hb_arena_leave(f->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

/* ---- numbers ---- */

static bool is_number(const hb_value *v)
{
    return v->type == HB_JSON_INT || v->type == HB_JSON_FLOAT;
}

/* Also in quotes; -1 of anything else. */
static int64_t number_of(const hb_value *v)
{
    int64_t number;
    if (hb_value_int(v, &number)) return number;
    if (v->type == HB_JSON_FLOAT) return (int64_t)HB_MAX(HB_MIN(hb_value_double(v), 9e18), -9e18);
    if (v->type != HB_JSON_STRING || !v->size || v->size > 18) return -1;
    for (size_t i = 0; i < v->size; i++)
        if (v->s[i] < '0' || v->s[i] > '9') return -1;
    return (int64_t)strtoull(v->s, NULL, 10);
}

/* Microseconds with decimals as ns, exactly; INT64_MIN of what is none, or too far away. */
static int64_t ns_of(const hb_value *v)
{
    if (!is_number(v) && v->type != HB_JSON_STRING) return INT64_MIN; /* it may have no text */
    const char *p = v->s, *end = p + v->size;
    bool negative = v->size && *p == '-';
    int64_t ns = 0;
    int decimals = -1;
    for (p += negative; p < end && decimals < 3; p++) {
        if (*p == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (*p < '0' || *p > '9' || ns > INT64_MAX / 40) break;
        ns = ns * 10 + (*p - '0');
        decimals += decimals >= 0;
    }
    bool up = p < end && decimals == 3 && *p >= '5' && *p <= '9';
    for (const char *q = p; q < end; q++)
        if ((*q < '0' || *q > '9') && decimals >= 0) decimals = -2; /* an exponent */
    if (p < end && (decimals < 0 || *p < '0' || *p > '9')) {
        double us = is_number(v) ? hb_value_double(v) : -1e300;
        return us > -4e15 && us < 4e15 ? (int64_t)(us * 1e3 + (us < 0 ? -0.5 : 0.5)) : INT64_MIN;
    }
    for (int i = HB_MAX(decimals, 0); i < 3; i++) {
        if (ns > INT64_MAX / 10) return INT64_MIN;
        ns *= 10;
    }
    ns += up;
    return negative ? -ns : ns;
}

/* ---- processes ---- */

static hb_import_process *add_process(chrome *f, int64_t pid)
{
    hb_import_process *p = hb_import_add_process(f->import, f->format, "");
    *HB_PUSH(f->arena, &f->processes) = p;
    p->pid = pid;
    return p;
}

/* Device work is the first process's, whose pid its first event on the host tells. */
static hb_import_process *process_of(chrome *f, int64_t pid, bool host)
{
    bool added;
    if (!f->processes.count) (void)add_process(f, 0);
    if (!host || pid < 0) return f->processes.items[0];
    hb_dict_entry *entry = hb_dict_add(f->arena, &f->by_pid, (uint64_t)pid, &added);
    if (!f->named) {
        f->named = true;
        f->processes.items[0]->pid = pid;
    } else if (added) {
        (void)add_process(f, pid);
        entry->value = f->processes.count - 1;
    }
    return f->processes.items[entry->value];
}

/* ---- events ---- */

typedef struct parts {
    hb_value ph, cat, name, pid, tid, ts, dur, args;
} parts;

static bool take_member(void *context, const hb_value *key, const hb_value *value)
{
    static const struct {
        const char *name;
        size_t offset;
    } members[] = {
        {"ph", offsetof(parts, ph)},     {"cat", offsetof(parts, cat)},
        {"name", offsetof(parts, name)}, {"pid", offsetof(parts, pid)},
        {"tid", offsetof(parts, tid)},   {"ts", offsetof(parts, ts)},
        {"dur", offsetof(parts, dur)},   {"args", offsetof(parts, args)},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(members); i++)
        if (hb_value_is(key, members[i].name))
            *(hb_value *)((char *)context + members[i].offset) = *value;
    return true;
}

static bool take_arg(void *context, const hb_value *key, const hb_value *value)
{
    chrome *f = context;
    hb_named_event *e = &f->event;
    bool added;
    int64_t number;
    hb_string_id name = intern(f, key);
    hb_dict_entry *entry = hb_dict_add(f->arena, &f->arg_kinds, name, &added);
    if (added) entry->value = hb_named_arg_of(hb_texts_get(&f->import->texts, name));
    hb_named_arg arg = (hb_named_arg)entry->value;
    hb_str raw = {value->s, (uint32_t)value->size};
    if (arg == HB_NAMED_IGNORED) return true;
    if (value->type == HB_JSON_STRING && arg == HB_NAMED_OPERATOR)
        e->operator_name = intern(f, value);
    else if (value->type == HB_JSON_STRING || value->type == HB_JSON_ARRAY)
        hb_named_set_text(e, arg, raw);
    else if (hb_value_int(value, &number))
        hb_named_set_int(e, arg, name, number);
    else if (value->type == HB_JSON_INT && value->s[0] != '-')
        hb_named_set_int(e, arg, name, (int64_t)strtoull(value->s, NULL, 10));
    else if (is_number(value))
        hb_named_set_double(e, arg, name, hb_value_double(value));
    return true;
}

static bool is_on_host(hb_kind kind)
{
    return kind != HB_KIND_KERNEL && kind != HB_KIND_MEMCPY && kind != HB_KIND_MEMSET;
}

static void take_args(chrome *f, const hb_value *args)
{
    if (args->type != HB_JSON_OBJECT) return;
    hb_json_each_member((hb_str){args->s, (uint32_t)args->size}, take_arg, f);
}

static hb_kind kind_of(chrome *f, hb_string_id category)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(f->arena, &f->categories, category, &added);
    if (added) entry->value = hb_named_kind_of(hb_texts_get(&f->import->texts, category));
    return (hb_kind)entry->value;
}

/* PyTorch has GPUs in place of processes, by their numbers; others number them as they like, and
 * ONNX Runtime has kernels beside the host's events. */
static void set_gpu_by_pid(chrome *f, int64_t pid)
{
    enum { MOST_GPUS = 64 };
    bool process = f->one_process || pid < 0;
    hb_named_arg arg = process || pid < MOST_GPUS ? HB_NAMED_DEVICE : HB_NAMED_AGENT;
    hb_named_set_int(&f->event, arg, 0, process ? 0 : pid);
}

/* Into `event`; whose it is. */
static hb_import_process *take_slice(chrome *f, const parts *p, bool instant)
{
    hb_named_event *e = &f->event;
    hb_named_event_init(e);
    hb_string_id category = p->cat.type == HB_JSON_STRING ? intern(f, &p->cat) : 0;
    e->kind_of = kind_of(f, category);
    e->category = hb_texts_get(&f->import->texts, category);
    e->name = p->name.type == HB_JSON_STRING ? intern(f, &p->name) : 0;
    e->instant = instant;
    e->tid = number_of(&p->tid);
    int64_t start = ns_of(&p->ts), dur = p->dur.s ? ns_of(&p->dur) : 0;
    e->start = start;
    e->end = dur > 0 && start < INT64_MAX / 2 ? start + HB_MIN(dur, INT64_MAX / 4) : start;
    f->last = HB_MAX(f->last, e->end);
    take_args(f, &p->args);
    bool host = is_on_host(e->kind_of);
    if (!host && !(e->given >> HB_NAMED_DEVICE & 1) && !(e->given >> HB_NAMED_AGENT & 1))
        set_gpu_by_pid(f, number_of(&p->pid));
    if (!host && !(e->given >> HB_NAMED_STREAM & 1))
        hb_named_set_int(e, HB_NAMED_STREAM, 0, e->tid);
    host &= e->kind_of != HB_KIND_OTHER || instant; /* else it may stand anywhere */
    host &= e->kind_of != HB_KIND_SPAN;
    return process_of(f, number_of(&p->pid), host);
}

static void add_slice(chrome *f, const parts *p, bool instant)
{
    hb_import_process *process = take_slice(f, p, instant);
    hb_named_event_add(f->import, process, &f->event);
}

/* ---- slices of two events ---- */

static uint32_t number_among(chrome *f, hb_dict *ids, int64_t id)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(f->arena, ids, (uint64_t)id, &added);
    if (added) entry->value = ids->entries.count;
    return entry->value;
}

static open_slice **stack_of(chrome *f, const parts *p)
{
    uint32_t pid = number_among(f, &f->pids, number_of(&p->pid));
    uint32_t tid = number_among(f, &f->tids, number_of(&p->tid));
    uint32_t i = hb_pair_number(f->arena, &f->stack_ids, pid, tid);
    if (i == f->stacks.count) *HB_PUSH(f->arena, &f->stacks) = NULL;
    return &f->stacks.items[i];
}

static void begin_slice(chrome *f, const parts *p)
{
    open_slice **top = stack_of(f, p), *slice = f->spare;
    if (slice)
        f->spare = slice->below;
    else
        slice = hb_arena_alloc(f->arena, sizeof *slice);
    slice->process = take_slice(f, p, false);
    slice->event = f->event;
    slice->below = *top;
    *top = slice;
}

/* An end may tell args, too. */
static void end_slice(chrome *f, const parts *p)
{
    open_slice **top = stack_of(f, p), *slice = *top;
    if (!slice) {
        process_of(f, -1, false)->rows.notes[HB_IMPORT_UNPAIRED]++;
        return;
    }
    *top = slice->below;
    slice->below = f->spare;
    f->spare = slice;
    f->event = slice->event;
    f->event.end = ns_of(&p->ts);
    f->last = HB_MAX(f->last, f->event.end);
    take_args(f, &p->args);
    hb_named_event_add(f->import, slice->process, &f->event);
}

/* They ran when the recording ended, or their ends were lost. */
static void end_open_slices(chrome *f)
{
    for (uint32_t i = 0; i < f->stacks.count; i++)
        for (open_slice *s = f->stacks.items[i]; s; s = s->below) {
            s->process->rows.notes[HB_IMPORT_UNPAIRED]++;
            s->event.end = f->last;
            s->event.unfinished = true;
            hb_named_event_add(f->import, s->process, &s->event);
        }
}

/* ---- other events ---- */

/* A counter's event: a curve for each number in its args. */
typedef struct counter_values {
    chrome *f;
    hb_import_process *process;
    hb_import_sample each;
    uint32_t count;
} counter_values;

static bool add_value(void *context, const hb_value *key, const hb_value *value)
{
    counter_values *v = context;
    if (!is_number(value)) return true;
    hb_import_sample *sample = hb_import_push(v->f->arena, &v->process->rows.samples);
    *sample = v->each;
    sample->unit = hb_value_is(key, "value") ? 0 : intern(v->f, key);
    sample->value = hb_value_double(value);
    v->count++;
    return true;
}

static void add_counter(chrome *f, const parts *p)
{
    hb_import_process *process = process_of(f, number_of(&p->pid), true);
    counter_values v = {.f = f, .process = process};
    int64_t time = ns_of(&p->ts), end = time, tid = number_of(&p->tid);
    if (hb_import_drops(f->import, process, HB_IMPORT_COUNTERS)) return;
    bool named = p->name.type == HB_JSON_STRING && p->args.type == HB_JSON_OBJECT;
    if (named && !hb_import_times(&process->rows, time, &end)) return;
    if (named) {
        v.each.time = time;
        v.each.name = intern(f, &p->name);
        v.each.thread =
            hb_import_thread_of(f->arena, &process->rows, tid >= 0 ? tid : process->pid, 0);
        hb_json_each_member((hb_str){p->args.s, (uint32_t)p->args.size}, add_value, &v);
    }
    process->rows.notes[HB_IMPORT_BAD_ROWS] += !v.count;
}

/* Names of processes, which may stand before their events; those of threads are found where they
 * are written. */
static void take_name(chrome *f, const parts *p)
{
    if (!hb_value_is(&p->name, "process_name") || p->args.type != HB_JSON_OBJECT) return;
    hb_value name = hb_json_member((hb_str){p->args.s, (uint32_t)p->args.size}, "name");
    *HB_PUSH(f->arena, &f->names) =
        (process_name){number_of(&p->pid), hb_import_copy_value(f->import, &name)};
}

static void name_processes(const chrome *f)
{
    for (uint32_t i = 0; i < f->names.count; i++) {
        const process_name *n = &f->names.items[i];
        const hb_dict_entry *entry = hb_dict_get(&f->by_pid, (uint64_t)n->pid);
        if (entry) f->processes.items[entry->value]->program = n->name;
    }
}

static void add_event(chrome *f, const hb_value *v)
{
    parts p;
    memset(&p, 0, sizeof p);
    if (v->type != HB_JSON_OBJECT) return;
    hb_json_each_member((hb_str){v->s, (uint32_t)v->size}, take_member, &p);
    hb_str ph = text_of(&p.ph);
    if (hb_str_is(ph, "X"))
        add_slice(f, &p, false);
    else if (hb_str_is(ph, "i") || hb_str_is(ph, "I"))
        add_slice(f, &p, true);
    else if (hb_str_is(ph, "C"))
        add_counter(f, &p);
    else if (hb_str_is(ph, "M"))
        take_name(f, &p);
    else if (hb_str_is(ph, "B"))
        begin_slice(f, &p);
    else if (hb_str_is(ph, "E"))
        end_slice(f, &p);
    if (++f->count % 65536 == 0 && !hb_import_progress(f->import, f->count))
        hb_arena_leave(f->arena, HB_ERROR_STATE, "%s: stopped", f->import->path);
}

static void read_events(chrome *f)
{
    for (bool first = true; hb_json_next_element(&f->c, &first);) {
        hb_value v = hb_json_read(&f->c);
        add_event(f, &v);
    }
}

/* ---- what stands beside the events ---- */

static bool take_device_member(void *context, const hb_value *key, const hb_value *value)
{
    chrome *f = context;
    hb_device_info *d = &f->device;
    const struct {
        const char *name;
        int32_t *to;
    } numbers[] = {
        {"id", &d->id},
        {"computeMajor", &d->compute_major},
        {"computeMinor", &d->compute_minor},
        {"maxThreadsPerBlock", &d->max_threads_per_block},
        {"maxThreadsPerMultiprocessor", &d->max_threads_per_cu},
        {"regsPerBlock", &d->regs_per_block},
        {"warpSize", &d->warp_size},
        {"numSms", &d->num_cus},
        {"clockRate", &d->clock_khz},
        {"memoryClockRate", &d->memory_khz},
        {"memoryBusWidth", &d->memory_bus_bits},
    };
    const struct {
        const char *name;
        uint64_t *to;
    } sizes[] = {
        {"totalGlobalMem", &d->total_global_mem},
        {"sharedMemPerBlock", &d->shared_mem_per_block},
        {"maxSharedMemoryPerMultiProcessor", &d->max_shared_mem_per_cu},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers); i++)
        if (hb_value_is(key, numbers[i].name))
            *numbers[i].to = (int32_t)HB_MIN(HB_MAX(number_of(value), 0), (int64_t)INT32_MAX);
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++)
        if (hb_value_is(key, sizes[i].name)) *sizes[i].to = (uint64_t)HB_MAX(number_of(value), 0);
    if (hb_value_is(key, "name")) d->name = hb_import_copy_value(f->import, value);
    if (hb_value_is(key, "gcnArchName")) d->arch = hb_import_copy_value(f->import, value);
    return true;
}

static bool take_device(void *context, const hb_value *value)
{
    chrome *f = context;
    f->device = (hb_device_info){.id = -1, .name = "", .arch = ""};
    if (value->type != HB_JSON_OBJECT) return true;
    hb_json_each_member((hb_str){value->s, (uint32_t)value->size}, take_device_member, f);
    if (f->device.id >= 0 && (*f->device.name || f->device.num_cus))
        *HB_PUSH(f->arena, &process_of(f, -1, false)->rows.devices) = f->device;
    return true;
}

static void take_top(chrome *f, const hb_value *key)
{
    hb_value v = hb_json_read(&f->c);
    hb_str json = {v.s, (uint32_t)v.size};
    hb_import_process *p = process_of(f, -1, false);
    if (hb_value_is(key, "baseTimeNanoseconds") && !hb_value_time(&v, &f->base)) f->base = -1;
    if (hb_value_is(key, "host_name")) p->host = hb_import_copy_value(f->import, &v);
    if (hb_value_is(key, "deviceProperties") && v.type == HB_JSON_ARRAY)
        hb_json_each(json, take_device, f);
    if (hb_value_is(key, "distributedInfo") && v.type == HB_JSON_OBJECT) {
        hb_value rank = hb_json_member(json, "rank"), world = hb_json_member(json, "world_size");
        p->rank = number_of(&rank);
        p->world = number_of(&world);
    }
}

static void read_object(chrome *f)
{
    hb_value key;
    for (bool first = true; hb_json_next_member(&f->c, &first, &key);) {
        if (!hb_value_is(&key, "traceEvents"))
            take_top(f, &key);
        else if (hb_json_enter(&f->c, '['))
            read_events(f);
    }
}

/* ---- the file ---- */

static void close_file(void *context)
{
    chrome *f = context;
    free(f->text);
    f->text = NULL;
}

static bool has(const hb_import_probe *probe, const char *text)
{
    return hb_str_has((hb_str){probe->head, (uint32_t)probe->size}, text);
}

/* A list of events, of which the first ones are a session's. */
bool hb_onnx_probe(const hb_import_probe *probe)
{
    return *hb_scan_space(probe->head) == '[' &&
           (has(probe, "\"cat\" : \"Session\"") || has(probe, "\"cat\":\"Session\"") ||
            has(probe, "\"cat\": \"Session\""));
}

/* Of what is read as it stands. Kernels, copies and calls have names that others use, too. */
static bool is_of_torch(hb_str category)
{
    hb_kind kind = hb_kind_by_category(category);
    return kind != HB_KIND_OTHER && kind != HB_KIND_KERNEL && kind != HB_KIND_MEMCPY &&
           kind != HB_KIND_MEMSET && kind != HB_KIND_CALL;
}

/* Whether events have categories of the writer's own, and none that is PyTorch's. */
static bool has_own_categories(const hb_import_probe *probe)
{
    const char *p = probe->head, *end = p + probe->size;
    bool own = false;
    while ((p = memmem(p, (size_t)(end - p), "\"cat\"", 5))) {
        p += 5;
        while (p < end && strchr(" :\t\"", *p) && *p)
            p++;
        const char *quote = memchr(p, '"', (size_t)(end - p));
        if (!quote) break;
        hb_str category = {p, (uint32_t)(quote - p)};
        if (is_of_torch(category)) return false;
        own |= hb_category_of(category) == HB_CATEGORY_UNKNOWN;
    }
    return own;
}

/* PyTorch's kind, with its categories or with what it writes before its events, needs no import. */
bool hb_chrome_json_probe(const hb_import_probe *probe)
{
    char first = *hb_scan_space(probe->head);
    bool events = (first == '{' && has(probe, "\"traceEvents\"")) || first == '[';
    bool of_torch = has(probe, "\"schemaVersion\"") || has(probe, "\"deviceProperties\"") ||
                    has(probe, "\"distributedInfo\"");
    return events && has(probe, "\"ph\"") && has(probe, "\"ts\"") && !of_torch &&
           has_own_categories(probe);
}

/* Times from 1970 on, in us. */
#define UNIX_SINCE INT64_C(1000000000000000000)

static void set_clock(const chrome *f, hb_import_process *p)
{
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < p->rows.works.count; i++)
        first = HB_MIN(first, ((const hb_import_work *)hb_column_at(&p->rows.works, i))->start);
    for (uint32_t i = 0; i < p->rows.scopes.count; i++)
        first = HB_MIN(first, ((const hb_import_host *)hb_column_at(&p->rows.scopes, i))->start);
    bool absolute = first != INT64_MAX && first > UNIX_SINCE;
    p->clock_is_unix = f->base > 0 || absolute;
    p->offset = f->base > 0 ? f->base : 0;
}

static void open_json(hb_import *import, const char *path, const char *format, bool one_process)
{
    size_t size;
    chrome *f = hb_arena_alloc(&import->arena, sizeof *f);
    f->import = import;
    f->arena = &import->arena;
    f->format = format;
    f->one_process = one_process;
    f->base = -1;
    hb_import_guard(import, close_file, f);
    hb_result result = hb_whole_file(path, &f->text, &size);
    if (result != HB_OK) hb_arena_leave(&import->arena, result, "%s", hb_last_error());
    f->c = hb_json_cursor_at(f->text, size, &import->arena, path);
    while (f->c.at < f->c.scan.end) {
        if (*f->c.at == '[' && hb_json_enter(&f->c, '['))
            read_events(f);
        else if (*f->c.at == '{' && hb_json_enter(&f->c, '{'))
            read_object(f);
        else
            (void)hb_json_read(&f->c);
    }
    end_open_slices(f);
    name_processes(f);
    for (uint32_t i = 0; i < f->processes.count; i++) {
        set_clock(f, f->processes.items[i]);
        hb_named_events_finish(import, f->processes.items[i]);
    }
    hb_import_unguard(import);
}

void hb_chrome_json_open(hb_import *import, const char *path)
{
    open_json(import, path, "Chrome JSON", false);
}

void hb_onnx_open(hb_import *import, const char *path)
{
    open_json(import, path, "ONNX Runtime", true);
}
