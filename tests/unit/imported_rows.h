/* SPDX-License-Identifier: MIT
 *
 * All that was imported of a file, as lines of text: each process with what is told of it, and each
 * of its rows with all that an event of it says. What is 0, empty or not told has no word.
 */
#ifndef HB_TEST_IMPORTED_ROWS_H
#define HB_TEST_IMPORTED_ROWS_H

#include "import/describe.h"
#include "import/import_set.h"
#include "imported.h"

typedef struct lines {
    char text[1 << 15];
    size_t size;
} lines;

__attribute__((format(printf, 2, 3))) static inline void put(lines *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(to->text + to->size, sizeof to->text - to->size, format, list);
    va_end(list);
    assert_true(n >= 0 && to->size + (size_t)n < sizeof to->text);
    to->size += (size_t)n;
}

static inline void put_number(lines *to, const char *name, uint64_t number)
{
    if (number) put(to, " %s %llu", name, (unsigned long long)number);
}

static inline void put_address(lines *to, const char *name, uint64_t address)
{
    if (address) put(to, " %s 0x%llx", name, (unsigned long long)address);
}

static inline void put_triple(lines *to, const char *name, const uint32_t number[3])
{
    if (number[0] || number[1] || number[2])
        put(to, " %s %u,%u,%u", name, number[0], number[1], number[2]);
}

static inline void put_text(lines *to, hb_str text)
{
    put(to, " '%.*s'", (int)text.len, text.len ? text.s : "");
}

/* ---- what is told of a process ---- */

static inline void put_device(lines *to, const hb_device_info *d)
{
    put(to, "gpu %d '%s' '%s'", d->id, d->name, d->arch);
    put_number(to, "memory", d->total_global_mem);
    if (d->compute_major || d->compute_minor)
        put(to, " version %d.%d", d->compute_major, d->compute_minor);
    put_number(to, "block", (uint64_t)d->max_threads_per_block);
    put_number(to, "threads", (uint64_t)d->max_threads_per_cu);
    put_number(to, "registers", (uint64_t)d->regs_per_block);
    put_number(to, "wave", (uint64_t)d->warp_size);
    put_number(to, "lds", d->shared_mem_per_block);
    put_number(to, "cus", (uint64_t)d->num_cus);
    put_number(to, "lds of a cu", d->max_shared_mem_per_cu);
    put_number(to, "khz", (uint64_t)d->clock_khz);
    put_number(to, "memory khz", (uint64_t)d->memory_khz);
    put_number(to, "bus", (uint64_t)d->memory_bus_bits);
    put(to, "\n");
}

static inline void put_process(lines *to, const hb_import_process *p)
{
    const hb_imported *s = &p->shown;
    put(to, "process %lld '%s' '%s' of %s", (long long)p->pid, p->program, p->host, s->format);
    if (*s->version) put(to, " %s", s->version);
    if (p->rank >= 0 || p->world >= 0)
        put(to, " rank %lld of %lld", (long long)p->rank, (long long)p->world);
    if (p->clock_is_unix) put(to, " at %lld", (long long)p->offset);
    put_number(to, "end", (uint64_t)p->clock_end);
    put(to, "%s\n", p->serialised ? " serialised" : "");
    for (size_t i = 0; i < s->num_notes; i++)
        put(to, "%s %llu\n", s->notes[i].key, (unsigned long long)s->notes[i].count);
    for (size_t i = 0; i < p->info.num_threads; i++)
        put(to, "thread %lld '%s'\n", (long long)p->info.threads[i].tid, p->info.threads[i].name);
    for (size_t i = 0; i < p->info.num_devices; i++)
        put_device(to, &p->info.devices[i]);
}

/* ---- events ---- */

/* What kind of row, where and when: host rows by their thread, others by GPU and row of it. */
static inline void put_place(lines *to, const hb_import_process *p, const hb_trace_event *e)
{
    static const char *const kinds[] = {
        [HB_EVENT_OP] = "op",           [HB_EVENT_USER_ANNOTATION] = "annotation",
        [HB_EVENT_MEMORY] = "memory",   [HB_EVENT_COUNTER] = "sample",
        [HB_EVENT_RUNTIME] = "call",    [HB_EVENT_SYNC] = "sync",
        [HB_EVENT_KERNEL] = "kernel",   [HB_EVENT_MEMCPY] = "copy",
        [HB_EVENT_MEMSET] = "fill",
    };
    assert_true(e->kind < sizeof kinds / sizeof *kinds && kinds[e->kind]);
    put(to, "%s ", kinds[e->kind]);
    if (e->device >= 0) put(to, "%d/", e->device);
    put(to, "%lld %lld", (long long)e->tid, (long long)(e->start_ns - p->offset));
    if (e->end_ns != e->start_ns) put(to, "-%lld", (long long)(e->end_ns - p->offset));
    if (e->name.len) put_text(to, e->name);
    if (e->flags & HB_TEV_UNFINISHED) put(to, " unfinished");
    if (e->flags & HB_TEV_MINOR) put(to, " minor");
    put_number(to, "no", e->correlation);
    put_number(to, e->kind == HB_EVENT_OP ? "id" : "in", e->external_id);
}

static inline void put_runtime(lines *to, const hb_runtime_args *r)
{
    if (r->launches) put(to, " launches");
    if (r->has_grid) put_triple(to, "grid", r->grid);
    if (r->has_grid) put_triple(to, "block", r->block);
    put_number(to, "lds", r->shared_bytes);
    put_address(to, "stream", r->stream);
    put_address(to, "ptr", r->ptr);
    put_address(to, "src", r->src);
    put_number(to, "bytes", r->bytes);
    if (r->kind.len) put(to, " kind %.*s", (int)r->kind.len, r->kind.s);
}

static inline void put_kernel(lines *to, const hb_kernel_args *k)
{
    if (k->has_grid) put_triple(to, "grid", k->grid);
    if (k->has_grid) put_triple(to, "block", k->block);
    if (k->has_resources) put(to, " registers %u,%u,%u", k->vgprs, k->agprs, k->sgprs);
    put_number(to, "lds", k->lds_bytes);
    put_number(to, "scratch", k->scratch_bytes);
    if (k->occupancy < 0) return;
    put(to, " blocks %g warps %g occupancy %g", k->blocks_per_sm, k->warps_per_sm, k->occupancy);
    if (k->limiting_factor) put(to, " by %s", k->limiting_factor);
}

static inline void put_copy(lines *to, const hb_copy_args *c)
{
    put_number(to, "bytes", c->bytes);
    if (c->kind) put(to, " %s", c->kind);
    put(to, " %d>%d", c->from_device, c->to_device);
}

static inline void put_event(lines *to, const hb_import_process *p, const hb_trace_event *e)
{
    put_place(to, p, e);
    switch (e->kind) {
    case HB_EVENT_MEMORY:
        put_address(to, "at", e->memory.addr);
        if (e->memory.device_type != HB_DEVICE_CPU) put(to, " gpu %d", e->memory.device_id);
        put(to, " %+lld = %lld", (long long)e->memory.bytes, (long long)e->memory.total_allocated);
        assert_int_equal(e->memory.total_reserved, e->memory.total_allocated);
        if (e->flags & HB_TEV_OUT_OF_MEMORY) put(to, " failed");
        break;
    case HB_EVENT_COUNTER:
        put(to, " %g", e->counter.value);
        if (e->counter.unit.len) put_text(to, e->counter.unit);
        break;
    case HB_EVENT_RUNTIME:
    case HB_EVENT_SYNC: put_runtime(to, &e->runtime); break;
    case HB_EVENT_KERNEL: put_kernel(to, &e->kernel); break;
    case HB_EVENT_MEMCPY:
    case HB_EVENT_MEMSET: put_copy(to, &e->copy); break;
    default: break;
    }
    for (uint32_t i = 0; i < e->num_args; i++) {
        const hb_arg *a = &e->args[i];
        put(to, " %s=%g", a->key, a->type == HB_ARG_DOUBLE ? a->f : (double)a->i);
    }
    put(to, "%s\n", e->flags & HB_TEV_NO_CALL ? " of no call" : "");
}

static inline void put_rows(lines *to, hb_import_process *p)
{
    static const hb_pass passes[] = {HB_PASS_HOST, HB_PASS_SCALARS, HB_PASS_DEVICE};
    hb_source *source;
    hb_trace_event e;
    assert_int_equal(hb_import_rows_source(p, &source), HB_OK);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        assert_int_equal(source->begin(source, passes[i]), HB_OK);
        while (source->next(source, &e))
            put_event(to, p, &e);
    }
    source->close(source);
}

/* ---- the whole ---- */

static inline hb_import *import_dropping(const char *path, const char *drop)
{
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    o.drop = drop;
    o.end_time_ns = INT64_C(1700000000000000000);
    hb_import *import = NULL; /* also of what needs no import */
    if (hb_import_open_any(path, &o, &import) != HB_OK) fail_msg("%s", hb_last_error());
    return import;
}

static inline void check_rows(const char *path, const char *drop, const char *expected)
{
    static lines found;
    size_t same = 0;
    hb_import *import = import_dropping(path, drop);
    found.size = 0;
    for (size_t i = 0; i < hb_import_count(import); i++) {
        put_process(&found, import->processes[i]);
        put_rows(&found, import->processes[i]);
    }
    hb_import_close(import);
    if (strcmp(found.text, expected) == 0) return;
    fprintf(stderr, "%s", found.text);
    while (found.text[same] && found.text[same] == expected[same])
        same++;
    while (same && found.text[same - 1] != '\n')
        same--;
    fail_msg("'%.*s' where '%.*s' should be", (int)strcspn(found.text + same, "\n"),
             found.text + same, (int)strcspn(expected + same, "\n"), expected + same);
}

/** How many rows are left of a file's processes where some are left out. */
typedef struct rows_left {
    const char *drop;
    unsigned kernels, copies, calls, ranges, allocations, samples, counters, dropped;
} rows_left;

static inline void check_drops(const char *path, const rows_left *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rows_left found = {.drop = rows[i].drop};
        hb_import *import = import_dropping(path, rows[i].drop);
        for (size_t k = 0; k < hb_import_count(import); k++) {
            const hb_imported *p = hb_import_get(import, k);
            found.kernels += (unsigned)p->kernels;
            found.copies += (unsigned)p->copies;
            found.calls += (unsigned)p->calls;
            found.ranges += (unsigned)p->ranges;
            found.allocations += (unsigned)p->allocations;
            found.samples += (unsigned)p->samples;
            found.counters += (unsigned)p->counters;
            found.dropped += (unsigned)note_of(p, "DROPPED");
        }
        hb_import_close(import);
        if (memcmp(&found, &rows[i], sizeof found) != 0)
            fail_msg("%s: %u kernels, %u copies, %u calls, %u ranges, %u allocations, %u samples, "
                     "%u with counters, %u dropped",
                     found.drop, found.kernels, found.copies, found.calls, found.ranges,
                     found.allocations, found.samples, found.counters, found.dropped);
    }
}

/** A text in which ' stands for ". */
static inline const char *keep_quoted(const char *name, const char *text)
{
    static char quoted[1 << 15];
    size_t n = strlen(text);
    assert_true(n < sizeof quoted);
    for (size_t i = 0; i <= n; i++)
        quoted[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    return keep_bytes(name, quoted, n);
}

#endif
