/* SPDX-License-Identifier: MIT */
#include "ranks/rank_steps.h"

#include <stdlib.h>

static hb_told_step step_of(int64_t number, int64_t start, int64_t length, const int64_t *role)
{
    hb_told_step told = {.number = number, .start = hb_ns_to_us(start)};
    told.us[HB_ROLE_TOTAL] = hb_ns_to_us(length);
    for (int i = 0; i < HB_ROLE_PARTS; i++)
        told.us[i] = hb_ns_to_us(role[i]);
    return told;
}

static int64_t sum_of(const int64_t *role)
{
    int64_t sum = 0;
    for (int i = 0; i < HB_ROLE_PARTS; i++)
        sum += role[i];
    return sum;
}

static hb_result add_member(hb_trace *trace, const hb_rank_digest *d)
{
    hb_buf info;
    hb_buf_init(&info, SIZE_MAX / 4);
    hb_buf_str(&info, "{");
    if (d->backend.len) {
        hb_buf_str(&info, "\"backend\": ");
        hb_buf_json_string(&info, d->backend.s, d->backend.len);
        hb_buf_str(&info, ", ");
    }
    hb_buf_printf(&info, "\"rank\": %lld, \"world_size\": %lld}", (long long)d->rank,
                  (long long)HB_MAX(d->world, d->rank + 1));
    hb_str json = {info.data, (uint32_t)info.size};
    bool fine = !info.failed && hb_trace_add_member(trace, HB_STR("distributedInfo"), json);
    hb_buf_free(&info);
    return fine ? HB_OK : hb_no_memory();
}

hb_result hb_rank_tell(const hb_rank_digest *d, hb_trace *trace, hb_told_step **steps,
                       uint32_t *count)
{
    *steps = calloc(d->num_steps + 1, sizeof **steps);
    *count = 0;
    if (!hb_trace_init(trace) || !*steps) return hb_no_memory();
    for (uint32_t i = 0; i < d->num_steps; i++) {
        const hb_digest_step *s = &d->steps[i];
        if (s->end > s->start)
            (*steps)[(*count)++] =
                step_of(s->number, s->start - d->start, s->end - s->start, s->role);
    }
    if (!*count) (*steps)[(*count)++] = step_of(0, 0, sum_of(d->whole), d->whole);
    return add_member(trace, d);
}

static hb_result use_traces(hb_rank_study *s)
{
    if (hb_arena_try(&s->arena)) {
        hb_study_sort(s);
        hb_study_drop_twins(s);
    }
    return hb_arena_outcome(&s->arena);
}

/* ---- whose they are ---- */

static const char *copy(hb_arena *arena, hb_str text)
{
    char *made = HB_NEW_ARRAY(arena, char, text.len + 1);
    if (text.len) memcpy(made, text.s, text.len);
    return made;
}

static const hb_rank_source *list_sources(hb_rank_study *s)
{
    hb_rank_source *list = HB_NEW_ARRAY(&s->arena, hb_rank_source, s->cycles.count + 1);
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        list[i] = (hb_rank_source){.worker = copy(&s->arena, d->worker),
                                   .host = copy(&s->arena, d->host),
                                   .file = copy(&s->arena, d->file),
                                   .rank = d->rank};
        if (i && list[i - 1].rank == d->rank) list[i].cycle = list[i - 1].cycle + 1;
    }
    return list;
}

hb_result hb_rank_study_sources(hb_rank_study *s, const hb_rank_source **sources, size_t *count)
{
    if (!s || !sources || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    *count = 0;
    HB_TRY(use_traces(s));
    if (hb_arena_try(&s->arena)) {
        *sources = list_sources(s);
        *count = s->cycles.count;
    }
    return hb_arena_outcome(&s->arena);
}
