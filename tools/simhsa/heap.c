/* SPDX-License-Identifier: MIT */
#include "heap.h"
#include "fault.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE     ((size_t)4096)
/* From here on the kernel's lazy pages are used directly, without a claim on swap: a simulated GPU
 * may have more memory than this machine. Smaller pieces come from malloc, where ASan watches their
 * ends. */
#define MAP_FROM ((size_t)1 << 20)

/* A range of addresses that the runtime knows. */
typedef struct range {
    char *base;
    size_t size;
    sim_pool *pool; /* NULL: host memory of the program, locked */
    bool elsewhere; /* its memory is not this file's */
    unsigned locks;
    void *user_data;
} range;

/* All ranges, in a tree ordered by address; they never overlap. */
static void *ranges;
static pthread_rwlock_t ranges_lock = PTHREAD_RWLOCK_INITIALIZER;
static size_t locked_count; /* ranges without a pool; atomic */

/* Overlapping ranges are equal: so the tree finds the range that an address lies in. */
static int compare_ranges(const void *a, const void *b)
{
    const range *x = a, *y = b;
    if (x->base + x->size <= y->base) return -1;
    return x->base >= y->base + y->size;
}

/* Under the lock. */
static range *find_range(const void *address)
{
    const range key = {.base = (char *)(uintptr_t)address, .size = 1};
    range *const *found = tfind(&key, &ranges, compare_ranges);
    return found ? *found : NULL;
}

/* Under the lock for writing. */
static void remove_range(range *r)
{
    tdelete(r, &ranges, compare_ranges);
    if (!r->pool) __atomic_sub_fetch(&locked_count, 1, __ATOMIC_RELAXED);
    free(r);
}

static bool contains(const range *outer, const range *inner)
{
    return outer->base <= inner->base && inner->base + inner->size <= outer->base + outer->size;
}

/* The runtime may keep memory locked that the program has freed, and that comes back as something
 * else: what is new is what is true. Only a lock within a locked range is no news. */
static bool outdates(const range *new_range, const range *old)
{
    return !old->pool && (new_range->pool || !contains(old, new_range));
}

/* False when out of memory, or when the range is known already. */
static bool add(const range *new_range)
{
    range *r = malloc(sizeof *r), *const *node = NULL;
    if (!r) return false;
    *r = *new_range;
    pthread_rwlock_wrlock(&ranges_lock);
    while ((node = tsearch(r, &ranges, compare_ranges)) && *node != r && outdates(r, *node))
        remove_range(*node);
    bool added = node && *node == r;
    if (added && !r->pool) __atomic_add_fetch(&locked_count, 1, __ATOMIC_RELAXED);
    pthread_rwlock_unlock(&ranges_lock);
    if (!added) free(r);
    return added;
}

static bool add_range(char *base, size_t size, sim_pool *pool)
{
    return add(&(range){.base = base, .size = size, .pool = pool, .locks = pool ? 0 : 1});
}

bool sim_memory_know(char *base, size_t size, sim_pool *pool)
{
    return add(&(range){.base = base, .size = size, .pool = pool, .elsewhere = true});
}

void sim_memory_forget(const char *base)
{
    pthread_rwlock_wrlock(&ranges_lock);
    range *r = find_range(base);
    if (r && r->elsewhere && r->base == base) remove_range(r);
    pthread_rwlock_unlock(&ranges_lock);
}

/* ---- allocations ---- */

bool sim_memory_charge(sim_pool *pool, size_t size)
{
    uint64_t *used = &pool->agent->memory_used;
    if (__atomic_add_fetch(used, size, __ATOMIC_RELAXED) <= pool->bytes) return true;
    __atomic_sub_fetch(used, size, __ATOMIC_RELAXED);
    return false;
}

void sim_memory_refund(sim_pool *pool, size_t size)
{
    __atomic_sub_fetch(&pool->agent->memory_used, size, __ATOMIC_RELAXED);
}

static void *take_pages(size_t size)
{
    void *pages = NULL;
    if (size >= MAP_FROM) {
        pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return pages == MAP_FAILED ? NULL : pages;
    }
    if (posix_memalign(&pages, PAGE, size) != 0) return NULL;
    memset(pages, 0, size);
    return pages;
}

static void give_pages(void *pages, size_t size)
{
    if (size >= MAP_FROM)
        munmap(pages, size);
    else
        free(pages);
}

void *sim_memory_allocate(sim_pool *pool, size_t size)
{
    if (size == 0 || size > pool->bytes) return NULL;
    size = (size + PAGE - 1) & ~(PAGE - 1);
    if (!sim_memory_charge(pool, size)) return NULL;
    void *pages = take_pages(size);
    if (pages && add_range(pages, size, pool)) return pages;
    if (pages) give_pages(pages, size);
    sim_memory_refund(pool, size);
    return NULL;
}

bool sim_memory_free(void *address)
{
    pthread_rwlock_wrlock(&ranges_lock);
    range *r = find_range(address);
    bool owned = r && r->pool && !r->elsewhere && r->base == address;
    size_t size = owned ? r->size : 0;
    if (owned) {
        sim_memory_refund(r->pool, size);
        remove_range(r);
    }
    pthread_rwlock_unlock(&ranges_lock);
    if (owned) give_pages(address, size);
    return owned;
}

void sim_memory_was_used(void)
{
#ifdef __SANITIZE_THREAD__
    pthread_rwlock_rdlock(&ranges_lock);
    pthread_rwlock_unlock(&ranges_lock);
#endif
}

bool sim_memory_holds(const void *address, uint64_t size)
{
    pthread_rwlock_rdlock(&ranges_lock);
    const range *r = find_range(address);
    bool holds = r && size <= (uint64_t)(r->base + r->size - (const char *)address);
    pthread_rwlock_unlock(&ranges_lock);
    return holds;
}

static bool is_locked(const void *address)
{
    pthread_rwlock_rdlock(&ranges_lock);
    const range *r = find_range(address);
    bool locked = r && !r->pool;
    pthread_rwlock_unlock(&ranges_lock);
    return locked;
}

void sim_memory_localize(void *arguments, size_t size)
{
    if (__atomic_load_n(&locked_count, __ATOMIC_RELAXED) == 0) return;
    uintptr_t *words = arguments;
    for (size_t i = 0; i < size / sizeof *words; i++) {
        if (words[i] >> 48 != SIM_DEVICE_ADDRESS_BIT >> 48) continue;
        void *address = sim_host_address((const void *)words[i]);
        if (is_locked(address)) words[i] = (uintptr_t)address;
    }
}

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t handle, size_t size, uint32_t flags,
                                          void **address)
{
    (void)flags;
    SIM_REQUIRE_INIT();
    sim_pool *pool = sim_pool_find(handle);
    SIM_REQUIRE(pool && pool->segment == HSA_AMD_SEGMENT_GLOBAL && address && size,
                HSA_STATUS_ERROR_INVALID_ARGUMENT);
    bool device = pool->agent->is_gpu;
    *address =
        device && sim_fault_strikes(SIM_FAULT_ALLOC) ? NULL : sim_memory_allocate(pool, size);
    SIM_TRACE("allocate %zu bytes on %s %u: %p", size, device ? "GPU" : "host", pool->agent->index,
              *address);
    return *address ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t hsa_amd_memory_pool_free(void *address)
{
    SIM_REQUIRE_INIT();
    SIM_TRACE("free %p", address);
    return !address || sim_memory_free(address) ? HSA_STATUS_SUCCESS
                                                : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

/* ---- pools ---- */

hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t handle,
                                                hsa_status_t (*callback)(hsa_amd_memory_pool_t pool,
                                                                         void *data),
                                                void *data)
{
    SIM_REQUIRE_INIT();
    sim_agent *agent = sim_agent_find(handle);
    SIM_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
    hsa_status_t status = HSA_STATUS_SUCCESS;
    for (unsigned i = 0; status == HSA_STATUS_SUCCESS && i < agent->pool_count; i++)
        status = callback((hsa_amd_memory_pool_t){(uint64_t)(uintptr_t)&agent->pools[i]}, data);
    return status;
}

/* Of runtimes newer than the headers. */
enum { POOL_INFO_LOCATION = 17, POOL_INFO_ALLOC_REC_GRANULE = 18 };

hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t handle,
                                          hsa_amd_memory_pool_info_t attribute, void *value)
{
    SIM_REQUIRE_INIT();
    const sim_pool *pool = sim_pool_find(handle);
    SIM_REQUIRE(pool && value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    bool global = pool->segment == HSA_AMD_SEGMENT_GLOBAL;
    switch ((int)attribute) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT: *(hsa_amd_segment_t *)value = pool->segment; break;
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS: *(uint32_t *)value = pool->flags; break;
    case HSA_AMD_MEMORY_POOL_INFO_SIZE:
    case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE: *(size_t *)value = pool->bytes; break;
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED: *(bool *)value = global; break;
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT:
    case POOL_INFO_ALLOC_REC_GRANULE: *(size_t *)value = global ? PAGE : 0; break;
    case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL: *(bool *)value = !pool->agent->is_gpu; break;
    case POOL_INFO_LOCATION: *(uint32_t *)value = pool->agent->is_gpu; break;
    default:
        SIM_TRACE("hsa_amd_memory_pool_get_info: attribute %d is unknown", (int)attribute);
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

/* The host may not touch device memory (no large BAR), so that the HIP runtime really submits its
 * copies. GPUs may touch each other's when they ask. */
static hsa_amd_memory_pool_access_t pool_access(const sim_agent *agent, const sim_pool *pool)
{
    if (!pool->agent->is_gpu || agent == pool->agent)
        return HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT;
    return agent->is_gpu && pool->segment == HSA_AMD_SEGMENT_GLOBAL
               ? HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT
               : HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
}

hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent_handle,
                                                hsa_amd_memory_pool_t pool_handle,
                                                hsa_amd_agent_memory_pool_info_t attribute,
                                                void *value)
{
    SIM_REQUIRE_INIT();
    const sim_agent *agent = sim_agent_find(agent_handle);
    const sim_pool *pool = sim_pool_find(pool_handle);
    SIM_REQUIRE(agent, HSA_STATUS_ERROR_INVALID_AGENT);
    SIM_REQUIRE(pool && value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    bool peers = agent->is_gpu && pool->agent->is_gpu;
    switch ((int)attribute) {
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS:
        *(hsa_amd_memory_pool_access_t *)value = pool_access(agent, pool);
        break;
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS:
        *(uint32_t *)value = agent == pool->agent ? 0 : 1;
        break;
    case HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO:
        if (agent == pool->agent) break;
        *(hsa_amd_memory_pool_link_info_t *)value = (hsa_amd_memory_pool_link_info_t){
            .atomic_support_32bit = true,
            .atomic_support_64bit = true,
            .coherent_support = true,
            .link_type = peers ? HSA_AMD_LINK_INFO_TYPE_XGMI : HSA_AMD_LINK_INFO_TYPE_PCIE,
            .numa_distance = peers ? 15 : 20,
        };
        break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

/* ---- access, pinning, what an address is ---- */

hsa_status_t hsa_amd_agents_allow_access(uint32_t agent_count, const hsa_agent_t *agents,
                                         const uint32_t *flags, const void *address)
{
    (void)flags;
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(agents && address, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    for (uint32_t i = 0; i < agent_count; i++)
        SIM_REQUIRE(sim_agent_find(agents[i]), HSA_STATUS_ERROR_INVALID_AGENT);
    return HSA_STATUS_SUCCESS; /* everybody reaches everything */
}

/* Takes another lock on the range that starts at `address`, when it is locked already. */
static bool lock_again(const void *address)
{
    pthread_rwlock_wrlock(&ranges_lock);
    range *r = find_range(address);
    bool again = r && !r->pool && r->base == address;
    if (again) r->locks++;
    pthread_rwlock_unlock(&ranges_lock);
    return again;
}

hsa_status_t hsa_amd_memory_lock_to_pool(void *address, size_t size, hsa_agent_t *agents,
                                         int agent_count, hsa_amd_memory_pool_t pool,
                                         uint32_t flags, void **agent_address)
{
    (void)agents, (void)agent_count, (void)pool, (void)flags;
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(address && size && agent_address, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    /* A part of a range that is known already stays what it is; unlocking it is then no change. */
    if (!lock_again(address)) add_range(address, size, NULL);
    *agent_address = (void *)((uintptr_t)address | SIM_DEVICE_ADDRESS_BIT);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_unlock(void *address)
{
    SIM_REQUIRE_INIT();
    pthread_rwlock_wrlock(&ranges_lock);
    range *r = find_range(sim_host_address(address));
    if (r && !r->pool && r->base == sim_host_address(address) && --r->locks == 0) remove_range(r);
    pthread_rwlock_unlock(&ranges_lock);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_register(void *address, size_t size)
{
    (void)address, (void)size;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_deregister(void *address, size_t size)
{
    (void)address, (void)size;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_memory_copy(void *destination, const void *source, size_t size)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(destination && source, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    memmove(sim_host_address(destination), sim_host_address(source), size);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_fill(void *address, uint32_t value, size_t count)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(address, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    uint32_t *words = sim_host_address(address);
    for (size_t i = 0; i < count; i++)
        words[i] = value;
    return HSA_STATUS_SUCCESS;
}

static void describe_range(const range *r, hsa_amd_pointer_info_t *info)
{
    info->type = r->pool ? HSA_EXT_POINTER_TYPE_HSA : HSA_EXT_POINTER_TYPE_LOCKED;
    uintptr_t device_bit = r->pool ? 0 : SIM_DEVICE_ADDRESS_BIT;
    info->hostBaseAddress = r->base;
    info->agentBaseAddress = (void *)((uintptr_t)r->base | device_bit);
    info->sizeInBytes = r->size;
    info->userData = r->user_data;
    info->agentOwner = sim_agent_handle(r->pool ? r->pool->agent : sim_cpu_agent());
    info->global_flags = r->pool ? r->pool->flags : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
}

hsa_status_t hsa_amd_pointer_info(const void *address, hsa_amd_pointer_info_t *info,
                                  void *(*allocate)(size_t), uint32_t *agent_count,
                                  hsa_agent_t **agents)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(address && info, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    hsa_amd_pointer_info_t known = {.type = HSA_EXT_POINTER_TYPE_UNKNOWN};
    pthread_rwlock_rdlock(&ranges_lock);
    const range *r = find_range(sim_host_address(address));
    if (r) describe_range(r, &known);
    pthread_rwlock_unlock(&ranges_lock);

    known.size = info->size < sizeof known ? info->size : sizeof known;
    memcpy(info, &known, known.size);
    if (!agent_count || !agents || !allocate) return HSA_STATUS_SUCCESS;
    *agent_count = r ? 1 : 0;
    *agents = r ? allocate(sizeof **agents) : NULL;
    if (r && !*agents) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    if (r) **agents = known.agentOwner;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_pointer_info_set_userdata(const void *address, void *user_data)
{
    SIM_REQUIRE_INIT();
    pthread_rwlock_wrlock(&ranges_lock);
    range *r = find_range(sim_host_address(address));
    if (r) r->user_data = user_data;
    pthread_rwlock_unlock(&ranges_lock);
    return r ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}
