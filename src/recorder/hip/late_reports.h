/* SPDX-License-Identifier: MIT
 *
 * Reports of device work that come when its session has ended for the program: a step does not wait
 * for its devices; whoever reads the session does. Until then they are kept here.
 */
#ifndef HB_HIP_LATE_REPORTS_H
#define HB_HIP_LATE_REPORTS_H

#include "base/base.h"
#include "record/session.h"

/** What had not been reported at the session's end. */
typedef struct hb_late_wants {
    uint64_t first_work, last_work; /* no id of its work is outside of these, all others' are */
    uint64_t missing;               /* pieces that will be reported */
    uint64_t expected;              /* that may be */
    bool replays;                   /* graphs ran, of whose work nobody knows how much there is */
} hb_late_wants;

/** False without memory for it. */
bool hb_late_open(const hb_session *session, const hb_late_wants *wants);

/** Whether any session waits for reports. */
bool hb_late_reports_pending(void);

/** Keeps a report, of kind 0 or not, if it is such a session's. */
bool hb_late_take(const hb_record_work *work, enum hb_record_type type, size_t bytes);
/** It was one that is missing, or one that was expected. */
void hb_late_arrived(uint64_t work, bool certain);

/** What is still awaited; false: the session waits for nothing. `progress` moves with each report.
 */
bool hb_late_awaits(const hb_session *session, hb_late_wants *wants, uint64_t *progress);
/** It waits no longer. */
void hb_late_close(const hb_session *session);

/** The session's late reports, one after the other, until it is forgotten; `missing`: how many
 * never came. NULL: there are none. */
const char *hb_late_records(const hb_session *session, size_t *bytes, uint64_t *missing);
void hb_late_forget(const hb_session *session);

/** The oldest session that waits, or NULL. */
const hb_session *hb_late_first(void);

/** In a forked child. */
void hb_late_after_fork(void);

#endif
