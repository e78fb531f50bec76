/* SPDX-License-Identifier: MIT
 *
 * Paths into runs, each with a name that tells it from the others.
 */
#include "compare/comparison.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/files.h"
#include "import/import_read.h"
#include "logdir/logdir.h"
#include "ranks/rank_steps.h"
#include "read/packed_file.h"

void hb_compare_run_free(hb_compare_run *run)
{
    hb_run_builder_free(run);
    for (size_t i = 0; i < run->num_files; i++) {
        free(run->files[i].path);
        free(run->files[i].worker);
    }
    free(run->files);
    hb_rank_study_destroy(run->digests);
    free(run->name);
    free(run->path);
}

static hb_result add_file(hb_compare_run *run, const char *path, const char *worker, size_t process)
{
    hb_run_file *files = realloc(run->files, (run->num_files + 1) * sizeof *files);
    if (!files) return hb_no_memory();
    run->files = files;
    hb_run_file *file = &files[run->num_files++];
    *file = (hb_run_file){strdup(path), strdup(worker), process};
    return file->path && file->worker ? HB_OK : hb_no_memory();
}

static hb_result add_run(hb_comparison *c, const char *path, hb_compare_run **run)
{
    hb_compare_run *runs = realloc(c->runs, (c->num_runs + 1) * sizeof *runs);
    if (!runs) return hb_no_memory();
    c->runs = runs;
    *run = &runs[c->num_runs++];
    **run = (hb_compare_run){.path = strdup(path)};
    return (*run)->path ? HB_OK : hb_no_memory();
}

static hb_result add_logdir(hb_comparison *c, const char *path)
{
    hb_logdir *logdir;
    hb_compare_run *run = NULL;
    HB_TRY(hb_logdir_open(path, NULL, &logdir));
    hb_result result =
        logdir->num_runs
            ? HB_OK
            : hb_fail(HB_ERROR_NOT_FOUND, "%s: no trace: no file named *.pt.trace.json[.gz]", path);
    for (size_t i = 0; result == HB_OK && i < logdir->num_runs; i++) {
        const hb_run *from = &logdir->runs[i];
        /* As the path was given, where that names the run itself. */
        bool itself = strcmp(from->dir, logdir->path) == 0;
        result = add_run(c, itself ? path : from->dir, &run);
        for (size_t k = 0; result == HB_OK && k < from->num_profiles; k++)
            result = add_file(run, from->profiles[k].path, from->profiles[k].worker, 0);
    }
    hb_logdir_close(logdir);
    return result;
}

static hb_result add_line(hb_comparison *c, hb_lines *lines, const char *path, const char *text)
{
    char *line;
    if (asprintf(&line, "%s: %s", path, text) < 0) return hb_no_memory();
    if (hb_arena_try(&c->arena)) *HB_PUSH(&c->arena, lines) = line;
    return hb_arena_outcome(&c->arena);
}

static hb_result add_digests(hb_comparison *c, const char *path)
{
    hb_compare_run *run = NULL;
    const hb_rank_source *list;
    const char *const *notes;
    size_t count, num_notes;
    HB_TRY(add_run(c, path, &run));
    HB_TRY(hb_rank_study_create(NULL, &run->digests));
    HB_TRY(hb_rank_study_add(run->digests, path));
    HB_TRY(hb_rank_study_sources(run->digests, &list, &count));
    for (size_t i = 0; i < count; i++)
        HB_TRY(add_file(run, path, list[i].worker, i));
    HB_TRY(hb_rank_study_notes(run->digests, &notes, &num_notes));
    for (size_t i = 0; i < num_notes; i++)
        HB_TRY(add_line(c, &c->notes, path, notes[i]));
    return add_line(c, &c->notes, path,
                    "digests: compared are steps, as they were marked; operators and kernels are "
                    "in the traces");
}

static hb_result add_path(hb_comparison *c, const char *path)
{
    struct stat st;
    hb_compare_run *run = NULL;
    if (strcmp(path, "-") != 0 && hb_is_logdir(path)) return add_logdir(c, path);
    if (strcmp(path, "-") != 0 && stat(path, &st) != 0 && !hb_pack_part(path))
        return hb_fail_errno(HB_ERROR_NOT_FOUND, errno, "%s", path);
    if (hb_path_ends(path, HB_RANK_FILE_SUFFIX)) return add_digests(c, path);
    size_t processes = 1;
    /* What is wrong with the file is said, beside the other runs, by who reads it. */
    if (strcmp(path, "-") != 0 && hb_import_processes(path, &processes) != HB_OK) processes = 1;
    HB_TRY(add_run(c, path, &run));
    for (size_t i = 0; i < processes; i++)
        HB_TRY(add_file(run, path, path, i));
    return HB_OK;
}

/* ---- names ---- */

/* The last `parts` parts of a path, without slashes at its end. */
static const char *tail(const char *path, size_t parts)
{
    const char *p = path + strlen(path);
    while (p > path && p[-1] == '/')
        p--;
    for (; p > path; p--)
        if (p[-1] == '/' && --parts == 0) break;
    return p;
}

static bool is_unique(const hb_comparison *c, size_t run, size_t parts)
{
    const char *name = tail(c->runs[run].path, parts);
    for (size_t i = 0; i < c->num_runs; i++)
        if (strcmp(tail(c->runs[i].path, parts), name) == 0 &&
            strcmp(c->runs[i].path, c->runs[run].path) != 0)
            return false;
    return true;
}

/* As many parts of all paths as tell them apart; one that is given twice counts its turns. */
static hb_result name_runs(hb_comparison *c)
{
    size_t parts = 1;
    for (size_t i = 0; i < c->num_runs; i++)
        while (parts < 32 && !is_unique(c, i, parts) &&
               tail(c->runs[i].path, parts) != c->runs[i].path)
            parts++;
    for (size_t i = 0; i < c->num_runs; i++) {
        hb_compare_run *run = &c->runs[i];
        size_t same = 0, length;
        for (size_t k = 0; k < i; k++)
            same += strcmp(tail(c->runs[k].path, parts), tail(run->path, parts)) == 0;
        run->name = strdup(tail(run->path, parts));
        if (!run->name) return hb_no_memory();
        for (length = strlen(run->name); length > 1 && run->name[length - 1] == '/'; length--)
            run->name[length - 1] = 0;
        char *numbered = NULL;
        if (same && asprintf(&numbered, "%s (%zu)", run->name, same + 1) < 0) return hb_no_memory();
        if (!same) continue;
        free(run->name);
        run->name = numbered;
    }
    return HB_OK;
}

static bool find_path(const hb_comparison *c, const char *path, size_t *run)
{
    char *wanted = realpath(path, NULL);
    bool found = false;
    for (size_t i = 0; wanted && !found && i < c->num_runs; i++) {
        char *real = realpath(c->runs[i].path, NULL);
        found = real && strcmp(real, wanted) == 0;
        if (found) *run = i;
        free(real);
    }
    free(wanted);
    return found;
}

static bool find_name(const hb_comparison *c, const char *name, size_t *run)
{
    for (*run = 0; *run < c->num_runs; ++*run)
        if (strcmp(c->runs[*run].name, name) == 0) return true;
    return false;
}

static hb_result find_baseline(hb_comparison *c, const char *baseline)
{
    struct stat st;
    size_t before = c->num_runs;
    if (find_path(c, baseline, &c->baseline)) return HB_OK;
    if (stat(baseline, &st) != 0 && !hb_is_logdir(baseline))
        return HB_OK; /* perhaps a name: there are none yet */
    c->baseline = before;
    HB_TRY(add_path(c, baseline));
    if (c->num_runs == before + 1) return HB_OK;
    return hb_fail(HB_ERROR_INVALID_ARGUMENT, "baseline %s holds %zu runs; name one of them",
                   baseline, c->num_runs - before);
}

hb_result hb_compare_find(hb_comparison *c, const char *const *paths, size_t num_paths,
                          const char *baseline)
{
    for (size_t i = 0; i < num_paths; i++)
        HB_TRY(add_path(c, paths[i]));
    if (!baseline) return name_runs(c);
    c->baseline = SIZE_MAX;
    HB_TRY(find_baseline(c, baseline));
    HB_TRY(name_runs(c));
    if (c->baseline != SIZE_MAX || find_name(c, baseline, &c->baseline)) return HB_OK;
    return hb_fail(HB_ERROR_NOT_FOUND, "baseline %s is neither a path nor one of the runs",
                   baseline);
}
