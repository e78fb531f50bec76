/* SPDX-License-Identifier: MIT
 *
 * Kernels by class, and what their names and launches tell of matrix cores and occupancy.
 */
#include <string.h>

#include "view.h"

static const column class_columns[] = {{"Class", COLUMN_TEXT},
                                       {"Kernels", COLUMN_COUNT},
                                       {"Calls", COLUMN_COUNT},
                                       {"Total", COLUMN_TIME},
                                       {"Share", COLUMN_PERCENT},
                                       {"Matrix cores", COLUMN_PERCENT},
                                       {"No matrix cores", COLUMN_PERCENT},
                                       {"Not known", COLUMN_PERCENT}};
const table_spec view_class_spec = TABLE_SPEC("Kernel classes", class_columns);

static const column kernel_columns[] = {{"Kernel", COLUMN_TEXT},       {"Class", COLUMN_TEXT},
                                        {"Matrix", COLUMN_TEXT},       {"Calls", COLUMN_COUNT},
                                        {"Total", COLUMN_TIME},        {"Share", COLUMN_PERCENT},
                                        {"Occupancy", COLUMN_PERCENT}, {"Limited by", COLUMN_TEXT}};
static const table_spec kernel_spec = TABLE_SPEC("Kernels", kernel_columns);

enum { CLASS_TOTAL = 3 };

static double total_of(const hb_kernel_class *classes, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += classes[i].total_us;
    return total;
}

/* Of the others nobody expects matrix cores. */
static bool is_math(const char *class)
{
    return strcmp(class, "gemm") == 0 || strcmp(class, "convolution") == 0 ||
           strcmp(class, "attention") == 0;
}

hb_result view_print_classes(view_run *run, hb_insights *insights)
{
    const hb_kernel_class *list;
    size_t count;
    table t;
    hb_result result = hb_insights_classes(insights, &list, &count);
    if (result != HB_OK) return result;
    view_table_init(&t, &view_class_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_kernel_class *c = &list[i];
        if (!view_wants(run, c->name)) continue;
        double known = c->matrix_us + c->no_matrix_us; /* nothing known is no 0 % */
        bool asked = known > 0 || is_math(c->name);
        table_add(&t, c->name, (double)c->kernels, (double)c->calls, c->total_us,
                  view_share(c->total_us, total_of(list, count)),
                  known > 0 ? view_share(c->matrix_us, c->total_us) : NAN,
                  known > 0 ? view_share(c->no_matrix_us, c->total_us) : NAN,
                  asked ? view_share(c->total_us - known, c->total_us) : NAN);
    }
    view_table_finish(run, &t, &view_class_spec, CLASS_TOTAL);
    return HB_OK;
}

static const char *matrix_text(hb_matrix_use use)
{
    if (use == HB_MATRIX_UNKNOWN) return "unknown";
    return use == HB_MATRIX_USED ? "yes" : "no";
}

static hb_result print_kernels(view_run *run, hb_insights *insights)
{
    const hb_kernel_insight *list;
    size_t count;
    double total = 0;
    table t;
    hb_result result = hb_insights_kernels(insights, &list, &count);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < count; i++)
        total += list[i].total_us;
    view_table_init(&t, &kernel_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_kernel_insight *k = &list[i];
        if (!view_wants(run, k->name) && !view_wants(run, k->kernel_class)) continue;
        table_add(&t, k->name, k->kernel_class, matrix_text(k->matrix), (double)k->calls,
                  k->total_us, view_share(k->total_us, total), view_known(k->occupancy_percent),
                  k->limited_by ? k->limited_by : "");
    }
    view_table_finish(run, &t, &kernel_spec, -1);
    return HB_OK;
}

static hb_result show(view_run *run, hb_trace_file *file)
{
    hb_insights *insights;
    hb_result result = view_insights(run, file, &insights);
    if (result == HB_OK) result = view_print_classes(run, insights);
    if (result == HB_OK) result = print_kernels(run, insights);
    hb_insights_destroy(insights);
    return result;
}

static const table_spec *const tables[] = {&view_class_spec, &kernel_spec, NULL};
const view view_classes = {"classes", tables, false, false, show, NULL};
