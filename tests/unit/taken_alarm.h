/* SPDX-License-Identifier: MIT
 *
 * For tests of alarms: one that is the test's own, taken and given back around it.
 */
#ifndef HB_TEST_TAKEN_ALARM_H
#define HB_TEST_TAKEN_ALARM_H

#include "record/alarm.h"

static hb_alarm *a;

static inline int take(void **state)
{
    (void)state;
    a = hb_alarm_take();
    return a ? 0 : 1;
}

static inline int give(void **state)
{
    (void)state;
    hb_alarm_give(a);
    return 0;
}

#endif
