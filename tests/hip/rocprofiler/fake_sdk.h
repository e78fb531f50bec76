/* SPDX-License-Identifier: MIT
 *
 * What the two files of the stand-in for rocprofiler-sdk share: fake_sdk.c has its functions and
 * clients, fake_reports.c tells these what HIP does.
 */
#ifndef FAKE_SDK_H
#define FAKE_SDK_H

#include <pthread.h>
#include <stdbool.h>

#include "fake.h"

enum { OK = 0, ERROR = 1, LOCKED = 16 };
enum { HIP_RUNTIME_API = 5, CODE_OBJECT = 10, RCCL_API = 14 }; /* kinds of callbacks */
enum { MEMORY_COPY = 10, KERNEL_DISPATCH = 11 };               /* of buffered records */
enum { ENTER = 1, EXIT = 2, OBJECT_LOAD = 1, SYMBOL_REGISTER = 2, COMPLETE = 2 };
enum { MAX_CONTEXTS = 16, MAX_BUFFERS = 8, MAX_CLIENTS = 2, KINDS = 32 };

typedef struct id {
    uint64_t handle;
} id;

typedef struct record_header {
    uint32_t category, kind;
    void *payload;
} record_header;

typedef void buffer_callback(id context, id buffer, record_header **records, size_t count,
                             void *arg, uint64_t dropped);

typedef struct buffer {
    size_t bytes, watermark, used;
    record_header **records;
    size_t count, capacity;
    uint64_t context, dropped;
    buffer_callback *callback;
    void *arg;
} buffer;

typedef struct context {
    bool active; /* atomically */
    struct {
        void (*function)(void);
        void *arg;
        int32_t *operations; /* ends with -1; NULL: all */
    } callbacks[KINDS];
    uint64_t buffers[KINDS];
    int (*external)(uint64_t thread, id context, uint32_t kind, int32_t operation,
                    uint64_t internal, uint64_t *external, void *arg);
    void *external_arg;
} context;

typedef struct fake_state {
    pthread_mutex_t lock;
    int initialized; /* as rocprofiler_is_initialized() tells: -1 meanwhile */
    context contexts[MAX_CONTEXTS];
    buffer buffers[MAX_BUFFERS];
    uint64_t num_contexts, num_buffers, next_correlation, emplaced, next_dispatch;
    void *forced;
    struct {
        void (*finalize)(void *arg);
        void *arg;
    } clients[MAX_CLIENTS];
    int num_clients;
} fake_state;

extern fake_state sdk;

/** 10203 of version 1.2.3 */
uint32_t fake_version(void);

/* in fake_reports.c */
uint64_t fake_thread_id(void);
bool fake_is_active(uint64_t context);
void fake_set_active(uint64_t context, bool active);
void fake_put32(void *record, size_t offset, uint64_t value);
void fake_put64(void *record, size_t offset, uint64_t value);
/** As the clock of the stand-in has it. */
uint64_t fake_time(uint64_t boottime_ns);
void fake_put_pointer(void *record, size_t offset, const void *value);
void fake_flush(buffer *b);
const char *fake_operation_name(uint32_t kind, int32_t number);
void fake_each_operation(uint32_t kind, int (*each)(uint32_t kind, int32_t operation, void *arg),
                         void *arg);
extern const fake_table fake_reports, fake_rccl_reports;

#endif
