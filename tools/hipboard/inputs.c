/* SPDX-License-Identifier: MIT */
#include "inputs.h"

#include <hipboard/import.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ---- digests ---- */

static void tell_study(const char *name, const char *path, hb_rank_study *study)
{
    const char *const *notes;
    size_t count;
    if (hb_rank_study_notes(study, &notes, &count) != HB_OK) return;
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "hipboard %s: %s: %s\n", name, path, notes[i]);
}

static void add_digest(inputs *in, const hb_rank_source *from, hb_rank_study *study, char *run,
                       size_t index)
{
    char span[16];
    input *made = push(in);
    snprintf(span, sizeof span, "%u", from->cycle + 1);
    made->span = must(strdup(span));
    made->file = (hb_logdir_file){run, from->worker, made->span, from->file};
    made->in_logdir = true;
    made->process = index;
    made->digests = study;
}

/* Each rank's digest stands for its trace; the file is their run. */
static hb_result add_digests(inputs *in, const char *name, const char *path)
{
    const hb_rank_source *list;
    size_t count;
    hb_rank_study *study;
    hb_result result = hb_rank_study_create(NULL, &study);
    if (result != HB_OK) return result;
    in->studies = must(realloc(in->studies, (in->num_studies + 1) * sizeof *in->studies));
    in->runs = must(realloc(in->runs, (in->num_studies + 1) * sizeof *in->runs));
    in->runs[in->num_studies] = trace_stem(path);
    in->studies[in->num_studies++] = study;
    result = hb_rank_study_add(study, path);
    if (result == HB_OK) result = hb_rank_study_sources(study, &list, &count);
    if (result != HB_OK) return result;
    for (size_t i = 0; i < count; i++)
        add_digest(in, &list[i], study, in->runs[in->num_studies - 1], i);
    tell_study(name, path, study);
    return HB_OK;
}

static hb_result add_path(inputs *in, const char *name, const char *path,
                          const hb_open_options *options)
{
    if (in->take_digests && is_digests(path)) return add_digests(in, name, path);
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

/* Recorded ranks leave them beside their traces; what reads a thousand of those tells of it. */
static void tell_shorter_way(const inputs *in, const char *name, const char *path, size_t traces)
{
    char digests[4096];
    int n = snprintf(digests, sizeof digests, "%s/ranks.hbranks", path);
    if (!in->take_digests || traces <= INPUTS_FEW || n >= (int)sizeof digests) return;
    if (access(digests, R_OK) == 0)
        fprintf(stderr, "hipboard %s: %s has digests of the ranks, which are read at once\n", name,
                digests);
}

int inputs_find(inputs *in, const char *name, const arguments *paths,
                const hb_open_options *options)
{
    int status = EXIT_FINE;
    for (int i = 0; i < paths->count; i++) {
        size_t before = in->count;
        hb_result result = add_path(in, name, paths->words[i], options);
        tell_shorter_way(in, name, paths->words[i], in->count - before);
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
    for (size_t i = 0; i < in->count; i++) {
        free(in->items[i].stem);
        free(in->items[i].span);
    }
    for (size_t i = 0; i < in->num_studies; i++) {
        hb_rank_study_destroy(in->studies[i]);
        free(in->runs[i]);
    }
    free(in->studies);
    free(in->runs);
    for (size_t i = 0; i < in->num_logdirs; i++)
        hb_logdir_close(in->logdirs[i]);
    free(in->items);
    free(in->logdirs);
    *in = (inputs){0};
}

void tell_digests(const char *name, const inputs *in)
{
    if (in->num_studies)
        fprintf(stderr,
                "hipboard %s: of digests, which tell of steps and communication: operators, "
                "kernels and memory are in the traces; `hipboard ranks` says who waits for whom\n",
                name);
}

static void tell_notes(const char *name, const char *path, const hb_trace_file *file)
{
    size_t count = hb_trace_file_num_notes(file);
    for (size_t i = 0; i < count && i < MAX_NOTES; i++) {
        hb_trace_note note = hb_trace_file_note(file, i);
        if (note.offset == HB_NO_OFFSET)
            fprintf(stderr, "hipboard %s: %s: %s\n", name, path, note.what);
        else
            fprintf(stderr, "hipboard %s: %s: byte %llu: %s\n", name, path,
                    (unsigned long long)note.offset, note.what);
    }
    if (count > MAX_NOTES) fprintf(stderr, "hipboard %s: %s: and more\n", name, path);
}

hb_trace_file *open_trace(const char *name, const char *path, const hb_open_options *options)
{
    hb_trace_file *file;
    if (is_digests(path)) {
        fprintf(stderr, "hipboard %s: %s: digests of ranks: this is in the traces\n", name, path);
        return NULL;
    }
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

static hb_trace_file *open_digest(const char *name, const input *from)
{
    hb_trace_file *file;
    if (hb_rank_study_open(from->digests, from->process, &file) == HB_OK) return file;
    fprintf(stderr, "hipboard %s: %s\n", name, hb_last_error());
    return NULL;
}

hb_trace_file *open_input(const char *name, const input *from, const hb_open_options *options)
{
    hb_open_options o = *options;
    if (from->digests) return open_digest(name, from);
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

int each_input(const char *name, const arguments *paths, unsigned how, input_fn fn, void *context)
{
    hb_open_options options = progress_options();
    options.unify = how & INPUTS_UNIFY;
    inputs in = {.take_digests = how & INPUTS_DIGESTS};
    int status = inputs_find(&in, name, paths, &options);
    if (how & INPUTS_ONE && in.count > 1) {
        fprintf(stderr,
                "hipboard %s: what is asked for is of one trace, and these are %zu: name one, as "
                "'%s'\n",
                name, in.count, in.items[0].file.path);
        status = EXIT_USAGE;
    }
    for (size_t i = 0; i < in.count && status != EXIT_USAGE && !progress_interrupted(); i++) {
        int one = read_one(&in.items[i], name, &options, fn, context);
        if (one != EXIT_FINE) status = one;
    }
    tell_digests(name, &in);
    inputs_free(&in);
    return progress_interrupted() ? EXIT_FAILED : status;
}
