/* SPDX-License-Identifier: MIT */
#include "ranks/rank_events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/json_members.h"
#include "base/times.h"
#include "ranks/comm_args.h"
#include "read/json_reader.h"
#include "rules/categories.h"
#include "rules/collective_names.h"
#include "rules/kernel_class.h"
#include "rules/name_class.h"
#include "rules/worker_host.h"

typedef struct reading {
    const hb_open_options *options;
    const char *path;
    hb_rank_maker *maker;
    hb_texts tracks, kernels[2]; /* kernels: that communicate are the second */
    char last_track[128]; /* the key of the last event's, which the next one mostly has too */
    size_t last_size;
    uint32_t last_number;
    int64_t pid;
    hb_buf name, texts; /* of the event, where they have escapes */
    bool failed;
} reading;

static hb_str str_of(const hb_raw_event *raw, hb_slot slot)
{
    hb_value v = hb_raw_get(raw, slot);
    return (hb_str){v.s, (uint32_t)v.size};
}

/* Digests of recorders have the names themselves, and those of one job are compared. */
static hb_str name_of(reading *r, const hb_raw_event *raw)
{
    hb_value v = hb_raw_get(raw, HB_SLOT_NAME);
    if (v.type != HB_JSON_STRING || !v.escaped) return (hb_str){v.s, (uint32_t)v.size};
    r->name.size = 0;
    hb_value_decode(&v, &r->name);
    return (hb_str){hb_buf_text(&r->name), (uint32_t)r->name.size};
}

static uint32_t track_of(reading *r, const hb_raw_event *raw)
{
    char key[sizeof r->last_track];
    hb_str pid = str_of(raw, HB_SLOT_PID), tid = str_of(raw, HB_SLOT_TID);
    int n = snprintf(key, sizeof key, "%.*s|%.*s", (int)HB_MIN(pid.len, 60u), pid.s,
                     (int)HB_MIN(tid.len, 60u), tid.s);
    size_t size = (size_t)n;
    if (size == r->last_size && memcmp(key, r->last_track, size) == 0) return r->last_number;
    hb_string_id id = hb_texts_add(&r->tracks, key, size);
    r->failed |= id == 0;
    memcpy(r->last_track, key, size);
    r->last_size = size;
    return r->last_number = id;
}

static bool time_of(const hb_raw_event *raw, hb_slot slot, int64_t *ns)
{
    hb_value v = hb_raw_get(raw, slot);
    if (v.type != HB_JSON_INT && v.type != HB_JSON_FLOAT) return false;
    double us = hb_value_double(&v);
    return isfinite(us) && hb_us_to_ns(us, ns);
}

static bool has_keys(hb_str args)
{
    static const char key[] = "\"Collective name\"";
    return memmem(args.s, args.len, key, sizeof key - 1) != NULL;
}

static bool is_open(hb_str args)
{
    static const char key[] = "\"finished\": false";
    return memmem(args.s, args.len, key, sizeof key - 1) != NULL;
}

/* ---- what an event is ---- */

/* Calls of MPI that are no communication are none of its rank's work either. */
static void take_mpi(hb_rank_event *e)
{
    e->role = HB_ROLE_COMMUNICATION;
    e->witness = HB_RANK_CALL;
    e->waits = hb_str_begins(e->name, "MPI_Wait") || hb_str_begins(e->name, "MPI_Test");
}

/* Several messages that begin together meet nobody but theirs. */
static bool meets(const hb_rank_comm *comm)
{
    const hb_collective_name *known = hb_collective_of(comm->operation);
    return !known || known->waits != HB_COLLECTIVE_WAITS_GROUP || comm->sequence > 0;
}

static void take_host(reading *r, hb_rank_event *e, hb_kind kind, hb_str args, hb_rank_comm *comm)
{
    unsigned bits = hb_scope_class_of(e->name);
    e->role = kind == HB_KIND_OPERATOR ? HB_ROLE_CPU : HB_ROLE_OTHER;
    if (bits & HB_NAME_LOADER) e->role = HB_ROLE_LOADER;
    if (hb_str_begins(e->name, "MPI_")) take_mpi(e);
    if (has_keys(args) && hb_comm_of_args(args, &r->texts, comm)) {
        bool starts_kernel = hb_collective_starts_kernel(e->name);
        e->role = HB_ROLE_COMMUNICATION;
        e->witness = starts_kernel ? HB_RANK_ENQUEUE : HB_RANK_CALL;
        /* What completes a request tells again of what was told when it began. */
        if (!e->waits && meets(comm)) e->comm = comm;
    } else if (bits & (HB_NAME_COLLECTIVE | HB_NAME_COMMUNICATES)) {
        if (hb_name_is(HB_KNOWN_C10D, e->name)) return; /* starts it on another thread */
        if (!hb_comm_of_annotation(e->name, args, comm)) return;
        e->role = HB_ROLE_COMMUNICATION;
        e->witness = hb_collective_starts_kernel(e->name) ? HB_RANK_ENQUEUE : HB_RANK_ANNOTATION;
        e->comm = comm;
    }
}

/* A class is found by many patterns: once a name. */
static bool communicates(reading *r, hb_str kernel)
{
    for (int known = 0; known < 2; known++)
        if (hb_texts_find(&r->kernels[known], kernel.s, kernel.len)) return known;
    const hb_kernel_rules rules = {0}; /* the built-in ones */
    bool does = hb_kernel_class_is(HB_KERNELS_COMMUNICATION, hb_kernel_class_of(&rules, kernel));
    r->failed |= !hb_texts_add(&r->kernels[does], kernel.s, kernel.len);
    return does;
}

static void take_kernel(reading *r, hb_rank_event *e, hb_str args, hb_rank_comm *comm)
{
    e->role = HB_ROLE_KERNEL;
    if (!communicates(r, e->name)) return;
    hb_comm_of_kernel(e->name, args, &r->texts, comm);
    e->role = HB_ROLE_COMMUNICATION;
    e->witness = HB_RANK_KERNEL;
    if (meets(comm)) e->comm = comm;
}

/* False: it says nothing of what its rank does. */
static bool classify(reading *r, hb_rank_event *e, hb_str category, hb_str args, hb_rank_comm *comm)
{
    hb_kind kind = hb_kind_by_category(category);
    e->device = kind == HB_KIND_KERNEL || kind == HB_KIND_MEMCPY || kind == HB_KIND_MEMSET;
    switch (kind) {
    case HB_KIND_OPERATOR:
    case HB_KIND_ANNOTATION:
        if (hb_category_is(HB_CATEGORY_GPU_USER_ANNOTATION, category)) return false;
        if (hb_is_step(e->name)) {
            e->role = HB_ROLE_TOTAL;
            return true;
        }
        take_host(r, e, kind, args, comm);
        return true;
    case HB_KIND_OTHER: /* a call that an annotation stands around */
        if (!hb_str_is(category, "comm")) return false;
        take_host(r, e, HB_KIND_OPERATOR, args, comm);
        return true;
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL: e->role = HB_ROLE_RUNTIME; return true;
    case HB_KIND_KERNEL: take_kernel(r, e, args, comm); return true;
    case HB_KIND_MEMCPY: e->role = HB_ROLE_MEMCPY; return true;
    case HB_KIND_MEMSET: e->role = HB_ROLE_MEMSET; return true;
    default: return false;
    }
}

static void take_pid(reading *r, const hb_raw_event *raw)
{
    hb_value pid = hb_raw_get(raw, HB_SLOT_PID);
    if (r->pid < 0) r->pid = HB_MAX(-1, hb_int_of(&pid, -1));
}

static void take_span(reading *r, const hb_raw_event *raw)
{
    hb_rank_comm comm;
    hb_rank_event e = {.name = name_of(r, raw)};
    if (!time_of(raw, HB_SLOT_TS, &e.start) || !time_of(raw, HB_SLOT_DUR, &e.end)) return;
    e.end += e.start;
    if (!classify(r, &e, str_of(raw, HB_SLOT_CAT), str_of(raw, HB_SLOT_ARGS), &comm)) return;
    /* Stretches of time that hipboard made where a program has no steps are no rank's steps. */
    if (e.role == HB_ROLE_TOTAL && hb_str_is(str_of(raw, HB_SLOT_TID), "0")) return;
    e.open = is_open(str_of(raw, HB_SLOT_ARGS));
    if (!e.device) take_pid(r, raw);
    e.track = track_of(r, raw);
    r->failed |= !hb_rank_maker_add(r->maker, &e);
}

static void take_arrow(reading *r, const hb_raw_event *raw, bool begins)
{
    int64_t ns;
    hb_value number = hb_raw_get(raw, HB_SLOT_ID);
    if (!hb_str_begins(str_of(raw, HB_SLOT_NAME), "MPI_")) return;
    if (!time_of(raw, HB_SLOT_TS, &ns)) return;
    r->failed |= !hb_rank_maker_flow(r->maker, track_of(r, raw), ns,
                                     (uint64_t)hb_int_of(&number, -1), begins);
}

static bool take_event(void *context, const hb_raw_event *raw, hb_str text, bool defective)
{
    reading *r = context;
    hb_str ph = str_of(raw, HB_SLOT_PH);
    (void)text;
    (void)defective;
    if (ph.len != 1) return true;
    if (*ph.s == 'X') take_span(r, raw);
    if (*ph.s == 's' || *ph.s == 'f') take_arrow(r, raw, *ph.s == 's');
    r->failed |= r->name.failed || r->texts.failed;
    return !r->failed;
}

/* ---- the whole ---- */

static char *member_text(const hb_trace *trace, const char *key, const char *inner)
{
    hb_str json = hb_trace_member(trace, key);
    hb_value v = inner      ? hb_json_member(json, inner)
                 : json.len ? hb_json_value(json)
                            : (hb_value){0};
    hb_buf text;
    if (v.type != HB_JSON_STRING) return NULL;
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_value_decode(&v, &text);
    char *copy = strndup(hb_buf_text(&text), text.size);
    hb_buf_free(&text);
    return copy;
}

static int64_t member_int(const hb_trace *trace, const char *key, const char *inner, int64_t other)
{
    hb_str json = hb_trace_member(trace, key);
    hb_value v = inner      ? hb_json_member(json, inner)
                 : json.len ? hb_json_value(json)
                            : (hb_value){0};
    return hb_int_of(&v, other);
}

static int64_t base_of(const hb_trace *trace)
{
    hb_str json = hb_trace_member(trace, "baseTimeNanoseconds");
    hb_value v = json.len ? hb_json_value(json) : (hb_value){0};
    int64_t base;
    return hb_value_time(&v, &base) ? base : 0;
}

/* An object of numbers by reason, or one number. */
static bool add_lost(void *context, const hb_value *key, const hb_value *value)
{
    (void)key;
    *(uint64_t *)context += (uint64_t)HB_MAX(0, hb_int_of(value, 0));
    return true;
}

static uint64_t sum_of_lost(const hb_trace *trace)
{
    uint64_t sum = (uint64_t)HB_MAX(0, member_int(trace, "hipboard_lost", NULL, 0));
    hb_str json = hb_trace_member(trace, "hipboard_lost");
    if (json.len && *json.s == '{') hb_json_each_member(json, add_lost, &sum);
    return sum;
}

static void take_clock(const hb_trace *trace, hb_rank_origin *o)
{
    char *method = member_text(trace, "hipboard_clock", "method");
    o->clock_method = !method                         ? HB_RANK_CLOCK_UNKNOWN
                      : strcmp(method, "shared") == 0 ? HB_RANK_CLOCK_SHARED
                                                      : HB_RANK_CLOCK_MEASURED;
    o->clock_offset_ns = member_int(trace, "hipboard_clock", "offset_ns", 0);
    o->clock_bound_ns = HB_MAX(0, member_int(trace, "hipboard_clock", "bound_ns", 0));
    free(method);
}

/* Nobody knows where a worker was whose name tells no host: its clock is taken for no other's. */
static char *host_of(const hb_trace *trace, const char *worker)
{
    char *told = member_text(trace, "host_name", NULL);
    hb_str host = hb_worker_host((hb_str){worker, (uint32_t)strlen(worker)});
    if (told) return told;
    return host.len ? strndup(host.s, host.len) : strdup(worker);
}

static hb_result write_digest(reading *r, const hb_trace *trace, const char *worker, hb_buf *digest)
{
    const char *slash = strrchr(r->path, '/');
    char *host = host_of(trace, worker),
         *backend = member_text(trace, "distributedInfo", "backend");
    hb_rank_origin o = {.host = host ? host : "",
                        .worker = worker,
                        .file = slash ? slash + 1 : r->path,
                        .backend = backend ? backend : "",
                        .rank = member_int(trace, "distributedInfo", "rank", -1),
                        .world = member_int(trace, "distributedInfo", "world_size", -1),
                        .pid = r->pid,
                        .base_ns = base_of(trace),
                        .lost = sum_of_lost(trace)};
    take_clock(trace, &o);
    hb_result result = hb_rank_maker_write(r->maker, &o, digest);
    free(host);
    free(backend);
    return result;
}

static bool tell_progress(void *context, uint64_t bytes, uint64_t total)
{
    const reading *r = context;
    return r->options->progress(r->options->context, r->path, bytes, total);
}

static hb_result read_events(reading *r, const char *worker, hb_buf *digest, bool *cut)
{
    hb_trace trace;
    hb_read_options read = {.max_bytes = r->options->max_memory,
                            .num_readers = 1,
                            .event = take_event,
                            .progress = r->options->progress ? tell_progress : NULL,
                            .context = r};
    hb_read_report *report = malloc(sizeof *report);
    if (!report) return hb_no_memory();
    hb_result result = hb_read_trace(r->path, &read, &trace, report);
    if (r->failed) result = hb_no_memory();
    if (result == HB_OK) result = write_digest(r, &trace, worker, digest);
    *cut = report->cut_reason[0] != '\0';
    hb_trace_free(&trace);
    free(report);
    return result;
}

hb_result hb_rank_digest_of_file(const char *path, const char *worker,
                                 const hb_open_options *options, hb_buf *digest, bool *cut)
{
    reading r = {.options = options, .path = path, .maker = hb_rank_maker_new(), .pid = -1};
    hb_result result = r.maker && hb_texts_init(&r.tracks) && hb_texts_init(&r.kernels[0]) &&
                               hb_texts_init(&r.kernels[1])
                           ? HB_OK
                           : hb_no_memory();
    *cut = false;
    hb_buf_init(&r.name, SIZE_MAX / 2);
    hb_buf_init(&r.texts, SIZE_MAX / 2);
    if (result == HB_OK) result = read_events(&r, worker, digest, cut);
    hb_texts_free(&r.tracks);
    hb_texts_free(&r.kernels[0]);
    hb_texts_free(&r.kernels[1]);
    hb_buf_free(&r.name);
    hb_buf_free(&r.texts);
    hb_rank_maker_free(r.maker);
    return result;
}
