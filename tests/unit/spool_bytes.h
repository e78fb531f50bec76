/* SPDX-License-Identifier: MIT
 *
 * Spools made by hand, byte by byte, as plugin_format/spool.md tells them: what a reader makes of
 * each byte does not depend on what a recorder writes.
 */
#ifndef HB_TEST_SPOOL_BYTES_H
#define HB_TEST_SPOOL_BYTES_H

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "record/process_id.h"
#include "record/spool_file.h"
#include "record/strings.h"
#include "test_dir.h"

/* ---- making one ---- */

/* Whose process is done with it. */
static inline hb_buf begin_spool(void)
{
    static const char zeros[HB_SPOOL_HEADER_BYTES];
    const hb_spool_header head = {.magic = HB_SPOOL_MAGIC,
                                  .version = HB_SPOOL_VERSION,
                                  .endian = HB_SPOOL_ENDIAN,
                                  .layout = hb_spool_layout_here,
                                  .closed = 1};
    hb_buf bytes;
    hb_buf_init(&bytes, (size_t)1 << 30);
    hb_buf_append(&bytes, (const char *)&head, sizeof head);
    hb_buf_append(&bytes, zeros, sizeof zeros - sizeof head);
    return bytes;
}

static inline hb_spool_header *spool_header(hb_buf *bytes)
{
    return (hb_spool_header *)bytes->data;
}

static inline void append_zeros(hb_buf *bytes, size_t count)
{
    static const char zeros[4096];
    for (size_t n; count; count -= n) {
        n = HB_MIN(count, sizeof zeros);
        hb_buf_append(bytes, zeros, n);
    }
}

static inline void seal_segment(hb_segment *s)
{
    const size_t skipped = offsetof(hb_segment, payload_crc);
    s->magic = HB_SEGMENT_MAGIC;
    s->crc = hb_crc32c((const char *)s + skipped, sizeof *s - skipped);
}

/* `head` says what it is, and how much is between it and its payload. Gives where that is. */
static inline uint64_t append_segment(hb_buf *bytes, hb_segment head, const void *payload,
                                      size_t size)
{
    append_zeros(bytes, HB_ROUND_UP(bytes->size, HB_SEGMENT_ALIGN) - bytes->size);
    head.bytes = size;
    head.payload_crc = hb_crc32c(payload, size);
    seal_segment(&head);
    hb_buf_append(bytes, (const char *)&head, sizeof head);
    append_zeros(bytes, head.padding);
    hb_buf_append(bytes, payload, size);
    return bytes->size - size;
}

static inline hb_segment *segment_before(hb_buf *bytes, uint64_t payload)
{
    return (hb_segment *)(bytes->data + payload) - 1;
}

/* Hot chunks, which are free. Gives where the first is. */
static inline uint64_t append_hot(hb_buf *bytes, uint32_t chunks)
{
    hb_segment head = {.kind = HB_SEGMENT_HOT, .bytes = (uint64_t)chunks * HB_CHUNK_BYTES};
    append_zeros(bytes, HB_ROUND_UP(bytes->size, HB_SEGMENT_ALIGN) - bytes->size);
    uint64_t behind = bytes->size + sizeof head;
    head.padding = (uint32_t)(HB_ROUND_UP(behind, HB_CHUNK_BYTES) - behind);
    seal_segment(&head);
    hb_buf_append(bytes, (const char *)&head, sizeof head);
    append_zeros(bytes, head.padding + head.bytes);
    return bytes->size - head.bytes;
}

static inline hb_chunk *chunk_at(hb_buf *bytes, uint64_t offset)
{
    return (hb_chunk *)(bytes->data + offset);
}

/* Into a chunk that has none so far. */
static inline hb_session *put_sessions(hb_buf *bytes, uint64_t chunk, const uint32_t *numbers,
                                       uint32_t count)
{
    hb_session *all = (hb_session *)(chunk_at(bytes, chunk) + 1);
    *chunk_at(bytes, chunk) = (hb_chunk){.kind = HB_CHUNK_SESSIONS, .used = HB_CHUNK_BYTES};
    for (uint32_t i = 0; i < count; i++)
        all[i] = (hb_session){
            .number = numbers[i], .state = HB_SESSION_STOPPED, .cycle = 100 + (int64_t)numbers[i]};
    return all;
}

/* ---- reading it ---- */

static inline void path_of_bytes(char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/.made" HB_SPOOL_SUFFIX, dir);
}

/* Its status goes to *st. */
static inline void write_bytes(const hb_buf *bytes, struct stat *st)
{
    char path[PATH_MAX];
    path_of_bytes(path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, f), bytes->size);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(stat(path, st), 0);
}

static inline hb_result open_bytes(hb_spool_file *file, const hb_buf *bytes)
{
    static char path[PATH_MAX]; /* for as long as the file is open */
    struct stat st;
    path_of_bytes(path);
    write_bytes(bytes, &st);
    return hb_spool_file_open(file, path, &st);
}

static inline void read_bytes(hb_spool_file *file, const hb_buf *bytes)
{
    if (open_bytes(file, bytes) != HB_OK) fail_msg("%s", hb_last_error());
}

static inline uint32_t num_sessions(const hb_spool_file *file)
{
    return (uint32_t)(file->sessions.size / sizeof(hb_found_session));
}

static inline hb_found_session *found_session(const hb_spool_file *file, uint32_t nth)
{
    assert_in_range(nth, 0, num_sessions(file) - 1);
    return (hb_found_session *)file->sessions.data + nth;
}

/* The only thread of a session with records. */
static inline const hb_thread_records *only_thread(const hb_spool_file *file, uint32_t session)
{
    const hb_session of = {.number = session};
    const hb_records *records = file->view.records(&file->view, &of);
    assert_int_equal(records->threads.count, 1);
    return hb_records_nth(records, 0);
}

static inline uint32_t count_parts(const hb_spool_file *file, uint32_t session)
{
    const hb_session of = {.number = session};
    const hb_records *records = file->view.records(&file->view, &of);
    uint32_t count = 0;
    for (uint32_t i = 0; i < records->threads.count; i++)
        count += records->threads.items[i].parts.count;
    return count;
}

static inline bool load_part(const hb_spool_file *file, const hb_part *part, void *raw)
{
    return file->view.load(&file->view, 1, NULL, part, raw);
}

#endif
