/* SPDX-License-Identifier: MIT
 *
 * What any client of the HIP runtime's hook (5.7 and later) has to do, and nothing else.
 */
#ifndef EMPTY_HOOK_H
#define EMPTY_HOOK_H

#include <stddef.h>
#include <stdint.h>

typedef int tracer_function(uint32_t domain, uint32_t op, void *data);

typedef struct call_tail {
    uint64_t times[2];
    void (*enter)(uint32_t cid, void *data), (*exit)(uint32_t cid, void *data);
} call_tail;

static size_t api_data_size; /* of the runtime: where the tail of a call's data is */

static void on_call(uint32_t cid, void *data)
{
    (void)cid;
    (void)data;
}

static int empty_tracer(uint32_t domain, uint32_t op, void *data)
{
    (void)op;
    if (domain != 3 || !data) return domain != 2;
    call_tail *tail = (call_tail *)((char *)data + api_data_size);
    *(uint64_t *)data = 1;
    tail->enter = tail->exit = on_call;
    return 0;
}

#endif
