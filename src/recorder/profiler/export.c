/* SPDX-License-Identifier: MIT
 *
 * A finished cycle becomes a file, or a walk over its events.
 */
#include "profiler/profiler.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/files.h"
#include "base/guard.h"
#include "hip/capture.h"
#include "profiler/write_turns.h"
#include "profiler/written.h"
#include "replay/aligned_clock.h"
#include "replay/device_source.h"
#include "replay/merge.h"
#include "replay/sample_rows.h"
#include "replay/time_slices.h"
#include "replay/window.h"
#include "steps/find_steps.h"
#include "steps/stack_modules.h"
#include "telemetry/telemetry.h"
#include "trace/live.h"
#include "write/write.h"

/* A loop that this cycle does not have is none of another one's. */
static hb_result find_steps(const hb_session *session, hb_source **source)
{
    hb_found_steps found;
    hb_step_wish wish = {.loop = (uint32_t)session->step_loop, .operators_are_calls = true};
    hb_result result = hb_find_steps(*source, &wish, &found);
    if (result == HB_ERROR_NOT_FOUND && wish.loop) {
        wish.loop = 0;
        result = hb_find_steps(*source, &wish, &found);
    }
    bool sliced = found.method == HB_STEPS_ONE && session->slice_ns;
    if (result == HB_OK && !sliced) result = hb_put_steps(source, &found);
    hb_found_steps_free(&found);
    return result;
}

hb_result hb_session_source_open(const hb_spool_view *view, const hb_session *session,
                                 const hb_record_source_options *options, hb_source **source)
{
    hb_clock_fit fit = hb_clock_fit_pairs(&session->start, hb_session_last(session));
    HB_TRY(hb_device_source_open(view, session, options, source));
    if (session->flags & HB_SESSION_RING) {
        uint64_t from = session->kept_from;
        HB_TRY(hb_window_open(source, from ? hb_clock_unix(&fit, from) : INT64_MIN));
    }
    HB_TRY(hb_clock_align(source, &session->start, fit.ns_per_tick));
    hb_result result = session->flags & HB_SESSION_FIND_STEPS ? find_steps(session, source) : HB_OK;
    if (result == HB_OK) result = hb_put_stack_modules(source);
    if (result == HB_OK) result = hb_put_samples(view, session, source);
    if (result == HB_OK) result = hb_time_slices_add(source, session->slice_ns);
    if (result == HB_OK) result = hb_telemetry_sum_up(source);
    if (result != HB_OK) (*source)->close(*source);
    return result;
}

static hb_result open_cycle(const hb_spool_view *view, const hb_cycle *cycle, hb_source **source)
{
    hb_session_settle(view->from, cycle->session);
    return hb_session_source_open(view, cycle->session, NULL, source);
}

/* "<worker>.<time>.pt.trace.json" becomes that of the next nanosecond. False when it can't. */
static bool count_up(char *path)
{
    char *slash = strrchr(path, '/'), *end = strstr(slash ? slash : path, ".pt.trace.json");
    for (char *next; end && (next = strstr(end + 1, ".pt.trace.json"));)
        end = next;
    for (char *digit = end; digit && digit > path && digit[-1] >= '0' && digit[-1] <= '9';) {
        digit--;
        if (*digit < '9') return ++*digit, true;
        *digit = '0';
    }
    return false;
}

/* Containers that share a directory share host names, process numbers and clocks. */
hb_result hb_write_trace_new(hb_source *source, char *path, const hb_write_options *options,
                             hb_write_stats *stats)
{
    hb_result result;
    int tries = 100;
    do
        result = hb_write_trace_file(source, path, options, stats);
    while (result == HB_ERROR_STATE && --tries > 0 && count_up(path));
    return result;
}

/* Killed after the file has its name and before the session says so, the process leaves a session
 * that recovery passes over: recover.c looks whether this file has this name. The inode makes the
 * rest valid, so it goes first and comes last. */
static void about_to_name(void *arg, const char *name, uint64_t device, uint64_t inode)
{
    hb_session *session = arg;
    __atomic_store_n(&session->file_inode, 0, __ATOMIC_SEQ_CST);
    if (strlen(name) >= sizeof session->file_name) return;
    strcpy(session->file_name, name);
    session->file_device = device;
    __atomic_store_n(&session->file_inode, inode, __ATOMIC_SEQ_CST);
}

typedef struct spool_reading {
    const hb_spool *spool;
    uint64_t unread_before;
} spool_reading;

/* Without a file the cycle stays for recovery, which finds all of it when the disk answers again.
 */
static hb_result was_read(const void *context)
{
    const spool_reading *reading = context;
    return hb_spool_was_read(reading->spool, reading->unread_before);
}

hb_result hb_cycle_write(hb_profiler *prof, hb_cycle *cycle, char *path, unsigned flags,
                         enum hb_target target, const hb_kept_file *in, hb_cycle_marks *marks)
{
    hb_source *opened, *source;
    hb_write_stats stats = {0};
    hb_spool_view view = hb_spool_view_own(&prof->spool);
    hb_publish_herald herald = {about_to_name, cycle->session};
    spool_reading reading = {&prof->spool, atomic_load(&prof->spool.unread)};
    HB_TRY(open_cycle(&view, cycle, &opened));
    hb_marking_source marking = {0};
    if (marks) marking = hb_marking_source_of(opened, marks);
    source = marks ? &marking.source : opened;
    hb_write_options options = {
        .dialect = flags & HB_DIALECT_KINETO ? HB_WRITE_KINETO : HB_WRITE_TENSORBOARD,
        .gzip = hb_path_ends(path, ".gz"),
        .gzip_by_zlib = flags & HB_GZIP_BY_ZLIB,
        .perfetto = flags & HB_PFTRACE && target == HB_ANY_FILE,
        .replace = target == HB_ANY_FILE,
        .sync = prof->sync,
        .in = in,
        .herald = &herald,
        .may_be_named = was_read,
        .context = &reading,
    };
    int turn = options.replace ? -1 : hb_write_turn_take(path);
    hb_result result = options.replace ? hb_write_trace_file(source, path, &options, &stats)
                                       : hb_write_trace_new(source, path, &options, &stats);
    hb_write_turn_give(turn);
    if (result == HB_OK) hb_cycle_saved(prof, cycle);
    if (result == HB_OK) hb_tell_written(HB_WRITTEN_TRACE, path);
    if (result == HB_OK) hb_write_warn(path, &stats);
    if (result == HB_OK && flags & HB_PFTRACE && !options.perfetto)
        result = hb_write_pftrace_beside(source, path, &options);
    opened->close(opened);
    return result;
}

bool hb_session_is_empty(const hb_spool_view *view, const hb_session *session)
{
    hb_merge merge;
    if (hb_merge_open(&merge, view, session, ~HB_TYPES_TOLD_ONCE) != HB_OK) return false;
    bool empty = hb_merge_next(&merge) == NULL;
    hb_merge_close(&merge);
    return empty;
}

hb_result hb_profiler_check_readable(const hb_profiler *prof)
{
    if (!prof) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "the profiler is NULL");
    if (!prof->last_cycle)
        return hb_fail(HB_ERROR_STATE, "no cycle was recorded: export and look at events in "
                                       "on_trace_ready or after hb_profiler_stop()");
    if (prof->session && !prof->in_handler)
        return hb_fail(HB_ERROR_STATE, "a cycle is being recorded: export and look at events in "
                                       "on_trace_ready or after hb_profiler_stop()");
    return HB_OK;
}

hb_result hb_live_cycle_read(hb_profiler *prof, hb_result (*read)(void *context, hb_source *source),
                             void *context)
{
    hb_source *source;
    HB_TRY(hb_profiler_check_readable(prof));
    hb_spool_view view = hb_spool_view_own(&prof->spool);
    spool_reading reading = {&prof->spool, atomic_load(&prof->spool.unread)};
    HB_TRY(open_cycle(&view, prof->last_cycle, &source));
    hb_result result = read(context, source);
    source->close(source);
    return result == HB_OK ? was_read(&reading) : result;
}

hb_result hb_export_chrome_trace(hb_profiler *prof, const char *path, unsigned flags)
{
    HB_GUARDED();
    HB_TRY(hb_profiler_check_readable(prof));
    if (!path || !*path)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "export_chrome_trace: the path is NULL or empty");
    char *copy = strdup(path);
    if (!copy) return hb_no_memory();
    hb_result result = hb_cycle_write(prof, prof->last_cycle, copy, flags, HB_ANY_FILE, NULL, NULL);
    free(copy);
    return result;
}

/* ---- events ---- */

static hb_event to_public(const hb_trace_event *e, hb_buf *name)
{
    name->size = 0;
    hb_buf_append(name, e->name.s, e->name.len);
    hb_event event = {
        .kind = e->kind,
        .unfinished = e->flags & HB_TEV_UNFINISHED,
        .async = e->flags & HB_TEV_ASYNC,
        .name = hb_buf_text(name),
        .name_size = name->size,
        .start_ns = e->start_ns,
        .end_ns = e->end_ns,
        .thread_id = e->tid,
        .external_id = e->external_id,
    };
    switch (e->kind) {
    case HB_EVENT_OP: event.flops = e->op.flops; /* fall through */
    case HB_EVENT_USER_ANNOTATION:
        event.category = e->op.category.len ? e->op.category.s : NULL;
        event.args = e->op.args;
        event.num_args = e->op.num_args;
        break;
    case HB_EVENT_MEMORY: event.bytes = e->memory.bytes; break;
    case HB_EVENT_SCALAR: event.value = e->scalar; break;
    case HB_EVENT_COUNTER:
        event.value = e->counter.value;
        event.unit = e->counter.unit.len ? e->counter.unit.s : "";
        break;
    case HB_EVENT_FLOW:
        event.flow_id = e->flow.id;
        event.flow_phase = e->flow.phase;
        break;
    case HB_EVENT_MEMCPY:
    case HB_EVENT_MEMSET: event.bytes = (int64_t)e->copy.bytes; break;
    default: break;
    }
    return event;
}

typedef struct visit {
    bool (*fn)(const hb_event *event, void *arg);
    void *arg;
    bool go_on;
} visit;

static hb_result each_event(hb_source *source, visit *v)
{
    hb_trace_event row;
    hb_buf name;
    hb_buf_init(&name, (size_t)1 << 30);
    hb_result result = HB_OK;
    for (int pass = 0; result == HB_OK && v->go_on && pass < HB_PASS_COUNT; pass++) {
        result = source->begin(source, (hb_pass)pass);
        while (result == HB_OK && v->go_on && source->next(source, &row)) {
            hb_event event = to_public(&row, &name);
            hb_callback callback;
            hb_callback_begin(&callback);
            v->go_on = v->fn(&event, v->arg);
            hb_callback_end(&callback);
        }
    }
    hb_buf_free(&name);
    return result;
}

hb_result hb_profiler_events(hb_profiler *prof, bool (*fn)(const hb_event *event, void *arg),
                             void *arg)
{
    HB_GUARDED();
    HB_TRY(hb_profiler_check_readable(prof));
    if (!fn) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "events: the function is NULL");
    visit v = {fn, arg, true};
    hb_spool_view view = hb_spool_view_own(&prof->spool);
    spool_reading reading = {&prof->spool, atomic_load(&prof->spool.unread)};
    for (const hb_cycle *c = prof->first_cycle; c && v.go_on; c = c->next) {
        hb_source *source;
        HB_TRY(open_cycle(&view, c, &source));
        hb_result result = each_event(source, &v);
        source->close(source);
        HB_TRY(result);
    }
    return was_read(&reading);
}
