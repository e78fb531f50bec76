/* SPDX-License-Identifier: MIT
 *
 * For tests of what is known to be allocated: events, and what a session is told of them.
 */
#ifndef HB_TEST_HELD_MEMORY_H
#define HB_TEST_HELD_MEMORY_H

#include "raw_records.h"

enum { CPU = -1, NOBODY = -2 };

static inline hb_memory_info event(int device, uint64_t addr, int64_t bytes)
{
    return (hb_memory_info){.device_type = device == CPU ? HB_DEVICE_CPU : HB_DEVICE_HIP,
                            .device_id = device,
                            .addr = (const void *)(uintptr_t)addr,
                            .bytes = bytes,
                            .total_allocated = -1,
                            .total_reserved = -1};
}

static inline bool note_info(const hb_memory_info *info, uint32_t name)
{
    hb_thread *t = hb_thread_begin();
    assert_non_null(t);
    bool known = hb_live_memory_note(t, *hb_live_epoch, info, name);
    hb_thread_leave(t);
    return known;
}

static inline bool note(int device, uint64_t addr, int64_t bytes)
{
    hb_memory_info info = event(device, addr, bytes);
    return note_info(&info, HB_STRING_UNNAMED);
}

/* As an allocator that has totals of its own. */
static inline bool note_told(int device, uint64_t addr, int64_t bytes, int64_t allocated,
                             int64_t reserved)
{
    hb_memory_info info = event(device, addr, bytes);
    info.total_allocated = allocated;
    info.total_reserved = reserved;
    return note_info(&info, HB_STRING_UNNAMED);
}

/* Of which device, or NOBODY. */
static inline int found_on(uint64_t addr, int64_t bytes)
{
    hb_memory_info info = event(77, addr, 5);
    if (!hb_live_memory_find(&info)) return NOBODY;
    assert_true(info.bytes == -bytes);
    assert_int_equal(info.device_id == -1, info.device_type == HB_DEVICE_CPU);
    return info.device_id;
}

/* A session that begins now, and is told what is held. */
static uint64_t told_ticks;

static inline void tell(void)
{
    hb_session *session = raw_begin(HB_SESSION_MEMORY | HB_SESSION_HELD);
    told_ticks = session->start.ticks;
    hb_live_memory_tell(session);
    raw_end(session);
}

/* That record is of the session's beginning, and says this. */
static inline void expect_held(size_t n, int device, uint64_t addr, int64_t bytes,
                               int64_t allocated)
{
    const hb_record_memory *r = &raw_nth(HB_RECORD_MEMORY, n)->memory;
    assert_int_equal(r->head.flags, HB_RECORD_HELD);
    assert_int_equal(r->head.units * 8, sizeof *r);
    assert_true(r->head.start == told_ticks && r->head.end == 0);
    assert_int_equal(r->device_type, device == CPU ? HB_DEVICE_CPU : HB_DEVICE_HIP);
    assert_int_equal(r->device_id, device);
    assert_true(r->addr == addr);
    assert_true(r->bytes == bytes);
    assert_true(r->total_allocated == allocated);
}

static inline void expect_count(size_t held)
{
    assert_int_equal(raw_count_of(HB_RECORD_MEMORY), held);
}

/* What of it is not listed one by one; NULL: nothing is said. */
static inline void expect_said(const char *json)
{
    assert_int_equal(raw_count_of(HB_RECORD_METADATA), json != NULL);
    if (!json) return;
    const hb_record_metadata *r = &raw_nth(HB_RECORD_METADATA, 0)->metadata;
    raw_expect_text(r->head.name, HB_METADATA_HELD);
    raw_expect_text(r->json, json);
}

static inline int keep(void **state)
{
    (void)state;
    if (hb_record_init() != HB_OK) return -1;
    hb_live_memory_keep();
    return 0;
}

static inline int drop(void **state)
{
    (void)state;
    hb_live_memory_drop();
    return 0;
}

#endif
