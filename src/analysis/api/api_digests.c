/* SPDX-License-Identifier: MIT
 *
 * hipboard/ranks.h: digests as traces of which only the steps are known.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "logdir/logdir.h"
#include "ranks/rank_steps.h"

hb_result hb_rank_study_open(hb_rank_study *s, size_t index, hb_trace_file **file)
{
    hb_told_step *steps;
    uint32_t count;
    if (!s || !file) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    *file = NULL;
    if (index >= s->cycles.count) return hb_fail(HB_ERROR_NOT_FOUND, "no digest %zu", index);
    hb_trace_file *made = hb_trace_file_new();
    if (!made) return hb_no_memory();
    hb_result result =
        hb_rank_tell(&s->cycles.items[index].digest, hb_trace_file_trace(made), &steps, &count);
    hb_trace_file_tell_steps(made, steps, count);
    if (result == HB_OK)
        *file = made;
    else
        hb_trace_file_close(made);
    return result;
}

/* ---- as the plugin is asked ---- */

static hb_result fill_profile(hb_profile *p, const hb_rank_digest *d, const hb_rank_source *source)
{
    char span[16];
    hb_told_step *steps;
    uint32_t count;
    snprintf(span, sizeof span, "%u", source->cycle + 1);
    *p = (hb_profile){.path = strdup(source->file),
                      .worker = strdup(source->worker),
                      .span = strdup(span),
                      .loaded = true};
    hb_result result = hb_rank_tell(d, &p->trace, &steps, &count);
    if (result == HB_OK) result = hb_analysis_of_steps(&p->analysis, &p->trace, steps, count);
    free(steps);
    if (!p->path || !p->worker || !p->span) return hb_no_memory();
    if (result == HB_ERROR_FORMAT && (p->lost = strdup(hb_last_error()))) return HB_OK;
    return result;
}

static hb_result fill_run(hb_run *run, hb_rank_study *s)
{
    const hb_rank_source *sources;
    size_t count;
    HB_TRY(hb_rank_study_sources(s, &sources, &count));
    run->profiles = calloc(count + 1, sizeof *run->profiles);
    if (!run->profiles) return hb_no_memory();
    for (; run->num_profiles < count; run->num_profiles++) {
        hb_profile *p = &run->profiles[run->num_profiles];
        hb_result result = fill_profile(p, &s->cycles.items[run->num_profiles].digest,
                                        &sources[run->num_profiles]);
        if (result == HB_OK) continue;
        run->num_profiles++;
        return result;
    }
    return HB_OK;
}

hb_result hb_rank_study_query(hb_rank_study *s, const char *name, const char *question, char **json,
                              size_t *size)
{
    if (!s || !name || !question || !json)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    hb_logdir *logdir = calloc(1, sizeof *logdir);
    hb_run *run = calloc(1, sizeof *run);
    hb_result result = logdir && run ? HB_OK : hb_no_memory();
    if (result == HB_OK) {
        *run = (hb_run){.name = strdup(name), .loaded = true};
        logdir->runs = run;
        logdir->num_runs = 1;
        result = run->name ? fill_run(run, s) : hb_no_memory();
    } else {
        free(run);
    }
    if (result == HB_OK) result = hb_logdir_query(logdir, question, json, size);
    hb_logdir_close(logdir);
    return result;
}
