/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a pack: refused with words, or unpacked, which nothing of it outlives. Any bytes as
 * a trace, a text, an event file and digests of ranks that are to be redacted: what was JSON is
 * JSON, what has nothing to replace comes out as it was, and records keep right checksums. As an
 * event and as a digest they come with the checksums that they should have as well. A host's name
 * that is known is nowhere left in a trace or a text.
 */
#include <ctype.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hipboard/analysis.h>
#include <hipboard/pack.h>

#include "base/crc32c.h"
#include "base/json_line.h"
#include "fuzz.h"
#include "pack/redact_files.h"
#include "ranks/rank_file.h"

static void check_pack(const char *path)
{
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    hb_pack_report *report;
    hb_logdir *logdir;
    options.dry_run = true;
    if (hb_unpack(path, "nowhere", &options, &report) == HB_OK)
        hb_pack_report_free(report);
    else
        CHECK(*hb_last_error());
    if (hb_logdir_open(path, NULL, &logdir) == HB_OK) hb_logdir_close(logdir);
}

static void check_records(const hb_buf *out)
{
    for (size_t at = 0; at < out->size;) {
        uint64_t size;
        uint32_t crc;
        CHECK(out->size - at >= 16);
        memcpy(&size, out->data + at, 8);
        memcpy(&crc, out->data + at + 8, 4);
        CHECK(crc == hb_crc32c_masked(out->data + at, 8));
        CHECK(size <= out->size - at - 16);
        memcpy(&crc, out->data + at + 12 + size, 4);
        CHECK(crc == hb_crc32c_masked(out->data + at + 12, size));
        at += 16 + size;
    }
}

static void check_digests(const hb_buf *out)
{
    hb_rank_records records;
    hb_str digest;
    hb_rank_stamp stamp;
    CHECK(hb_rank_records_open(&records, "out", (hb_str){out->data, (uint32_t)out->size}) == HB_OK);
    while (hb_rank_records_next(&records, &stamp, &digest))
        continue;
    CHECK(!records.damaged && !records.cut);
}

typedef enum form { JSON, EVENTS, RANKS, LINES } form;

static hb_result redact(hb_redactor *r, form kind, const char *path, hb_sink *to)
{
    bool cut;
    hb_redactor_begin_file(r, "file");
    if (kind == JSON) return hb_redact_json(r, path, to);
    if (kind == RANKS) return hb_redact_ranks(r, path, to, &cut);
    return kind == EVENTS ? hb_redact_events(r, path, to, &cut) : hb_redact_lines(r, path, to);
}

/* Then it is read as what is in it. */
static bool is_compressed(const uint8_t *data, size_t size)
{
    static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    return (size >= sizeof gzip && memcmp(data, gzip, sizeof gzip) == 0) ||
           (size >= sizeof zstd && memcmp(data, zstd, sizeof zstd) == 0);
}

static const hb_str host = {"node77", 6};

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Within a longer word, an escape or a name as C++ compilers write them it is no name. */
static bool is_within(const char *start, const char *at, const char *end)
{
    const char *behind = at + host.len, *from = at;
    if (at > start && (is_letter(at[-1]) || at[-1] == '\\')) return true;
    if (behind < end && (is_letter(*behind) || *behind == '\\')) return true;
    while (from > start && (is_letter(from[-1]) || memchr("_$.", from[-1], 3)))
        from--;
    return memmem(from, (size_t)(at - from), "_Z", 2) != NULL;
}

static void check_host_is_gone(const hb_buf *out)
{
    const char *start = out->size ? out->data : "", *end = start + out->size;
    for (const char *at = start; (at = memmem(at, (size_t)(end - at), host.s, host.len)); at++)
        CHECK(is_within(start, at, end));
}

static bool found_any(const hb_redactor *r)
{
    bool any = false;
    for (hb_string_id id = 1; id < r->texts.count; id++)
        any |= r->findings.items[id].count > 0;
    return any;
}

static void check_redacted(form kind, const char *path, const uint8_t *data, size_t size)
{
    hb_redactor r;
    hb_memory_sink out;
    CHECK(hb_redactor_init(&r));
    hb_memory_sink_init(&out, SIZE_MAX / 4);
    hb_redactor_begin_file(&r, "file");
    hb_redactor_learn(&r, HB_REDACTED_HOST, host);
    /* JSON may be compressed, and then damaged. */
    bool fine = redact(&r, kind, path, &out.sink) == HB_OK;
    CHECK(out.buf.size == 0);
    hb_redactor_learnt(&r);
    CHECK((redact(&r, kind, path, &out.sink) == HB_OK) == fine);
    if (kind == EVENTS) check_records(&out.buf);
    if (kind == RANKS && fine) check_digests(&out.buf);
    bool found = found_any(&r);
    if ((kind == JSON || kind == LINES) && fine) check_host_is_gone(&out.buf);
    if ((kind == JSON || kind == LINES) && fine && !found && !is_compressed(data, size)) {
        CHECK(out.buf.size == size);
        CHECK(size == 0 || memcmp(out.buf.data, data, size) == 0);
    }
    char *text = strndup((const char *)data, size);
    CHECK(text);
    if (kind == JSON && strlen(text) == size && hb_json_is_valid(text)) {
        CHECK(hb_json_is_valid(hb_buf_text(&out.buf)));
    }
    free(text);
    hb_memory_sink_free(&out);
    hb_redactor_free(&r);
}

static int open_file(const void *data, size_t size, char path[static 40])
{
    int fd = memfd_create("pack", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(write(fd, data, size) == (ssize_t)size);
    snprintf(path, 40, "/proc/self/fd/%d", fd);
    return fd;
}

static void check_record(form kind, const hb_buf *record)
{
    char path[40];
    int fd = open_file(record->data, record->size, path);
    check_redacted(kind, path, (const uint8_t *)record->data, record->size);
    close(fd);
}

static void check_event(const uint8_t *data, size_t size)
{
    hb_buf record;
    hb_buf_init(&record, SIZE_MAX / 4);
    hb_buf_u32(&record, (uint32_t)size);
    hb_buf_u32(&record, 0);
    hb_buf_u32(&record, hb_crc32c_masked(record.data, 8));
    hb_buf_append(&record, data, size);
    hb_buf_u32(&record, hb_crc32c_masked(data, size));
    check_record(EVENTS, &record);
    hb_buf_free(&record);
}

static void check_digest(const uint8_t *data, size_t size)
{
    hb_buf record;
    hb_buf_init(&record, SIZE_MAX / 4);
    hb_rank_file_head(&record);
    hb_rank_file_record(&record, (hb_rank_stamp){0}, data, size);
    check_record(RANKS, &record);
    hb_buf_free(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[40];
    int fd = open_file(data, size, path);
    check_pack(path);
    for (form kind = JSON; kind <= LINES; kind++)
        check_redacted(kind, path, data, size);
    close(fd);
    check_event(data, size);
    check_digest(data, size);
    return 0;
}
