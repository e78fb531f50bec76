/* SPDX-License-Identifier: MIT */
#include "cut_inputs.h"

#include <errno.h>
#include <hipboard/pack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static bool is_trace(const char *name)
{
    return ends_with(name, ".pt.trace.json") || ends_with(name, ".pt.trace.json.gz");
}

static bool is_named(char *const *paths, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(paths[i], path) == 0) return true;
    return false;
}

static void tell(const char *who, const char *path, const char *why)
{
    fprintf(stderr, "hipboard %s: left out: %s: %s\n", who, path, text_behind(why, path));
}

/* Whether something of the traces is in the pack. Digests are of whole traces, and a pack keeps
 * what is none as it is. */
static bool tell_left_out(cut_inputs *cut, const char *who, char *const *paths, size_t count,
                          const hb_pack_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->num_members; i++) {
        const hb_pack_member *m = &report->members[i];
        bool odd = m->name && !is_trace(m->name) && is_named(paths, count, m->path);
        any = any || (m->name && !odd);
        cut->left_out |= odd || (!m->name && !is_digests(m->path));
        if (!m->name) tell(who, m->path, m->left_out);
        if (odd) tell(who, m->path, "no trace of which a part can be shown");
    }
    return any;
}

bool cut_inputs_make(cut_inputs *cut, const char *who, char *const *paths, size_t count,
                     const selection *s)
{
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    hb_open_options watched = progress_options();
    hb_pack_report *report = NULL;
    if (!make_directory(cut, who)) return false;
    options.progress = watched.progress;
    options.context = watched.context;
    SELECT(&options, *s);
    char *name = pack_name(paths[0]);
    if (asprintf(&cut->pack, "%s/%s", cut->directory, name) < 0) cut->pack = NULL;
    must(cut->pack);
    free(name);
    hb_result result = hb_pack((const char *const *)paths, count, cut->pack, &options, &report);
    progress_clear();
    if (result != HB_OK) fprintf(stderr, "hipboard %s: %s\n", who, hb_last_error());
    bool any = result == HB_OK && tell_left_out(cut, who, paths, count, report);
    hb_pack_report_free(report);
    return any;
}

void cut_inputs_free(cut_inputs *cut)
{
    if (cut->pack) (void)unlink(cut->pack);
    if (cut->directory) (void)rmdir(cut->directory);
    free(cut->pack);
    free(cut->directory);
}
