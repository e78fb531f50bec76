/* SPDX-License-Identifier: MIT
 *
 * Tables as CSV and JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "table.h"
#include "text.h"

static const char *const units[] = {"", "", " (us)", " (bytes)", "", " (%)", ""};

static size_t num_shown(const table *t, size_t top)
{
    return top && top < t->num_rows ? top : t->num_rows;
}

/* ---- CSV ---- */

void table_print_csv_header(const table *t, const char *name)
{
    if (name) printf("%s,", name);
    for (size_t c = 0; c < t->num_columns; c++) {
        print_csv_field(t->columns[c].title);
        fputs(units[t->columns[c].kind], stdout);
        putchar(c + 1 < t->num_columns ? ',' : '\n');
    }
}

void table_print_csv_rows(const table *t, size_t top, const char *value)
{
    for (size_t r = 0; r < num_shown(t, top); r++) {
        if (value) print_csv_field(value), putchar(',');
        for (size_t c = 0; c < t->num_columns; c++) {
            const cell *v = &t->cells[r * t->num_columns + c];
            if (t->columns[c].kind == COLUMN_TEXT)
                print_csv_field(v->text);
            else if (!isnan(v->value))
                printf("%.17g", v->value);
            putchar(c + 1 < t->num_columns ? ',' : '\n');
        }
    }
}

/* ---- JSON ---- */

static void print_json_cell(const table *t, size_t c, const cell *v)
{
    char key[128];
    snprintf(key, sizeof key, "%s%s", t->columns[c].title, units[t->columns[c].kind]);
    print_json_string(key);
    fputs(": ", stdout);
    if (t->columns[c].kind == COLUMN_TEXT)
        print_json_string(v->text);
    else
        print_json_number(v->value);
}

void table_print_json(const table *t, size_t top)
{
    putchar('[');
    for (size_t r = 0; r < num_shown(t, top); r++) {
        fputs(r ? ", {" : "{", stdout);
        for (size_t c = 0; c < t->num_columns; c++) {
            if (c) fputs(", ", stdout);
            print_json_cell(t, c, &t->cells[r * t->num_columns + c]);
        }
        putchar('}');
    }
    putchar(']');
}
