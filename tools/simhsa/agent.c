/* SPDX-License-Identifier: MIT */
#include "agent.h"
#include "arch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UUID_LENGTH 20 /* "GPU-" and 16 digits, as ROCr writes it */

static sim_agent cpu;
static sim_agent gpus[SIM_MAX_GPUS]; /* the visible ones */
static unsigned gpu_count;

/* ---- attributes ---- */

/* Attributes of runtimes newer than the headers that simhsa is built with. */
enum {
    AGENT_INFO_MEMORY_AVAIL = 0xA015,
    AGENT_INFO_TIMESTAMP_FREQUENCY = 0xA016,
    AGENT_INFO_ASIC_FAMILY_ID = 0xA107,
    AGENT_INFO_UCODE_VERSION = 0xA108,
    AGENT_INFO_SDMA_UCODE_VERSION = 0xA109,
    AGENT_INFO_NUM_SDMA_ENG = 0xA10A,
    AGENT_INFO_NUM_SDMA_XGMI_ENG = 0xA10B,
    AGENT_INFO_IOMMU_SUPPORT = 0xA110,
    AGENT_INFO_NUM_XCC = 0xA111,
    AGENT_INFO_DRIVER_UID = 0xA112,
    AGENT_INFO_NEAREST_CPU = 0xA113,
    AGENT_INFO_MEMORY_PROPERTIES = 0xA114,
    AGENT_INFO_AQL_EXTENSIONS = 0xA115,
    AGENT_INFO_SCRATCH_LIMIT_MAX = 0xA116,
    AGENT_INFO_SCRATCH_LIMIT_CURRENT = 0xA117,
};

/* Everything that hsa_agent_get_info() tells, in the types that the API gives away. */
typedef struct facts {
    char name[64], vendor[64], product[64];
    char uuid[UUID_LENGTH + 1];
    uint32_t feature, machine_model, profile, rounding, base_rounding, wavefront;
    uint16_t group_dim[3];
    uint32_t group_size;
    hsa_dim3_t grid_dim;
    uint32_t grid_size, fbarriers, queues, queue_min, queue_max, queue_type, node, device;
    uint32_t caches[4];
    hsa_isa_t isa;
    uint8_t extensions[128];
    uint16_t version_major, version_minor;
    uint32_t chip_id, cacheline, compute_units, clock_mhz, watch_points, bdf_id;
    uint32_t bus_bits, memory_mhz, waves_per_cu, simds_per_cu, shader_engines, shader_arrays;
    hsa_amd_hdp_flush_t hdp_flush;
    uint32_t domain, asic_revision, zero, sdma_engines, one;
    uint64_t memory_free, frequency, scratch_limit;
    hsa_agent_t nearest_cpu;
    uint8_t memory_properties[8];
    bool yes, no;
} facts;

#define FACT(attribute, field)                                           \
    {                                                                    \
        (attribute), offsetof(facts, field), sizeof(((facts *)0)->field) \
    }
static const struct {
    int attribute;
    size_t offset, size;
} attributes[] = {
    FACT(HSA_AGENT_INFO_NAME, name),
    FACT(HSA_AGENT_INFO_VENDOR_NAME, vendor),
    FACT(HSA_AGENT_INFO_FEATURE, feature),
    FACT(HSA_AGENT_INFO_MACHINE_MODEL, machine_model),
    FACT(HSA_AGENT_INFO_PROFILE, profile),
    FACT(HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE, rounding),
    FACT(HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES, base_rounding),
    FACT(HSA_AGENT_INFO_FAST_F16_OPERATION, yes),
    FACT(HSA_AGENT_INFO_WAVEFRONT_SIZE, wavefront),
    FACT(HSA_AGENT_INFO_WORKGROUP_MAX_DIM, group_dim),
    FACT(HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, group_size),
    FACT(HSA_AGENT_INFO_GRID_MAX_DIM, grid_dim),
    FACT(HSA_AGENT_INFO_GRID_MAX_SIZE, grid_size),
    FACT(HSA_AGENT_INFO_FBARRIER_MAX_SIZE, fbarriers),
    FACT(HSA_AGENT_INFO_QUEUES_MAX, queues),
    FACT(HSA_AGENT_INFO_QUEUE_MIN_SIZE, queue_min),
    FACT(HSA_AGENT_INFO_QUEUE_MAX_SIZE, queue_max),
    FACT(HSA_AGENT_INFO_QUEUE_TYPE, queue_type),
    FACT(HSA_AGENT_INFO_NODE, node),
    FACT(HSA_AGENT_INFO_DEVICE, device),
    FACT(HSA_AGENT_INFO_CACHE_SIZE, caches),
    FACT(HSA_AGENT_INFO_ISA, isa),
    FACT(HSA_AGENT_INFO_EXTENSIONS, extensions),
    FACT(HSA_AGENT_INFO_VERSION_MAJOR, version_major),
    FACT(HSA_AGENT_INFO_VERSION_MINOR, version_minor),
    FACT(HSA_AMD_AGENT_INFO_CHIP_ID, chip_id),
    FACT(HSA_AMD_AGENT_INFO_CACHELINE_SIZE, cacheline),
    FACT(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, compute_units),
    FACT(HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, clock_mhz),
    FACT(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID, node),
    FACT(HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS, watch_points),
    FACT(HSA_AMD_AGENT_INFO_BDFID, bdf_id),
    FACT(HSA_AMD_AGENT_INFO_MEMORY_WIDTH, bus_bits),
    FACT(HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY, memory_mhz),
    FACT(HSA_AMD_AGENT_INFO_PRODUCT_NAME, product),
    FACT(HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, waves_per_cu),
    FACT(HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, simds_per_cu),
    FACT(HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES, shader_engines),
    FACT(HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE, shader_arrays),
    FACT(HSA_AMD_AGENT_INFO_HDP_FLUSH, hdp_flush),
    FACT(HSA_AMD_AGENT_INFO_DOMAIN, domain),
    FACT(HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES, yes),
    FACT(HSA_AMD_AGENT_INFO_UUID, uuid),
    FACT(HSA_AMD_AGENT_INFO_ASIC_REVISION, asic_revision),
    FACT(HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS, no),
    FACT(HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT, compute_units),
    FACT(AGENT_INFO_MEMORY_AVAIL, memory_free),
    FACT(AGENT_INFO_TIMESTAMP_FREQUENCY, frequency),
    FACT(AGENT_INFO_ASIC_FAMILY_ID, zero),
    FACT(AGENT_INFO_UCODE_VERSION, zero),
    FACT(AGENT_INFO_SDMA_UCODE_VERSION, zero),
    FACT(AGENT_INFO_NUM_SDMA_ENG, sdma_engines),
    FACT(AGENT_INFO_NUM_SDMA_XGMI_ENG, zero),
    FACT(AGENT_INFO_IOMMU_SUPPORT, zero),
    FACT(AGENT_INFO_NUM_XCC, one),
    FACT(AGENT_INFO_DRIVER_UID, node),
    FACT(AGENT_INFO_NEAREST_CPU, nearest_cpu),
    FACT(AGENT_INFO_MEMORY_PROPERTIES, memory_properties),
    FACT(AGENT_INFO_AQL_EXTENSIONS, memory_properties),
    FACT(AGENT_INFO_SCRATCH_LIMIT_MAX, scratch_limit),
    FACT(AGENT_INFO_SCRATCH_LIMIT_CURRENT, scratch_limit),
};

static void cpu_facts(facts *f)
{
    *f = (facts){
        .name = "simhsa host",
        .vendor = "CPU",
        .product = "simhsa host CPU",
        .uuid = "CPU-XX",
        .machine_model = HSA_MACHINE_MODEL_LARGE,
        .profile = HSA_PROFILE_FULL,
        .device = HSA_DEVICE_TYPE_CPU,
        .version_major = 1,
        .version_minor = 1,
        .cacheline = 64,
        .compute_units = 1,
        .nearest_cpu = sim_agent_handle(&cpu),
        .frequency = 1000000000,
        .one = 1,
    };
}

/* What all GPUs have in common, then what the architecture says, then what tells one from another.
 */
static void gpu_facts(const sim_agent *agent, facts *f)
{
    const sim_arch *a = sim_config.arch;
    *f = (facts){
        .vendor = "AMD",
        .feature = HSA_AGENT_FEATURE_KERNEL_DISPATCH,
        .machine_model = HSA_MACHINE_MODEL_LARGE,
        .profile = HSA_PROFILE_BASE,
        .rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR,
        .base_rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR,
        .group_dim = {1024, 1024, 1024},
        .group_size = 1024,
        .grid_dim = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
        .grid_size = UINT32_MAX,
        .fbarriers = 32,
        .queues = 128,
        .queue_min = 64,
        .queue_max = 131072,
        .queue_type = HSA_QUEUE_TYPE_MULTI,
        .device = HSA_DEVICE_TYPE_GPU,
        .caches = {16384, a->l2_kib * 1024, 0, 0},
        .version_major = 1,
        .version_minor = 1,
        .cacheline = 64,
        .watch_points = 4,
        .shader_arrays = 1,
        .asic_revision = 1,
        .sdma_engines = 2,
        .one = 1,
        .frequency = 1000000000,
        .scratch_limit = (uint64_t)1 << 30,
        .nearest_cpu = sim_agent_handle(&cpu),
        .yes = true,
        .wavefront = a->wavefront,
        .chip_id = a->chip_id,
        .compute_units = a->compute_units,
        .clock_mhz = a->clock_mhz,
        .bus_bits = a->bus_bits,
        .memory_mhz = a->memory_mhz,
        .waves_per_cu = a->waves_per_cu,
        .simds_per_cu = a->simds_per_cu,
        .shader_engines = a->shader_engines,
        .isa = {(uint64_t)(uintptr_t)a},
        .node = agent->index + 1, /* node 0 is the CPU, as on a real machine */
        .bdf_id = (0x29 + agent->index) << 8,
    };
    uint64_t used = __atomic_load_n(&agent->memory_used, __ATOMIC_RELAXED);
    f->memory_free = sim_config.memory_bytes - used;
    snprintf(f->name, sizeof f->name, "%s", a->name);
    snprintf(f->product, sizeof f->product, "simhsa %s (simulated)", a->name);
    snprintf(f->uuid, sizeof f->uuid, "GPU-51d0000000000%03x", agent->index);
}

static void agent_facts(const sim_agent *agent, facts *f)
{
    if (agent->is_gpu)
        gpu_facts(agent, f);
    else
        cpu_facts(f);
}

hsa_status_t hsa_agent_get_info(hsa_agent_t handle, hsa_agent_info_t attribute, void *value)
{
    SIM_REQUIRE_INIT();
    const sim_agent *agent = sim_agent_find(handle);
    SIM_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
    SIM_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    for (size_t i = 0; i < SIM_ARRAY_LEN(attributes); i++) {
        if (attributes[i].attribute != (int)attribute) continue;
        facts f;
        agent_facts(agent, &f);
        memcpy(value, (const char *)&f + attributes[i].offset, attributes[i].size);
        return HSA_STATUS_SUCCESS;
    }
    SIM_TRACE("hsa_agent_get_info: attribute 0x%x is unknown", (unsigned)attribute);
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t hsa_agent_extension_supported(uint16_t extension, hsa_agent_t handle,
                                           uint16_t version_major, uint16_t version_minor,
                                           bool *result)
{
    (void)extension, (void)version_major, (void)version_minor;
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(sim_agent_find(handle), HSA_STATUS_ERROR_INVALID_AGENT);
    *result = false;
    return HSA_STATUS_SUCCESS;
}

/* ---- instruction sets: a handle is the address of the architecture ---- */

hsa_status_t hsa_agent_iterate_isas(hsa_agent_t handle,
                                    hsa_status_t (*callback)(hsa_isa_t isa, void *data), void *data)
{
    SIM_REQUIRE_INIT();
    const sim_agent *agent = sim_agent_find(handle);
    SIM_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
    if (!agent->is_gpu) return HSA_STATUS_SUCCESS;
    return callback((hsa_isa_t){(uint64_t)(uintptr_t)sim_config.arch}, data);
}

hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void *value)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(isa.handle == (uint64_t)(uintptr_t)sim_config.arch, HSA_STATUS_ERROR_INVALID_ISA);
    char name[64];
    int length = snprintf(name, sizeof name, "amdgcn-amd-amdhsa--%s%s", sim_config.arch->name,
                          sim_config.arch->features);
    if (attribute == HSA_ISA_INFO_NAME_LENGTH)
        *(uint32_t *)value = (uint32_t)length;
    else if (attribute == HSA_ISA_INFO_NAME)
        memcpy(value, name, (size_t)length);
    else
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return HSA_STATUS_SUCCESS;
}

/* ---- the set of agents ---- */

static void add_pool(sim_agent *agent, hsa_amd_segment_t segment, uint32_t flags, uint64_t bytes)
{
    agent->pools[agent->pool_count++] = (sim_pool){agent, segment, flags, bytes};
}

static void create_cpu(void)
{
    uint64_t bytes = (uint64_t)1 << 40;
    cpu = (sim_agent){0};
    add_pool(&cpu, HSA_AMD_SEGMENT_GLOBAL,
             HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED |
                 HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT,
             bytes);
    add_pool(&cpu, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, bytes);
}

static void create_gpu(unsigned index)
{
    sim_agent *gpu = &gpus[gpu_count++];
    *gpu = (sim_agent){.is_gpu = true, .index = index};
    add_pool(gpu, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
             sim_config.memory_bytes);
    add_pool(gpu, HSA_AMD_SEGMENT_GLOBAL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
             sim_config.memory_bytes);
    add_pool(gpu, HSA_AMD_SEGMENT_GROUP, 0, (uint64_t)sim_config.arch->lds_kib * 1024);
}

/* The GPU that one entry of ROCR_VISIBLE_DEVICES names, by number or UUID; -1 for none. */
static int named_gpu(const char *entry)
{
    for (unsigned i = 0; i < sim_config.gpus; i++) {
        sim_agent agent = {.is_gpu = true, .index = i};
        facts f;
        char number[12];
        gpu_facts(&agent, &f);
        snprintf(number, sizeof number, "%u", i);
        if (strcmp(entry, number) == 0 || strcmp(entry, f.uuid) == 0) return (int)i;
    }
    return -1;
}

/* As ROCr reads it: in the order given, and an entry that names no GPU hides all behind it. */
static void create_visible_gpus(const char *visible)
{
    char *list = strdup(visible), *save = NULL;
    bool taken[SIM_MAX_GPUS] = {false};
    for (char *entry = list ? strtok_r(list, ",", &save) : NULL; entry;
         entry = strtok_r(NULL, ",", &save)) {
        int index = named_gpu(entry);
        if (index < 0 || taken[index]) break;
        taken[index] = true;
        create_gpu((unsigned)index);
    }
    free(list);
}

void sim_agents_create(void)
{
    const char *visible = getenv("ROCR_VISIBLE_DEVICES");
    gpu_count = 0;
    create_cpu();
    if (visible)
        create_visible_gpus(visible);
    else
        for (unsigned i = 0; i < sim_config.gpus; i++)
            create_gpu(i);
}

void sim_agents_destroy(void)
{
    gpu_count = 0;
}

sim_agent *sim_cpu_agent(void)
{
    return &cpu;
}

sim_agent *sim_gpu_agent(unsigned i)
{
    return i < gpu_count ? &gpus[i] : NULL;
}

sim_agent *sim_agent_find(hsa_agent_t handle)
{
    if (handle.handle == (uint64_t)(uintptr_t)&cpu) return &cpu;
    for (unsigned i = 0; i < gpu_count; i++)
        if (handle.handle == (uint64_t)(uintptr_t)&gpus[i]) return &gpus[i];
    return NULL;
}

static sim_pool *pool_of(sim_agent *agent, hsa_amd_memory_pool_t handle)
{
    for (unsigned i = 0; i < agent->pool_count; i++)
        if (handle.handle == (uint64_t)(uintptr_t)&agent->pools[i]) return &agent->pools[i];
    return NULL;
}

sim_pool *sim_pool_find(hsa_amd_memory_pool_t handle)
{
    sim_pool *pool = pool_of(&cpu, handle);
    for (unsigned i = 0; !pool && i < gpu_count; i++)
        pool = pool_of(&gpus[i], handle);
    return pool;
}

hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t agent, void *data), void *data)
{
    SIM_REQUIRE_INIT();
    hsa_status_t status = callback(sim_agent_handle(&cpu), data);
    for (unsigned i = 0; status == HSA_STATUS_SUCCESS && i < gpu_count; i++)
        status = callback(sim_agent_handle(&gpus[i]), data);
    return status;
}

hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t handle, hsa_amd_coherency_type_t type)
{
    (void)type; /* host memory is coherent whatever the type */
    return sim_agent_find(handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
}
