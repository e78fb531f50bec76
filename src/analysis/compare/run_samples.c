/* SPDX-License-Identifier: MIT
 *
 * The files of a run become one: cycles follow each other, workers are averaged step by step.
 */
#include "compare/comparison.h"

#include <stdlib.h>

struct hb_run_builder {
    hb_arena arena;
    hb_items items;
    hb_cells cells;
    hb_dict name_keys, kind_keys, item_keys, cell_keys;
    hb_dict step_keys;       /* (name, nth of its worker) -> step */
    hb_dict step_counts;     /* (worker, name) -> how often it had a step of that name */
    hb_dict workers;         /* by name */
    HB_VEC(uint32_t) shared; /* by step: workers that have it */
};

size_t hb_num_measures(hb_compare_by by)
{
    size_t n = 0;
    while (n < HB_MAX_MEASURES && hb_measures[by][n].name)
        n++;
    return n;
}

/* ---- steps ---- */

/* The same step of another worker is the same step; a worker that counts from 0 again in a later
 * cycle has other ones. */
static uint32_t shared_step(hb_run_builder *b, uint32_t worker, hb_string_id name)
{
    bool added;
    hb_dict_entry *count =
        hb_dict_add(&b->arena, &b->step_counts, (uint64_t)worker << 32 | name, &added);
    uint32_t nth = count->value++;
    hb_dict_entry *e = hb_dict_add(&b->arena, &b->step_keys, (uint64_t)nth << 32 | name, &added);
    if (added) {
        e->value = b->shared.count;
        *HB_PUSH(&b->arena, &b->shared) = 0;
    }
    b->shared.items[e->value]++;
    return e->value;
}

static uint32_t *map_steps(hb_comparison *c, hb_run_builder *b, uint32_t worker, const hb_digest *d)
{
    uint32_t *steps = HB_NEW_ARRAY(&b->arena, uint32_t, d->step_names.count + 1);
    for (uint32_t i = 0; i < d->step_names.count; i++) {
        hb_str name = hb_trace_text(d->trace, d->step_names.items[i]);
        steps[i] = shared_step(b, worker, hb_comparison_intern(c, &c->arena, name.s, name.len));
    }
    return steps;
}

/* ---- items ---- */

static uint32_t number_of(hb_arena *arena, hb_dict *dict, uint64_t key)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(arena, dict, key, &added);
    if (added) e->value = dict->entries.count - 1;
    return e->value;
}

static hb_string_id translate(hb_comparison *c, const hb_digest *d, hb_string_id id)
{
    hb_str s = hb_trace_text(d->trace, id);
    return id ? hb_comparison_intern(c, &c->arena, s.s, s.len) : 0;
}

static void translate_item(hb_comparison *c, const hb_digest *d, hb_run_item *item)
{
    item->name = translate(c, d, item->name);
    item->shape = translate(c, d, item->shape);
    item->module = translate(c, d, item->module);
}

static uint32_t find_item(hb_run_builder *b, hb_run_item item)
{
    uint64_t name = number_of(&b->arena, &b->name_keys, (uint64_t)item.name << 32 | item.shape);
    uint64_t kind = number_of(&b->arena, &b->kind_keys, (uint64_t)item.module << 8 | item.by);
    uint32_t index = number_of(&b->arena, &b->item_keys, name << 32 | kind);
    if (index == b->items.count) *HB_PUSH(&b->arena, &b->items) = item;
    return index;
}

static void add_cell(hb_run_builder *b, const hb_cell *from, uint32_t item, uint32_t step)
{
    uint32_t index = number_of(&b->arena, &b->cell_keys, (uint64_t)item << 32 | step);
    if (index == b->cells.count) {
        hb_cell *made = HB_PUSH(&b->arena, &b->cells);
        *made = *from;
        made->item = item;
        made->step = step;
        return;
    }
    double *values = b->cells.items[index].values;
    bool peak = b->items.items[item].is_peak;
    for (int m = 0; m < HB_MAX_MEASURES; m++)
        values[m] = peak ? HB_MAX(values[m], from->values[m]) : values[m] + from->values[m];
}

static void merge(hb_run_builder *b, const hb_digest *d, const uint32_t *steps)
{
    uint32_t *items = HB_NEW_ARRAY(&b->arena, uint32_t, d->items.count + 1);
    for (uint32_t i = 0; i < d->items.count; i++)
        items[i] = find_item(b, d->items.items[i]);
    for (uint32_t i = 0; i < d->cells.count; i++) {
        const hb_cell *cell = &d->cells.items[i];
        add_cell(b, cell, items[cell->item], steps[cell->step]);
    }
}

/* What is the only one needs no search for what is the same. */
static void adopt(hb_run_builder *b, const hb_digest *d, const uint32_t *steps)
{
    b->items = d->items;
    b->cells = d->cells;
    for (uint32_t i = 0; i < b->cells.count; i++)
        b->cells.items[i].step = steps[b->cells.items[i].step];
}

static void add_digest(hb_comparison *c, hb_run_builder *b, const char *worker, bool only,
                       hb_digest *d)
{
    uint32_t number = number_of(&b->arena, &b->workers,
                                hb_comparison_intern(c, &c->arena, worker, strlen(worker)));
    uint32_t *steps = map_steps(c, b, number, d);
    for (uint32_t i = 0; i < d->items.count; i++)
        translate_item(c, d, &d->items.items[i]);
    if (only)
        adopt(b, d, steps);
    else
        merge(b, d, steps);
}

static hb_run_builder *builder_of(hb_comparison *c, hb_compare_run *run)
{
    if (!run->builder) run->builder = calloc(1, sizeof *run->builder);
    if (!run->builder) hb_arena_leave(&c->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return run->builder;
}

void hb_run_add(hb_comparison *c, hb_compare_run *run, const char *worker, hb_digest *d)
{
    hb_arena *arena = &builder_of(c, run)->arena;
    if (!hb_arena_try(arena)) hb_arena_leave(&c->arena, arena->result, "%s", arena->reason);
    add_digest(c, run->builder, worker, run->num_files == 1, d);
    run->has_steps |= d->has_steps;
    run->num_read++;
}

/* ---- the end ---- */

static bool cell_before(const void *context, const void *x, const void *y)
{
    const hb_cell *a = x, *b = y;
    (void)context;
    return a->item != b->item ? a->item < b->item : a->step < b->step;
}

/* The sum over the workers becomes their mean, though one without the item has no cell. */
static void keep_cells(hb_compare_run *run, const hb_run_builder *b)
{
    size_t values = 0;
    for (uint32_t i = 0; i < b->cells.count; i++) {
        const hb_cell *cell = &b->cells.items[i];
        hb_run_item *item = &run->items.items[cell->item];
        size_t n = hb_num_measures((hb_compare_by)item->by);
        if (item->count++ == 0) {
            item->first = i;
            item->first_value = values;
        }
        run->sample_steps[i] = cell->step;
        for (size_t m = 0; m < n; m++)
            run->values[values++] =
                item->is_peak ? cell->values[m] : cell->values[m] / b->shared.items[cell->step];
    }
}

static size_t count_values(const hb_run_builder *b)
{
    size_t n = 0;
    for (uint32_t i = 0; i < b->cells.count; i++)
        n += hb_num_measures((hb_compare_by)b->items.items[b->cells.items[i].item].by);
    return n;
}

static void finish(hb_comparison *c, hb_compare_run *run, hb_run_builder *b)
{
    hb_sort(&b->arena, b->cells.items, b->cells.count, sizeof *b->cells.items, cell_before, NULL);
    run->num_steps = b->shared.count;
    run->num_workers = b->workers.entries.count;
    run->items.items = HB_NEW_ARRAY(&c->arena, hb_run_item, b->items.count + 1);
    run->items.count = b->items.count;
    memcpy(run->items.items, b->items.items, b->items.count * sizeof *b->items.items);
    run->sample_steps = HB_NEW_ARRAY(&c->arena, uint32_t, b->cells.count + 1);
    run->values = HB_NEW_ARRAY(&c->arena, double, count_values(b) + 1);
    keep_cells(run, b);
}

void hb_run_finish(hb_comparison *c, hb_compare_run *run)
{
    if (!run->builder) return;
    hb_arena *arena = &run->builder->arena;
    if (!hb_arena_try(arena)) hb_arena_leave(&c->arena, arena->result, "%s", arena->reason);
    finish(c, run, run->builder);
    hb_run_builder_free(run);
}

void hb_run_builder_free(hb_compare_run *run)
{
    if (!run->builder) return;
    hb_arena_free(&run->builder->arena);
    free(run->builder);
    run->builder = NULL;
}
