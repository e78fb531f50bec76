/* SPDX-License-Identifier: MIT
 *
 * Any bytes as digests of ranks: refused with words, or studied and asked everything, one way or
 * another; and, as they are and with the checksum that they should have, as one digest. What is
 * given back is read again as the same.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hipboard/ranks.h>

#include "base/crc32c.h"
#include "digest/rank_digest.h"
#include "fuzz.h"

/* What nodes are on, in a file. */
static const char *switches(void)
{
    static const char text[] = "node0 a\nnode1 a # the first ones\nnode2 b\nh0 a\nhost b\nx\n";
    static char path[40];
    if (!*path) {
        int fd = memfd_create("switches", MFD_CLOEXEC);
        CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    return path;
}

/* One of the ways in which it can be reported. */
static hb_rank_options options_of(uint32_t way)
{
    hb_rank_options o = HB_RANK_OPTIONS_INIT;
    o.by = (hb_ranks_by)(way % 3);
    o.groups = o.by == HB_RANKS_BY_SWITCH ? switches() : NULL;
    o.rank = (int64_t)(way / 3 % 4) - 1;
    o.hang = way / 12 % 4 == 0;
    o.line_width = way / 48 % 2 ? 40 : 0;
    return o;
}

static void ask_for_lists(hb_rank_study *study)
{
    const hb_late_rank *late;
    const hb_rank_shift *shifts;
    const hb_rank_traffic *traffic;
    hb_rank_cells cells;
    size_t n;
    if (hb_rank_study_late(study, &late, &n) == HB_OK)
        for (size_t i = 1; i < n; i++)
            CHECK(!(late[i].caused_us > late[i - 1].caused_us));
    if (hb_rank_study_cells(study, &cells) == HB_OK)
        for (size_t i = 0; i < cells.num_ranks * cells.num_steps; i++)
            CHECK(cells.cells[i].time_us >= 0);
    for (int force = 0; force < 2; force++)
        if (hb_rank_study_shifts(study, force, &shifts, &n) == HB_OK)
            for (size_t i = 1; i < n; i++)
                CHECK(strcmp(shifts[i - 1].file, shifts[i].file) <= 0);
    if (hb_rank_study_traffic(study, &traffic, &n) == HB_OK)
        for (size_t i = 0; i < n; i++)
            CHECK(traffic[i].operation && traffic[i].group);
    (void)hb_rank_study_inconclusive(study);
}

static void ask_for_texts(hb_rank_study *study)
{
    static const char *const limits[] = {"parallel_efficiency < 80%",
                                         "load_balance < 0.5",
                                         "communication_efficiency > 1%",
                                         "late_ranks > 0",
                                         "missing_ranks > 0",
                                         "waiting > 10%"};
    static const char *const questions[] = {"overview", "distributed/gpuinfo",
                                            "distributed/overlap", "distributed/waittime",
                                            "distributed/commops"};
    const char *said;
    char *text;
    size_t length;
    bool holds;
    for (size_t i = 0; i < HB_ARRAY_LEN(limits); i++)
        (void)hb_rank_study_limit(study, limits[i], &holds, &said);
    for (size_t i = 0; i < HB_ARRAY_LEN(questions); i++)
        if (hb_rank_study_query(study, "run", questions[i], &text, &length) == HB_OK) hb_free(text);
    for (hb_ranks_form form = HB_RANKS_TEXT; form <= HB_RANKS_JSON; form++)
        if (hb_rank_study_report(study, form, &text, &length) == HB_OK) {
            CHECK(strlen(text) == length);
            hb_free(text);
        }
}

static void check_study(const char *bytes, size_t size, const hb_rank_options *options)
{
    hb_rank_study *study;
    char *text, *again;
    size_t length, length_again;
    CHECK(hb_rank_study_create(options, &study) == HB_OK);
    if (hb_rank_study_add_digests(study, "fuzz", bytes, size) != HB_OK) CHECK(*hb_last_error());
    ask_for_lists(study);
    ask_for_texts(study);
    CHECK(hb_rank_study_digests(study, &text, &length) == HB_OK);
    hb_rank_study_destroy(study);
    CHECK(hb_rank_study_create(NULL, &study) == HB_OK);
    CHECK(hb_rank_study_add_digests(study, "again", text, length) == HB_OK);
    CHECK(hb_rank_study_digests(study, &again, &length_again) == HB_OK);
    CHECK(length == length_again && memcmp(text, again, length) == 0);
    hb_free(text);
    hb_free(again);
    hb_rank_study_destroy(study);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hb_buf file;
    hb_rank_options options = options_of(hb_crc32c(data, size));
    check_study((const char *)data, size, &options);
    size_t head = HB_RANK_FILE_HEAD + HB_RANK_RECORD_HEAD + HB_RANK_STAMP,
           skipped = size > head ? head : 0;
    hb_buf_init(&file, SIZE_MAX / 4);
    hb_rank_file_head(&file);
    hb_rank_file_record(&file, (hb_rank_stamp){0}, data + skipped, size - skipped);
    check_study(file.data, file.size, &options);
    hb_buf_free(&file);
    return 0;
}
