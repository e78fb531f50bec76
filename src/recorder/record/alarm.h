/* SPDX-License-Identifier: MIT
 *
 * How any thread, also in a signal handler, tells a profiler that something has happened which is
 * worth recording. The profiler's background thread hears it.
 *
 * Alarms live in a table of the process and are never freed, so that who rings one late, or from a
 * signal handler, meets memory that is there.
 */
#ifndef HB_RECORD_ALARM_H
#define HB_RECORD_ALARM_H

#include <stdatomic.h>

#include "base/base.h"

#define HB_ALARM_REASON 160u

typedef struct hb_alarm hb_alarm;

/** What was rung. */
typedef struct hb_alarm_call {
    char reason[HB_ALARM_REASON];
    bool has_value;
    double value;
    uint64_t others; /* that came before anybody heard this one, and are not told of */
} hb_alarm_call;

/** An alarm that nobody else has; NULL when all are taken, or without descriptors. */
hb_alarm *hb_alarm_take(void);
/** Gives it back; it rings for nobody any more. */
void hb_alarm_give(hb_alarm *alarm);

/** Rings it. Async-signal-safe; keeps errno. The text is copied, up to its room. */
void hb_alarm_ring(hb_alarm *alarm, const char *reason);
/** Wakes who listens, without a reason. */
void hb_alarm_wake(hb_alarm *alarm);

/** Readable once it was rung or woken; -1 when the program has closed it. */
int hb_alarm_fd(const hb_alarm *alarm);
/** Makes it not readable again. True with what was rung. One listener. */
bool hb_alarm_heard(hb_alarm *alarm, hb_alarm_call *call);
/** The same for people: "loss > 5 = 7 (and 2 more)". */
#define HB_ALARM_TEXT (HB_ALARM_REASON + 80)
bool hb_alarm_heard_text(hb_alarm *alarm, char text[HB_ALARM_TEXT]);

/* ---- what rings by itself: the last profiler that asked for it hears it; NULL: nobody ---- */

/** A limit of what the program gives to hb_scalar(). */
typedef struct hb_alarm_limit {
    char name[128];
    bool above; /* it is passed by larger values; else by smaller ones */
    double limit;
} hb_alarm_limit;
/** Reads "loss > 5", "accuracy < 0.1". */
bool hb_alarm_limit_parse(const char *text, hb_alarm_limit *limit);

/** A number passes the limit, or is none. One limit in a process, the first one. */
void hb_alarm_watch_metric(hb_alarm *alarm, const hb_alarm_limit *limit);
/** A HIP call fails while calls are recorded. */
void hb_alarm_watch_hip(hb_alarm *alarm);
/** A signal arrives; a handler that the program has put there before is called as well.
 * HB_ERROR_INVALID_ARGUMENT when the signal can't be caught. */
hb_result hb_alarm_watch_signal(hb_alarm *alarm, int number);
extern _Atomic(hb_alarm *) hb_alarm_of_metric, hb_alarm_of_hip;

void hb_alarm_metric(const char *name, double value);
void hb_alarm_hip_failed(const char *call, int error);

#endif
