/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/files.h"
#include "io/gzip.h"
#include "io/publish.h"
#include "io/zip_writer.h"
#include "pack/pack_report.h"
#include "pack/redact_files.h"
#include "pack/sources.h"

typedef struct packing {
    const hb_pack_options *options;
    hb_sources sources;
    hb_redactor redactor;
    hb_publish publish;
    hb_sink counter; /* of a dry run: where bytes end */
    hb_zip_writer zip;
    hb_texts names; /* of members */
    hb_report_builder *report;
    bool cut; /* the end of the file could not be read */
} packing;

static hb_result drop(hb_sink *sink, const void *data, size_t size)
{
    (void)sink;
    (void)data;
    (void)size;
    return HB_OK;
}

static hb_result tell_progress(const packing *p, const hb_source_file *f, uint64_t done)
{
    const hb_pack_options *o = p->options;
    bool go_on = !o->progress || o->progress(o->context, f->path, done, f->size);
    return go_on ? HB_OK : hb_fail(HB_ERROR_STATE, "stopped");
}

/* ---- a file's bytes ---- */

static hb_result copy_file(packing *p, const hb_source_file *f, hb_sink *to)
{
    enum { SIZE = 256 << 10 };
    struct stat st;
    int fd;
    HB_TRY(hb_open_to_read(f->path, &fd, &st));
    char *bytes = malloc(SIZE);
    hb_result result = bytes ? HB_OK : hb_no_memory();
    uint64_t done = 0;
    for (ssize_t n = 1; result == HB_OK && n != 0;) {
        n = read(fd, bytes, SIZE);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) result = hb_fail_file(errno, "read", f->path);
        if (n > 0) result = to->write(to, bytes, (size_t)n);
        done += n > 0 ? (uint64_t)n : 0;
        if (result == HB_OK) result = tell_progress(p, f, done);
    }
    free(bytes);
    close(fd);
    return result;
}

static hb_result redact_file(packing *p, const hb_source_file *f, hb_sink *to)
{
    p->cut = false;
    HB_TRY(tell_progress(p, f, 0));
    switch (f->kind) {
    case HB_SOURCE_JSON: return hb_redact_json(&p->redactor, f->path, to);
    case HB_SOURCE_RANKS: return hb_redact_ranks(&p->redactor, f->path, to, &p->cut);
    case HB_SOURCE_EVENTS: return hb_redact_events(&p->redactor, f->path, to, &p->cut);
    default: return hb_redact_lines(&p->redactor, f->path, to);
    }
}

static const char *shown_path(const hb_source_file *f)
{
    return f->from ? f->from : f->path;
}

/* What was gzip is gzip again. */
static hb_result redact_gzip(packing *p, const hb_source_file *f, hb_sink *to)
{
    hb_gzip gzip;
    HB_TRY(hb_gzip_open(&gzip, to, NULL, f->mtime, HB_GZIP_SMALLER));
    hb_result result = redact_file(p, f, &gzip.sink);
    if (result == HB_OK) result = hb_gzip_finish(&gzip);
    hb_gzip_free(&gzip);
    return result;
}

static hb_result write_bytes(packing *p, const hb_source_file *f)
{
    if (!p->options->redact) return copy_file(p, f, &p->zip.sink);
    return hb_path_ends(f->name, ".gz") ? redact_gzip(p, f, &p->zip.sink)
                                        : redact_file(p, f, &p->zip.sink);
}

/* ---- members ---- */

/* What is compressed is not compressed again. */
static bool is_worth_deflating(const hb_source_file *f)
{
    static const char *const compressed[] = {".gz", ".hbpack", ".zip", ".zst", ".xz", ".png"};
    for (size_t i = 0; i < HB_ARRAY_LEN(compressed); i++)
        if (hb_path_ends(f->name, compressed[i])) return false;
    return true;
}

static hb_str name_of(const hb_source_file *f)
{
    return (hb_str){f->name, (uint32_t)strlen(f->name)};
}

/* The member's name, which stays valid. */
static hb_result name_member(packing *p, const hb_source_file *f, const char **name)
{
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 4);
    if (p->options->redact)
        hb_redact_file_name(&p->redactor, name_of(f), &text);
    else
        hb_buf_str(&text, f->name);
    uint32_t before = p->names.count;
    hb_string_id id = text.failed ? 0 : hb_texts_add(&p->names, text.data, text.size);
    hb_buf_free(&text);
    if (!id) return hb_no_memory();
    *name = hb_texts_get(&p->names, id).s;
    if (p->names.count != before) return HB_OK;
    return hb_fail(HB_ERROR_STATE, "'%s': another file has the name '%s' in the pack already",
                   f->path, *name);
}

static hb_result add_member(packing *p, const hb_source_file *f)
{
    enum { LARGE = 1 << 30 }; /* what is redacted is written anew, and may grow */
    const char *name = NULL;
    if (p->options->redact) hb_redactor_begin_file(&p->redactor, f->name);
    HB_TRY(name_member(p, f, &name));
    hb_zip_entry entry = {.name = name,
                          .mtime = f->mtime,
                          .deflate = is_worth_deflating(f),
                          .large = f->size >= LARGE};
    HB_TRY(hb_zip_begin(&p->zip, &entry));
    HB_TRY(write_bytes(p, f));
    HB_TRY(hb_zip_end(&p->zip));
    hb_report_add(p->report,
                  &(hb_pack_member){.path = shown_path(f),
                                    .name = name,
                                    .left_out = p->cut ? "what is behind a damaged record" : NULL,
                                    .size = p->zip.size,
                                    .stored = p->zip.stored});
    return HB_OK;
}

static hb_result add_members(packing *p)
{
    for (size_t i = 0; i < p->sources.count; i++) {
        const hb_source_file *f = &p->sources.items[i];
        if (!f->left_out)
            HB_TRY(add_member(p, f));
        else
            hb_report_add(p->report, &(hb_pack_member){.path = f->path, .left_out = f->left_out});
    }
    return HB_OK;
}

/* Of a file of digests that cannot be read nothing is known, as of what is in UTF-16. */
static hb_result learn_file(packing *p, hb_source_file *f)
{
    hb_result result = redact_file(p, f, &p->counter);
    bool unknown =
        result == HB_ERROR_UNSUPPORTED || (result == HB_ERROR_FORMAT && f->kind == HB_SOURCE_RANKS);
    if (!unknown) return result;
    f->left_out = strdup(hb_last_error());
    return f->left_out ? HB_OK : hb_no_memory();
}

/* The first reading: who is to be looked for. */
static hb_result learn(packing *p)
{
    if (!hb_redactor_init(&p->redactor)) return hb_no_memory();
    for (size_t i = 0; p->options->redact && i < p->sources.count; i++) {
        hb_source_file *f = &p->sources.items[i];
        hb_redactor_learn_file_name(&p->redactor, name_of(f));
        if (!f->left_out) HB_TRY(learn_file(p, f));
    }
    hb_redactor_learnt(&p->redactor);
    return p->redactor.failed ? hb_no_memory() : HB_OK;
}

static hb_result write_pack(packing *p, const char *output)
{
    bool dry = p->options->dry_run;
    if (!dry) HB_TRY(hb_publish_open(&p->publish, output, p->options->replace));
    HB_TRY(hb_zip_open(&p->zip, dry ? &p->counter : &p->publish.sink));
    HB_TRY(add_members(p));
    HB_TRY(hb_zip_finish(&p->zip));
    p->report->public.bytes = p->zip.offset;
    if (p->options->redact) hb_report_add_redactions(p->report, &p->redactor);
    return dry ? HB_OK : hb_publish_commit(&p->publish);
}

static hb_result pack(packing *p, const char *const *paths, size_t num_paths, const char *output)
{
    HB_TRY(hb_sources_find(&p->sources, paths, num_paths, output, p->options));
    HB_TRY(learn(p));
    return write_pack(p, output);
}

hb_result hb_pack(const char *const *paths, size_t num_paths, const char *output,
                  const hb_pack_options *options, hb_pack_report **report)
{
    static const hb_pack_options defaults = HB_PACK_OPTIONS_INIT;
    hb_pack_options o = defaults;
    if (report) *report = NULL;
    if (!paths || !num_paths || !output)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no path or no output");
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_PACK_OPTIONS_INIT"));
    packing p = {.options = &o, .counter.write = drop, .publish.fd = -1};
    p.report = hb_report_new();
    if (!p.report || !hb_texts_init(&p.names)) return hb_no_memory();
    locale_t before = hb_enter_c_locale();
    hb_result result = pack(&p, paths, num_paths, output);
    hb_leave_c_locale(before);
    hb_zip_free(&p.zip);
    hb_publish_free(&p.publish);
    hb_redactor_free(&p.redactor);
    hb_sources_free(&p.sources);
    hb_texts_free(&p.names);
    return hb_report_end(p.report, result, report);
}
