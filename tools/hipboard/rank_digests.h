/* SPDX-License-Identifier: MIT
 *
 * Digests of a rank's traces in the one file of its job, beside the traces.
 */
#ifndef HB_TOOLS_RANK_DIGESTS_H
#define HB_TOOLS_RANK_DIGESTS_H

#include <hipboard/ranks.h>

/** Of a trace; one that is too large to be read once more is left out. */
void add_digest(hb_rank_study *study, const char *trace);

/** Adds the study's digests to the file in that directory. */
hb_result keep_digests(hb_rank_study *study, const char *dir);

#endif
