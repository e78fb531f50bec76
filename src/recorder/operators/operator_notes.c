/* SPDX-License-Identifier: MIT */
#include "operators/operator_notes.h"

#include <stdio.h>

#include "record/record.h"
#include "record/strings.h"

enum { MAX_TEXT = 1 << 18, MAX_UNMET = 20 };

static void put(const char *key, hb_buf *json)
{
    const char *text = hb_buf_text(json);
    if (!json->failed)
        hb_record_metadata_entry(hb_strings_intern(key, strlen(key)),
                                 hb_strings_intern(text, strlen(text)));
    hb_buf_free(json);
}

static void put_count(const hb_operator *operators)
{
    hb_buf json;
    uint32_t n = 0;
    for (const hb_operator *o = operators; o; o = o->next)
        n += o->row->kind < HB_OP_LAUNCH;
    hb_buf_init(&json, 64);
    hb_buf_printf(&json, "%u", n);
    put(HB_METADATA_OPERATORS, &json);
}

static const char *work_of(const hb_operator *o)
{
    return o->row->kind == HB_OP_LOADER ? "bytes" : "flops";
}

static void put_small(hb_operator *operators)
{
    hb_buf json;
    hb_buf_init(&json, MAX_TEXT);
    for (hb_operator *o = operators; o; o = o->next) {
        uint64_t calls = atomic_load_explicit(&o->small_calls, memory_order_relaxed);
        uint64_t work = atomic_load_explicit(&o->small_flops, memory_order_relaxed);
        uint64_t ns = atomic_load_explicit(&o->small_ns, memory_order_relaxed);
        if (!calls) continue;
        hb_buf_str(&json, json.size ? ", " : "{");
        hb_buf_json_string(&json, o->row->name, strlen(o->row->name));
        hb_buf_printf(&json, ": {\"calls\": %llu", (unsigned long long)calls);
        if (!o->row->least_ns || work)
            hb_buf_printf(&json, ", \"%s\": %llu", work_of(o), (unsigned long long)work);
        if (o->row->least_ns) hb_buf_printf(&json, ", \"ns\": %llu", (unsigned long long)ns);
        hb_buf_str(&json, "}");
    }
    if (json.size == 0) {
        hb_buf_free(&json);
        return;
    }
    hb_buf_str(&json, "}");
    put(HB_METADATA_OPERATORS_SMALL, &json);
}

HB_PRINTF(2, 3) static void note(hb_buf *notes, const char *format, ...)
{
    char text[900];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hb_buf_str(notes, notes->size ? ", " : "[");
    hb_buf_json_string(notes, text, strlen(text));
}

static void note_small(hb_buf *notes, const hb_operator *o)
{
    uint64_t calls = atomic_load_explicit(&o->small_calls, memory_order_relaxed);
    uint64_t work = atomic_load_explicit(&o->small_flops, memory_order_relaxed);
    uint64_t ns = atomic_load_explicit(&o->small_ns, memory_order_relaxed);
    const char *s = hb_plural(calls), *are = calls == 1 ? "is" : "are";
    const char *unit = o->row->kind == HB_OP_LOADER ? "bytes" : "FLOPs";
    if (calls && o->row->least_ns)
        note(notes,
             "%llu call%s of %.200s that took less than %.6g us, or within which something was "
             "recorded, %s not recorded, %.6g ms in all",
             (unsigned long long)calls, s, o->row->name, (double)o->row->least_ns / 1e3, are,
             (double)ns / 1e6);
    else if (calls)
        note(notes,
             "%llu call%s of %.200s of fewer than %.0f %s each %s not recorded, %llu %s in all",
             (unsigned long long)calls, s, o->row->name, o->row->least_flops, unit, are,
             (unsigned long long)work, unit);
}

/* All tables are read anew when one comes: of a line there may be several rows by now. */
static bool are_one_line(const hb_op_entry *a, const hb_op_entry *b)
{
    return a->line == b->line && strcmp(a->symbol, b->symbol) == 0 &&
           strcmp(a->table, b->table) == 0;
}

static bool is_met(const hb_operator *operators, const hb_op_entry *row)
{
    for (const hb_operator *o = operators; o; o = o->next)
        if (are_one_line(o->row, row)) return true;
    return false;
}

/* Of the user's own lines only: hipboard's are for libraries that most programs have not. */
static void note_unmet(hb_buf *notes, const hb_op_table *table, const hb_operator *operators)
{
    uint32_t unmet = 0;
    for (uint32_t i = 0; i < table->rows.count; i++) {
        const hb_op_entry *row = table->rows.items[i];
        if (!row->careful || is_met(operators, row) || hb_op_table_find(table, row->symbol) != row)
            continue;
        if (unmet++ < MAX_UNMET)
            note(notes,
                 "%.200s (%.300s:%u): no library of the program imports it from another; is it of "
                 "another name (nm -D), called within its own library, or linked statically?",
                 row->symbol, row->table, row->line);
    }
    if (unmet > MAX_UNMET) note(notes, "and %u more such functions", unmet - MAX_UNMET);
}

void hb_operator_notes_put(const hb_op_table *table, hb_operator *operators, uint32_t unclear,
                           uint32_t no_room, uint32_t given_as_they_are)
{
    hb_buf notes;
    hb_buf_init(&notes, MAX_TEXT);
    put_count(operators);
    put_small(operators);
    for (const hb_operator *o = operators; o; o = o->next)
        note_small(&notes, o);
    note_unmet(&notes, table, operators);
    if (unclear)
        note(&notes,
             "%u imports could be of one library or another, and were not called so far: their "
             "calls are recorded when the program loads a library, or a cycle begins, after the "
             "first",
             unclear);
    if (no_room)
        note(&notes, "%u functions are not recorded: only %d can be interposed", no_room,
             HB_TRAMPOLINES);
    if (given_as_they_are)
        note(&notes,
             "dlsym() gave out %u functions of the tables as they are, since another thread was "
             "loading libraries: calls by these addresses are not recorded",
             given_as_they_are);
    if (notes.size) hb_buf_str(&notes, "]");
    if (notes.size)
        put(HB_METADATA_OPERATOR_NOTES, &notes);
    else
        hb_buf_free(&notes);
}
