/* SPDX-License-Identifier: MIT
 *
 * Of allocators within each other, as a pool that calls another one, the outermost counts: that is
 * what the program asked for.
 */
#include "operators/memory_calls.h"

#include "record/live_memory.h"

/* Allocators are not deep: what seems to be further out than this was left by longjmp(). */
enum { DEEPEST = 1 << 16 };

static _Thread_local uintptr_t outermost; /* where it lies on the stack; 0: there is none */

static bool is_inner(const hb_call *call)
{
    uintptr_t at = (uintptr_t)call->stack;
    return outermost > at && outermost - at < DEEPEST;
}

static void free_at(uint64_t address)
{
    hb_memory_info info = {
        .addr = (const void *)(uintptr_t)address, .total_allocated = -1, .total_reserved = -1};
    if (address && hb_live_memory_find(&info)) hb_memory_report(&info);
}

static bool allocates(const hb_op_entry *row)
{
    return row->makes != HB_OP_NO_PARAM;
}

static uint64_t freed_by(const hb_op_entry *row, const hb_call *call)
{
    bool frees = row->forgets != HB_OP_NO_PARAM;
    return frees ? (uint64_t)hb_op_value(row, call->words, row->forgets) : 0;
}

/* What frees only does so now: afterwards the address may be another's already. */
bool hb_memory_call_enter(const hb_op_entry *row, hb_call *call)
{
    call->state[1] = 0;
    if (is_inner(call)) return false;
    outermost = (uintptr_t)call->stack;
    if (!allocates(row)) free_at(freed_by(row, call));
    double bytes = allocates(row) ? hb_op_work(row, call->words) : 0;
    call->state[1] = bytes < 0x1p62 ? (uint64_t)bytes : 0;
    return true;
}

/* Where there is none: 0. A function that writes the address elsewhere returns 0 if all is well. */
static uint64_t made_by(const hb_op_entry *row, const hb_call *call)
{
    uint64_t address = call->results[0];
    if (row->makes < 0) return address;
    if ((uint32_t)call->results[0] != 0) return 0;
    uint64_t to = call->words[row->params[row->makes].place];
    return hb_op_peek(row, to, &address, sizeof address) ? address : 0;
}

static int32_t device_of(const hb_op_entry *row, const hb_call *call)
{
    bool told = row->device != HB_OP_NO_PARAM;
    return told ? (int32_t)hb_op_value(row, call->words, row->device) : row->device_number;
}

static void allocate(const hb_op_entry *row, const hb_call *call)
{
    uint64_t address = made_by(row, call), bytes = call->state[1];
    int32_t device = device_of(row, call);
    hb_memory_info info = {.device_type = device < 0 ? HB_DEVICE_CPU : HB_DEVICE_HIP,
                           .device_id = HB_MAX(device, 0),
                           .addr = (const void *)(uintptr_t)address,
                           .bytes = (int64_t)bytes,
                           .total_allocated = -1,
                           .total_reserved = -1,
                           .out_of_memory = address == 0};
    if (address) free_at(freed_by(row, call)); /* of one that is made larger, or moved */
    if (bytes) hb_memory_report(&info);
}

void hb_memory_call_leave(const hb_op_entry *row, const hb_call *call)
{
    hb_memory_call_abandon(call);
    if (allocates(row)) allocate(row, call);
}

void hb_memory_call_abandon(const hb_call *call)
{
    if (outermost == (uintptr_t)call->stack) outermost = 0;
}
