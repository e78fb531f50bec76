/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: log directories.
 */
#include <stdlib.h>

#include "base/c_locale.h"
#include "logdir/logdir.h"
#include "logdir/open_options.h"

hb_result hb_logdir_open(const char *path, const hb_open_options *options, hb_logdir **logdir)
{
    if (!path || !logdir)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no path or no place for the result");
    *logdir = NULL;
    hb_logdir *made = calloc(1, sizeof *made);
    if (!made || !(made->path = strdup(path))) {
        free(made);
        return hb_no_memory();
    }
    hb_result result = hb_open_options_take(options, &made->options);
    if (result == HB_OK) result = hb_logdir_scan(made);
    if (result != HB_OK)
        hb_logdir_close(made);
    else
        *logdir = made;
    return result;
}

void hb_logdir_close(hb_logdir *logdir)
{
    if (!logdir) return;
    for (size_t i = 0; i < logdir->num_runs; i++)
        hb_run_free(&logdir->runs[i]);
    free(logdir->runs);
    for (size_t i = 0; i < logdir->num_strays; i++)
        free(logdir->strays[i]);
    free(logdir->strays);
    free(logdir->path);
    free(logdir);
}

size_t hb_logdir_num_runs(const hb_logdir *logdir)
{
    return logdir ? logdir->num_runs : 0;
}

const char *hb_logdir_run(const hb_logdir *logdir, size_t index)
{
    return logdir && index < logdir->num_runs ? logdir->runs[index].name : NULL;
}

hb_result hb_logdir_lost_files(hb_logdir *logdir, const char *name,
                               void (*fn)(void *context, const char *path, const char *reason),
                               void *context)
{
    if (!logdir || !name || !fn) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    for (size_t i = 0; i < logdir->num_runs; i++) {
        hb_run *run = &logdir->runs[i];
        if (strcmp(run->name, name) != 0) continue;
        locale_t before = hb_enter_c_locale();
        hb_result result = hb_run_load(logdir, run);
        hb_leave_c_locale(before);
        HB_TRY(result);
        for (size_t k = 0; k < run->num_profiles; k++) {
            const char *reason = run->lost ? run->lost : run->profiles[k].lost;
            if (reason) fn(context, run->profiles[k].path, reason);
        }
        return HB_OK;
    }
    return hb_fail(HB_ERROR_NOT_FOUND, "no run '%s'", name);
}

void hb_logdir_files(const hb_logdir *logdir, bool (*fn)(void *context, const hb_logdir_file *file),
                     void *context)
{
    for (size_t i = 0; logdir && fn && i < logdir->num_runs; i++)
        for (size_t k = 0; k < logdir->runs[i].num_profiles; k++) {
            const hb_profile *p = &logdir->runs[i].profiles[k];
            hb_logdir_file file = {logdir->runs[i].name, p->worker, p->span, p->path};
            if (!fn(context, &file)) return;
        }
}

void hb_free(void *memory)
{
    free(memory);
}
