/* SPDX-License-Identifier: MIT
 *
 * The life of the runtime, facts about the system, status texts.
 */
#include "agent.h"
#include "code.h"
#include "dma.h"
#include "handler.h"
#include "kernel.h"
#include "newer.h"
#include "queue.h"
#include "sim.h"

#include <hsa/hsa_ven_amd_loader.h>

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lifecycle = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner;         /* the process that started the runtime */
static unsigned references; /* changed under `lifecycle`, read without */

bool sim_is_initialized(void)
{
    return __atomic_load_n(&references, __ATOMIC_ACQUIRE) != 0;
}

bool sim_has_threads(void)
{
    return getpid() == owner;
}

static hsa_status_t start_locked(void)
{
    owner = getpid();
    if (!sim_config_load()) return HSA_STATUS_ERROR;
    sim_agents_create();
    sim_kernels_load();
    return HSA_STATUS_SUCCESS;
}

/* Queues first: they ring signals, whose handlers may submit copies. */
static void stop_locked(void)
{
    sim_queues_stop();
    sim_dma_stop();
    sim_handlers_stop();
    sim_agents_destroy();
}

/* HSA's header declares these two without a prototype. */
hsa_status_t hsa_init(void);
hsa_status_t hsa_shut_down(void);

hsa_status_t hsa_init(void)
{
    pthread_mutex_lock(&lifecycle);
    hsa_status_t status = references ? HSA_STATUS_SUCCESS : start_locked();
    if (status == HSA_STATUS_SUCCESS) __atomic_add_fetch(&references, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lifecycle);
    return status;
}

hsa_status_t hsa_shut_down(void)
{
    pthread_mutex_lock(&lifecycle);
    hsa_status_t status = references ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_NOT_INITIALIZED;
    if (references == 1) stop_locked();
    if (references) __atomic_sub_fetch(&references, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lifecycle);
    return status;
}

/* X(status, text): the ones that simhsa returns or a queue reports. */
#define STATUS_MAP(X)                                                                     \
    X(HSA_STATUS_SUCCESS, "the call succeeded")                                           \
    X(HSA_STATUS_INFO_BREAK, "a traversal was stopped by the application")                \
    X(HSA_STATUS_ERROR, "a generic error, or something that simhsa does not simulate")    \
    X(HSA_STATUS_ERROR_INVALID_ARGUMENT, "an argument is invalid")                        \
    X(HSA_STATUS_ERROR_INVALID_ALLOCATION, "the address is no allocation")                \
    X(HSA_STATUS_ERROR_INVALID_AGENT, "the agent is invalid")                             \
    X(HSA_STATUS_ERROR_INVALID_SIGNAL, "the signal is invalid")                           \
    X(HSA_STATUS_ERROR_INVALID_QUEUE, "the queue is invalid")                             \
    X(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "the agent is out of memory or other resources") \
    X(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "the AQL packet is malformed")              \
    X(HSA_STATUS_ERROR_NOT_INITIALIZED, "the HSA runtime is not initialised")             \
    X(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "the code object is invalid")                 \
    X(HSA_STATUS_ERROR_INVALID_EXECUTABLE, "the executable is invalid")                   \
    X(HSA_STATUS_ERROR_FROZEN_EXECUTABLE, "the executable is frozen")                     \
    X(HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, "there is no symbol with that name")          \
    X(HSA_STATUS_ERROR_EXCEPTION, "an exception on the agent (a fault that was asked for)")

hsa_status_t hsa_status_string(hsa_status_t status, const char **text)
{
    SIM_REQUIRE(text, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    switch ((int)status) {
#define STATUS_CASE(code, words) \
    case code: *text = #code ": " words; return HSA_STATUS_SUCCESS;
        STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}

/* Of runtimes newer than the headers. */
enum {
    SYSTEM_INFO_MWAITX_ENABLED = 0x203,
    SYSTEM_INFO_DMABUF_SUPPORTED = 0x204,
    SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED = 0x205,
    SYSTEM_INFO_XNACK_ENABLED = 0x206,
};

hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void *value)
{
    SIM_REQUIRE_INIT();
    switch ((int)attribute) {
    case HSA_SYSTEM_INFO_VERSION_MAJOR: *(uint16_t *)value = 1; break;
    case HSA_SYSTEM_INFO_VERSION_MINOR: *(uint16_t *)value = 1; break;
    case HSA_SYSTEM_INFO_TIMESTAMP: *(uint64_t *)value = sim_now(); break;
    case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY: *(uint64_t *)value = 1000000000u; break;
    case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT: *(uint64_t *)value = UINT64_MAX; break;
    case HSA_SYSTEM_INFO_ENDIANNESS: *(hsa_endianness_t *)value = HSA_ENDIANNESS_LITTLE; break;
    case HSA_SYSTEM_INFO_MACHINE_MODEL:
        *(hsa_machine_model_t *)value = HSA_MACHINE_MODEL_LARGE;
        break;
    case HSA_SYSTEM_INFO_EXTENSIONS: memset(value, 0, 128); break;
    case HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED:
    case HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT:
    case SYSTEM_INFO_MWAITX_ENABLED:
    case SYSTEM_INFO_DMABUF_SUPPORTED:
    case SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED:
    case SYSTEM_INFO_XNACK_ENABLED: *(bool *)value = false; break;
    default:
        SIM_TRACE("hsa_system_get_info: attribute 0x%x is unknown", (unsigned)attribute);
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_extension_supported(uint16_t extension, uint16_t version_major,
                                            uint16_t version_minor, bool *result)
{
    (void)version_minor;
    SIM_REQUIRE_INIT();
    *result = extension == HSA_EXTENSION_AMD_LOADER && version_major == 1;
    return HSA_STATUS_SUCCESS;
}

/* Device memory is host memory, so every address is its own host address. */
static hsa_status_t query_host_address(const void *device_address, const void **host_address)
{
    *host_address = device_address;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_system_get_major_extension_table(uint16_t extension, uint16_t version_major,
                                                  size_t table_length, void *table)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(table && extension == HSA_EXTENSION_AMD_LOADER && version_major == 1,
                HSA_STATUS_ERROR_INVALID_ARGUMENT);
    const hsa_ven_amd_loader_1_03_pfn_t functions = {
        .hsa_ven_amd_loader_query_host_address = query_host_address,
        .hsa_ven_amd_loader_executable_iterate_loaded_code_objects = sim_each_object,
        .hsa_ven_amd_loader_loaded_code_object_get_info = sim_object_info,
        .hsa_ven_amd_loader_iterate_executables = sim_each_executable,
    };
    memset(table, 0, table_length);
    memcpy(table, &functions, table_length < sizeof functions ? table_length : sizeof functions);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_enable_logging(uint8_t *flags, void *file)
{
    (void)flags, (void)file;
    return HSA_STATUS_SUCCESS; /* there is nothing to log */
}

hsa_status_t hsa_amd_agent_set_async_scratch_limit(hsa_agent_t agent, size_t threshold)
{
    (void)threshold;
    return sim_agent_find(agent) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
}

hsa_status_t hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t callback,
                                                   void *data)
{
    (void)callback, (void)data;
    return HSA_STATUS_SUCCESS; /* there are no such events */
}
