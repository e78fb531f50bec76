/* SPDX-License-Identifier: MIT */
#include "replay/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

typedef struct window {
    hb_source base;
    hb_source *inner;
    hb_trace_info info;
    int64_t from_ns;
    char seconds[32]; /* JSON */
    hb_metadata metadata[];
} window;

static hb_result begin(hb_source *source, hb_pass pass)
{
    window *w = (window *)source;
    return w->inner->begin(w->inner, pass);
}

/* What ends as the window begins is before it: the step before the first one. */
static bool next(hb_source *source, hb_trace_event *event)
{
    window *w = (window *)source;
    while (w->inner->next(w->inner, event))
        if (event->start_ns >= w->from_ns || event->end_ns > w->from_ns) return true;
    return false;
}

static void source_close(hb_source *source)
{
    window *w = (window *)source;
    w->inner->close(w->inner);
    free(w);
}

/* In whole numbers, which no locale changes. */
static void put_seconds(window *w)
{
    uint64_t ms = (uint64_t)(w->info.stop_ns - w->info.start_ns) / 1000000;
    snprintf(w->seconds, sizeof w->seconds, "%llu.%03llu", (unsigned long long)(ms / 1000),
             (unsigned long long)(ms % 1000));
}

hb_result hb_window_open(hb_source **source, int64_t from_ns)
{
    const hb_trace_info *info = (*source)->info;
    size_t had = info->num_metadata;
    window *w = malloc(sizeof *w + (had + 1) * sizeof *w->metadata);
    if (!w) {
        (*source)->close(*source);
        return hb_no_memory();
    }
    *w = (window){{&w->info, begin, next, source_close}, *source, *info, from_ns, ""};
    w->info.start_ns = HB_MIN(HB_MAX(info->start_ns, from_ns), info->stop_ns);
    put_seconds(w);
    if (had) memcpy(w->metadata, info->metadata, had * sizeof *w->metadata);
    w->metadata[had] = (hb_metadata){HB_METADATA_RING, w->seconds};
    w->info.metadata = w->metadata;
    w->info.num_metadata = had + 1;
    *source = &w->base;
    return HB_OK;
}
