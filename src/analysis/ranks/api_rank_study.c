/* SPDX-License-Identifier: MIT
 *
 * hipboard/ranks.h: what is added to a study, and how it is given away.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "base/files.h"
#include "ranks/meetings.h"
#include "ranks/rank_events.h"
#include "read/text_window.h"

/* ---- creating ---- */

/* "HOST SWITCH" a line; what follows a # is passed over. */
static void read_groups(hb_rank_study *s, FILE *file)
{
    char text[512], host[256], name[256];
    while (fgets(text, sizeof text, file)) {
        text[strcspn(text, "#\n")] = 0;
        if (sscanf(text, "%255s %255s", host, name) != 2) continue;
        const char *const words[] = {host, name};
        for (int i = 0; i < 2; i++) {
            char *copy = HB_NEW_ARRAY(&s->arena, char, strlen(words[i]) + 1);
            strcpy(copy, words[i]);
            *HB_PUSH(&s->arena, &s->groups) = copy;
        }
    }
}

static hb_result take_groups(hb_rank_study *s)
{
    if (!s->options.groups) {
        if (s->options.by != HB_RANKS_BY_SWITCH) return HB_OK;
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "by switch: a file of lines 'HOST SWITCH' has to say which is where");
    }
    FILE *file = fopen(s->options.groups, "re");
    if (!file) return hb_fail_file(errno, "read", s->options.groups);
    if (hb_arena_try(&s->arena)) read_groups(s, file);
    int error = ferror(file) ? errno : 0;
    fclose(file);
    if (error) return hb_fail_file(error, "read", s->options.groups);
    return hb_arena_outcome(&s->arena);
}

hb_result hb_rank_study_create(const hb_rank_options *options, hb_rank_study **study)
{
    hb_rank_options o = HB_RANK_OPTIONS_INIT;
    if (!study) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no place for the result");
    *study = NULL;
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_RANK_OPTIONS_INIT"));
    if (o.parts && (o.part < 1 || o.part > o.parts))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "part %u of %u: from 1 to %u", o.part, o.parts,
                       o.parts);
    hb_rank_study *s = calloc(1, sizeof *s);
    if (!s) return hb_no_memory();
    s->options = o;
    hb_result result = take_groups(s);
    if (result == HB_OK)
        *study = s;
    else
        hb_rank_study_destroy(s);
    return result;
}

void hb_rank_study_destroy(hb_rank_study *s)
{
    if (!s) return;
    hb_texts_free(&s->group_names);
    hb_meetings_forget(s);
    hb_arena_free(&s->arena);
    hb_arena_free(&s->results);
    free(s);
}

/* ---- digests ---- */

static const char *copy_bytes(hb_rank_study *s, const char *bytes, size_t size)
{
    char *copy = HB_NEW_ARRAY(&s->arena, char, size + 1);
    memcpy(copy, bytes, size);
    return copy;
}

static void add_digest(hb_rank_study *s, const char *name, hb_rank_stamp stamp, hb_str bytes)
{
    hb_study_cycle cycle = {.stamp = stamp};
    hb_rank_decode(&s->arena, bytes, name, &cycle.digest);
    *HB_PUSH(&s->arena, &s->cycles) = cycle;
    s->done = false;
}

static void add_records(hb_rank_study *s, hb_rank_records *records)
{
    hb_str digest;
    hb_rank_stamp stamp;
    while (hb_rank_records_next(records, &stamp, &digest))
        add_digest(s, records->path, stamp, digest);
    if (records->cut)
        hb_study_note(s, "%s: its end is missing or damaged: the digests before it are taken",
                      records->path);
    if (records->damaged)
        hb_study_note(s, "%s: digests that are damaged: %u; the others are taken", records->path,
                      records->damaged);
}

hb_result hb_rank_study_add_digests(hb_rank_study *s, const char *name, const char *bytes,
                                    size_t size)
{
    hb_rank_records records;
    if (!s || !name || !bytes || size > UINT32_MAX)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL, or too large");
    HB_TRY(hb_rank_records_open(&records, name, (hb_str){bytes, (uint32_t)size}));
    if (hb_arena_try(&s->arena)) {
        records.path = copy_bytes(s, name, strlen(name));
        records.file.s = copy_bytes(s, bytes, size);
        add_records(s, &records);
    }
    return hb_arena_outcome(&s->arena);
}

static hb_result add_digest_file(hb_rank_study *s, const char *path)
{
    hb_text text;
    HB_TRY(hb_text_open(&text, path, HB_TEXT_AUTO));
    while (hb_text_more(&text, 0)) {
    }
    hb_result result = text.result == HB_OK
                           ? hb_rank_study_add_digests(s, path, text.data, text.size)
                           : hb_fail(text.result, "%s: %s", path, text.error);
    hb_text_close(&text);
    return result;
}

/* ---- traces ---- */

/* A member of a pack has none. */
static hb_rank_stamp stamp_of(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return (hb_rank_stamp){0};
    return (hb_rank_stamp){(uint64_t)st.st_size, hb_modified_ns(&st)};
}

static hb_result add_trace(hb_rank_study *s, const char *path, const char *worker)
{
    hb_buf digest;
    hb_open_options open = {.struct_size = sizeof open,
                            .max_memory = s->options.max_memory,
                            .progress = s->options.progress,
                            .context = s->options.context};
    hb_buf_init(&digest, UINT32_MAX);
    bool cut;
    hb_rank_stamp stamp = stamp_of(path); /* before it is read: what changes then is read again */
    hb_result result = hb_rank_digest_of_file(path, worker, &open, &digest, &cut);
    if (result == HB_OK && hb_arena_try(&s->arena)) {
        hb_str bytes = {copy_bytes(s, digest.data, digest.size), (uint32_t)digest.size};
        add_digest(s, copy_bytes(s, path, strlen(path)), stamp, bytes);
        if (cut)
            hb_study_note(s,
                          "%s ends in the middle, still being written or cut off: what is whole "
                          "is taken",
                          path);
    }
    if (result == HB_OK) result = hb_arena_outcome(&s->arena);
    hb_buf_free(&digest);
    return result;
}

/* What is wrong with one of many leaves the others; the machine's faults do not. */
static hb_result note_failure(hb_rank_study *s, hb_result result)
{
    if (result != HB_ERROR_FORMAT && result != HB_ERROR_IO && result != HB_ERROR_NOT_FOUND &&
        result != HB_ERROR_UNSUPPORTED)
        return result;
    char why[400];
    snprintf(why, sizeof why, "%s", hb_last_error());
    if (hb_arena_try(&s->arena)) hb_study_note(s, "left out: %s", why);
    return hb_arena_outcome(&s->arena);
}

/* ---- log directories ---- */

typedef struct found_file {
    const char *run, *worker, *span, *path;
    hb_rank_stamp stamp;
} found_file;

typedef struct found {
    hb_rank_study *s;
    HB_VEC(found_file) files;
    bool failed;
} found;

static bool find_file(void *context, const hb_logdir_file *file)
{
    found *f = context;
    *HB_PUSH(&f->s->arena, &f->files) =
        (found_file){file->run, file->worker, file->span, file->path, stamp_of(file->path)};
    return true;
}

/* The time in a trace's name, of digits. */
static const char *time_in_name(const char *path)
{
    const char *end = strstr(path, ".pt.trace.json"), *at = end;
    while (at && at > path && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at ? at : "";
}

/* The last one, as the names of its files tell. */
static const char *last_run(const found *f)
{
    const char *run = NULL, *last = "";
    for (uint32_t i = 0; i < f->files.count; i++) {
        const char *time = time_in_name(f->files.items[i].path);
        if (run && strcmp(time, last) <= 0) continue;
        last = time;
        run = f->files.items[i].run;
    }
    return run;
}

static void keep_run(found *f)
{
    const char *run = last_run(f);
    uint32_t kept = 0, others = 0;
    const char *other = NULL;
    for (uint32_t i = 0; i < f->files.count; i++) {
        const found_file *file = &f->files.items[i];
        if (strcmp(file->run, run) == 0) {
            f->files.items[kept++] = *file;
            continue;
        }
        others += !other || strcmp(other, file->run) != 0;
        other = file->run;
    }
    f->files.count = kept;
    if (others)
        hb_study_note(f->s,
                      "of %u runs in the directory this is '%s', the last one; name another "
                      "to see that",
                      others + 1, run);
}

static bool is_larger(const void *context, const void *x, const void *y)
{
    (void)context;
    const found_file *a = x, *b = y;
    if (a->stamp.size != b->stamp.size) return a->stamp.size > b->stamp.size;
    return strcmp(a->path, b->path) < 0;
}

/* Largest first, forwards and backwards in turn, so that parts are about equally large. */
static bool is_mine(const hb_rank_study *s, uint32_t index)
{
    uint32_t parts = s->options.parts;
    if (parts < 2) return true;
    uint32_t turn = index / parts, place = index % parts;
    return (turn % 2 ? parts - 1 - place : place) == s->options.part - 1;
}

/* Digests that lie beside the traces, and which traces they are of. A trace that is not the file
 * any more that its digest was made of has none: it is read. */
typedef struct stored {
    uint32_t from, behind; /* cycles of the study */
    int64_t changed;       /* when the oldest of the files was */
    hb_texts names;        /* of traces */
    uint32_t *newest;      /* by name: the last of its digests, which are in the order of files */
    bool *outdated;        /* by name */
} stored;

static hb_result index_stored(hb_rank_study *s, stored *d)
{
    if (!hb_texts_init(&d->names)) return hb_no_memory();
    d->newest = calloc(d->behind - d->from + 1, sizeof *d->newest);
    for (uint32_t i = d->from; i < d->behind && d->newest; i++) {
        hb_str name = s->cycles.items[i].digest.file;
        hb_string_id id = name.len ? hb_texts_add(&d->names, name.s, name.len) : 0;
        if (name.len && !id) return hb_no_memory();
        d->newest[id] = i;
    }
    d->outdated = calloc(d->names.count + 1, sizeof *d->outdated);
    return d->newest && d->outdated ? HB_OK : hb_no_memory();
}

/* What has no stamp was in a pack, or has been: it is as old as the file of digests. */
static bool is_fresh(const stored *d, const hb_rank_stamp *then, const hb_rank_stamp *now)
{
    if (!now->size) return true;
    if (!then->size) return now->changed_ns <= d->changed;
    return then->size == now->size && then->changed_ns == now->changed_ns;
}

static bool has_digest_of(const hb_rank_study *s, stored *d, const found_file *file)
{
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    hb_string_id id = hb_texts_find(&d->names, name, strlen(name));
    if (!id) return false;
    d->outdated[id] |= !is_fresh(d, &s->cycles.items[d->newest[id]].stamp, &file->stamp);
    return !d->outdated[id];
}

static hb_result add_stored(hb_rank_study *s, const char *path, stored *d)
{
    hb_result result = HB_OK;
    hb_rank_list names = {0};
    *d = (stored){.from = s->cycles.count, .changed = INT64_MAX};
    HB_TRY(hb_rank_files_in(path, &names));
    for (uint32_t i = 0; i < names.count && result == HB_OK; i++) {
        hb_rank_stamp stamp = stamp_of(names.items[i]);
        result = add_digest_file(s, names.items[i]);
        if (stamp.size) d->changed = HB_MIN(d->changed, stamp.changed_ns);
        if (result != HB_OK) result = note_failure(s, result);
    }
    hb_rank_list_free(&names);
    d->behind = s->cycles.count;
    return result == HB_OK ? index_stored(s, d) : result;
}

static bool is_left_out(const hb_rank_study *s, const stored *d, uint32_t cycle)
{
    hb_str name = s->cycles.items[cycle].digest.file;
    hb_string_id id = hb_texts_find(&d->names, name.s, name.len);
    return d->outdated[id] || (id && d->newest[id] != cycle);
}

/* Digests that are there are the first part's; the others know by them what is none of their work.
 */
static void drop_stored(hb_rank_study *s, const stored *d)
{
    bool others = s->options.parts > 1 && s->options.part != 1;
    uint32_t kept = d->from, count = s->cycles.count;
    for (uint32_t i = d->from; i < count; i++) {
        bool old = i < d->behind && (others || is_left_out(s, d, i));
        if (!old) s->cycles.items[kept++] = s->cycles.items[i];
    }
    s->cycles.count = kept;
}

static hb_result add_files(hb_rank_study *s, const char *path, found *f)
{
    stored d;
    hb_result result = add_stored(s, path, &d);
    for (uint32_t i = 0; i < f->files.count && result == HB_OK; i++) {
        const found_file *file = &f->files.items[i];
        if (has_digest_of(s, &d, file) || !is_mine(s, i)) continue;
        result = add_trace(s, file->path, file->worker);
        if (result != HB_OK) result = note_failure(s, result);
    }
    if (d.outdated) drop_stored(s, &d);
    hb_texts_free(&d.names);
    free(d.newest);
    free(d.outdated);
    return result;
}

static hb_result add_logdir(hb_rank_study *s, const char *path)
{
    hb_logdir *logdir;
    found f = {.s = s};
    HB_TRY(hb_logdir_open(path, NULL, &logdir));
    if (hb_arena_try(&s->arena)) {
        hb_logdir_files(logdir, find_file, &f);
        if (f.files.count) keep_run(&f);
        hb_sort(&s->arena, f.files.items, f.files.count, sizeof *f.files.items, is_larger, NULL);
    }
    hb_result result = hb_arena_outcome(&s->arena);
    if (result == HB_OK) result = add_files(s, path, &f);
    hb_logdir_close(logdir);
    if (result == HB_OK && !s->cycles.count && !s->options.parts)
        return hb_fail(HB_ERROR_NOT_FOUND,
                       "%s: no traces (*.pt.trace.json[.gz]) and no digests "
                       "(*" HB_RANK_FILE_SUFFIX ")",
                       path);
    return result;
}

/* "node7_4711.1795256296196340551.pt.trace.json": the worker. */
static char *worker_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *end = strstr(base, ".pt.trace.json"), *time = time_in_name(base);
    if (!end) return strndup(base, strcspn(base, "."));
    bool timed = time > base && time < end && time[-1] == '.';
    return strndup(base, (size_t)((timed ? time - 1 : end) - base));
}

static hb_result add_path(hb_rank_study *s, const char *path)
{
    if (hb_is_logdir(path)) return add_logdir(s, path);
    if (!is_mine(s, s->num_paths++)) return HB_OK;
    if (hb_path_ends(path, HB_RANK_FILE_SUFFIX)) return add_digest_file(s, path);
    char *worker = worker_of(path);
    hb_result result = worker ? add_trace(s, path, worker) : hb_no_memory();
    free(worker);
    return result;
}

hb_result hb_rank_study_add(hb_rank_study *s, const char *path)
{
    if (!s || !path) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    locale_t before = hb_enter_c_locale();
    hb_result result = add_path(s, path);
    hb_leave_c_locale(before);
    return result;
}

/* ---- out ---- */

hb_result hb_rank_study_report(hb_rank_study *s, hb_ranks_form form, char **text, size_t *size)
{
    hb_buf out;
    if (!s || !text || (unsigned)form > HB_RANKS_JSON)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL, or no form");
    locale_t before = hb_enter_c_locale();
    hb_buf_init(&out, SIZE_MAX / 4);
    hb_result result = hb_study_run(s);
    if (result == HB_OK && hb_arena_try(&s->results)) {
        if (s->options.hang && form != HB_RANKS_JSON)
            hb_study_write_hang(s, &out);
        else if (form == HB_RANKS_JSON)
            hb_study_write_json(s, &out);
        else
            hb_study_write_text(s, form == HB_RANKS_MARKDOWN, &out);
    }
    if (result == HB_OK) result = hb_arena_outcome(&s->results);
    if (result == HB_OK && !hb_buf_mend_utf8(&out)) result = hb_no_memory();
    hb_leave_c_locale(before);
    return hb_buf_hand_out(&out, result, text, size);
}

hb_result hb_rank_study_notes(hb_rank_study *s, const char *const **notes, size_t *count)
{
    if (!s || !notes || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    *notes = s->notes.items;
    *count = s->notes.count;
    return HB_OK;
}

hb_result hb_rank_study_late(hb_rank_study *s, const hb_late_rank **ranks, size_t *count)
{
    if (!s || !ranks || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    HB_TRY(hb_study_run(s));
    *ranks = s->late.items;
    *count = s->late.count;
    return HB_OK;
}

hb_result hb_rank_study_cells(hb_rank_study *s, hb_rank_cells *cells)
{
    if (!s || !cells) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    HB_TRY(hb_study_run(s));
    if (hb_arena_try(&s->results)) hb_study_cells(s, cells);
    return hb_arena_outcome(&s->results);
}

hb_result hb_rank_study_traffic(hb_rank_study *s, const hb_rank_traffic **list, size_t *count)
{
    if (!s || !list || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    HB_TRY(hb_study_run(s));
    if (hb_arena_try(&s->results)) hb_study_traffic(s, list, count);
    return hb_arena_outcome(&s->results);
}

const char *hb_rank_study_inconclusive(hb_rank_study *s)
{
    return s && hb_study_run(s) == HB_OK && *s->inconclusive ? s->inconclusive : NULL;
}

/* ---- limits ---- */

#define NUMBERS                                                                                \
    "parallel_efficiency, load_balance, communication_efficiency, late_ranks, missing_ranks, " \
    "waiting"

static double waiting_share(const hb_rank_study *s)
{
    double whole = 0, waits = 0;
    for (uint32_t i = 0; i < s->num_ranks; i++)
        whole += s->ranks[i].whole;
    for (uint32_t i = 0; i < s->waits.count; i++)
        waits += s->waits.items[i].time;
    return whole > 0 ? waits / whole : 0;
}

static bool number_of(const hb_rank_study *s, const char *what, double *value, bool *is_share)
{
    const struct {
        const char *name;
        double value;
        bool is_share; /* 0 to 1 */
    } numbers[] = {{"parallel_efficiency", s->efficiency.parallel, true},
                   {"load_balance", s->efficiency.balance, true},
                   {"communication_efficiency", s->efficiency.communication, true},
                   {"late_ranks", s->num_late, false},
                   {"missing_ranks", s->missing.count, false},
                   {"waiting", waiting_share(s), true}};
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers); i++) {
        if (strcmp(numbers[i].name, what) != 0) continue;
        *value = numbers[i].value;
        *is_share = numbers[i].is_share;
        return true;
    }
    return false;
}

hb_result hb_rank_study_limit(hb_rank_study *s, const char *limit, bool *holds, const char **text)
{
    char what[64], order[2], unit[2] = "";
    double bound, value;
    bool is_share;
    int end = 0;
    if (!s || !limit || !holds || !text)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    locale_t before = hb_enter_c_locale();
    int n =
        sscanf(limit, " %63[a-z_] %1[<>] %lf %n%1[%%] %n", what, order, &bound, &end, unit, &end);
    hb_leave_c_locale(before);
    if (n < 3 || limit[end])
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "limit '%s': expected a number's name, < or >, and a value: "
                       "'parallel_efficiency < 80%%'",
                       limit);
    HB_TRY(hb_study_run(s));
    if (!number_of(s, what, &value, &is_share))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "limit '%s': there is no number '%s', but " NUMBERS, limit, what);
    if (*unit && !is_share)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "limit '%s': %s is a number of ranks, no share",
                       limit, what);
    if (*unit) bound /= 100;
    *holds = *order == '<' ? value < bound : value > bound;
    snprintf(s->limit_text, sizeof s->limit_text, *unit ? "%s is %.1f %%" : "%s is %.4g", what,
             *unit ? 100 * value : value);
    *text = s->limit_text;
    return HB_OK;
}
