/* SPDX-License-Identifier: MIT
 *
 * For tests of sessions: numbers recorded by one thread or several, where they lie, and what is
 * read of them.
 */
#ifndef HB_TEST_SETTLED_SESSION_H
#define HB_TEST_SETTLED_SESSION_H

#include "record/codec.h"
#include "still_spool.h"
#include "test_dir.h"

static inline void record_scalars(int count)
{
    for (int i = 0; i < count; i++)
        hb_record_scalar_value("a number", i);
}

static inline hb_part *only_part(hb_spool *spool, const hb_session *session)
{
    const hb_records *records = hb_spool_records(spool, session->number);
    assert_non_null(records);
    assert_int_equal(records->threads.count, 1);
    assert_int_equal(records->threads.items[0].parts.count, 1);
    return &records->threads.items[0].parts.items[0];
}

/* Each with its place among them as its value. */
static inline int count_scalars(const hb_spool_view *view, const hb_session *session,
                                uint32_t thread)
{
    uint64_t id;
    int n = 0;
    const hb_records *records = view->records(view, session);
    if (thread >= records->threads.count) return -1;
    hb_cursor c = hb_cursor_open(view, records, hb_records_nth(records, thread), HB_TYPES_ALL);
    for (hb_record *r; (r = hb_cursor_next(&c, &id)); n++)
        assert_true(r->type == HB_RECORD_SCALAR && ((hb_record_scalar *)r)->value == n);
    hb_cursor_close(&c);
    return n;
}

/* What the writer has made of it. */
static inline void put_into_memory(hb_spool *spool, hb_part *part)
{
    const hb_chunk *chunk = hb_spool_events(spool, part->chunk);
    unsigned char *coded = malloc(HB_CODEC_MOST(part->raw_bytes));
    part->coded_bytes =
        (uint32_t)hb_codec_encode((const char *)(chunk + 1), part->raw_bytes, coded);
    part->codec = HB_CODEC_DELTA;
    part->place = HB_PART_MEMORY;
    part->coded = coded;
    spool->kept_bytes += part->coded_bytes;
    hb_spool_account(spool);
}

#endif
