/* SPDX-License-Identifier: MIT
 *
 * What RCCL's profiler interface, versions 4 and 5, is made of, as far as it is used here: both
 * describe an event by its type, what it is a part of, a rank, and what its type has. Names are
 * hipboard's; sizes and order are the interface's.
 */
#ifndef HB_COMM_RCCL_PROFILER_ABI_H
#define HB_COMM_RCCL_PROFILER_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Types of events, and the bits by which a plugin asks for them. */
enum {
    HB_RCCL_COLLECTIVE = 1 << 1,
    HB_RCCL_MESSAGE = 1 << 2,
    HB_RCCL_CHANNEL = 1 << 6, /* the part of a kernel that works on one channel */
};

/** What hb_rccl_plugin.update() may tell of a channel: that it has ended. */
enum { HB_RCCL_CHANNEL_STOP = 22 };

typedef struct hb_rccl_collective {
    uint64_t sequence;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
} hb_rccl_collective;

typedef struct hb_rccl_message {
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
    uint8_t channels;
} hb_rccl_message;

typedef struct hb_rccl_channel {
    uint8_t channel;
    uint64_t time; /* by the GPU's own clock */
} hb_rccl_channel;

typedef union hb_rccl_details {
    hb_rccl_collective collective;
    hb_rccl_message message;
    hb_rccl_channel channel;
} hb_rccl_details;

typedef struct hb_rccl_event_4 {
    uint8_t type;
    void *parent;
    int rank;
    hb_rccl_details details;
} hb_rccl_event_4;

typedef struct hb_rccl_event_5 {
    uint64_t type;
    void *parent;
    int rank;
    hb_rccl_details details;
} hb_rccl_event_5;

typedef union hb_rccl_update {
    size_t bytes;
    void *data;
    uint64_t time;
} hb_rccl_update;

/* All return RCCL's 0 for success; of another answer of init() RCCL does without the plugin. */
typedef struct hb_rccl_plugin_4 {
    const char *name;
    int (*init)(void **context, int *wanted, const char *comm_name, uint64_t comm, int nodes,
                int ranks, int rank, void *log);
    int (*start)(void *context, void **handle, hb_rccl_event_4 *event);
    int (*stop)(void *handle);
    int (*update)(void *handle, int state, hb_rccl_update *update);
    int (*finish)(void *context);
} hb_rccl_plugin_4;

typedef struct hb_rccl_plugin_5 {
    const char *name;
    int (*init)(void **context, uint64_t comm, int *wanted, const char *comm_name, int nodes,
                int ranks, int rank, void *log);
    int (*start)(void *context, void **handle, hb_rccl_event_5 *event);
    int (*stop)(void *handle);
    int (*update)(void *handle, int state, hb_rccl_update *update);
    int (*finish)(void *context);
} hb_rccl_plugin_5;

#endif
