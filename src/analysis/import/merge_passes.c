/* SPDX-License-Identifier: MIT
 *
 * Whose pass a process is, its directory, machine and rank tell. Several of one are matched in the
 * order of their GPUs and process ids, if each pass has as many.
 */
#include "import/merge_passes.h"

#include <stdio.h>
#include <stdlib.h>

#include "import/rows_shared.h"

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
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (kernel_at(a, i)->name != kernel_at(b, i)->name) return false;
    return true;
}

/* ---- passes ---- */

/* A process that is a pass. */
typedef struct pass {
    hb_import_process *process;
    hb_string_id root; /* the directory that the passes' lie in */
    hb_string_id run;  /* that, the machine and the rank */
    long number;
    int32_t gpu; /* of its first kernel */
    kernels kernels;
} pass;

typedef HB_VEC(pass) passes;

/* Where "pass_2/" begins in a path, and its number; NULL: it is of none. */
static const char *pass_in(const char *path, long *number)
{
    const char *at = NULL, *next = path;
    while ((next = strstr(next, "pass_")))
        at = next++;
    if (!at || (at != path && at[-1] != '/')) return NULL;
    char *end;
    *number = strtol(at + 5, &end, 10);
    return *end == '/' && end > at + 5 && *number >= 0 ? at : NULL;
}

/* A machine that the file does not tell is the directory below the pass's, but for one of the
 * process's own, which is another in each pass. */
static hb_str machine_of(const hb_import_process *p, const char *at)
{
    const char *machine = strchr(at, '/') + 1, *file = strrchr(machine, '/');
    hb_str told = {machine, file && !*p->host ? (uint32_t)(file - machine) : 0};
    char own[24];
    uint32_t n = (uint32_t)snprintf(own, sizeof own, "/%lld", (long long)p->pid);
    if (hb_str_ends(told, own)) told.len -= n;
    return hb_str_is(told, own + 1) ? (hb_str){machine, 0} : told;
}

static hb_string_id run_of(hb_import *import, const hb_import_process *p, hb_string_id root,
                           const char *at)
{
    hb_buf key;
    hb_str machine = machine_of(p, at);
    hb_buf_init(&key, SIZE_MAX / 2);
    hb_buf_printf(&key, "%u %lld %s/", root, (long long)p->rank, p->host);
    hb_buf_append(&key, machine.s, machine.len);
    hb_string_id run = key.failed ? 0 : hb_texts_add(&import->texts, key.data, key.size);
    hb_buf_free(&key);
    if (!run) hb_arena_leave(&import->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return run;
}

/* Of what ran no kernels there is nothing to join. */
static void list_passes(hb_import *import, passes *list)
{
    for (size_t i = 0; i < import->num_processes; i++) {
        hb_import_process *p = import->processes[i];
        long number;
        const char *at = pass_in(p->path, &number);
        if (!at) continue;
        kernels k = kernels_of(&import->arena, &p->rows);
        if (!k.count) continue;
        hb_str before = {p->path, (uint32_t)(at - p->path)};
        hb_string_id root = hb_import_text(&import->arena, &p->rows, before);
        *HB_PUSH(&import->arena, list) =
            (pass){p,
                   root,
                   run_of(import, p, root, at),
                   number,
                   hb_import_launch_of(&p->rows, kernel_at(&k, 0))->device,
                   k};
    }
}

static bool is_before(const void *context, const void *x, const void *y)
{
    const pass *a = x, *b = y;
    (void)context;
    if (a->root != b->root) return a->root < b->root;
    if (a->run != b->run) return a->run < b->run;
    if (a->number != b->number) return a->number < b->number;
    return a->gpu != b->gpu ? a->gpu < b->gpu : a->process->pid < b->process->pid;
}

static bool merge(hb_import *import, const pass *into, const pass *from)
{
    hb_import_rows *rows = &into->process->rows;
    if (!are_the_same(&into->kernels, &from->kernels)) return false;
    for (uint32_t i = 0; i < into->kernels.count; i++) {
        hb_import_work *to = kernel_at(&into->kernels, i);
        const hb_import_work *of = kernel_at(&from->kernels, i);
        for (uint32_t k = 0; k < of->num_values; k++)
            hb_import_complete_values(&import->arena, rows, to,
                                      hb_column_at(&from->process->rows.values, of->values + k));
    }
    into->process->serialised |= from->process->serialised;
    rows->notes[HB_IMPORT_MERGED_PASSES] += into->kernels.count;
    return true;
}

/* How many at the beginning of the list are of its first one's run and pass. */
static uint32_t count_alike(const pass *list, uint32_t count)
{
    uint32_t n = 1;
    while (n < count && list[n].run == list->run && list[n].number == list->number)
        n++;
    return n;
}

/* Joins what is of the first one's run, and gives back how many these are. */
static uint32_t merge_run(hb_import *import, const pass *list, uint32_t count)
{
    uint32_t first = count_alike(list, count), i = first;
    while (i < count && list[i].run == list->run) {
        uint32_t n = count_alike(&list[i], count - i);
        for (uint32_t k = 0; k < n && n == first; k++)
            list[i + k].process->merged = merge(import, &list[k], &list[i + k]);
        i += n;
    }
    return i;
}

/* Likewise of the first one's root: notes what was not joined. */
static uint32_t note_separate(const pass *list, uint32_t count)
{
    uint32_t n = 0;
    long first = list->number;
    for (; n < count && list[n].root == list->root; n++)
        first = HB_MIN(first, list[n].number);
    for (uint32_t i = 0; i < n; i++) {
        hb_import_rows *rows = &list[i].process->rows;
        if (list[i].number > first && !list[i].process->merged && rows->values.count)
            rows->notes[HB_IMPORT_SEPARATE_PASSES] += list[i].kernels.count;
    }
    return n;
}

void hb_merge_passes(hb_import *import)
{
    passes list = {0};
    list_passes(import, &list);
    hb_sort(&import->arena, list.items, list.count, sizeof(pass), is_before, NULL);
    for (uint32_t i = 0; i < list.count;)
        i += merge_run(import, &list.items[i], list.count - i);
    for (uint32_t i = 0; i < list.count;)
        i += note_separate(&list.items[i], list.count - i);
}
