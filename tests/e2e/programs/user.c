/* SPDX-License-Identifier: MIT
 *
 * A user's program, outside the tree: user FILE writes one trace to FILE.
 */
#include <stdio.h>

#include <hipboard/hipboard.h>

static void work(void)
{
    HB_RECORD_FUNCTION("outer") {
        HB_RECORD_FUNCTION_NAMED("inner") {
            puts("working");
        }
    }
}

static hb_result trace(hb_profiler *prof, const char *path)
{
    hb_result result = hb_profiler_start(prof);
    if (result != HB_OK) return result;
    work();
    result = hb_profiler_stop(prof);
    if (result != HB_OK) return result;
    return hb_export_chrome_trace(prof, path, HB_DIALECT_KINETO);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    hb_profiler_options options = HB_PROFILER_OPTIONS_INIT;
    hb_profiler *prof = hb_profiler_create(&options);
    hb_result result = trace(prof, argv[1]);
    if (result != HB_OK) fprintf(stderr, "%s\n", hb_last_error());
    hb_profiler_destroy(prof);
    return result != HB_OK;
}
