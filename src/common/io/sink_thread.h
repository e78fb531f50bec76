/* SPDX-License-Identifier: MIT
 *
 * A sink whose bytes a thread of its own passes on, so that whoever makes them does not wait for
 * the system to take them. The thread begins when there is enough to do; without it, or without
 * memory, the caller passes them on itself.
 */
#ifndef HB_IO_SINK_THREAD_H
#define HB_IO_SINK_THREAD_H

#include <sys/types.h>

#include "base/lock.h"
#include "io/sink.h"

enum { HB_SINK_BLOCKS = 6 }; /* under way at most; the caller fills one more */

typedef struct hb_sink_thread {
    hb_sink sink;
    hb_sink *below;
    pid_t process; /* that the thread is in */
    pthread_t thread;
    bool runs;
    uint64_t passed; /* bytes, before it runs */
    hb_lock lock;    /* of all that follows */
    hb_news news;
    char *blocks[HB_SINK_BLOCKS]; /* free ones from `written` on, up to `given` full ones */
    size_t sizes[HB_SINK_BLOCKS];
    uint64_t given, written; /* blocks, ever */
    bool ends;
    hb_result result; /* the first failure; nothing is passed on after it */
    char error[512];
} hb_sink_thread;

void hb_sink_thread_open(hb_sink_thread *t, hb_sink *below);

/** Waits until all is passed on; the first failure. Once, also after a failure. */
hb_result hb_sink_thread_close(hb_sink_thread *t);

#endif
