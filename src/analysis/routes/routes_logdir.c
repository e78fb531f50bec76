/* SPDX-License-Identifier: MIT
 *
 * The routes about a log directory, its runs, workers and spans.
 */
#include "routes/routes_logdir.h"

#include <stdlib.h>

#include "base/memory_share.h"

static hb_result need(const hb_url *url, const char *name, const char **value)
{
    *value = hb_url_get(url, name);
    if (!*value) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "parameter %s is missing", name);
    return HB_OK;
}

static hb_result find_run(hb_logdir *logdir, const char *name, hb_run **run)
{
    for (size_t i = 0; i < logdir->num_runs; i++) {
        *run = &logdir->runs[i];
        if (strcmp((*run)->name, name) != 0) continue;
        HB_TRY(hb_run_load(logdir, *run));
        if ((*run)->lost)
            return hb_fail(HB_ERROR_NOT_FOUND, "the plugin loses run '%s': %s", name, (*run)->lost);
        return HB_OK;
    }
    return hb_fail(HB_ERROR_NOT_FOUND, "no run '%s'", name);
}

static hb_result find_profile(hb_run *run, const char *worker, const char *span, hb_profile **found)
{
    if (hb_run_joint(run, worker, span))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "worker All has only the distributed view");
    for (size_t i = 0; span && i < run->num_profiles; i++) {
        hb_profile *p = &run->profiles[i];
        if (strcmp(p->worker, worker) != 0 || strcmp(p->span, span) != 0) continue;
        *found = p;
        if (!p->lost) return HB_OK;
    }
    for (size_t i = 0; span && i < run->num_profiles; i++) {
        const hb_profile *p = &run->profiles[i];
        if (strcmp(p->worker, worker) == 0 && strcmp(p->span, span) == 0)
            return hb_fail(HB_ERROR_NOT_FOUND, "the plugin loses this file: %s", p->lost);
    }
    return hb_fail(HB_ERROR_NOT_FOUND, "no worker '%s' with span '%s' in run '%s'", worker,
                   span ? span : "", run->name);
}

/* ---- lists of names ---- */

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void out_sorted(hb_emitter *out, const char **names, size_t count)
{
    qsort(names, count, sizeof *names, by_text);
    hb_emit_open(out, '[');
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) hb_emit_text(out, names[i]);
    hb_emit_close(out, ']');
}

static hb_result runs(hb_logdir *logdir, const hb_url *url, hb_emitter *out)
{
    bool loading = false;
    (void)url;
    hb_emit_open(out, '{');
    hb_emit_open_key(out, "runs", '[');
    for (size_t i = 0; i < logdir->num_runs; i++) {
        hb_run *run = &logdir->runs[i];
        bool before = run->loaded;
        HB_TRY(hb_run_load(logdir, run));
        if (!run->lost) hb_emit_text(out, run->name);
        loading |= run->hangs;
        if (!before) hb_run_unload(run);
    }
    hb_emit_close(out, ']');
    hb_emit_key(out, "loading");
    hb_emit_raw(out, loading ? HB_STR("true") : HB_STR("false"));
    hb_emit_close(out, '}');
    return HB_OK;
}

static hb_result views(hb_logdir *logdir, const hb_url *url, hb_emitter *out)
{
    const char *name;
    hb_run *run = NULL;
    HB_TRY(need(url, "run", &name));
    HB_TRY(find_run(logdir, name, &run));
    unsigned all = hb_run_views(run);
    hb_emit_open(out, '[');
    for (int v = 0; v < HB_VIEW_COUNT; v++)
        if (all >> v & 1) hb_emit_text(out, hb_view_name((hb_view)v));
    hb_emit_close(out, ']');
    return HB_OK;
}

static hb_result workers(hb_logdir *logdir, const hb_url *url, hb_emitter *out)
{
    const char *name, *view;
    hb_run *run = NULL;
    HB_TRY(need(url, "run", &name));
    HB_TRY(need(url, "view", &view));
    HB_TRY(find_run(logdir, name, &run));
    const char **names = malloc((run->num_profiles + run->num_joints + 1) * sizeof *names);
    if (!names) return hb_no_memory();
    size_t n = 0;
    for (int v = 0; v < HB_VIEW_COUNT; v++) {
        if (strcmp(hb_view_name((hb_view)v), view) != 0) continue;
        for (size_t i = 0; i < run->num_profiles; i++) {
            const hb_profile *p = &run->profiles[i];
            if (hb_profile_views(run, p) >> v & 1) names[n++] = p->worker;
        }
        if (v == HB_VIEW_DISTRIBUTED && run->num_joints) names[n++] = "All";
    }
    out_sorted(out, names, n);
    free(names);
    return HB_OK;
}

static hb_result spans(hb_logdir *logdir, const hb_url *url, hb_emitter *out)
{
    const char *name, *worker;
    hb_run *run = NULL;
    HB_TRY(need(url, "run", &name));
    HB_TRY(need(url, "worker", &worker));
    HB_TRY(find_run(logdir, name, &run));
    const char **names = malloc((run->num_profiles + run->num_joints + 1) * sizeof *names);
    if (!names) return hb_no_memory();
    size_t n = 0;
    for (size_t i = 0; i < run->num_profiles; i++)
        if (!run->profiles[i].lost && strcmp(run->profiles[i].worker, worker) == 0)
            names[n++] = run->profiles[i].span;
    for (size_t i = 0; strcmp(worker, "All") == 0 && i < run->num_joints; i++)
        names[n++] = run->joints[i].span;
    out_sorted(out, names, n);
    free(names);
    return HB_OK;
}

/* ---- several workers, several runs ---- */

static hb_result distributed(hb_logdir *logdir, const hb_url *url, hb_emitter *out)
{
    static const struct {
        const char *route;
        void (*answer)(hb_emitter *out, const hb_distributed *d);
    } answers[] = {{"distributed/gpuinfo", hb_answer_gpu_info},
                   {"distributed/overlap", hb_answer_overlap},
                   {"distributed/waittime", hb_answer_wait_time},
                   {"distributed/commops", hb_answer_comm_ops}};
    const char *name, *span = hb_url_get(url, "span");
    hb_run *run = NULL;
    HB_TRY(need(url, "run", &name));
    HB_TRY(find_run(logdir, name, &run));
    const hb_joint *joint = hb_run_joint(run, "All", span);
    if (!joint && run->num_profiles && run->profiles[0].analysis.told)
        return hb_fail(HB_ERROR_UNSUPPORTED, "of digests `hipboard ranks` answers this");
    if (!joint)
        return hb_fail(HB_ERROR_NOT_FOUND, "no distributed view of span '%s' in run '%s'",
                       span ? span : "", name);
    for (size_t i = 0; i < HB_ARRAY_LEN(answers); i++)
        if (strcmp(answers[i].route, url->route) == 0) answers[i].answer(out, &joint->distributed);
    return HB_OK;
}

static unsigned count_workers(const hb_run *run)
{
    unsigned n = 0;
    for (size_t i = 0; i < run->num_profiles; i++) {
        const hb_profile *p = &run->profiles[i];
        bool seen = p->lost || strcmp(p->worker, "All") == 0;
        for (size_t k = 0; k < i && !seen; k++)
            seen = !run->profiles[k].lost && strcmp(run->profiles[k].worker, p->worker) == 0;
        n += !seen;
    }
    return n;
}

static hb_result get_profile(hb_logdir *logdir, const hb_url *url, const char *const names[3],
                             bool need_span, hb_run **run, hb_profile **profile)
{
    const char *run_name, *worker, *span = hb_url_get(url, names[2]);
    HB_TRY(need(url, names[0], &run_name));
    HB_TRY(need(url, names[1], &worker));
    if (need_span) HB_TRY(need(url, names[2], &span));
    HB_TRY(find_run(logdir, run_name, run));
    return find_profile(*run, worker, span, profile);
}

static const char *const base_names[3] = {"run", "worker", "span"};
static const char *const exp_names[3] = {"exp_run", "exp_worker", "exp_span"};

static hb_result one_profile(hb_logdir *logdir, const hb_url *url, hb_emitter *out)
{
    hb_run *run = NULL;
    hb_profile *p;
    HB_TRY(get_profile(logdir, url, base_names, false, &run, &p));
    return hb_query_profile(&p->analysis, NULL, count_workers(run), url, out);
}

/* The file may have been gone for a while. */
static hb_result trace(hb_logdir *logdir, const hb_url *url, hb_emitter *out)
{
    hb_run *run = NULL;
    hb_profile *p;
    hb_buf text;
    hb_arena arena = {0};
    HB_TRY(get_profile(logdir, url, base_names, false, &run, &p));
    if (p->analysis.told) return hb_fail(HB_ERROR_UNSUPPORTED, "a digest has no events");
    hb_buf_init(&text, hb_memory_share());
    hb_result result = hb_profile_text(p, &text);
    if (result == HB_OK) {
        if (hb_arena_try(&arena)) hb_answer_trace(out, &p->analysis, &arena, text.data, text.size);
        result = hb_arena_outcome(&arena);
    }
    hb_arena_free(&arena);
    hb_buf_free(&text);
    return result;
}

static hb_result two_profiles(hb_logdir *logdir, const hb_url *url, hb_emitter *out)
{
    hb_run *run = NULL;
    hb_profile *base, *exp;
    HB_TRY(get_profile(logdir, url, base_names, true, &run, &base));
    HB_TRY(get_profile(logdir, url, exp_names, true, &run, &exp));
    return hb_query_profile(&base->analysis, &exp->analysis, 0, url, out);
}

hb_result hb_query_logdir(hb_logdir *logdir, const hb_url *url, hb_emitter *out)
{
    if (strcmp(url->route, "runs") == 0) return runs(logdir, url, out);
    if (strcmp(url->route, "views") == 0) return views(logdir, url, out);
    if (strcmp(url->route, "workers") == 0) return workers(logdir, url, out);
    if (strcmp(url->route, "spans") == 0) return spans(logdir, url, out);
    if (strcmp(url->route, "trace") == 0) return trace(logdir, url, out);
    if (strncmp(url->route, "distributed/", 12) == 0) {
        static const char *const known[] = {"gpuinfo", "overlap", "waittime", "commops"};
        for (size_t i = 0; i < HB_ARRAY_LEN(known); i++)
            if (strcmp(url->route + 12, known[i]) == 0) return distributed(logdir, url, out);
    }
    if (hb_query_is_profile_route(url->route)) return one_profile(logdir, url, out);
    if (hb_query_is_diff_route(url->route)) return two_profiles(logdir, url, out);
    return hb_fail(HB_ERROR_NOT_FOUND, "no route '%s'", url->route);
}
