/* SPDX-License-Identifier: MIT
 *
 * How RCCL treats a profiler plugin: it loads the one that NCCL_PROFILER_PLUGIN names, takes the
 * newest interface that both know (RCCL_STANDIN_PLUGIN=4: no newer one), and tells it of each
 * operation as it is enqueued, and from a thread of its own of the channels of its kernel.
 */
#ifndef TEST_RCCL_STANDIN_PLUGIN_H
#define TEST_RCCL_STANDIN_PLUGIN_H

#include "standin.h"

typedef struct plugin_task {
    void *profiler; /* the communicator's */
    const char *function, *type;
    size_t count;
    int rank, peer; /* peer -1: a collective */
    unsigned long long sequence;
    void *handle;
} plugin_task;

/** What the plugin has made of a new communicator; NULL: nothing, or there is none. */
void *plugin_communicator(int ranks, int rank);
void plugin_communicator_gone(void *profiler);

/** Around the launch of the kernel of so many operations. */
void plugin_begin(plugin_task *tasks, int count);
void plugin_end(plugin_task *tasks, int count);

#endif
