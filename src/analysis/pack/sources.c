/* SPDX-License-Identifier: MIT */
#include "pack/sources.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hipboard/convert.h>

#include "base/files.h"

#define TRACE_SUFFIX ".pt.trace.json"

/* ---- kinds ---- */

static bool ends_in_any(const char *name, const char *const *suffixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (hb_path_ends(name, suffixes[i])) return true;
    return false;
}

static hb_source_kind kind_of(const char *name)
{
    static const char *const json[] = {".json", ".json.gz"};
    static const char *const lines[] = {".txt", ".md",     ".csv",    ".tsv",
                                        ".log", ".stacks", ".folded", ".collapsed"};
    const char *slash = strrchr(name, '/'), *file = slash ? slash + 1 : name;
    if (ends_in_any(name, json, HB_ARRAY_LEN(json))) return HB_SOURCE_JSON;
    if (strstr(file, "tfevents")) return HB_SOURCE_EVENTS;
    return ends_in_any(name, lines, HB_ARRAY_LEN(lines)) ? HB_SOURCE_LINES : HB_SOURCE_OTHER;
}

static bool is_trace(const char *name)
{
    return hb_path_ends(name, TRACE_SUFFIX) || hb_path_ends(name, TRACE_SUFFIX ".gz");
}

/* ---- the list ---- */

static hb_source_file *push(hb_sources *s)
{
    if (s->count == s->capacity) {
        size_t capacity = HB_MAX(s->capacity * 2, (size_t)64);
        hb_source_file *grown = realloc(s->items, capacity * sizeof *grown);
        if (!grown) return NULL;
        s->items = grown;
        s->capacity = capacity;
    }
    s->items[s->count] = (hb_source_file){0};
    return &s->items[s->count++];
}

static hb_result add(hb_sources *s, const char *path, const char *name, const struct stat *st)
{
    hb_source_file *f = push(s);
    if (!f) return hb_no_memory();
    f->path = strdup(path);
    f->name = strdup(name);
    f->kind = kind_of(name);
    f->size = (uint64_t)st->st_size;
    f->mtime = st->st_mtim.tv_sec;
    if (!S_ISREG(st->st_mode)) f->left_out = strdup("it is no file");
    return f->path && f->name ? HB_OK : hb_no_memory();
}

static void free_file(hb_source_file *f)
{
    free(f->path);
    free(f->from);
    free(f->name);
    free(f->left_out);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const hb_source_file *)a)->name, ((const hb_source_file *)b)->name);
}

/* ---- walking ---- */

typedef struct walk {
    hb_sources *sources;
    const char *prefix; /* of the names in the pack: "" or the directory's own and a slash */
    size_t root_size;   /* of what the walk began with */
    struct stat output;
    bool has_output;
} walk;

static bool is_hidden(const FTSENT *e)
{
    return e->fts_level > 0 && e->fts_name[0] == '.';
}

static bool is_output(const walk *w, const FTSENT *e)
{
    return w->has_output && e->fts_statp->st_dev == w->output.st_dev &&
           e->fts_statp->st_ino == w->output.st_ino;
}

static hb_result take_entry(walk *w, const FTSENT *e)
{
    const char *below = e->fts_path + HB_MIN(w->root_size, (size_t)e->fts_pathlen);
    char *name;
    while (*below == '/')
        below++;
    if (asprintf(&name, "%s%s", w->prefix, below) < 0) return hb_no_memory();
    hb_result result = add(w->sources, e->fts_path, name, e->fts_statp);
    free(name);
    return result;
}

static hb_result walk_directory(walk *w, char *root)
{
    char *roots[] = {root, NULL};
    hb_result result = HB_OK;
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    if (!tree) return hb_fail_file(errno, "read", root);
    for (FTSENT *e; result == HB_OK && (e = fts_read(tree)) != NULL;) {
        if (is_hidden(e)) {
            fts_set(tree, e, FTS_SKIP);
        } else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS) {
            result = hb_fail_file(e->fts_errno, "read", e->fts_path);
        } else if ((e->fts_info == FTS_F || e->fts_info == FTS_DEFAULT) && !is_output(w, e)) {
            result = take_entry(w, e);
        }
    }
    fts_close(tree);
    return result;
}

/* "runs/a/" is a. */
static char *own_name(const char *path, size_t size)
{
    size_t begin = size;
    while (begin && path[begin - 1] != '/')
        begin--;
    return strndup(path + begin, size - begin);
}

static hb_result add_path(walk *w, const char *path, bool alone)
{
    struct stat st;
    size_t size = strlen(path);
    char *prefix = NULL;
    while (size > 1 && path[size - 1] == '/')
        size--;
    if (stat(path, &st) != 0) return hb_fail_file(errno, "read", path);
    char *root = strndup(path, size), *name = own_name(path, size);
    hb_result result = root && name ? HB_OK : hb_no_memory();
    if (result == HB_OK && !S_ISDIR(st.st_mode)) {
        result = add(w->sources, root, name, &st);
    } else if (result == HB_OK &&
               asprintf(&prefix, "%s%s", alone ? "" : name, alone ? "" : "/") < 0) {
        result = hb_no_memory();
    } else if (result == HB_OK) {
        w->prefix = prefix;
        w->root_size = size;
        result = walk_directory(w, root);
    }
    free(prefix);
    free(name);
    free(root);
    return result;
}

/* ---- a part of each trace ---- */

static bool is_whole(const hb_pack_options *o)
{
    return o->first_step == INT64_MIN && o->last_step == INT64_MAX && !(o->start_us > 0) &&
           !(o->end_us > 0) && o->max_size == 0 && o->split_steps == 0 && !(o->split_us > 0);
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

/* What the trace became, in the place of its name's last part. */
static hb_result add_converted(hb_sources *s, const hb_source_file *from, const hb_conversion *c)
{
    const char *slash = strrchr(from->name, '/');
    int directory = slash ? (int)(slash + 1 - from->name) : 0;
    for (size_t i = 0; i < c->num_paths; i++) {
        struct stat st;
        char *made, *file = strrchr(c->paths[i], '/') + 1;
        if (stat(c->paths[i], &st) != 0) return hb_fail_file(errno, "read", c->paths[i]);
        st.st_mtim.tv_sec = from->mtime;
        if (asprintf(&made, "%.*s%s", directory, from->name, file) < 0) return hb_no_memory();
        hb_result result = add(s, c->paths[i], made, &st);
        free(made);
        HB_TRY(result);
        s->items[s->count - 1].from = strdup(from->path);
    }
    return HB_OK;
}

static hb_result convert(hb_sources *s, size_t index, const hb_pack_options *o)
{
    hb_convert_options options = HB_CONVERT_OPTIONS_INIT;
    hb_conversion *conversion = NULL;
    hb_source_file f = s->items[index];
    char *directory = NULL, *slash = strrchr(f.name, '/');
    char *stem = strdup(slash ? slash + 1 : f.name);
    options.gzip = hb_path_ends(f.name, ".gz");
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
    if (result == HB_OK && asprintf(&directory, "%s/%zu", s->temporary, index) < 0)
        result = hb_no_memory();
    if (result == HB_OK) {
        *strstr(stem, TRACE_SUFFIX) = 0;
        result = hb_convert(f.path, directory, stem, &options, &conversion);
    }
    if (result == HB_ERROR_NOT_FOUND) { /* none of the steps asked for */
        s->items[index].left_out = strdup(hb_last_error());
        result = HB_OK;
    } else if (result == HB_OK) {
        result = add_converted(s, &f, conversion);
        s->items[index].kind = HB_SOURCE_OTHER;
        s->items[index].left_out = strdup("");
    }
    hb_conversion_free(conversion);
    free(directory);
    free(stem);
    return result;
}

/* An empty reason: what it became stands for it. */
static void drop_replaced(hb_sources *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        hb_source_file *f = &s->items[i];
        if (f->left_out && !*f->left_out)
            free_file(f);
        else
            s->items[kept++] = *f;
    }
    s->count = kept;
}

static hb_result convert_all(hb_sources *s, const hb_pack_options *o)
{
    for (size_t i = 0, count = s->count; i < count; i++)
        if (!s->items[i].left_out && is_trace(s->items[i].name)) HB_TRY(convert(s, i, o));
    drop_replaced(s);
    return HB_OK;
}

/* ---- the whole ---- */

static void leave_out_unknown(hb_sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!s->items[i].left_out && s->items[i].kind == HB_SOURCE_OTHER)
            s->items[i].left_out = strdup("its kind is not known, so it cannot be redacted");
}

hb_result hb_sources_find(hb_sources *s, const char *const *paths, size_t num_paths,
                          const char *output, const hb_pack_options *o)
{
    walk w = {.sources = s};
    *s = (hb_sources){0};
    w.has_output = output && stat(output, &w.output) == 0;
    for (size_t i = 0; i < num_paths; i++)
        HB_TRY(add_path(&w, paths[i], num_paths == 1));
    if (!s->count) return hb_fail(HB_ERROR_NOT_FOUND, "%s: no file to pack", paths[0]);
    if (!is_whole(o)) HB_TRY(convert_all(s, o));
    if (o->redact) leave_out_unknown(s);
    qsort(s->items, s->count, sizeof *s->items, by_name);
    for (size_t i = 1; i < s->count; i++)
        if (strcmp(s->items[i - 1].name, s->items[i].name) == 0)
            return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                           "'%s' and '%s' would have one name in the pack: pack them one by one",
                           s->items[i - 1].path, s->items[i].path);
    return HB_OK;
}

static void remove_tree(char *path)
{
    char *roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *e; tree && (e = fts_read(tree)) != NULL;)
        if (e->fts_info != FTS_D) (void)remove(e->fts_path);
    if (tree) fts_close(tree);
}

void hb_sources_free(hb_sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        free_file(&s->items[i]);
    free(s->items);
    if (s->temporary) remove_tree(s->temporary);
    free(s->temporary);
    *s = (hb_sources){0};
}
