/* SPDX-License-Identifier: MIT
 *
 * A profiler plugin for RCCL, which RCCL loads where NCCL_PROFILER_PLUGIN names it: what only RCCL
 * knows of a call, its algorithm, protocol and channels, and by the GPU's own clock how long its
 * channels took. The calls themselves are recorded where they are called.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <hipboard/comm.h>

#include "comm/rccl_profiler_abi.h"

enum { EVENTS = 4096, MOST_ARGS = 12, COMM_DIGITS = 24 };

typedef struct communicator {
    char id[COMM_DIGITS];
    int ranks, rank;
} communicator;

/* An operation from its start until its channels have ended, or one of these. Texts are RCCL's
 * constants. */
typedef struct known_event {
    atomic_ullong number; /* which one the place is of; 0: none yet */
    uint64_t type;
    hb_scope scope;
    hb_rccl_details is;
    char comm[COMM_DIGITS];
    int rank, ranks;
    /* an operation's */
    uint64_t flow;
    atomic_uint ended; /* channels */
    _Atomic uint64_t first, last, longest;
    /* a channel's */
    struct known_event *of;
    uint64_t of_number, took;
} known_event;

/* Places are used again after so many events: RCCL may never tell of a channel's end. */
static known_event events[EVENTS];
static atomic_ullong num_events;

static known_event *new_event(uint64_t type)
{
    uint64_t number = atomic_fetch_add(&num_events, 1) + 1;
    known_event *e = &events[number % EVENTS];
    atomic_store(&e->number, number);
    e->type = type;
    e->scope = hb_scope_none_();
    e->of = NULL;
    e->took = 0;
    atomic_store(&e->ended, 0);
    atomic_store(&e->first, UINT64_MAX);
    atomic_store(&e->last, 0);
    atomic_store(&e->longest, 0);
    return e;
}

/* ---- what is told ---- */

typedef struct args {
    hb_arg all[MOST_ARGS];
    size_t count;
} args;

static void put(args *a, hb_arg arg)
{
    if (a->count < MOST_ARGS) a->all[a->count++] = arg;
}

static void put_text(args *a, const char *key, const char *text)
{
    if (text) put(a, hb_arg_string(key, text));
}

static const char *function_of(const known_event *e)
{
    const char *name =
        e->type == HB_RCCL_COLLECTIVE ? e->is.collective.function : e->is.message.function;
    return name ? name : "call";
}

static unsigned channels_of(const known_event *e)
{
    return e->type == HB_RCCL_COLLECTIVE ? e->is.collective.channels : e->is.message.channels;
}

static void describe(args *a, const known_event *e)
{
    put(a, hb_arg_string("communicator", e->comm));
    put(a, hb_arg_int("rank", e->rank));
    put(a, hb_arg_int("ranks", e->ranks));
    if (e->type == HB_RCCL_COLLECTIVE) {
        put(a, hb_arg_uint("sequence", e->is.collective.sequence));
        put_text(a, "algorithm", e->is.collective.algorithm);
        put_text(a, "protocol", e->is.collective.protocol);
        put(a, hb_arg_uint("warps", e->is.collective.warps));
        put(a, hb_arg_uint("count", e->is.collective.count));
        put_text(a, "type", e->is.collective.type);
    } else {
        put(a, hb_arg_int("peer", e->is.message.peer));
        put(a, hb_arg_uint("count", e->is.message.count));
        put_text(a, "type", e->is.message.type);
    }
    put(a, hb_arg_uint("channels", channels_of(e)));
}

static hb_scope begin(const known_event *e, const char *what, const args *a)
{
    char name[64];
    snprintf(name, sizeof name, "RCCL %s%s", what, function_of(e));
    return hb_scope_begin(name, &(hb_scope_info){.struct_size = sizeof(hb_scope_info),
                                                 .category = "rccl",
                                                 .args = a->all,
                                                 .num_args = a->count});
}

/* All its channels have ended: at this moment, in RCCL's thread, it is told how long they took. */
static void tell_of_kernel(known_event *e)
{
    args a = {.count = 0};
    describe(&a, e);
    put(&a, hb_arg_uint("GPU ticks", atomic_load(&e->last) - atomic_load(&e->first)));
    put(&a, hb_arg_uint("GPU ticks of the slowest channel", atomic_load(&e->longest)));
    hb_scope scope = begin(e, "kernel of ", &a);
    hb_flow("RCCL", e->flow, HB_FLOW_END);
    hb_scope_end(&scope);
}

/* ---- RCCL's calls ---- */

static int start_operation(const communicator *c, known_event *e, const hb_rccl_details *details)
{
    args a = {.count = 0};
    if (e->type == HB_RCCL_COLLECTIVE)
        e->is.collective = details->collective;
    else
        e->is.message = details->message;
    snprintf(e->comm, sizeof e->comm, "%s", c->id);
    e->rank = c->rank;
    e->ranks = c->ranks;
    e->flow = atomic_load(&e->number);
    describe(&a, e);
    e->scope = begin(e, "", &a);
    hb_flow("RCCL", e->flow, HB_FLOW_BEGIN);
    return 0;
}

static void start_channel(known_event *e, known_event *of, const hb_rccl_channel *channel)
{
    e->is.channel = *channel;
    e->of = of;
    e->of_number = of ? atomic_load(&of->number) : 0;
}

static int start(void *context, void **handle, uint64_t type, void *parent,
                 const hb_rccl_details *details)
{
    bool operation = type == HB_RCCL_COLLECTIVE || type == HB_RCCL_MESSAGE;
    bool channel = type == HB_RCCL_CHANNEL && parent;
    *handle = NULL;
    if (!context || !HB_COMM_ENABLED() || (!operation && !channel)) return 0;
    known_event *e = *handle = new_event(type);
    if (operation) return start_operation(context, e, details);
    start_channel(e, parent, &details->channel);
    return 0;
}

static int start_4(void *context, void **handle, hb_rccl_event_4 *event)
{
    return start(context, handle, event->type, event->parent, &event->details);
}

static int start_5(void *context, void **handle, hb_rccl_event_5 *event)
{
    return start(context, handle, event->type, event->parent, &event->details);
}

static void keep_least(_Atomic uint64_t *to, uint64_t value)
{
    uint64_t now = atomic_load(to);
    while (value < now && !atomic_compare_exchange_weak(to, &now, value)) {
    }
}

static void keep_most(_Atomic uint64_t *to, uint64_t value)
{
    uint64_t now = atomic_load(to);
    while (value > now && !atomic_compare_exchange_weak(to, &now, value)) {
    }
}

static int update(void *handle, int state, hb_rccl_update *update)
{
    known_event *e = handle;
    if (!e || !update || e->type != HB_RCCL_CHANNEL || state != HB_RCCL_CHANNEL_STOP) return 0;
    e->took = update->time > e->is.channel.time ? update->time - e->is.channel.time : 0;
    return 0;
}

static void stop_channel(const known_event *e)
{
    known_event *of = e->of;
    if (!of || atomic_load(&of->number) != e->of_number) return; /* its place is another's now */
    keep_least(&of->first, e->is.channel.time);
    keep_most(&of->last, e->is.channel.time + e->took);
    keep_most(&of->longest, e->took);
    if (atomic_fetch_add(&of->ended, 1) + 1 == channels_of(of)) tell_of_kernel(of);
}

static int stop(void *handle)
{
    known_event *e = handle;
    if (!e) return 0;
    if (e->type == HB_RCCL_CHANNEL)
        stop_channel(e);
    else
        hb_scope_end(&e->scope);
    return 0;
}

static int init(void **context, int *wanted, uint64_t comm, int ranks, int rank)
{
    communicator *c = malloc(sizeof *c);
    if (!c) return 1;
    snprintf(c->id, sizeof c->id, "%016llx", (unsigned long long)comm);
    c->ranks = ranks;
    c->rank = rank;
    *context = c;
    *wanted = HB_RCCL_COLLECTIVE | HB_RCCL_MESSAGE | HB_RCCL_CHANNEL;
    return 0;
}

static int init_4(void **context, int *wanted, const char *comm_name, uint64_t comm, int nodes,
                  int ranks, int rank, void *log)
{
    (void)comm_name, (void)nodes, (void)log;
    return init(context, wanted, comm, ranks, rank);
}

static int init_5(void **context, uint64_t comm, int *wanted, const char *comm_name, int nodes,
                  int ranks, int rank, void *log)
{
    (void)comm_name, (void)nodes, (void)log;
    return init(context, wanted, comm, ranks, rank);
}

static int finish(void *context)
{
    free(context);
    return 0;
}

/* RCCL looks for the newest of these names that it knows. */
__attribute__((visibility("default"))) extern const hb_rccl_plugin_4 ncclProfiler_v4;
__attribute__((visibility("default"))) extern const hb_rccl_plugin_5 ncclProfiler_v5;
const hb_rccl_plugin_4 ncclProfiler_v4 = {"hipboard", init_4, start_4, stop, update, finish};
const hb_rccl_plugin_5 ncclProfiler_v5 = {"hipboard", init_5, start_5, stop, update, finish};

/* For hb_part_path(). */
__attribute__((used)) static const char part_of[] = HB_PART;
