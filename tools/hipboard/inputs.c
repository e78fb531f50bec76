/* SPDX-License-Identifier: MIT */
#include "inputs.h"

#include <stdio.h>
#include <sys/stat.h>

#include "progress.h"

typedef struct walk {
    const char *command;
    hb_open_options options;
    input_fn fn;
    void *context;
    size_t files;
    int status;
} walk;

static void complain(walk *w, const char *path, const char *what)
{
    fprintf(stderr, "hipboard %s: %s%s%s\n", w->command, path, *path ? ": " : "", what);
    w->status = EXIT_FAILED;
}

static bool read_one(walk *w, const input *from)
{
    hb_trace_file *file;
    hb_result result = hb_trace_file_open(from->path, &w->options, &file);
    if (result == HB_OK) result = w->fn(w->context, file, from);
    progress_clear();
    if (result != HB_OK) complain(w, "", hb_last_error());
    hb_trace_file_close(file);
    w->files++;
    if (result == HB_ERROR_INVALID_ARGUMENT) w->status = EXIT_USAGE;
    return w->status != EXIT_USAGE && !progress_interrupted();
}

static bool read_member(void *context, const hb_logdir_file *file)
{
    input from = {file->path, file->run, file->worker, file->span};
    return read_one(context, &from);
}

static void read_logdir(walk *w, const char *path)
{
    hb_logdir *logdir;
    size_t before = w->files;
    hb_result result = hb_logdir_open(path, &w->options, &logdir);
    if (result == HB_OK)
        hb_logdir_files(logdir, read_member, w);
    else
        complain(w, "", hb_last_error());
    hb_logdir_close(logdir);
    if (result == HB_OK && w->files == before) complain(w, path, "no trace files");
}

int each_input(const char *name, const arguments *paths, bool unify, input_fn fn, void *context)
{
    walk w = {name, progress_options(), fn, context, 0, EXIT_FINE};
    w.options.unify = unify;
    for (int i = 0; i < paths->count && w.status != EXIT_USAGE && !progress_interrupted(); i++) {
        struct stat st;
        input from = {paths->words[i], "", "", ""};
        if (stat(paths->words[i], &st) == 0 && S_ISDIR(st.st_mode))
            read_logdir(&w, paths->words[i]);
        else
            read_one(&w, &from);
    }
    return progress_interrupted() ? EXIT_FAILED : w.status;
}
