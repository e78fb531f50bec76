/* SPDX-License-Identifier: MIT */
#include "import/import_read.h"

#include "base/large_memory.h"

/* A reader's progress, of an import. */
static bool pass_on(void *context, const char *path, uint64_t done, uint64_t size)
{
    const hb_read_options *o = context;
    (void)path;
    return !o->progress || o->progress(o->context, done, size);
}

static hb_result import_one(const char *path, size_t process, const hb_read_options *options,
                            hb_trace *trace)
{
    hb_import *import;
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    o.progress = pass_on;
    o.context = (void *)(uintptr_t)options;
    HB_TRY(hb_import_open(&path, 1, &o, &import));
    hb_result result = HB_OK;
    if (process >= hb_import_count(import))
        result = hb_fail(HB_ERROR_NOT_FOUND, "%s: no process %zu: it has %zu", path, process,
                         hb_import_count(import));
    if (result == HB_OK) result = hb_import_to_trace(import, process, trace);
    hb_import_close(import);
    return result;
}

hb_result hb_import_read(const char *path, size_t process, const hb_read_options *options,
                         hb_trace *trace, hb_read_report *report)
{
    if (!hb_import_format_of(path)) return hb_read_trace(path, options, trace, report);
    *trace = (hb_trace){0};
    *report = (hb_read_report){0};
    HB_TRY(hb_large_use_disk());
    return import_one(path, process, options, trace);
}

hb_result hb_import_processes(const char *path, size_t *count)
{
    hb_import *import;
    *count = 1;
    if (!hb_import_format_of(path)) return HB_OK;
    HB_TRY(hb_import_open(&path, 1, NULL, &import));
    *count = hb_import_count(import);
    hb_import_close(import);
    return HB_OK;
}
