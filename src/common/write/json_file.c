/* SPDX-License-Identifier: MIT
 *
 * A trace as a file: writer, compression and publishing put together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/files.h"
#include "io/gzip.h"
#include "io/sink_thread.h"
#include "write/pftrace.h"
#include "write/write.h"

/* The file's name without directories and ".gz". */
static void inner_name(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : path);
    size_t len = strlen(name);
    if (len > 3 && strcmp(name + len - 3, ".gz") == 0) name[len - 3] = '\0';
}

static hb_result write_plain(hb_source *source, hb_sink *sink, const hb_write_options *options,
                             hb_write_stats *stats)
{
    hb_pftrace_stats written;
    if (!options->perfetto) return hb_write_trace(source, sink, options, stats);
    hb_result result = hb_write_pftrace(source, sink, &written);
    *stats = (hb_write_stats){.events = written.events, .json_bytes = written.bytes};
    return result;
}

/* Taken by the system meanwhile, which takes about as long as to make it. */
static hb_result write_uncompressed(hb_source *source, hb_sink *sink,
                                    const hb_write_options *options, hb_write_stats *stats)
{
    hb_sink_thread behind;
    hb_sink_thread_open(&behind, sink);
    hb_result result = write_plain(source, &behind.sink, options, stats);
    hb_result passed = hb_sink_thread_close(&behind);
    return result == HB_OK ? passed : result;
}

static hb_result write_compressed(hb_source *source, hb_sink *sink, const char *path,
                                  const hb_write_options *options, hb_write_stats *stats)
{
    char name[256];
    hb_gzip gzip;
    inner_name(path, name, sizeof name);
    bool plain = options->gzip_by_zlib || options->perfetto;
    hb_gzip_coder coder = plain ? HB_GZIP_ZLIB : HB_GZIP_SMALLER;
    HB_TRY(hb_gzip_open(&gzip, sink, name, time(NULL), coder));
    hb_result result = write_plain(source, &gzip.sink, options, stats);
    if (result == HB_OK) result = hb_gzip_finish(&gzip);
    hb_gzip_free(&gzip);
    return result;
}

static hb_result open_publish(hb_publish *publish, const char *path, const hb_write_options *o)
{
    const char *slash = strrchr(path, '/');
    bool inside = o->in && hb_kept_file_is_there(o->in) && (!o->replace || o->perfetto);
    hb_result result = inside
                           ? hb_publish_open_in(publish, o->in->fd, slash ? slash + 1 : path, path)
                           : hb_publish_open(publish, path, o->replace);
    publish->sync = o->sync;
    publish->herald = o->herald;
    return result;
}

hb_result hb_write_trace_file(hb_source *source, const char *path, const hb_write_options *options,
                              hb_write_stats *stats)
{
    hb_write_options o = *options;
    hb_write_stats unused;
    hb_publish publish;
    if (!stats) stats = &unused;
    if (!o.trace_name) o.trace_name = path;
    hb_result result = open_publish(&publish, path, &o);
    if (result == HB_OK)
        result = o.gzip ? write_compressed(source, &publish.sink, path, &o, stats)
                        : write_uncompressed(source, &publish.sink, &o, stats);
    if (result == HB_OK && o.may_be_named) result = o.may_be_named(o.context);
    if (result == HB_OK) result = hb_publish_commit(&publish);
    if (result == HB_OK) stats->bytes = publish.bytes;
    hb_publish_free(&publish);
    return result;
}

static bool take_ending(char *path, const char *ending)
{
    if (!hb_path_ends(path, ending)) return false;
    path[strlen(path) - strlen(ending)] = '\0';
    return true;
}

char *hb_pftrace_path(const char *path)
{
    char *made, *stem = strdup(path);
    if (!stem) return NULL;
    bool gzip = take_ending(stem, ".gz");
    if (take_ending(stem, ".json")) (void)take_ending(stem, ".pt.trace");
    int n = asprintf(&made, "%s.pftrace%s", stem, gzip ? ".gz" : "");
    free(stem);
    return n < 0 ? NULL : made;
}

hb_result hb_write_pftrace_beside(hb_source *source, const char *path,
                                  const hb_write_options *options)
{
    hb_write_options o = *options;
    char *beside = hb_pftrace_path(path);
    if (!beside) return hb_no_memory();
    o.perfetto = o.replace = true;
    o.herald = NULL;
    hb_result result = hb_write_trace_file(source, beside, &o, NULL);
    free(beside);
    return result;
}

static hb_result write_text_compressed(hb_sink *sink, const char *path, const char *text,
                                       size_t size)
{
    char name[256];
    hb_gzip gzip;
    inner_name(path, name, sizeof name);
    HB_TRY(hb_gzip_open(&gzip, sink, name, time(NULL), HB_GZIP_SMALLER));
    hb_result result = gzip.sink.write(&gzip.sink, text, size);
    if (result == HB_OK) result = hb_gzip_finish(&gzip);
    hb_gzip_free(&gzip);
    return result;
}

hb_result hb_write_text_file(const char *path, const char *text, size_t size)
{
    hb_publish publish;
    hb_result result = hb_publish_open(&publish, path, true);
    if (result == HB_OK)
        result = hb_path_ends(path, ".gz") ? write_text_compressed(&publish.sink, path, text, size)
                                           : publish.sink.write(&publish.sink, text, size);
    if (result == HB_OK) result = hb_publish_commit(&publish);
    hb_publish_free(&publish);
    return result;
}

/* "1 scope is", "2 scopes are". */
static void warn_of(const char *path, uint64_t count, const char *what, const char *why)
{
    if (count == 0) return;
    hb_warn("%s: %llu %s%s %s; the plugin draws %s in its trace view only", path,
            (unsigned long long)count, what, count == 1 ? " is" : "s are", why,
            count == 1 ? "it" : "them");
}

void hb_write_warn(const char *path, const hb_write_stats *stats)
{
    warn_of(path, stats->flattened, "scope", "nested deeper than the plugin survives");
    warn_of(path, stats->unnested, "scope", "not nested in the one around");
    warn_of(path, stats->hidden_steps, "step",
            "without GPU work and over before the GPU has finished the step before");
}
