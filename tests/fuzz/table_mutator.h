/* SPDX-License-Identifier: MIT
 *
 * Changes of tables of comma-separated values that leave them tables: cells get other values or
 * those of other cells, rows are doubled, left out or moved, files get names. Fields that are
 * quoted are cut at their commas. Changed bytes mostly leave a name that no reader knows; they
 * remain one of four.
 */
#ifndef HB_FUZZ_TABLE_MUTATOR_H
#define HB_FUZZ_TABLE_MUTATOR_H

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

typedef struct table {
    char *text;
    size_t size, most;
    uint64_t random;
} table;

typedef struct span {
    size_t at, size;
} span;

static inline unsigned pick(table *t, size_t below)
{
    return fuzz_random(&t->random, below);
}

static inline void put(table *t, span where, const char *with, size_t size)
{
    if (t->size - where.size + size > t->most) return;
    size_t behind = where.at + where.size;
    memmove(t->text + where.at + size, t->text + behind, t->size - behind);
    memcpy(t->text + where.at, with, size);
    t->size = t->size - where.size + size;
}

/* What lies around a place, up to one of the characters on both sides. */
static inline span around(const table *t, size_t at, const char *ends)
{
    size_t begin = at, end = at;
    while (begin > 0 && !memchr(ends, t->text[begin - 1], strlen(ends)))
        begin--;
    while (end < t->size && !memchr(ends, t->text[end], strlen(ends)))
        end++;
    return (span){begin, end - begin};
}

static inline span any_cell(table *t)
{
    return around(t, pick(t, t->size), ",\n\f\v");
}

static inline span any_row(table *t)
{
    return around(t, pick(t, t->size), "\n\f\v");
}

/* The cell of another row in a cell's column; that one itself where the row has none. */
static inline span in_column_of(table *t, span cell)
{
    span row = around(t, cell.at, "\n\f\v"), other = any_row(t);
    size_t column = 0, at = other.at, end = other.at + other.size;
    for (size_t i = row.at; i < cell.at; i++)
        column += t->text[i] == ',';
    for (; column && at < end; at++)
        column -= t->text[at] == ',';
    return column ? cell : around(t, at, ",\n\f\v");
}

static inline void copy(table *t, span to, span from)
{
    char *text = malloc(from.size + 1);
    if (!text) return;
    memcpy(text, t->text + from.at, from.size);
    put(t, to, text, from.size);
    free(text);
}

static inline void put_text(table *t, span where, const char *text)
{
    put(t, where, text, strlen(text));
}

static inline void put_value(table *t, span cell)
{
    static const char *const values[] = {"",
                                         "0",
                                         "1",
                                         "2",
                                         "7",
                                         "33",
                                         "-1",
                                         "64",
                                         "100",
                                         "65536",
                                         "4294967295",
                                         "0x10",
                                         "1e3",
                                         "nan",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "1700000000000000000",
                                         "\"a\"\"b\"",
                                         "GPU 0",
                                         "GPU 1",
                                         "CPU 0",
                                         "Agent 1",
                                         "Agent 2",
                                         "GPU",
                                         "CPU",
                                         "gfx90a",
                                         "gfx1100",
                                         "HIP_RUNTIME_API",
                                         "MARKER_CORE_API",
                                         "HSA_CORE_API",
                                         "RCCL_API",
                                         "ALLOCATE",
                                         "FREE",
                                         "HOST_TO_DEVICE",
                                         "DEVICE_TO_HOST",
                                         "DEVICE_TO_DEVICE",
                                         "HOST_TO_HOST",
                                         "hipLaunchKernel",
                                         "hipMalloc",
                                         "hipGetLastError",
                                         "hipDeviceSynchronize",
                                         "step 3",
                                         "ProfilerStep#4",
                                         "a",
                                         "b",
                                         "a.kd",
                                         "enumerate(DataLoader)#x.__next__",
                                         "ncclAllReduce",
                                         "Kernel_Name",
                                         "Agent_Id",
                                         "Stream_Id",
                                         "Queue_Id",
                                         "Correlation_Id",
                                         "Start_Timestamp",
                                         "End_Timestamp",
                                         "Process_Id",
                                         "Guid",
                                         "Dispatch_Id",
                                         "Kernel_Id",
                                         "Thread_Id",
                                         "Counter_Name",
                                         "Counter_Value",
                                         "wgr",
                                         "Exec_Mask"};
    put_text(t, cell, values[pick(t, sizeof values / sizeof *values)]);
}

static inline void nudge(table *t, span cell)
{
    char text[32];
    size_t n = cell.size < 24 ? cell.size : 24;
    memcpy(text, t->text + cell.at, n);
    text[n] = 0;
    uint64_t number = (uint64_t)strtoll(text, NULL, 10);
    switch (pick(t, 5)) {
    case 0: number++; break;
    case 1: number--; break;
    case 2: number *= 1000; break;
    case 3: number /= 2; break;
    default: number += pick(t, 2000); break;
    }
    snprintf(text, sizeof text, "%lld", (long long)number);
    put_text(t, cell, text);
}

/* A file's, at the end of its part, where it may have had another. */
static inline void put_name(table *t)
{
    static const char *const begins[] = {"",        "7_",      "rank1_",     "run_0_",      "out/",
                                         "pass_1/", "pass_2/", "n.7.3/n/7_", "a.rank_2/x_", "8_"};
    static const char *const kinds[] = {"kernel_trace",       "hip_api_trace", "memory_copy_trace",
                                        "counter_collection", "agent_info",    "results"};
    static const char *const ends[] = {".csv", "_rank0.csv", ".csv.gz", "_3.csv", "-p2.csv", ""};
    char name[80];
    span part = around(t, pick(t, t->size), "\f");
    char *old = memchr(t->text + part.at, '\v', part.size);
    size_t end = part.at + part.size, at = old ? (size_t)(old - t->text) : end;
    snprintf(name, sizeof name, "\v%s%s%s", begins[pick(t, 10)], kinds[pick(t, 6)],
             ends[pick(t, 6)]);
    put_text(t, (span){at, end - at}, name);
}

static inline void change_rows(table *t, unsigned how)
{
    span row = any_row(t), other = any_row(t);
    bool last = row.at + row.size >= t->size;
    span whole = {row.at, row.size + !last}, before = {other.at, 0};
    if (how == 0)
        put(t, whole, "", 0);
    else if (how == 1)
        copy(t, (span){row.at, 0}, whole);
    else if (how == 2)
        copy(t, other, row);
    else
        copy(t, before, whole);
}

static inline void change_once(table *t)
{
    span cell = any_cell(t);
    unsigned how = pick(t, 16);
    if (how < 4)
        put_value(t, cell);
    else if (how < 6)
        copy(t, cell, any_cell(t));
    else if (how < 8)
        copy(t, cell, in_column_of(t, cell));
    else if (how < 11)
        nudge(t, cell);
    else if (how < 15)
        change_rows(t, how - 11);
    else
        put_name(t);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    table t = {.text = (char *)data, .size = size, .most = max_size, .random = seed / 4};
    if (seed % 4 == 0 || size < 20) return LLVMFuzzerMutate(data, size, max_size);
    for (unsigned n = 1 + pick(&t, 4); n > 0 && t.size > 1; n--)
        change_once(&t);
    return t.size ? t.size : 1;
}

#endif
#endif
