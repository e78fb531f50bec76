/* SPDX-License-Identifier: MIT
 *
 * Spools of version 2, made by hand: chunks that are linked by their numbers. What a list leads to
 * is read once, and only where it is what the list is of.
 */
#include <hipboard/hipboard.h>

#include "spool_without_memory.h"

enum { EVENTS = 1, SESSION = 2, STRINGS = 3 };

/* As the version had them. */
typedef struct old_header {
    char magic[8];
    uint32_t version, endian;
    uint32_t chunk_bytes, chunk_header_bytes, session_bytes, record_header_bytes;
    uint16_t places[20];
    int64_t pid, created_unix_ns;
    uint32_t num_chunks, first_session, first_strings, reserved;
    char host_name[256], process_name[256], worker_name[512];
} old_header;

typedef struct old_chunk {
    uint32_t kind, used, session, next, next_thread, thread;
    int64_t tid;
    uint64_t first_id, string_offset;
    char thread_name[32];
} old_chunk;

typedef struct old_session {
    uint32_t number, older, state, flags, first_thread, finalized;
    int64_t cycle, slice_ns;
    hb_clock_pair start, later[2];
    uint32_t newest, reserved;
    uint64_t lost[6];
    char trace_id[40];
} old_session;

static const uint16_t old_places[20] = {0, 4,  8,  12, 16, 32, 40, 24, 0,  4,
                                        8, 16, 40, 80, 0,  8,  16, 20, 21, 22};

/* Of so many chunks, the first of which has the header. */
static hb_buf begin_old(uint32_t chunks)
{
    hb_buf bytes;
    hb_buf_init(&bytes, (size_t)1 << 30);
    append_zeros(&bytes, (size_t)chunks * HB_CHUNK_BYTES);
    old_header *h = (old_header *)bytes.data;
    *h = (old_header){.magic = HB_SPOOL_MAGIC,
                      .version = 2,
                      .endian = HB_SPOOL_ENDIAN,
                      .chunk_bytes = HB_CHUNK_BYTES,
                      .chunk_header_bytes = 80,
                      .session_bytes = 256,
                      .record_header_bytes = 24,
                      .pid = 1234,
                      .created_unix_ns = 5678,
                      .num_chunks = chunks,
                      .host_name = "host",
                      .process_name = "process",
                      .worker_name = "worker"};
    memcpy(h->places, old_places, sizeof old_places);
    return bytes;
}

static old_header *header_of(hb_buf *bytes)
{
    return (old_header *)bytes->data;
}

static old_chunk *old_at(hb_buf *bytes, uint32_t index)
{
    return (old_chunk *)(bytes->data + (size_t)index * HB_CHUNK_BYTES);
}

static old_session *put_session(hb_buf *bytes, uint32_t index, uint32_t number, uint32_t older)
{
    old_session *s = (old_session *)(old_at(bytes, index) + 1);
    *old_at(bytes, index) = (old_chunk){.kind = SESSION, .used = HB_CHUNK_BYTES};
    *s = (old_session){.number = number, .older = older, .state = HB_SESSION_STOPPED};
    return s;
}

/* Records of a thread, `used` bytes with the head. */
static old_chunk *put_records(hb_buf *bytes, uint32_t index, uint32_t session, uint32_t used)
{
    old_chunk *chunk = old_at(bytes, index);
    *chunk = (old_chunk){.kind = EVENTS,
                         .used = used,
                         .session = session,
                         .thread = 10 + index,
                         .tid = 1000 + index,
                         .first_id = 50 + index,
                         .thread_name = "old thread"};
    return chunk;
}

static void put_text(hb_buf *bytes, uint64_t at, const char *text)
{
    const uint32_t head[2] = {(uint32_t)strlen(text), 0};
    memcpy(bytes->data + at, head, sizeof head);
    memcpy(bytes->data + at + sizeof head, text, head[0] + 1);
}

static void assert_name(const hb_spool_file *file, uint64_t offset, const char *text)
{
    hb_str s = file->view.string(&file->view, (uint32_t)(offset / 8));
    assert_int_equal(s.s != NULL, text != NULL);
    if (text) assert_string_equal(s.s, text);
}

/* ---- all of it ---- */

static void sessions_and_header_are_what_they_were(void **state)
{
    (void)state;
    hb_spool_file file;
    hb_buf bytes = begin_old(4);
    header_of(&bytes)->first_session = 3;
    old_session *s = put_session(&bytes, 3, 8, 1);
    s->flags = HB_SESSION_SHAPES;
    s->state = HB_SESSION_RECORDING;
    s->cycle = 21;
    s->slice_ns = 22;
    s->start.ticks = 23;
    s->later[0].ticks = 24;
    s->later[1].ticks = 25;
    s->newest = 1;
    for (uint32_t i = 0; i < 6; i++)
        s->lost[i] = 30 + i;
    snprintf(s->trace_id, sizeof s->trace_id, "an id");
    put_session(&bytes, 1, 7, 0);
    read_bytes(&file, &bytes);
    assert_int_equal(file.head.process.pid, 1234);
    assert_int_equal(file.head.process.start_time, 0);
    assert_int_equal(file.head.created_unix_ns, 5678);
    assert_string_equal(file.head.host_name, "host");
    assert_string_equal(file.head.process_name, "process");
    assert_string_equal(file.head.worker_name, "worker");
    assert_int_equal(num_sessions(&file), 2);
    assert_int_equal(found_session(&file, 0)->session.number, 7);
    const hb_session *found = &found_session(&file, 1)->session;
    assert_int_equal(found->number, 8);
    assert_int_equal(found->state, HB_SESSION_RECORDING);
    assert_int_equal(found->flags, HB_SESSION_SHAPES);
    assert_int_equal(found->cycle, 21);
    assert_int_equal(found->slice_ns, 22);
    assert_int_equal(found->start.ticks, 23);
    assert_int_equal(found->later[0].ticks, 24);
    assert_int_equal(found->later[1].ticks, 25);
    assert_int_equal(found->newest, 1);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(found->lost[i], 30 + i);
    assert_int_equal(found->lost[6], 0);
    assert_string_equal(found->trace_id, "an id");
    assert_int_equal(found_session(&file, 1)->state_offset, (char *)&s->state - bytes.data);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* A thread's chunks one after the other, and thread by thread. */
static void records_are_found_thread_by_thread(void **state)
{
    (void)state;
    hb_spool_file file;
    hb_record raw;
    hb_buf bytes = begin_old(6);
    header_of(&bytes)->first_session = 1;
    put_session(&bytes, 1, 8, 0)->first_thread = 5;
    old_chunk *chunk = put_records(&bytes, 5, 8, sizeof *chunk + sizeof raw + 7);
    chunk->next = 2;
    chunk->next_thread = 3;
    *(hb_record *)(chunk + 1) =
        (hb_record){.type = HB_RECORD_OP, .units = 3, .start = 5, .end = 9 | HB_END_ELSEWHERE};
    chunk = put_records(&bytes, 2, 8, HB_CHUNK_BYTES + 8);
    chunk->thread = 15;
    chunk->next_thread = 4; /* that of the first of them counts */
    put_records(&bytes, 3, 8, sizeof *chunk - 1);
    put_records(&bytes, 4, 8, 2000);
    read_bytes(&file, &bytes);
    const hb_records *records = found_session(&file, 0)->records;
    assert_int_equal(records->threads.count, 2);
    assert_int_equal(records->threads.items[0].number, 13);
    assert_int_equal(records->threads.items[0].parts.count, 1);
    assert_int_equal(records->threads.items[0].parts.items[0].raw_bytes, 0);
    const hb_thread_records *t = &records->threads.items[1];
    assert_int_equal(t->number, 15);
    assert_int_equal(t->parts.count, 2);
    assert_string_equal(t->name, "old thread");
    for (uint32_t i = 0; i < 2; i++) {
        const hb_part *part = &t->parts.items[i];
        uint32_t index = i ? 2 : 5;
        assert_int_equal(part->sequence, i);
        assert_int_equal(part->first_id, 50 + index);
        assert_int_equal(part->raw_bytes, i ? HB_CHUNK_BYTES - sizeof *chunk : sizeof raw);
        assert_int_equal(part->coded_bytes, part->raw_bytes);
        assert_int_equal(part->codec, HB_CODEC_HOT);
        assert_int_equal(part->place, HB_PART_FILE);
        assert_int_equal(part->types, 0);
        assert_int_equal(part->offset, index * HB_CHUNK_BYTES + sizeof *chunk);
    }
    assert_true(load_part(&file, &t->parts.items[0], &raw));
    assert_int_equal(raw.flags, HB_RECORD_ASYNC);
    assert_int_equal(raw.end, 9);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* A run may go on in the chunks behind its own, as far as there are any. */
static void names_are_found_run_by_run(void **state)
{
    (void)state;
    enum { HEAD = sizeof(old_chunk) };
    hb_spool_file file;
    hb_buf bytes = begin_old(6);
    header_of(&bytes)->first_strings = 4;
    *old_at(&bytes, 4) =
        (old_chunk){.kind = STRINGS, .used = 3 * HB_CHUNK_BYTES, .string_offset = 8, .next = 1};
    put_text(&bytes, 4 * HB_CHUNK_BYTES + HEAD, "first");
    put_text(&bytes, 5 * HB_CHUNK_BYTES + 8, "in the next chunk");
    put_text(&bytes, 6 * HB_CHUNK_BYTES - 16, "end");
    *old_at(&bytes, 1) =
        (old_chunk){.kind = STRINGS, .used = HEAD + 14, .string_offset = 1000000, .next = 2};
    put_text(&bytes, 1 * HB_CHUNK_BYTES + HEAD, "whole");
    *old_at(&bytes, 2) =
        (old_chunk){.kind = STRINGS, .used = HEAD - 1, .string_offset = 2000000, .next = 3};
    put_text(&bytes, 2 * HB_CHUNK_BYTES + HEAD, "beyond what is used");
    *old_at(&bytes, 3) = (old_chunk){.kind = STRINGS, .used = HEAD + 13, .string_offset = 3000000};
    put_text(&bytes, 3 * HB_CHUNK_BYTES + HEAD, "whole");
    read_bytes(&file, &bytes);
    assert_int_equal(file.names.size, 3 * sizeof(hb_string_run));
    assert_name(&file, 8, "first");
    assert_name(&file, 8 + HB_CHUNK_BYTES - HEAD + 8, "in the next chunk");
    assert_name(&file, 8 + 2 * HB_CHUNK_BYTES - HEAD - 16, "end");
    assert_name(&file, 1000000, "whole");
    assert_name(&file, 2000000, NULL);
    assert_name(&file, 3000000, NULL);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* ---- what leads nowhere ---- */

static uint32_t sessions_read(const hb_buf *bytes)
{
    hb_spool_file file;
    read_bytes(&file, bytes);
    uint32_t count = num_sessions(&file);
    hb_spool_file_close(&file);
    return count;
}

/* In circles, beyond the file or the number of chunks that it says, or to another kind. */
static void lists_end_where_they_lead_astray(void **state)
{
    (void)state;
    static const uint32_t ends[] = {0, 1, 2, 3, 5, 6, UINT32_MAX};
    for (size_t i = 0; i < HB_ARRAY_LEN(ends); i++) {
        hb_buf bytes = begin_old(6);
        header_of(&bytes)->first_session = 1;
        put_session(&bytes, 1, 8, 2);
        put_session(&bytes, 2, 7, ends[i]);
        put_session(&bytes, 5, 6, 0);
        old_at(&bytes, 3)->kind = EVENTS;
        assert_int_equal(sessions_read(&bytes), ends[i] == 5 ? 3 : 2);
        header_of(&bytes)->num_chunks = 5;
        assert_int_equal(sessions_read(&bytes), 2);
        header_of(&bytes)->num_chunks = 1000;
        bytes.size -= 1; /* the last chunk is not whole */
        assert_int_equal(sessions_read(&bytes), 2);
        header_of(&bytes)->first_session = ends[i];
        assert_int_equal(sessions_read(&bytes), ends[i] == 1 ? 2 : ends[i] == 2 ? 1 + (i == 1) : 0);
        hb_buf_free(&bytes);
    }
}

/* A thread's list may lead to chunks that another session uses by now. */
static void records_of_another_session_are_not_read(void **state)
{
    (void)state;
    hb_spool_file file;
    hb_buf bytes = begin_old(6);
    header_of(&bytes)->first_session = 1;
    put_session(&bytes, 1, 8, 2)->first_thread = 3;
    put_session(&bytes, 2, 7, 0)->first_thread = 4;
    put_records(&bytes, 3, 8, 500)->next = 4;
    put_records(&bytes, 4, 7, 500)->next = 5;
    put_records(&bytes, 5, 8, 500);
    read_bytes(&file, &bytes);
    assert_int_equal(count_parts(&file, 8), 1);
    assert_int_equal(count_parts(&file, 7), 0); /* was looked at already */
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* ---- other builds ---- */

static void assert_refused(const hb_buf *bytes, hb_result result, const char *why)
{
    hb_spool_file file;
    assert_int_equal(open_bytes(&file, bytes), result);
    if (!strstr(hb_last_error(), why)) fail_msg("%s, not %s", hb_last_error(), why);
    hb_spool_file_close(&file);
}

static void spools_of_other_sizes_are_not_read(void **state)
{
    (void)state;
    hb_buf bytes = begin_old(2);
    uint32_t *sizes = &header_of(&bytes)->chunk_bytes;
    for (int i = 0; i < 4; i++) {
        sizes[i]++;
        assert_refused(&bytes, HB_ERROR_UNSUPPORTED, "of other sizes");
        sizes[i]--;
    }
    for (int i = 0; i < 20; i++) {
        header_of(&bytes)->places[i] ^= 1;
        assert_refused(&bytes, HB_ERROR_UNSUPPORTED, "of other sizes");
        header_of(&bytes)->places[i] ^= 1;
    }
    assert_int_equal(sessions_read(&bytes), 0);
    bytes.size = sizeof(old_header);
    assert_int_equal(sessions_read(&bytes), 0);
    bytes.size--;
    char why[64];
    snprintf(why, sizeof why, ": %zu bytes are too few for a spool", bytes.size);
    assert_refused(&bytes, HB_ERROR_FORMAT, why);
    hb_buf_free(&bytes);
}

/* ---- without memory ---- */

static void a_spool_is_read_whole_or_there_is_no_memory(void **state)
{
    (void)state;
    hb_buf bytes = begin_old(6);
    header_of(&bytes)->first_session = 1;
    header_of(&bytes)->first_strings = 4;
    put_session(&bytes, 1, 8, 2)->first_thread = 3;
    put_session(&bytes, 2, 7, 0);
    put_records(&bytes, 3, 8, 500);
    *old_at(&bytes, 4) = (old_chunk){.kind = STRINGS, .used = 500};
    assert_each_failing_allocation_is_told(&bytes);
    hb_buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(sessions_and_header_are_what_they_were),
        IN_DIR(records_are_found_thread_by_thread),
        IN_DIR(names_are_found_run_by_run),
        IN_DIR(lists_end_where_they_lead_astray),
        IN_DIR(records_of_another_session_are_not_read),
        IN_DIR(spools_of_other_sizes_are_not_read),
        IN_DIR(a_spool_is_read_whole_or_there_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
