/* SPDX-License-Identifier: MIT */
#include "pack/sources.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/vector.h"
#include "digest/rank_digest.h"

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
    if (hb_path_ends(name, HB_RANK_FILE_SUFFIX)) return HB_SOURCE_RANKS;
    return ends_in_any(name, lines, HB_ARRAY_LEN(lines)) ? HB_SOURCE_LINES : HB_SOURCE_OTHER;
}

/* ---- the list ---- */

hb_result hb_sources_add(hb_sources *s, const char *path, const char *name, const struct stat *st)
{
    hb_source_file *f = HB_APPEND(s);
    if (!f) return hb_no_memory();
    f->path = strdup(path);
    f->name = strdup(name);
    f->kind = kind_of(name);
    f->size = (uint64_t)st->st_size;
    f->mtime = st->st_mtim.tv_sec;
    if (!S_ISREG(st->st_mode)) f->left_out = strdup("it is no file");
    return f->path && f->name ? HB_OK : hb_no_memory();
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
    hb_result result = hb_sources_add(w->sources, e->fts_path, name, e->fts_statp);
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
        result = hb_sources_add(w->sources, root, name, &st);
        if (result == HB_OK) w->sources->items[w->sources->count - 1].named = true;
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
    *s = (hb_sources){.several = num_paths > 1};
    w.has_output = output && stat(output, &w.output) == 0;
    for (size_t i = 0; i < num_paths; i++)
        HB_TRY(add_path(&w, paths[i], num_paths == 1));
    if (!s->count) return hb_fail(HB_ERROR_NOT_FOUND, "%s: no file to pack", paths[0]);
    HB_TRY(hb_sources_cut(s, o));
    if (o->redact) leave_out_unknown(s);
    qsort(s->items, s->count, sizeof *s->items, by_name);
    for (size_t i = 1; i < s->count; i++)
        if (strcmp(s->items[i - 1].name, s->items[i].name) == 0)
            return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                           "'%s' and '%s' would have one name in the pack: pack them one by one",
                           s->items[i - 1].path, s->items[i].path);
    return HB_OK;
}

void hb_source_file_free(hb_source_file *f)
{
    free(f->path);
    free(f->from);
    free(f->name);
    free(f->left_out);
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
        hb_source_file_free(&s->items[i]);
    free(s->items);
    if (s->temporary) remove_tree(s->temporary);
    free(s->temporary);
    *s = (hb_sources){0};
}
