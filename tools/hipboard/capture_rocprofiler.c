/* SPDX-License-Identifier: MIT
 *
 * libhipboard-rocprofiler.so: loaded beside libhipboard-capture.so where rocprofiler-sdk is
 * installed, so that it is asked for when a program loads HIP by itself. A library apart, since
 * ROCm aborts a process that has this function but not rocprofiler-sdk.
 */
#include <hipboard/hipboard.h>

/* For hb_part_path(). */
__attribute__((used)) static const char part_of[] = HB_PART;

__attribute__((visibility("default"))) void *rocprofiler_configure(uint32_t version,
                                                                   const char *version_text,
                                                                   uint32_t priority,
                                                                   void *client_id);

void *rocprofiler_configure(uint32_t version, const char *version_text, uint32_t priority,
                            void *client_id)
{
    return hb_rocprofiler_configure(version, version_text, priority, client_id);
}
