/* SPDX-License-Identifier: MIT
 *
 * How much memory one piece of work may take before it is given up: a small .gz can hold a text of
 * terabytes, and what takes all memory has others killed too.
 */
#ifndef HB_BASE_MEMORY_SHARE_H
#define HB_BASE_MEMORY_SHARE_H

#include <stddef.h>
#include <stdint.h>

/** Half of what there is: of the machine's memory, or of the control group's that the process is
 * in, as in a container. Asked once. */
size_t hb_memory_share(void);

/** The least limit of the group that `self` (/proc/self/cgroup) names and of those above it, below
 * `root` (/sys/fs/cgroup); UINT64_MAX: none. */
uint64_t hb_control_group_limit(const char *self, const char *root);

#endif
