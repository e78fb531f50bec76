/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <stdio.h>

#include "text.h"

bool view_wants(const view_run *run, const char *name)
{
    return pattern_matches(&run->name, name);
}

hb_result view_insights(const view_run *run, hb_trace_file *file, hb_insights **insights)
{
    hb_insights_options options = HB_INSIGHTS_OPTIONS_INIT;
    options.classes_path = run->classes;
    options.code_paths = run->codes;
    options.num_code_paths = run->num_codes;
    return hb_insights_create(file, &options, insights);
}

void view_table_init(table *t, const table_spec *spec)
{
    table_init(t, spec->columns, spec->num_columns);
}

static void print_text(view_run *run, const table *t, const table_spec *spec)
{
    if (!t->num_rows) return;
    if (run->tables) putchar('\n');
    if (!spec->plain)
        printf("%s%s%s%s%s\n", run->style.bold ? "\033[1m" : "", spec->title,
               run->style.bold ? "\033[0m" : "", spec->note ? ": " : "",
               spec->note ? spec->note : "");
    table_style style = run->style;
    style.top = run->top;
    table_print(t, &style);
    run->tables++;
}

/* Tables of the same columns, of one file after the other, are one. */
static void print_csv(view_run *run, const table *t, const table_spec *spec)
{
    if (run->last != spec) {
        if (run->last) putchar('\n');
        table_print_csv_header(t, run->many ? "File" : NULL);
        run->last = spec;
    }
    table_print_csv_rows(t, run->top, run->many ? run->path : NULL);
}

static void print_json(view_run *run, const table *t, const table_spec *spec)
{
    fputs(", ", stdout);
    print_json_string(spec->title);
    fputs(": ", stdout);
    table_print_json(t, run->top);
}

void view_table_finish(view_run *run, table *t, const table_spec *spec, int sort)
{
    int asked = run->sort_by ? table_find(spec->columns, spec->num_columns, run->sort_by) : -1;
    if (asked >= 0) sort = asked;
    if (sort >= 0) table_sort(t, (size_t)sort);
    switch (run->format) {
    case VIEW_TEXT: print_text(run, t, spec); break;
    case VIEW_CSV: print_csv(run, t, spec); break;
    case VIEW_JSON: print_json(run, t, spec); break;
    }
    table_free(t);
}
