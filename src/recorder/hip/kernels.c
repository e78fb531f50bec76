/* SPDX-License-Identifier: MIT */
#include "hip/kernels.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/lock.h"
#include "gpu/occupancy.h"
#include "hip/code_objects.h"
#include "hip/launches.h"
#include "record/strings.h"

/* hipFunction_attribute and hipFuncAttributes */
enum {
    ATTRIBUTE_SHARED_BYTES = 1,
    ATTRIBUTE_LOCAL_BYTES = 3,
    ATTRIBUTE_NUM_REGS = 4,
};

typedef struct func_attributes {
    int binary_version, cache_mode_ca;
    size_t const_bytes, local_bytes;
    int max_dynamic_shared_bytes, max_threads_per_block, num_regs, preferred_shared_carveout;
    int ptx_version;
    size_t shared_bytes;
} func_attributes;

_Atomic(hb_kernel *) hb_kernel_buckets[HB_KERNEL_BUCKETS];
_Atomic uint32_t hb_kernels_generation = 1;
static hb_bare_lock lock = HB_BARE_LOCK_INIT(KERNELS); /* of additions */

uint32_t hb_kernel_intern(hb_demangler *demangle, const char *name)
{
    int status = -1;
    if (!name || !*name) return HB_STRING_UNNAMED;
    char *plain =
        demangle && strncmp(name, "_Z", 2) == 0 ? demangle(name, NULL, NULL, &status) : NULL;
    const char *text = plain ? plain : name;
    uint32_t id = hb_strings_intern(text, strlen(text));
    free(plain);
    return id;
}

static uint16_t registers(int count)
{
    return count > 0 && count < (int)HB_REGISTERS_UNKNOWN ? (uint16_t)count : HB_REGISTERS_UNKNOWN;
}

static void ask_host(const hb_hip *hip, hb_kernel *kernel)
{
    func_attributes a = {0};
    if (!hip->func_get_attributes || hip->func_get_attributes(&a, kernel->function) != 0) return;
    kernel->vgprs = registers(a.num_regs);
    kernel->lds_bytes = (uint32_t)a.shared_bytes;
    kernel->scratch_bytes = (uint32_t)a.local_bytes;
}

static int ask_one(const hb_hip *hip, void *function, int attribute)
{
    int value = 0;
    return hip->func_get_attribute(&value, attribute, function) == 0 && value > 0 ? value : 0;
}

static void ask_function(const hb_hip *hip, hb_kernel *kernel)
{
    void *function = (void *)(uintptr_t)kernel->function;
    if (!hip->func_get_attribute) return;
    kernel->vgprs = registers(ask_one(hip, function, ATTRIBUTE_NUM_REGS));
    kernel->lds_bytes = (uint32_t)ask_one(hip, function, ATTRIBUTE_SHARED_BYTES);
    kernel->scratch_bytes = (uint32_t)ask_one(hip, function, ATTRIBUTE_LOCAL_BYTES);
}

/* The runtime tells one number of registers; the compiler told all. */
static void ask_compiler(hb_kernel *kernel, const char *name)
{
    hb_code_resources found;
    if (!name || kernel->vgprs == HB_REGISTERS_UNKNOWN) return;
    if (!hb_code_objects_find(name, kernel->vgprs, kernel->lds_bytes, &found)) return;
    kernel->vgprs = (uint16_t)HB_MIN(found.vgprs, HB_REGISTERS_UNKNOWN);
    kernel->sgprs = (uint16_t)HB_MIN(found.sgprs, HB_REGISTERS_UNKNOWN);
    kernel->agprs = (uint16_t)HB_MIN(found.agprs, HB_REGISTERS_UNKNOWN);
}

static hb_kernel ask(const hb_hip *hip, const void *function, bool is_host, void *stream)
{
    hb_kernel kernel = {.function = function,
                        .name = HB_STRING_UNNAMED,
                        .vgprs = HB_REGISTERS_UNKNOWN,
                        .sgprs = HB_REGISTERS_UNKNOWN,
                        .agprs = HB_REGISTERS_UNKNOWN};
    const char *name = NULL;
    if (is_host && hip->kernel_name_by_host) name = hip->kernel_name_by_host(function, stream);
    if (!is_host && hip->kernel_name) name = hip->kernel_name((void *)(uintptr_t)function);
    kernel.name = hb_kernel_intern(hip->demangle, name);
    if (is_host)
        ask_host(hip, &kernel);
    else
        ask_function(hip, &kernel);
    ask_compiler(&kernel, name);
    return kernel;
}

static bool same(const hb_kernel *a, const hb_kernel *b)
{
    return a->function == b->function && a->name == b->name && a->vgprs == b->vgprs &&
           a->sgprs == b->sgprs && a->agprs == b->agprs && a->lds_bytes == b->lds_bytes &&
           a->scratch_bytes == b->scratch_bytes;
}

/* Under lock. A program that loads and unloads the same code again and again adds nothing. */
static hb_kernel *add(_Atomic(hb_kernel *) *bucket, const hb_kernel *fresh, uint32_t now)
{
    hb_kernel *k = atomic_load(bucket);
    while (k && !same(k, fresh))
        k = k->next;
    if (k) {
        atomic_store(&k->generation, now);
        return k;
    }
    if (!(k = malloc(sizeof *k))) return NULL;
    *k = *fresh;
    k->next = atomic_load(bucket);
    atomic_init(&k->generation, now);
    atomic_store_explicit(bucket, k, memory_order_release);
    return k;
}

static const hb_kernel *keep(const hb_kernel *fresh, uint32_t now)
{
    hb_bare_lock_take(&lock);
    const hb_kernel *k = hb_kernel_known(fresh->function);
    if (!k) k = add(hb_kernel_bucket(fresh->function), fresh, now);
    hb_bare_lock_give(&lock);
    return k;
}

const hb_kernel *hb_kernel_of(const hb_hip *hip, const void *function, bool is_host, void *stream)
{
    uint32_t now = atomic_load_explicit(&hb_kernels_generation, memory_order_relaxed);
    const hb_kernel *k = hb_kernel_known(function);
    if (k) return k;
    static __thread hb_kernel unkept; /* for want of memory; until the thread's next one */
    int error = errno;                /* the program's */
    unkept = ask(hip, function, is_host, stream);
    k = keep(&unkept, now);
    errno = error;
    return k ? k : &unkept;
}

uint32_t hb_kernel_name(const hb_hip *hip, const char *name)
{
    uint32_t now = atomic_load_explicit(&hb_kernels_generation, memory_order_relaxed);
    const hb_kernel *k = hb_kernel_known(name);
    if (k) return k->name;
    hb_kernel fresh = {.function = name, .name = hb_kernel_intern(hip->demangle, name)};
    return (k = keep(&fresh, now)) ? k->name : fresh.name;
}

void hb_kernels_outdate(void)
{
    atomic_fetch_add(&hb_kernels_generation, 1);
    atomic_fetch_add(&hb_launch_generation, 1);
}

/* The lists are whole at any moment. */
void hb_kernels_after_fork(void)
{
    hb_bare_lock_after_fork(&lock);
}
