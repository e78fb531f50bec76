/* SPDX-License-Identifier: MIT
 *
 * Where a trace departs from what the plugin needs. Two kinds of rules: those that look at one
 * event as it stands in the text, and those that need the whole trace.
 */
#ifndef HB_CHECK_CHECK_H
#define HB_CHECK_CHECK_H

#include "logdir/logdir.h"

/* key, effect, text */
#define HB_RULE_MAP(X)                                                                             \
    X(LOST, FILE_LOST, "the plugin loses the file here")                                           \
    X(NAME, FILE_LOST, "no name that is a string")                                                 \
    X(CATEGORY, FILE_LOST, "a complete event without a category that is a string")                 \
    X(ARGS, FILE_LOST, "args is no object")                                                        \
    X(TS, FILE_LOST, "ts is no number")                                                            \
    X(DUR, FILE_LOST, "dur is no number")                                                          \
    X(TID, FILE_LOST, "tid of a call is no integer")                                               \
    X(MEMORY_X, FILE_LOST, "a complete event of category memory; records are instants")            \
    X(STEP_NUMBER, FILE_LOST, "ProfilerStep# without a number")                                    \
    X(DEVICE, FILE_LOST, "a kernel's device is no integer below 64")                               \
    X(RATIO, FILE_LOST, "blocks per SM or est. achieved occupancy % is no number")                 \
    X(BYTES, FILE_LOST, "Bytes or Total Allocated is no number")                                   \
    X(FLOW, FILE_LOST, "a forward_backward flow without id or ts")                                 \
    X(PIDS, FILE_LOST, "pids of device events are both numbers and texts")                         \
    X(INPUT_TYPE, RUN_LOST, "a collective's Input Dims without as many types in Input type")       \
    X(DEEP, RUN_LOST, "calls nested so deeply that the plugin never finishes loading the run")     \
    X(RUNTIME_CATEGORY, WRONG,                                                                     \
      "calls of a category that the plugin ignores: operators have no device time")                \
    X(SCOPE_CATEGORY, WRONG, "a data loader, optimizer or DDP scope that is no cpu_op: ignored")   \
    X(GPU_STEP, WRONG, "a step among the GPU annotations: the plugin counts it as one more")       \
    X(MEMORY_TYPE, WRONG,                                                                          \
      "Device Type is neither 0 nor 1: the memory curve and events answer with an error")          \
    X(MEMORY_ADDR, WRONG, "a memory record without Addr: missing from the curve and events")       \
    X(COLLECTIVE, WRONG, "a collective that the plugin does not know: no Distributed view of it")  \
    X(CROSSING, WRONG, "a scope that crosses the end of another: in no table")                     \
    X(NO_CALL, WRONG, "device work whose call is not there: no operator gets its time")            \
    X(NO_OPERATOR, WRONG,                                                                          \
      "a call of device work with the id of no operator: nobody gets its time")                    \
    X(WRONG_OPERATOR, WRONG,                                                                       \
      "a call with its own correlation for an id, which is another operator's: that gets its "     \
      "time")                                                                                      \
    X(DOUBLE_ID, WRONG, "an External id that an operator before has: that one gets all the calls") \
    X(DEVICE_PID, WRONG, "pid and device of device work differ: it is counted for two devices")    \
    X(SHARED_TID, WRONG, "a tid that another process has as well: one tree is made of both")       \
    X(BRACKET, WRONG, "a bracket behind traceEvents breaks the Trace view of GPU runs")            \
    X(FLOWS, NOTE, "forward_backward flows: only complete ones do no harm")                        \
    X(ANNOTATION, NOTE, "a user annotation: the plugin draws it and counts it nowhere")            \
    X(ROUNDED, NOTE, "times so large that their fractions are rounded to a quarter")

typedef enum hb_rule {
#define HB_RULE_ENUM(id, effect, text) HB_RULE_##id,
    HB_RULE_MAP(HB_RULE_ENUM)
#undef HB_RULE_ENUM
        HB_RULE_COUNT
} hb_rule;

typedef bool hb_check_fn(void *context, const hb_violation *finding);

typedef struct hb_checker {
    const hb_profile *profile; /* as the plugin read it */
    uint64_t *marks;           /* bits of rules, by event: what only the whole trace tells */
    uint32_t num_marks;
    hb_check_fn *fn;
    void *context;
    bool stopped;
    uint32_t walked;     /* events from here on need a name */
    uint32_t lost_event; /* where the file is lost; HB_NO_ROW: nowhere, or not at an event */
    bool lost_told;
    uint8_t pid_tag; /* of the device events so far: enum hb_json, HB_JSON_NONE */
    bool rounded_told;
} hb_checker;

_Static_assert(HB_RULE_COUNT <= 64, "one bit a rule");

/** One file; as hb_check(). */
hb_result hb_check_trace(const char *path, const hb_open_options *options, hb_check_fn *fn,
                         void *context);

/** The rules that an event breaks by itself, as bits. */
uint64_t hb_check_event(hb_checker *check, const hb_raw_event *raw);

/** Fills check->marks. HB_ERROR_NO_MEMORY or HB_OK. */
hb_result hb_check_whole(hb_checker *check);

#endif
