/* SPDX-License-Identifier: MIT
 *
 * What has to be known of a whole session before its first row: which call made which work, which
 * streams and devices there are, what ran under which user annotation, how far the clocks differ.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/times.h"
#include "replay/device_rows.h"

#define NO_ROW                                                                    \
    (1u << HB_RECORD_WORK | 1u << HB_RECORD_DISPATCH | 1u << HB_RECORD_LINK |     \
     1u << HB_RECORD_DEVICE | 1u << HB_RECORD_METADATA | 1u << HB_RECORD_FRAMES | \
     1u << HB_RECORD_GRAPH | 1u << HB_RECORD_SAMPLE)

/* ---- threads, calls, devices ---- */

static void add_node(hb_device_source *s, int32_t node, int32_t ordinal, bool certain)
{
    for (int i = 0; i < s->num_nodes; i++)
        if (s->nodes[i].node == node) return;
    if (s->num_nodes == MAX_NODES) return;
    s->nodes[s->num_nodes].node = node;
    s->nodes[s->num_nodes].ordinal = ordinal;
    s->nodes[s->num_nodes++].certain = certain;
}

static void add_device(hb_device_source *s, const hb_record_device *r)
{
    if (r->node >= 0) add_node(s, r->node, r->id, true);
    hb_device_info d = {
        .id = r->id,
        .name = hb_device_text(s, r->head.name).s,
        .arch = hb_device_text(s, r->arch).s,
        .total_global_mem = r->total_global_mem,
        .compute_major = r->compute_major,
        .compute_minor = r->compute_minor,
        .max_threads_per_block = r->max_threads_per_block,
        .max_threads_per_cu = r->max_threads_per_cu,
        .regs_per_block = r->regs_per_block,
        .warp_size = r->warp_size,
        .shared_mem_per_block = r->shared_mem_per_block,
        .num_cus = r->num_cus,
        .max_shared_mem_per_cu = r->shared_mem_per_cu,
    };
    if (r->head.units * 8u >= sizeof *r) {
        d.clock_khz = r->clock_khz;
        d.memory_khz = r->memory_khz;
        d.memory_bus_bits = r->memory_bus_bits;
    }
    if (!hb_device_find(s, r->id)) {
        hb_buf_append(&s->devices, &d, sizeof d);
        s->info.num_devices = s->devices.size / sizeof d;
    }
}

/* Its own id is the second of the two that it has. */
static void add_comm(hb_device_source *s, const hb_record *r, uint64_t id, hb_record_ref call)
{
    hb_device_comm comm = {id + 1, call};
    if (hb_collective_starts_kernel(hb_device_text(s, r->name)))
        hb_buf_append(&s->comms, &comm, sizeof comm);
}

static void prepass_thread(hb_device_source *s, uint32_t n, uint32_t *types)
{
    uint64_t id;
    const hb_record *r;
    const hb_thread_records *t = hb_records_nth(s->records, n);
    const uint32_t wanted = HB_CALL_RECORDS | 1u << HB_RECORD_LINK | 1u << HB_RECORD_DEVICE |
                            1u << HB_RECORD_FRAMES | 1u << HB_RECORD_GRAPH |
                            (s->job.has_rccl ? 1u << HB_RECORD_OP : 0);
    hb_cursor c = hb_cursor_open(s->view, s->records, t, wanted);
    hb_correlations_begin_thread(&s->correlations);
    hb_graph_replays_begin_thread(&s->graphs);
    while ((r = hb_cursor_next(&c, &id))) {
        *types |= 1u << r->type;
        if (hb_is_call(r))
            hb_correlations_add_call(&s->correlations, (const hb_record_call *)r,
                                     hb_cursor_ref(&c, n));
        if (hb_is_call(r) && (r->flags & HB_RECORD_CAPTURED))
            hb_graph_replays_add_launch(&s->graphs, (const hb_record_call *)r);
        if (r->type == HB_RECORD_GRAPH)
            hb_graph_replays_add(&s->graphs, (const hb_record_graph *)r);
        if (r->type == HB_RECORD_LINK)
            hb_correlations_add_link(&s->correlations, (const hb_record_link *)r);
        if (hb_comm_of_record(r)) add_comm(s, r, id, hb_cursor_ref(&c, n));
        if (r->type == HB_RECORD_FRAMES)
            hb_call_stacks_add(&s->stacks, (const hb_record_frames *)r);
        if (r->type == HB_RECORD_DEVICE) add_device(s, (const hb_record_device *)r);
    }
    hb_cursor_close(&c);
    for (uint32_t i = 0; i < t->parts.count; i++)
        *types |= __atomic_load_n(&t->parts.items[i].types, __ATOMIC_RELAXED);
}

/* A row of the trace's threads for each but those that only report for devices. */
static void prepass_calls(hb_device_source *s)
{
    for (uint32_t i = 0; i < s->records->threads.count; i++) {
        uint32_t types = 0;
        prepass_thread(s, i, &types);
        types &= ~HB_TYPES_SEQUENCE;
        if ((types & ~NO_ROW || !types) && i < s->host->info->num_threads)
            hb_buf_append(&s->threads, &s->host->info->threads[i], sizeof(hb_thread_info));
    }
}

static void add_annotation(hb_device_source *s, const hb_record_work *w, const hb_work_origin *o)
{
    if (!o->ran || !o->ran->annotation_id) return;
    int32_t device = hb_ordinal_of(s, w, o);
    hb_device_annotation a = {
        .device = device,
        .stream = hb_streams_number(&s->streams, device, hb_stream_key(w, o)),
        .id = o->ran->annotation_id,
        .name = o->ran->annotation,
        .start_ns = hb_clock_unix_of_boottime(&s->boottime, w->begin_ns),
        .end_ns = hb_clock_unix_of_boottime(&s->boottime, w->end_ns),
    };
    size_t n = s->annotations.size / sizeof a;
    hb_device_annotation *last = n ? (hb_device_annotation *)s->annotations.data + (n - 1) : NULL;
    if (last && last->id == a.id && last->device == a.device && last->stream == a.stream) {
        last->start_ns = HB_MIN(last->start_ns, a.start_ns);
        last->end_ns = HB_MAX(last->end_ns, a.end_ns);
        return;
    }
    hb_buf_append(&s->annotations, &a, sizeof a);
}

/* A device's clock can't be wrong by less than work seems to begin before its call. */
static void widen_uncertainty(hb_device_source *s, const hb_record_work *w, const hb_work_origin *o)
{
    if (!o->ran) return;
    int64_t early = hb_clock_unix(&s->ticks, o->ran->head.start) -
                    hb_clock_unix_of_boottime(&s->boottime, w->begin_ns);
    s->boottime.uncertainty_ns = HB_MAX(s->boottime.uncertainty_ns, early);
}

static void learn_node(hb_device_source *s, const hb_record_work *w, const hb_work_origin *o)
{
    if ((w->head.flags & HB_RECORD_NODE) && o->ran && o->ran->device >= 0)
        add_node(s, w->device, o->ran->device, false);
}

/* The next work of any device, and whose it is; NULL at the end. */
static const hb_record_work *next_work(hb_device_source *s, hb_work_origin *o)
{
    const hb_record *r = hb_device_next_record(s);
    while (r && !hb_is_work(r))
        r = hb_device_next_record(s);
    if (r) *o = hb_origin_of(s, (const hb_record_work *)r);
    return (const hb_record_work *)r;
}

static void prepass_nodes(hb_device_source *s)
{
    const hb_record_work *w;
    hb_work_origin o;
    hb_device_rewind(s, HB_WORK_RECORDS);
    while ((w = next_work(s, &o)))
        learn_node(s, w, &o);
}

static uint64_t prepass_work(hb_device_source *s)
{
    uint64_t unjoined = 0;
    const hb_record_work *w;
    hb_work_origin o;
    hb_device_rewind(s, HB_WORK_RECORDS);
    while ((w = next_work(s, &o))) {
        unjoined += o.made == NULL;
        if (o.made && (o.made->head.flags & HB_RECORD_UNSURE))
            hb_correlations_completed(&s->correlations, w->work);
        if (o.ran && (o.ran->head.flags & HB_RECORD_REPLAYS))
            hb_graph_replays_reported(&s->graphs, o.ran->correlation);
        hb_streams_add(&s->streams, hb_ordinal_of(s, w, &o), hb_stream_key(w, &o));
        add_annotation(s, w, &o);
        widen_uncertainty(s, w, &o);
    }
    return unjoined;
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_stream_and_id(const void *a, const void *b)
{
    const hb_device_annotation *x = a, *y = b;
    int order = COMPARE(x->device, y->device);
    if (order == 0) order = COMPARE(x->stream, y->stream);
    return order ? order : COMPARE(x->id, y->id);
}

static int by_stream_and_start(const void *a, const void *b)
{
    const hb_device_annotation *x = a, *y = b;
    int order = COMPARE(x->device, y->device);
    if (order == 0) order = COMPARE(x->stream, y->stream);
    if (order == 0) order = COMPARE(x->start_ns, y->start_ns);
    return order ? order : COMPARE(x->id, y->id);
}

static void join_annotations(hb_device_source *s)
{
    hb_device_annotation *all = (hb_device_annotation *)s->annotations.data;
    size_t n = s->annotations.size / sizeof *all, kept = 0;
    if (n == 0) return;
    qsort(all, n, sizeof *all, by_stream_and_id);
    for (size_t i = 1; i < n; i++) {
        if (by_stream_and_id(&all[kept], &all[i]) == 0) {
            all[kept].start_ns = HB_MIN(all[kept].start_ns, all[i].start_ns);
            all[kept].end_ns = HB_MAX(all[kept].end_ns, all[i].end_ns);
        } else {
            all[++kept] = all[i];
        }
    }
    s->annotations.size = (kept + 1) * sizeof *all;
    qsort(all, kept + 1, sizeof *all, by_stream_and_start);
}

/* ---- the header ---- */

static void add_number(hb_device_source *s, const char *key, char buf[24], uint64_t value)
{
    hb_metadata entry = {key, buf};
    snprintf(buf, 24, "%llu", (unsigned long long)value);
    hb_buf_append(&s->metadata, &entry, sizeof entry);
}

/* Where some launches only are timed, runs differ. */
static bool all_are_timed(const hb_device_source *s)
{
    for (size_t i = 0; i < s->host->info->num_metadata; i++)
        if (strcmp(s->host->info->metadata[i].key, HB_METADATA_KERNEL_SAMPLING) == 0) return false;
    return true;
}

static void tell_of_graphs(hb_device_source *s)
{
    hb_metadata entry = {HB_METADATA_GRAPH_NOTES, s->unknown_graphs};
    unsigned long long n = s->graphs.unknown;
    unsigned long long missing = all_are_timed(s) ? hb_graph_replays_missing(&s->graphs) : 0;
    int at = snprintf(s->unknown_graphs, sizeof s->unknown_graphs,
                      "[\"%llu run%s of graphs that were not captured in this recording: whose "
                      "kernels they run, and of how many FLOPs, is not known\"",
                      n, hb_plural(n));
    if (missing)
        at += snprintf(s->unknown_graphs + at, sizeof s->unknown_graphs - (size_t)at,
                       ",\"%llu piece%s of their work %s not reported: other runs of the same "
                       "graph did so much more\"",
                       missing, hb_plural(missing), missing == 1 ? "was" : "were");
    snprintf(s->unknown_graphs + at, sizeof s->unknown_graphs - (size_t)at, "]");
    hb_buf_append(&s->metadata, &entry, sizeof entry);
}

static void copy_metadata(hb_device_source *s)
{
    const hb_trace_info *host = s->host->info;
    for (size_t i = 0; i < host->num_metadata; i++) {
        const hb_metadata *m = &host->metadata[i];
        if (strcmp(m->key, HB_METADATA_HIP_RUNTIME) == 0)
            s->info.hip_runtime_version = atoi(m->json);
        else if (strcmp(m->key, HB_METADATA_HIP_DRIVER) == 0)
            s->info.hip_driver_version = atoi(m->json);
        else if (strcmp(m->key, HB_METADATA_TIMES_UNCERTAINTY) == 0)
            hb_add_ns(&s->boottime.uncertainty_ns, HB_MAX(atoll(m->json), 0));
        else
            hb_buf_append(&s->metadata, m, sizeof *m);
    }
}

static int by_id(const void *a, const void *b)
{
    const hb_device_info *x = a, *y = b;
    return COMPARE(x->id, y->id);
}

static hb_result set_info(hb_device_source *s, uint64_t unjoined)
{
    if (s->devices.size) qsort(s->devices.data, s->info.num_devices, sizeof(hb_device_info), by_id);
    if (s->streams.entries.count)
        add_number(s, "hipboard_device_clock_uncertainty_ns", s->uncertainty,
                   (uint64_t)s->boottime.uncertainty_ns);
    if (unjoined) add_number(s, "hipboard_work_without_call", s->unjoined, unjoined);
    if (s->graphs.unknown) tell_of_graphs(s);
    if (s->missing) add_number(s, HB_METADATA_NOT_REPORTED, s->not_reported, s->missing);
    s->info.devices = (const hb_device_info *)s->devices.data;
    s->info.metadata = (const hb_metadata *)s->metadata.data;
    s->info.num_metadata = s->metadata.size / sizeof(hb_metadata);
    s->info.threads = (const hb_thread_info *)s->threads.data;
    s->info.num_threads = s->threads.size / sizeof(hb_thread_info);
    s->info.streams = hb_streams_sorted(&s->streams, &s->info.num_streams);
    if (s->devices.failed || s->metadata.failed || s->threads.failed || s->annotations.failed ||
        s->comms.failed || s->streams.failed)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a trace's devices and streams");
    return HB_OK;
}

static int by_comm_id(const void *a, const void *b)
{
    const hb_device_comm *x = a, *y = b;
    return COMPARE(x->id, y->id);
}

static void find_job(hb_device_source *s)
{
    s->job = hb_comm_job_of(s->host->info->distributed_json);
    for (size_t i = 0; i < s->host->info->num_metadata; i++)
        if (strcmp(s->host->info->metadata[i].key, HB_METADATA_RCCL) == 0) s->job.has_rccl = true;
}

hb_result hb_device_prepass(hb_device_source *s)
{
    find_job(s);
    prepass_calls(s);
    if (s->comms.size)
        qsort(s->comms.data, s->comms.size / sizeof(hb_device_comm), sizeof(hb_device_comm),
              by_comm_id);
    HB_TRY(hb_correlations_finish(&s->correlations));
    HB_TRY(hb_graph_replays_finish(&s->graphs, s->host));
    prepass_nodes(s);
    uint64_t unjoined = prepass_work(s);
    join_annotations(s);
    copy_metadata(s);
    return set_info(s, unjoined);
}
