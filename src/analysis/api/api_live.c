/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: the last cycle, analysed without a file.
 */
#include "api/api_trace_file.h"
#include "base/c_locale.h"
#include "base/files.h"
#include "io/out.h"
#include "io/publish.h"
#include "trace/live.h"
#include "write/write.h"

/* What a trace of the last cycle is made for. */
typedef enum purpose { FOR_TABLES, FOR_STACKS, FOR_MEMORY } purpose;

typedef struct live_cycle {
    hb_write_dialect dialect;
    purpose purpose;
    hb_trace_file *file;
} live_cycle;

static hb_result fill(void *context, hb_source *source)
{
    live_cycle *c = context;
    if (c->purpose == FOR_STACKS && !source->info->with_stack)
        return hb_fail(HB_ERROR_STATE, "export_stacks() requires with_stack");
    if (c->purpose == FOR_MEMORY && !source->info->profile_memory)
        return hb_fail(HB_ERROR_STATE, "export_memory_timeline() requires profile_memory");
    locale_t before = hb_enter_c_locale();
    hb_result result = hb_write_to_trace(source, c->dialect, hb_trace_file_trace(c->file));
    hb_leave_c_locale(before);
    return result;
}

static hb_result make_trace(hb_profiler *prof, unsigned flags, purpose what_for,
                            hb_trace_file **file)
{
    *file = NULL;
    live_cycle c = {flags & HB_DIALECT_KINETO ? HB_WRITE_KINETO : HB_WRITE_TENSORBOARD, what_for,
                    hb_trace_file_new()};
    if (!c.file) return hb_no_memory();
    hb_result result = hb_live_cycle_read(prof, fill, &c);
    if (result != HB_OK)
        hb_trace_file_close(c.file);
    else
        *file = c.file;
    return result;
}

hb_result hb_profiler_trace(hb_profiler *prof, unsigned flags, hb_trace_file **file)
{
    if (!file) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no place for the result");
    return make_trace(prof, flags, FOR_TABLES, file);
}

hb_result hb_profiler_key_averages(hb_profiler *prof, const hb_key_averages_options *options,
                                   hb_key_averages **averages)
{
    hb_trace_file *file;
    if (!averages) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no place for the result");
    *averages = NULL;
    HB_TRY(hb_profiler_trace(prof, 0, &file));
    hb_result result = hb_key_averages_create(file, options, averages);
    if (result == HB_OK)
        hb_key_averages_own(*averages, file);
    else
        hb_trace_file_close(file);
    return result;
}

/* ---- files ---- */

static bool put_stack(void *context, const char *stack, double us)
{
    hb_out *out = context;
    hb_out_bytes(out, stack, strlen(stack));
    HB_OUT(out, " ");
    hb_out_done(out, hb_put_u64(hb_out_room(out, HB_OUT_ROOM), (uint64_t)us));
    HB_OUT(out, "\n");
    return out->result == HB_OK;
}

static hb_result write_stacks(hb_trace_file *file, const char *metric, hb_sink *sink)
{
    hb_out out;
    hb_stacks_options o = HB_STACKS_OPTIONS_INIT;
    o.metric = metric;
    HB_TRY(hb_out_open(&out, sink));
    hb_result result = hb_trace_file_stacks(file, &o, put_stack, &out);
    if (result == HB_OK) result = hb_out_finish(&out);
    hb_out_free(&out);
    return result;
}

hb_result hb_export_stacks(hb_profiler *prof, const char *path, const char *metric)
{
    hb_trace_file *file;
    hb_publish publish;
    if (!path || !*path)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "export_stacks: the path is NULL or empty");
    HB_TRY(make_trace(prof, 0, FOR_STACKS, &file));
    hb_result result = hb_publish_open(&publish, path, true);
    if (result == HB_OK) result = write_stacks(file, metric, &publish.sink);
    if (result == HB_OK) result = hb_publish_commit(&publish);
    hb_publish_free(&publish);
    hb_trace_file_close(file);
    return result;
}

/* torch's suffixes. */
static hb_memory_form form_of(const char *path)
{
    if (hb_path_ends(path, ".html")) return HB_MEMORY_PAGE;
    return hb_path_ends(path, "raw.json.gz") ? HB_MEMORY_RAW : HB_MEMORY_BY_TIME;
}

hb_result hb_memory_timeline_write(hb_trace_file *file, const char *path, const char *device)
{
    hb_buf text;
    if (!path || !*path)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "export_memory_timeline: the path is NULL or empty");
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_result result = hb_memory_text(file, device, form_of(path), &text);
    if (result == HB_OK) result = hb_write_text_file(path, text.data, text.size);
    hb_buf_free(&text);
    return result;
}

hb_result hb_export_memory_timeline(hb_profiler *prof, const char *path, const char *device)
{
    hb_trace_file *file;
    HB_TRY(make_trace(prof, 0, FOR_MEMORY, &file));
    hb_result result = hb_memory_timeline_write(file, path, device);
    hb_trace_file_close(file);
    return result;
}
