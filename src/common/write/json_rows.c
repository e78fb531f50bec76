/* SPDX-License-Identifier: MIT
 *
 * Events about the trace itself: names of its rows at the start, its span at the end.
 */
#include <stdio.h>

#include "write/json_parts.h"

enum {
    MOST_PIDS = 1 << 22, /* of Linux */
    KINETO_GPUS = 16,    /* rows that Kineto names in a GPU build, there or not */
    GPU_SORT_INDEX = 5000000,
    SPANS_SORT_INDEX = 0x20000000,
};

static char *put_ts(const hb_writer *w, char *p, int64_t ns)
{
    return hb_put_us(p, hb_since_base(w, ns));
}

/* Up to the opening of args; `pid` is JSON text. */
static void begin_meta(hb_writer *w, hb_str name, int64_t ns, const char *pid, int64_t tid)
{
    char *p = hb_out_room(&w->out, HB_OUT_ROOM);
    p = HB_PUT(p, "\n  {\n    \"ph\": \"M\",\n    \"name\": \"");
    memcpy(p, name.s, name.len);
    p = HB_PUT(p + name.len, "\",\n    \"ts\": ");
    p = put_ts(w, p, ns);
    p = HB_PUT(p, ",\n    \"pid\": ");
    size_t len = strlen(pid);
    memcpy(p, pid, len);
    p = HB_PUT(p + len, ",\n    \"tid\": ");
    p = hb_put_u64(p, tid < 0 ? 0 - (uint64_t)tid : (uint64_t)tid);
    p = HB_PUT(p, ",\n    \"args\": {\n      ");
    hb_out_done(&w->out, p);
    w->stats.events++;
}

static void write_text_meta(hb_writer *w, hb_str name, int64_t pid, int64_t tid, const char *key,
                            const char *text)
{
    char pid_text[24];
    snprintf(pid_text, sizeof pid_text, "%lld", (long long)pid);
    begin_meta(w, name, w->info->start_ns, pid_text, tid);
    hb_out_json(&w->out, key, strlen(key));
    HB_OUT(&w->out, ": ");
    hb_out_json(&w->out, text, strlen(text));
    HB_OUT(&w->out, "\n    }\n  },");
}

static void write_sort_meta(hb_writer *w, hb_str name, int64_t ns, const char *pid, int64_t tid,
                            int64_t index)
{
    begin_meta(w, name, ns, pid, tid);
    char *p = hb_out_room(&w->out, HB_OUT_ROOM);
    p = HB_PUT(p, "\"sort_index\": ");
    p = hb_put_i64(p, index);
    hb_out_done(&w->out, hb_put_args_end(p));
}

static void write_process(hb_writer *w, int64_t pid, const char *label, int64_t sort_index)
{
    const char *name = w->info->process_name ? w->info->process_name : "";
    char pid_text[24];
    snprintf(pid_text, sizeof pid_text, "%lld", (long long)pid);
    write_text_meta(w, HB_STR("process_name"), pid, 0, "name", name);
    write_text_meta(w, HB_STR("process_labels"), pid, 0, "labels", label);
    write_sort_meta(w, HB_STR("process_sort_index"), w->info->start_ns, pid_text, 0, sort_index);
}

static void write_row_name(hb_writer *w, int64_t pid, int64_t tid, const char *name)
{
    char pid_text[24];
    snprintf(pid_text, sizeof pid_text, "%lld", (long long)pid);
    write_text_meta(w, HB_STR("thread_name"), pid, tid, "name", name);
    write_sort_meta(w, HB_STR("thread_sort_index"), w->info->start_ns, pid_text, tid, tid);
}

static void write_thread_name(hb_writer *w, int64_t tid, const char *given)
{
    char name[96];
    if (given && *given)
        snprintf(name, sizeof name, "thread %lld (%.60s)", (long long)tid, given);
    else
        snprintf(name, sizeof name, "thread %lld", (long long)tid);
    write_row_name(w, w->pid, tid, name);
}

/* -1: none has rows. */
static int64_t last_gpu(const hb_trace_info *info, bool kineto)
{
    int64_t last = -1;
    for (size_t i = 0; i < info->num_devices; i++)
        last = HB_MAX(last, info->devices[i].id);
    for (size_t i = 0; i < info->num_streams; i++)
        last = HB_MAX(last, info->streams[i].device);
    if (kineto && (last >= 0 || info->hip_runtime_version)) last = HB_MAX(last, KINETO_GPUS - 1);
    return HB_MIN(last, HB_MAX_DEVICES - 1);
}

int64_t hb_process_row(const hb_trace_info *info, bool kineto)
{
    bool is_gpu = info->pid >= 0 && info->pid <= last_gpu(info, kineto);
    return info->pid + (is_gpu ? MOST_PIDS : 0);
}

static void write_gpus(hb_writer *w)
{
    int64_t last = last_gpu(w->info, w->kineto);
    for (int64_t id = 0; id <= last; id++) {
        char label[32];
        snprintf(label, sizeof label, "GPU %lld", (long long)id);
        write_process(w, id, label, GPU_SORT_INDEX + id);
    }
}

void hb_write_row_names(hb_writer *w)
{
    const hb_trace_info *info = w->info;
    char name[96];
    write_process(w, w->pid, "CPU", w->pid);
    write_gpus(w);
    for (size_t i = 0; i < info->num_streams; i++) {
        long long stream = info->streams[i].stream;
        snprintf(name, sizeof name, "stream %lld ",
                 stream); /* Kineto's blank, of an empty postfix */
        write_row_name(w, info->streams[i].device, stream, name);
    }
    for (size_t i = 0; i < info->num_threads; i++)
        write_thread_name(w, info->threads[i].tid, info->threads[i].name);
    if (hb_lacks_operators(w)) write_thread_name(w, HB_NO_OPERATOR_TID, "inferred");
}

static void write_marker(hb_writer *w, hb_str text, int64_t ns, bool last)
{
    char *p =
        hb_put_head(&w->out, HB_STR("\n  {\n    \"ph\": \"i\",\n    \n    \"s\": \"g\""), text);
    p = put_ts(w, p, ns);
    p = HB_PUT(p, "\n    \n  }");
    if (!last) *p++ = ',';
    hb_out_done(&w->out, p);
    w->stats.events++;
}

int64_t hb_span_ns(const hb_writer *w)
{
    int64_t ns = HB_MAX(w->info->stop_ns - w->info->start_ns, 0);
    return w->kineto ? ns : HB_MAX(ns, 1000);
}

static void write_span(hb_writer *w)
{
    char *p = hb_put_head(&w->out, hb_complete_head(HB_CATEGORY_TRACE),
                          HB_STR("\"PyTorch Profiler (0)\""));
    p = HB_PUT(p, ",\n    \"pid\": \"Spans\",\n"
                  "    \"tid\": \"PyTorch Profiler\",\n    \"ts\": ");
    p = put_ts(w, p, w->info->start_ns);
    p = HB_PUT(p, ",\n    \"dur\": ");
    p = hb_put_us(p, (uint64_t)hb_span_ns(w));
    p = HB_PUT(p, "\n    ,\n    \"args\": {\n      \"Op count\": 0");
    hb_out_done(&w->out, hb_put_args_end(p));
    w->stats.events++;
}

void hb_write_spans(hb_writer *w)
{
    write_span(w);
    write_sort_meta(w, HB_STR("process_sort_index"), w->info->start_ns, "\"Spans\"", 0,
                    SPANS_SORT_INDEX);
    write_marker(w,
                 HB_STR(",\n    \"name\": \"Iteration Start: PyTorch Profiler\",\n"
                        "    \"pid\": \"Traces\",\n    \"tid\": \"Trace PyTorch Profiler\",\n"
                        "    \"ts\": "),
                 w->info->start_ns, false);
    write_marker(w,
                 HB_STR(",\n    \"name\": \"Record Window End\",\n    \"pid\": \"\",\n"
                        "    \"tid\": \"\",\n    \"ts\": "),
                 w->info->stop_ns, true);
}
