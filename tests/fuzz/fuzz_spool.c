/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the segments of a spool: recovery ends, what it writes is JSON, with no more events
 * than there can be records in so many bytes, and it says either which trace it wrote or why not.
 *
 * The header before them is whole, and heads of segments are given the checksums that they should
 * have, since none would come by them.
 */
#include <fcntl.h>
#include <hipboard/hipboard.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/crc32c.h"
#include "base/json_line.h"
#include "fuzz_dir.h"
#include "json_tree.h"
#include "not_told.h"
#include "record/format.h"
#include "spool_mutator.h"

static char spool[128];

static void seal(uint8_t *data, size_t size)
{
    const size_t skipped = offsetof(hb_segment, payload_crc);
    for (size_t at = 0; at + sizeof(hb_segment) <= size; at += HB_SEGMENT_ALIGN) {
        hb_segment s;
        memcpy(&s, data + at, sizeof s);
        if (s.magic != HB_SEGMENT_MAGIC) continue;
        size_t rest = size - at - sizeof s;
        if (s.kind != HB_SEGMENT_HOT && s.padding <= rest && s.bytes <= rest - s.padding)
            s.payload_crc = hb_crc32c((char *)data + at + sizeof s + s.padding, s.bytes);
        s.crc = hb_crc32c((const char *)&s + skipped, sizeof s - skipped);
        memcpy(data + at, &s, sizeof s);
    }
}

static void write_spool(const uint8_t *data, size_t size)
{
    uint8_t page[HB_SPOOL_HEADER_BYTES] = {0};
    hb_spool_header head = {.magic = HB_SPOOL_MAGIC,
                            .version = HB_SPOOL_VERSION,
                            .endian = HB_SPOOL_ENDIAN,
                            .layout = hb_spool_layout_here,
                            .closed = 1,
                            .host_name = "host",
                            .process_name = "process",
                            .worker_name = "fuzz"};
    memcpy(page, &head, sizeof head);
    int fd = open(spool, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, page, sizeof page) == sizeof page);
    CHECK(write(fd, data, size) == (ssize_t)size);
    close(fd);
}

/* What a tree of its values would take most of the time for is only looked through. */
enum { MOST_OF_A_TREE = 64 << 10 };

static void check_tree(const char *text)
{
    const cJSON *json = json_tree(text, strlen(text));
    CHECK(json && cJSON_IsArray(cJSON_GetObjectItem(json, "traceEvents")));
}

static void check_json(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    char *text = calloc(1, (size_t)st.st_size + 1);
    CHECK(read(fd, text, (size_t)st.st_size) == st.st_size);
    close(fd);
    if (st.st_size <= MOST_OF_A_TREE)
        check_tree(text);
    else
        CHECK(hb_json_is_valid(text));
    free(text);
}

/* Of profiler/time_slices.h, which a damaged session may ask for. */
#define MOST_SLICES 100000u

/* A record takes at least three bytes, and few other events are none. */
static void check(const hb_recovered *told, void *arg)
{
    size_t size = *(size_t *)arg;
    CHECK((told->trace != NULL) == (told->result == HB_OK));
    CHECK(told->result == HB_OK || told->error[0]);
    if (!told->trace) return;
    CHECK(told->events <= size + 64 + MOST_SLICES);
    check_json(told->trace);
    CHECK(unlink(told->trace) == 0);
}

/* Segments are aligned: bytes too many behind the last tell how the trace is to be written. */
static unsigned flags_of(size_t size)
{
    static const unsigned flags[HB_SEGMENT_ALIGN] = {0, HB_DIALECT_KINETO, HB_SKIP_EMPTY};
    return flags[size % HB_SEGMENT_ALIGN];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > (size_t)1 << 20) return 0;
    snprintf(spool, sizeof spool, "%s/.fuzz.1" HB_SPOOL_SUFFIX, fuzz_dir());
    setenv("HIPBOARD_SYMBOLIZER", "", 1); /* a process for each input would be slow */
    uint8_t *copy = malloc(size + 1);
    CHECK(copy);
    memcpy(copy, data, size);
    seal(copy, size);
    write_spool(copy, size);
    hb_result result = hb_recover(fuzz_dir(), flags_of(size), check, &size);
    CHECK(result == HB_OK || hb_last_error()[0]);
    (void)unlink(spool); /* else what was not recovered is there again */
    free(copy);
    return 0;
}
