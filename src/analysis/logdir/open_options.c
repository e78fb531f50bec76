/* SPDX-License-Identifier: MIT */
#include "logdir/open_options.h"

hb_result hb_open_options_take(const hb_open_options *from, hb_open_options *to)
{
    *to = (hb_open_options)HB_OPEN_OPTIONS_INIT;
    return hb_options_take(from, to, sizeof *to, "HB_OPEN_OPTIONS_INIT");
}

bool hb_file_progress_report(void *context, uint64_t bytes, uint64_t total)
{
    const hb_file_progress *p = context;
    return p->options->progress(p->options->context, p->path, bytes, total);
}
