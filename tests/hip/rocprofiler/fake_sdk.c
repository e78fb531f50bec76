/* SPDX-License-Identifier: MIT
 *
 * librocprofiler-sdk.so.1: its functions, as far as profilers call them.
 */
#include "fake_sdk.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

fake_state sdk = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- versions ---- */

static const char *version_text(void)
{
    const char *text = getenv("FAKE_ROCPROFILER_VERSION");
    return text ? text : "1.0.0";
}

uint32_t fake_version(void)
{
    static uint32_t number;
    unsigned major = 0, minor = 0, patch = 0;
    uint32_t known = __atomic_load_n(&number, __ATOMIC_RELAXED);
    if (known) return known;
    sscanf(version_text(), "%u.%u.%u", &major, &minor, &patch);
    known = major * 10000 + minor * 100 + patch;
    __atomic_store_n(&number, known, __ATOMIC_RELAXED);
    return known;
}

static bool refused(const char *function)
{
    const char *name = getenv("FAKE_ROCPROFILER_REFUSES");
    return name && strcmp(name, function) == 0;
}

#define CHECK \
    if (refused(__func__)) return ERROR

/* ---- clients ---- */

typedef struct tool {
    size_t size;
    int (*initialize)(void (*finalize)(uint64_t), void *arg);
    void (*finalize)(void *arg);
    void *arg;
} tool;

typedef tool *configure_function(uint32_t version, const char *text, uint32_t priority,
                                 void *client);

static void at_exit(void)
{
    for (uint64_t b = 1; b <= sdk.num_buffers; b++)
        fake_flush(&sdk.buffers[b]);
    for (int i = 0; i < sdk.num_clients; i++)
        if (sdk.clients[i].finalize) sdk.clients[i].finalize(sdk.clients[i].arg);
    for (uint64_t c = 1; c <= sdk.num_contexts; c++)
        fake_set_active(c, false);
}

static void client_finalize(uint64_t client)
{
    (void)client;
}

static void configure_client(void *function)
{
    /* In 0.x the name comes first, in 1.x behind the size. */
    struct {
        uint64_t words[3];
    } client = {{(fake_version() >= 10000) ? 24 : 0, 0, 0}};
    configure_function *configure;
    memcpy(&configure, &function, sizeof configure);
    tool *t = configure(fake_version(), version_text(), 0, &client);
    if (!t) return;
    const char *name = (const char *)(uintptr_t)client.words[(fake_version() >= 10000) ? 1 : 0];
    if (getenv("FAKE_ROCPROFILER_TALKS")) fprintf(stderr, "rocprofiler-sdk: client %s\n", name);
    sdk.clients[sdk.num_clients].finalize = t->finalize;
    sdk.clients[sdk.num_clients++].arg = t->arg;
    if (t->initialize) t->initialize(client_finalize, t->arg);
}

static void initialize(void)
{
    void *exported = dlsym(RTLD_DEFAULT, "rocprofiler_configure");
    if (sdk.initialized) return;
    sdk.initialized = -1;
    atexit(at_exit);
    if (sdk.forced) configure_client(sdk.forced);
    if (exported && exported != sdk.forced) configure_client(exported);
    sdk.initialized = 1;
}

/* ---- what is exported ---- */

FAKE_API int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance,
                                       void **tables, uint64_t count)
{
    (void)version;
    (void)instance;
    initialize();
    if (strcmp(name, "hip") == 0 && count == 1) *(fake_table *)tables[0] = fake_reports;
    if (strcmp(name, "rccl") == 0 && count == 1) *(fake_table *)tables[0] = fake_rccl_reports;
    return 0;
}

FAKE_API int rocprofiler_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch)
{
    *major = fake_version() / 10000;
    *minor = fake_version() / 100 % 100;
    *patch = fake_version() % 100;
    return OK;
}

FAKE_API const char *rocprofiler_get_status_string(int status)
{
    return status == LOCKED ? "Configuration has been locked" : "Generalized error";
}

FAKE_API int rocprofiler_get_timestamp(uint64_t *ns)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    *ns = fake_time((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
    return OK;
}

FAKE_API int rocprofiler_get_thread_id(uint64_t *thread)
{
    *thread = fake_thread_id();
    return OK;
}

FAKE_API int rocprofiler_is_initialized(int *status)
{
    *status = getenv("FAKE_ROCPROFILER_TAKEN") ? 1 : sdk.initialized;
    return OK;
}

FAKE_API int rocprofiler_is_finalized(int *status)
{
    *status = 0;
    return OK;
}

FAKE_API int rocprofiler_force_configure(configure_function *configure)
{
    CHECK;
    if (sdk.initialized) return LOCKED;
    setenv("ROCPROFILER_REGISTER_FORCE_LOAD", "1", 1);
    memcpy(&sdk.forced, &configure, sizeof configure);
    initialize();
    return OK;
}

FAKE_API int rocprofiler_create_context(id *made)
{
    CHECK;
    if (sdk.initialized != -1) return LOCKED;
    if (made->handle) return 13; /* has to be zeroed, since 0.6 */
    made->handle = ++sdk.num_contexts;
    return OK;
}

FAKE_API int rocprofiler_start_context(id c)
{
    CHECK;
    fake_set_active(c.handle, true);
    return OK;
}

FAKE_API int rocprofiler_stop_context(id c)
{
    fake_set_active(c.handle, false);
    return OK;
}

FAKE_API int rocprofiler_destroy_context(id c)
{
    return rocprofiler_stop_context(c);
}

FAKE_API int rocprofiler_context_is_valid(id c, int *status)
{
    *status = c.handle >= 1 && c.handle <= sdk.num_contexts;
    return OK;
}

FAKE_API int rocprofiler_context_is_active(id c, int *status)
{
    *status = fake_is_active(c.handle);
    return OK;
}

FAKE_API int rocprofiler_create_buffer(id c, size_t bytes, size_t watermark, uint32_t policy,
                                       buffer_callback *callback, void *arg, id *made)
{
    CHECK;
    (void)policy;
    if (sdk.initialized != -1) return LOCKED;
    made->handle = ++sdk.num_buffers;
    sdk.buffers[made->handle] = (buffer){.bytes = bytes,
                                         .watermark = watermark,
                                         .context = c.handle,
                                         .callback = callback,
                                         .arg = arg};
    return OK;
}

FAKE_API int rocprofiler_destroy_buffer(id b)
{
    (void)b;
    return OK;
}

FAKE_API int rocprofiler_flush_buffer(id b)
{
    fake_flush(&sdk.buffers[b.handle]);
    return OK;
}

FAKE_API int rocprofiler_configure_buffer_tracing_service(id c, uint32_t kind,
                                                          const int32_t *wanted, size_t count,
                                                          id into)
{
    CHECK;
    (void)wanted;
    (void)count;
    if (sdk.initialized != -1) return LOCKED;
    sdk.contexts[c.handle].buffers[kind] = into.handle;
    return OK;
}

FAKE_API int rocprofiler_configure_callback_tracing_service(id c, uint32_t kind,
                                                            const int32_t *wanted, size_t count,
                                                            void (*callback)(void), void *arg)
{
    CHECK;
    if (sdk.initialized != -1) return LOCKED;
    if (kind == RCCL_API && fake_version() < 500) return 4; /* not known yet */
    context *owner = &sdk.contexts[c.handle];
    owner->callbacks[kind].function = callback;
    owner->callbacks[kind].arg = arg;
    if (!count) return OK;
    owner->callbacks[kind].operations = malloc((count + 1) * sizeof *wanted);
    memcpy(owner->callbacks[kind].operations, wanted, count * sizeof *wanted);
    owner->callbacks[kind].operations[count] = -1;
    return OK;
}

FAKE_API int rocprofiler_iterate_callback_tracing_kind_operations(
    uint32_t kind, int (*each)(uint32_t kind, int32_t operation, void *arg), void *arg)
{
    CHECK;
    fake_each_operation(kind, each, arg);
    return OK;
}

FAKE_API int rocprofiler_query_callback_tracing_kind_operation_name(uint32_t kind,
                                                                    int32_t operation,
                                                                    const char **name,
                                                                    uint64_t *size)
{
    *name = fake_operation_name(kind, operation);
    if (size) *size = *name ? strlen(*name) : 0;
    return OK;
}

FAKE_API int rocprofiler_configure_external_correlation_id_request_service(
    id c, const uint32_t *kinds, size_t count,
    int (*callback)(uint64_t, id, uint32_t, int32_t, uint64_t, uint64_t *, void *), void *arg)
{
    (void)kinds;
    (void)count;
    sdk.contexts[c.handle].external = callback;
    sdk.contexts[c.handle].external_arg = arg;
    return OK;
}

FAKE_API int rocprofiler_create_callback_thread(id *thread)
{
    thread->handle = 1;
    return OK;
}

FAKE_API int rocprofiler_assign_callback_thread(id b, id thread)
{
    (void)b;
    (void)thread;
    return OK;
}

FAKE_API int rocprofiler_query_available_agents(uint32_t version,
                                                int (*each)(uint32_t version, const void **agents,
                                                            size_t count, void *arg),
                                                size_t size, void *arg)
{
    enum { AGENTS = FAKE_CPUS + FAKE_GPUS };
    static const uint32_t locations[AGENTS] = {0,    0,     29952, 1280,  25856,
                                               5376, 62720, 34048, 58624, 38144};
    _Alignas(8) char agents[AGENTS][312];
    const void *pointers[AGENTS];
    size_t bytes = (fake_version() >= 10000) ? 312 : fake_version() >= 600 ? 304 : 296;
    if (size > bytes) return ERROR;
    memset(agents, 0, sizeof agents);
    for (size_t i = 0; i < AGENTS; i++) {
        bool gpu = i >= FAKE_CPUS;
        char *a = agents[i];
        fake_put64(a, 0, bytes);
        fake_put64(a, 8, FAKE_FIRST_AGENT + i);
        fake_put32(a, 16, gpu ? 2 : 1);
        fake_put32(a, 68, gpu ? 64 : 0);
        fake_put32(a, 76, gpu ? 256 : 0);
        fake_put32(a, 108, locations[i]);
        fake_put_pointer(a, 248, gpu ? "gfx950" : "CPU");
        fake_put_pointer(a, 256, "AMD");
        fake_put_pointer(a, 264, gpu ? "AMD Instinct MI350X" : "CPU");
        fake_put_pointer(a, 272, "");
        fake_put32(a, 280, i);
        fake_put32(a, 284, i);
        fake_put32(a, 288, gpu ? i - FAKE_CPUS : i);
        fake_put32(a, 292, 0xff);
        pointers[i] = a;
    }
    return each(version, pointers, AGENTS, arg);
}
