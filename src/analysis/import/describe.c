/* SPDX-License-Identifier: MIT */
#include "import/describe.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/times.h"
#include "import/sum_counters.h"

static const struct {
    const char *key, *text;
    bool unknown;
} notes[] = {
#define NOTE(key, text, unknown) {#key, text, unknown},
    HB_IMPORT_NOTES(NOTE)
#undef NOTE
};

/* ---- rows of the trace ---- */

static void list_threads(hb_import *import, hb_import_process *p)
{
    const hb_import_rows *r = &p->rows;
    uint32_t n = r->threads.items.count;
    p->threads = HB_NEW_ARRAY(&import->arena, hb_thread_info, n);
    p->info.threads = p->threads;
    for (uint32_t i = 1; i < n; i++) {
        const hb_import_thread *t = hb_column_at(&r->threads.items, i);
        const char *name = t->name ? hb_texts_get(r->texts, t->name).s : "";
        p->threads[p->info.num_threads++] = (hb_thread_info){t->tid, name};
    }
}

static bool stream_before(const void *context, const void *a, const void *b)
{
    const hb_stream_info *x = a, *y = b;
    (void)context;
    return x->device != y->device ? x->device < y->device : x->stream < y->stream;
}

static void list_streams(hb_import *import, hb_import_process *p)
{
    const hb_import_rows *r = &p->rows;
    uint32_t n = r->lanes.items.count;
    size_t kept = 0;
    hb_stream_info *all = p->streams = HB_NEW_ARRAY(&import->arena, hb_stream_info, n);
    for (uint32_t i = 1; i < n; i++) {
        const hb_import_lane *lane = hb_column_at(&r->lanes.items, i);
        all[i - 1] = (hb_stream_info){lane->device, hb_import_row_of(r, lane)};
    }
    hb_sort(&import->arena, all, n - 1, sizeof *all, stream_before, NULL);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (!kept || stream_before(NULL, &all[kept - 1], &all[i])) all[kept++] = all[i];
    p->info.streams = all;
    p->info.num_streams = kept;
}

/* A node's other GPUs are listed, too: those behind the last one that was used are left out. */
static int32_t last_gpu(const hb_import_process *p)
{
    int32_t last = -1;
    for (size_t i = 0; i < p->info.num_streams; i++)
        last = HB_MAX(last, p->info.streams[i].device);
    for (uint32_t i = 0; i < p->rows.memory.count; i++)
        last = HB_MAX(last, ((const hb_import_memory *)hb_column_at(&p->rows.memory, i))->device);
    return last;
}

static bool device_before(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const hb_device_info *)a)->id < ((const hb_device_info *)b)->id;
}

static void list_devices(hb_import *import, hb_import_process *p, int32_t last)
{
    hb_device_info *all = p->rows.devices.items;
    uint32_t n = p->rows.devices.count;
    hb_sort(&import->arena, all, n, sizeof *all, device_before, NULL);
    p->info.devices = all;
    while (p->info.num_devices < n && all[p->info.num_devices].id <= last)
        p->info.num_devices++;
}

/* ---- names ---- */

/* By the process, and where neither it nor its machine is known by the files' names. */
static void set_worker(hb_import_process *p)
{
    bool named = *p->name && !*p->host && p->pid <= 0;
    const char *host = *p->host ? p->host : "process";
    if (named)
        snprintf(p->worker, sizeof p->worker, "%.200s", p->name);
    else
        snprintf(p->worker, sizeof p->worker, "%.200s_%lld", host, (long long)p->pid);
    for (char *c = p->worker; *c; c++)
        if (*c == '/' || (named && *c == '.') || iscntrl((unsigned char)*c)) *c = '_';
}

/* By when the recording ended, as torch names its traces: several of one ring may begin at one
 * instant. No two files of one import have one name: the last one of a worker has its latest time.
 */
static void set_file_time(hb_import *import, size_t index)
{
    hb_import_process *p = import->processes[index];
    hb_str worker = {p->worker, (uint32_t)strlen(p->worker)};
    bool added;
    p->file_time = HB_MAX(p->info.stop_ns, 0);
    hb_string_id name = hb_import_text(&import->arena, &p->rows, worker);
    hb_dict_entry *last = hb_dict_add(&import->arena, &import->workers, name, &added);
    if (!added && import->processes[last->value]->file_time >= p->file_time)
        p->file_time = import->processes[last->value]->file_time + 1;
    last->value = (uint32_t)index;
}

static uint64_t hash(const char *text, uint64_t seed)
{
    for (; *text; text++)
        seed = (seed ^ (unsigned char)*text) * 1099511628211u;
    return seed;
}

/* The same for the same recording. */
static void set_trace_id(hb_import_process *p)
{
    uint64_t high = hash(p->id, 14695981039346656037u ^ (uint64_t)p->pid);
    uint64_t low = hash(p->worker, high ^ (uint64_t)p->rows.first ^ (uint64_t)p->rows.last << 1);
    snprintf(p->trace_id, sizeof p->trace_id, "%016llX%016llX", (unsigned long long)high,
             (unsigned long long)low);
    p->info.trace_id = p->trace_id;
}

static void set_rank(hb_import_process *p)
{
    if (p->rank < 0 || p->world < 1) return;
    snprintf(p->distributed, sizeof p->distributed,
             "{\"backend\": \"nccl\", \"rank\": %lld, \"world_size\": %lld}", (long long)p->rank,
             (long long)p->world);
    p->info.distributed_json = p->distributed;
}

/* ---- what people see ---- */

static void count_rows(hb_import_process *p)
{
    hb_imported *s = &p->shown;
    const hb_import_rows *r = &p->rows;
    for (uint32_t i = 0; i < r->works.count; i++) {
        const hb_import_work *work = hb_column_at(&r->works, i);
        bool kernel = hb_import_launch_of(r, work)->kind == HB_EVENT_KERNEL;
        s->kernels += kernel;
        s->copies += !kernel;
        s->counters += work->num_values > 0;
        if (kernel) hb_add_ns(&s->kernel_ns, work->end - work->start);
    }
    s->calls = r->calls.count;
    s->ranges = r->scopes.count;
    s->allocations = r->memory.count;
    s->samples = r->samples.count;
    s->linked = r->linked;
    s->threads = p->info.num_threads;
    s->streams = p->info.num_streams;
    s->gpus = (uint64_t)(last_gpu(p) + 1);
}

static const char *clock_text(const hb_import *import, const hb_import_process *p)
{
    if (p->clock_is_unix) return "told by the file";
    if (import->options.end_time_ns) return "time since boot, its end as given";
    return "time since boot, its end when the file was last written: off by seconds or, of a file "
           "that was copied, by far more";
}

static void show(const hb_import *import, hb_import_process *p)
{
    size_t n = 0;
    for (size_t i = 0; i < HB_IMPORT_NOTE_COUNT; i++)
        if (p->rows.notes[i])
            p->shown_notes[n++] =
                (hb_imported_note){notes[i].key, notes[i].text, p->rows.notes[i], notes[i].unknown};
    p->shown = (hb_imported){
        .path = p->path,
        .format = p->format,
        .version = p->version,
        .host = p->host,
        .program = p->program,
        .worker = p->worker,
        .pid = p->pid,
        .rank = p->rank,
        .clock = clock_text(import, p),
        .steps = "",
        .start_ns = p->info.start_ns,
        .end_ns = p->info.stop_ns,
        .notes = p->shown_notes,
        .num_notes = n,
    };
    count_rows(p);
}

/* ---- what the trace says ---- */

static void put_text(hb_buf *buf, const char *key, const char *text)
{
    hb_buf_printf(buf, "\"%s\": ", key);
    hb_buf_json_string(buf, text, strlen(text));
    hb_buf_str(buf, ", ");
}

static void put_count(hb_buf *buf, const char *key, uint64_t count)
{
    if (count) hb_buf_printf(buf, "\"%s\": %llu, ", key, (unsigned long long)count);
}

static void put_notes(hb_buf *buf, const hb_imported *s, const char *key, bool unknown)
{
    const char *separator = "";
    hb_buf_printf(buf, "\"%s\": {", key);
    for (size_t i = 0; i < s->num_notes; i++) {
        const hb_imported_note *note = &s->notes[i];
        if (note->unknown != unknown) continue;
        hb_buf_printf(buf, "%s\"", separator);
        for (const char *c = note->key; *c; c++) {
            char lower = (char)tolower((unsigned char)*c);
            hb_buf_append(buf, &lower, 1);
        }
        hb_buf_printf(buf, "\": %llu", (unsigned long long)note->count);
        separator = ", ";
    }
    hb_buf_str(buf, unknown ? "}}" : "}, ");
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

hb_result hb_describe_steps(hb_import_process *p)
{
    hb_buf *buf = &p->metadata_json;
    const hb_imported *s = &p->shown;
    p->shown.steps = p->steps;
    buf->size = 0;
    hb_buf_str(buf, "{");
    put_text(buf, "format", s->format);
    if (*s->version) put_text(buf, "version", s->version);
    put_text(buf, "file", base_name(s->path));
    put_text(buf, "clock", s->clock);
    put_text(buf, "steps", s->steps);
    if (s->rank >= 0) hb_buf_printf(buf, "\"rank\": %lld, ", (long long)s->rank);
    put_count(buf, "kernels", s->kernels);
    put_count(buf, "copies", s->copies);
    put_count(buf, "calls", s->calls);
    put_count(buf, "ranges", s->ranges);
    put_count(buf, "allocations", s->allocations);
    put_count(buf, "samples", s->samples);
    put_count(buf, "kernels_with_counters", s->counters);
    put_count(buf, "linked", s->linked);
    if (p->counters_json.size) {
        hb_buf_str(buf, "\"counters\": ");
        hb_buf_append(buf, p->counters_json.data, p->counters_json.size);
        hb_buf_str(buf, ", ");
    }
    if (p->serialised) hb_buf_str(buf, "\"serialised\": true, ");
    put_notes(buf, s, "changed", false);
    put_notes(buf, s, "unknown", true);
    p->metadata.json = hb_buf_text(buf);
    return buf->failed ? hb_no_memory() : HB_OK;
}

void hb_describe(hb_import *import, size_t index)
{
    hb_import_process *p = import->processes[index];
    hb_buf_init(&p->metadata_json, (size_t)1 << 28);
    hb_buf_init(&p->counters_json, (size_t)1 << 27);
    hb_sum_counters(&import->arena, &p->rows, &p->counters_json);
    set_worker(p);
    p->info = (hb_trace_info){
        .start_ns = p->rows.first + p->offset,
        .stop_ns = p->rows.last + p->offset,
        .pid = p->pid,
        .process_name = p->program,
        .host_name = *p->host ? p->host : NULL,
        .profile_memory = p->rows.memory.count > 0,
    };
    /* Sources that are put around the process's copy its info before the steps are known. */
    p->metadata = (hb_metadata){"hipboard_import", "{}"};
    p->info.metadata = &p->metadata;
    p->info.num_metadata = 1;
    list_threads(import, p);
    list_streams(import, p);
    int32_t last = last_gpu(p);
    list_devices(import, p, last);
    set_file_time(import, index);
    set_trace_id(p);
    set_rank(p);
    show(import, p);
}

void hb_describe_free(hb_import_process *p)
{
    hb_buf_free(&p->metadata_json);
    hb_buf_free(&p->counters_json);
}
