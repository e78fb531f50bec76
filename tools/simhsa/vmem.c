/* SPDX-License-Identifier: MIT
 *
 * Virtual memory management: addresses are reserved, pieces of device memory made, and the one
 * mapped to the other. A piece is a file in memory, so that it can be mapped at several addresses
 * and keeps its contents meanwhile.
 */
#include "heap.h"
#include "newer.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

enum { ACCESS_NONE = 0, ACCESS_READ_WRITE = 3 }; /* hsa_access_permission_t */

/* Lives as long as a handle to it is held or it is mapped somewhere. */
typedef struct piece {
    struct piece *next;
    sim_pool *pool;
    size_t size;
    int file;
    int type;
    unsigned holders;
} piece;

typedef struct mapping {
    struct mapping *next;
    char *address;
    size_t size;
    piece *piece;
} mapping;

/* Guards both lists and the pieces' holders. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static piece *pieces;
static mapping *mappings;

/* ---- pieces, under the lock ---- */

static piece *piece_of(uint64_t handle)
{
    piece *p = pieces;
    while (p && (uint64_t)(uintptr_t)p != handle)
        p = p->next;
    return p;
}

static void drop(piece *p)
{
    piece **link = &pieces;
    if (--p->holders) return;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    sim_memory_refund(p->pool, p->size);
    close(p->file);
    free(p);
}

static mapping **mapping_at(const char *address)
{
    mapping **link = &mappings;
    while (*link && !((*link)->address <= address && address < (*link)->address + (*link)->size))
        link = &(*link)->next;
    return link;
}

/* ---- addresses ---- */

hsa_status_t hsa_amd_vmem_address_reserve_align(void **address, size_t size, uint64_t wanted,
                                                uint64_t alignment, uint64_t flags)
{
    (void)wanted, (void)flags; /* a wish, which need not be granted */
    SIM_REQUIRE_INIT();
    if (alignment < PAGE) alignment = PAGE;
    SIM_REQUIRE(address && size && size % PAGE == 0 && (alignment & (alignment - 1)) == 0,
                HSA_STATUS_ERROR_INVALID_ARGUMENT);
    char *all =
        mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    SIM_REQUIRE(all != MAP_FAILED, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    size_t before = (size_t)(-(uintptr_t)all & (alignment - 1));
    if (before) munmap(all, before);
    if (alignment > before) munmap(all + before + size, alignment - before);
    *address = all + before;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_vmem_address_reserve(void **address, size_t size, uint64_t wanted,
                                          uint64_t flags)
{
    return hsa_amd_vmem_address_reserve_align(address, size, wanted, PAGE, flags);
}

hsa_status_t hsa_amd_vmem_address_free(void *address, size_t size)
{
    SIM_REQUIRE_INIT();
    pthread_mutex_lock(&lock);
    bool mapped = *mapping_at(address) != NULL;
    pthread_mutex_unlock(&lock);
    SIM_REQUIRE(!mapped, HSA_STATUS_ERROR_RESOURCE_FREE);
    return munmap(address, size) == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* ---- memory ---- */

static piece *make_piece(sim_pool *pool, size_t size, int type)
{
    piece *p = malloc(sizeof *p);
    int file = memfd_create("simhsa", MFD_CLOEXEC);
    if (p && file >= 0 && ftruncate(file, (off_t)size) == 0) {
        *p = (piece){.pool = pool, .size = size, .file = file, .type = type, .holders = 1};
        return p;
    }
    if (file >= 0) close(file);
    free(p);
    return NULL;
}

hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool_handle, size_t size, int type,
                                        uint64_t flags, uint64_t *handle)
{
    (void)flags;
    SIM_REQUIRE_INIT();
    sim_pool *pool = sim_pool_find(pool_handle);
    SIM_REQUIRE(pool && handle && size && size % PAGE == 0, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    SIM_REQUIRE(sim_memory_charge(pool, size), HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    piece *p = make_piece(pool, size, type);
    if (!p) {
        sim_memory_refund(pool, size);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    pthread_mutex_lock(&lock);
    p->next = pieces;
    pieces = p;
    pthread_mutex_unlock(&lock);
    SIM_TRACE("a piece of %zu bytes of GPU %u", size, pool->agent->index);
    *handle = (uint64_t)(uintptr_t)p;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_vmem_handle_release(uint64_t handle)
{
    SIM_REQUIRE_INIT();
    pthread_mutex_lock(&lock);
    piece *p = piece_of(handle);
    if (p) drop(p);
    pthread_mutex_unlock(&lock);
    return p ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

hsa_status_t hsa_amd_vmem_retain_alloc_handle(uint64_t *handle, void *address)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(handle, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    pthread_mutex_lock(&lock);
    const mapping *m = *mapping_at(address);
    if (m) m->piece->holders++;
    if (m) *handle = (uint64_t)(uintptr_t)m->piece;
    pthread_mutex_unlock(&lock);
    return m ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

hsa_status_t hsa_amd_vmem_get_alloc_properties_from_handle(uint64_t handle,
                                                           hsa_amd_memory_pool_t *pool, int *type)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(pool && type, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    pthread_mutex_lock(&lock);
    const piece *p = piece_of(handle);
    if (p) {
        pool->handle = (uint64_t)(uintptr_t)p->pool;
        *type = p->type;
    }
    pthread_mutex_unlock(&lock);
    return p ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

/* ---- the one at the other ---- */

/* What is left without memory is reserved still. */
static void unmap(char *address, size_t size)
{
    sim_memory_forget(address);
    mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Under the lock. */
static hsa_status_t map(const mapping *wanted, size_t offset)
{
    piece *p = wanted->piece;
    mapping *m = malloc(sizeof *m);
    if (!m) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *m = *wanted;
    if (mmap(m->address, m->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p->file,
             (off_t)offset) == MAP_FAILED ||
        !sim_memory_know(m->address, m->size, p->pool)) {
        unmap(m->address, m->size);
        free(m);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    p->holders++;
    m->next = mappings;
    mappings = m;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_vmem_map(void *address, size_t size, size_t offset, uint64_t handle,
                              uint64_t flags)
{
    (void)flags;
    SIM_REQUIRE_INIT();
    hsa_status_t status = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    mapping wanted = {.address = address, .size = size, .piece = piece_of(handle)};
    bool fits =
        wanted.piece && size && offset <= wanted.piece->size && size <= wanted.piece->size - offset;
    if (address && fits && !*mapping_at(address)) status = map(&wanted, offset);
    pthread_mutex_unlock(&lock);
    return status;
}

hsa_status_t hsa_amd_vmem_unmap(void *address, size_t size)
{
    SIM_REQUIRE_INIT();
    hsa_status_t status = HSA_STATUS_ERROR_INVALID_ALLOCATION;
    pthread_mutex_lock(&lock);
    mapping **link = mapping_at(address), *m = *link;
    if (m && m->address == address && m->size == size) {
        *link = m->next;
        unmap(m->address, m->size);
        drop(m->piece);
        free(m);
        status = HSA_STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

hsa_status_t hsa_amd_vmem_set_access(void *address, size_t size, const void *descriptions,
                                     size_t count)
{
    (void)address, (void)size, (void)descriptions, (void)count;
    SIM_REQUIRE_INIT();
    return HSA_STATUS_SUCCESS; /* everybody reaches everything */
}

hsa_status_t hsa_amd_vmem_get_access(void *address, int *permissions, hsa_agent_t agent)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(sim_agent_find(agent), HSA_STATUS_ERROR_INVALID_AGENT);
    SIM_REQUIRE(permissions, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    pthread_mutex_lock(&lock);
    *permissions = *mapping_at(address) ? ACCESS_READ_WRITE : ACCESS_NONE;
    pthread_mutex_unlock(&lock);
    return HSA_STATUS_SUCCESS;
}
