/* SPDX-License-Identifier: MIT
 *
 * What a spool is made of, each part beside a simple one that does the same: space in its file,
 * lists of records, coded bytes as plugin_format/spool.md tells them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/codec.h"
#include "record/free_space.h"
#include "record/session.h"

static uint64_t seed = 1;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* ---- free space ---- */

enum { UNITS = 96 };

static size_t run_at(const bool *is_free, size_t from)
{
    size_t n = 0;
    while (from + n < UNITS && is_free[from + n])
        n++;
    return n;
}

static void assert_same_space(const hb_buf *space, const bool *is_free)
{
    const hb_extent *e = (const hb_extent *)space->data;
    size_t n = 0;
    for (size_t at = 0; at < UNITS; at++) {
        size_t run = run_at(is_free, at);
        if (!run) continue;
        assert_true(n < space->size / sizeof *e);
        assert_int_equal(e[n].offset, at);
        assert_int_equal(e[n].bytes, run);
        at += run;
        n++;
    }
    assert_int_equal(space->size, n * sizeof *e);
}

/* A place given back that is used already; what is not free is given back, or some of it. */
static void give_some(hb_buf *space, bool *is_free)
{
    size_t from = random_below(UNITS), n = 0, most = 1 + random_below(12);
    while (n < most && from + n < UNITS && !is_free[from + n])
        is_free[from + n++] = true;
    if (n) hb_free_space_add(space, (hb_extent){from, n});
}

static void take_some(hb_buf *space, bool *is_free)
{
    uint64_t offset = UINT64_MAX;
    size_t wanted = 1 + random_below(8), first = 0;
    while (first < UNITS && run_at(is_free, first) < wanted)
        first++;
    assert_int_equal(hb_free_space_take(space, wanted, &offset), first < UNITS);
    assert_true(offset == (first < UNITS ? first : UINT64_MAX));
    for (size_t i = 0; first < UNITS && i < wanted; i++)
        is_free[first + i] = false;
}

static void space_is_given_back_whole_and_taken_from_the_front(void **state)
{
    enum { ROUNDS = 20000 };
    bool is_free[UNITS] = {false};
    hb_buf space;
    (void)state;
    hb_buf_init(&space, (size_t)1 << 20);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t deed = random_below(21);
        if (deed < 10) {
            give_some(&space, is_free);
        } else if (deed < 20) {
            take_some(&space, is_free);
        } else {
            size_t end = random_below(UNITS);
            hb_free_space_cut(&space, end);
            for (; end < UNITS; end++)
                is_free[end] = false;
        }
        assert_same_space(&space, is_free);
    }
    hb_buf_free(&space);
}

/* As there is for 16 places: the next one is forgotten, and the others are as they were. */
static void space_that_there_is_no_memory_for_is_forgotten(void **state)
{
    enum { PLACES = 16, APART = 10 };
    hb_buf space;
    uint64_t offset = 0;
    (void)state;
    hb_buf_init(&space, PLACES * sizeof(hb_extent));
    for (uint64_t i = PLACES; i > 0; i--)
        hb_free_space_add(&space, (hb_extent){APART * i, 1});
    hb_free_space_add(&space, (hb_extent){APART * PLACES + 5, 1});
    const hb_extent *e = (const hb_extent *)space.data;
    assert_int_equal(space.size, PLACES * sizeof *e);
    for (uint64_t i = 0; i < PLACES; i++)
        assert_true(e[i].offset == APART * (i + 1) && e[i].bytes == 1);
    assert_true(hb_free_space_take(&space, 1, &offset)); /* so that there is memory again */
    assert_int_equal(offset, APART);
    hb_free_space_add(&space, (hb_extent){APART * PLACES + 5, 2});
    assert_true(hb_free_space_take(&space, 2, &offset));
    assert_int_equal(offset, APART * PLACES + 5);
    hb_buf_free(&space);
}

/* ---- lists of parts ---- */

enum { THREADS = 20, PARTS = 15 };

static hb_events_info info_of(uint32_t thread, uint32_t sequence)
{
    hb_events_info info = {.thread = thread, .sequence = sequence, .tid = 1000 + thread};
    snprintf(info.thread_name, sizeof info.thread_name, "thread %u as of %u", thread, sequence);
    return info;
}

/* Threads whose numbers are odd, with parts whose sequences are; by first ids they are backwards,
 * two each the same. */
static void add_parts_in_any_order(hb_records *records)
{
    uint32_t order[THREADS * PARTS];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < THREADS * PARTS; i++)
        order[i] = i;
    for (uint32_t i = THREADS * PARTS; i > 1; i--) {
        uint32_t k = random_below(i), last = order[i - 1];
        order[i - 1] = order[k];
        order[k] = last;
    }
    for (uint32_t i = 0; i < THREADS * PARTS; i++) {
        uint32_t thread = order[i] / PARTS * 2 + 1, sequence = order[i] % PARTS * 2 + 1;
        hb_events_info info = info_of(thread, sequence);
        const hb_part part = {.sequence = sequence,
                              .coded_bytes = 1 + order[i],
                              .first_id = 1000 * (1 + (THREADS - thread / 2) / 2) + sequence};
        bool had = true;
        assert_true(hb_records_add(records, &info, &part, &had) && !had);
        assert_int_equal(records->bytes, bytes += part.coded_bytes);
        assert_string_equal(hb_records_find_thread(records, thread)->name, info.thread_name);
        assert_false(hb_records_add(records, &info, &part, &had)); /* the same once more */
        assert_true(had);
        assert_int_equal(records->bytes, bytes);
    }
}

static void assert_parts_are_there(const hb_records *records)
{
    assert_int_equal(records->threads.count, THREADS);
    for (uint32_t thread = 0; thread <= 2 * THREADS; thread++) {
        const hb_thread_records *t = hb_records_find_thread(records, thread);
        assert_int_equal(t != NULL, thread % 2);
        if (!t) continue;
        assert_ptr_equal(t, &records->threads.items[thread / 2]);
        assert_int_equal(t->tid, 1000 + thread);
        assert_int_equal(t->parts.count, PARTS);
        for (uint32_t sequence = 0; sequence <= 2 * PARTS; sequence++) {
            const hb_part *part = hb_records_find(t, sequence);
            assert_int_equal(part != NULL, sequence % 2);
            if (!part) continue;
            assert_ptr_equal(part, &t->parts.items[sequence / 2]);
            assert_int_equal(part->coded_bytes, 1 + thread / 2 * PARTS + sequence / 2);
        }
    }
}

static void parts_are_found_in_whatever_order_they_came(void **state)
{
    (void)state;
    hb_records *records = hb_records_new(7);
    assert_non_null(records);
    assert_int_equal(records->session, 7);
    add_parts_in_any_order(records);
    assert_parts_are_there(records);
    hb_events_info info = info_of(1, 0);
    memset(info.thread_name, 'x', sizeof info.thread_name);
    bool had;
    assert_false(hb_records_add(records, &info, &(hb_part){.sequence = 1}, &had));
    assert_int_equal(strlen(hb_records_find_thread(records, 1)->name), 31);
    hb_records *copy = hb_records_copy(records);
    assert_non_null(copy);
    assert_int_equal(copy->session, 7);
    assert_true(hb_records_close(records) && hb_records_close(copy) && hb_records_close(copy));
    hb_records_free(records);
    assert_parts_are_there(copy);
    /* From the last pair to the first, in each pair by number. */
    for (uint32_t i = 0; i < THREADS; i++) {
        uint64_t id = hb_records_nth(copy, i)->parts.items[0].first_id;
        if (i == 0) continue;
        const hb_thread_records *before = hb_records_nth(copy, i - 1), *t = hb_records_nth(copy, i);
        assert_true(before->parts.items[0].first_id <= id);
        assert_true(before->parts.items[0].first_id < id || before->number < t->number);
    }
    hb_records_free_copy(copy);
}

/* ---- coded records, by the words of plugin_format/spool.md ---- */

enum { LONG_RECORD = 3 + 40, RECORD_TYPES = 20 };

/* As scopes are, most of them, and as anything else. */
static size_t random_record(uint64_t *at, uint64_t *clock)
{
    hb_record *r = (hb_record *)at;
    bool plain = random_below(3) > 0;
    memset(at, 0, LONG_RECORD * 8);
    r->type = (uint8_t)(plain ? 1 + random_below(2) : 1 + random_below(RECORD_TYPES - 1));
    r->flags = random_below(4) ? 0 : (uint8_t)random_below(256);
    r->units = (uint16_t)(3 + (random_below(4) ? 0 : random_below(41)));
    r->name = random_below(10) ? random_below(20) : random_below(1u << 30);
    *clock += random_below(20) ? random_below(200) : 0u - (uint64_t)random_below(2);
    r->start = *clock;
    uint32_t ends = random_below(8);
    r->end = ends == 0 ? 0 : ends == 1 ? r->start - random_below(2) : r->start + random_below(1000);
    for (uint32_t i = 3; i < r->units; i++)
        at[i] = random_below(4) ? random_below(100) : seed;
    return (size_t)r->units * 8;
}

typedef struct reader {
    const unsigned char *at;
    uint64_t last_start;
    uint32_t names[256];
    uint64_t words[256][32];
} reader;

static uint64_t varint(reader *in)
{
    uint64_t value = 0, factor = 1;
    unsigned char byte;
    do {
        byte = *in->at++;
        value += (byte % 128) * factor;
        factor *= 128;
    } while (byte >= 128);
    return value;
}

static uint64_t zigzag(reader *in)
{
    uint64_t value = varint(in);
    return value % 2 ? 0 - (value / 2) - 1 : value / 2;
}

static void read_plain(reader *in, unsigned byte, hb_record *r)
{
    r->type = byte >> 6 ? HB_RECORD_ANNOTATION : HB_RECORD_OP;
    r->units = 3;
    r->start = in->last_start + varint(in);
    if (!(byte >> 5 & 1)) r->end = r->start + varint(in);
    if (byte >> 4 & 1) {
        r->name = (uint32_t)varint(in);
        in->names[(uint32_t)(r->name * 2654435761u) / 16777216u] = r->name;
    } else {
        r->name = in->names[*in->at++];
    }
}

static void read_other(reader *in, hb_record *r)
{
    uint64_t *word = (uint64_t *)r + 3;
    r->type = *in->at++;
    r->flags = *in->at++;
    r->units = (uint16_t)varint(in);
    r->start = in->last_start + zigzag(in);
    r->end = r->start + zigzag(in);
    r->name = (uint32_t)varint(in);
    for (int i = 0; i < r->units - 3; i++) {
        word[i] = (i < 32 ? in->words[r->type][i] : 0) + zigzag(in);
        if (i < 32) in->words[r->type][i] = word[i];
    }
}

static void coded_records_are_what_the_format_says(void **state)
{
    enum { MOST = 8192, ROUNDS = 200 };
    static uint64_t raw[MOST / 8 + LONG_RECORD], read[LONG_RECORD];
    static unsigned char coded[HB_CODEC_MOST(sizeof raw)];
    static reader in;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = 0;
        uint64_t clock = seed >> 10;
        while (bytes < MOST)
            bytes += random_record(&raw[bytes / 8], &clock);
        size_t size = hb_codec_encode((char *)raw, bytes, coded);
        memset(&in, 0, sizeof in);
        in.at = coded;
        for (const uint64_t *at = raw; (size_t)(at - raw) * 8 < bytes;) {
            hb_record *r = (hb_record *)read;
            memset(read, 0, sizeof read);
            unsigned byte = *in.at++;
            if (byte >> 7)
                read_other(&in, r);
            else
                read_plain(&in, byte, r);
            in.last_start = r->start;
            assert_memory_equal(read, at, (size_t)((const hb_record *)at)->units * 8);
            at += r->units;
        }
        assert_ptr_equal(in.at, coded + size);
    }
}

/* Also where the bytes would do for records of less room, or of more. */
static void what_is_not_whole_is_no_records(void **state)
{
    enum { MOST = 400, ROUNDS = 300 };
    static uint64_t raw[MOST / 8 + LONG_RECORD], back[MOST / 8 + LONG_RECORD + 3];
    static unsigned char coded[HB_CODEC_MOST(sizeof raw) + 1];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = 0;
        uint64_t clock = 1u << 20;
        while (bytes < MOST)
            bytes += random_record(&raw[bytes / 8], &clock);
        size_t size = hb_codec_encode((char *)raw, bytes, coded);
        assert_true(hb_codec_decode(coded, size, (char *)back, bytes));
        assert_memory_equal(back, raw, bytes);
        for (size_t less = 0; less < size; less++)
            assert_false(hb_codec_decode(coded, less, (char *)back, bytes));
        assert_false(hb_codec_decode(coded, size + 1, (char *)back, bytes));
        for (size_t more = 8; more <= 24; more += 8) {
            assert_false(hb_codec_decode(coded, size, (char *)back, bytes - more));
            assert_false(hb_codec_decode(coded, size, (char *)back, bytes + more));
        }
    }
}

/* Four scopes, as bytes worked out by hand: 5 * 2654435761 has 0x17 on top. */
static void a_plain_scope_takes_few_bytes(void **state)
{
    const hb_record raw[] = {
        {.type = HB_RECORD_OP, .units = 3, .start = 1000, .end = 1300, .name = 5},
        {.type = HB_RECORD_ANNOTATION, .units = 3, .start = 1000, .end = 1000, .name = 5},
        {.type = HB_RECORD_OP, .units = 3, .start = 1127, .end = 0, .name = 5},
        {.type = HB_RECORD_OP, .units = 3, .start = 1126, .end = 1125, .name = 5},
    };
    const unsigned char expected[] = {
        0x10, 0xe8, 0x07, 0xac, 0x02, 5,    /* new name */
        0x40, 0,    0,    0x17,             /* at the same time, and no longer */
        0x20, 127,  0x17,                   /* open */
        0x80, 2,    0,    3,    1,    1, 5, /* before the last one, ends before it begins */
    };
    unsigned char coded[HB_CODEC_MOST(sizeof raw)];
    (void)state;
    assert_int_equal(hb_codec_encode((const char *)raw, sizeof raw, coded), sizeof expected);
    assert_memory_equal(coded, expected, sizeof expected);
}

/* ---- what is told of a chunk ---- */

static void types_and_times_of_a_chunk_are_those_of_its_records(void **state)
{
    enum { MOST = 2048, ROUNDS = 300 };
    static uint64_t raw[MOST / 8 + 2 * LONG_RECORD];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = 0, wanted = random_below(MOST);
        uint64_t clock = 1u << 30, first = UINT64_MAX, last = 0;
        uint32_t types = 0;
        hb_events_info info;
        while (bytes < wanted) {
            const hb_record *r = (const hb_record *)&raw[bytes / 8];
            bytes += random_record(&raw[bytes / 8], &clock);
            bool spans = (r->type >= HB_RECORD_ANNOTATION && r->type <= HB_RECORD_MODULE) ||
                         (r->type >= HB_RECORD_CALL && r->type <= HB_RECORD_ALLOCATION);
            first = HB_MIN(first, r->start);
            last = HB_MAX(last, spans ? HB_MAX(r->start, r->end) : r->start);
            types |= 1u << r->type;
            if (r->type == HB_RECORD_OP && (r->flags & HB_RECORD_SEQUENCE)) types |= 1u << 31;
        }
        /* Behind them may be one that lacks its end. */
        size_t more = random_below(2) ? random_record(&raw[bytes / 8], &clock) - 8 : 0;
        hb_codec_prepass((const char *)raw, bytes + more, &info);
        assert_int_equal(info.types, types);
        assert_true(info.first_tick == first && info.last_tick == last);
    }
}

/* Ends that other threads stored are told by a flag, of records that have an end; what is no record
 * is left as it is, with all behind it. */
static void ends_of_hot_records_become_plain_ones(void **state)
{
    const uint64_t elsewhere = (uint64_t)1 << 63, seen = (uint64_t)1 << 62;
    (void)state;
    for (uint8_t type = 0; type < 40; type++) {
        bool spans = (type >= 1 && type <= 3) || (type >= 7 && type <= 10);
        uint16_t no_size = type % 2 ? 2 : 3 + 4; /* less than a head, or beyond the end */
        const hb_record hot[] = {
            {.type = type, .units = 3, .start = 5, .end = 9 | elsewhere},
            {.type = type, .units = 3, .start = 5, .end = 9 | seen},
            {.type = type, .units = 3, .start = 5, .end = 9 | elsewhere | seen, .flags = 4},
            {.type = type, .units = 3, .start = 5, .end = seen - 1},
            {.type = type, .units = 3, .start = 5},
            {.type = type, .units = no_size, .start = 5, .end = 9 | elsewhere},
            {.type = type, .units = 3, .start = 5, .end = 9 | elsewhere},
        };
        hb_record cold[HB_ARRAY_LEN(hot)];
        hb_codec_copy_hot((char *)cold, (const char *)hot, sizeof hot);
        for (size_t i = 0; i < HB_ARRAY_LEN(hot); i++) {
            hb_record expected = hot[i];
            if (spans && i < 3) expected.end = 9;
            if (spans && (i == 0 || i == 2)) expected.flags |= HB_RECORD_ASYNC;
            assert_memory_equal(&cold[i], &expected, sizeof expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(space_is_given_back_whole_and_taken_from_the_front),
        cmocka_unit_test(space_that_there_is_no_memory_for_is_forgotten),
        cmocka_unit_test(parts_are_found_in_whatever_order_they_came),
        cmocka_unit_test(coded_records_are_what_the_format_says),
        cmocka_unit_test(what_is_not_whole_is_no_records),
        cmocka_unit_test(a_plain_scope_takes_few_bytes),
        cmocka_unit_test(types_and_times_of_a_chunk_are_those_of_its_records),
        cmocka_unit_test(ends_of_hot_records_become_plain_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
