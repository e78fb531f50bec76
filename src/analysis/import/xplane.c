/* SPDX-License-Identifier: MIT
 *
 * XSpace, what JAX's and TensorFlow's profilers write (.xplane.pb): planes of GPUs and of the host,
 * in them lines of events; names and statistics are numbers of the plane's own tables.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "import/demangle.h"
#include "import/import_set.h"
#include "import/rows_shared.h"
#include "import/whole_file.h"
#include "import/wire.h"
#include "rules/name_class.h"

/* The statistics that mean something. */
typedef enum stat_kind {
    OTHER,
    CORRELATION,
    KERNEL_DETAILS,
    COPY_DETAILS,
    FILL_DETAILS,
    HLO_OP,
    DEVICE,
    STEP,
    START_TIME,
    GPU_NAME,
    VENDOR,
    CORES,
    MEMORY_SIZE,
    MAJOR,
    MINOR,
} stat_kind;

typedef struct plane {
    hb_str name;
    hb_dict events, stats, kinds; /* ids to texts; stats also to their kind */
    int32_t gpu;                  /* -1: the host */
} plane;

typedef struct span {
    int64_t start, end;
} span;

typedef struct xspace {
    hb_import *import;
    hb_arena *arena;
    hb_import_process *p;
    char *text;
    int64_t start; /* Unix time of time 0; 0: not told */
    uint32_t lines;
    hb_string_id step_name; /* of the ranges that are steps; 0: none so far */
    HB_VEC(span) steps;     /* of the line that is being read */
} xspace;

static hb_string_id intern(xspace *x, hb_str text)
{
    return hb_import_text(x->arena, &x->p->rows, text);
}

static hb_str text_of(const xspace *x, hb_string_id id)
{
    return hb_texts_get(&x->import->texts, id);
}

static stat_kind kind_of(hb_str name)
{
    static const struct {
        const char *name;
        stat_kind kind;
    } kinds[] = {
        {"correlation_id", CORRELATION},
        {"kernel_details", KERNEL_DETAILS},
        {"memcpy_details", COPY_DETAILS},
        {"Memset_details", FILL_DETAILS},
        {"hlo_op", HLO_OP},
        {"device_id", DEVICE},
        {"step_num", STEP},
        {"profile_start_time", START_TIME},
        {"gpu_device_name", GPU_NAME},
        {"device_vendor", VENDOR},
        {"core_count", CORES},
        {"memory_size", MEMORY_SIZE},
        {"compute_cap_major", MAJOR},
        {"compute_cap_minor", MINOR},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(kinds); i++)
        if (hb_str_is(name, kinds[i].name)) return kinds[i].kind;
    return OTHER;
}

/* An entry of a table: its key, then a message with id and name. */
static void take_entry(xspace *x, plane *p, hb_wire w, bool stats)
{
    hb_wire_field field, part;
    uint64_t id = 0;
    hb_string_id name = 0;
    while (hb_wire_next(&w, &field)) {
        if (field.number == 1) id = field.value;
        if (field.number != 2) continue;
        hb_wire inside = hb_wire_inside(&field);
        while (hb_wire_next(&inside, &part))
            if (part.number == 2) name = intern(x, hb_wire_text(&part));
    }
    hb_dict_set(x->arena, stats ? &p->stats : &p->events, id, name);
    if (stats) hb_dict_set(x->arena, &p->kinds, id, kind_of(text_of(x, name)));
}

/* A statistic's value. A reference is to a statistic's name. */
typedef struct stat_value {
    stat_kind kind;
    int64_t number;
    hb_str text;
} stat_value;

static stat_value take_stat(const xspace *x, const plane *p, hb_wire w)
{
    hb_wire_field field;
    stat_value v = {OTHER, 0, {"", 0}};
    while (hb_wire_next(&w, &field)) {
        const hb_dict_entry *entry;
        switch (field.number) {
        case 1:
            entry = hb_dict_get(&p->kinds, field.value);
            v.kind = entry ? (stat_kind)entry->value : OTHER;
            break;
        case 3:
        case 4: v.number = (int64_t)field.value; break;
        case 5: v.text = hb_wire_text(&field); break;
        case 7:
            entry = hb_dict_get(&p->stats, field.value);
            if (entry) v.text = text_of(x, entry->value);
            break;
        default: break;
        }
    }
    return v;
}

/* ---- events ---- */

typedef struct event {
    hb_string_id name;
    int64_t start, end;
    uint64_t correlation;
    int64_t step;   /* -1: none */
    bool on_device; /* it tells of which one it is about */
    hb_str kernel, copy, fill, hlo;
} event;

static int64_t ns_of(uint64_t ps)
{
    return (int64_t)(ps / 1000);
}

static event take_event(const xspace *x, const plane *p, int64_t line_start, hb_wire w)
{
    hb_wire_field field;
    uint64_t offset = 0, duration = 0;
    event e = {.step = -1, .kernel = {"", 0}, .copy = {"", 0}, .fill = {"", 0}, .hlo = {"", 0}};
    while (hb_wire_next(&w, &field)) {
        if (field.number == 1) {
            const hb_dict_entry *entry = hb_dict_get(&p->events, field.value);
            e.name = entry ? entry->value : 0;
        }
        if (field.number == 2) offset = field.value;
        if (field.number == 3) duration = field.value;
        if (field.number != 4) continue;
        stat_value v = take_stat(x, p, hb_wire_inside(&field));
        if (v.kind == CORRELATION) e.correlation = (uint64_t)HB_MAX(v.number, 0);
        if (v.kind == KERNEL_DETAILS) e.kernel = v.text;
        if (v.kind == COPY_DETAILS) e.copy = v.text;
        if (v.kind == FILL_DETAILS) e.fill = v.text;
        if (v.kind == HLO_OP) e.hlo = v.text;
        if (v.kind == STEP) e.step = v.number;
        e.on_device |= v.kind == DEVICE;
    }
    e.start = line_start + ns_of(offset);
    e.end = e.start + ns_of(duration);
    return e;
}

/* What stands behind a word, as 16,1,1 behind "grid:"; how many numbers. */
static int numbers_behind(hb_str text, const char *word, uint64_t *to, int most)
{
    size_t n = strlen(word);
    const char *at = text.len ? memmem(text.s, text.len, word, n) : NULL;
    const char *end = text.s + text.len;
    int count = 0;
    if (!at) return 0;
    for (at += n; at < end && count < most; at++) {
        if (*at < '0' || *at > '9') break;
        uint64_t v = 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            v = HB_MIN(v * 10 + (uint64_t)(*at - '0'), (uint64_t)UINT32_MAX);
        to[count++] = v;
        if (at == end || *at != ',') break;
    }
    return count;
}

/* ROCm's older profiler writes registers, none of which are true: CUPTI's are taken, which tells of
 * two kinds of shared memory. */
static void set_kernel(hb_import_launch *l, hb_str details)
{
    uint64_t grid[3], block[3], bytes, registers;
    l->has_grid = numbers_behind(details, "grid:", grid, 3) == 3 &&
                  numbers_behind(details, "block:", block, 3) == 3;
    for (int i = 0; l->has_grid && i < 3; i++) {
        l->grid[i] = (uint32_t)grid[i];
        l->block[i] = (uint32_t)block[i];
    }
    if (numbers_behind(details, "group_mem:", &bytes, 1)) l->lds_bytes = (uint32_t)bytes;
    if (numbers_behind(details, "private_mem:", &bytes, 1)) l->scratch_bytes = (uint32_t)bytes;
    if (!numbers_behind(details, "static_shared:", &bytes, 1)) return;
    l->lds_bytes = (uint32_t)bytes;
    if (numbers_behind(details, "dynamic_shared:", &bytes, 1))
        l->lds_bytes += (uint32_t)HB_MIN(bytes, (uint64_t)(UINT32_MAX - l->lds_bytes));
    l->has_resources = numbers_behind(details, "regs:", &registers, 1) == 1;
    if (l->has_resources) l->vgprs = (uint32_t)registers;
}

static void set_copy(hb_import_launch *l, int32_t gpu, hb_str name, hb_str details)
{
    uint64_t bytes = 0;
    (void)numbers_behind(details, "size:", &bytes, 1);
    bool from_host = hb_import_has_word(name, "H2D") || hb_import_has_word(name, "HOSTTO") ||
                     hb_str_has(details, "kind_src:pageable") ||
                     hb_str_has(details, "kind_src:pinned");
    bool to_host = hb_import_has_word(name, "D2H") || hb_import_has_word(name, "TOHOST") ||
                   hb_str_has(details, "kind_dst:pageable") ||
                   hb_str_has(details, "kind_dst:pinned");
    hb_import_set_copy(l, from_host ? -1 : gpu, to_host ? -1 : gpu, bytes, false);
}

static void set_fill(hb_import_launch *l, int32_t gpu, hb_str details)
{
    uint64_t bytes = 0;
    (void)numbers_behind(details, "num_bytes:", &bytes, 1);
    hb_import_set_copy(l, gpu, gpu, bytes, true);
}

static void add_work(xspace *x, const plane *p, int64_t stream, event *e)
{
    hb_import_launch l;
    hb_import_rows *rows = &x->p->rows;
    hb_str name = text_of(x, e->name);
    bool copy_named = hb_str_begins(name, "Memcpy") || hb_str_begins(name, "Copy");
    bool fills = e->fill.len || (hb_str_begins(name, "Memset") && !e->kernel.len);
    bool copies = !fills && (e->copy.len || (copy_named && !e->kernel.len));
    bool kernel = !copies && !fills;
    if (!kernel && hb_import_drops(x->import, x->p, HB_IMPORT_COPIES)) return;
    if (!hb_import_times(rows, e->start, &e->end)) return;
    memset(&l, 0, sizeof l);
    l.kind = HB_EVENT_KERNEL;
    if (copies)
        set_copy(&l, p->gpu, name, e->copy);
    else if (fills)
        set_fill(&l, p->gpu, e->fill);
    else
        set_kernel(&l, e->kernel);
    l.device = p->gpu;
    hb_import_work *work = hb_import_push(x->arena, &rows->works);
    work->start = e->start;
    work->end = e->end;
    work->correlation = e->correlation;
    work->name = kernel ? hb_import_kernel_name(x->arena, &x->import->texts, name) : 0;
    work->launch = hb_import_distinct(x->arena, &rows->launches, &l);
    work->lane = hb_import_lane_at(x->arena, rows, p->gpu, -1, stream);
}

static void add_host(xspace *x, uint32_t thread, const event *e, hb_string_id name, bool call,
                     unsigned flags)
{
    hb_import_rows *rows = &x->p->rows;
    int64_t end = e->end;
    if (hb_import_drops(x->import, x->p, call ? HB_IMPORT_HIP : HB_IMPORT_RANGES) ||
        !hb_import_times(rows, e->start, &end))
        return;
    hb_import_host *host = hb_import_push(x->arena, call ? &rows->calls : &rows->scopes);
    *host = (hb_import_host){.start = e->start,
                             .end = end,
                             .correlation = call ? e->correlation : 0,
                             .name = name,
                             .thread = thread,
                             .flags = flags};
}

/* Since 2026 XLA calls a call of CUDA's that launches as what it launches. */
static hb_string_id call_name(xspace *x, const event *e)
{
    hb_str name = text_of(x, e->name);
    if (hb_str_begins(name, "hip") || hb_str_begins(name, "cu")) return e->name;
    if (hb_str_begins(name, "Memcpy")) return intern(x, HB_STR("copy"));
    if (hb_str_begins(name, "Memset")) return intern(x, HB_STR("fill"));
    return intern(x, HB_STR("launch"));
}

/* jax.profiler.StepTraceAnnotation; within one of a name those of another are parts of it. */
static void add_step(xspace *x, uint32_t thread, const event *e)
{
    char name[40];
    if (!x->step_name) x->step_name = e->name;
    if (x->step_name != e->name) return;
    int n = snprintf(name, sizeof name, HB_STEP_PREFIX "%lld", (long long)e->step);
    add_host(x, thread, e, intern(x, (hb_str){name, (uint32_t)n}), false, HB_IMPORT_ANNOTATION);
    *HB_PUSH(x->arena, &x->steps) = (span){e->start, e->end};
}

static int by_start(const void *a, const void *b)
{
    const span *s = a, *t = b;
    return (s->start > t->start) - (s->start < t->start);
}

/* How many steps begin before then. */
static uint32_t steps_before(const xspace *x, int64_t time)
{
    uint32_t low = 0, high = x->steps.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (x->steps.items[middle].start < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A step begins within the frame of Python's that made it, and ends within another one. So that the
 * step, and all that is in it, is no crooked one, the frame ends where it begins. */
static void cut_frames(xspace *x, uint32_t first)
{
    const hb_column *scopes = &x->p->rows.scopes;
    if (!x->steps.count) return;
    qsort(x->steps.items, x->steps.count, sizeof *x->steps.items, by_start);
    for (uint32_t i = first; i < scopes->count; i++) {
        hb_import_host *host = hb_column_at(scopes, i);
        if (!hb_str_begins(text_of(x, host->name), "$")) continue;
        uint32_t n = steps_before(x, host->start);
        const span *around = n ? &x->steps.items[n - 1] : NULL;
        if (around && host->start < around->end && around->end < host->end)
            host->start = around->end;
        n = steps_before(x, host->end);
        const span *last = n ? &x->steps.items[n - 1] : NULL;
        if (last && host->start < last->start && host->end < last->end) host->end = last->start;
    }
    x->steps.count = 0;
}

/* A call that launches for an operator of XLA's stands in that; Python's frames are no operators.
 */
static void add_on_host(xspace *x, uint32_t thread, const event *e)
{
    hb_str name = text_of(x, e->name);
    bool call =
        e->correlation && (hb_str_begins(name, "hip") || hb_str_begins(name, "cu") || e->on_device);
    if (!e->name || !name.len) {
        x->p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    if (e->step >= 0) add_step(x, thread, e);
    if (call && e->hlo.len) add_host(x, thread, e, intern(x, e->hlo), false, 0);
    unsigned flags = hb_import_is_minor(name) ? HB_IMPORT_MINOR : 0;
    if (hb_str_begins(name, "$")) flags |= HB_IMPORT_ANNOTATION;
    add_host(x, thread, e, call ? call_name(x, e) : e->name, call, flags);
}

/* ---- lines and planes ---- */

static void take_line(xspace *x, const plane *p, hb_wire line)
{
    hb_wire_field field;
    hb_wire w = line;
    uint64_t id = 0;
    int64_t start = 0;
    hb_str name = {"", 0};
    while (hb_wire_next(&w, &field)) {
        if (field.number == 1) id = field.value;
        if (field.number == 2) name = hb_wire_text(&field);
        if (field.number == 3) start = (int64_t)HB_MIN(field.value, (uint64_t)INT64_MAX / 4);
    }
    bool small = id < UINT64_C(1) << 31;
    int64_t number = small ? (int64_t)id : INT64_C(1) << 31 | ++x->lines;
    uint32_t thread = p->gpu < 0 ? hb_import_thread_of(x->arena, &x->p->rows, number,
                                                       name.len ? intern(x, name) : 0)
                                 : 0;
    uint32_t first = x->p->rows.scopes.count;
    while (hb_wire_next(&line, &field)) {
        if (field.number != 4) continue;
        event e = take_event(x, p, start, hb_wire_inside(&field));
        if (p->gpu >= 0)
            add_work(x, p, number, &e);
        else
            add_on_host(x, thread, &e);
    }
    cut_frames(x, first);
    x->p->rows.notes[HB_IMPORT_LOST] += line.broken;
}

static void take_plane_stat(xspace *x, const plane *p, hb_device_info *device, hb_wire w)
{
    stat_value v = take_stat(x, p, w);
    if (v.kind == START_TIME) x->start = v.number;
    if (v.kind == VENDOR && hb_str_is(v.text, "Nvidia")) device->warp_size = 32;
    if (v.kind == GPU_NAME) device->name = hb_import_copy_text(x->import, v.text);
    if (v.kind == CORES) device->num_cus = (int32_t)HB_MIN(HB_MAX(v.number, 0), INT64_C(65536));
    if (v.kind == MEMORY_SIZE) device->total_global_mem = (uint64_t)HB_MAX(v.number, 0);
    if (v.kind == MAJOR) device->compute_major = (int32_t)(v.number & 0xff);
    if (v.kind == MINOR) device->compute_minor = (int32_t)(v.number & 0xff);
}

static int32_t gpu_of(hb_str name)
{
    static const char prefix[] = "/device:GPU:";
    if (!hb_str_begins(name, prefix)) return -1;
    uint64_t number;
    bool told = numbers_behind(name, prefix, &number, 1) == 1;
    return told && number < 1024 ? (int32_t)number : -1;
}

/* Tables before what names their rows. Planes that are no GPU's and no host's hold what XLA made of
 * the others. */
static void take_plane(xspace *x, hb_wire message)
{
    hb_wire_field field;
    plane p = {.gpu = -1};
    hb_device_info device = {.name = "", .arch = ""};
    for (hb_wire w = message; hb_wire_next(&w, &field);) {
        if (field.number == 2) p.name = hb_wire_text(&field);
        if (field.number == 4 || field.number == 5)
            take_entry(x, &p, hb_wire_inside(&field), field.number == 5);
    }
    device.id = p.gpu = gpu_of(p.name);
    bool host = p.name.s && hb_str_begins(p.name, "/host:CPU");
    while (hb_wire_next(&message, &field)) {
        if (field.number == 6) take_plane_stat(x, &p, &device, hb_wire_inside(&field));
        if (field.number == 3 && (host || p.gpu >= 0)) take_line(x, &p, hb_wire_inside(&field));
    }
    if (p.gpu >= 0 && (device.num_cus || device.total_global_mem))
        *HB_PUSH(x->arena, &x->p->rows.devices) = device;
}

/* ---- the file ---- */

static void close_file(void *context)
{
    xspace *x = context;
    free(x->text);
    x->text = NULL;
}

/* A plane whose name says so; its number may stand before that. */
bool hb_xplane_probe(const hb_import_probe *probe)
{
    size_t near = HB_MIN(probe->size, (size_t)4096);
    if (!probe->size || probe->head[0] != 0x0a) return false;
    return memmem(probe->head, near, "/host:", 6) || memmem(probe->head, near, "/device:", 8);
}

void hb_xplane_open(hb_import *import, const char *path)
{
    size_t size;
    hb_wire_field field;
    xspace *x = hb_arena_alloc(&import->arena, sizeof *x);
    x->import = import;
    x->arena = &import->arena;
    hb_import_guard(import, close_file, x);
    hb_result result = hb_whole_file(path, &x->text, &size);
    if (result != HB_OK) hb_arena_leave(x->arena, result, "%s", hb_last_error());
    x->p = hb_import_add_process(import, "XPlane", "");
    hb_wire w = hb_wire_of(x->text, size);
    while (hb_wire_next(&w, &field)) {
        if (field.number == 1) take_plane(x, hb_wire_inside(&field));
        if (field.number == 4) x->p->host = hb_import_copy_text(import, hb_wire_text(&field));
    }
    x->p->rows.notes[HB_IMPORT_LOST] += w.broken;
    x->p->clock_is_unix = x->start > 0;
    x->p->offset = x->start > 0 ? x->start : 0;
    hb_import_unguard(import);
}
