/* SPDX-License-Identifier: MIT
 *
 * Memory pools (hipMallocAsync() and friends) hold more of a device's memory than is allocated from
 * them. How much, the runtime tells per pool; asked only for pools that the program was seen to
 * use.
 */
#ifndef HB_HIP_MEMPOOLS_H
#define HB_HIP_MEMPOOLS_H

#include "hip/hip_runtime.h"

/** Memory of the device came out of `pool`; 0: out of the device's present one. */
void hb_pools_use(const hb_hip *hip, int device, uint64_t pool);

/** The pool is about to be destroyed. */
void hb_pools_drop(uint64_t pool);

/** Pools may have gone unseen: a session begins, or a device was reset. */
void hb_pools_forget(void);

/** Bytes that pools hold on the device beyond what is allocated from them. Asks the runtime when
 * there are pools, so neither inside hb_record_enter() nor after a call whose error the program has
 * still to ask for. */
int64_t hb_pools_kept(const hb_hip *hip, int device);

/** In a forked child. */
void hb_pools_after_fork(void);

#endif
