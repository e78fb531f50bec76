/* SPDX-License-Identifier: MIT
 *
 * A session with its device side as a source: the passes of the host are the record room's, those
 * of the device are made here.
 */
#include <stdlib.h>

#include "hip/late_reports.h"
#include "replay/device_rows.h"
#include "replay/device_source.h"

static hb_device_source *self(hb_source *source)
{
    return (hb_device_source *)source;
}

static void open_thread(hb_device_source *s)
{
    hb_cursor_close(&s->cursor);
    if (s->thread < s->records->threads.count)
        s->cursor =
            hb_cursor_open(s->view, s->records, hb_records_nth(s->records, s->thread), s->types);
}

void hb_device_rewind(hb_device_source *s, uint32_t types)
{
    s->thread = 0;
    s->types = types;
    s->late_at = 0;
    open_thread(s);
}

const hb_record *hb_device_next_record(hb_device_source *s)
{
    uint64_t id;
    while (s->thread < s->records->threads.count) {
        const hb_record *r = hb_cursor_next(&s->cursor, &id);
        if (r) return r;
        s->thread++;
        open_thread(s);
    }
    if (s->late_at == s->late_bytes || !(s->types & HB_WORK_RECORDS)) return NULL;
    const hb_record *r = (const hb_record *)(s->late + s->late_at);
    s->late_at += (size_t)r->units * 8;
    return r;
}

static hb_result begin(hb_source *source, hb_pass pass)
{
    hb_device_source *s = self(source);
    s->pass = pass;
    s->annotation = 0;
    if (pass == HB_PASS_DEVICE_ANNOTATIONS) return HB_OK;
    if (pass != HB_PASS_DEVICE) return s->host->begin(s->host, pass);
    hb_device_rewind(s, HB_CALL_RECORDS | HB_WORK_RECORDS);
    hb_graph_replays_rewind(&s->graphs);
    return HB_OK;
}

static bool next_device_row(hb_device_source *s, hb_trace_event *e)
{
    const hb_record *r;
    while ((r = hb_device_next_record(s))) {
        if (hb_is_call(r)) {
            hb_make_call_row(s, e, r, s->cursor.thread->tid);
            return true;
        }
        if (hb_is_work(r) && hb_make_work_row(s, e, r)) return true;
    }
    return false;
}

static hb_str name_of(hb_device_source *s, const hb_device_annotation *a)
{
    if (hb_string_is_step(a->name)) return hb_strings_step_name(a->name, s->step_name);
    return hb_device_text(s, a->name);
}

static bool next_annotation(hb_device_source *s, hb_trace_event *e)
{
    const hb_device_annotation *all = (const hb_device_annotation *)s->annotations.data;
    if (s->annotation >= s->annotations.size / sizeof *all) return false;
    const hb_device_annotation *a = &all[s->annotation++];
    *e = (hb_trace_event){
        .kind = HB_EVENT_GPU_USER_ANNOTATION,
        .name = name_of(s, a),
        .name_key = a->name,
        .start_ns = a->start_ns,
        .end_ns = a->end_ns,
        .tid = a->stream,
        .device = a->device,
        .external_id = a->id,
    };
    return true;
}

/* Its work is that of the graph's runs. */
static void tell_of_capture(const hb_device_source *s, hb_trace_event *e)
{
    static const hb_arg captured = {"graph", HB_ARG_STRING, 0, 0, 0, "captured"};
    bool counts = e->kind == HB_EVENT_OP && e->op.flops > 0;
    if (!counts || !hb_graph_replays_holds(&s->graphs, e->external_id)) return;
    e->op.flops = 0;
    if (e->op.num_args) return;
    e->op.args = &captured;
    e->op.num_args = 1;
}

static bool next(hb_source *source, hb_trace_event *event)
{
    hb_device_source *s = self(source);
    switch (s->pass) {
    case HB_PASS_DEVICE: return next_device_row(s, event);
    case HB_PASS_DEVICE_ANNOTATIONS: return next_annotation(s, event);
    default:
        if (!s->host->next(s->host, event)) return false;
        if (s->graphs.owners.size) tell_of_capture(s, event);
        return true;
    }
}

static void source_close(hb_source *source)
{
    hb_device_source *s = self(source);
    if (s->host) s->host->close(s->host);
    hb_correlations_free(&s->correlations);
    hb_graph_replays_free(&s->graphs);
    hb_streams_free(&s->streams);
    hb_call_stacks_free(&s->stacks);
    hb_buf_free(&s->devices);
    hb_buf_free(&s->metadata);
    hb_buf_free(&s->threads);
    hb_buf_free(&s->annotations);
    hb_buf_free(&s->comms);
    hb_buf_free(&s->comm.texts);
    hb_cursor_close(&s->cursor);
    hb_record_reader_free(&s->reader);
    free(s);
}

hb_result hb_device_source_open(const hb_spool_view *view, const hb_session *session,
                                const hb_record_source_options *options, hb_source **source)
{
    hb_device_source *s = calloc(1, sizeof *s);
    if (!s) return hb_fail(HB_ERROR_NO_MEMORY, "no memory to read the records");
    s->base = (hb_source){&s->info, begin, next, source_close};
    s->view = view;
    hb_device_settle(session);
    s->late = hb_late_records(session, &s->late_bytes, &s->missing);
    s->records = view->records(view, session);
    hb_record_reader_init(&s->reader, view, s->records);
    hb_correlations_init(&s->correlations, &s->reader);
    hb_graph_replays_init(&s->graphs);
    hb_streams_init(&s->streams);
    hb_call_stacks_init(&s->stacks);
    hb_buf_init(&s->devices, (size_t)1 << 20);
    hb_buf_init(&s->metadata, (size_t)64 << 20);
    hb_buf_init(&s->threads, (size_t)256 << 20);
    hb_buf_init(&s->annotations, (size_t)4 << 30);
    hb_buf_init(&s->comms, (size_t)4 << 30);
    hb_buf_init(&s->comm.texts, (size_t)64 << 20);
    hb_result result = hb_record_source_open(view, session, options, &s->host);
    if (result == HB_OK) {
        s->info = *s->host->info;
        s->ticks = hb_clock_fit_pairs(&session->start, hb_session_last(session));
        s->boottime = hb_clock_fit_boottime(&session->start, hb_session_last(session));
        result = hb_device_prepass(s);
    }
    if (result != HB_OK) {
        source_close(&s->base);
        return result;
    }
    *source = &s->base;
    return HB_OK;
}
