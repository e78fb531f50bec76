/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file of another tool: read, described, made into a trace and into text. A target
 * is of one family of formats, whose names it defines as FORMATS before it includes this; inputs of
 * others are not kept. With TAKES_ANY defined it reads what no format claims, as `export` and
 * `convert` do.
 */
#ifndef HB_FUZZ_IMPORT_H
#define HB_FUZZ_IMPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "fuzz.h"
#include "import/import_set.h"
#include "io/out.h"
#include "write/write.h"

/* SQLite wants a file with a name. */
static const char *keep(const uint8_t *data, size_t size)
{
    static char path[64];
    if (!*path) {
        snprintf(path, sizeof path, "/tmp/hipboard-fuzz-XXXXXX");
        int fd = mkstemp(path);
        CHECK(fd >= 0);
        close(fd);
    }
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(data, 1, size, file) == size);
    fclose(file);
    return path;
}

static void write_one(hb_import *import, size_t index)
{
    hb_source *source;
    hb_memory_sink sink;
    hb_write_options options = {.trace_name = "fuzz"};
    if (hb_import_source(import, index, &source) != HB_OK) return;
    hb_memory_sink_init(&sink, 256 << 20);
    (void)hb_write_trace(source, &sink.sink, &options, NULL);
    hb_memory_sink_free(&sink);
    source->close(source);
}

static void look_at(hb_import *import)
{
    for (size_t i = 0; i < hb_import_count(import) && i < 4; i++) {
        hb_trace trace = {0};
        const hb_imported *p = hb_import_get(import, i);
        CHECK(p->linked <= p->kernels + p->copies);
        CHECK(p->start_ns <= p->end_ns);
        write_one(import, i);
        (void)hb_import_to_trace(import, i, &trace);
        hb_trace_free(&trace);
    }
}

static void import_by(const char *path, bool takes_any, const hb_import_options *options)
{
    hb_import *import;
    hb_result result = takes_any ? hb_import_open_any(path, options, &import)
                                 : hb_import_open(&path, 1, options, &import);
    if (result != HB_OK) return;
    look_at(import);
    hb_import_close(import);
}

static bool is_of_family(const hb_import_format *format)
{
    static const char *const names[] = {FORMATS};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(format->name, names[i]) == 0) return true;
    return false;
}

#ifdef TAKES_ANY
static const bool any = true;
#else
static const bool any = false;
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    const char *path = keep(data, size);
    const hb_import_format *format = hb_import_format_of(path);
    bool fits = format ? is_of_family(format) : any;
    if (fits) {
        import_by(path, !format, &o);
        o.rows = HB_IMPORT_BY_QUEUE;
        o.step_gap_ns = 1000;
        o.drop = "ranges";
        o.modules = o.kernel_operators = true;
        import_by(path, !format, &o);
    }
    remove(path);
    return fits ? 0 : -1;
}

#endif
