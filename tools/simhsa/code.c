/* SPDX-License-Identifier: MIT */
#include "code.h"
#include "fault.h"
#include "image.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct code_reader {
    const void *file; /* the caller's */
    size_t size;
} code_reader;

/* A variable that the program gave to the executable. */
typedef struct definition {
    struct definition *next;
    sim_symbol symbol;
    char name[];
} definition;

typedef struct loaded {
    struct loaded *next;
    sim_agent *agent;
    const void *file; /* the caller's */
    size_t size;
    sim_image image;
} loaded;

/* One thread at a time works on an executable, as HSA demands. */
typedef struct executable {
    struct executable *next; /* of all */
    loaded *objects;
    definition *definitions;
    bool frozen;
} executable;

static executable *executable_of(hsa_executable_t handle)
{
    return (executable *)(uintptr_t)handle.handle;
}

/* ---- kernels by the address of their descriptor ---- */

#define BUCKETS 4096

typedef struct kernel_entry {
    struct kernel_entry *next;
    uint64_t kernel_object;
    sim_kernel *kernel;
} kernel_entry;

static pthread_rwlock_t entries_lock = PTHREAD_RWLOCK_INITIALIZER;
static kernel_entry *entries[BUCKETS];

/* Descriptors are 64 bytes, and aligned to that. */
static kernel_entry **bucket_of(uint64_t kernel_object)
{
    return &entries[(kernel_object / 64) % BUCKETS];
}

sim_kernel *sim_code_kernel(uint64_t kernel_object)
{
    pthread_rwlock_rdlock(&entries_lock);
    const kernel_entry *e = *bucket_of(kernel_object);
    while (e && e->kernel_object != kernel_object)
        e = e->next;
    sim_kernel *kernel = e ? e->kernel : NULL;
    pthread_rwlock_unlock(&entries_lock);
    return kernel;
}

static bool publish_kernel(const sim_symbol *symbol)
{
    char *name = strndup(symbol->name, strlen(symbol->name) - strlen(".kd"));
    kernel_entry *e = malloc(sizeof *e);
    sim_kernel *kernel = name ? sim_kernel_named(name) : NULL;
    free(name);
    if (!e || !kernel) {
        free(e);
        return false;
    }
    *e = (kernel_entry){.kernel_object = symbol->address, .kernel = kernel};
    pthread_rwlock_wrlock(&entries_lock);
    kernel_entry **bucket = bucket_of(symbol->address);
    e->next = *bucket;
    *bucket = e;
    pthread_rwlock_unlock(&entries_lock);
    return true;
}

static void withdraw_kernel(const sim_symbol *symbol)
{
    pthread_rwlock_wrlock(&entries_lock);
    kernel_entry **link = bucket_of(symbol->address);
    while (*link && (*link)->kernel_object != symbol->address)
        link = &(*link)->next;
    kernel_entry *e = *link;
    if (e) *link = e->next;
    pthread_rwlock_unlock(&entries_lock);
    free(e);
}

static bool publish_kernels(const sim_image *image)
{
    for (size_t i = 0; i < image->symbol_count; i++)
        if (image->symbols[i].is_kernel && !publish_kernel(&image->symbols[i])) return false;
    return true;
}

static void withdraw_kernels(const sim_image *image)
{
    for (size_t i = 0; i < image->symbol_count; i++)
        if (image->symbols[i].is_kernel) withdraw_kernel(&image->symbols[i]);
}

/* ---- readers ---- */

hsa_status_t hsa_code_object_reader_create_from_memory(const void *file, size_t size,
                                                       hsa_code_object_reader_t *handle)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(file && size && handle, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    code_reader *reader = malloc(sizeof *reader);
    SIM_REQUIRE(reader, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    *reader = (code_reader){file, size};
    handle->handle = (uint64_t)(uintptr_t)reader;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_code_object_reader_destroy(hsa_code_object_reader_t handle)
{
    free((code_reader *)(uintptr_t)handle.handle);
    return HSA_STATUS_SUCCESS;
}

/* ---- executables ---- */

static pthread_rwlock_t executables_lock = PTHREAD_RWLOCK_INITIALIZER; /* and their objects */
static executable *executables;

static void forget_executable(const executable *x)
{
    pthread_rwlock_wrlock(&executables_lock);
    executable **link = &executables;
    while (*link && *link != x)
        link = &(*link)->next;
    if (*link) *link = x->next;
    pthread_rwlock_unlock(&executables_lock);
}

hsa_status_t hsa_executable_create_alt(hsa_profile_t profile,
                                       hsa_default_float_rounding_mode_t rounding,
                                       const char *options, hsa_executable_t *handle)
{
    (void)profile, (void)rounding, (void)options;
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(handle, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    executable *x = calloc(1, sizeof *x);
    SIM_REQUIRE(x, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    pthread_rwlock_wrlock(&executables_lock);
    x->next = executables;
    executables = x;
    pthread_rwlock_unlock(&executables_lock);
    handle->handle = (uint64_t)(uintptr_t)x;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_destroy(hsa_executable_t handle)
{
    executable *x = executable_of(handle);
    SIM_REQUIRE(x, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
    forget_executable(x);
    while (x->objects) {
        loaded *object = x->objects;
        x->objects = object->next;
        withdraw_kernels(&object->image);
        sim_image_unload(&object->image);
        free(object);
    }
    while (x->definitions) {
        definition *next = x->definitions->next;
        free(x->definitions);
        x->definitions = next;
    }
    free(x);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_freeze(hsa_executable_t handle, const char *options)
{
    (void)options;
    SIM_REQUIRE(handle.handle, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
    executable_of(handle)->frozen = true;
    return HSA_STATUS_SUCCESS;
}

static definition *find_definition(const executable *x, const char *name)
{
    definition *d = x->definitions;
    while (d && strcmp(d->name, name) != 0)
        d = d->next;
    return d;
}

hsa_status_t hsa_executable_agent_global_variable_define(hsa_executable_t handle, hsa_agent_t agent,
                                                         const char *name, void *address)
{
    executable *x = executable_of(handle);
    SIM_REQUIRE(x, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
    SIM_REQUIRE(sim_agent_find(agent), HSA_STATUS_ERROR_INVALID_AGENT);
    SIM_REQUIRE(!x->frozen, HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
    SIM_REQUIRE(!find_definition(x, name), HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED);
    size_t size = strlen(name) + 1;
    definition *d = calloc(1, sizeof *d + size);
    SIM_REQUIRE(d, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    memcpy(d->name, name, size);
    d->symbol = (sim_symbol){.name = d->name, .address = (uint64_t)(uintptr_t)address};
    d->next = x->definitions;
    x->definitions = d;
    return HSA_STATUS_SUCCESS;
}

static uint64_t resolve(void *context, const char *name)
{
    const definition *d = find_definition(context, name);
    return d ? d->symbol.address : 0;
}

static hsa_status_t load_object(executable *x, sim_agent *agent, const code_reader *reader)
{
    loaded *object = calloc(1, sizeof *object);
    SIM_REQUIRE(object, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    hsa_status_t status =
        sim_image_load(reader->file, reader->size, &agent->pools[0], resolve, x, &object->image);
    if (status == HSA_STATUS_SUCCESS && !publish_kernels(&object->image)) {
        withdraw_kernels(&object->image);
        sim_image_unload(&object->image);
        status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    if (status != HSA_STATUS_SUCCESS) {
        free(object);
        return status;
    }
    object->agent = agent;
    object->file = reader->file;
    object->size = reader->size;
    pthread_rwlock_wrlock(&executables_lock);
    object->next = x->objects;
    x->objects = object;
    pthread_rwlock_unlock(&executables_lock);
    SIM_TRACE("load code object of %zu bytes on GPU %u: %zu symbols", reader->size, agent->index,
              object->image.symbol_count);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_load_agent_code_object(hsa_executable_t handle,
                                                   hsa_agent_t agent_handle,
                                                   hsa_code_object_reader_t reader,
                                                   const char *options,
                                                   hsa_loaded_code_object_t *object)
{
    (void)options;
    SIM_REQUIRE_INIT();
    executable *x = executable_of(handle);
    sim_agent *agent = sim_agent_find(agent_handle);
    SIM_REQUIRE(x, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
    SIM_REQUIRE(agent && agent->is_gpu, HSA_STATUS_ERROR_INVALID_AGENT);
    SIM_REQUIRE(reader.handle, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    SIM_REQUIRE(!x->frozen, HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
    SIM_REQUIRE(!sim_fault_strikes(SIM_FAULT_LOAD), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    hsa_status_t status = load_object(x, agent, (const code_reader *)(uintptr_t)reader.handle);
    if (status == HSA_STATUS_SUCCESS && object) object->handle = (uint64_t)(uintptr_t)x->objects;
    return status;
}

/* ---- the loader's extension ---- */

hsa_status_t sim_each_executable(hsa_status_t (*callback)(hsa_executable_t executable, void *data),
                                 void *data)
{
    hsa_status_t status = HSA_STATUS_SUCCESS;
    pthread_rwlock_rdlock(&executables_lock);
    for (const executable *x = executables; x && status == HSA_STATUS_SUCCESS; x = x->next)
        status = callback((hsa_executable_t){(uint64_t)(uintptr_t)x}, data);
    pthread_rwlock_unlock(&executables_lock);
    return status;
}

/* From the callback of sim_each_executable(), which holds the lock, or by the executable's user. */
hsa_status_t sim_each_object(hsa_executable_t handle,
                             hsa_status_t (*callback)(hsa_executable_t executable,
                                                      hsa_loaded_code_object_t object, void *data),
                             void *data)
{
    const executable *x = executable_of(handle);
    hsa_status_t status = HSA_STATUS_SUCCESS;
    SIM_REQUIRE(x && callback, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    for (const loaded *object = x->objects; object && status == HSA_STATUS_SUCCESS;
         object = object->next)
        status = callback(handle, (hsa_loaded_code_object_t){(uint64_t)(uintptr_t)object}, data);
    return status;
}

hsa_status_t sim_object_info(hsa_loaded_code_object_t handle,
                             hsa_ven_amd_loader_loaded_code_object_info_t attribute, void *value)
{
    const loaded *object = (const loaded *)(uintptr_t)handle.handle;
    SIM_REQUIRE(object && value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    switch ((int)attribute) {
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT:
        *(hsa_agent_t *)value = sim_agent_handle(object->agent);
        break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE:
        *(uint32_t *)value = HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY;
        break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE:
        *(uint64_t *)value = (uint64_t)(uintptr_t)object->file;
        break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE:
        *(uint64_t *)value = object->size;
        break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE:
        *(uint64_t *)value = (uint64_t)(uintptr_t)object->image.base;
        break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE:
        *(uint64_t *)value = object->image.size;
        break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

/* ---- symbols ---- */

static int compare_name(const void *name, const void *symbol)
{
    return strcmp(name, ((const sim_symbol *)symbol)->name);
}

static const sim_symbol *find_symbol(const executable *x, const char *name)
{
    for (const loaded *object = x->objects; object; object = object->next) {
        const sim_symbol *found = bsearch(name, object->image.symbols, object->image.symbol_count,
                                          sizeof *found, compare_name);
        if (found) return found;
    }
    const definition *d = find_definition(x, name);
    return d ? &d->symbol : NULL;
}

hsa_status_t hsa_executable_get_symbol_by_name(hsa_executable_t handle, const char *name,
                                               const hsa_agent_t *agent,
                                               hsa_executable_symbol_t *symbol)
{
    (void)agent; /* the HIP runtime makes one executable per agent */
    const executable *x = executable_of(handle);
    SIM_REQUIRE(x, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
    SIM_REQUIRE(name && symbol, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    const sim_symbol *found = find_symbol(x, name);
    SIM_REQUIRE(found, HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
    symbol->handle = (uint64_t)(uintptr_t)found;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_iterate_symbols(hsa_executable_t handle,
                                            hsa_status_t (*callback)(hsa_executable_t executable,
                                                                     hsa_executable_symbol_t symbol,
                                                                     void *data),
                                            void *data)
{
    const executable *x = executable_of(handle);
    SIM_REQUIRE(x, HSA_STATUS_ERROR_INVALID_EXECUTABLE);
    for (const loaded *object = x->objects; object; object = object->next) {
        for (size_t i = 0; i < object->image.symbol_count; i++) {
            hsa_executable_symbol_t symbol = {(uint64_t)(uintptr_t)&object->image.symbols[i]};
            hsa_status_t status = callback(handle, symbol, data);
            if (status != HSA_STATUS_SUCCESS) return status;
        }
    }
    return HSA_STATUS_SUCCESS;
}

/* The beginning of a kernel descriptor: group, private and kernarg bytes. */
static hsa_status_t kernel_symbol_info(const sim_symbol *symbol, int attribute, void *value)
{
    const uint32_t *descriptor = (const uint32_t *)(uintptr_t)symbol->address;
    switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: *(uint64_t *)value = symbol->address; break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
        *(uint32_t *)value = descriptor[0];
        break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
        *(uint32_t *)value = descriptor[1];
        break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
        *(uint32_t *)value = descriptor[2];
        break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
        *(uint32_t *)value = 16;
        break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK: *(bool *)value = false; break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t variable_symbol_info(const sim_symbol *symbol, int attribute, void *value)
{
    switch (attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS: *(uint64_t *)value = symbol->address; break;
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
        *(uint32_t *)value = (uint32_t)symbol->size;
        break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_symbol_get_info(hsa_executable_symbol_t handle,
                                            hsa_executable_symbol_info_t attribute, void *value)
{
    const sim_symbol *symbol = (const sim_symbol *)(uintptr_t)handle.handle;
    SIM_REQUIRE(symbol, HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
    SIM_REQUIRE(value, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    switch ((int)attribute) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
        *(hsa_symbol_kind_t *)value =
            symbol->is_kernel ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE;
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
        *(uint32_t *)value = (uint32_t)strlen(symbol->name);
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
        memcpy(value, symbol->name, strlen(symbol->name));
        return HSA_STATUS_SUCCESS;
    default:
        return symbol->is_kernel ? kernel_symbol_info(symbol, (int)attribute, value)
                                 : variable_symbol_info(symbol, (int)attribute, value);
    }
}
