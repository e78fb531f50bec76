/* SPDX-License-Identifier: MIT
 *
 * What OMPT, the tools' interface of OpenMP 5, is made of, as far as it is used here. Names are
 * hipboard's; numbers, sizes and order are the standard's.
 */
#ifndef HB_OPENMP_OMPT_ABI_H
#define HB_OPENMP_OMPT_ABI_H

#include <stdint.h>

/** The runtime keeps one for each thread, region and task. */
typedef union hb_ompt_data {
    uint64_t value;
    void *ptr;
} hb_ompt_data;

typedef void (*hb_ompt_callback)(void);
typedef hb_ompt_callback (*hb_ompt_look_up)(const char *name);
typedef int (*hb_ompt_set_callback)(int which, hb_ompt_callback callback);

typedef struct hb_ompt_tool {
    int (*begin)(hb_ompt_look_up look_up, int device, hb_ompt_data *tool); /* 0: does without it */
    void (*end)(hb_ompt_data *tool);
    hb_ompt_data tool;
} hb_ompt_tool;

enum hb_ompt_callbacks {
    HB_OMPT_THREAD_BEGIN = 1,
    HB_OMPT_PARALLEL_BEGIN = 3,
    HB_OMPT_PARALLEL_END = 4,
    HB_OMPT_IMPLICIT_TASK = 7, /* a thread's part of a region */
    HB_OMPT_SYNC_REGION = 23,
};

enum { HB_OMPT_WORKER = 2 };       /* a type of threads */
enum { HB_OMPT_INITIAL_TASK = 1 }; /* a flag of tasks: the program itself */
enum { HB_OMPT_BEGIN = 1, HB_OMPT_END = 2 };

enum hb_ompt_sync {
    HB_OMPT_BARRIER = 1,
    HB_OMPT_BARRIER_IMPLICIT = 2, /* before OpenMP 5.1, for the next but one and the last */
    HB_OMPT_BARRIER_EXPLICIT = 3,
    HB_OMPT_BARRIER_OF_RUNTIME = 4, /* also an explicit one of gcc's programs */
    HB_OMPT_BARRIER_OF_LOOP = 8,
    HB_OMPT_BARRIER_OF_REGION = 9, /* at a region's end */
};

#endif
