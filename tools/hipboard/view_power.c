/* SPDX-License-Identifier: MIT
 *
 * What each GPU took in each step, by its sensors.
 */
#include <stdio.h>

#include "view.h"

static const column columns[] = {{"GPU", COLUMN_TEXT},           {"Step", COLUMN_TEXT},
                                 {"Energy (J)", COLUMN_NUMBER},  {"Power (W)", COLUMN_NUMBER},
                                 {"Hottest (C)", COLUMN_NUMBER}, {"Clock (MHz)", COLUMN_NUMBER},
                                 {"Least (MHz)", COLUMN_NUMBER}, {"Throttled by", COLUMN_TEXT}};
static const table_spec spec = TABLE_SPEC_PLAIN("Power", columns);

typedef struct lines {
    view_run *run;
    table table;
} lines;

static void put_causes(char *to, size_t size, int throttled)
{
    static const char *const causes[] = {"power", "heat", "current", "other"};
    size_t n = 0;
    to[0] = '\0';
    for (int i = 0; throttled > 0 && i < 4; i++)
        if (throttled & 1 << i)
            n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "", causes[i]);
}

static bool add(void *context, const hb_gpu_step *s)
{
    lines *to = context;
    char gpu[24], step[32], causes[40];
    snprintf(gpu, sizeof gpu, "GPU %d", s->gpu);
    snprintf(step, sizeof step, "%lld", (long long)s->step);
    put_causes(causes, sizeof causes, s->throttled);
    if (view_wants(to->run, gpu))
        table_add(&to->table, gpu, step, s->joules, s->watts, s->degrees, s->mhz, s->least_mhz,
                  causes);
    return true;
}

static hb_result show(view_run *run, hb_trace_file *file)
{
    lines to = {.run = run};
    view_table_init(&to.table, &spec);
    hb_result result = hb_trace_file_gpu_steps(file, add, &to);
    view_table_finish(run, &to.table, &spec, -1);
    return result;
}

static const table_spec *const tables[] = {&spec, NULL};
const view view_power = {"power", tables, false, false, show, NULL};
