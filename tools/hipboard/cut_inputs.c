/* SPDX-License-Identifier: MIT */
#include "cut_inputs.h"

#include <errno.h>
#include <fts.h>
#include <hipboard/import.h>
#include <hipboard/pack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "text.h"

static bool make_directory(cut_inputs *cut, const char *who)
{
    const char *base = getenv("TMPDIR");
    if (asprintf(&cut->directory, "%s/hipboard-cut.XXXXXX", base && *base ? base : "/tmp") < 0)
        cut->directory = NULL;
    must(cut->directory);
    if (mkdtemp(cut->directory)) return true;
    fprintf(stderr, "hipboard %s: cannot create a directory like %s: %s\n", who, cut->directory,
            strerror(errno));
    free(cut->directory);
    cut->directory = NULL;
    return false;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Another tool's file becomes a run of a log directory, which is cut as all others. */
static hb_result import_one(const cut_inputs *cut, const char *path, char **run)
{
    hb_import *import;
    hb_import_options options = HB_IMPORT_OPTIONS_INIT;
    if (asprintf(run, "%s/runs/%s", cut->directory, name_of(path)) < 0) *run = NULL;
    must(*run);
    hb_result result = hb_import_open(&path, 1, &options, &import);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < hb_import_count(import) && result == HB_OK; i++)
        result = hb_import_write(import, i, *run, NULL);
    hb_import_close(import);
    return result;
}

/* Whether something of the traces is in the pack. */
static bool tell_left_out(const char *who, const hb_pack_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->num_members; i++) {
        const hb_pack_member *m = &report->members[i];
        any = any || m->name;
        if (!m->name) fprintf(stderr, "hipboard %s: left out: %s\n", who, m->left_out);
    }
    return any;
}

static bool pack(cut_inputs *cut, const char *who, const char *const *paths, size_t count,
                 const selection *s)
{
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    hb_open_options watched = progress_options();
    hb_pack_report *report = NULL;
    options.progress = watched.progress;
    options.context = watched.context;
    SELECT(&options, *s);
    if (asprintf(&cut->pack, "%s/%s.hbpack", cut->directory, name_of(paths[0])) < 0)
        cut->pack = NULL;
    must(cut->pack);
    hb_result result = hb_pack(paths, count, cut->pack, &options, &report);
    progress_clear();
    if (result != HB_OK) fprintf(stderr, "hipboard %s: %s\n", who, hb_last_error());
    bool any = result == HB_OK && tell_left_out(who, report);
    hb_pack_report_free(report);
    return any;
}

bool cut_inputs_make(cut_inputs *cut, const char *who, char *const *paths, size_t count,
                     const selection *s)
{
    hb_result result = HB_OK;
    if (!make_directory(cut, who)) return false;
    char **own = must(calloc(count + 1, sizeof *own));
    for (size_t i = 0; i < count && result == HB_OK; i++) {
        if (hb_import_knows(paths[i]))
            result = import_one(cut, paths[i], &own[i]);
        else
            own[i] = must(strdup(paths[i]));
    }
    progress_clear();
    if (result != HB_OK) fprintf(stderr, "hipboard %s: %s\n", who, hb_last_error());
    bool made = result == HB_OK && pack(cut, who, (const char *const *)own, count, s);
    for (size_t i = 0; i < count; i++)
        free(own[i]);
    free(own);
    return made;
}

void cut_inputs_free(cut_inputs *cut)
{
    char *roots[] = {cut->directory, NULL};
    FTS *tree = cut->directory ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    for (FTSENT *e; tree && (e = fts_read(tree)) != NULL;)
        if (e->fts_info != FTS_D) (void)remove(e->fts_path);
    if (tree) fts_close(tree);
    free(cut->pack);
    free(cut->directory);
}
