/* SPDX-License-Identifier: MIT
 *
 * What HIP runtimes link to and simhsa does not simulate: every call fails and says so once.
 *
 * Declared without arguments: none is looked at, and in C's calling convention on x86-64 the caller
 * puts them away. The HSA headers, which declare some of them fully, are therefore not included.
 */
#include "log.h"

#define HSA_STATUS_ERROR 0x1000

#define ABSENT(name)                              \
    int name(void);                               \
    int name(void)                                \
    {                                             \
        SIM_WARN_ONCE(#name " is not simulated"); \
        return HSA_STATUS_ERROR;                  \
    }

/* Images and samplers: textures, arrays, surfaces. */
ABSENT(hsa_amd_image_create)
ABSENT(hsa_ext_image_create)
ABSENT(hsa_ext_image_create_with_layout)
ABSENT(hsa_ext_image_data_get_info)
ABSENT(hsa_ext_image_destroy)
ABSENT(hsa_ext_image_export)
ABSENT(hsa_ext_image_import)
ABSENT(hsa_ext_sampler_create)
ABSENT(hsa_ext_sampler_create_v2)
ABSENT(hsa_ext_sampler_destroy)

/* Memory shared with graphics APIs and with other processes. */
ABSENT(hsa_amd_interop_map_buffer)
ABSENT(hsa_amd_interop_unmap_buffer)
ABSENT(hsa_amd_ipc_memory_attach)
ABSENT(hsa_amd_ipc_memory_create)
ABSENT(hsa_amd_ipc_memory_detach)
ABSENT(hsa_amd_portable_export_dmabuf)
ABSENT(hsa_amd_vmem_export_shareable_handle)
ABSENT(hsa_amd_vmem_import_shareable_handle)

/* Files that a GPU reads and writes by itself. */
ABSENT(hsa_amd_ais_file_read)
ABSENT(hsa_amd_ais_file_write)

/* Shared virtual memory and its hints; the system says that it has none. */
ABSENT(hsa_amd_svm_attributes_get)
ABSENT(hsa_amd_svm_attributes_set)
ABSENT(hsa_amd_svm_prefetch_async)
