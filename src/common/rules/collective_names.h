/* SPDX-License-Identifier: MIT
 *
 * What a call does that moves data between ranks, by its name.
 */
#ifndef HB_RULES_COLLECTIVE_NAMES_H
#define HB_RULES_COLLECTIVE_NAMES_H

#include "base/str.h"

typedef struct hb_collective_name {
    const char *word, *torch; /* torch's name for it */
    const char *plugin;       /* one of the collectives that the plugin knows; "": none */
} hb_collective_name;

/** "MPI_Allreduce", "my:all_reduce", "ncclAllReduce", "MPI_Iallreduce_c"; NULL: no collective. */
const hb_collective_name *hb_collective_of(hb_str name);

#endif
