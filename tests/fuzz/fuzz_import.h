/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file of another tool: read, described, made into a trace and into text. A target
 * is of one family of formats, whose names it defines as FORMATS before it includes this; inputs of
 * others are not kept. FILES may name some that lie beside each other. With TAKES_ANY defined it
 * reads what no format claims, as `export` and `convert` do.
 */
#ifndef HB_FUZZ_IMPORT_H
#define HB_FUZZ_IMPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "fuzz_dir.h"
#include "import/import_set.h"
#include "io/out.h"
#include "write/write.h"

#ifndef FILES
#define FILES "file"
#endif

/* Of an input each part, up to the next form feed, is a file; the last one takes the rest. */
static const char *const files[] = {FILES};
enum { MOST_FILES = sizeof files / sizeof *files };
static char paths[MOST_FILES][128];

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(data, 1, size, file) == size);
    fclose(file);
}

/* How many. */
static int write_files(const uint8_t *data, size_t size)
{
    int n = 0;
    for (const uint8_t *end = data + size; n == 0 || data < end;) {
        size_t rest = (size_t)(end - data);
        const uint8_t *next = n < MOST_FILES - 1 && rest ? memchr(data, '\f', rest) : NULL;
        snprintf(paths[n], sizeof paths[n], "%s/%s", fuzz_dir(), files[n]);
        write_file(paths[n++], data, next ? (size_t)(next - data) : rest);
        data = next ? next + 1 : end;
    }
    return n;
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
    int n = write_files(data, size);
    const char *path = paths[0];
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
    while (n)
        (void)unlink(paths[--n]);
    return fits ? 0 : -1;
}

#endif
