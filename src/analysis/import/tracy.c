/* SPDX-License-Identifier: MIT
 *
 * What tracy-csvexport -u writes: a row for each zone, with its time since the program's start. It
 * does not quote: a zone's name may have commas in it, as a function of C++.
 */
#include <stdlib.h>

#include "import/csv_rows.h"
#include "import/import_set.h"

/* The columns that follow the name, in this order; behind them may be others. */
enum tracy_column { T_NAME, T_FILE, T_LINE, T_START, T_DURATION, T_THREAD, T_COUNT };

static const char *const columns[] = {"name",           "src_file",     "src_line",
                                      "ns_since_start", "exec_time_ns", "thread"};

/* "0x" is no number of theirs. */
static bool is_number(hb_str field)
{
    for (uint32_t i = 0; i < field.len; i++)
        if (field.s[i] < '0' || field.s[i] > '9') return false;
    return field.len > 0;
}

/* How many fields the name takes; 0: it is no row of the table. The first place counts at which
 * line, start, duration and thread are numbers. */
static uint32_t fields_of_name(const hb_csv *csv)
{
    for (uint32_t n = 1; n + T_THREAD <= csv->count; n++) {
        bool all = true;
        for (uint32_t i = T_LINE; i <= T_THREAD; i++)
            all &= is_number(csv->fields[n - 1 + i]);
        if (all) return n;
    }
    return 0;
}

/* The fields with the commas between them, where they lie as they were written. */
static hb_str name_of(const hb_csv *csv, uint32_t fields)
{
    hb_str first = csv->fields[0], last = csv->fields[fields - 1];
    const char *begin = csv->text.data, *end = begin + csv->text.size;
    if (fields == 1) return first;
    bool here = first.s >= begin && last.s >= first.s && last.s + last.len <= end;
    return here ? (hb_str){first.s, (uint32_t)(last.s + last.len - first.s)} : (hb_str){"", 0};
}

static void add_zone(hb_import *import, hb_import_process *p, const hb_csv *csv)
{
    uint32_t n = fields_of_name(csv);
    hb_str name = n ? name_of(csv, n) : (hb_str){"", 0};
    if (!name.len) {
        p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    int64_t start = hb_csv_int(csv, (int)n - 1 + T_START);
    int64_t duration = hb_csv_int(csv, (int)n - 1 + T_DURATION), end;
    if (hb_import_drops(import, p, HB_IMPORT_RANGES)) return;
    if (__builtin_add_overflow(start, duration, &end)) end = INT64_MAX;
    if (!hb_import_times(&p->rows, start, &end)) return;
    hb_import_host *zone = hb_import_push(&import->arena, &p->rows.scopes);
    *zone = (hb_import_host){
        .start = start,
        .end = end,
        .name = hb_import_text(&import->arena, &p->rows, name),
        .thread = hb_import_thread_of(&import->arena, &p->rows,
                                      hb_csv_int(csv, (int)n - 1 + T_THREAD), 0),
    };
}

bool hb_tracy_probe(const hb_import_probe *probe)
{
    hb_str fields[16];
    uint32_t n = hb_csv_first_row(probe->head, probe->size, 0, fields, HB_ARRAY_LEN(fields));
    if (n < T_COUNT) return false;
    for (int i = 0; i < T_COUNT; i++)
        if (!hb_str_is(fields[i], columns[i])) return false;
    return true;
}

/* Without -u: sums for each zone. */
bool hb_tracy_sums_probe(const hb_import_probe *probe)
{
    hb_str fields[16];
    uint32_t n = hb_csv_first_row(probe->head, probe->size, 0, fields, HB_ARRAY_LEN(fields));
    return n > 4 && hb_str_is(fields[0], "name") && hb_str_is(fields[1], "src_file") &&
           hb_str_is(fields[3], "total_ns");
}

static void close_file(void *context)
{
    hb_csv_close(context);
}

void hb_tracy_open(hb_import *import, const char *path)
{
    hb_csv *csv = hb_arena_alloc(&import->arena, sizeof *csv);
    hb_import_process *p = hb_import_add_process(import, "Tracy CSV", "");
    hb_csv_open(csv, &import->arena, path);
    hb_import_guard(import, close_file, csv);
    (void)hb_csv_next(csv); /* the columns' names */
    while (hb_csv_next(csv)) {
        add_zone(import, p, csv);
        if (csv->rows % 65536 == 0 && !hb_import_progress(import, csv->rows))
            hb_arena_leave(&import->arena, HB_ERROR_STATE, "%s: stopped", path);
    }
    hb_import_unguard(import);
}
