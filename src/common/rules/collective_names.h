/* SPDX-License-Identifier: MIT
 *
 * What a call does that moves data between ranks, by its name.
 */
#ifndef HB_RULES_COLLECTIVE_NAMES_H
#define HB_RULES_COLLECTIVE_NAMES_H

#include "base/str.h"

/** Who waits for whom. */
typedef enum hb_collective_waits {
    HB_COLLECTIVE_WAITS_UNKNOWN, /* nobody knows of how it is seen */
    HB_COLLECTIVE_WAITS_ALL,     /* nobody leaves before all have come */
    HB_COLLECTIVE_WAITS_BARRIER, /* the same, and no data move */
    HB_COLLECTIVE_WAITS_ROOT,    /* the root does not leave before all have come */
    HB_COLLECTIVE_WAITS_GROUP,   /* several in one: each by itself */
} hb_collective_waits;

/** What a rank's links carry of its bytes, of n ranks in a ring. */
typedef enum hb_collective_bus {
    HB_COLLECTIVE_BUS_NONE,
    HB_COLLECTIVE_BUS_WHOLE,
    HB_COLLECTIVE_BUS_OTHERS, /* (n - 1) / n */
    HB_COLLECTIVE_BUS_TWICE,  /* 2 (n - 1) / n */
} hb_collective_bus;

typedef struct hb_collective_name {
    const char *word, *torch; /* torch's name for it */
    const char *plugin;       /* one of the collectives that the plugin knows; "": none */
    const char *rccl;         /* the same of RCCL, whose kernels are a part of it */
    const char *mpi;          /* what torch's group of MPI calls it; "" where plugin is */
    hb_collective_waits waits;
    hb_collective_bus bus;
} hb_collective_name;

/** "MPI_Allreduce", "my:all_reduce", "ncclAllReduce", "MPI_Iallreduce_c"; NULL: no collective. */
const hb_collective_name *hb_collective_of(hb_str name);

/** Whether these can be no one collective of several ranks. Of names that are not known nobody can
 * say, and what begins together is several. */
bool hb_collectives_differ(hb_str a, hb_str b);

/** What torch's key "Collective name" says of a call that is one. */
const char *hb_collective_key(hb_str call, const hb_collective_name *collective);

/** Whether each rank's part of the data is as large as another's. */
bool hb_collective_splits_evenly(hb_str name);

/** Whether it is a call of MPI's. */
bool hb_collective_is_mpi_s(hb_str name);

/** torch's scope of a collective that starts kernels. */
#define HB_COLLECTIVE_SCOPE "record_param_comms"

/** Whether a call or a scope of that name starts kernels, which are the communication. */
bool hb_collective_starts_kernel(hb_str name);

#endif
