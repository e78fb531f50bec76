/* SPDX-License-Identifier: MIT
 *
 * How long reports of device work are waited for, by whoever ends or reads a session.
 */
#ifndef HB_HIP_REPORTS_WAIT_H
#define HB_HIP_REPORTS_WAIT_H

#include "hip/late_reports.h"

/** Whether any may come. */
bool hb_reports_awaited(const hb_late_wants *wants);

/** A millisecond's wait for reports. False when enough was waited since the last came: `idle_ms`
 * counts that, and is set to 0 by who sees one come. While devices have work to do it may take long
 * until the next, and of work that nobody can count none may come before their end. */
bool hb_reports_wait(const hb_late_wants *wants, int *idle_ms);

#endif
