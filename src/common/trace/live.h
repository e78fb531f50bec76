/* SPDX-License-Identifier: MIT
 *
 * A profiler's last cycle, for those who look at it without a file.
 */
#ifndef HB_TRACE_LIVE_H
#define HB_TRACE_LIVE_H

#include "base/base.h"
#include "trace/source.h"

/** Calls `read` with the last cycle's events and returns what it returns. Fails where there is no
 * cycle to look at, or now is not the time. */
HB_PRIVATE hb_result hb_live_cycle_read(hb_profiler *prof,
                                        hb_result (*read)(void *context, hb_source *source),
                                        void *context);

#endif
