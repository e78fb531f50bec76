/* SPDX-License-Identifier: MIT
 *
 * hipboard-digest: what libhipboard starts when a rank of a job has written traces. It reads the
 * directory of the digests' file (empty: that of the traces) and paths of traces, a line each, and
 * answers when their digests are there. See plugin_format/hbranks.md.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rank_digests.h"

/* What hb_part_path() looks for. */
__attribute__((used)) static const char part_of[] = HB_PART;

typedef struct batch {
    hb_rank_study *study; /* of one directory; NULL: none was begun */
    char dir[PATH_MAX];
    hb_result result;
} batch;

static void end_batch(batch *b)
{
    if (!b->study) return;
    hb_result kept = keep_digests(b->study, b->dir);
    if (b->result == HB_OK) b->result = kept;
    hb_rank_study_destroy(b->study);
    b->study = NULL;
}

static void begin_batch(batch *b, const char *dir)
{
    end_batch(b);
    snprintf(b->dir, sizeof b->dir, "%s", dir);
    hb_result made = hb_rank_study_create(NULL, &b->study);
    if (b->result == HB_OK) b->result = made;
}

static bool next_line(char line[PATH_MAX + 2])
{
    if (!fgets(line, PATH_MAX + 2, stdin)) return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static void directory_of(const char *trace, char dir[PATH_MAX])
{
    const char *slash = strrchr(trace, '/');
    snprintf(dir, PATH_MAX, "%.*s", slash ? (int)(slash - trace) : 1, slash ? trace : ".");
}

int main(void)
{
    char told[PATH_MAX + 2], trace[PATH_MAX + 2], dir[PATH_MAX];
    batch b = {.result = HB_OK};
    if (!next_line(told)) return 1;
    while (b.result == HB_OK && next_line(trace)) {
        if (*told)
            snprintf(dir, sizeof dir, "%.*s", PATH_MAX - 1, told);
        else
            directory_of(trace, dir);
        if (!b.study || strcmp(dir, b.dir) != 0) begin_batch(&b, dir);
        if (b.study) add_digest(b.study, trace);
    }
    end_batch(&b);
    puts(b.result == HB_OK ? "done" : hb_last_error());
    return b.result != HB_OK;
}
