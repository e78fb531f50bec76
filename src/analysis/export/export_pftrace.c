/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "export/exporter.h"
#include "io/publish.h"
#include "write/pftrace.h"

typedef struct pftrace {
    hb_exporter base;
    hb_publish publish;
} pftrace;

static hb_result add(hb_exporter *exporter, hb_source *source, hb_export_counts *counts)
{
    pftrace *p = (pftrace *)exporter;
    hb_pftrace_stats stats;
    hb_result result = hb_write_pftrace(source, &p->publish.sink, &stats);
    counts->events += stats.events;
    counts->notes[HB_EXPORT_INPUTS] += stats.inputs;
    counts->notes[HB_EXPORT_MODULES] += stats.modules;
    counts->notes[HB_EXPORT_FLOWS] += stats.flows;
    return result;
}

static uint64_t size(hb_exporter *exporter)
{
    return ((pftrace *)exporter)->publish.bytes;
}

static hb_result finish(hb_exporter *exporter)
{
    return hb_publish_commit(&((pftrace *)exporter)->publish);
}

static void close_file(hb_exporter *exporter)
{
    hb_publish_free(&((pftrace *)exporter)->publish);
    free(exporter);
}

hb_result hb_export_to_pftrace(const char *output, bool replace, hb_exporter **exporter)
{
    pftrace *p = calloc(1, sizeof *p);
    if (!p) return hb_no_memory();
    p->base = (hb_exporter){add, size, finish, close_file};
    hb_result result = hb_publish_open(&p->publish, output, replace);
    if (result == HB_OK)
        *exporter = &p->base;
    else
        close_file(&p->base);
    return result;
}
