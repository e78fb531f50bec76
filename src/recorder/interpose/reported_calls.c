/* SPDX-License-Identifier: MIT */
#include "interpose/reported_calls.h"

#include <stdatomic.h>
#include <string.h>

static const char *functions[HB_REPORTED_FUNCTIONS]; /* whole before anything is reported */
static atomic_bool heard; /* set by who reports, whose functions[] are read with acquire */
static hb_report_listener *_Atomic listener_now; /* acquired with what it was set up with */

void hb_reports_announce(uint32_t number, const char *function)
{
    if (number < HB_REPORTED_FUNCTIONS) functions[number] = function;
}

void hb_report(const hb_reported_call *call, bool begins)
{
    hb_report_listener *listener = atomic_load_explicit(&listener_now, memory_order_acquire);
    if (!atomic_load_explicit(&heard, memory_order_relaxed)) atomic_store(&heard, true);
    if (listener) listener(call, begins);
}

void hb_reports_end(void)
{
    atomic_store(&heard, false);
}

void hb_reports_listen(hb_report_listener *listener)
{
    atomic_store(&listener_now, listener);
}

const char *hb_reported_function(uint32_t number)
{
    return number < HB_REPORTED_FUNCTIONS ? functions[number] : NULL;
}

bool hb_is_reported(const char *function)
{
    if (!atomic_load_explicit(&heard, memory_order_acquire)) return false;
    for (uint32_t i = 0; i < HB_REPORTED_FUNCTIONS; i++)
        if (functions[i] && strcmp(functions[i], function) == 0) return true;
    return false;
}
