/* SPDX-License-Identifier: MIT
 *
 * The traces of a node's ranks as one file of the job's directory: they are written into a
 * directory of the node, and the rank that ends last packs them. How many there are need not be
 * known: a rank that begins when all others have ended makes another pack.
 */
#ifndef HB_TOOLS_RANK_PACK_H
#define HB_TOOLS_RANK_PACK_H

#include <limits.h>
#include <stdbool.h>

enum { RANKS_WITHOUT_PACKS = 4096 };

typedef struct rank_pack {
    char log_dir[PATH_MAX], staging[PATH_MAX];
    int dir; /* the node's directory, which running ranks share; who has it alone is the last one */
} rank_pack;

/** Makes the node's directory; false, with what is wrong said, where that cannot be. It may have to
 * wait for those who pack, and says so if it `speaks`. */
bool rank_pack_begin(rank_pack *pack, const char *log_dir, bool speaks);

/** Of the first rank: where the traces are until they are packed. */
void rank_pack_tell(const rank_pack *pack);

/** This rank has ended. False when its traces stayed where they were; says why. */
bool rank_pack_end(const rank_pack *pack);

#endif
