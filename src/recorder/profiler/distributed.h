/* SPDX-License-Identifier: MIT
 *
 * A process's place in a distributed run, and how traces tell it.
 */
#ifndef HB_PROFILER_DISTRIBUTED_H
#define HB_PROFILER_DISTRIBUTED_H

#include <hipboard/hipboard.h>

#include "base/base.h"

/** What the program says, or when it says nothing, what the launcher does; refuses what traces
 * can't have. World size 0: not distributed. Texts are static or `given`'s. */
hb_result hb_distributed_complete(const hb_distributed_info *given, hb_distributed_info *info);

/** torch's distributedInfo as JSON text from malloc; *json is NULL when world_size is 0. */
hb_result hb_distributed_json(const hb_distributed_info *info, char **json);

#endif
