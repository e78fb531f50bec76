/* SPDX-License-Identifier: MIT
 *
 * stacks LOGDIR: records scopes with their call stacks; then, with a second argument, waits to be
 * killed.
 */
#include <hipboard/hipboard.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static void layer(void)
{
    HB_RECORD_FUNCTION("layer") { __asm__ volatile(""); }
}

__attribute__((noinline)) static void model(void)
{
    layer();
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.with_stack = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], "w", HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) return 1;
    model();
    while (argc > 2)
        pause();
    return hb_profiler_stop(prof) == HB_OK ? 0 : 1;
}
