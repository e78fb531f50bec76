/* SPDX-License-Identifier: MIT
 *
 * What the name of a worker tells of the host that it was on.
 */
#ifndef HB_RULES_WORKER_HOST_H
#define HB_RULES_WORKER_HOST_H

#include "base/str.h"

/** The part of `worker` that is a host: "node7" of torch's "node7_4711", and of hipboard's
 * "node7_03" and "node7_03-4711". Empty where it names none, as "trainer" and "rank_3". */
hb_str hb_worker_host(hb_str worker);

#endif
