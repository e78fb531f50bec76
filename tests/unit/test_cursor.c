/* SPDX-License-Identifier: MIT
 *
 * Walks over records: which of a session's parts are read, what counts as a record, which number a
 * scope has, and what is read again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/session.h"

static uint64_t seed = 1;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Parts lie in memory, uncoded; of one without memory nothing can be read. */
static bool load_part(const hb_spool_view *view, uint32_t session, const hb_thread_records *thread,
                      const hb_part *part, char *raw)
{
    (void)view;
    (void)session;
    (void)thread;
    if (!part->coded) return false;
    memcpy(raw, part->coded, part->raw_bytes);
    return true;
}

static int told_of_no_room;

static void has_no_room(const hb_spool_view *view)
{
    (void)view;
    told_of_no_room++;
}

static const hb_spool_view in_memory = {.load = load_part, .has_no_room = has_no_room};

static bool has_no_memory;

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return has_no_memory ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return has_no_memory ? NULL : __real_realloc(old, size);
}

static void add_part(hb_records *records, uint32_t thread, hb_part part, const void *raw)
{
    bool had;
    hb_events_info info = {.thread = thread, .sequence = part.sequence};
    part.coded = (unsigned char *)(uintptr_t)raw;
    assert_true(hb_records_add(records, &info, &part, &had));
}

static int count_records(const hb_records *records, uint32_t types)
{
    uint64_t id;
    int n = 0;
    hb_cursor c = hb_cursor_open(&in_memory, records, &records->threads.items[0], types);
    while (hb_cursor_next(&c, &id))
        n++;
    assert_null(hb_cursor_next(&c, &id));
    hb_cursor_close(&c);
    return n;
}

/* What is shorter than its kind is no record, and neither is what follows in its part; the next
 * part is read. */
static void records_have_at_least_what_their_kind_has(void **state)
{
    enum { MOST_UNITS = 40 };
    static const size_t least[] = {
        [HB_RECORD_ANNOTATION] = sizeof(hb_record),
        [HB_RECORD_OP] = sizeof(hb_record),
        [HB_RECORD_MODULE] = sizeof(hb_record_module),
        [HB_RECORD_MEMORY] = sizeof(hb_record_memory),
        [HB_RECORD_SCALAR] = sizeof(hb_record_scalar),
        [HB_RECORD_METADATA] = sizeof(hb_record_metadata),
        [HB_RECORD_CALL] = sizeof(hb_record_call),
        [HB_RECORD_LAUNCH] = offsetof(hb_record_launch, kernel),
        [HB_RECORD_COPY] = sizeof(hb_record_copy),
        [HB_RECORD_ALLOCATION] = sizeof(hb_record_allocation),
        [HB_RECORD_WORK] = sizeof(hb_record_work),
        [HB_RECORD_LINK] = sizeof(hb_record_link),
        [HB_RECORD_DEVICE] = offsetof(hb_record_device, clock_khz),
        [HB_RECORD_DISPATCH] = sizeof(hb_record_dispatch),
        [HB_RECORD_COUNTER] = sizeof(hb_record_counter),
        [HB_RECORD_FLOW] = sizeof(hb_record_flow),
        [HB_RECORD_FRAMES] = sizeof(hb_record_frames),
        [HB_RECORD_GRAPH] = sizeof(hb_record_graph),
        [HB_RECORD_SAMPLE] = sizeof(hb_record_sample),
        [HB_RECORD_SAMPLE + 1] = 0, /* no kind */
    };
    (void)state;
    for (uint8_t type = 0; type < HB_ARRAY_LEN(least); type++)
        for (uint32_t units = 0; units <= MOST_UNITS; units++) {
            uint64_t raw[MOST_UNITS + 3] = {0};
            uint32_t from = HB_MAX(units, 3);
            hb_record *first = (hb_record *)raw, *second = (hb_record *)&raw[from];
            *first = (hb_record){.type = type, .units = (uint16_t)units};
            *second = (hb_record){.type = HB_RECORD_OP, .units = 3};
            bool whole = least[type] && units * 8 >= least[type];
            hb_records *records = hb_records_new(1);
            add_part(records, 1, (hb_part){.sequence = 0, .raw_bytes = (from + 3) * 8}, raw);
            add_part(records, 1, (hb_part){.sequence = 1, .raw_bytes = 24}, second);
            assert_int_equal(count_records(records, HB_TYPES_ALL), whole ? 3 : 1);
            hb_records_free_copy(records);
        }
}

static void parts_without_what_is_sought_are_passed_over(void **state)
{
    (void)state;
    const hb_record raw[4] = {{.type = HB_RECORD_OP, .units = 3},
                              {.type = HB_RECORD_OP, .units = 3}};
    const hb_part parts[] = {
        {.raw_bytes = 24, .types = 1u << HB_RECORD_OP},
        {.raw_bytes = 48, .types = 1u << HB_RECORD_OP | 1u << HB_RECORD_CALL},
        {.raw_bytes = 0},  /* unknown, and empty */
        {.raw_bytes = 48}, /* unknown */
        {.raw_bytes = 40}, /* one record, and a part of one */
    };
    hb_records *records = hb_records_new(1);
    for (uint32_t i = 0; i < HB_ARRAY_LEN(parts); i++) {
        hb_part part = parts[i];
        part.sequence = 2 * i;
        add_part(records, 1, part, raw);
        part.sequence++;
        add_part(records, 1, part, NULL);
    }
    assert_int_equal(count_records(records, HB_TYPES_ALL), 1 + 2 + 2 + 1);
    assert_int_equal(count_records(records, 1u << HB_RECORD_CALL), 2 + 2 + 1);
    assert_int_equal(count_records(records, 1u << HB_RECORD_WORK), 2 + 1);
    hb_records_free_copy(records);
}

/* Scopes are numbered from their part's first; communication has two numbers. */
static void scopes_have_numbers_one_after_the_other(void **state)
{
    (void)state;
    const hb_record raw[] = {
        {.type = HB_RECORD_OP, .units = 3},
        {.type = HB_RECORD_ANNOTATION, .units = 3},
        {.type = HB_RECORD_SCALAR, .units = 6}, /* of twice the size */
        {0},
        {.type = HB_RECORD_OP, .units = 3, .flags = HB_RECORD_COMM},
        {.type = HB_RECORD_OP, .units = 3},
    };
    const uint64_t ids[] = {10, 11, 0, 12, 14, 50, 51, 0, 52, 54};
    hb_records *records = hb_records_new(1);
    uint64_t id;
    for (uint32_t i = 0; i < 2; i++)
        add_part(records, 1,
                 (hb_part){.sequence = i, .raw_bytes = sizeof raw, .first_id = 10 + 40 * i}, raw);
    hb_cursor c = hb_cursor_open(&in_memory, records, &records->threads.items[0], HB_TYPES_ALL);
    for (size_t i = 0; i < HB_ARRAY_LEN(ids); i++) {
        assert_non_null(hb_cursor_next(&c, &id));
        assert_int_equal(id, ids[i]);
    }
    assert_null(hb_cursor_next(&c, &id));
    hb_records_free_copy(records);
}

/* As they are, where coding them would take more; what is neither that nor coded is nothing. */
static void uncoded_parts_are_read_as_they_are(void **state)
{
    (void)state;
    unsigned char bytes[48];
    char raw[sizeof bytes] = {0};
    hb_part part = {.raw_bytes = sizeof bytes, .coded_bytes = sizeof bytes, .codec = HB_CODEC_RAW};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i + 1);
    assert_true(hb_part_decode(&part, bytes, raw));
    assert_memory_equal(raw, bytes, sizeof bytes);
    part.codec = HB_CODEC_DELTA + 1;
    assert_false(hb_part_decode(&part, bytes, raw));
    part.codec = HB_CODEC_RAW;
    part.raw_bytes -= 8;
    assert_false(hb_part_decode(&part, bytes, raw));
}

enum { REF_THREADS = 3, REF_PARTS = 30, REF_RECORDS = 20 };

/* More parts than are kept at a time; each record is another. Also refs that nobody gave. */
static void records_are_read_again_by_their_refs(void **state)
{
    enum { ALL = REF_THREADS * REF_PARTS * REF_RECORDS };
    static hb_record raw[ALL];
    static hb_record_ref refs[ALL];
    (void)state;
    hb_records *records = hb_records_new(1);
    for (uint32_t i = 0; i < ALL; i++)
        raw[i] = (hb_record){.type = HB_RECORD_OP, .units = 3, .start = i};
    for (uint32_t i = 0; i < ALL; i += REF_RECORDS) {
        uint32_t part = i / REF_RECORDS;
        add_part(records, part / REF_PARTS,
                 (hb_part){.sequence = part % REF_PARTS, .raw_bytes = REF_RECORDS * sizeof *raw},
                 &raw[i]);
    }
    assert_true(hb_records_close(records));
    for (uint32_t thread = 0; thread < REF_THREADS; thread++) {
        uint64_t id;
        hb_cursor c =
            hb_cursor_open(&in_memory, records, hb_records_nth(records, thread), HB_TYPES_ALL);
        for (const hb_record *r; (r = hb_cursor_next(&c, &id));)
            refs[r->start] = hb_cursor_ref(&c, thread);
    }
    hb_record_reader read;
    hb_record_reader_init(&read, &in_memory, records);
    for (int i = 0; i < 20 * ALL; i++) {
        uint32_t n = random_below(ALL);
        const hb_record *r = hb_record_read(&read, refs[n]);
        assert_non_null(r);
        assert_int_equal(r->start, n);
    }
    const hb_record_ref last = refs[ALL - 1], thread = (uint64_t)1 << 40, part = 1 << 13;
    assert_int_equal(refs[0], 0);
    assert_int_equal(last, 2 * thread + (REF_PARTS - 1) * part + 3 * (REF_RECORDS - 1));
    assert_null(hb_record_read(&read, last + thread));
    assert_null(hb_record_read(&read, last + part));
    assert_null(hb_record_read(&read, last + 3));
    assert_null(hb_record_read(&read, last + 1));
    assert_non_null(hb_record_read(&read, last));
    hb_record_reader_free(&read);
    hb_records_free_copy(records);
}

/* Else a trace would lack records, and seem to have all. */
static void parts_without_room_are_told_of(void **state)
{
    (void)state;
    uint64_t id;
    const hb_record raw = {.type = HB_RECORD_OP, .units = sizeof raw / 8};
    hb_records *records = hb_records_new(1);
    for (uint32_t n = 0; n < 3; n++)
        add_part(records, 1, (hb_part){.sequence = n, .raw_bytes = sizeof raw}, &raw);
    assert_true(hb_records_close(records));
    hb_cursor c = hb_cursor_open(&in_memory, records, &records->threads.items[0], HB_TYPES_ALL);
    hb_record_reader reader;
    hb_record_reader_init(&reader, &in_memory, records);
    told_of_no_room = 0;
    has_no_memory = true;
    assert_null(hb_cursor_next(&c, &id));
    assert_int_equal(told_of_no_room, 3);
    assert_null(hb_record_read(&reader, 0));
    assert_int_equal(told_of_no_room, 4);
    has_no_memory = false;
    assert_non_null(hb_record_read(&reader, 0));
    has_no_memory = true;
    assert_non_null(hb_record_read(&reader, 0)); /* which was read before */
    assert_int_equal(told_of_no_room, 4);
    assert_null(hb_record_read(&reader, (hb_record_ref)1 << 13));
    assert_int_equal(told_of_no_room, 5);
    has_no_memory = false;
    hb_record_reader_free(&reader);
    hb_cursor_close(&c);
    assert_int_equal(count_records(records, HB_TYPES_ALL), 3);
    assert_int_equal(told_of_no_room, 5);
    hb_records_free_copy(records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_have_at_least_what_their_kind_has),
        cmocka_unit_test(parts_without_what_is_sought_are_passed_over),
        cmocka_unit_test(scopes_have_numbers_one_after_the_other),
        cmocka_unit_test(uncoded_parts_are_read_as_they_are),
        cmocka_unit_test(records_are_read_again_by_their_refs),
        cmocka_unit_test(parts_without_room_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
