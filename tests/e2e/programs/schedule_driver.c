/* SPDX-License-Identifier: MIT
 *
 * Runs profilers as told and tells what happened, for comparison with torch.profiler. Each line of
 * standard input is one profiler:
 *
 *     params WAIT WARMUP ACTIVE REPEAT SKIP_FIRST SKIP_FIRST_WAIT CALLS
 *     actions ACTIONS CALLS      a schedule function; one digit a step, NONE after the last
 *     none CALLS                 no schedule
 *
 * CALLS is made of s (start), . (step) and e (stop). The answer is one line: "invalid", or for each
 * call of the handler "CALL:STEP_NUM:ACTION:STEPS;", CALL being the index of the call that led to
 * it and STEPS the ProfilerStep numbers in its cycle, each followed by a comma.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/hipboard.h>

static int64_t call_index;

static hb_profiler_action scripted_action(int64_t step, void *context)
{
    const char *actions = context;
    return step < (int64_t)strlen(actions) ? (hb_profiler_action)(actions[step] - '0')
                                           : HB_ACTION_NONE;
}

static bool print_step(const hb_event *event, void *arg)
{
    int64_t number;
    (void)arg;
    if (sscanf(event->name, "ProfilerStep#%" SCNd64, &number) == 1) printf("%" PRId64 ",", number);
    return true;
}

static hb_result on_trace_ready(hb_profiler *prof, void *context)
{
    (void)context;
    printf("%" PRId64 ":%" PRId64 ":%d:", call_index, hb_profiler_step_num(prof),
           (int)hb_profiler_current_action(prof));
    hb_result result = hb_profiler_events(prof, print_step, NULL);
    printf(";");
    return result;
}

static void expect_ok(hb_result result)
{
    if (result == HB_OK) return;
    fprintf(stderr, "%s\n", hb_last_error());
    exit(1);
}

static void make_calls(hb_profiler *prof, const char *calls)
{
    for (call_index = 0; calls[call_index]; call_index++) {
        switch (calls[call_index]) {
        case 's': expect_ok(hb_profiler_start(prof)); break;
        case '.': expect_ok(hb_profiler_step(prof)); break;
        case 'e': expect_ok(hb_profiler_stop(prof)); break;
        }
    }
}

static void run(hb_schedule schedule, const char *calls)
{
    hb_profiler_options options = HB_PROFILER_OPTIONS_INIT;
    options.activities = HB_ACTIVITY_CPU;
    options.spool_dir = "";
    options.schedule = schedule;
    options.on_trace_ready = (hb_trace_handler){.fn = on_trace_ready};
    hb_profiler *prof = hb_profiler_create(&options);
    if (prof)
        make_calls(prof, calls);
    else
        printf("invalid");
    printf("\n");
    hb_profiler_destroy(prof);
}

int main(void)
{
    char line[1024], calls[512] = "", actions[512] = "";
    hb_schedule_params p;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line,
                   "params %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
                   " %511s",
                   &p.wait, &p.warmup, &p.active, &p.repeat, &p.skip_first, &p.skip_first_wait,
                   calls) == 7)
            run(hb_schedule_from(&p), calls);
        else if (sscanf(line, "actions %511s %511s", actions, calls) == 2)
            run(hb_schedule_from_function(scripted_action, actions), calls);
        else if (sscanf(line, "none %511s", calls) == 1)
            run((hb_schedule){0}, calls);
        else
            return 2;
    }
    return 0;
}
