/* SPDX-License-Identifier: MIT */
#include "import/named_event.h"

#include <stdlib.h>

#include "import/demangle.h"
#include "import/rows_shared.h"

/* ---- args ---- */

static bool is_named(hb_str name, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, "|"), k = 0;
        while (k < n && k < name.len) {
            char c = name.s[k];
            if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
            if ((c == ' ' ? '_' : c) != names[k]) break;
            k++;
        }
        if (k == n && name.len == n) return true;
        names += n + (names[n] == '|');
    }
    return false;
}

hb_named_arg hb_named_arg_of(hb_str name)
{
    static const char *const names[] = {"",
#define NAMES(key, names) names,
                                        HB_NAMED_ARGS(NAMES)
#undef NAMES
    };
    for (int i = 1; i < HB_NAMED_COUNT; i++)
        if (is_named(name, names[i])) return (hb_named_arg)i;
    return HB_NAMED_OTHER;
}

void hb_named_event_init(hb_named_event *e)
{
    /* What is not given is not read. */
    e->category = e->track = e->kind = (hb_str){"", 0};
    e->name = e->thread_name = e->operator_name = 0;
    e->given = 0;
    e->num_values = e->values_left_out = 0;
    e->unfinished = e->instant = false;
    e->tid = -1;
}

static bool has(const hb_named_event *e, hb_named_arg arg)
{
    return e->given >> arg & 1;
}

static int64_t number(const hb_named_event *e, hb_named_arg arg)
{
    return has(e, arg) ? e->numbers[arg] : -1;
}

static void add_value(hb_named_event *e, hb_string_id name, double value)
{
    if (e->num_values < HB_NAMED_VALUES)
        e->values[e->num_values++] = (hb_import_value){name, value};
    else
        e->values_left_out++;
}

void hb_named_set_int(hb_named_event *e, hb_named_arg arg, hb_string_id name, int64_t value)
{
    if (arg == HB_NAMED_OTHER) {
        add_value(e, name, (double)value);
        return;
    }
    e->given |= UINT64_C(1) << arg;
    e->numbers[arg] = value;
}

void hb_named_set_double(hb_named_event *e, hb_named_arg arg, hb_string_id name, double value)
{
    if (arg == HB_NAMED_OTHER)
        add_value(e, name, value);
    else if (value > -9e18 && value < 9e18)
        hb_named_set_int(e, arg, name, (int64_t)value);
}

/* "[2, 128, 1]" */
static bool take_triple(uint32_t to[3], hb_str text)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < text.len && n < 3; i++) {
        if (text.s[i] < '0' || text.s[i] > '9') continue;
        uint64_t v = 0;
        for (; i < text.len && text.s[i] >= '0' && text.s[i] <= '9'; i++)
            v = HB_MIN(v * 10 + (uint64_t)(text.s[i] - '0'), (uint64_t)UINT32_MAX);
        to[n++] = (uint32_t)v;
    }
    return n == 3;
}

/* Also the number at the end of "Agent 4". */
static bool take_number(hb_str text, int64_t *number)
{
    char copy[40], *end;
    const char *space = text.len ? memrchr(text.s, ' ', text.len) : NULL;
    if (space) text = (hb_str){space + 1, text.len - (uint32_t)(space + 1 - text.s)};
    if (!text.len || text.len >= sizeof copy) return false;
    memcpy(copy, text.s, text.len);
    copy[text.len] = 0;
    *number = *copy == '-' ? strtoll(copy, &end, 0) : (int64_t)strtoull(copy, &end, 0);
    return !*end;
}

void hb_named_set_text(hb_named_event *e, hb_named_arg arg, hb_str value)
{
    int64_t v;
    if (arg == HB_NAMED_OTHER || arg == HB_NAMED_IGNORED) return;
    if (arg == HB_NAMED_GRID && take_triple(e->grid, value)) e->given |= UINT64_C(1) << arg;
    if (arg == HB_NAMED_BLOCK && take_triple(e->block, value)) e->given |= UINT64_C(1) << arg;
    if (arg == HB_NAMED_GRID || arg == HB_NAMED_BLOCK) return;
    if (arg == HB_NAMED_KIND) e->kind = value;
    if (arg == HB_NAMED_MADE || arg == HB_NAMED_KIND || arg == HB_NAMED_INPUTS)
        e->given |= UINT64_C(1) << arg;
    /* "Agent 4" counts processors, "GPU 0" does not. */
    if (arg == HB_NAMED_AGENT && hb_import_has_word(value, "GPU ")) arg = HB_NAMED_DEVICE;
    if (arg != HB_NAMED_MADE && arg != HB_NAMED_INPUTS && take_number(value, &v))
        hb_named_set_int(e, arg, 0, v);
}

/* ---- what it is ---- */

/* The words that tools' own categories have. */
hb_kind hb_named_kind_of(hb_str category)
{
    hb_kind kind = hb_kind_by_category(category);
    if (kind != HB_KIND_OTHER) return kind;
    if (hb_import_has_word(category, "KERNEL")) return HB_KIND_KERNEL;
    if (hb_import_has_word(category, "MEMSET")) return HB_KIND_MEMSET;
    if (hb_import_has_word(category, "MEMORY_COPY")) return HB_KIND_MEMCPY;
    if (hb_import_has_word(category, "MARKER")) return HB_KIND_OPERATOR;
    if (hb_import_has_word(category, "_API")) return HB_KIND_RUNTIME;
    hb_category known = hb_category_of(category);
    if (known != HB_CATEGORY_UNKNOWN) return HB_KIND_OTHER;
    return HB_KIND_OPERATOR; /* the program's own words */
}

static void add_memory(hb_import *import, hb_import_process *p, const hb_named_event *e)
{
    hb_import_rows *rows = &p->rows;
    int64_t bytes = e->numbers[HB_NAMED_BYTES];
    if (hb_import_drops(import, p, HB_IMPORT_MEMORY)) return;
    hb_import_memory *m = hb_import_push(&import->arena, &rows->memory);
    bool gpu = number(e, HB_NAMED_DEVICE_TYPE) > 0;
    m->time = e->start;
    m->address = has(e, HB_NAMED_ADDRESS) ? (uint64_t)number(e, HB_NAMED_ADDRESS) : 0;
    m->bytes = bytes;
    m->thread = hb_import_thread_of(&import->arena, rows, e->tid, e->thread_name);
    m->device = gpu ? (int32_t)HB_MIN(HB_MAX(number(e, HB_NAMED_DEVICE), 0), (int64_t)1023) : -1;
    m->frees = bytes < 0;
    m->told = true;
    m->failed = hb_name_is(HB_KNOWN_OUT_OF_MEMORY, hb_texts_get(rows->texts, e->name));
    m->total = HB_MAX(number(e, HB_NAMED_TOTAL), 0);
}

static void add_host(hb_import *import, hb_import_process *p, const hb_named_event *e, hb_kind kind)
{
    hb_import_rows *rows = &p->rows;
    hb_arena *arena = &import->arena;
    bool range = kind != HB_KIND_RUNTIME && kind != HB_KIND_CALL;
    enum hb_import_part part = range ? HB_IMPORT_RANGES : hb_import_part_of(e->category);
    if (!range && part == HB_IMPORT_RANGES) part = HB_IMPORT_HIP;
    if (hb_import_drops(import, p, part)) return;
    hb_str name = hb_texts_get(rows->texts, e->name);
    hb_import_host *host = hb_import_push(arena, range ? &rows->scopes : &rows->calls);
    *host = (hb_import_host){
        .start = e->start,
        .end = e->end,
        .correlation = range ? 0 : (uint64_t)HB_MAX(number(e, HB_NAMED_CORRELATION), 0),
        .name = e->operator_name ? e->operator_name : e->name,
        .thread = hb_import_thread_of(arena, rows, e->tid, e->thread_name),
        .flags = (e->unfinished ? HB_IMPORT_UNFINISHED : 0) |
                 (kind == HB_KIND_ANNOTATION ? HB_IMPORT_ANNOTATION : 0) |
                 (hb_import_is_minor(name) ? HB_IMPORT_MINOR : 0),
    };
    rows->notes[HB_IMPORT_INPUTS] += has(e, HB_NAMED_INPUTS);
    const uint64_t told = UINT64_C(1) << HB_NAMED_GRID | UINT64_C(1) << HB_NAMED_BYTES |
                          UINT64_C(1) << HB_NAMED_ADDRESS;
    if (range || !(e->given & told)) return;
    hb_import_call_args args;
    memset(&args, 0, sizeof args);
    if (has(e, HB_NAMED_GRID)) memcpy(args.grid, e->grid, sizeof args.grid);
    if (has(e, HB_NAMED_BLOCK)) memcpy(args.block, e->block, sizeof args.block);
    args.shared_bytes = (uint32_t)HB_MAX(number(e, HB_NAMED_LDS), 0);
    args.stream = has(e, HB_NAMED_STREAM) ? (uint64_t)number(e, HB_NAMED_STREAM) : 0;
    args.ptr = has(e, HB_NAMED_ADDRESS) ? (uint64_t)number(e, HB_NAMED_ADDRESS) : 0;
    args.src = has(e, HB_NAMED_SOURCE) ? (uint64_t)number(e, HB_NAMED_SOURCE) : 0;
    args.bytes = (uint64_t)HB_MAX(number(e, HB_NAMED_BYTES), 0);
    if (has(e, HB_NAMED_KIND)) hb_import_take_arg(&args, HB_STR(""), HB_STR("kind"), e->kind);
    host->args = hb_import_add_args(arena, rows, &args);
}

/* ---- device work ---- */

/* The number behind the last such word of a row's name, as in "COMPUTE AGENT [4] QUEUE [1] (GPU)";
 * -1: there is none. */
static int64_t number_behind(hb_str track, const char *word)
{
    size_t n = strlen(word);
    int64_t found = -1;
    for (uint32_t i = 0; i + n < track.len; i++) {
        if (!hb_import_has_word((hb_str){track.s + i, (uint32_t)n}, word)) continue;
        uint32_t k = i + (uint32_t)n;
        while (k < track.len && strchr(" [#(\"", track.s[k]))
            k++;
        if (k < track.len && track.s[k] >= '0' && track.s[k] <= '9')
            found = (int64_t)strtoull(track.s + k, NULL, 10);
    }
    return found;
}

/* What an arg tells, else the row's name. */
static int64_t told(const hb_named_event *e, hb_named_arg arg, const char *word)
{
    return number(e, arg) >= 0 ? number(e, arg) : number_behind(e->track, word);
}

/* What is told as a GPU stays one; agents are marked, and numbered in the end. */
enum { AGENT = 1 << 20 };

static int32_t gpu_of(const hb_named_event *e)
{
    int64_t device = told(e, HB_NAMED_DEVICE, "GPU");
    if (device < 0) device = number_behind(e->track, "DEVICE");
    if (device >= 0) return (int32_t)HB_MIN(device, (int64_t)1023);
    int64_t agent = told(e, HB_NAMED_AGENT, "AGENT");
    return agent >= 0 ? AGENT + (int32_t)HB_MIN(agent, (int64_t)AGENT - 1) : 0;
}

static void set_copy(hb_import_launch *l, const hb_named_event *e, hb_str name, int32_t gpu)
{
    bool fills = l->kind == HB_EVENT_MEMSET;
    bool from_host = hb_import_has_word(name, "HOST_TO_") || hb_import_has_word(name, "HTO") ||
                     hb_import_has_word(name, "HOSTTO");
    bool to_host = hb_import_has_word(name, "_TO_HOST") || hb_import_has_word(name, "DTOH") ||
                   hb_import_has_word(name, "HTOH") || hb_import_has_word(name, "TOHOST");
    int32_t from = from_host ? -1 : gpu, to = to_host ? -1 : gpu;
    if (has(e, HB_NAMED_FROM) && has(e, HB_NAMED_TO)) {
        from = (int32_t)HB_MIN(HB_MAX(number(e, HB_NAMED_FROM), 0), (int64_t)1023);
        to = (int32_t)HB_MIN(HB_MAX(number(e, HB_NAMED_TO), 0), (int64_t)1023);
    }
    hb_import_set_copy(l, from, to, (uint64_t)HB_MAX(number(e, HB_NAMED_BYTES), 0), fills);
    l->device = gpu;
    bool told = from_host || to_host || fills || hb_import_has_word(name, "DTOD") ||
                hb_import_has_word(name, "PTOP") || hb_import_has_word(name, "DEVICE_TO") ||
                hb_import_has_word(name, "DEVICETO");
    if (!told) l->copy = HB_IMPORT_COPY_UNKNOWN;
}

static uint32_t count(const hb_named_event *e, hb_named_arg arg)
{
    return (uint32_t)HB_MIN(HB_MAX(number(e, arg), 0), (int64_t)UINT32_MAX);
}

static void set_grid(hb_import_launch *l, const hb_named_event *e)
{
    for (int i = 0; i < 3; i++) {
        bool each = has(e, HB_NAMED_GRID_X);
        l->grid[i] = each ? count(e, (hb_named_arg)(HB_NAMED_GRID_X + i)) : e->grid[i];
        l->block[i] = each ? count(e, (hb_named_arg)(HB_NAMED_BLOCK_X + i)) : e->block[i];
    }
}

static void set_kernel(hb_import_launch *l, const hb_named_event *e)
{
    const uint64_t both = UINT64_C(1) << HB_NAMED_GRID | UINT64_C(1) << HB_NAMED_BLOCK;
    l->has_grid = (e->given & both) == both || has(e, HB_NAMED_GRID_X);
    if (l->has_grid) set_grid(l, e);
    l->has_resources = has(e, HB_NAMED_VGPRS);
    l->lds_bytes = count(e, HB_NAMED_LDS);
    l->scratch_bytes = count(e, HB_NAMED_SCRATCH);
    if (!l->has_resources) return;
    l->vgprs = count(e, HB_NAMED_VGPRS);
    l->agprs = count(e, HB_NAMED_AGPRS);
    l->sgprs = count(e, HB_NAMED_SGPRS);
}

static void add_work(hb_import *import, hb_import_process *p, const hb_named_event *e, hb_kind kind)
{
    hb_import_launch l;
    hb_import_rows *rows = &p->rows;
    hb_arena *arena = &import->arena;
    hb_str name = hb_texts_get(rows->texts, e->name);
    int32_t gpu = gpu_of(e);
    bool kernel = kind == HB_KIND_KERNEL;
    if (!kernel && hb_import_drops(import, p, HB_IMPORT_COPIES)) return;
    memset(&l, 0, sizeof l);
    l.kind = kernel ? HB_EVENT_KERNEL : kind == HB_KIND_MEMCPY ? HB_EVENT_MEMCPY : HB_EVENT_MEMSET;
    l.device = gpu;
    if (kernel)
        set_kernel(&l, e);
    else
        set_copy(&l, e, name, gpu);
    int64_t stream = told(e, HB_NAMED_STREAM, "STREAM");
    int64_t queue = told(e, HB_NAMED_QUEUE, "QUEUE");
    if (has(e, HB_NAMED_HIP_STREAM)) { /* then the rows were queues */
        queue = stream;
        stream = number(e, HB_NAMED_HIP_STREAM);
    }
    hb_import_work *work = hb_import_push(arena, &rows->works);
    work->start = e->start;
    work->end = e->end;
    work->correlation = (uint64_t)HB_MAX(number(e, HB_NAMED_CORRELATION), 0);
    work->name = e->name;
    work->launch = hb_import_distinct(arena, &rows->launches, &l);
    work->lane = hb_import_lane_at(arena, rows, gpu, queue, stream);
    if (!kernel || !e->num_values || hb_import_drops(import, p, HB_IMPORT_COUNTERS)) return;
    for (uint32_t i = 0; i < e->num_values; i++)
        hb_import_add_value(arena, rows, work, e->values[i].name, e->values[i].value);
    rows->notes[HB_IMPORT_MANY_VALUES] += e->values_left_out;
    p->serialised = true;
}

/* Operators that the plugin was shown of calls; steps that were found. Their ids lie where no
 * program's count comes to; others' ids that are no counts may be larger. */
static bool is_made_up(const hb_named_event *e, hb_kind kind)
{
    bool scope = kind == HB_KIND_OPERATOR || kind == HB_KIND_ANNOTATION;
    int64_t id = number(e, HB_NAMED_EXTERNAL);
    return scope && (has(e, HB_NAMED_MADE) || (id >= INT64_C(1) << 51 && id < INT64_C(1) << 53));
}

void hb_named_event_add(hb_import *import, hb_import_process *p, hb_named_event *e)
{
    hb_import_rows *rows = &p->rows;
    hb_kind kind = e->kind_of;
    bool memory = e->instant && has(e, HB_NAMED_BYTES) && has(e, HB_NAMED_TOTAL);
    if (!hb_import_times(rows, e->start, &e->end)) return;
    if (!e->name && !memory) {
        rows->notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    if (memory) {
        add_memory(import, p, e);
        return;
    }
    if (is_made_up(e, kind)) return;
    switch (kind) {
    case HB_KIND_KERNEL:
    case HB_KIND_MEMCPY:
    case HB_KIND_MEMSET: add_work(import, p, e, kind); break;
    case HB_KIND_OPERATOR:
    case HB_KIND_ANNOTATION:
    case HB_KIND_PYTHON:
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL: add_host(import, p, e, kind); break;
    default: rows->notes[HB_IMPORT_NOT_SHOWN]++; break;
    }
}

void hb_named_events_finish(hb_import *import, hb_import_process *p)
{
    bool agents = false;
    for (uint32_t i = 1; i < p->rows.lanes.items.count; i++)
        agents |= ((const hb_import_lane *)hb_column_at(&p->rows.lanes.items, i))->device >= AGENT;
    if (agents) hb_import_number_gpus(&import->arena, &p->rows);
}
