/* SPDX-License-Identifier: MIT
 *
 * The rocprofiler-sdk library: found and loaded by name, and only of versions whose interface
 * hipboard knows.
 */
#ifndef HB_HIP_ROCPROFILER_LIBRARY_H
#define HB_HIP_ROCPROFILER_LIBRARY_H

#include "hip/hip_runtime.h"
#include "hip/rocprofiler_abi.h"

/** Its functions. They return 0, or a status whose number is not the same in all versions. */
typedef struct hb_rocp {
    void *library;
    uint32_t major, minor, patch;
    char version[32]; /* "1.0.0" */

    int (*get_version)(uint32_t *major, uint32_t *minor, uint32_t *patch);
    int (*get_timestamp)(uint64_t *ns);
    const char *(*get_status_string)(int status);
    hb_demangler *demangle; /* of the C++ library that it needs; may be NULL */
    int (*is_initialized)(int *status);
    int (*force_configure)(hb_rocp_configure configure);
    int (*create_context)(hb_rocp_id *context);
    int (*start_context)(hb_rocp_id context);
    int (*stop_context)(hb_rocp_id context);
    int (*create_buffer)(hb_rocp_id context, size_t bytes, size_t watermark, uint32_t policy,
                         void (*callback)(hb_rocp_id context, hb_rocp_id buffer,
                                          hb_rocp_header **records, size_t count, void *arg,
                                          uint64_t dropped),
                         void *arg, hb_rocp_id *buffer);
    int (*flush_buffer)(hb_rocp_id buffer);
    int (*configure_buffer)(hb_rocp_id context, uint32_t kind, const int32_t *operations,
                            size_t num_operations, hb_rocp_id buffer);
    /* `callback` takes an hb_rocp_callback_0 or _1 by value. */
    int (*configure_callback)(hb_rocp_id context, uint32_t kind, const int32_t *operations,
                              size_t num_operations, void (*callback)(void), void *arg);
    int (*iterate_operations)(uint32_t kind, int (*each)(uint32_t kind, int32_t op, void *arg),
                              void *arg);
    int (*operation_name)(uint32_t kind, int32_t operation, const char **name, uint64_t *size);
    int (*query_agents)(uint32_t version,
                        int (*each)(uint32_t version, const void **agents, size_t count, void *arg),
                        size_t agent_size, void *arg);
} hb_rocp;

/** The one that is loaded, or can be; stays loaded. NULL with the reason in `why` when there is
 * none, or none that can be used. `hip`: looked for beside this runtime, too; NULL: one is loaded.
 */
const hb_rocp *hb_rocp_library(const hb_hip *hip, hb_buf *why);

/** Whether callbacks get an hb_rocp_callback_1. */
static inline bool hb_rocp_is_1(const hb_rocp *rocp)
{
    return rocp->major >= 1;
}

#endif
