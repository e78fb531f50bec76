/* SPDX-License-Identifier: MIT */
#include "import/merge_passes.h"

#include <stdlib.h>

#include "import/rows_shared.h"

/* Behind "pass_2/" of a path, and its number; NULL: it is of none. */
static const char *pass_in(const char *path, long *number)
{
    const char *at = NULL, *next = path;
    while ((next = strstr(next, "pass_")))
        at = next++;
    if (!at || (at != path && at[-1] != '/')) return NULL;
    char *end;
    *number = strtol(at + 5, &end, 10);
    return *end == '/' && end > at + 5 ? at : NULL;
}

static bool same_root(const hb_import_process *a, const hb_import_process *b)
{
    long one, other;
    const char *x = pass_in(a->path, &one), *y = pass_in(b->path, &other);
    return x && y && x - a->path == y - b->path && memcmp(a->path, b->path, x - a->path) == 0;
}

static long pass_of(const hb_import_process *p)
{
    long number;
    return pass_in(p->path, &number) ? number : -1;
}

/* ---- kernels as they were started ---- */

typedef struct kernels {
    const hb_import_rows *rows;
    uint32_t *order, count;
} kernels;

static bool starts_before(const void *context, const void *a, const void *b)
{
    const hb_column *works = &((const hb_import_rows *)context)->works;
    return ((const hb_import_work *)hb_column_at(works, *(const uint32_t *)a))->start <
           ((const hb_import_work *)hb_column_at(works, *(const uint32_t *)b))->start;
}

static hb_import_work *kernel_at(const kernels *k, uint32_t i)
{
    return hb_column_at(&k->rows->works, k->order[i]);
}

static kernels kernels_of(hb_arena *arena, const hb_import_rows *rows)
{
    kernels k = {rows, HB_NEW_ARRAY(arena, uint32_t, rows->works.count + 1), 0};
    for (uint32_t i = 0; i < rows->works.count; i++)
        if (hb_import_launch_of(rows, hb_column_at(&rows->works, i))->kind == HB_EVENT_KERNEL)
            k.order[k.count++] = i;
    hb_sort(arena, k.order, k.count, sizeof *k.order, starts_before, rows);
    return k;
}

static bool are_the_same(const kernels *a, const kernels *b)
{
    if (a->count != b->count || !a->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (kernel_at(a, i)->name != kernel_at(b, i)->name) return false;
    return true;
}

static bool merge(hb_import *import, hb_import_process *into, hb_import_process *from)
{
    kernels first = kernels_of(&import->arena, &into->rows);
    kernels again = kernels_of(&import->arena, &from->rows);
    if (!are_the_same(&first, &again)) return false;
    for (uint32_t i = 0; i < first.count; i++) {
        hb_import_work *to = kernel_at(&first, i);
        const hb_import_work *of = kernel_at(&again, i);
        for (uint32_t k = 0; k < of->num_values; k++)
            hb_import_complete_values(&import->arena, &into->rows, to,
                                      hb_column_at(&from->rows.values, of->values + k));
    }
    into->serialised |= from->serialised;
    into->rows.notes[HB_IMPORT_MERGED_PASSES] += first.count;
    return true;
}

static hb_import_process *first_pass_of(const hb_import *import, const hb_import_process *p)
{
    hb_import_process *first = NULL;
    for (size_t i = 0; i < import->num_processes; i++) {
        hb_import_process *other = import->processes[i];
        if (!same_root(p, other) || pass_of(other) >= pass_of(p)) continue;
        if (!first || pass_of(other) < pass_of(first)) first = other;
    }
    return first;
}

void hb_merge_passes(hb_import *import)
{
    for (size_t i = 0; i < import->num_processes; i++) {
        hb_import_process *p = import->processes[i];
        hb_import_process *first = pass_of(p) > 0 ? first_pass_of(import, p) : NULL;
        if (first && merge(import, first, p)) p->merged = true;
    }
}
