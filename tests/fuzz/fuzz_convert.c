/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a trace that is converted. What a conversion writes can be read by a strict reader,
 * and needs no other conversion.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hipboard/convert.h>
#include <hipboard/import.h>

#include "fuzz_dir.h"
#include "json_mutator.h"
#include "one_way.h"
#include "read/json_reader.h"

/* Any machine is one of a single processor: a trace is read by one thread, so that an input reaches
 * the same wherever it is tried. `read` asks what several threads read. */
int sched_getaffinity(pid_t process, size_t size, cpu_set_t *cpus)
{
    (void)process;
    memset(cpus, 0, size);
    CPU_SET(0, cpus);
    return 0;
}

static void read_strictly(const char *path)
{
    hb_trace trace;
    static hb_read_report report;
    hb_read_options options = {.strict = true, .check_na = true, .max_bytes = 256 << 20};
    CHECK(hb_read_trace(path, &options, &trace, &report) == HB_OK);
    hb_trace_free(&trace);
}

/* A second conversion finds nothing to do. */
static void convert_again(const char *path)
{
    hb_convert_options options = HB_CONVERT_OPTIONS_INIT;
    hb_conversion *conversion;
    options.replace = true;
    CHECK(hb_convert(path, fuzz_dir(), "again", &options, &conversion) == HB_OK);
    for (size_t i = 0; i < conversion->num_notes; i++)
        CHECK(conversion->notes[i].unknown);
    for (size_t i = 0; i < conversion->num_paths; i++)
        unlink(conversion->paths[i]);
    hb_conversion_free(conversion);
}

static void convert(const char *path, const hb_convert_options *options, bool plain)
{
    hb_conversion *conversion;
    if (hb_convert(path, fuzz_dir(), "once", options, &conversion) != HB_OK) return;
    for (size_t i = 0; i < conversion->num_paths; i++) {
        read_strictly(conversion->paths[i]);
        if (plain) convert_again(conversion->paths[i]);
        unlink(conversion->paths[i]);
    }
    hb_conversion_free(conversion);
}

enum way {
    PLAIN,
    SIZED,
    KINETO,
    FOUND,
    FOUND_APART,
    STEPS,
    TIMES,
    TIMED,
    SHIFTED,
    UNSHIFTED,
    SHIFTED_ANEW,
    WAYS
};

static void choose(hb_convert_options *o, enum way way, size_t size)
{
    static const hb_time_shift shift = {1000, -1500, 2000000, 5, 3};
    o->replace = true;
    o->kineto = way == KINETO || way == FOUND_APART;
    o->max_size = way == SIZED ? size / 3 + 1 : 0;
    o->find_steps = way == FOUND || way == FOUND_APART;
    o->split_steps = way == FOUND_APART ? 2 : 0;
    if (way == STEPS) o->first_step = 1;
    if (way == STEPS) o->last_step = 2;
    o->start_us = way == TIMES ? 20 : 0;
    o->end_us = way == TIMES ? 300 : 0;
    o->split_us = way == TIMED ? 200 : 0;
    o->gzip = way == TIMES;
    o->shift = way == SHIFTED || way == SHIFTED_ANEW ? &shift : NULL;
    o->undo_shift = way == UNSHIFTED || way == SHIFTED_ANEW;
}

static void convert_all_ways(const char *path, size_t size)
{
    for (int way = 0; way < WAYS; way++) {
        hb_convert_options options = HB_CONVERT_OPTIONS_INIT;
        if (!asks_way(0, (uint32_t)way, WAYS)) continue;
        choose(&options, (enum way)way, size);
        convert(path, &options, way == PLAIN);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    begin_input(data, size);
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!hb_import_knows(path)) convert_all_ways(path, size); /* that has targets of its own */
    close(fd);
    return 0;
}
