/* SPDX-License-Identifier: MIT */
#include "write/pftrace.h"

#include <stdio.h>
#include <stdlib.h>

#include "rules/categories.h"
#include "rules/name_class.h"
#include "trace/trace.h"
#include "write/pftrace_args.h"

/* What is kept of an event of the host until all of its thread are known. */
typedef struct host_event {
    int64_t start, end;
    size_t args; /* where they stand, and ... */
    hb_string_id name;
    uint32_t thread, args_size;
    uint64_t flow;          /* 0: none */
    uint8_t type, category; /* HB_PF_BEGIN or INSTANT; hb_category */
} host_event;

typedef struct open_slice {
    int64_t end;
} open_slice;

/* A row of slices that lie within each other. */
typedef struct nesting_row {
    hb_pf_row row;
    HB_VEC(open_slice) open;
} nesting_row;

/* A thread, or a stream of a GPU: as many rows as it takes. */
typedef struct place {
    int64_t number; /* thread or stream */
    int32_t device; /* -1: a thread */
    uint64_t uuid, parent;
    HB_VEC(nesting_row) rows;
} place;

typedef struct stream_key {
    int64_t stream, device;
} stream_key;

typedef struct writer {
    hb_pf_file f;
    hb_arena arena;
    hb_source *source;
    hb_pftrace_stats stats;
    uint64_t process; /* uuid */
    HB_VEC(place) threads;
    HB_VEC(place) streams;
    HB_VEC(hb_pf_row) counters;
    hb_dict by_tid;         /* index of `threads` */
    hb_dict by_counter;     /* index of `counters`, by thread and name */
    hb_distinct by_stream;  /* stream_key; index of `streams` + 1 */
    hb_dict described_gpus; /* their ids */
    hb_dict thread_names;   /* index of info->threads, by tid */
    hb_column hosts;        /* host_event */
    bool hosts_in_order;
    hb_buf kept;                            /* args of the host's events */
    hb_string_id categories[UINT8_MAX + 1]; /* texts of hb_category */
    hb_pf_args args;
    uint32_t last_thread, last_stream;
} writer;

/* ---- events ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (b + 0x51) * UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 29;
    x *= UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 32) & ~UINT64_C(0xff); /* room for the rows of a place */
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static hb_string_id name_of(writer *w, const hb_trace_event *e)
{
    bool added;
    if (!e->name_key) return hb_pf_text(&w->f, e->name);
    hb_dict_entry *entry = hb_dict_add(&w->arena, &w->f.keys, e->name_key, &added);
    if (added) entry->value = hb_pf_text(&w->f, e->name);
    return entry->value;
}

/* Ids of arrows are of the whole trace: those of several processes differ. */
static uint64_t flow_of(const writer *w, uint64_t correlation)
{
    return (w->process >> 8) << 32 ^ correlation;
}

/* Calls of HIP have the category that rocprofv3 gives them, by which its readers know them. */
enum { HIP_API = HB_CATEGORIES };

static void begin_event(writer *w, hb_pf_row *row, hb_message *m, int type, unsigned category,
                        hb_string_id name, uint64_t flow)
{
    hb_string_id *text = &w->categories[category];
    if (!*text)
        *text = hb_pf_text(&w->f, category == HIP_API ? HB_STR("hip_api")
                                                      : hb_category_text((hb_category)category));
    uint64_t iid = hb_pf_intern(&w->f, row, HB_PF_CATEGORIES, *text);
    hb_message_number(m, 3, iid);
    hb_message_number(m, 9, (uint64_t)type);
    hb_message_number(m, 10, hb_pf_intern(&w->f, row, HB_PF_NAMES, name));
    if (flow) hb_message_fixed(m, 47, flow);
}

static void close_until(writer *w, nesting_row *r, int64_t time)
{
    while (r->open.count && r->open.items[r->open.count - 1].end <= time) {
        char event[48];
        hb_message m = HB_MESSAGE_IN(event);
        hb_message_number(&m, 9, HB_PF_END);
        hb_pf_event(&w->f, &r->row, r->open.items[--r->open.count].end, event, &m);
    }
}

/* Of a place the first row on which the slice lies within what is open. */
static nesting_row *row_for(writer *w, place *p, int64_t start, int64_t end)
{
    for (uint32_t i = 0; i < p->rows.count; i++) {
        nesting_row *r = &p->rows.items[i];
        uint32_t open = r->open.count;
        while (open && r->open.items[open - 1].end <= start)
            open--;
        bool inside = !open || end <= r->open.items[open - 1].end;
        if (!inside || r->row.clock > start) continue;
        close_until(w, r, start);
        return r;
    }
    uint64_t uuid = p->uuid + p->rows.count;
    hb_str name = HB_STR("beside");
    char text[40];
    if (p->device >= 0) {
        int n = snprintf(text, sizeof text, "stream %lld", (long long)p->number);
        name = (hb_str){text, (uint32_t)n};
    }
    /* Further rows of a thread stand below it; those of a stream have its name: they are shown as
     * one. */
    if (p->rows.count) hb_pf_describe(&w->f, uuid, p->parent, name, NULL, NULL);
    nesting_row *r = HB_PUSH(&w->arena, &p->rows);
    memset(r, 0, sizeof *r);
    r->row = hb_pf_new_row(&w->f, uuid);
    return r;
}

/* ---- the host ---- */

/* Of a thread that is told twice, the first name. */
static void list_thread_names(writer *w)
{
    const hb_trace_info *info = w->source->info;
    for (size_t i = 0; i < info->num_threads; i++) {
        bool added;
        if (!info->threads[i].name) continue;
        hb_dict_entry *entry =
            hb_dict_add(&w->arena, &w->thread_names, (uint64_t)info->threads[i].tid, &added);
        if (added) entry->value = (uint32_t)i;
    }
}

static hb_str thread_name(const writer *w, int64_t tid)
{
    const hb_dict_entry *entry = hb_dict_get(&w->thread_names, (uint64_t)tid);
    const char *name = entry ? w->source->info->threads[entry->value].name : "";
    return (hb_str){name, (uint32_t)strlen(name)};
}

static uint32_t thread_of(writer *w, int64_t tid)
{
    char thread[600];
    hb_message m = HB_MESSAGE_IN(thread), d;
    bool added;
    if (w->last_thread < w->threads.count && w->threads.items[w->last_thread].number == tid)
        return w->last_thread;
    hb_dict_entry *entry = hb_dict_add(&w->arena, &w->by_tid, (uint64_t)tid, &added);
    if (!added) return w->last_thread = entry->value;
    entry->value = w->threads.count;
    place *p = HB_PUSH(&w->arena, &w->threads);
    memset(p, 0, sizeof *p);
    p->number = tid;
    p->device = -1;
    p->uuid = p->parent = mix(w->process, (uint64_t)tid) | 1;
    hb_str name = thread_name(w, tid);
    hb_message_number(&m, 1, (uint64_t)w->source->info->pid);
    hb_message_number(&m, 2, (uint64_t)tid);
    if (name.len) hb_message_bytes(&m, 5, name.s, HB_MIN(name.len, 500u));
    char inside[700];
    d = (hb_message)HB_MESSAGE_IN(inside);
    hb_message_inside(&d, 4, thread, &m);
    hb_pf_describe(&w->f, p->uuid, w->process, HB_STR(""), &d, inside);
    return w->last_thread = w->threads.count - 1;
}

/* What the format has no place for. */
static void count_left_out(writer *w, const hb_trace_event *e)
{
    const hb_op_args *op = &e->op;
    w->stats.inputs += op->num_inputs || op->flops > 0 || op->sequence_number || op->stack.len;
}

static bool host_before(const host_event *x, const host_event *y)
{
    if (x->thread != y->thread) return x->thread < y->thread;
    return x->start != y->start ? x->start < y->start : x->end > y->end;
}

static void keep_host(writer *w, const hb_trace_event *e)
{
    static const hb_category categories[] = {
        [HB_EVENT_OP] = HB_CATEGORY_CPU_OP,
        [HB_EVENT_USER_ANNOTATION] = HB_CATEGORY_USER_ANNOTATION,
        [HB_EVENT_MEMORY] = HB_CATEGORY_CPU_INSTANT_EVENT,
        [HB_EVENT_RUNTIME] = HB_CATEGORY_CUDA_RUNTIME,
        [HB_EVENT_SYNC] = HB_CATEGORY_CUDA_RUNTIME,
    };
    bool memory = e->kind == HB_EVENT_MEMORY;
    bool call = e->kind == HB_EVENT_RUNTIME || e->kind == HB_EVENT_SYNC;
    bool hip = call && (hb_str_begins(e->name, "hip") || hb_str_begins(e->name, "__hip"));
    w->args.to = &w->kept;
    host_event *h = hb_column_push(&w->hosts);
    if (!h) hb_arena_leave(&w->arena, HB_ERROR_NO_MEMORY, "out of memory");
    *h = (host_event){
        .start = e->start_ns,
        .end = HB_MAX(e->end_ns, e->start_ns),
        .args = w->kept.size,
        .name = memory ? hb_pf_text(&w->f, hb_memory_event_name(e)) : name_of(w, e),
        .thread = thread_of(w, e->tid),
        .type = memory ? HB_PF_INSTANT : HB_PF_BEGIN,
        .category = (uint8_t)(hip ? HIP_API : categories[e->kind]),
    };
    if (call && e->runtime.launches && e->correlation) h->flow = flow_of(w, e->correlation);
    if (memory) {
        hb_pf_add_memory(&w->args, e);
    } else if (call) {
        hb_pf_add_call(&w->args, e);
    } else {
        hb_pf_add_scope(&w->args, e);
        count_left_out(w, e);
    }
    h->args_size = (uint32_t)(w->kept.size - h->args);
    uint32_t last = w->hosts.count - 1;
    if (last && host_before(h, hb_column_at(&w->hosts, last - 1))) w->hosts_in_order = false;
}

static bool place_before(const void *hosts, const void *a, const void *b)
{
    return host_before(hb_column_at(hosts, *(const uint32_t *)a),
                       hb_column_at(hosts, *(const uint32_t *)b));
}

static void put_host(writer *w, const host_event *h)
{
    char event[2048];
    hb_message m = HB_MESSAGE_IN(event);
    const char *args = h->args_size ? w->kept.data + h->args : NULL;
    nesting_row *r = row_for(w, &w->threads.items[h->thread], h->start, h->end);
    hb_pf_ready(&w->f, &r->row, h->start);
    begin_event(w, &r->row, &m, h->type, h->category, h->name, h->flow);
    hb_pf_put_args(&w->f, &r->row, &m, args, h->args_size);
    hb_pf_event(&w->f, &r->row, h->start, event, &m);
    w->stats.events++;
    if (h->type == HB_PF_BEGIN) HB_PUSH(&w->arena, &r->open)->end = h->end;
}

static void put_hosts(writer *w)
{
    uint32_t *order = w->hosts_in_order ? NULL : HB_NEW_ARRAY(&w->arena, uint32_t, w->hosts.count);
    for (uint32_t i = 0; order && i < w->hosts.count; i++)
        order[i] = i;
    if (order) hb_sort(&w->arena, order, w->hosts.count, sizeof *order, place_before, &w->hosts);
    for (uint32_t i = 0; i < w->hosts.count; i++)
        put_host(w, hb_column_at(&w->hosts, order ? order[i] : i));
}

/* ---- GPUs ---- */

static uint64_t gpu_row(const writer *w, int32_t device)
{
    return mix(w->process ^ UINT64_C(0x4750), (uint64_t)device) | 1;
}

static void describe_gpu(writer *w, int32_t device)
{
    char name[300];
    const char *told = "";
    bool added;
    (void)hb_dict_add(&w->arena, &w->described_gpus, (uint64_t)device, &added);
    if (!added) return;
    for (size_t i = 0; i < w->source->info->num_devices; i++)
        if (w->source->info->devices[i].id == device) told = w->source->info->devices[i].name;
    int n = snprintf(name, sizeof name, "GPU %d%s%.200s", (int)device, told && *told ? " " : "",
                     told ? told : "");
    hb_pf_describe(&w->f, gpu_row(w, device), w->process, (hb_str){name, (uint32_t)n}, NULL, NULL);
}

static place *stream_of(writer *w, int32_t device, int64_t stream)
{
    char name[40];
    place *last = w->last_stream < w->streams.count ? &w->streams.items[w->last_stream] : NULL;
    if (last && last->device == device && last->number == stream) return last;
    stream_key key = {stream, device};
    uint32_t index = hb_distinct_add(&w->by_stream, &key);
    if (index == UINT32_MAX) hb_arena_leave(&w->arena, HB_ERROR_NO_MEMORY, "out of memory");
    w->last_stream = index - 1;
    if (index <= w->streams.count) return &w->streams.items[index - 1];
    describe_gpu(w, device);
    place *p = HB_PUSH(&w->arena, &w->streams);
    memset(p, 0, sizeof *p);
    p->number = stream;
    p->device = device;
    p->uuid = mix(gpu_row(w, device), (uint64_t)stream) | 1;
    p->parent = gpu_row(w, device);
    int n = snprintf(name, sizeof name, "stream %lld", (long long)stream);
    hb_pf_describe(&w->f, p->uuid, gpu_row(w, device), (hb_str){name, (uint32_t)n}, NULL, NULL);
    return p;
}

static void put_work(writer *w, const hb_trace_event *e)
{
    char event[4096];
    hb_message m = HB_MESSAGE_IN(event);
    hb_category category = e->kind == HB_EVENT_KERNEL   ? HB_CATEGORY_KERNEL
                           : e->kind == HB_EVENT_MEMCPY ? HB_CATEGORY_GPU_MEMCPY
                                                        : HB_CATEGORY_GPU_MEMSET;
    int64_t end = HB_MAX(e->end_ns, e->start_ns);
    nesting_row *r = row_for(w, stream_of(w, e->device, e->tid), e->start_ns, end);
    bool linked = e->correlation && !(e->flags & HB_TEV_NO_CALL);
    hb_pf_ready(&w->f, &r->row, e->start_ns);
    begin_event(w, &r->row, &m, HB_PF_BEGIN, category, name_of(w, e),
                linked ? flow_of(w, e->correlation) : 0);
    w->args.to = NULL;
    w->args.row = &r->row;
    w->args.message = &m;
    hb_pf_add_work(&w->args, e);
    hb_pf_event(&w->f, &r->row, e->start_ns, event, &m);
    HB_PUSH(&w->arena, &r->open)->end = end;
    w->stats.events++;
}

/* ---- numbers ---- */

/* A counter may have several curves, which their units tell apart. */
static hb_pf_row *counter_of(writer *w, const hb_trace_event *e)
{
    char text[200], inside[300];
    hb_str unit = e->kind == HB_EVENT_COUNTER ? e->counter.unit : (hb_str){0};
    uint32_t thread = thread_of(w, e->tid);
    uint64_t curve = name_of(w, e);
    bool added;
    if (unit.len) curve = mix(curve, hb_hash_bytes(unit.s, unit.len));
    hb_dict_entry *entry =
        hb_dict_add(&w->arena, &w->by_counter, (uint64_t)thread << 32 ^ curve, &added);
    if (!added) return &w->counters.items[entry->value];
    entry->value = w->counters.count;
    hb_message m = HB_MESSAGE_IN(text), d = HB_MESSAGE_IN(inside);
    uint64_t uuid = mix(w->threads.items[thread].uuid ^ 0x43, curve) | 1;
    if (unit.len) hb_message_bytes(&m, 6, unit.s, HB_MIN(unit.len, 100u));
    hb_message_inside(&d, 8, text, &m);
    hb_pf_describe(&w->f, uuid, w->threads.items[thread].uuid, e->name, &d, inside);
    hb_pf_row *row = HB_PUSH(&w->arena, &w->counters);
    *row = hb_pf_new_row(&w->f, uuid);
    return row;
}

static void put_value(writer *w, const hb_trace_event *e)
{
    char event[64];
    uint64_t bits;
    hb_message m = HB_MESSAGE_IN(event);
    double value = e->kind == HB_EVENT_COUNTER ? e->counter.value : e->scalar;
    hb_pf_row *row = counter_of(w, e);
    memcpy(&bits, &value, sizeof bits);
    hb_pf_ready(&w->f, row, e->start_ns);
    hb_message_number(&m, 9, HB_PF_COUNTER);
    hb_message_fixed(&m, 44, bits);
    hb_pf_event(&w->f, row, e->start_ns, event, &m);
    w->stats.events++;
}

/* ---- the process ---- */

static void put_json_text(hb_buf *json, const char *key, const char *text)
{
    if (!text || !*text) return;
    hb_buf_printf(json, "%s\"%s\":", json->size > 1 ? "," : "", key);
    hb_buf_json_string(json, text, strlen(text));
}

static void put_device(hb_buf *json, const hb_device_info *d)
{
    hb_buf_printf(json,
                  "{\"id\":%d,\"major\":%d,\"minor\":%d,\"block\":%d,\"cuThreads\":%d,"
                  "\"registers\":%d,\"wave\":%d,\"cus\":%d,\"memory\":%llu,\"lds\":%llu,"
                  "\"cuLds\":%llu,\"clockKhz\":%d,\"memoryKhz\":%d,\"busBits\":%d",
                  (int)d->id, (int)d->compute_major, (int)d->compute_minor,
                  (int)d->max_threads_per_block, (int)d->max_threads_per_cu, (int)d->regs_per_block,
                  (int)d->warp_size, (int)d->num_cus, (unsigned long long)d->total_global_mem,
                  (unsigned long long)d->shared_mem_per_block,
                  (unsigned long long)d->max_shared_mem_per_cu, (int)d->clock_khz,
                  (int)d->memory_khz, (int)d->memory_bus_bits);
    put_json_text(json, "name", d->name);
    put_json_text(json, "arch", d->arch);
    hb_buf_str(json, "}");
}

/* What the format has no place for: an event of a category that only hipboard knows. */
static void put_info(writer *w)
{
    const hb_trace_info *info = w->source->info;
    hb_buf json;
    char event[64];
    hb_message m = HB_MESSAGE_IN(event);
    hb_buf_init(&json, 1 << 20);
    hb_buf_str(&json, "{");
    put_json_text(&json, "program", info->process_name);
    put_json_text(&json, "host", info->host_name);
    if (info->distributed_json)
        hb_buf_printf(&json, "%s\"distributed\":%s", json.size > 1 ? "," : "",
                      info->distributed_json);
    for (size_t i = 0; i < info->num_devices; i++) {
        hb_buf_str(&json, i ? "," : json.size > 1 ? ",\"devices\":[" : "\"devices\":[");
        put_device(&json, &info->devices[i]);
    }
    hb_buf_str(&json, info->num_devices ? "]}" : "}");
    hb_string_id text = json.failed ? hb_pf_text(&w->f, HB_STR("{}"))
                                    : hb_pf_text(&w->f, (hb_str){json.data, (uint32_t)json.size});
    hb_buf_free(&json);
    hb_pf_row row = hb_pf_new_row(&w->f, w->process);
    hb_pf_ready(&w->f, &row, info->start_ns);
    hb_string_id category = hb_pf_text(&w->f, HB_STR("hipboard_info"));
    hb_message_number(&m, 3, hb_pf_intern(&w->f, &row, HB_PF_CATEGORIES, category));
    hb_message_number(&m, 9, HB_PF_INSTANT);
    hb_message_number(&m, 10, hb_pf_intern(&w->f, &row, HB_PF_NAMES, text));
    hb_pf_event(&w->f, &row, info->start_ns, event, &m);
}

static void put_process(writer *w)
{
    const hb_trace_info *info = w->source->info;
    char process[600], inside[700];
    hb_message m = HB_MESSAGE_IN(process), d = HB_MESSAGE_IN(inside);
    hb_message_number(&m, 1, (uint64_t)info->pid);
    if (info->process_name)
        hb_message_bytes(&m, 6, info->process_name,
                         HB_MIN(strlen(info->process_name), (size_t)500));
    hb_message_inside(&d, 3, process, &m);
    hb_pf_describe(&w->f, w->process, 0, HB_STR(""), &d, inside);
    put_info(w);
}

/* ---- the whole ---- */

static void begin(writer *w, hb_pass pass)
{
    hb_result result = w->source->begin(w->source, pass);
    if (result != HB_OK) hb_arena_leave(&w->arena, result, "%s", hb_last_error());
}

static void count_modules(writer *w)
{
    hb_trace_event e;
    begin(w, HB_PASS_MODULES);
    while (w->source->next(w->source, &e))
        w->stats.modules++;
}

static void write_all(writer *w)
{
    hb_trace_event e;
    if (!hb_texts_init(&w->f.texts) || !hb_distinct_init(&w->by_stream, sizeof(stream_key)))
        hb_arena_leave(&w->arena, HB_ERROR_NO_MEMORY, "out of memory");
    list_thread_names(w);
    put_process(w);
    begin(w, HB_PASS_HOST);
    while (w->source->next(w->source, &e))
        keep_host(w, &e);
    count_modules(w);
    begin(w, HB_PASS_DEVICE);
    while (w->source->next(w->source, &e))
        if (e.kind == HB_EVENT_RUNTIME || e.kind == HB_EVENT_SYNC)
            keep_host(w, &e);
        else
            put_work(w, &e);
    put_hosts(w);
    begin(w, HB_PASS_SCALARS);
    while (w->source->next(w->source, &e))
        if (e.kind == HB_EVENT_FLOW)
            w->stats.flows++;
        else
            put_value(w, &e);
    for (uint32_t i = 0; i < w->threads.count; i++)
        for (uint32_t k = 0; k < w->threads.items[i].rows.count; k++)
            close_until(w, &w->threads.items[i].rows.items[k], INT64_MAX);
    for (uint32_t i = 0; i < w->streams.count; i++)
        for (uint32_t k = 0; k < w->streams.items[i].rows.count; k++)
            close_until(w, &w->streams.items[i].rows.items[k], INT64_MAX);
}

static hb_result try_to_write(writer *w)
{
    if (hb_arena_try(&w->arena)) write_all(w);
    return hb_arena_outcome(&w->arena);
}

hb_result hb_write_pftrace(hb_source *source, hb_sink *sink, hb_pftrace_stats *stats)
{
    writer *w = calloc(1, sizeof *w);
    if (!w) return hb_no_memory();
    w->source = source;
    w->f.arena = &w->arena;
    w->args.f = &w->f;
    w->process = mix((uint64_t)source->info->pid, hash_of(source->info->trace_id)) | 1;
    hb_buf_init(&w->kept, SIZE_MAX / 2);
    w->hosts.item_size = sizeof(host_event);
    w->hosts_in_order = true;
    hb_result result = hb_out_open(&w->f.out, sink);
    if (result == HB_OK) result = try_to_write(w);
    if (result == HB_OK) result = hb_out_finish(&w->f.out);
    w->stats.bytes = w->f.bytes;
    if (stats) *stats = w->stats;
    hb_out_free(&w->f.out);
    hb_buf_free(&w->kept);
    hb_column_free(&w->hosts);
    hb_texts_free(&w->f.texts);
    hb_distinct_free(&w->by_stream);
    hb_arena_free(&w->arena);
    free(w);
    return result;
}
