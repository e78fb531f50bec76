/* SPDX-License-Identifier: MIT
 *
 * The views of `hipboard view`, one a file: view_<name>.c. They print what the library computes.
 */
#ifndef HB_TOOLS_VIEW_H
#define HB_TOOLS_VIEW_H

#include <hipboard/analysis.h>
#include <math.h>

#include "options.h"
#include "table.h"

typedef enum view_format { VIEW_TEXT, VIEW_CSV, VIEW_JSON } view_format;

/** A table's title and columns. */
typedef struct table_spec {
    const char *title;
    const char *note; /* behind the title, in text; or NULL */
    const column *columns;
    size_t num_columns;
    bool plain; /* the view's only table, needs no title in text */
} table_spec;

#define TABLE_SPEC_NOTED(title, note, columns)                           \
    {                                                                    \
        title, note, columns, sizeof(columns) / sizeof *(columns), false \
    }
#define TABLE_SPEC(title, columns) TABLE_SPEC_NOTED(title, NULL, columns)
#define TABLE_SPEC_PLAIN(title, columns)                                \
    {                                                                   \
        title, NULL, columns, sizeof(columns) / sizeof *(columns), true \
    }

/** What the command line asks for, and how far the output is. */
typedef struct view_run {
    pattern name; /* of the rows */
    bool has_rank;
    const char *step, *sort_by, *classes;
    const char *codes[16];
    size_t num_codes;
    long long rank;
    view_format format;
    size_t top;
    table_style style;
    const char *path;       /* of the file that is shown */
    bool many;              /* more than one file may be shown */
    unsigned tables, shown; /* of this file; files */
    const char *heading;    /* of the sentences above */
    const table_spec *last; /* whose CSV header stands above */
} view_run;

typedef struct view {
    const char *name;
    const table_spec *const *tables; /* that it prints; NULL behind the last */
    bool has_steps; /* a step is a row: --step chooses rows, and no part of the trace */
    bool of_steps;  /* digests have it */
    /* One of the two: about each file by itself, or about all of a run and span. */
    hb_result (*show)(view_run *run, hb_trace_file *file);
    hb_result (*show_ranks)(view_run *run, hb_ranks *ranks);
} view;

extern const view view_overview, view_steps, view_operator, view_kernel, view_memory, view_module;
extern const view view_distributed, view_gpu, view_classes, view_loops, view_power, view_roofline;

/** Whether --name lets the row through. */
bool view_wants(const view_run *run, const char *name);

void view_table_init(table *t, const table_spec *spec);
/** Sorts as asked for, by `sort` otherwise (-1: not), prints and frees. */
void view_table_finish(view_run *run, table *t, const table_spec *spec, int sort);

/** With the rules of --classes. *insights is NULL after an error. */
hb_result view_insights(const view_run *run, hb_trace_file *file, hb_insights **insights);

/** Parts that the overview shows as well. */
hb_result view_print_gpu_times(view_run *run, hb_insights *insights);
hb_result view_print_classes(view_run *run, hb_insights *insights);
extern const table_spec view_gpu_time_spec, view_class_spec;

/** Of sentences, also into pipes. */
static inline size_t view_prose_width(const view_run *run)
{
    return run->style.line_width ? run->style.line_width : 100;
}

static inline double view_share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

/** Negative figures are unknown ones. */
static inline double view_known(double value)
{
    return value < 0 ? NAN : value;
}

#endif
