/* SPDX-License-Identifier: MIT
 *
 * For tests of recording: a session in a still spool in the test's own directory. Who includes this
 * has a begin() and an end() around each test, which call those here.
 */
#ifndef HB_TEST_STILL_SESSION_H
#define HB_TEST_STILL_SESSION_H

#include "still_spool.h"
#include "test_dir.h"

static hb_spool *spool;
static hb_session *session;

static inline int begin_session(uint64_t bytes, uint32_t flags)
{
    if (make_dir(NULL)) return -1;
    spool = still_spool(dir, bytes);
    session = begin_in(spool, flags);
    forget_losses();
    return 0;
}

static inline int end_session(void)
{
    end_in_spool(spool, session);
    close_test_spool(spool);
    return remove_dir(NULL);
}

#define IN_SESSION(name) cmocka_unit_test_setup_teardown(name, begin, end)

static inline uint64_t lost(enum hb_lost_cause cause)
{
    return hb_session_lost_of(session, cause);
}

#endif
