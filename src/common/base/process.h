/* SPDX-License-Identifier: MIT
 *
 * The process's turns, each with one handler for the whole library: fork() and the end of the
 * program. Rooms register what they do then, and it is done in a fixed order.
 */
#ifndef HB_BASE_PROCESS_H
#define HB_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The order before a fork: that of the locks which are held meanwhile (base/lock.h). After it, the
 * other way round. */
enum hb_fork_order {
    HB_FORK_ROCPROFILER, /* nothing held, as those below it */
    HB_FORK_DEVICE,
    HB_FORK_OPERATORS,
    HB_FORK_ALARMS,
    HB_FORK_CONTROL,
    HB_FORK_RUN_LOG, /* nothing held */
    HB_FORK_SETTINGS,
    HB_FORK_EVENT_LOGS,
    HB_FORK_RECORD,   /* modules, strings, threads */
    HB_FORK_PROFILER, /* nothing held; in the child first but for memory */
    HB_FORK_LARGE_MEMORY,
    HB_FORK_ROOMS
};

typedef struct hb_fork_room {
    void (*before)(void); /* takes locks by hb_lock_hold_for_fork() */
    void (*in_parent)(void);
    void (*in_child)(void); /* makes its locks anew, whether held or not */
} hb_fork_room;

/** Once for each; any member may be NULL. */
void hb_process_at_fork(enum hb_fork_order order, hb_fork_room room);

/* The order at exit(). */
enum hb_exit_order {
    HB_EXIT_REFUSE,     /* what other threads go on to log */
    HB_EXIT_PROFILER,   /* stops, saves the last cycle */
    HB_EXIT_EVENT_LOGS, /* flushes */
    HB_EXIT_ROOMS
};

/** Once for each. Called at exit() in the process that registered it, unless the exit interrupted
 * the library itself. */
void hb_process_at_exit(enum hb_exit_order order, void (*fn)(void));

/** `fn` tells whether the calling thread is in a recording call, which an exit() interrupted. */
void hb_process_interrupted_when(bool (*fn)(void));

/** A word that reads 0 in children which no fork handler prepared; NULL where the kernel has no
 * such memory. */
uint32_t *hb_process_word(void);

/** How often threads of the library's look whether the program is over. */
#define HB_PROCESS_LOOK_MS 250

/** Ends the program, as its last thread's end does, when only the library's threads remain: main()
 * has left by pthread_exit(), and no other thread of the program is there. For threads of the
 * library's, which hold nothing; they go on, since exit() waits for them. */
void hb_process_end_if_over(void);

#endif
