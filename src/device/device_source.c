/* SPDX-License-Identifier: MIT
 *
 * The rows of HIP calls and device work, and what the trace's header says of devices and streams. A
 * piece of work knows little more than its times; its name, grid, stream, correlation and scope are
 * those of the call that made it, found through the number that both have.
 */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "device/joins.h"
#include "device/occupancy.h"
#include "device/streams.h"
#include "record/merge.h"
#include "record/strings.h"

#define CALLS                                                               \
    (1u << HB_RECORD_CALL | 1u << HB_RECORD_LAUNCH | 1u << HB_RECORD_COPY | \
     1u << HB_RECORD_ALLOCATION)
#define DEVICE_ROWS (CALLS | 1u << HB_RECORD_WORK)
#define NO_ROW                                                              \
    (1u << HB_RECORD_WORK | 1u << HB_RECORD_LINK | 1u << HB_RECORD_DEVICE | \
     1u << HB_RECORD_METADATA)

enum { MAX_NODES = 64 };

typedef struct device_source {
    hb_source base;
    hb_source *host; /* everything but the device passes */
    hb_trace_info info;
    const hb_spool_view *view;
    hb_clock_fit ticks;
    hb_boottime_fit boottime;
    uint32_t *chunks; /* the first of each thread, oldest thread first */
    int64_t *tids;
    uint32_t num_threads;
    hb_joins joins;
    hb_streams streams;
    hb_buf devices;     /* hb_device_info */
    hb_buf metadata;    /* hb_metadata */
    hb_buf threads;     /* hb_thread_info */
    hb_buf annotations; /* annotation */
    struct {
        int32_t node, ordinal;
    } nodes[MAX_NODES]; /* the driver's numbers of devices, as far as they were seen */
    int num_nodes;
    char uncertainty[24];
    char unjoined[24];
    /* the present pass */
    hb_pass pass;
    uint32_t thread;
    hb_cursor cursor;
    size_t annotation;
} device_source;

/* The device work of one user annotation on one stream. */
typedef struct annotation {
    int32_t device;
    int64_t stream;
    uint64_t id;
    uint32_t name;
    int64_t start_ns, end_ns;
} annotation;

static device_source *self(hb_source *source)
{
    return (device_source *)source;
}

static hb_str text(const device_source *s, uint32_t id)
{
    hb_str t = s->view->string(s->view, id);
    return t.s ? t : HB_STR("(name lost)");
}

static bool is_call(const hb_record *r)
{
    return r->type < 32 && (CALLS >> r->type & 1);
}

/* ---- calls ---- */

static void set_launch(hb_runtime_args *args, const hb_record_launch *r)
{
    args->has_grid = true;
    args->shared_bytes = r->dynamic_lds_bytes;
    for (int i = 0; i < 3; i++) {
        args->grid[i] = r->grid[i];
        args->block[i] = r->block[i];
    }
}

static void set_copy(hb_runtime_args *args, const hb_record_copy *r)
{
    static const hb_str kinds[] = {HB_STR("0"), HB_STR("1"), HB_STR("2"), HB_STR("3"), HB_STR("4")};
    args->ptr = r->dst;
    args->src = r->src;
    args->bytes = r->bytes;
    if (r->kind >= 0) args->kind = kinds[HB_MIN((size_t)r->kind, HB_ARRAY_LEN(kinds) - 1)];
}

static void make_call(const device_source *s, hb_trace_event *e, const hb_record *head, int64_t tid)
{
    const hb_record_call *r = (const hb_record_call *)head;
    uint64_t end = __atomic_load_n(&head->end, __ATOMIC_RELAXED);
    *e = (hb_trace_event){
        .kind = head->flags & HB_RECORD_WAITS ? HB_EVENT_SYNC : HB_EVENT_RUNTIME,
        .flags = end ? 0 : HB_TEV_UNFINISHED,
        .name = text(s, head->name),
        .name_key = head->name,
        .start_ns = hb_clock_unix(&s->ticks, head->start),
        .tid = tid,
        .device = -1,
        .external_id = r->external_id,
        .correlation = r->correlation,
        .runtime.cid = r->cid,
        .runtime.error = r->error,
        .runtime.launches = hb_call_has_work(r),
    };
    e->end_ns = HB_MAX(end ? hb_clock_unix(&s->ticks, end) : s->info.stop_ns, e->start_ns);
    if (r->error_name) e->runtime.error_name = text(s, r->error_name);
    if (head->type == HB_RECORD_LAUNCH) set_launch(&e->runtime, (const hb_record_launch *)r);
    if (head->type == HB_RECORD_COPY) set_copy(&e->runtime, (const hb_record_copy *)r);
    if (head->type == HB_RECORD_ALLOCATION) {
        e->runtime.ptr = ((const hb_record_allocation *)r)->ptr;
        e->runtime.bytes = ((const hb_record_allocation *)r)->bytes;
    }
}

/* ---- device work ---- */

/* The call that made the work, and the one that it ran for: another when a graph was launched. */
typedef struct origin {
    const hb_record_call *made, *ran;
} origin;

static origin origin_of(const device_source *s, const hb_record_work *w)
{
    origin o;
    o.made = o.ran = hb_joins_find(&s->joins, w->work);
    if (o.made && (o.made->head.flags & HB_RECORD_CAPTURED)) {
        int64_t begin = hb_clock_unix_of_boottime(&s->boottime, w->begin_ns);
        const hb_record_call *replay = hb_joins_replay_of(&s->joins, o.made, &s->ticks, begin);
        if (replay) o.ran = replay;
    }
    return o;
}

/* The HIP ordinal. Where only the driver's number is reported, the call knows. */
static int32_t ordinal_of(const device_source *s, const hb_record_work *w, const origin *o)
{
    if (!(w->head.flags & HB_RECORD_NODE)) return w->device;
    if (o->ran && o->ran->device >= 0) return o->ran->device;
    for (int i = 0; i < s->num_nodes; i++)
        if (s->nodes[i].node == w->device) return s->nodes[i].ordinal;
    return 0;
}

static void learn_node(device_source *s, const hb_record_work *w, const origin *o)
{
    if (!(w->head.flags & HB_RECORD_NODE) || !o->ran || o->ran->device < 0) return;
    for (int i = 0; i < s->num_nodes; i++)
        if (s->nodes[i].node == w->device) return;
    if (s->num_nodes == MAX_NODES) return;
    s->nodes[s->num_nodes].node = w->device;
    s->nodes[s->num_nodes++].ordinal = o->ran->device;
}

static uint64_t stream_key(const hb_record_work *w, const origin *o)
{
    return o->ran ? o->ran->stream : w->queue | HB_STREAM_IS_QUEUE;
}

static const hb_device_info *device_of(const device_source *s, int32_t id)
{
    const hb_device_info *all = (const hb_device_info *)s->devices.data;
    for (size_t i = 0; i < s->info.num_devices; i++)
        if (all[i].id == id) return &all[i];
    return NULL;
}

static uint32_t known(uint16_t registers)
{
    return registers == HB_REGISTERS_UNKNOWN ? 0 : registers;
}

static void set_occupancy(const device_source *s, hb_trace_event *e, const hb_record_launch *r)
{
    hb_occupancy o;
    hb_kernel_args *k = &e->kernel;
    const hb_device_info *device = device_of(s, e->device);
    if (!device) return;
    hb_occupancy_query query = {
        .arch = device->arch,
        .num_cus = device->num_cus,
        .wave_size = device->warp_size,
        .vgprs = r->vgprs,
        .agprs = r->agprs,
        .sgprs = r->sgprs,
        .lds_bytes = r->lds_bytes,
        .block_threads = (uint32_t)r->block[0] * r->block[1] * r->block[2],
        .grid_blocks = (uint64_t)r->grid[0] * r->grid[1] * r->grid[2],
    };
    bool known_arch = hb_occupancy_of(&query, &o);
    k->blocks_per_sm = o.blocks_per_sm;
    k->warps_per_sm = o.warps_per_sm;
    if (!known_arch || !k->has_resources) return; /* without registers it would be a guess */
    k->occupancy = o.percent;
    k->limiting_factor = o.limit;
}

static void set_kernel(const device_source *s, hb_trace_event *e, const hb_record_launch *r)
{
    hb_kernel_args *k = &e->kernel;
    e->name = text(s, r->kernel);
    e->name_key = r->kernel;
    k->has_grid = true;
    for (int i = 0; i < 3; i++) {
        k->grid[i] = r->grid[i];
        k->block[i] = r->block[i];
    }
    k->has_resources = r->vgprs != HB_REGISTERS_UNKNOWN;
    k->vgprs = known(r->vgprs);
    k->sgprs = known(r->sgprs);
    k->agprs = known(r->agprs);
    k->lds_bytes = r->lds_bytes;
    k->scratch_bytes = r->scratch_bytes;
    set_occupancy(s, e, r);
}

static void make_kernel(device_source *s, hb_trace_event *e, const hb_record_work *w,
                        const origin *o)
{
    e->kind = HB_EVENT_KERNEL;
    e->kernel = (hb_kernel_args){.occupancy = -1};
    bool named = w->head.name != HB_STRING_UNNAMED;
    const hb_record_launch *launch = NULL;
    if (o->made && o->made->head.type == HB_RECORD_LAUNCH)
        launch = (const hb_record_launch *)o->made;
    else if (named && o->made && (o->made->head.flags & HB_RECORD_REPLAYS))
        launch = hb_joins_captured(&s->joins, w->head.name);
    if (launch) set_kernel(s, e, launch);
    if (e->name.len) return;
    e->name = named ? text(s, w->head.name) : HB_STR("(kernel of an unseen call)");
    e->name_key = named ? w->head.name : 0;
}

static void make_fill(hb_trace_event *e, uint64_t bytes)
{
    e->kind = HB_EVENT_MEMSET;
    e->name = HB_STR("Memset (Device)");
    e->copy = (hb_copy_args){.bytes = bytes, .kind = "Device"};
}

static void make_copy(hb_trace_event *e, const hb_record_work *w, const hb_record_copy *r,
                      uint64_t bytes)
{
    static const struct {
        hb_str name;
        const char *kind;
    } directions[] = {
        [HB_WORK_HTOD] = {HB_STR("Memcpy HtoD (Host -> Device)"), "HtoD"},
        [HB_WORK_DTOH] = {HB_STR("Memcpy DtoH (Device -> Host)"), "DtoH"},
        [HB_WORK_DTOD] = {HB_STR("Memcpy DtoD (Device -> Device)"), "DtoD"},
    };
    e->kind = HB_EVENT_MEMCPY;
    e->name = directions[w->kind].name;
    e->copy = (hb_copy_args){.bytes = bytes, .kind = directions[w->kind].kind};
    if (!r || r->from_device < 0 || r->from_device == r->to_device) return;
    e->name = HB_STR("Memcpy PtoP (Device -> Device)");
    e->copy.kind = "PtoP";
    e->copy.from_device = r->from_device;
    e->copy.to_device = r->to_device;
}

static void make_transfer(hb_trace_event *e, const hb_record_work *w, const origin *o)
{
    const hb_record_copy *r =
        o->made && o->made->head.type == HB_RECORD_COPY ? (const hb_record_copy *)o->made : NULL;
    uint64_t bytes = w->bytes ? w->bytes : r ? r->bytes : 0;
    if (w->kind == HB_WORK_FILL)
        make_fill(e, bytes);
    else
        make_copy(e, w, r, bytes);
}

static bool make_work(device_source *s, hb_trace_event *e, const hb_record *head)
{
    const hb_record_work *w = (const hb_record_work *)head;
    if (w->kind < HB_WORK_KERNEL || w->kind > HB_WORK_FILL) return false;
    origin o = origin_of(s, w);
    int32_t device = ordinal_of(s, w, &o);
    *e = (hb_trace_event){
        .start_ns = hb_clock_unix_of_boottime(&s->boottime, w->begin_ns),
        .end_ns = hb_clock_unix_of_boottime(&s->boottime, w->end_ns),
        .tid = hb_streams_number(&s->streams, device, stream_key(w, &o)),
        .device = device,
        .external_id = o.ran ? o.ran->external_id : 0,
        .correlation = o.ran ? o.ran->correlation : 0,
    };
    e->end_ns = HB_MAX(e->end_ns, e->start_ns);
    if (w->kind == HB_WORK_KERNEL)
        make_kernel(s, e, w, &o);
    else
        make_transfer(e, w, &o);
    return true;
}

/* ---- passes ---- */

static hb_result begin(hb_source *source, hb_pass pass)
{
    device_source *s = self(source);
    s->pass = pass;
    s->annotation = 0;
    s->thread = 0;
    if (pass == HB_PASS_DEVICE_ANNOTATIONS) return HB_OK;
    if (pass != HB_PASS_DEVICE) return s->host->begin(s->host, pass);
    if (s->num_threads) s->cursor = hb_cursor_open(s->view, s->chunks[0]);
    return HB_OK;
}

static const hb_record *next_record(device_source *s)
{
    uint64_t id;
    while (s->thread < s->num_threads) {
        const hb_record *r = hb_cursor_next(&s->cursor, &id);
        if (r) return r;
        if (++s->thread < s->num_threads) s->cursor = hb_cursor_open(s->view, s->chunks[s->thread]);
    }
    return NULL;
}

static bool next_device_row(device_source *s, hb_trace_event *e)
{
    const hb_record *r;
    while ((r = next_record(s))) {
        if (is_call(r)) {
            make_call(s, e, r, s->tids[s->thread]);
            return true;
        }
        if (r->type == HB_RECORD_WORK && make_work(s, e, r)) return true;
    }
    return false;
}

static bool next_annotation(device_source *s, hb_trace_event *e)
{
    const annotation *all = (const annotation *)s->annotations.data;
    if (s->annotation >= s->annotations.size / sizeof *all) return false;
    const annotation *a = &all[s->annotation++];
    *e = (hb_trace_event){
        .kind = HB_EVENT_GPU_USER_ANNOTATION,
        .name = text(s, a->name),
        .name_key = a->name,
        .start_ns = a->start_ns,
        .end_ns = a->end_ns,
        .tid = a->stream,
        .device = a->device,
        .external_id = a->id,
    };
    return true;
}

static bool next(hb_source *source, hb_trace_event *event)
{
    device_source *s = self(source);
    switch (s->pass) {
    case HB_PASS_DEVICE: return next_device_row(s, event);
    case HB_PASS_DEVICE_ANNOTATIONS: return next_annotation(s, event);
    default: return s->host->next(s->host, event);
    }
}

/* ---- opening: the survey ---- */

static hb_result list_threads(device_source *s, const hb_session *session)
{
    uint32_t n = hb_session_count_threads(s->view, session);
    s->chunks = calloc((size_t)n + 1, sizeof *s->chunks);
    s->tids = calloc((size_t)n + 1, sizeof *s->tids);
    if (!s->chunks || !s->tids) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for %u threads", n);
    s->num_threads = n;
    uint32_t index = session->first_thread; /* the newest */
    for (uint32_t i = n; i-- > 0;) {
        const hb_chunk *chunk = hb_view_chunk(s->view, index, HB_CHUNK_EVENTS);
        s->chunks[i] = index;
        s->tids[i] = chunk->tid;
        index = chunk->next_thread;
    }
    return HB_OK;
}

static void add_device(device_source *s, const hb_record_device *r)
{
    hb_device_info d = {
        .id = r->id,
        .name = text(s, r->head.name).s,
        .arch = text(s, r->arch).s,
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
    if (!device_of(s, r->id)) {
        hb_buf_append(&s->devices, &d, sizeof d);
        s->info.num_devices = s->devices.size / sizeof d;
    }
}

/* A row of the trace's threads for each but those that only report for devices. */
static void survey_calls(device_source *s)
{
    uint64_t id;
    const hb_record *r;
    for (uint32_t i = 0; i < s->num_threads; i++) {
        hb_cursor c = hb_cursor_open(s->view, s->chunks[i]);
        bool rows = false, any = false;
        hb_joins_begin_thread(&s->joins);
        while ((r = hb_cursor_next(&c, &id))) {
            any = true;
            rows = rows || !(NO_ROW >> r->type & 1);
            if (is_call(r)) hb_joins_add_call(&s->joins, (const hb_record_call *)r);
            if (r->type == HB_RECORD_LINK) hb_joins_add_link(&s->joins, (const hb_record_link *)r);
            if (r->type == HB_RECORD_DEVICE) add_device(s, (const hb_record_device *)r);
        }
        if ((rows || !any) && i < s->host->info->num_threads)
            hb_buf_append(&s->threads, &s->host->info->threads[i], sizeof(hb_thread_info));
    }
}

static void add_annotation(device_source *s, const hb_record_work *w, const origin *o)
{
    if (!o->ran || !o->ran->annotation_id) return;
    int32_t device = ordinal_of(s, w, o);
    annotation a = {
        .device = device,
        .stream = hb_streams_number(&s->streams, device, stream_key(w, o)),
        .id = o->ran->annotation_id,
        .name = o->ran->annotation,
        .start_ns = hb_clock_unix_of_boottime(&s->boottime, w->begin_ns),
        .end_ns = hb_clock_unix_of_boottime(&s->boottime, w->end_ns),
    };
    size_t n = s->annotations.size / sizeof a;
    annotation *last = n ? (annotation *)s->annotations.data + (n - 1) : NULL;
    if (last && last->id == a.id && last->device == a.device && last->stream == a.stream) {
        last->start_ns = HB_MIN(last->start_ns, a.start_ns);
        last->end_ns = HB_MAX(last->end_ns, a.end_ns);
        return;
    }
    hb_buf_append(&s->annotations, &a, sizeof a);
}

/* A device's clock can't be wrong by less than work seems to begin before its call. */
static void widen_uncertainty(device_source *s, const hb_record_work *w, const origin *o)
{
    if (!o->ran) return;
    int64_t early = hb_clock_unix(&s->ticks, o->ran->head.start) -
                    hb_clock_unix_of_boottime(&s->boottime, w->begin_ns);
    s->boottime.uncertainty_ns = HB_MAX(s->boottime.uncertainty_ns, early);
}

static void survey_nodes(device_source *s)
{
    const hb_record *r;
    begin(&s->base, HB_PASS_DEVICE);
    while ((r = next_record(s))) {
        if (r->type != HB_RECORD_WORK) continue;
        const hb_record_work *w = (const hb_record_work *)r;
        origin o = origin_of(s, w);
        learn_node(s, w, &o);
    }
}

static uint64_t survey_work(device_source *s)
{
    uint64_t unjoined = 0;
    const hb_record *r;
    begin(&s->base, HB_PASS_DEVICE);
    while ((r = next_record(s))) {
        if (r->type != HB_RECORD_WORK) continue;
        const hb_record_work *w = (const hb_record_work *)r;
        origin o = origin_of(s, w);
        unjoined += o.made == NULL;
        hb_streams_add(&s->streams, ordinal_of(s, w, &o), stream_key(w, &o));
        add_annotation(s, w, &o);
        widen_uncertainty(s, w, &o);
    }
    return unjoined;
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_stream_and_id(const void *a, const void *b)
{
    const annotation *x = a, *y = b;
    int order = COMPARE(x->device, y->device);
    if (order == 0) order = COMPARE(x->stream, y->stream);
    return order ? order : COMPARE(x->id, y->id);
}

static int by_stream_and_start(const void *a, const void *b)
{
    const annotation *x = a, *y = b;
    int order = COMPARE(x->device, y->device);
    if (order == 0) order = COMPARE(x->stream, y->stream);
    if (order == 0) order = COMPARE(x->start_ns, y->start_ns);
    return order ? order : COMPARE(x->id, y->id);
}

static void join_annotations(device_source *s)
{
    annotation *all = (annotation *)s->annotations.data;
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

/* ---- opening: the header ---- */

static void add_number(device_source *s, const char *key, char buf[24], uint64_t value)
{
    hb_metadata entry = {key, buf};
    snprintf(buf, 24, "%llu", (unsigned long long)value);
    hb_buf_append(&s->metadata, &entry, sizeof entry);
}

static void copy_metadata(device_source *s)
{
    const hb_trace_info *host = s->host->info;
    for (size_t i = 0; i < host->num_metadata; i++) {
        const hb_metadata *m = &host->metadata[i];
        if (strcmp(m->key, HB_METADATA_HIP_RUNTIME) == 0)
            s->info.hip_runtime_version = atoi(m->json);
        else if (strcmp(m->key, HB_METADATA_HIP_DRIVER) == 0)
            s->info.hip_driver_version = atoi(m->json);
        else
            hb_buf_append(&s->metadata, m, sizeof *m);
    }
}

static int by_id(const void *a, const void *b)
{
    const hb_device_info *x = a, *y = b;
    return COMPARE(x->id, y->id);
}

static hb_result set_info(device_source *s, uint64_t unjoined)
{
    if (s->devices.size) qsort(s->devices.data, s->info.num_devices, sizeof(hb_device_info), by_id);
    if (s->streams.count)
        add_number(s, "hipboard_device_clock_uncertainty_ns", s->uncertainty,
                   (uint64_t)s->boottime.uncertainty_ns);
    if (unjoined) add_number(s, "hipboard_work_without_call", s->unjoined, unjoined);
    s->info.devices = (const hb_device_info *)s->devices.data;
    s->info.metadata = (const hb_metadata *)s->metadata.data;
    s->info.num_metadata = s->metadata.size / sizeof(hb_metadata);
    s->info.threads = (const hb_thread_info *)s->threads.data;
    s->info.num_threads = s->threads.size / sizeof(hb_thread_info);
    s->info.streams = hb_streams_sorted(&s->streams, &s->info.num_streams);
    if (s->devices.failed || s->metadata.failed || s->threads.failed || s->annotations.failed ||
        s->streams.failed)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a trace's devices and streams");
    return HB_OK;
}

static hb_result survey(device_source *s, const hb_session *session)
{
    HB_TRY(list_threads(s, session));
    survey_calls(s);
    HB_TRY(hb_joins_finish(&s->joins));
    survey_nodes(s);
    uint64_t unjoined = survey_work(s);
    join_annotations(s);
    copy_metadata(s);
    return set_info(s, unjoined);
}

static void source_close(hb_source *source)
{
    device_source *s = self(source);
    if (s->host) s->host->close(s->host);
    hb_joins_free(&s->joins);
    hb_streams_free(&s->streams);
    hb_buf_free(&s->devices);
    hb_buf_free(&s->metadata);
    hb_buf_free(&s->threads);
    hb_buf_free(&s->annotations);
    free(s->chunks);
    free(s->tids);
    free(s);
}

hb_result hb_device_source_open(const hb_spool_view *view, hb_session *session,
                                const hb_record_source_options *options, hb_source **source)
{
    device_source *s = calloc(1, sizeof *s);
    if (!s) return hb_fail(HB_ERROR_NO_MEMORY, "no memory to read the records");
    s->base = (hb_source){&s->info, begin, next, source_close};
    s->view = view;
    hb_joins_init(&s->joins);
    hb_streams_init(&s->streams);
    hb_buf_init(&s->devices, (size_t)1 << 20);
    hb_buf_init(&s->metadata, (size_t)64 << 20);
    hb_buf_init(&s->threads, (size_t)256 << 20);
    hb_buf_init(&s->annotations, (size_t)4 << 30);
    hb_result result = hb_record_source_open(view, session, options, &s->host);
    if (result == HB_OK) {
        s->info = *s->host->info;
        s->ticks = hb_clock_fit_pairs(&session->start, hb_session_last(session));
        s->boottime = hb_clock_fit_boottime(&session->start, hb_session_last(session));
        result = survey(s, session);
    }
    if (result != HB_OK) {
        source_close(&s->base);
        return result;
    }
    *source = &s->base;
    return HB_OK;
}
