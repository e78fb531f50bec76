/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: a log directory or a file against what the plugin needs.
 */
#include <stdlib.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "check/check.h"
#include "import/import_set.h"
#include "logdir/open_options.h"
#include "logdir/views.h"

/* A view, and what a run must hold for the plugin to show it. */
static const struct {
    hb_view view;
    const char *needs;
} views[] = {
    {HB_VIEW_KERNEL,
     "no view Kernel: it needs complete events of category kernel that belong to no collective"},
    {HB_VIEW_MEMORY, "no view Memory: it needs instant events named [memory]"},
    {HB_VIEW_MODULE,
     "no view Module: it needs python_function events with Python ids and module ids, inside the "
     "call trees"},
    {HB_VIEW_DISTRIBUTED,
     "no view Distributed: it needs the same collectives (nccl:... or gloo:...) in all workers of "
     "a span"},
};

typedef struct teller {
    bool (*fn)(void *context, const hb_violation *finding);
    void *context;
    bool stopped;
} teller;

static void tell(teller *t, const char *path, const char *rule, hb_effect effect, const char *text,
                 const char *name)
{
    hb_violation f = {
        .path = path, .rule = rule, .text = text, .effect = effect, .name = name ? name : ""};
    if (!t->stopped) t->stopped = !t->fn(t->context, &f);
}

static bool pass_on(void *context, const hb_violation *finding)
{
    teller *t = context;
    t->stopped = !t->fn(t->context, finding);
    return !t->stopped;
}

/* ---- names ---- */

/* The neighbour in order of time stands at another place in order of texts. */
static bool is_misplaced(const hb_run *run, size_t i)
{
    const hb_profile *p = &run->profiles[i], *before = i ? p - 1 : NULL;
    return before && p->raw_span && before->raw_span && strcmp(p->worker, before->worker) == 0 &&
           strlen(p->raw_span) < strlen(before->raw_span);
}

static bool names_node(const char *worker)
{
    const char *bar = strrchr(worker, '_');
    while (bar && !(bar[1] >= '0' && bar[1] <= '9'))
        bar = memrchr(worker, '_', (size_t)(bar - worker));
    return bar != NULL;
}

static void check_names(teller *t, const hb_run *run)
{
    for (size_t i = 0; i < run->num_profiles; i++) {
        const hb_profile *p = &run->profiles[i];
        if (!*p->worker)
            tell(t, p->path, "WORKER_EMPTY", HB_EFFECT_WRONG,
                 "the name begins with its suffix: the page cannot choose a worker without name",
                 NULL);
        if (strcmp(p->worker, "All") == 0 && run->num_joints)
            tell(t, p->path, "WORKER_ALL", HB_EFFECT_FILE_LOST,
                 "a worker called All is hidden by the distributed view", NULL);
        if (is_misplaced(run, i))
            tell(t, p->path, "SPAN_ORDER", HB_EFFECT_WRONG,
                 "spans are ordered as texts: time stamps of unequal length are out of order",
                 NULL);
        if (run->num_joints && !names_node(p->worker))
            tell(t, p->path, "WORKER_NAME", HB_EFFECT_NOTE,
                 "the worker's name is not <node>_<process>: it counts as a node of its own", NULL);
    }
}

/* ---- runs ---- */

static void tell_views(teller *t, const hb_run *run)
{
    unsigned all = hb_run_views(run);
    for (size_t i = 0; i < HB_ARRAY_LEN(views); i++)
        if (!(all >> views[i].view & 1))
            tell(t, run->dir, "NO_VIEW", HB_EFFECT_NOTE, views[i].needs,
                 hb_view_name(views[i].view));
}

static hb_result check_files(teller *t, hb_logdir *logdir, hb_run *run)
{
    for (size_t i = 0; i < run->num_profiles && !t->stopped; i++)
        HB_TRY(hb_check_trace(run->profiles[i].path, &logdir->options, pass_on, t));
    return HB_OK;
}

static hb_result check_run(teller *t, hb_logdir *logdir, hb_run *run)
{
    HB_TRY(hb_run_load(logdir, run));
    check_names(t, run);
    for (size_t i = 0; i < run->num_profiles; i++)
        if (run->profiles[i].replaced)
            tell(t, run->profiles[i].path, "DOUBLE", HB_EFFECT_FILE_LOST, run->profiles[i].lost,
                 NULL);
    if (run->lost)
        tell(t, run->dir, "RUN_LOST", HB_EFFECT_RUN_LOST, run->lost, run->name);
    else
        tell_views(t, run);
    hb_run_unload(run);
    return check_files(t, logdir, run);
}

static hb_result check_runs(teller *t, hb_logdir *logdir)
{
    for (size_t i = 0; i < logdir->num_strays; i++)
        tell(t, logdir->strays[i], "STRAY", HB_EFFECT_FILE_LOST,
             "the plugin reads names that end in .pt.trace.json or .pt.trace.json.gz only", NULL);
    if (logdir->num_runs == 0)
        tell(t, logdir->path, "NO_RUN", HB_EFFECT_RUN_LOST,
             "no runs: no files named *.pt.trace.json[.gz]", NULL);
    for (size_t i = 0; i < logdir->num_runs && !t->stopped; i++)
        HB_TRY(check_run(t, logdir, &logdir->runs[i]));
    return HB_OK;
}

static hb_result check_logdir(teller *t, const char *path, const hb_open_options *options)
{
    hb_logdir *logdir;
    HB_TRY(hb_logdir_open(path, options, &logdir));
    locale_t before = hb_enter_c_locale();
    hb_result result = check_runs(t, logdir);
    hb_leave_c_locale(before);
    hb_logdir_close(logdir);
    return result;
}

/* A file of another tool is looked at as it would be written, under its own name. */
typedef struct renamer {
    teller *to;
    const char *path;
} renamer;

static bool rename_and_pass_on(void *context, const hb_violation *finding)
{
    const renamer *r = context;
    hb_violation f = *finding;
    f.path = r->path;
    return pass_on(r->to, &f);
}

static hb_result check_process(teller *t, hb_import *import, size_t index,
                               const hb_open_options *options)
{
    char path[HB_IMPORT_FILE_PATH];
    int fd;
    renamer r = {t, hb_import_get(import, index)->path};
    HB_TRY(hb_import_to_memory_file(import, index, &fd, path));
    hb_result result = hb_check_trace(path, options, rename_and_pass_on, &r);
    close(fd);
    return result;
}

static hb_result check_import(teller *t, const char *path, const hb_open_options *options)
{
    hb_import *import;
    hb_result result = HB_OK;
    HB_TRY(hb_import_open(&path, 1, NULL, &import));
    for (size_t i = 0; result == HB_OK && i < hb_import_count(import) && !t->stopped; i++)
        result = check_process(t, import, i, options);
    hb_import_close(import);
    return result;
}

hb_result hb_check(const char *path, const hb_open_options *options,
                   bool (*fn)(void *context, const hb_violation *finding), void *context)
{
    struct stat st;
    hb_open_options o;
    teller t = {fn, context, false};
    if (!path || !fn) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no path or no function");
    HB_TRY(hb_open_options_take(options, &o));
    bool missing = stat(path, &st) != 0 && errno != ENOTDIR;
    if (missing || hb_is_logdir(path)) return check_logdir(&t, path, &o);
    locale_t before = hb_enter_c_locale();
    hb_result result =
        hb_import_knows(path) ? check_import(&t, path, &o) : hb_check_trace(path, &o, pass_on, &t);
    hb_leave_c_locale(before);
    return result;
}
