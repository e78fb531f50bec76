/* SPDX-License-Identifier: MIT */
#include "standin_plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

enum { CHANNELS = 2, COLL = 1 << 1, P2P = 1 << 2, KERNEL_CH = 1 << 6, CHANNEL_STOP = 22 };

/* The interface's descriptors with all that they have, written down by its documentation. */
#define DETAILS(parent_group)                \
    struct {                                 \
        uint64_t seqNumber;                  \
        const char *func;                    \
        void const *sendBuff;                \
        void *recvBuff;                      \
        size_t count;                        \
        int root;                            \
        const char *datatype;                \
        uint8_t nChannels, nWarps;           \
        const char *algo, *proto;            \
        parent_group                         \
    } coll;                                  \
    struct {                                 \
        const char *func;                    \
        void *buff;                          \
        const char *datatype;                \
        size_t count;                        \
        int peer;                            \
        uint8_t nChannels;                   \
        parent_group                         \
    } p2p;                                   \
    struct {                                 \
        pid_t pid;                           \
        uint8_t channelId;                   \
        int peer, nSteps, chunkSize, isSend; \
    } proxyOp;                               \
    struct {                                 \
        uint8_t channelId;                   \
        uint64_t pTimer;                     \
    } kernelCh;

typedef struct {
    uint8_t type;
    void *parentObj;
    int rank;
    union {
        DETAILS()
    };
} event_4;

typedef struct {
    uint64_t type;
    void *parentObj;
    int rank;
    union {
        DETAILS(void *parentGroup;)
    };
} event_5;

typedef union {
    struct {
        size_t transSize;
    } proxyStep;
    struct {
        uint64_t pTimer;
    } kernelCh;
} event_state;

typedef struct {
    const char *name;
    ncclResult_t (*init)(void **, int *, const char *, uint64_t, int, int, int, void *);
    ncclResult_t (*startEvent)(void *, void **, event_4 *);
    ncclResult_t (*stopEvent)(void *);
    ncclResult_t (*recordEventState)(void *, int, event_state *);
    ncclResult_t (*finalize)(void *);
} plugin_4;

typedef struct {
    const char *name;
    ncclResult_t (*init)(void **, uint64_t, int *, const char *, int, int, int, void *);
    ncclResult_t (*startEvent)(void *, void **, event_5 *);
    ncclResult_t (*stopEvent)(void *);
    ncclResult_t (*recordEventState)(void *, int, event_state *);
    ncclResult_t (*finalize)(void *);
} plugin_5;

static const plugin_4 *four;
static const plugin_5 *five;
static int wanted;

static void load(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN"), *most = getenv("RCCL_STANDIN_PLUGIN");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) return;
    if (!most || atoi(most) >= 5) five = dlsym(library, "ncclProfiler_v5");
    if (!five) four = dlsym(library, "ncclProfiler_v4");
}

void *plugin_communicator(int ranks, int rank)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint64_t hash = 0xabcdef;
    void *profiler = NULL;
    pthread_once(&once, load);
    if (five && five->init(&profiler, hash, &wanted, "", 1, ranks, rank, NULL) != ncclSuccess)
        return NULL;
    if (four && four->init(&profiler, &wanted, "", hash, 1, ranks, rank, NULL) != ncclSuccess)
        return NULL;
    return profiler;
}

void plugin_communicator_gone(void *profiler)
{
    if (!profiler) return;
    if (five) (void)five->finalize(profiler);
    if (four) (void)four->finalize(profiler);
}

#define FILL(event, task)                               \
    do {                                                \
        (event)->rank = (task)->rank;                   \
        if ((task)->peer < 0) {                         \
            (event)->type = COLL;                       \
            (event)->coll.seqNumber = (task)->sequence; \
            (event)->coll.func = (task)->function;      \
            (event)->coll.count = (task)->count;        \
            (event)->coll.datatype = (task)->type;      \
            (event)->coll.nChannels = CHANNELS;         \
            (event)->coll.nWarps = 8;                   \
            (event)->coll.algo = "RING";                \
            (event)->coll.proto = "SIMPLE";             \
        } else {                                        \
            (event)->type = P2P;                        \
            (event)->p2p.func = (task)->function;       \
            (event)->p2p.count = (task)->count;         \
            (event)->p2p.datatype = (task)->type;       \
            (event)->p2p.peer = (task)->peer;           \
            (event)->p2p.nChannels = CHANNELS;          \
        }                                               \
    } while (0)

static void start_4(plugin_task *t)
{
    event_4 e = {0};
    FILL(&e, t);
    (void)four->startEvent(t->profiler, &t->handle, &e);
}

static void start_5(plugin_task *t)
{
    event_5 e = {0};
    FILL(&e, t);
    (void)five->startEvent(t->profiler, &t->handle, &e);
}

static bool is_wanted(const plugin_task *t)
{
    return t->profiler && (wanted & (t->peer < 0 ? COLL : P2P));
}

void plugin_begin(plugin_task *tasks, int count)
{
    for (int i = 0; i < count; i++) {
        if (is_wanted(&tasks[i]) && five) start_5(&tasks[i]);
        if (is_wanted(&tasks[i]) && four) start_4(&tasks[i]);
    }
}

/* A channel works for 100 ticks, the next one for 100 more. */
static void run_channel(const plugin_task *t, int channel)
{
    event_state state = {.kernelCh.pTimer = 1000 + 100 * (uint64_t)(channel + 1)};
    void *handle = NULL;
    if (five) {
        event_5 e = {.type = KERNEL_CH, .parentObj = t->handle, .rank = t->rank};
        e.kernelCh.channelId = (uint8_t)channel;
        e.kernelCh.pTimer = 1000;
        (void)five->startEvent(t->profiler, &handle, &e);
        (void)five->recordEventState(handle, CHANNEL_STOP, &state);
        (void)five->stopEvent(handle);
    } else {
        event_4 e = {.type = KERNEL_CH, .parentObj = t->handle, .rank = t->rank};
        e.kernelCh.channelId = (uint8_t)channel;
        e.kernelCh.pTimer = 1000;
        (void)four->startEvent(t->profiler, &handle, &e);
        (void)four->recordEventState(handle, CHANNEL_STOP, &state);
        (void)four->stopEvent(handle);
    }
}

static void *run_channels(void *task)
{
    for (int channel = 0; channel < CHANNELS; channel++)
        run_channel(task, channel);
    return NULL;
}

void plugin_end(plugin_task *tasks, int count)
{
    pthread_t thread;
    for (int i = 0; i < count; i++) {
        if (!is_wanted(&tasks[i])) continue;
        (void)(five ? five->stopEvent(tasks[i].handle) : four->stopEvent(tasks[i].handle));
        if (!tasks[i].handle || !(wanted & KERNEL_CH)) continue;
        if (pthread_create(&thread, NULL, run_channels, &tasks[i]) == 0) pthread_join(thread, NULL);
    }
}
