/* SPDX-License-Identifier: MIT
 *
 * A way to learn what HIP does. Back-ends are tried in the order of a table; each either takes the
 * job or says in words why it can't.
 */
#ifndef HB_HIP_BACKEND_H
#define HB_HIP_BACKEND_H

#include "hip/hip_runtime.h"

typedef struct hb_device_backend {
    const char *name;    /* in metadata and for HIPBOARD_HIP_BACKEND */
    const char *summary; /* what it is, a phrase */
    bool last_resort;    /* worth a word why the others were refused */
    bool ends_at_fork;   /* a forked child has to take another */
    bool samples;        /* can take the times of some launches only: hb_calls_sampling */
    /** Before any function of the runtime is called, for those that have to be there first; or
     * NULL. */
    void (*prepare)(const hb_hip *hip);
    /** Whether it can capture this runtime; `why` gets the reason when it can't. Changes nothing in
     * the runtime. */
    bool (*probe)(const hb_hip *hip, hb_buf *why);
    /** Once, before the first enable(). */
    bool (*attach)(const hb_hip *hip, hb_buf *why);
    /** Calls and device work are reported from now on, or not any more; a call that runs at that
     * moment may still report its end. May call those functions of the runtime only that set a
     * pointer or a flag: a forked child must not do more before it has called HIP itself. */
    void (*enable)(bool on);
    /* The rest may be NULL. */
    /** What is made from now on is not reported any more, what was made is: until enable(). Without
     * it the program's thread waits for the devices at a session's end. */
    void (*leave_off)(void);
    bool (*can_leave_off)(void); /* with this runtime */
    /** Reports what it has been keeping of finished work. */
    void (*flush)(void);
    /** How many reports of work that was made were lost on the way to it, in all sessions. */
    uint64_t (*lost)(void);
    /** The driver's number of a device; -1: unknown. */
    int32_t (*node_of)(int device);
    /** Of what it stands on: "1.0.0". */
    const char *(*version)(void);
    /** After attach(), and when libraries were loaded since; false: one is just being loaded, and
     * has to be looked at again. */
    bool (*look)(void);
} hb_device_backend;

/** rocprofiler-sdk, which HIP of ROCm 6.2 and later reports to. */
extern const hb_device_backend hb_rocprofiler_sdk;

/** The runtime's hook of HIP since 5.4: one callback for all. */
extern const hb_device_backend hb_hooks_by_tracer;

/** The runtime's hooks of HIP up to 5.2 for device work; calls are interposed. */
extern const hb_device_backend hb_hooks_by_record;

/** Any runtime: calls are interposed, events timed around them. */
extern const hb_device_backend hb_interposition;

#endif
