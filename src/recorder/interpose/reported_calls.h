/* SPDX-License-Identifier: MIT
 *
 * Calls of a library that a profiling library reports: what its functions are called with, where no
 * trampoline stands before them or in that one's place. Whoever hears of calls says first which
 * ones it will report; that it does is known when it has reported one.
 */
#ifndef HB_INTERPOSE_REPORTED_CALLS_H
#define HB_INTERPOSE_REPORTED_CALLS_H

#include "base/base.h"

enum { HB_REPORTED_FUNCTIONS = 128 };

typedef struct hb_reported_call {
    uint32_t number;  /* of the function, as it was announced */
    const void *args; /* its parameters, one behind the other as members of a structure */
    size_t size;      /* bytes of what may be read there */
    uint64_t result;  /* at its end */
    const void *caller;
} hb_reported_call;

/** Called on the thread of the call, at its beginning and at its end. */
typedef void hb_report_listener(const hb_reported_call *call, bool begins);

/* ---- who reports ---- */

/** A function that will be reported, by a number of the caller's choice. The name stays. */
void hb_reports_announce(uint32_t number, const char *function);
void hb_report(const hb_reported_call *call, bool begins);
/** Nothing will be reported any more. */
void hb_reports_end(void);

/* ---- who listens ---- */

void hb_reports_listen(hb_report_listener *listener);
/** NULL: none of that number. */
const char *hb_reported_function(uint32_t number);
/** Whether something has been reported, and calls of this function will be. */
bool hb_is_reported(const char *function);

#endif
