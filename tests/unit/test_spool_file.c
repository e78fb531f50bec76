/* SPDX-License-Identifier: MIT
 *
 * What is found in a spool that some process left, of spools made by hand: each field of each part,
 * and where what is found ends.
 */
#include <hipboard/hipboard.h>

#include "record/codec.h"
#include "spool_without_memory.h"

enum { RECORDS = 10 };

static hb_events_info info_of(uint32_t session, uint32_t thread, uint32_t sequence)
{
    return (hb_events_info){.session = session,
                            .thread = thread,
                            .sequence = sequence,
                            .types = 1u << HB_RECORD_OP,
                            .tid = 4000 + thread,
                            .first_id = 100 + sequence,
                            .first_tick = 1000,
                            .last_tick = 2000,
                            .thread_name = "a thread"};
}

static void make_records(hb_record *to, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = (hb_record){.type = HB_RECORD_OP,
                            .units = sizeof *to / 8,
                            .start = 1000 + 10 * (uint64_t)i,
                            .end = 1005 + 10 * (uint64_t)i,
                            .name = 7};
}

/* A chunk's records at an offset within it, for a thread with that number. */
static hb_chunk *put_events(hb_buf *bytes, uint64_t at, const hb_events_info *info, int count)
{
    hb_chunk *chunk = chunk_at(bytes, at);
    *chunk = (hb_chunk){.kind = HB_CHUNK_EVENTS, .events = *info};
    chunk->used = (uint32_t)(sizeof *chunk + (size_t)count * sizeof(hb_record));
    make_records((hb_record *)(chunk + 1), count);
    return chunk;
}

static void assert_records(const hb_spool_file *file, const hb_part *part, int count)
{
    hb_record expected[RECORDS], raw[RECORDS];
    assert_in_range(count, 0, RECORDS);
    make_records(expected, count);
    assert_int_equal(part->raw_bytes, (size_t)count * sizeof *raw);
    assert_true(load_part(file, part, raw));
    assert_memory_equal(raw, expected, part->raw_bytes);
}

/* ---- sessions ---- */

/* By their numbers, wherever they stand; of two of one number the first has the records. */
static void sessions_are_found_by_their_numbers(void **state)
{
    (void)state;
    static const uint32_t first[] = {9, 5, 7}, second[] = {3, 5};
    static const uint32_t in_order[] = {3, 5, 5, 7, 9};
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    uint64_t hot = append_hot(&bytes, 7);
    hb_session *all = put_sessions(&bytes, hot, first, 3);
    put_sessions(&bytes, hot + HB_CHUNK_BYTES, second, 2);
    for (uint32_t i = 0; i < 5; i++) { /* also of one that is nowhere */
        hb_events_info info = info_of(2 + 2 * i + (i > 0), i, 0);
        if (i == 2) info.session = 4;
        put_events(&bytes, hot + (2 + i) * HB_CHUNK_BYTES, &info, 1);
    }
    read_bytes(&file, &bytes);
    assert_int_equal(num_sessions(&file), 5);
    for (uint32_t i = 0; i < 5; i++) {
        const hb_found_session *found = found_session(&file, i);
        assert_int_equal(found->session.number, in_order[i]);
        assert_int_equal(found->session.cycle, 100 + in_order[i]);
        assert_int_equal(found->records->session, in_order[i]);
    }
    uint64_t state_of_9 = (uint64_t)((char *)&all[0].state - bytes.data);
    assert_int_equal(found_session(&file, 4)->state_offset, state_of_9);
    assert_int_equal(found_session(&file, 1)->state_offset, state_of_9 + sizeof(hb_session));
    assert_true(found_session(&file, 2)->state_offset > state_of_9 + HB_CHUNK_BYTES / 2);
    for (uint32_t number = 0; number <= 12; number++)
        assert_int_equal(count_parts(&file, number), number == 5 || number == 9);
    assert_int_equal(found_session(&file, 1)->records->threads.count, 1);
    assert_int_equal(found_session(&file, 2)->records->threads.count, 0);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* What has no number, or a state that is none, is an entry that nobody has used. */
static void entries_without_sense_are_no_sessions(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {0, 1, 2, 3, 4, 5};
    static const uint32_t states[] = {HB_SESSION_STOPPED, HB_SESSION_NONE,  HB_SESSION_RECORDING,
                                      HB_SESSION_STOPPED, HB_SESSION_SAVED, HB_SESSION_SAVED + 1};
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    uint64_t hot = append_hot(&bytes, 1);
    hb_session *all = put_sessions(&bytes, hot, numbers, 6);
    for (int i = 0; i < 6; i++)
        all[i].state = states[i];
    /* The last one that has room in a chunk. */
    all[HB_SESSIONS_PER_CHUNK - 1] = (hb_session){.number = 6, .state = HB_SESSION_STOPPED};
    /* What is left of a chunk behind it has room for the beginning of one, which is none. */
    memcpy(&all[HB_SESSIONS_PER_CHUNK], &all[3], 2 * sizeof(uint32_t));
    memset(all[2].trace_id, 'x', sizeof all[2].trace_id);
    memset(all[2].file_name, 'y', sizeof all[2].file_name);
    read_bytes(&file, &bytes);
    assert_int_equal(num_sessions(&file), 4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(found_session(&file, i)->session.number, 2 + i);
        assert_int_equal(found_session(&file, i)->session.state, states[2 + i]);
    }
    assert_int_equal(found_session(&file, 3)->session.number, 6);
    /* Texts end, whatever is in the file. */
    assert_int_equal(strlen(found_session(&file, 0)->session.trace_id), 39);
    assert_int_equal(strlen(found_session(&file, 0)->session.file_name), 255);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* In the file, for who recovers it next; nothing else is changed. */
static void a_session_that_is_saved_is_noted_in_the_file(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {1, 2};
    char path[PATH_MAX];
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    hb_session *all = put_sessions(&bytes, append_hot(&bytes, 1), numbers, 2);
    read_bytes(&file, &bytes);
    hb_spool_file_mark_saved(&file, found_session(&file, 1));
    assert_int_equal(found_session(&file, 1)->session.state, HB_SESSION_SAVED);
    all[1].state = HB_SESSION_SAVED;
    hb_found_session behind = *found_session(&file, 0);
    behind.state_offset = bytes.size - 3; /* the file does not grow by it */
    hb_spool_file_mark_saved(&file, &behind);
    behind.state_offset = bytes.size - 4; /* whereas its last bytes may be those */
    hb_spool_file_mark_saved(&file, &behind);
    const uint32_t saved = HB_SESSION_SAVED;
    memcpy(bytes.data + bytes.size - 4, &saved, sizeof saved);
    path_of_bytes(path);
    char *now = malloc(bytes.size + 1);
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(now, 1, bytes.size + 1, f), bytes.size);
    fclose(f);
    assert_memory_equal(now, bytes.data, bytes.size);
    free(now);
    hb_spool_file_close(&file);
    assert_int_equal(file.fd, -1);
    hb_buf_free(&bytes);
}

/* ---- records in segments ---- */

static void records_of_a_segment_are_what_its_head_says(void **state)
{
    (void)state;
    static const uint32_t one = 1;
    hb_record raw[RECORDS];
    unsigned char coded[HB_CODEC_MOST(sizeof raw)];
    hb_spool_file file;
    make_records(raw, RECORDS);
    size_t size = hb_codec_encode((const char *)raw, sizeof raw, coded);
    hb_segment head = {.kind = HB_SEGMENT_EVENTS,
                       .codec = HB_CODEC_DELTA,
                       .raw_bytes = sizeof raw,
                       .events = info_of(1, 3, 5)};
    hb_buf bytes = begin_spool();
    uint64_t at = append_segment(&bytes, head, coded, size);
    head.codec = HB_CODEC_RAW;
    head.events = info_of(1, 3, 4);
    head.padding = 24;
    uint64_t other = append_segment(&bytes, head, raw, sizeof raw);
    put_sessions(&bytes, append_hot(&bytes, 1), &one, 1);
    read_bytes(&file, &bytes);
    const hb_thread_records *t = only_thread(&file, 1);
    assert_int_equal(t->number, 3);
    assert_int_equal(t->tid, 4003);
    assert_string_equal(t->name, "a thread");
    assert_int_equal(t->parts.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const hb_part *part = &t->parts.items[i];
        assert_int_equal(part->sequence, 4 + i);
        assert_int_equal(part->types, 1u << HB_RECORD_OP);
        assert_int_equal(part->coded_bytes, i ? size : sizeof raw);
        assert_int_equal(part->first_id, 104 + i);
        assert_int_equal(part->first_tick, 1000);
        assert_int_equal(part->last_tick, 2000);
        assert_int_equal(part->place, HB_PART_FILE);
        assert_int_equal(part->codec, i ? HB_CODEC_DELTA : HB_CODEC_RAW);
        assert_int_equal(part->offset, i ? at : other);
        assert_records(&file, part, RECORDS);
    }
    /* What has changed since is not believed, nor is what there is no more of. */
    hb_part part = t->parts.items[1];
    part.crc ^= 1;
    assert_false(load_part(&file, &part, raw));
    part = t->parts.items[1];
    part.offset = bytes.size - 1;
    assert_false(load_part(&file, &part, raw));
    part = t->parts.items[1];
    part.raw_bytes -= 8;
    assert_false(load_part(&file, &part, raw));
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

static uint32_t parts_of(const hb_segment *head, const char *payload, size_t size, bool damaged)
{
    static const uint32_t one = 1;
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    uint64_t at = append_segment(&bytes, *head, payload, size);
    if (damaged) bytes.data[at + size - 1] ^= 1;
    put_sessions(&bytes, append_hot(&bytes, 1), &one, 1);
    read_bytes(&file, &bytes);
    uint32_t count = count_parts(&file, 1);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
    return count;
}

/* No chunk has more records than fit, and none takes more bytes than the code may. */
static void segments_of_impossible_sizes_have_no_records(void **state)
{
    (void)state;
    enum { MOST = HB_CODEC_MOST(HB_CHUNK_BYTES) };
    static char payload[MOST + 1];
    hb_segment head = {.kind = HB_SEGMENT_EVENTS, .raw_bytes = HB_CHUNK_BYTES};
    head.events = info_of(1, 0, 0);
    assert_int_equal(parts_of(&head, payload, MOST, false), 1);
    assert_int_equal(parts_of(&head, payload, MOST + 1, false), 0);
    assert_int_equal(parts_of(&head, payload, MOST, true), 0);
    assert_int_equal(parts_of(&head, payload, 0, false), 1);
    head.raw_bytes++;
    assert_int_equal(parts_of(&head, payload, MOST, false), 0);
    head.raw_bytes = 8;
    for (uint16_t codec = 0; codec < 4; codec++) {
        head.codec = codec;
        assert_int_equal(parts_of(&head, payload, 8, false), codec <= HB_CODEC_DELTA);
    }
    head.codec = HB_CODEC_RAW;
    head.kind = HB_SEGMENT_CODE + 1; /* of a kind that is not known here */
    assert_int_equal(parts_of(&head, payload, 8, false), 0);
}

/* ---- records in chunks ---- */

/* Also those of later sessions behind them, each at its place. */
static void records_of_a_chunk_are_found_session_by_session(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {1, 2, 3};
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    uint64_t hot = append_hot(&bytes, 2), at = hot + HB_CHUNK_BYTES;
    put_sessions(&bytes, hot, numbers, 3);
    for (uint32_t i = 0; i < 3; i++) {
        hb_events_info info = info_of(numbers[i], 8, 2 * i);
        hb_chunk *chunk = put_events(&bytes, at, &info, 2 + (int)i);
        at += chunk->used;
        if (i < 2) chunk->next = (uint32_t)(at - hot - HB_CHUNK_BYTES);
    }
    read_bytes(&file, &bytes);
    at = hot + HB_CHUNK_BYTES;
    for (uint32_t i = 0; i < 3; i++) {
        const hb_thread_records *t = only_thread(&file, numbers[i]);
        const hb_part *part = &t->parts.items[0];
        assert_int_equal(t->number, 8);
        assert_int_equal(part->sequence, 2 * i);
        /* The process knew neither, as it was killed. */
        assert_int_equal(part->types, 0);
        assert_int_equal(part->first_tick, 0);
        assert_int_equal(part->last_tick, 0);
        assert_int_equal(part->codec, HB_CODEC_HOT);
        assert_int_equal(part->coded_bytes, part->raw_bytes);
        assert_int_equal(part->offset, at + sizeof(hb_chunk));
        assert_records(&file, part, 2 + (int)i);
        at += sizeof(hb_chunk) + part->raw_bytes;
    }
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* Ends of hot records tell who stored them. */
static void records_of_a_chunk_are_tidied(void **state)
{
    (void)state;
    static const uint32_t one = 1;
    hb_spool_file file;
    hb_record raw[2];
    hb_events_info info = info_of(1, 0, 0);
    hb_buf bytes = begin_spool();
    uint64_t hot = append_hot(&bytes, 2);
    put_sessions(&bytes, hot, &one, 1);
    hb_chunk *chunk = put_events(&bytes, hot + HB_CHUNK_BYTES, &info, 2);
    ((hb_record *)(chunk + 1))[1].end |= HB_END_ELSEWHERE;
    chunk->used += 5; /* it is no whole word */
    read_bytes(&file, &bytes);
    hb_part part = only_thread(&file, 1)->parts.items[0];
    assert_int_equal(part.raw_bytes, sizeof raw);
    assert_true(load_part(&file, &part, raw));
    assert_int_equal(raw[0].flags, 0);
    assert_int_equal(raw[1].flags, HB_RECORD_ASYNC);
    assert_int_equal(raw[1].end, 1015);
    part.offset = bytes.size - part.raw_bytes; /* just there, and not any more */
    assert_true(load_part(&file, &part, raw));
    part.offset++;
    assert_false(load_part(&file, &part, raw));
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* How many parts of a chunk are found whose second header is at `next`, and the size of the first,
 * whose `used` is that. */
static uint32_t parts_behind(uint32_t used, uint32_t next, uint32_t at, uint32_t *first_bytes)
{
    static const uint32_t numbers[] = {1, 2};
    hb_spool_file file;
    hb_events_info first = info_of(1, 0, 0), second = info_of(2, 0, 0);
    hb_buf bytes = begin_spool();
    uint64_t hot = append_hot(&bytes, 3);
    put_sessions(&bytes, hot, numbers, 2);
    hb_chunk *chunk = put_events(&bytes, hot + HB_CHUNK_BYTES, &first, 1);
    if (at % 8 == 0 && at) {
        hb_chunk *behind = chunk_at(&bytes, hot + HB_CHUNK_BYTES + at);
        *behind = (hb_chunk){.kind = HB_CHUNK_EVENTS, .used = sizeof *behind, .events = second};
    }
    chunk->used = used;
    chunk->next = next;
    read_bytes(&file, &bytes);
    *first_bytes = only_thread(&file, 1)->parts.items[0].raw_bytes;
    uint32_t count = 1 + count_parts(&file, 2);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
    return count;
}

static void a_damaged_list_in_a_chunk_ends(void **state)
{
    (void)state;
    enum { HEAD = sizeof(hb_chunk), MOST = HB_CHUNK_BYTES };
    uint32_t bytes;
    assert_int_equal(parts_behind(HEAD + 80, HEAD + 80, HEAD + 80, &bytes), 2);
    assert_int_equal(bytes, 80);
    /* Another than where these end; the number of bytes stays what it was. */
    assert_int_equal(parts_behind(HEAD + 80, HEAD + 88, HEAD + 88, &bytes), 1);
    assert_int_equal(bytes, 80);
    assert_int_equal(parts_behind(HEAD + 80, HEAD + 72, HEAD + 72, &bytes), 1);
    /* Nothing at all, and so much that a whole one just fits, or does not. */
    assert_int_equal(parts_behind(HEAD, HEAD, HEAD, &bytes), 2);
    assert_int_equal(bytes, 0);
    assert_int_equal(parts_behind(HEAD - 8, HEAD - 8, 0, &bytes), 1);
    assert_int_equal(bytes, 0);
    assert_int_equal(parts_behind(MOST - HEAD, MOST - HEAD, MOST - HEAD, &bytes), 2);
    assert_int_equal(bytes, MOST - 2 * HEAD);
    assert_int_equal(parts_behind(MOST - HEAD + 8, MOST - HEAD + 8, MOST - HEAD + 8, &bytes), 1);
    /* More than a chunk has. */
    assert_int_equal(parts_behind(MOST, 0, 0, &bytes), 1);
    assert_int_equal(bytes, MOST - HEAD);
    assert_int_equal(parts_behind(MOST + 8, 0, 0, &bytes), 1);
    assert_int_equal(bytes, MOST - HEAD);
    assert_int_equal(parts_behind(HEAD + 80, 0, HEAD + 80, &bytes), 1);
}

/* Behind records of a size that is not whole words nothing is believed. */
static void a_list_that_is_not_of_words_ends(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {1, 2};
    hb_spool_file file;
    hb_events_info first = info_of(1, 0, 0), second = info_of(2, 0, 0);
    hb_buf bytes = begin_spool();
    uint64_t hot = append_hot(&bytes, 2);
    put_sessions(&bytes, hot, numbers, 2);
    hb_chunk *chunk = put_events(&bytes, hot + HB_CHUNK_BYTES, &first, 1);
    hb_chunk behind = {.kind = HB_CHUNK_EVENTS, .used = sizeof behind, .events = second};
    chunk->next = chunk->used = sizeof *chunk + 28;
    memcpy((char *)chunk + chunk->next, &behind, sizeof behind);
    read_bytes(&file, &bytes);
    assert_int_equal(only_thread(&file, 1)->parts.items[0].raw_bytes, 24);
    assert_int_equal(count_parts(&file, 2), 0);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* What stands behind the last of a session that counts more than its chunk has room for. */
static void a_later_part_takes_no_more_than_its_chunk(void **state)
{
    (void)state;
    enum { SECOND = HB_CHUNK_BYTES - 512 };
    static const uint32_t numbers[] = {1, 2};
    hb_spool_file file;
    hb_events_info first = info_of(1, 0, 0), second = info_of(2, 0, 0);
    hb_buf bytes = begin_spool();
    uint64_t hot = append_hot(&bytes, 3);
    put_sessions(&bytes, hot, numbers, 2);
    hb_chunk *chunk = put_events(&bytes, hot + HB_CHUNK_BYTES, &first, 1);
    chunk->used = chunk->next = SECOND;
    put_events(&bytes, hot + HB_CHUNK_BYTES + SECOND, &second, 1)->used = HB_CHUNK_BYTES;
    read_bytes(&file, &bytes);
    assert_int_equal(only_thread(&file, 2)->parts.items[0].raw_bytes, 512 - sizeof(hb_chunk));
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* A segment is whole, a chunk may be used again by half: whichever comes first in the file. */
static void of_what_stands_twice_the_segment_is_read(void **state)
{
    (void)state;
    static const uint32_t one = 1;
    hb_record raw[RECORDS];
    make_records(raw, RECORDS);
    for (int chunk_first = 0; chunk_first < 2; chunk_first++) {
        hb_spool_file file;
        hb_segment head = {.kind = HB_SEGMENT_EVENTS, .raw_bytes = sizeof raw};
        hb_buf bytes = begin_spool();
        head.events = info_of(1, 2, 0);
        if (!chunk_first) append_segment(&bytes, head, raw, sizeof raw);
        uint64_t hot = append_hot(&bytes, 4);
        put_sessions(&bytes, hot, &one, 1);
        for (uint32_t i = 0; i < 3; i++) { /* the same, and others of other threads */
            hb_events_info info = info_of(1, 3 - i, 0);
            put_events(&bytes, hot + (1 + i) * HB_CHUNK_BYTES, &info, 2);
        }
        if (chunk_first) append_segment(&bytes, head, raw, sizeof raw);
        read_bytes(&file, &bytes);
        const hb_records *records = found_session(&file, 0)->records;
        assert_int_equal(records->threads.count, 3);
        for (uint32_t i = 0; i < 3; i++) {
            const hb_thread_records *t = &records->threads.items[i];
            assert_int_equal(t->number, 1 + i);
            assert_int_equal(t->parts.count, 1);
            assert_records(&file, &t->parts.items[0], i == 1 ? RECORDS : 2);
        }
        hb_spool_file_close(&file);
        hb_buf_free(&bytes);
    }
}

/* ---- without memory ---- */

static void a_spool_is_read_whole_or_there_is_no_memory(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {1, 2};
    hb_record raw[RECORDS];
    unsigned char coded[HB_CODEC_MOST(sizeof raw)];
    hb_spool_file file;
    make_records(raw, RECORDS);
    size_t size = hb_codec_encode((const char *)raw, sizeof raw, coded);
    hb_segment head = {.kind = HB_SEGMENT_EVENTS,
                       .codec = HB_CODEC_DELTA,
                       .raw_bytes = sizeof raw,
                       .events = info_of(1, 3, 5)};
    hb_events_info hot = info_of(2, 4, 0);
    hb_buf bytes = begin_spool();
    append_segment(&bytes, head, coded, size);
    append_segment(&bytes, (hb_segment){.kind = HB_SEGMENT_CODE}, "code\n", 5);
    append_segment(&bytes, (hb_segment){.kind = HB_SEGMENT_NAMES}, "names", 5);
    uint64_t chunks = append_hot(&bytes, 3);
    put_sessions(&bytes, chunks, numbers, 2);
    put_events(&bytes, chunks + HB_CHUNK_BYTES, &hot, 3);
    *chunk_at(&bytes, chunks + 2 * HB_CHUNK_BYTES) =
        (hb_chunk){.kind = HB_CHUNK_NAMES, .used = sizeof(hb_chunk) + 100};
    assert_each_failing_allocation_is_told(&bytes);
    /* Nor are records damaged for which there is no memory. */
    read_bytes(&file, &bytes);
    const hb_part *part = &only_thread(&file, 1)->parts.items[0];
    allocations = 0;
    failing_allocation = 1;
    assert_false(load_part(&file, part, raw));
    failing_allocation = 0;
    assert_int_equal(hb_spool_file_was_read(&file), HB_ERROR_NO_MEMORY);
    hb_spool_file_close(&file);
    read_bytes(&file, &bytes);
    assert_int_equal(hb_spool_file_was_read(&file), HB_OK);
    file.view.has_no_room(&file.view);
    assert_int_equal(hb_spool_file_was_read(&file), HB_ERROR_NO_MEMORY);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(sessions_are_found_by_their_numbers),
        IN_DIR(entries_without_sense_are_no_sessions),
        IN_DIR(a_session_that_is_saved_is_noted_in_the_file),
        IN_DIR(records_of_a_segment_are_what_its_head_says),
        IN_DIR(segments_of_impossible_sizes_have_no_records),
        IN_DIR(records_of_a_chunk_are_found_session_by_session),
        IN_DIR(records_of_a_chunk_are_tidied),
        IN_DIR(a_damaged_list_in_a_chunk_ends),
        IN_DIR(a_list_that_is_not_of_words_ends),
        IN_DIR(a_later_part_takes_no_more_than_its_chunk),
        IN_DIR(of_what_stands_twice_the_segment_is_read),
        IN_DIR(a_spool_is_read_whole_or_there_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
