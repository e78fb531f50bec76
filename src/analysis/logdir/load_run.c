/* SPDX-License-Identifier: MIT
 *
 * Reads a run as the plugin reads it: what it could not load is lost here too.
 */
#include <stdlib.h>

#include "base/files.h"
#include "logdir/logdir.h"
#include "logdir/open_options.h"

/* The plugin parses strictly, then with control characters allowed, then with quotes put around
 * each bare N/A, and strictly again. */
static const char *why_lost(const hb_read_report *report)
{
    const uint64_t *n = report->counts;
    if (n[HB_JSON_DEFECT_BAD_UTF8]) return "invalid UTF-8";
    if (n[HB_JSON_DEFECT_BAD_ESCAPE]) return "invalid backslash escape";
    if (!n[HB_JSON_DEFECT_BARE_NA]) return NULL;
    if (report->encoded) return "a byte order mark or UTF-16 beside a bare N/A";
    if (n[HB_JSON_DEFECT_CONTROL]) return "control characters in strings beside a bare N/A";
    if (n[HB_JSON_DEFECT_SURROGATE]) return "UTF-8 encoded surrogates beside a bare N/A";
    if (n[HB_JSON_DEFECT_INNER_NA]) return "N/A inside a longer string beside a bare N/A";
    return NULL;
}

static hb_result read_strictly(const hb_open_options *options, hb_profile *p)
{
    hb_file_progress context = {options, p->path};
    hb_read_options read = {.strict = true,
                            .form = hb_path_ends(p->path, ".gz") ? HB_TEXT_GZIP : HB_TEXT_PLAIN,
                            .max_bytes = options->max_memory,
                            .progress = options->progress ? hb_file_progress_report : NULL,
                            .context = &context};
    hb_read_report *report = malloc(sizeof *report);
    if (!report) return hb_no_memory();
    hb_result result = hb_read_trace(p->path, &read, &p->trace, report);
    p->bare_na = result == HB_OK && report->counts[HB_JSON_DEFECT_BARE_NA];
    if (p->bare_na) {
        /* Now every N/A in a string matters as well. */
        hb_trace_free(&p->trace);
        read.check_na = true;
        result = hb_read_trace(p->path, &read, &p->trace, report);
    }
    const char *why = result == HB_OK ? why_lost(report) : NULL;
    free(report);
    return why ? hb_fail(HB_ERROR_FORMAT, "%s: %s", p->path, why) : result;
}

/* Errors of the machine end the query; what is wrong with the file loses the file. */
hb_result hb_profile_load(const hb_open_options *options, hb_profile *p)
{
    p->loaded = true;
    hb_result result = read_strictly(options, p);
    if (result == HB_OK) result = hb_analysis_run(&p->analysis, &p->trace);
    if (result == HB_OK) return HB_OK;
    if (result == HB_ERROR_NO_MEMORY || result == HB_ERROR_LIMIT || result == HB_ERROR_STATE)
        return result;
    p->lost = strdup(hb_last_error());
    return p->lost ? HB_OK : hb_no_memory();
}

/* ---- several workers ---- */

/* Of profiles with the same worker and span, the plugin keeps one; here the last in order of name.
 */
static bool is_replaced(const hb_run *run, size_t i)
{
    for (size_t k = i + 1; k < run->num_profiles; k++)
        if (!run->profiles[k].lost &&
            strcmp(run->profiles[k].worker, run->profiles[i].worker) == 0 &&
            strcmp(run->profiles[k].span, run->profiles[i].span) == 0)
            return true;
    return false;
}

static void drop_replaced(hb_run *run)
{
    for (size_t i = 0; i < run->num_profiles; i++)
        if (!run->profiles[i].lost && is_replaced(run, i)) {
            run->profiles[i].lost = strdup("another file has the same worker and span");
            run->profiles[i].replaced = true;
        }
}

static bool first_of_span(const hb_run *run, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!run->profiles[k].lost && strcmp(run->profiles[k].span, run->profiles[i].span) == 0)
            return false;
    return true;
}

static hb_result join_span(hb_run *run, const char *span)
{
    hb_joint *joints = realloc(run->joints, (run->num_joints + 1) * sizeof *joints);
    if (!joints) return hb_no_memory();
    run->joints = joints;
    hb_joint *joint = &joints[run->num_joints];
    *joint = (hb_joint){.span = span};
    joint->workers = calloc(run->num_profiles, sizeof *joint->workers);
    if (!joint->workers) return hb_no_memory();
    uint32_t n = 0;
    for (size_t i = 0; i < run->num_profiles; i++) {
        hb_profile *p = &run->profiles[i];
        if (!p->lost && strcmp(p->span, span) == 0)
            joint->workers[n++] = (hb_worker){p->worker, &p->analysis};
    }
    bool exists;
    hb_result result = hb_distributed_run(&joint->distributed, joint->workers, n, &exists);
    if (result == HB_OK && exists) {
        run->num_joints++;
        return HB_OK;
    }
    hb_distributed_free(&joint->distributed);
    free(joint->workers);
    if (result != HB_ERROR_FORMAT) return result;
    if (!run->lost) run->lost = strdup(hb_last_error());
    return HB_OK;
}

static hb_result find_hang(hb_run *run)
{
    for (size_t i = 0; i < run->num_profiles && !run->hangs; i++)
        run->hangs = !run->profiles[i].lost && run->profiles[i].analysis.depth > HB_MAX_SENT_DEPTH;
    if (!run->hangs || run->lost) return HB_OK;
    run->lost = strdup("calls are nested so deeply that the plugin never finishes loading");
    return run->lost ? HB_OK : hb_no_memory();
}

hb_result hb_run_load(hb_logdir *logdir, hb_run *run)
{
    if (run->loaded) return HB_OK;
    for (size_t i = 0; i < run->num_profiles; i++)
        HB_TRY(hb_profile_load(&logdir->options, &run->profiles[i]));
    HB_TRY(find_hang(run));
    drop_replaced(run);
    for (size_t i = 0; i < run->num_profiles; i++)
        if (!run->profiles[i].lost && first_of_span(run, i))
            HB_TRY(join_span(run, run->profiles[i].span));
    run->loaded = true;
    return HB_OK;
}

void hb_profile_unload(hb_profile *p)
{
    if (!p->loaded) return;
    hb_analysis_free(&p->analysis);
    hb_trace_free(&p->trace);
    free(p->lost);
    p->lost = NULL;
    p->loaded = p->replaced = false;
}

void hb_run_unload(hb_run *run)
{
    for (size_t i = 0; i < run->num_joints; i++) {
        hb_distributed_free(&run->joints[i].distributed);
        free(run->joints[i].workers);
    }
    free(run->joints);
    run->joints = NULL;
    run->num_joints = 0;
    for (size_t i = 0; i < run->num_profiles; i++)
        hb_profile_unload(&run->profiles[i]);
    free(run->lost);
    run->lost = NULL;
    run->loaded = run->hangs = false;
}

void hb_profile_free_names(hb_profile *profile)
{
    free(profile->path);
    free(profile->worker);
    free(profile->span);
    free(profile->raw_span);
}

void hb_run_free(hb_run *run)
{
    hb_run_unload(run);
    for (size_t i = 0; i < run->num_profiles; i++)
        hb_profile_free_names(&run->profiles[i]);
    free(run->profiles);
    free(run->name);
    free(run->dir);
    *run = (hb_run){0};
}
