/* SPDX-License-Identifier: MIT
 *
 * Lists of tables, as hb_profiler_options.operators has them.
 */
#ifndef HB_OPS_OP_LIST_H
#define HB_OPS_OP_LIST_H

#include "ops/op_table.h"

/** The one of hipboard's own tables that is always there, a part of the installation (for
 * hb_part_path()); the others lie beside it. */
#define HB_OP_FIRST_TABLE "blas.ops"

/** Whether a list has hipboard's own tables in it. */
bool hb_op_list_has_own(const char *list);

/** Reads them all. Between colons or newlines: paths; "libraries" for hipboard's own, of which
 * `own` is the first one's path; "communication" for that of them that is of libraries like RCCL
 * alone, and "without=communication" for all but that; "loaders" for that of what reads files;
 * "names=torch": where a function has an alias, that is its name. HB_ERROR_IO: a file can't be
 * read. */
hb_result hb_op_list_read(hb_op_table *table, const char *list, const char *own,
                          hb_op_error_fn error, void *context);

/** What stood in the files that lists named: so the lists can be read once more when the files are
 * gone, or others. All zero is none. */
typedef struct hb_op_texts {
    HB_VEC(struct hb_op_text {
        char *path;
        hb_buf text;
    })
    files;
} hb_op_texts;

/** Keeps what stands in the files of a list, in place of what it kept of the same files.
 * HB_ERROR_IO and HB_ERROR_LIMIT as above. */
hb_result hb_op_texts_keep(hb_op_texts *texts, const char *list);
/** hb_op_list_read() where `texts` has all files that the list names. */
hb_result hb_op_list_read_kept(hb_op_table *table, const char *list, const char *own,
                               const hb_op_texts *texts, hb_op_error_fn error, void *context);

#endif
