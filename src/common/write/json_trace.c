/* SPDX-License-Identifier: MIT
 *
 * A trace from its first byte to its last, section by section, each a pass over the source.
 */
#include "write/json_parts.h"

/* Kineto counts time from the begin of the quarter of a mean year, so that three months of
 * microseconds keep their nanoseconds in a double and the ranks of a job share one base. */
enum { QUARTER_SECONDS = 7889238 };

static int64_t base_time(int64_t start_ns)
{
    const int64_t quarter = QUARTER_SECONDS * 1000000000ll;
    return start_ns < 0 ? 0 : start_ns / quarter * quarter;
}

static void write_event(hb_writer *w, const hb_trace_event *event)
{
    switch (event->kind) {
    case HB_EVENT_OP:
    case HB_EVENT_USER_ANNOTATION: hb_write_scope(w, event); return;
    case HB_EVENT_MODULE: hb_write_module(w, event); return;
    case HB_EVENT_MEMORY: hb_write_memory(w, event); return;
    case HB_EVENT_SCALAR: hb_write_scalar(w, event); return;
    case HB_EVENT_COUNTER: hb_write_counter(w, event); return;
    case HB_EVENT_FLOW: hb_write_user_flow(w, event); return;
    case HB_EVENT_RUNTIME:
    case HB_EVENT_SYNC: hb_write_runtime(w, event); return;
    case HB_EVENT_KERNEL: hb_write_kernel(w, event); return;
    case HB_EVENT_MEMCPY:
    case HB_EVENT_MEMSET: hb_write_transfer(w, event); return;
    case HB_EVENT_GPU_USER_ANNOTATION: hb_write_device_annotation(w, event); return;
    }
}

/* Goes on after a failing write only to the next event. */
static hb_result write_pass(hb_writer *w, hb_pass pass)
{
    hb_trace_event event;
    HB_TRY(w->source->begin(w->source, pass));
    while (w->out.result == HB_OK && w->source->next(w->source, &event))
        write_event(w, &event);
    return HB_OK;
}

static hb_result write_all(hb_writer *w)
{
    HB_TRY(hb_prepass(w));
    hb_write_header(w);
    uint64_t flattened = w->stats.flattened, unnested = w->stats.unnested;
    hb_write_row_names(w);
    for (hb_pass pass = 0; pass < HB_PASS_COUNT; pass++)
        HB_TRY(write_pass(w, pass));
    for (size_t i = 0; i < hb_num_made_operators(w); i++) {
        const hb_trace_event made = hb_made_operator(w, i);
        hb_write_scope(w, &made);
    }
    hb_write_spans(w);
    hb_write_footer(w);
    w->stats.flattened = flattened; /* the passes counted them again */
    w->stats.unnested = unnested;
    return hb_out_finish(&w->out);
}

hb_result hb_writer_open(hb_writer *w, hb_source *source, hb_sink *sink,
                         const hb_write_options *options)
{
    *w = (hb_writer){
        .source = source,
        .info = source->info,
        .kineto = options->dialect == HB_WRITE_KINETO,
        .trace_name = options->trace_name,
        .pid = hb_process_row(source->info, options->dialect == HB_WRITE_KINETO),
        .base_ns = base_time(source->info->start_ns),
        .max_device = -1,
    };
    HB_TRY(hb_out_open(&w->out, sink));
    w->names = hb_names_new(w->kineto);
    return w->names ? HB_OK : hb_fail(HB_ERROR_NO_MEMORY, "no memory for the writer's names");
}

void hb_writer_free(hb_writer *w)
{
    hb_names_free(w->names);
    hb_flows_free(&w->flows);
    hb_steps_free(&w->steps);
    hb_id_remap_free(&w->remap);
    hb_id_remap_free(&w->bare);
    hb_memory_homes_free(&w->homes);
    hb_nests_free(&w->modules);
    hb_memory_stacks_free(&w->memory_stacks);
    hb_op_rates_free(&w->rates);
    hb_out_free(&w->out);
}

hb_result hb_write_trace(hb_source *source, hb_sink *sink, const hb_write_options *options,
                         hb_write_stats *stats)
{
    hb_writer w;
    hb_result result = hb_writer_open(&w, source, sink, options);
    if (result == HB_OK) result = write_all(&w);
    w.stats.bytes = w.stats.json_bytes = w.out.bytes;
    if (stats) *stats = w.stats;
    hb_writer_free(&w);
    return result;
}
