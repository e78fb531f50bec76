/* SPDX-License-Identifier: MIT
 *
 * Reads the runs' files, some at a time, and keeps of each only its samples. Files become part of
 * their runs in their order, whichever was read first, so that results are the same each time; one
 * that is early waits, which also bounds how many are in memory.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/thread_start.h"
#include "compare/comparison.h"
#include "import/import_read.h"
#include "logdir/open_options.h"
#include "normalize/normalize.h"
#include "ranks/rank_steps.h"

typedef struct loader {
    hb_comparison *c;
    pthread_mutex_t lock, progress_lock;
    pthread_cond_t turn;
    size_t num_jobs, next, done; /* next: to be read; done: that many are in their runs */
    hb_result result;            /* not OK: stop */
    char reason[512];
} loader;

typedef struct job {
    loader *loader;
    hb_compare_run *run;
    const hb_run_file *file;
    size_t number;
    bool last; /* of its run */
    hb_trace trace;
    hb_read_report report;
    hb_analysis analysis;
    hb_digest digest;
} job;

/* ---- one file ---- */

static bool report_progress(void *context, uint64_t bytes, uint64_t total)
{
    const job *j = context;
    const hb_open_options *o = &j->loader->c->open;
    pthread_mutex_lock(&j->loader->progress_lock);
    bool go_on = !o->progress || o->progress(o->context, j->file->path, bytes, total);
    pthread_mutex_unlock(&j->loader->progress_lock);
    return go_on;
}

/* Samples that wait for their turn take less memory without it. */
static void drop_analysis(job *j)
{
    hb_analysis_free(&j->analysis);
    j->digest.analysis = NULL;
}

static hb_result analyse_digest(job *j)
{
    hb_told_step *steps;
    uint32_t count;
    const hb_rank_study *digests = j->run->digests;
    hb_result result =
        hb_rank_tell(&digests->cycles.items[j->file->process].digest, &j->trace, &steps, &count);
    if (result == HB_OK) result = hb_analysis_of_steps(&j->analysis, &j->trace, steps, count);
    free(steps);
    return result;
}

static hb_result analyse_trace(job *j)
{
    hb_read_options options = {.max_bytes = j->loader->c->open.max_memory,
                               .num_readers = 1, /* other files are read meanwhile */
                               .progress = report_progress,
                               .context = j};
    HB_TRY(hb_import_read(j->file->path, j->file->process, &options, &j->trace, &j->report));
    HB_TRY(hb_normalize(&j->trace));
    return hb_analysis_run_costs(&j->analysis, &j->trace);
}

static hb_result read_file(job *j)
{
    hb_result result = j->run->digests ? analyse_digest(j) : analyse_trace(j);
    if (result == HB_OK) result = hb_digest_make(&j->digest, &j->analysis);
    if (result == HB_OK && !j->digest.items.count)
        result = hb_fail(HB_ERROR_FORMAT, "nothing that has a time is in it");
    if (result == HB_OK && !j->loader->c->tree) drop_analysis(j);
    if (result == HB_OK) return result;
    char reason[300];
    snprintf(reason, sizeof reason, "%s", hb_last_error());
    return hb_fail(result, "%s: %s", j->file->path, reason);
}

/* ---- into its run ---- */

static bool is_fatal(hb_result result)
{
    return result == HB_ERROR_NO_MEMORY || result == HB_ERROR_STATE;
}

static void stop(loader *l, hb_result result)
{
    if (l->result != HB_OK) return;
    l->result = result;
    snprintf(l->reason, sizeof l->reason, "%s", hb_last_error());
}

static void add_line(hb_comparison *c, hb_lines *lines, const char *text)
{
    char *copy = strdup(text);
    if (!copy) hb_arena_leave(&c->arena, HB_ERROR_NO_MEMORY, "out of memory");
    *HB_PUSH(&c->arena, lines) = copy;
}

static void note_cut(const job *j)
{
    char text[4600];
    for (uint32_t i = 0; i < j->report.num_notes; i++) {
        const hb_read_note *n = &j->report.notes[i];
        if (n->defect != HB_JSON_DEFECT_CUT) continue;
        const char *why =
            j->report.cut_reason[0] ? j->report.cut_reason : hb_json_defect_text(n->defect);
        snprintf(text, sizeof text, "%s: byte %llu: %s; compared is what stands before",
                 j->file->path, (unsigned long long)n->offset, why);
        add_line(j->loader->c, &j->loader->c->notes, text);
    }
}

static void add_to_run(job *j, hb_result result)
{
    hb_comparison *c = j->loader->c;
    if (result == HB_OK) {
        note_cut(j);
        hb_facts_take(c, j->run, &j->digest);
        hb_run_add(c, j->run, j->file->worker, &j->digest);
        int side = j->run != &c->runs[c->baseline];
        if (c->tree && hb_call_tree_add(c->tree, &j->digest, side) != HB_OK)
            hb_arena_leave(&c->arena, HB_ERROR_NO_MEMORY, "out of memory for the call tree");
    } else {
        add_line(c, &c->problems, hb_last_error());
    }
    if (j->last) hb_run_finish(c, j->run);
}

/* Under the lock, in the order of the jobs. */
static void deliver(job *j, hb_result result)
{
    loader *l = j->loader;
    hb_arena *arena = &l->c->arena;
    if (is_fatal(result)) stop(l, result);
    if (l->result != HB_OK) return;
    if (hb_arena_try(arena)) add_to_run(j, result);
    if (arena->result != HB_OK) stop(l, hb_arena_outcome(arena));
}

/* ---- threads ---- */

static bool find_job(loader *l, job *j)
{
    size_t number = l->next;
    if (l->result != HB_OK || number == l->num_jobs) return false;
    l->next++;
    j->loader = l;
    j->number = number;
    for (size_t i = 0; i < l->c->num_runs; i++) {
        hb_compare_run *run = &l->c->runs[i];
        if (number < run->num_files) {
            j->run = run;
            j->file = &run->files[number];
            j->last = number + 1 == run->num_files;
            return true;
        }
        number -= run->num_files;
    }
    return false;
}

static void do_job(job *j)
{
    loader *l = j->loader;
    hb_result result = read_file(j);
    pthread_mutex_lock(&l->lock);
    while (l->done != j->number)
        pthread_cond_wait(&l->turn, &l->lock);
    deliver(j, result);
    l->done++;
    pthread_cond_broadcast(&l->turn);
    pthread_mutex_unlock(&l->lock);
    hb_digest_free(&j->digest);
    hb_analysis_free(&j->analysis);
    hb_trace_free(&j->trace);
}

static void *work(void *argument)
{
    loader *l = argument;
    job *j = malloc(sizeof *j);
    locale_t before = hb_enter_c_locale();
    for (bool more = true; more;) {
        pthread_mutex_lock(&l->lock);
        if (!j) stop(l, hb_no_memory());
        if (j) memset(j, 0, sizeof *j);
        more = j && find_job(l, j);
        pthread_mutex_unlock(&l->lock);
        if (more) do_job(j);
    }
    hb_leave_c_locale(before);
    free(j);
    return NULL;
}

static unsigned num_threads(const loader *l)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned wanted = l->c->threads ? l->c->threads : processors > 1 ? 2 : 1;
    return (unsigned)HB_MIN((size_t)HB_MIN(wanted, 64u), l->num_jobs);
}

hb_result hb_compare_load(hb_comparison *c)
{
    loader l = {.c = c,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .progress_lock = PTHREAD_MUTEX_INITIALIZER,
                .turn = PTHREAD_COND_INITIALIZER};
    pthread_t threads[64];
    unsigned started = 0;
    for (size_t i = 0; i < c->num_runs; i++)
        l.num_jobs += c->runs[i].num_files;
    /* This thread works as well: where no other can be started it works alone. */
    for (unsigned n = num_threads(&l); started + 1 < n; started++)
        if (hb_background_thread(&threads[started], "compare", work, &l) != 0) break;
    work(&l);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return l.result == HB_OK ? HB_OK : hb_fail(l.result, "%s", l.reason);
}
