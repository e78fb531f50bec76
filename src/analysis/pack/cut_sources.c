/* SPDX-License-Identifier: MIT
 *
 * A part of each trace that is packed. Traces of other tools are read together, since files of one
 * run belong together and those of one machine have one clock, and are cut as all others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hipboard/convert.h>
#include <hipboard/hipboard.h>

#include "base/files.h"
#include "import/import_set.h"
#include "pack/sources.h"

#define TRACE_SUFFIX ".pt.trace.json"

static bool is_whole(const hb_pack_options *o)
{
    return o->first_step == INT64_MIN && o->last_step == INT64_MAX && !(o->start_us > 0) &&
           !(o->end_us > 0) && o->max_size == 0 && o->split_steps == 0 && !(o->split_us > 0);
}

static bool is_called_trace(const hb_source_file *f)
{
    return hb_path_ends(f->name, TRACE_SUFFIX) || hb_path_ends(f->name, TRACE_SUFFIX ".gz");
}

/* Other JSON is none in a log directory, but may be one where the caller names it. */
static bool may_be_trace(const hb_source_file *f)
{
    return is_called_trace(f) || (f->named && f->kind == HB_SOURCE_JSON);
}

static hb_result make_temporary(hb_sources *s)
{
    const char *base = getenv("TMPDIR");
    if (s->temporary) return HB_OK;
    if (asprintf(&s->temporary, "%s/hipboard-pack.XXXXXX", base && *base ? base : "/tmp") < 0) {
        s->temporary = NULL;
        return hb_no_memory();
    }
    if (mkdtemp(s->temporary)) return HB_OK;
    hb_result result = hb_fail_file(errno, "create a directory like", s->temporary);
    free(s->temporary);
    s->temporary = NULL;
    return result;
}

/* ---- a trace ---- */

/* What the trace `of` became, in the place of its name's last part. */
static hb_result add_converted(hb_sources *s, const hb_source_file *of, const hb_conversion *c)
{
    const char *slash = strrchr(of->name, '/');
    int directory = slash ? (int)(slash + 1 - of->name) : 0;
    for (size_t i = 0; i < c->num_paths; i++) {
        struct stat st;
        char *made, *file = strrchr(c->paths[i], '/') + 1;
        if (stat(c->paths[i], &st) != 0) return hb_fail_file(errno, "read", c->paths[i]);
        st.st_mtim.tv_sec = of->mtime;
        if (asprintf(&made, "%.*s%s", directory, of->name, file) < 0) return hb_no_memory();
        hb_result result = hb_sources_add(s, c->paths[i], made, &st);
        free(made);
        HB_TRY(result);
        s->items[s->count - 1].from = strdup(of->from ? of->from : of->path);
    }
    return HB_OK;
}

/* "runs/a.pt.trace.json.gz" is a. */
static char *stem_of(const char *name)
{
    static const char *const suffixes[] = {".gz", ".json", ".pt.trace"};
    const char *slash = strrchr(name, '/');
    char *stem = strdup(slash ? slash + 1 : name);
    for (size_t i = 0; stem && i < HB_ARRAY_LEN(suffixes); i++)
        if (hb_path_ends(stem, suffixes[i])) stem[strlen(stem) - strlen(suffixes[i])] = 0;
    return stem;
}

/* HB_ERROR_NOT_FOUND: none of the steps asked for. */
static hb_result convert(hb_sources *s, const hb_source_file *f, const hb_pack_options *o)
{
    hb_convert_options options = HB_CONVERT_OPTIONS_INIT;
    hb_conversion *conversion = NULL;
    char *directory = NULL, *stem = stem_of(f->name);
    options.gzip = hb_path_ends(f->name, ".gz");
    options.first_step = o->first_step;
    options.last_step = o->last_step;
    options.start_us = o->start_us;
    options.end_us = o->end_us;
    options.max_size = o->max_size;
    options.split_steps = o->split_steps;
    options.split_us = o->split_us;
    options.progress = o->progress;
    options.context = o->context;
    hb_result result = stem ? make_temporary(s) : hb_no_memory();
    if (result == HB_OK && asprintf(&directory, "%s/%u", s->temporary, s->count) < 0)
        result = hb_no_memory();
    if (result == HB_OK) result = hb_convert(f->path, directory, stem, &options, &conversion);
    if (result == HB_OK) result = add_converted(s, f, conversion);
    hb_conversion_free(conversion);
    free(directory);
    free(stem);
    return result;
}

/* Instead of being packed. */
static hb_result leave_out(hb_source_file *f, const char *why)
{
    free(f->left_out);
    f->left_out = strdup(why);
    return f->left_out ? HB_OK : hb_no_memory();
}

/* An empty reason: what it became stands for it. */
static hb_result replaced(hb_source_file *f)
{
    return leave_out(f, "");
}

static hb_result cut_trace(hb_sources *s, size_t index, const hb_pack_options *o)
{
    hb_source_file f = s->items[index];
    hb_result result = convert(s, &f, o);
    if (result == HB_ERROR_FORMAT && !is_called_trace(&f)) return HB_OK;
    if (result == HB_ERROR_FORMAT || result == HB_ERROR_NOT_FOUND)
        return leave_out(&s->items[index], hb_last_error());
    return result == HB_OK ? replaced(&s->items[index]) : result;
}

/* ---- other tools' files ---- */

typedef struct foreign {
    hb_sources *sources;
    const hb_pack_options *options;
    size_t *indexes; /* of the files */
    const char **paths;
    size_t count;
} foreign;

static hb_result open_some(const foreign *f, size_t first, size_t count, hb_import **import)
{
    hb_import_options options = HB_IMPORT_OPTIONS_INIT;
    options.progress = f->options->progress;
    options.context = f->options->context;
    return hb_import_open(f->paths + first, count, &options, import);
}

static bool is_of_the_file(hb_result result)
{
    return result == HB_ERROR_FORMAT || result == HB_ERROR_NOT_FOUND ||
           result == HB_ERROR_UNSUPPORTED;
}

/* Leaves out those that cannot be read. */
static hb_result weed(foreign *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        hb_import *import = NULL;
        hb_result result = open_some(f, i, 1, &import);
        hb_import_close(import);
        if (is_of_the_file(result)) {
            HB_TRY(leave_out(&f->sources->items[f->indexes[i]], hb_last_error()));
            continue;
        }
        HB_TRY(result);
        f->paths[kept] = f->paths[i];
        f->indexes[kept++] = f->indexes[i];
    }
    f->count = kept;
    return HB_OK;
}

/* A file that belongs to those of the caller may not be among them. */
static size_t item_of(const foreign *f, const char *path)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->paths[i], path) == 0) return f->indexes[i];
    return f->indexes[0];
}

/* Named ones are runs of their own, as directories are. */
static hb_result name_imported(const foreign *f, const hb_source_file *of, const char *path,
                               char **name)
{
    const char *slash = strrchr(of->name, '/');
    int size = slash ? (int)(slash + 1 - of->name) : 0;
    bool own = of->named && f->sources->several;
    int n = own ? asprintf(name, "%s/%s", of->name, strrchr(path, '/') + 1)
                : asprintf(name, "%.*s%s", size, of->name, strrchr(path, '/') + 1);
    return n < 0 ? hb_no_memory() : HB_OK;
}

/* What is said of a made file is said of the user's. */
static void name_in_error(const char *made, const char *path)
{
    char text[1024];
    const char *error = hb_last_error();
    size_t size = strlen(made);
    if (strncmp(error, made, size) != 0) return;
    snprintf(text, sizeof text, "%s", error + size);
    (void)hb_fail(HB_ERROR_NOT_FOUND, "%s%s", path, text);
}

static hb_result cut_written(const foreign *f, const hb_source_file *of, char *path)
{
    hb_source_file whole = {.path = path, .from = of->path, .mtime = of->mtime};
    HB_TRY(name_imported(f, of, path, &whole.name));
    hb_result result = convert(f->sources, &whole, f->options);
    if (result != HB_OK) name_in_error(path, of->path);
    (void)unlink(path);
    free(whole.name);
    return result;
}

static hb_result cut_process(const foreign *f, hb_import *import, size_t index)
{
    size_t item = item_of(f, hb_import_get(import, index)->path);
    hb_source_file of = f->sources->items[item];
    char *directory, *path = NULL;
    HB_TRY(make_temporary(f->sources));
    if (asprintf(&directory, "%s/imported", f->sources->temporary) < 0) return hb_no_memory();
    hb_result result = hb_import_write(import, index, directory, &path);
    if (result == HB_OK) result = cut_written(f, &of, path);
    free(path);
    free(directory);
    hb_source_file *file = &f->sources->items[item];
    if (result == HB_ERROR_NOT_FOUND) /* another process of the file may have these steps */
        return file->left_out ? HB_OK : leave_out(file, hb_last_error());
    return result == HB_OK ? replaced(file) : result;
}

static hb_result cut_opened(const foreign *f, hb_import *import)
{
    for (size_t i = 0; i < hb_import_count(import); i++)
        HB_TRY(cut_process(f, import, i));
    for (size_t i = 0; i < f->count; i++) { /* what was read with another one */
        hb_source_file *file = &f->sources->items[f->indexes[i]];
        if (!file->left_out) HB_TRY(replaced(file));
    }
    return HB_OK;
}

static hb_result cut_foreign(foreign *f)
{
    hb_import *import = NULL;
    if (!f->count) return HB_OK;
    hb_result result = open_some(f, 0, f->count, &import);
    if (is_of_the_file(result)) {
        HB_TRY(weed(f));
        if (!f->count) return HB_OK;
        result = open_some(f, 0, f->count, &import);
    }
    if (result == HB_OK) result = cut_opened(f, import);
    hb_import_close(import);
    return result;
}

/* Sums have no times by which they could be cut, and lie beside traces as other texts do. */
static bool is_foreign(const hb_source_file *f)
{
    const hb_import_format *format = hb_import_format_of(f->path);
    return format ? format->open || f->kind != HB_SOURCE_LINES
                  : hb_import_cure_for(f->path) != NULL;
}

static hb_result cut_all_foreign(hb_sources *s, size_t count, const hb_pack_options *o)
{
    foreign f = {.sources = s, .options = o};
    f.indexes = malloc(count * sizeof *f.indexes);
    f.paths = malloc(count * sizeof *f.paths);
    hb_result result = f.indexes && f.paths ? HB_OK : hb_no_memory();
    for (size_t i = 0; i < count && result == HB_OK; i++) {
        if (s->items[i].left_out || is_called_trace(&s->items[i]) || !is_foreign(&s->items[i]))
            continue;
        f.paths[f.count] = s->items[i].path;
        f.indexes[f.count++] = i;
    }
    if (result == HB_OK) result = cut_foreign(&f);
    free(f.indexes);
    free(f.paths);
    return result;
}

/* ---- the whole ---- */

static void drop_replaced(hb_sources *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        hb_source_file *f = &s->items[i];
        if (f->left_out && !*f->left_out)
            hb_source_file_free(f);
        else
            s->items[kept++] = *f;
    }
    s->count = kept;
}

hb_result hb_sources_cut(hb_sources *s, const hb_pack_options *o)
{
    size_t count = s->count;
    if (is_whole(o)) return HB_OK;
    HB_TRY(cut_all_foreign(s, count, o));
    for (size_t i = 0; i < count; i++) {
        if (s->items[i].kind == HB_SOURCE_RANKS)
            HB_TRY(
                leave_out(&s->items[i], "it tells of whole traces, and parts of them are packed"));
        else if (!s->items[i].left_out && may_be_trace(&s->items[i]))
            HB_TRY(cut_trace(s, i, o));
    }
    drop_replaced(s);
    return HB_OK;
}
