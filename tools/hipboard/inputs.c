/* SPDX-License-Identifier: MIT */
#include "inputs.h"

#include <hipboard/import.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "progress.h"
#include "spools.h"
#include "text.h"

enum { MAX_NOTES = 3 }; /* of a file's damage that are told */

static const char no_traces[] = "no file in it or below is named *.pt.trace.json[.gz]";

static input *push(inputs *in)
{
    in->items = must(realloc(in->items, (in->count + 1) * sizeof *in->items));
    in->items[in->count] = (input){0};
    return &in->items[in->count++];
}

static bool add_member(void *context, const hb_logdir_file *file)
{
    input *member = push(context);
    member->file = *file;
    member->in_logdir = true;
    return true;
}

static hb_result add_logdir(inputs *in, const char *path, const hb_open_options *options)
{
    size_t before = in->count;
    hb_logdir *logdir;
    hb_result result = hb_logdir_open(path, options, &logdir);
    if (result != HB_OK) return result;
    in->logdirs = must(realloc(in->logdirs, (in->num_logdirs + 1) * sizeof(hb_logdir *)));
    in->logdirs[in->num_logdirs++] = logdir;
    hb_logdir_files(logdir, add_member, in);
    return in->count > before ? HB_OK : HB_ERROR_NOT_FOUND;
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add_file(inputs *in, const char *path, char *stem, size_t process)
{
    input *alone = push(in);
    alone->stem = stem;
    alone->process = process;
    alone->file = (hb_logdir_file){"", stem, "", path};
}

/* Each process of a file of another tool is a trace. */
static hb_result add_processes(inputs *in, const char *path)
{
    hb_import *import;
    hb_result result = hb_import_open(&path, 1, NULL, &import);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < hb_import_count(import); i++)
        add_file(in, path, must(strdup(hb_import_get(import, i)->worker)), i);
    hb_import_close(import);
    return HB_OK;
}

static hb_result add_path(inputs *in, const char *path, const hb_open_options *options)
{
    if (hb_is_logdir(path)) return add_logdir(in, path, options);
    if (hb_import_knows(path)) return add_processes(in, path);
    add_file(in, path, trace_stem(path), 0);
    return HB_OK;
}

/* What hb_last_error() says of a file begins with its path. */
static void tell_error(const char *name, const char *path)
{
    const char *reason = hb_last_error();
    bool named = strncmp(reason, path, strlen(path)) == 0;
    fprintf(stderr, "hipboard %s: %s%s%s\n", name, named ? "" : path, named ? "" : ": ", reason);
}

int inputs_find(inputs *in, const char *name, const arguments *paths,
                const hb_open_options *options)
{
    int status = EXIT_FINE;
    for (int i = 0; i < paths->count; i++) {
        hb_result result = add_path(in, paths->words[i], options);
        if (is_directory(paths->words[i])) tell_spools(name, paths->words[i]);
        if (result == HB_OK) continue;
        if (result == HB_ERROR_NOT_FOUND)
            fprintf(stderr, "hipboard %s: %s: %s\n", name, paths->words[i], no_traces);
        else
            tell_error(name, paths->words[i]);
        status = EXIT_FAILED;
    }
    return status;
}

void inputs_free(inputs *in)
{
    for (size_t i = 0; i < in->count; i++)
        free(in->items[i].stem);
    for (size_t i = 0; i < in->num_logdirs; i++)
        hb_logdir_close(in->logdirs[i]);
    free(in->items);
    free(in->logdirs);
    *in = (inputs){0};
}

static void tell_notes(const char *name, const char *path, const hb_trace_file *file)
{
    size_t count = hb_trace_file_num_notes(file);
    for (size_t i = 0; i < count && i < MAX_NOTES; i++) {
        hb_trace_note note = hb_trace_file_note(file, i);
        fprintf(stderr, "hipboard %s: %s: byte %llu: %s\n", name, path,
                (unsigned long long)note.offset, note.what);
    }
    if (count > MAX_NOTES) fprintf(stderr, "hipboard %s: %s: and more\n", name, path);
}

hb_trace_file *open_trace(const char *name, const char *path, const hb_open_options *options)
{
    hb_trace_file *file;
    hb_result result = hb_trace_file_open(path, options, &file);
    progress_clear();
    if (result != HB_OK) {
        fprintf(stderr, "hipboard %s: %s\n", name, hb_last_error());
        return NULL;
    }
    tell_notes(name, path, file);
    return file;
}

void tell_processes(const char *name, const char *path)
{
    hb_import *import;
    if (!hb_import_knows(path) || hb_import_open(&path, 1, NULL, &import) != HB_OK) return;
    if (hb_import_count(import) > 1)
        fprintf(stderr,
                "hipboard %s: %s: the first of %zu processes; `hipboard import` makes a file of "
                "each\n",
                name, path, hb_import_count(import));
    hb_import_close(import);
}

hb_trace_file *open_input(const char *name, const input *from, const hb_open_options *options)
{
    hb_open_options o = *options;
    o.process = from->process;
    return open_trace(name, from->file.path, &o);
}

uint64_t kernel_sampling(const hb_trace_file *file)
{
    const char *each = hb_trace_file_metadata(file, "hipboard_kernel_sampling");
    long long n = each ? strtoll(each, NULL, 10) : 0;
    return n > 1 ? (uint64_t)n : 1;
}

void tell_sampling(const char *name, const char *path, const hb_trace_file *file)
{
    uint64_t each = kernel_sampling(file);
    if (each > 1)
        fprintf(stderr,
                "hipboard %s: %s: kernels were timed in one of %llu launches: sums over kernels, "
                "and how long a GPU was busy, are of those\n",
                name, path, (unsigned long long)each);
}

/* Arguments, output and memory are not the trace's fault. */
static bool is_of_trace(hb_result result)
{
    return result != HB_ERROR_INVALID_ARGUMENT && result != HB_ERROR_IO &&
           result != HB_ERROR_NO_MEMORY;
}

int tell_result(const char *name, const char *path, hb_result result)
{
    progress_clear();
    if (result == HB_OK) return EXIT_FINE;
    fprintf(stderr, "hipboard %s: ", name);
    if (is_of_trace(result)) fprintf(stderr, "%s: ", path);
    fprintf(stderr, "%s\n", hb_last_error());
    return result == HB_ERROR_INVALID_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

static int read_one(const input *from, const char *name, const hb_open_options *options,
                    input_fn fn, void *context)
{
    hb_trace_file *file = open_input(name, from, options);
    if (!file) return EXIT_FAILED;
    tell_sampling(name, from->file.path, file);
    int status = tell_result(name, from->file.path, fn(context, file, from));
    hb_trace_file_close(file);
    return status;
}

int each_input(const char *name, const arguments *paths, bool unify, input_fn fn, void *context)
{
    hb_open_options options = progress_options();
    options.unify = unify;
    inputs in = {0};
    int status = inputs_find(&in, name, paths, &options);
    for (size_t i = 0; i < in.count && status != EXIT_USAGE && !progress_interrupted(); i++) {
        int one = read_one(&in.items[i], name, &options, fn, context);
        if (one != EXIT_FINE) status = one;
    }
    inputs_free(&in);
    return progress_interrupted() ? EXIT_FAILED : status;
}
