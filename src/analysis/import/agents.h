/* SPDX-License-Identifier: MIT
 *
 * GPUs as ROCm's tools describe them: agents, which are counted together with processors.
 */
#ifndef HB_IMPORT_AGENTS_H
#define HB_IMPORT_AGENTS_H

#include "import/import_set.h"

/** Notes a process's GPU with number `id`. `json`: the agent as rocprofiler-sdk writes it. What it
 * does not tell stays 0. */
void hb_import_add_gpu(hb_import *import, hb_import_process *process, int32_t id, hb_str name,
                       hb_str arch, hb_str json);

/** How many of a tool's CUs HIP counts as one. */
int32_t hb_import_cus_of_one(const hb_device_info *device);

#endif
