/* SPDX-License-Identifier: MIT
 *
 * The program's loops, as call stacks tell of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

static const column columns[] = {{"Loop", COLUMN_TEXT},        {"Rounds", COLUMN_COUNT},
                                 {"A round", COLUMN_TIME},     {"Launches", COLUMN_COUNT},
                                 {"Share", COLUMN_PERCENT},    {"Steps", COLUMN_TEXT},
                                 {"Begins with", COLUMN_TEXT}, {"In", COLUMN_TEXT}};
static const table_spec spec = TABLE_SPEC_PLAIN("Loops", columns);

typedef struct lines {
    view_run *run;
    table table;
    bool any; /* also of other names */
} lines;

/* "directory/file(12): function" as "function, file:12"; the function is what is looked for. */
static void put_place(char *to, size_t size, const char *frame)
{
    const char *end = strstr(frame, "): "), *open = end;
    while (open && open > frame && *open != '(')
        open--;
    if (!open || open == frame) {
        snprintf(to, size, "%s", frame);
        return;
    }
    const char *file = open;
    while (file > frame && file[-1] != '/')
        file--;
    int line = atoi(open + 1);
    int n = snprintf(to, size, "%s, %.*s", end + 3, (int)(open - file), file);
    if (line > 0 && n > 0 && (size_t)n < size) snprintf(to + n, size - (size_t)n, ":%d", line);
}

static bool add(void *context, const hb_loop_stats *l)
{
    lines *to = context;
    char number[80], place[1024];
    to->any = true;
    if (!view_wants(to->run, l->launch)) return true;
    int indent = to->run->format == VIEW_TEXT && !to->run->sort_by ? 2 * l->level : 0;
    snprintf(number, sizeof number, "%*s%u", indent > 40 ? 40 : indent, "", l->number);
    put_place(place, sizeof place, l->from);
    table_add(&to->table, number, (double)l->rounds, l->round_us, (double)l->launches,
              100 * l->coverage, l->is_step ? "yes" : "", l->launch, place);
    return true;
}

static hb_result show(view_run *run, hb_trace_file *file)
{
    lines to = {.run = run};
    view_table_init(&to.table, &spec);
    hb_result result = hb_trace_file_loops(file, add, &to);
    if (result == HB_OK && !to.any && run->format == VIEW_TEXT)
        puts("No loops: they are seen in call stacks, `hipboard record --with-stack`");
    view_table_finish(run, &to.table, &spec, -1);
    return result;
}

static const table_spec *const tables[] = {&spec, NULL};
const view view_loops = {"loops", tables, false, false, show, NULL};
