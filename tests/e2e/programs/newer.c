/* SPDX-License-Identifier: MIT
 *
 * What a program of a later release does: its options have one more member, which is left out or,
 * with an argument, set.
 */
#include <stdio.h>

#include <hipboard/compare.h>
#include <hipboard/convert.h>
#include <hipboard/event_log.h>

static int failed;

/* `type` as it will be; `call` is made with `options`. */
#define TRY(type, init, good, call)                                                               \
    do {                                                                                          \
        struct {                                                                                  \
            type now;                                                                             \
            uint64_t added;                                                                       \
        } newer = {init, argc > 1};                                                               \
        const type *options = &newer.now;                                                         \
        newer.now.struct_size = sizeof newer;                                                     \
        bool works = (call);                                                                      \
        if (works != (good)) {                                                                    \
            fprintf(stderr, "%s: %s: %s\n", #type, works ? "taken" : "refused", hb_last_error()); \
            failed = 1;                                                                           \
        }                                                                                         \
    } while (0)

static bool makes_profiler(const hb_profiler_options *options)
{
    hb_profiler *prof = hb_profiler_create(options);
    hb_profiler_destroy(prof);
    return prof != NULL;
}

static bool makes_log(const hb_event_log_options *options)
{
    hb_event_log *log = hb_event_log_open("log", options);
    return log && hb_event_log_close(log) == HB_OK;
}

/* Whatever the call comes to for another reason. */
static bool is_taken(hb_result result)
{
    return result != HB_ERROR_UNSUPPORTED;
}

int main(int argc, char **argv)
{
    (void)argv;
    bool good = argc == 1;
    const char *paths[] = {"none.json", "neither.json"};
    hb_trace_file *file;
    hb_conversion *conversion;
    hb_comparison *comparison;
    TRY(hb_profiler_options, HB_PROFILER_OPTIONS_INIT, good, makes_profiler(options));
    TRY(hb_event_log_options, HB_EVENT_LOG_OPTIONS_INIT, good, makes_log(options));
    TRY(hb_trigger_options, HB_TRIGGER_OPTIONS_INIT, good,
        is_taken(hb_trigger_process(0, NULL, options, false, NULL, 0)));
    TRY(hb_open_options, HB_OPEN_OPTIONS_INIT, good,
        is_taken(hb_trace_file_open("none.json", options, &file)));
    TRY(hb_convert_options, HB_CONVERT_OPTIONS_INIT, good,
        is_taken(hb_convert("none.json", ".", "x", options, &conversion)));
    TRY(hb_compare_options, HB_COMPARE_OPTIONS_INIT, good,
        is_taken(hb_compare(paths, 2, options, &comparison)));
    return failed;
}
