/* SPDX-License-Identifier: MIT */
#include "kernel.h"
#include "fault.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

typedef struct rule {
    struct rule *next;
    uint64_t ns;
    char pattern[];
} rule;

static pthread_rwlock_t kernels_lock = PTHREAD_RWLOCK_INITIALIZER; /* buckets and rules */
static sim_kernel *buckets[BUCKETS];
static rule *rules; /* newest first: later entries win */

/* ---- by name ---- */

static size_t bucket_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (const char *p = name; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3;
    return hash % BUCKETS;
}

/* Under the lock. */
static sim_kernel *find(const char *name)
{
    sim_kernel *kernel = buckets[bucket_of(name)];
    while (kernel && strcmp(kernel->name, name) != 0)
        kernel = kernel->next;
    return kernel;
}

/* Under the lock. */
static void apply_rules(sim_kernel *kernel)
{
    uint64_t ns = SIMHSA_DEFAULT_DURATION;
    for (const rule *r = rules; r && ns == SIMHSA_DEFAULT_DURATION; r = r->next)
        if (fnmatch(r->pattern, kernel->name, 0) == 0) ns = r->ns;
    __atomic_store_n(&kernel->planned_ns, ns, __ATOMIC_RELAXED);
}

/* Under the lock for writing. */
static sim_kernel *add(const char *name)
{
    size_t size = strlen(name) + 1;
    sim_kernel *kernel = calloc(1, sizeof *kernel + size);
    if (!kernel) return NULL;
    memcpy(kernel->name, name, size);
    kernel->duration_ns = SIMHSA_DEFAULT_DURATION;
    kernel->builtin = sim_builtin_find(name);
    apply_rules(kernel);
    sim_kernel **bucket = &buckets[bucket_of(name)];
    kernel->next = *bucket;
    *bucket = kernel;
    return kernel;
}

sim_kernel *sim_kernel_named(const char *name)
{
    pthread_rwlock_wrlock(&kernels_lock);
    sim_kernel *kernel = find(name);
    if (!kernel) kernel = add(name);
    pthread_rwlock_unlock(&kernels_lock);
    return kernel;
}

/* ---- SIMHSA_KERNEL_NS ---- */

/* Under the lock for writing. */
static void clear_rules(void)
{
    while (rules) {
        rule *next = rules->next;
        free(rules);
        rules = next;
    }
}

static bool parse_ns(const char *text, uint64_t *ns)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    *ns = strtoull(text, &end, 10);
    return *end == '\0';
}

/* One entry: NS alone is for all kernels. Under the lock for writing. */
static bool add_rule(char *entry)
{
    char *equals = strrchr(entry, '=');
    if (!equals) return parse_ns(entry, &sim_config.kernel_ns);
    *equals = '\0';
    size_t size = strlen(entry) + 1;
    rule *r = malloc(sizeof *r + size);
    if (!r) return false;
    memcpy(r->pattern, entry, size);
    r->next = rules;
    bool ok = parse_ns(equals + 1, &r->ns);
    if (ok)
        rules = r;
    else
        free(r);
    return ok;
}

bool sim_kernel_plan(const char *text)
{
    char *list = strdup(text ? text : ""), *save = NULL;
    if (!list) return false;
    bool ok = true;
    pthread_rwlock_wrlock(&kernels_lock);
    clear_rules();
    for (char *entry = strtok_r(list, ",", &save); ok && entry; entry = strtok_r(NULL, ",", &save))
        ok = add_rule(entry);
    for (size_t i = 0; i < BUCKETS; i++)
        for (sim_kernel *kernel = buckets[i]; kernel; kernel = kernel->next)
            apply_rules(kernel);
    pthread_rwlock_unlock(&kernels_lock);
    free(list);
    if (!ok) sim_warn("SIMHSA_KERNEL_NS: cannot read \"%s\": NS[,PATTERN=NS]...", text);
    return ok;
}

/* ---- host functions ---- */

void simhsa_set_kernel(const char *name, simhsa_kernel_fn fn, uint64_t duration_ns)
{
    sim_kernel *kernel = name ? sim_kernel_named(name) : NULL;
    if (!kernel) return;
    __atomic_store_n(&kernel->duration_ns, duration_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&kernel->fn, fn, __ATOMIC_RELEASE);
}

uint64_t simhsa_kernel_launches(const char *name)
{
    pthread_rwlock_rdlock(&kernels_lock);
    const sim_kernel *kernel = find(name);
    pthread_rwlock_unlock(&kernels_lock);
    return kernel ? __atomic_load_n(&kernel->launches, __ATOMIC_ACQUIRE) : 0;
}

static void load_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        sim_warn("SIMHSA_KERNELS: %s", dlerror());
        return;
    }
    const simhsa_kernel *kernel = dlsym(library, "simhsa_kernels");
    if (!kernel) {
        sim_warn("SIMHSA_KERNELS: %s has no table simhsa_kernels", path);
        dlclose(library);
        return;
    }
    for (; kernel->name; kernel++) {
        SIM_TRACE("kernel %s from %s", kernel->name, path);
        simhsa_set_kernel(kernel->name, kernel->fn, kernel->duration_ns);
    }
    /* The library stays loaded: its functions are in use until the process ends. */
}

void sim_kernels_load(void)
{
    const char *paths = getenv("SIMHSA_KERNELS");
    char *list = paths ? strdup(paths) : NULL, *save = NULL;
    for (char *path = list ? strtok_r(list, ":", &save) : NULL; path;
         path = strtok_r(NULL, ":", &save))
        load_library(path);
    free(list);
}

/* ---- launches ---- */

static uint64_t duration_of(const sim_kernel *kernel, uint64_t bytes)
{
    uint64_t ns = __atomic_load_n(&kernel->planned_ns, __ATOMIC_RELAXED);
    if (ns == SIMHSA_DEFAULT_DURATION) ns = __atomic_load_n(&kernel->duration_ns, __ATOMIC_RELAXED);
    if (ns != SIMHSA_DEFAULT_DURATION) return ns;
    return kernel->builtin ? sim_copy_duration(bytes, sim_config.device_gbps)
                           : sim_config.kernel_ns;
}

/* The CPU's time counts from when the function was called: a queue that lags behind its own clock
 * must not charge its lag to the kernel. */
uint64_t sim_kernel_run(sim_kernel *kernel, const simhsa_dispatch *dispatch, uint64_t begin_ns)
{
    simhsa_kernel_fn fn = __atomic_load_n(&kernel->fn, __ATOMIC_ACQUIRE);
    uint64_t took = 0, bytes = 0;
    if (fn || kernel->builtin) {
        uint64_t called = sim_now();
        if (fn)
            fn(dispatch);
        else
            bytes = kernel->builtin(dispatch);
        took = sim_now() - called;
    }
    uint64_t planned = duration_of(kernel, bytes);
    if (!kernel->builtin) planned += sim_fault_delay(SIM_FAULT_KERNEL_SLOW);
    __atomic_add_fetch(&kernel->launches, 1, __ATOMIC_RELEASE);
    return begin_ns + (took > planned ? took : planned);
}
