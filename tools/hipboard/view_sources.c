/* SPDX-License-Identifier: MIT */
#include "view_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void *must(void *memory)
{
    if (memory) return memory;
    fputs("hipboard: out of memory\n", stderr);
    exit(1);
}

static view_source *push(view_sources *s)
{
    s->items = must(realloc(s->items, (s->count + 1) * sizeof *s->items));
    s->items[s->count] = (view_source){0};
    return &s->items[s->count++];
}

static bool add_file(void *context, const hb_logdir_file *file)
{
    view_source *source = push(context);
    source->file = *file;
    source->in_logdir = true;
    return true;
}

static hb_result add_logdir(view_sources *s, const char *path, const hb_open_options *options)
{
    size_t before = s->count;
    hb_logdir *logdir;
    hb_result result = hb_logdir_open(path, options, &logdir);
    if (result != HB_OK) return result;
    s->logdirs = must(realloc(s->logdirs, (s->num_logdirs + 1) * sizeof(hb_logdir *)));
    s->logdirs[s->num_logdirs++] = logdir;
    hb_logdir_files(logdir, add_file, s);
    return s->count > before ? HB_OK : HB_ERROR_NOT_FOUND;
}

static char *stem_of(const char *path)
{
    static const char *const suffixes[] = {".gz", ".json", ".trace", ".pt"};
    const char *slash = strrchr(path, '/');
    char *name = must(strdup(slash ? slash + 1 : path));
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(name), m = strlen(suffixes[i]);
        if (n > m && strcmp(name + n - m, suffixes[i]) == 0) name[n - m] = 0;
    }
    return name;
}

hb_result view_sources_add(view_sources *s, const char *path, const hb_open_options *options)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return add_logdir(s, path, options);
    view_source *source = push(s);
    source->worker = stem_of(path);
    source->file = (hb_logdir_file){"", source->worker, "", path};
    return HB_OK;
}

void view_sources_free(view_sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->items[i].worker);
    for (size_t i = 0; i < s->num_logdirs; i++)
        hb_logdir_close(s->logdirs[i]);
    free(s->items);
    free(s->logdirs);
    *s = (view_sources){0};
}
