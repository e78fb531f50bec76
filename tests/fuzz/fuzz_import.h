/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file of another tool: read, described, made into a trace and into text. A target
 * is of one family of formats, whose names it defines as FORMATS before it includes this; inputs of
 * others are not kept. FILES may name some that lie beside each other, unless the input names them.
 * With TAKES_ANY defined it reads what no format claims, as `export` and `convert` do.
 */
#ifndef HB_FUZZ_IMPORT_H
#define HB_FUZZ_IMPORT_H

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "fuzz_dir.h"
#include "import/import_set.h"
#include "io/out.h"
#include "not_told.h"
#include "write/pftrace.h"
#include "write/write.h"

#ifndef FILES
#define FILES "file"
#endif

/* Of an input each part, up to the next form feed, is a file; the last one takes the rest. A name
 * of its own may follow, behind a vertical tab. */
static const char *const files[] = {FILES};
enum { MOST_FILES = sizeof files / sizeof *files, FILE_NAME_MOST = 90 };
static char paths[MOST_FILES][64 + FILE_NAME_MOST + 1];

/* Names lead out of no directory, and are of what tools put into theirs. */
static void make_name(char *name, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool begins = i == 0 || name[i - 1] == '/', ends = i + 1 == n;
        bool fits = isalnum(from[i]) || from[i] == '_' || from[i] == '-' ||
                    (from[i] == '.' && !begins) || (from[i] == '/' && !begins && !ends);
        name[i] = fits ? (char)from[i] : '_';
    }
    name[n] = 0;
}

static void make_directories(char *path)
{
    for (char *p = path + strlen(fuzz_dir()) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        (void)mkdir(path, 0700);
    }
}

/* Those that are empty. */
static void remove_directories(char *path)
{
    for (char *slash; (slash = strrchr(path, '/')) > path + strlen(fuzz_dir());) {
        *slash = 0;
        (void)rmdir(path);
    }
}

/* False: another file has the name of one of its directories, or the other way round. */
static bool write_file(char *path, const uint8_t *data, size_t size)
{
    make_directories(path);
    FILE *file = fopen(path, "wb");
    if (!file && (errno == EISDIR || errno == ENOTDIR)) return false;
    CHECK(file != NULL);
    CHECK(fwrite(data, 1, size, file) == size);
    fclose(file);
    return true;
}

static bool write_part(int n, const uint8_t *data, size_t size)
{
    char name[FILE_NAME_MOST + 1];
    const uint8_t *own = MOST_FILES > 1 && size ? memrchr(data, '\v', size) : NULL;
    size_t length = own ? (size_t)(data + size - own) - 1 : 0;
    bool named = length > 0 && length <= FILE_NAME_MOST;
    if (named) make_name(name, own + 1, length);
    snprintf(paths[n], sizeof paths[n], "%s/%s", fuzz_dir(), named ? name : files[n]);
    return write_file(paths[n], data, named ? (size_t)(own - data) : size);
}

/* How many. */
static int write_files(const uint8_t *data, size_t size)
{
    int n = 0;
    for (const uint8_t *end = data + size; n == 0 || data < end;) {
        size_t rest = (size_t)(end - data);
        const uint8_t *next = n < MOST_FILES - 1 && rest ? memchr(data, '\f', rest) : NULL;
        n += write_part(n, data, next ? (size_t)(next - data) : rest);
        data = next ? next + 1 : end;
    }
    return n;
}

static void remove_files(int n)
{
    for (int i = 0; i < n; i++)
        (void)unlink(paths[i]);
    for (int i = 0; i < n; i++)
        remove_directories(paths[i]);
}

/* All threads by time, as exports read them. */
static void read_timeline(hb_source *source)
{
    hb_trace_event event;
    int64_t last = INT64_MIN;
    if (source->begin(source, HB_PASS_TIMELINE) != HB_OK) return;
    while (source->next(source, &event)) {
        CHECK(event.start_ns >= last);
        last = event.start_ns;
    }
}

static void write_one(hb_import *import, size_t index, bool perfetto)
{
    hb_source *source;
    hb_memory_sink sink;
    hb_pftrace_stats stats;
    hb_write_options options = {.trace_name = "fuzz"};
    if (hb_import_source(import, index, &source) != HB_OK) return;
    hb_memory_sink_init(&sink, 256 << 20);
    if (perfetto)
        (void)hb_write_pftrace(source, &sink.sink, &stats);
    else
        (void)hb_write_trace(source, &sink.sink, &options, NULL);
    hb_memory_sink_free(&sink);
    read_timeline(source);
    source->close(source);
}

static void look_at(hb_import *import, bool perfetto)
{
    for (size_t i = 0; i < hb_import_count(import) && i < 4; i++) {
        hb_trace trace = {0};
        const hb_imported *p = hb_import_get(import, i);
        CHECK(p->linked <= p->kernels + p->copies);
        CHECK(p->start_ns <= p->end_ns);
        write_one(import, i, perfetto);
        (void)hb_import_to_trace(import, i, &trace);
        hb_trace_free(&trace);
    }
}

static void import_by(const char *path, bool takes_any, const hb_import_options *options,
                      bool perfetto)
{
    hb_import *import;
    hb_result result = takes_any ? hb_import_open_any(path, options, &import)
                                 : hb_import_open(&path, 1, options, &import);
    if (result != HB_OK) return;
    look_at(import, perfetto);
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

/* Each file of a set: what lies beside the first is read, too. What nobody claims is none's. */
static bool are_of_family(int n)
{
    const hb_import_format *format = hb_import_format_of(paths[0]);
    bool fits = format ? is_of_family(format) : any;
    for (int i = 1; fits && i < n; i++) {
        format = hb_import_format_of(paths[i]);
        fits = !format || is_of_family(format);
    }
    return fits;
}

/* What the second import is asked: half of the inputs for the most at once, the others for what
 * does not go with that. Which an input is of its bytes tell. */
static hb_import_options options_by(uint32_t hash)
{
    static const char *const drops[] = {"hip", "hsa,rccl", "copies,memory", "counters,hip", NULL};
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    o.modules = o.kernel_operators = true;
    if (hash % 2 == 0) {
        o.rows = HB_IMPORT_BY_QUEUE;
        o.step_gap_ns = 1000;
        o.drop = "ranges";
        return o;
    }
    hash /= 2;
    o.rows = hash % 3 == 0 ? HB_IMPORT_BY_STREAM : HB_IMPORT_BY_COUNT;
    hash /= 3;
    o.drop = drops[hash % 5];
    hash /= 5;
    if (hash % 4 == 0) o.step = "step";
    if (hash % 4 == 1) o.step_launch = "hipLaunchKernel";
    if (hash / 4 % 2) o.end_time_ns = 1700000000000000000;
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    uint32_t whole = fuzz_hash(data, size), hash = whole ^ whole >> 16;
    int n = write_files(data, size);
    const char *path = paths[0];
    const hb_import_format *format = hb_import_format_of(path);
    bool fits = are_of_family(n);
    if (fits) {
        import_by(path, !format, &o, false);
        o = options_by(hash);
        import_by(format && hash % 8 == 7 ? fuzz_dir() : path, !format, &o, hash % 4 == 1);
    }
    remove_files(n);
    return fits ? 0 : -1;
}

#endif
