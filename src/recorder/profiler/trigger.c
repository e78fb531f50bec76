/* SPDX-License-Identifier: MIT */
#include "profiler/trigger.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/control.h"
#include "profiler/schedule.h"

/* ---- options ---- */

static bool has_triggers(const hb_profiler_options *o)
{
    return o->trigger_signal || o->trigger_slow_step || o->trigger_hip_errors ||
           o->trigger_metric || o->control_file;
}

hb_result hb_trigger_check(const hb_profiler_options *o)
{
    hb_alarm_limit limit;
    HB_TRY(hb_ring_check(o));
    if (!hb_demand_wanted(o))
        return has_triggers(o)
                   ? hb_fail(HB_ERROR_INVALID_ARGUMENT,
                             "trigger_... and control_file are of use with on_demand or ring_... "
                             "only")
                   : HB_OK;
    if (hb_schedule_given(&o->schedule))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "%s; leave the schedule out",
                       o->on_demand ? "on_demand: requests say which steps are recorded"
                                    : "ring_...: all steps are recorded");
    if (o->trigger_slow_step && o->trigger_slow_step <= 100)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "trigger_slow_step %u: percent of the median step, over 100; 300 is three "
                       "times as long",
                       o->trigger_slow_step);
    if (o->trigger_metric && !hb_alarm_limit_parse(o->trigger_metric, &limit))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "trigger_metric \"%s\": expected NAME > NUMBER or NAME < NUMBER",
                       o->trigger_metric);
    return HB_OK;
}

hb_result hb_trigger_take_options(hb_profiler *prof, const hb_profiler_options *o)
{
    if (o->trigger_metric) (void)hb_alarm_limit_parse(o->trigger_metric, &prof->trigger_metric);
    prof->options.trigger_metric = prof->options.control_file = NULL;
    if (o->control_file && !(prof->control_file = strdup(o->control_file))) return hb_no_memory();
    HB_TRY(hb_ring_init(prof));
    return hb_retention_init(&prof->retention, o->max_cycles, o->max_disk_bytes);
}

/* ---- slow steps ---- */

/* "1.25 s", "3.40 ms", in whole numbers. */
static void put_time(char text[32], int64_t ns)
{
    static const struct {
        int64_t ns;
        const char *unit;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
    size_t i = 0;
    while (i + 1 < HB_ARRAY_LEN(units) && ns < units[i].ns)
        i++;
    int64_t hundredths = ns / (units[i].ns / 100);
    snprintf(text, 32, "%lld.%02lld %s", (long long)(hundredths / 100),
             (long long)(hundredths % 100), units[i].unit);
}

void hb_trigger_step(hb_profiler *prof)
{
    int64_t took, median;
    char text[HB_ALARM_REASON], long_text[32], median_text[32];
    unsigned percent = prof->options.trigger_slow_step;
    if (!percent || !hb_slow_steps_next(&prof->slow_steps, hb_clock_ns(CLOCK_MONOTONIC), percent,
                                        &took, &median))
        return;
    put_time(long_text, took);
    put_time(median_text, median);
    snprintf(text, sizeof text, "step %lld took %s, the median is %s",
             (long long)hb_step_number(prof), long_text, median_text);
    hb_control_alarm(prof, text);
}

/* ---- the program itself ---- */

hb_result hb_profiler_dump(hb_profiler *prof, const char *reason)
{
    if (!prof || prof->pid != getpid() ||
        !hb_control_alarm(prof, reason ? reason : "hb_profiler_dump()"))
        return HB_ERROR_STATE; /* without a text: this may be in a signal handler */
    return HB_OK;
}
