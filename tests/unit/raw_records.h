/* SPDX-License-Identifier: MIT
 *
 * A session that a test begins and ends by itself, and its records as they were written: no
 * profiler and no reader makes something of them in between.
 */
#ifndef HB_TEST_RAW_RECORDS_H
#define HB_TEST_RAW_RECORDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hipboard/hipboard.h>

#include "record/live_memory.h"
#include "record/record.h"
#include "record/session.h"
#include "record/strings.h"

enum { RAW_MOST_BYTES = 512 };

typedef struct raw_record {
    union {
        hb_record head;
        hb_record_memory memory;
        hb_record_scalar scalar;
        hb_record_counter counter;
        hb_record_flow flow;
        hb_record_metadata metadata;
        char bytes[RAW_MOST_BYTES];
    };
} raw_record;

static hb_spool *raw_spool; /* of all sessions of the program, but for raw_reopen() */
static raw_record *raw_records;
static size_t raw_count, raw_room;
static hb_lost raw_lost; /* of the last one */

/* With room for so much. */
static inline void raw_reopen(uint64_t max_bytes)
{
    hb_spool_options options = {NULL, "raw", max_bytes};
    if (raw_spool && hb_spool_close(raw_spool, false)) free(raw_spool);
    assert_int_equal(hb_record_init(), HB_OK);
    raw_spool = calloc(1, sizeof *raw_spool);
    assert_int_equal(hb_spool_open(raw_spool, &options), HB_OK);
}

static inline hb_session *raw_begin(uint32_t flags)
{
    hb_session *session;
    if (!raw_spool) raw_reopen((uint64_t)64 << 20);
    assert_int_equal(hb_session_begin(raw_spool, flags, 0, &session), HB_OK);
    return session;
}

static inline void raw_add(const hb_record *record)
{
    if (raw_count == raw_room) {
        raw_room = raw_room ? 2 * raw_room : 64;
        raw_records = realloc(raw_records, raw_room * sizeof *raw_records);
        assert_non_null(raw_records);
    }
    raw_record *to = &raw_records[raw_count++];
    memset(to, 0, sizeof *to);
    memcpy(to, record, HB_MIN((size_t)record->units * 8, sizeof *to));
}

/* Ends it: its records are in raw_records, thread by thread; its own entry is gone. */
static inline void raw_end(hb_session *session)
{
    uint64_t id;
    hb_session_stop(session);
    hb_session_settle(raw_spool, session);
    hb_spool_view view = hb_spool_view_own(raw_spool);
    const hb_records *records = view.records(&view, session);
    raw_lost = hb_session_lost(session);
    raw_count = 0;
    for (uint32_t i = 0; i < records->threads.count; i++) {
        hb_cursor c = hb_cursor_open(&view, records, hb_records_nth(records, i), HB_TYPES_ALL);
        for (const hb_record *r; (r = hb_cursor_next(&c, &id));)
            raw_add(r);
        hb_cursor_close(&c);
    }
    hb_session_release(raw_spool, session);
}

/* The n-th record of a type; there must be one. */
static inline const raw_record *raw_nth(enum hb_record_type type, size_t n)
{
    for (size_t i = 0; i < raw_count; i++)
        if (raw_records[i].head.type == type && n-- == 0) return &raw_records[i];
    fail_msg("no such record of type %d", (int)type);
    return NULL;
}

static inline size_t raw_count_of(enum hb_record_type type)
{
    size_t n = 0;
    for (size_t i = 0; i < raw_count; i++)
        n += raw_records[i].head.type == type;
    return n;
}

static inline uint32_t raw_id(const char *text)
{
    return hb_strings_intern(text, strlen(text));
}

static inline void raw_expect_text(uint32_t id, const char *text)
{
    hb_str s = hb_strings_get(id);
    assert_string_equal(s.s, text);
    assert_int_equal(s.len, strlen(text));
}

/* For cmocka_run_group_tests(). */
static inline int raw_close(void **state)
{
    (void)state;
    if (raw_spool && hb_spool_close(raw_spool, false)) free(raw_spool);
    free(raw_records);
    return 0;
}

#endif
