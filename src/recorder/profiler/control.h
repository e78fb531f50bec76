/* SPDX-License-Identifier: MIT
 *
 * How a running profiler is asked to record: over its socket, by a file in its log directory, and
 * by alarms of its own process. A thread of hipboard's serves them; the program's threads never do.
 */
#ifndef HB_PROFILER_CONTROL_H
#define HB_PROFILER_CONTROL_H

#include "profiler/profiler.h"

/** Begins to serve; does nothing for a profiler that is not to be asked. A socket that can't be
 * made is said, once; alarms and the file work without. Once more after hb_control_end(): said, and
 * not done, where the thread of the time before waits for a file system, for more than 100 ms. */
hb_result hb_control_start(hb_profiler *prof);

/** Serves no more. Not under hb_arbitration_lock(). Waits for what is being served, not for a file
 * system. False at exit when the thread does not come to its end: then the profiler must stay. */
bool hb_control_end(hb_profiler *prof);
/** After that. */
void hb_control_free(hb_profiler *prof);

/** The thread looks around now. */
void hb_control_wake(const hb_profiler *prof);

/** Of a ring: what it was triggered for by now is on its way to the background thread when this
 * returns. `at_once`: and what was asked to come into it before is not waited for. Not under
 * hb_arbitration_lock(). */
void hb_control_settle(hb_profiler *prof, bool at_once);

/** As hb_alarm_ring(), for who listens to this profiler's; false when nobody does.
 * Async-signal-safe. */
bool hb_control_alarm(const hb_profiler *prof, const char *reason);

/** Whether the calling thread is the one that serves `prof`. */
bool hb_control_is_this_thread(const hb_profiler *prof);

/** The cycle of that request is written, or could not be (`error`, NULL: it is). Those who wait for
 * it are told. Any thread. */
void hb_control_written(hb_profiler *prof, uint64_t number, const char *path, const char *error);

/** Of a parent's profiler, in a forked child. */
void hb_control_forget(hb_profiler *prof);

#endif
