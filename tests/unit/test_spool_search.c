/* SPDX-License-Identifier: MIT
 *
 * How a spool is searched, of spools made by hand: where segments are found, and which names and
 * which mapped code are believed of several.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "spool_bytes.h"

enum { WINDOW = 65536, HEAD = sizeof(hb_segment) };

static const uint32_t one = 1;

static unsigned reads; /* of files, since it was set to 0 */

/* In place of the C library's, also for hipboard. */
ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    reads++;
    return syscall(SYS_pread64, fd, to, size, at);
}

/* ---- where segments are ---- */

/* A part of that number, of a few bytes. */
static uint64_t append_part(hb_buf *bytes, uint32_t sequence)
{
    static const char few[8];
    hb_segment head = {.kind = HB_SEGMENT_EVENTS,
                       .raw_bytes = sizeof few,
                       .events = {.session = 1, .sequence = sequence}};
    return append_segment(bytes, head, few, sizeof few);
}

static hb_buf begin_with_session(void)
{
    hb_buf bytes = begin_spool();
    put_sessions(&bytes, append_hot(&bytes, 1), &one, 1);
    return bytes;
}

/* What is no segment, and no hole either. */
static void append_noise(hb_buf *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hb_buf_append(bytes, "\x55", 1);
}

/* Frees the bytes. */
static void assert_sequences(hb_buf *bytes, const uint32_t *sequences, uint32_t count)
{
    hb_spool_file file;
    read_bytes(&file, bytes);
    assert_int_equal(count_parts(&file, 1), count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(only_thread(&file, 1)->parts.items[i].sequence, sequences[i]);
    hb_spool_file_close(&file);
    hb_buf_free(bytes);
}

/* The file is looked at in windows: a head may lie in two of them, and near the file's end. */
static void heads_are_found_wherever_they_are(void **state)
{
    (void)state;
    for (size_t before = 0; before <= HEAD + 16; before += 8) {
        static const uint32_t found[] = {7, 8};
        hb_buf bytes = begin_with_session();
        append_noise(&bytes, 2 * WINDOW - before);
        append_part(&bytes, 7);
        append_noise(&bytes, 2 * WINDOW + 8 - before);
        append_part(&bytes, 8);
        assert_sequences(&bytes, found, 2);
    }
}

static void a_head_of_another_sum_is_none(void **state)
{
    (void)state;
    static const uint32_t found[] = {9};
    hb_buf bytes = begin_with_session();
    uint64_t at = append_part(&bytes, 7);
    segment_before(&bytes, at)->events.tid ^= 1;
    at = append_part(&bytes, 8);
    segment_before(&bytes, at)->magic ^= 1; /* which the sum has no part in */
    append_part(&bytes, 9);
    assert_sequences(&bytes, found, 1);
}

/* Records may be any bytes, also those of a segment; but where a payload is cut off, or its size
 * cannot be true, what is behind the head is looked at. */
static void what_looks_like_a_head_in_a_payload_is_none(void **state)
{
    (void)state;
    enum { SIZE = HEAD + 8 + 5 };
    static const uint32_t whole[] = {7, 9}, cut[] = {8}, last[] = {7};
    hb_buf inner;
    hb_buf_init(&inner, SIZE + 8);
    append_part(&inner, 8);
    append_noise(&inner, 5);
    hb_segment outer = {.kind = HB_SEGMENT_EVENTS, .raw_bytes = SIZE};
    outer.events = (hb_events_info){.session = 1, .sequence = 7};
    hb_buf bytes = begin_with_session();
    append_segment(&bytes, outer, inner.data, SIZE);
    append_part(&bytes, 9);
    assert_sequences(&bytes, whole, 2);

    bytes = begin_with_session(); /* it ends where the file does */
    append_segment(&bytes, outer, inner.data, SIZE);
    assert_sequences(&bytes, last, 1);

    bytes = begin_with_session();
    append_segment(&bytes, outer, inner.data, SIZE);
    bytes.size--;
    assert_sequences(&bytes, cut, 1);

    bytes = begin_with_session();
    uint64_t at = append_segment(&bytes, outer, inner.data, SIZE);
    segment_before(&bytes, at)->bytes =
        0 - at + HB_SPOOL_HEADER_BYTES; /* it ends before it begins */
    seal_segment(segment_before(&bytes, at));
    assert_sequences(&bytes, cut, 1);
    hb_buf_free(&inner);
}

/* Chunks are read as far as their segment goes, which may be cut off. */
static void chunks_are_those_of_their_segment(void **state)
{
    (void)state;
    static const uint32_t found[] = {0, 1};
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        hb_buf bytes = begin_with_session();
        uint64_t hot = append_hot(&bytes, 2);
        append_zeros(&bytes, HB_CHUNK_BYTES);
        for (uint32_t i = 0; i < 3; i++)
            *chunk_at(&bytes, hot + i * HB_CHUNK_BYTES) =
                (hb_chunk){.kind = HB_CHUNK_EVENTS,
                           .used = sizeof(hb_chunk),
                           .events = {.session = 1, .sequence = i}};
        if (is_cut) bytes.size = hot + HB_CHUNK_BYTES + sizeof(hb_chunk);
        assert_sequences(&bytes, found, 2);
    }
}

/* As where records were given back: a file of gigabytes may have a few that are left. */
static void holes_are_passed_over(void **state)
{
    (void)state;
    enum { HOLE = 1 << 30, FEW = 300 };
    char path[PATH_MAX];
    struct stat st;
    hb_spool_file file;
    hb_buf bytes = begin_with_session(), behind;
    write_bytes(&bytes, &st);
    path_of_bytes(path);
    hb_buf_init(&behind, 1 << 20);
    append_noise(&behind, 104); /* in the first block that is there */
    append_part(&behind, 7);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, behind.data, behind.size, HOLE), behind.size);
    assert_int_equal(ftruncate(fd, (off_t)2 * HOLE), 0);
    close(fd);
    assert_int_equal(stat(path, &st), 0);
    bool has_holes = st.st_blocks < HOLE / 512;
    reads = 0;
    assert_int_equal(hb_spool_file_open(&file, path, &st), HB_OK);
    if (has_holes) assert_in_range(reads, 1, FEW);
    assert_int_equal(count_parts(&file, 1), 1);
    hb_spool_file_close(&file);
    hb_buf_free(&behind);
    hb_buf_free(&bytes);
}

/* ---- names ---- */

/* As the table has them: length, hash, text, a zero; from a multiple of 8 on. */
static void put_name(hb_buf *to, const char *text)
{
    const uint32_t head[2] = {(uint32_t)strlen(text), 0};
    hb_buf_append(to, (const char *)head, sizeof head);
    hb_buf_append(to, text, head[0] + 1);
    append_zeros(to, HB_ROUND_UP(to->size, 8) - to->size);
}

/* A run of the names of numbers `from` to `to`, of 16 bytes each, from offset `at` of the table. */
static uint64_t append_names(hb_buf *bytes, uint64_t at, int from, int to)
{
    hb_buf names;
    hb_buf_init(&names, 1 << 20);
    for (int i = from; i <= to; i++) {
        char text[8];
        snprintf(text, sizeof text, "name%d", i);
        put_name(&names, text);
    }
    uint64_t payload = append_segment(
        bytes, (hb_segment){.kind = HB_SEGMENT_NAMES, .string_offset = at}, names.data, names.size);
    hb_buf_free(&names);
    return payload;
}

static void assert_name(const hb_spool_file *file, uint64_t offset, const char *text)
{
    hb_str s = file->view.string(&file->view, (uint32_t)(offset / 8));
    if (!text) {
        assert_null(s.s);
        assert_int_equal(s.len, 0);
        return;
    }
    assert_non_null(s.s);
    assert_int_equal(s.len, strlen(text));
    assert_string_equal(s.s, text);
}

/* Runs in any order, and in chunks. */
static void names_are_found_by_their_place_in_the_table(void **state)
{
    (void)state;
    hb_spool_file file;
    hb_buf bytes = begin_spool(), names;
    append_names(&bytes, 1000, 5, 7);
    append_names(&bytes, 8, 1, 2);
    append_names(&bytes, 2000, 8, 8);
    uint64_t hot = append_hot(&bytes, 4);
    hb_buf_init(&names, 1 << 20);
    put_name(&names, "name9");
    for (uint32_t i = 0; i < 4; i++) { /* of all bytes, of too many, of one too few, of none */
        const uint32_t used[] = {sizeof(hb_chunk) + 14, HB_CHUNK_BYTES + 8, sizeof(hb_chunk) + 13,
                                 sizeof(hb_chunk) - 1};
        hb_chunk *chunk = chunk_at(&bytes, hot + i * HB_CHUNK_BYTES);
        *chunk = (hb_chunk){.kind = HB_CHUNK_NAMES, .used = used[i]};
        chunk->string_offset = 3000 + 400000 * i;
        memcpy(chunk + 1, names.data, names.size);
    }
    read_bytes(&file, &bytes);
    assert_int_equal(file.names.size, 6 * sizeof(hb_string_run)); /* and none of no bytes */
    assert_name(&file, 8, "name1");
    assert_name(&file, 24, "name2");
    for (uint64_t i = 0; i < 3; i++)
        assert_name(&file, 1000 + 16 * i, (const char *[]){"name5", "name6", "name7"}[i]);
    assert_name(&file, 2000, "name8");
    assert_name(&file, 3000, "name9");
    assert_name(&file, 403000, "name9");
    assert_name(&file, 803000, NULL);
    assert_name(&file, 1203000, NULL);
    assert_name(&file, 0, NULL);
    assert_name(&file, 40, NULL);
    assert_name(&file, 992, NULL);
    assert_name(&file, 1048, NULL);
    assert_name(&file, 2016, NULL);
    hb_spool_file_close(&file);
    hb_buf_free(&names);
    hb_buf_free(&bytes);
}

/* A string that lacks its end, or the end of its run, is read of an earlier run that has it; of
 * four in all. */
static void a_name_that_is_cut_is_read_where_it_is_whole(void **state)
{
    (void)state;
    enum { NAME5 = 8 + 4 * 16 };
    for (int cut = 0; cut <= 4; cut++) {
        hb_spool_file file;
        hb_buf bytes = begin_spool();
        append_names(&bytes, 8, 1, 6);
        for (int i = 0; i < cut; i++) { /* each from one name later on, and all end in name5 */
            uint64_t at = append_names(&bytes, 8 + 16 * (uint64_t)(1 + i), 2 + i, 5);
            hb_segment *s = segment_before(&bytes, at);
            if (i % 2)
                s->bytes -= 3; /* the zero and one letter more lack */
            else
                bytes.data[at + s->bytes - 3] = 'x'; /* the zero, of which there are three */
            s->payload_crc = hb_crc32c(bytes.data + at, s->bytes);
            seal_segment(s);
        }
        read_bytes(&file, &bytes);
        assert_name(&file, NAME5, cut < 4 ? "name5" : NULL);
        assert_name(&file, NAME5 + 16, cut < 4 ? "name6" : NULL);
        hb_spool_file_close(&file);
        hb_buf_free(&bytes);
    }
}

/* Of a run that was damaged names are read that no other has. */
static void damaged_names_come_last(void **state)
{
    (void)state;
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    append_names(&bytes, 8, 1, 4);
    uint64_t at = append_names(&bytes, 24, 2, 5);
    bytes.data[at + 8] = 'N'; /* in name2, which is whole elsewhere */
    bytes.data[at + 3 * 16 + 8] = 'N';
    read_bytes(&file, &bytes);
    assert_name(&file, 24, "name2");
    assert_name(&file, 56, "name4");
    assert_name(&file, 72, "Name5");
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

static void names_beyond_the_file_are_none(void **state)
{
    (void)state;
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    append_names(&bytes, 8, 1, 2);
    append_names(&bytes, 1000, 3, 4);
    bytes.size--; /* of the last run a byte lacks */
    read_bytes(&file, &bytes);
    assert_int_equal(file.names.size, sizeof(hb_string_run));
    assert_name(&file, 24, "name2");
    assert_name(&file, 1000, NULL);
    /* Of a reader of another version. */
    assert_true(hb_spool_file_add_names(&file, 2000, bytes.size, 8));
    assert_true(hb_spool_file_add_names(&file, 2000, bytes.size - 8, 0));
    assert_true(hb_spool_file_add_names(&file, 2000, bytes.size - 8, 9));
    assert_int_equal(file.names.size, sizeof(hb_string_run));
    assert_true(hb_spool_file_add_names(&file, 2000, bytes.size - 8, 8));
    assert_int_equal(file.names.size, 2 * sizeof(hb_string_run));
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* ---- mapped code ---- */

static uint64_t append_code(hb_buf *bytes, uint64_t number, const char *text, size_t size)
{
    return append_segment(bytes, (hb_segment){.kind = HB_SEGMENT_CODE, .code_number = number}, text,
                          size);
}

static void assert_code(hb_buf *bytes, const char *text)
{
    hb_spool_file file;
    read_bytes(&file, bytes);
    if (text) {
        assert_int_equal(file.view.code.len, strlen(text));
        assert_string_equal(file.view.code.s, text);
    } else {
        assert_null(file.view.code.s);
    }
    hb_spool_file_close(&file);
    hb_buf_free(bytes);
}

/* Space is used again: the newest may stand anywhere. */
static void the_newest_code_is_that_of_the_greatest_number(void **state)
{
    (void)state;
    hb_buf bytes = begin_spool();
    assert_code(&bytes, NULL);

    bytes = begin_spool();
    append_code(&bytes, 1, "b\n", 2);
    append_code(&bytes, 3, "c\n", 2);
    append_code(&bytes, 2, "a\n", 2);
    assert_code(&bytes, "c\n");

    bytes = begin_spool();
    append_code(&bytes, 3, "a\n", 2);
    append_code(&bytes, 3, "later\n", 6);
    uint64_t at = append_code(&bytes, 4, "damaged\n", 8);
    bytes.data[at] ^= 1;
    assert_code(&bytes, "later\n");

    bytes = begin_spool();
    append_code(&bytes, 1, "", 0);
    append_code(&bytes, 0, "first\n", 6);
    assert_code(&bytes, "");
}

/* It goes to a program line by line, for which an empty one is the end. */
static void code_ends_at_an_empty_line(void **state)
{
    (void)state;
    static const char text[] = "one\ntwo\n\nthree\n";
    hb_buf bytes = begin_spool();
    append_code(&bytes, 0, text, sizeof text - 1);
    assert_code(&bytes, "one\ntwo\n");
}

static void code_of_more_than_16_mib_is_none(void **state)
{
    (void)state;
    enum { MOST = 16 << 20 };
    for (size_t more = 0; more < 2; more++) {
        char *text = malloc(MOST + 1);
        hb_spool_file file;
        hb_buf bytes = begin_spool();
        assert_non_null(text);
        memset(text, 'x', MOST + 1);
        append_code(&bytes, 0, text, MOST + more);
        free(text);
        read_bytes(&file, &bytes);
        assert_int_equal(file.view.code.len, more ? 0 : MOST);
        hb_spool_file_close(&file);
        hb_buf_free(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(heads_are_found_wherever_they_are),
        IN_DIR(a_head_of_another_sum_is_none),
        IN_DIR(what_looks_like_a_head_in_a_payload_is_none),
        IN_DIR(chunks_are_those_of_their_segment),
        IN_DIR(holes_are_passed_over),
        IN_DIR(names_are_found_by_their_place_in_the_table),
        IN_DIR(a_name_that_is_cut_is_read_where_it_is_whole),
        IN_DIR(damaged_names_come_last),
        IN_DIR(names_beyond_the_file_are_none),
        IN_DIR(the_newest_code_is_that_of_the_greatest_number),
        IN_DIR(code_ends_at_an_empty_line),
        IN_DIR(code_of_more_than_16_mib_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
