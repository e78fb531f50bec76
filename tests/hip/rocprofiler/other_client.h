/* SPDX-License-Identifier: MIT
 *
 * Another client of rocprofiler-sdk in the process, which asks for its place as XLA's plugin does
 * when it is loaded, and hears of hipLaunchKernel().
 */
#ifndef OTHER_CLIENT_H
#define OTHER_CLIENT_H

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

static int other_client_launches;

static inline void *other_client_symbol(const char *name)
{
    void *library = dlopen("librocprofiler-sdk.so.1", RTLD_LAZY | RTLD_GLOBAL);
    return library ? dlsym(library, name) : NULL;
}

/* Of version 1. */
typedef struct other_client_record {
    uint64_t context, thread, correlation[3];
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    void *payload;
} other_client_record;

static inline void other_client_heard(other_client_record record, uint64_t *data, void *arg)
{
    enum { ENTER = 1 };
    (void)data, (void)arg;
    if (record.phase == ENTER) other_client_launches++;
}

static inline int other_client_initialize(void (*finish)(uint64_t client), void *arg)
{
    enum { HIP_RUNTIME_API = 5 };
    static const int32_t launch = 214;
    uint64_t context = 0;
    int (*create)(uint64_t *), (*start)(uint64_t);
    int (*trace)(uint64_t, uint32_t, const int32_t *, size_t,
                 void (*)(other_client_record, uint64_t *, void *), void *);
    void *addresses[] = {other_client_symbol("rocprofiler_create_context"),
                         other_client_symbol("rocprofiler_configure_callback_tracing_service"),
                         other_client_symbol("rocprofiler_start_context")};
    (void)finish, (void)arg;
    memcpy(&create, &addresses[0], sizeof create);
    memcpy(&trace, &addresses[1], sizeof trace);
    memcpy(&start, &addresses[2], sizeof start);
    int status = create(&context);
    if (!status) status = trace(context, HIP_RUNTIME_API, &launch, 1, other_client_heard, NULL);
    return status ? status : start(context);
}

typedef struct other_client_tool {
    size_t size;
    int (*initialize)(void (*finish)(uint64_t client), void *arg);
    void (*finalize)(void *arg);
    void *arg;
} other_client_tool;

static inline other_client_tool *other_client_describe(uint32_t version, const char *text,
                                                       uint32_t priority, void *client)
{
    static other_client_tool tool = {sizeof tool, other_client_initialize, NULL, NULL};
    (void)version, (void)text, (void)priority, (void)client;
    return &tool;
}

/** What rocprofiler_force_configure() returns: 0, or why there is no place any more. */
static inline int other_client_configure(void)
{
    int (*force)(other_client_tool * (*)(uint32_t, const char *, uint32_t, void *));
    void *address = other_client_symbol("rocprofiler_force_configure");
    if (!address) return -1;
    memcpy(&force, &address, sizeof force);
    return force(other_client_describe);
}

#endif
