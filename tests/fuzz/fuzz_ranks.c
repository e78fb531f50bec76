/* SPDX-License-Identifier: MIT
 *
 * Any bytes as digests of ranks: refused with words, or studied in all forms; and, as they are and
 * with the checksum that they should have, as one digest. What is given back is read again as the
 * same.
 */
#include <string.h>

#include <hipboard/ranks.h>

#include "digest/rank_digest.h"
#include "fuzz.h"

static void check_study(const char *bytes, size_t size)
{
    hb_rank_study *study;
    char *text, *again;
    size_t length, length_again;
    CHECK(hb_rank_study_create(NULL, &study) == HB_OK);
    if (hb_rank_study_add_digests(study, "fuzz", bytes, size) != HB_OK) CHECK(*hb_last_error());
    for (hb_ranks_form form = HB_RANKS_TEXT; form <= HB_RANKS_JSON; form++)
        if (hb_rank_study_report(study, form, &text, &length) == HB_OK) {
            CHECK(strlen(text) == length);
            hb_free(text);
        }
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
    check_study((const char *)data, size);
    size_t head = HB_RANK_FILE_HEAD + HB_RANK_RECORD_HEAD + HB_RANK_STAMP,
           skipped = size > head ? head : 0;
    hb_buf_init(&file, SIZE_MAX / 4);
    hb_rank_file_head(&file);
    hb_rank_file_record(&file, (hb_rank_stamp){0}, data + skipped, size - skipped);
    check_study(file.data, file.size);
    hb_buf_free(&file);
    return 0;
}
