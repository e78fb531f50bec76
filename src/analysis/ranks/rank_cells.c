/* SPDX-License-Identifier: MIT
 *
 * Each rank in each step: what a picture of all ranks shows.
 */
#include "ranks/study.h"

static char *text_of(hb_rank_study *s, hb_str text)
{
    char *copy = HB_NEW_ARRAY(&s->results, char, text.len + 1);
    if (text.len) memcpy(copy, text.s, text.len);
    return copy;
}

static void add_step(hb_rank_cell *cell, const hb_digest_step *step)
{
    for (int i = 0; i < HB_ROLE_PARTS; i++)
        cell->time_us += (double)step->role[i] / 1e3;
    cell->communication_us += (double)step->role[HB_ROLE_COMMUNICATION] / 1e3;
}

static void fill_rank(hb_rank_study *s, const hb_study_rank *rank, hb_rank_cell *cells)
{
    for (uint32_t c = 0; s->has_steps && c < rank->num_cycles; c++) {
        const hb_rank_digest *d = &s->cycles.items[rank->first_cycle + c].digest;
        for (uint32_t i = 0; i < d->num_steps; i++) {
            int block = hb_study_block_of(s, rank, hb_rank_time(d, d->steps[i].start));
            if (block >= 0) add_step(&cells[block], &d->steps[i]);
        }
    }
    for (uint32_t b = 0; b < s->blocks.count; b++)
        cells[b].caused_us = rank->part.caused_in[b] / 1e3;
}

void hb_study_cells(hb_rank_study *s, hb_rank_cells *out)
{
    uint32_t steps = s->blocks.count;
    int64_t *ranks = HB_NEW_ARRAY(&s->results, int64_t, s->num_ranks + 1);
    int64_t *numbers = HB_NEW_ARRAY(&s->results, int64_t, steps + 1);
    const char **workers = HB_NEW_ARRAY(&s->results, const char *, s->num_ranks + 1);
    hb_rank_cell *cells = HB_NEW_ARRAY(&s->results, hb_rank_cell, (size_t)s->num_ranks * steps + 1);
    for (uint32_t b = 0; b < steps; b++)
        numbers[b] = s->has_steps ? s->blocks.items[b].number : b;
    for (uint32_t i = 0; i < s->num_ranks; i++) {
        ranks[i] = s->ranks[i].rank;
        workers[i] = text_of(s, s->ranks[i].worker);
        fill_rank(s, &s->ranks[i], cells + (size_t)i * steps);
    }
    *out = (hb_rank_cells){.num_ranks = s->num_ranks,
                           .num_steps = steps,
                           .marked = s->has_steps,
                           .ranks = ranks,
                           .steps = numbers,
                           .workers = workers,
                           .cells = cells};
}
