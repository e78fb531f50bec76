/* SPDX-License-Identifier: MIT
 *
 * The HIP runtime of this process, found by name: hipboard links none, and so works with any.
 */
#ifndef HB_HIP_HIP_RUNTIME_H
#define HB_HIP_HIP_RUNTIME_H

#include "base/base.h"

#define HB_HIP_ERROR_OUT_OF_MEMORY 2
#define HB_HIP_MAX_DEVICES         64

/** __cxa_demangle() */
typedef char *hb_demangler(const char *name, char *buffer, size_t *size, int *status);

/** The runtime's functions that hipboard calls; those of a version that lacks them are NULL. */
typedef struct hb_hip {
    void *library;
    const char *soname;          /* under which it was found */
    int release;                 /* 502 of 5.2.x, by the name of its file; 0: it does not tell */
    int version, driver_version; /* hipRuntimeGetVersion(): 50221153 is 5.2.21153 */

    int (*runtime_get_version)(int *version);
    int (*driver_get_version)(int *version);
    int (*get_device_count)(int *count);
    int (*get_device)(int *device);
    int (*set_device)(int device);
    int (*device_get_attribute)(int *value, int attribute, int device);
    int (*device_get_name)(char *name, int size, int device);
    int (*device_total_mem)(size_t *bytes, int device);
    int (*device_get_pci_bus_id)(char *text, int size, int device);
    int (*get_device_properties)(void *properties, int device);
    int (*device_synchronize)(void);
    int (*stream_query)(void *stream);
    int (*stream_synchronize)(void *stream);
    int (*stream_is_capturing)(void *stream, int *status);
    int (*exchange_capture_mode)(int *mode);
    int (*peek_at_last_error)(void);
    int (*get_last_error)(void);
    const char *(*get_error_name)(int error);
    int (*stream_device)(void *stream);
    int (*pointer_get_attributes)(void *attributes, const void *ptr);
    int (*mem_get_address_range)(void **base, size_t *bytes, void *ptr);
    int (*device_get_mem_pool)(void **pool, int device);
    int (*mem_pool_get_attribute)(void *pool, int attribute, void *value);
    int (*func_get_attribute)(int *value, int attribute, void *function);
    int (*func_get_attributes)(void *attributes, const void *host_function);
    const char *(*kernel_name)(void *function);
    const char *(*kernel_name_by_host)(const void *host_function, void *stream);
    const char *(*api_name)(uint32_t cid);
    hb_demangler *demangle;
} hb_hip;

/** Finds the runtime that is loaded in this process; never loads one, and calls nothing of it.
 * False: there is none. */
bool hb_hip_find(hb_hip *hip);

/** The same, but loads one when there is none. */
bool hb_hip_load(hb_hip *hip);

/** Fills in the versions. That starts a runtime which has a device, and a process that is forked
 * afterwards can't use it any more. */
void hb_hip_ask_versions(hb_hip *hip);

/** Whether the stream is being captured into a graph, or is one of which nothing may be asked while
 * another is. A program's thread asks about a stream that has a handle and is valid: then it is no
 * error. */
bool hb_hip_is_captured(const hb_hip *hip, void *stream);

/** Whether the runtime refused because some stream is being captured into a graph. */
static inline bool hb_hip_refused_for_capture(int error)
{
    enum { FIRST = 900, LAST = 908 }; /* hipErrorStreamCapture... */
    return error >= FIRST && error <= LAST;
}

/** For a thread of hipboard's own, before it asks about streams and events: what it asks about
 * those that are not captured breaks no other thread's capture, as since HIP 6.2 it would. */
void hb_hip_spare_captures(const hb_hip *hip);

/** What memory an address is in. */
typedef struct hb_hip_memory {
    int device;     /* 0 where the runtime does not say */
    bool on_device; /* a device's own, managed memory as well */
    bool on_host;   /* pinned */
} hb_hip_memory;

/** False: in none that the runtime knows, or it can't be asked; that may be an error to the
 * runtime, the thread's last one. */
bool hb_hip_memory_of(const hb_hip *hip, const void *address, hb_hip_memory *memory);

/** Whether it is in a device's memory. An address that the runtime does not know is an error to it,
 * which does not become the thread's last one in place of the program's; where that can't be
 * helped, *unsure. */
bool hb_hip_is_device_memory(const hb_hip *hip, const void *address, bool *unsure);

/** The file that the runtime was loaded from. */
void hb_hip_path(const hb_hip *hip, char *path, size_t size);

/** The address of a symbol of the runtime, or NULL, through a pointer to any function pointer. */
void hb_hip_symbol(const hb_hip *hip, const char *name, void *function_pointer);

/** "hipErrorOutOfMemory", or "" when the runtime can't say. */
const char *hb_hip_error_name(const hb_hip *hip, int error);

/** 502 of 5.2.x; 0: neither known by the file's name nor asked. */
static inline int hb_hip_release(const hb_hip *hip)
{
    return hip->release ? hip->release : hip->version / 100000;
}

/** What HIP says about a device. */
typedef struct hb_hip_device {
    char name[256], arch[256]; /* "gfx90a:sramecc+:xnack-" */
    char pci[32];              /* "0000:c1:00.0"; "": not told */
    uint64_t total_global_mem;
    int32_t compute_major, compute_minor, max_threads_per_block, max_threads_per_cu;
    int32_t regs_per_block, warp_size, num_cus, shared_mem_per_block, shared_mem_per_cu;
    int32_t clock_khz, memory_khz, memory_bus_bits; /* at most; 0: not told */
    bool integrated;
} hb_hip_device;

bool hb_hip_device_get(const hb_hip *hip, int id, hb_hip_device *device);

#endif
