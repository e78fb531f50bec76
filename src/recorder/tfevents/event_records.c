/* SPDX-License-Identifier: MIT */
#include "tfevents/event_records.h"

#include <stdlib.h>

#include <custom_scalars.pb-c.h>
#include <event.pb-c.h>
#include <hparams.pb-c.h>

#include "base/utf8.h"
#include "tfevents/event_file.h"

#pragma GCC diagnostic ignored "-Wcast-qual" /* in protobuf-c's initializers */

/* ---- memory of one record's messages ---- */

/* protobuf-c takes a tree of structs. Its parts live here until the tree is packed. */
typedef struct arena {
    struct arena_block *blocks;
    bool failed;
} arena;

struct arena_block {
    struct arena_block *next;
    max_align_t data[];
};

/* Zeroed; NULL for no bytes or when out of memory. */
static void *arena_take(arena *memory, size_t count, size_t size)
{
    if (count == 0) return NULL;
    struct arena_block *block = NULL;
    if (size <= (SIZE_MAX - sizeof *block) / count) block = calloc(1, sizeof *block + count * size);
    if (!block) {
        memory->failed = true;
        return NULL;
    }
    block->next = memory->blocks;
    memory->blocks = block;
    return block->data;
}

static void arena_free(arena *memory)
{
    while (memory->blocks) {
        struct arena_block *block = memory->blocks;
        memory->blocks = block->next;
        free(block);
    }
}

/* ---- texts ---- */

/* The text itself when it is UTF-8, else a mended copy: a reader refuses a whole message, and with
 * it the file's rest, for one string that is not UTF-8. protobuf-c wants its strings writable but
 * does not write to them. */
static char *clean(arena *memory, const char *text)
{
    if (!text) text = "";
    size_t size = strlen(text);
    if (hb_utf8_valid_prefix(text, size) == size) return (char *)(uintptr_t)text;
    char *copy = arena_take(memory, size + 1, 3);
    if (copy) hb_utf8_replace(copy, text, size);
    return copy;
}

static char *constant(const char *text)
{
    return (char *)(uintptr_t)text;
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){text ? strlen(text) : 0, (uint8_t *)(uintptr_t)text};
}

/* ---- packing ---- */

static void append_message(hb_buf *out, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    char *to = hb_buf_reserve(out, size);
    if (!to) return;
    protobuf_c_message_pack(message, (uint8_t *)to);
    out->size += size;
}

static void append_record(hb_buf *out, const Hb__Event *event)
{
    size_t start = hb_record_begin(out);
    append_message(out, &event->base);
    hb_record_end(out, start);
}

/* The record of one value; frees what the value was made of. */
static void append_value(hb_buf *out, hb_event_stamp at, Hb__Summary__Value *value, arena *memory)
{
    Hb__Summary summary = HB__SUMMARY__INIT;
    summary.n_value = 1;
    summary.value = &value;
    Hb__Event event = HB__EVENT__INIT;
    event.wall_time = at.wall_time;
    event.step = at.step;
    event.what_case = HB__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    if (memory->failed)
        out->failed = true;
    else
        append_record(out, &event);
    arena_free(memory);
}

/* A packed message as the content of another one. */
static ProtobufCBinaryData pack(arena *memory, const ProtobufCMessage *message)
{
    if (memory->failed) return (ProtobufCBinaryData){0}; /* parts are missing */
    ProtobufCBinaryData packed = {protobuf_c_message_get_packed_size(message), NULL};
    packed.data = arena_take(memory, packed.len, 1);
    if (packed.data) protobuf_c_message_pack(message, packed.data);
    return packed;
}

/* ---- the first record, scalars ---- */

void hb_event_version(hb_buf *out, double wall_time)
{
    Hb__SourceMetadata source = HB__SOURCE_METADATA__INIT;
    source.writer = constant("hipboard");
    Hb__Event event = HB__EVENT__INIT;
    event.wall_time = wall_time;
    event.what_case = HB__EVENT__WHAT_FILE_VERSION;
    event.file_version = constant("brain.Event:2");
    event.source_metadata = &source;
    append_record(out, &event);
}

/* 32 bits, for of 64-bit scalars TensorBoard's default loader shows nothing. */
void hb_event_scalar(hb_buf *out, hb_event_stamp at, const char *tag, double number)
{
    arena memory = {0};
    Hb__Summary__Value value = HB__SUMMARY__VALUE__INIT;
    value.tag = clean(&memory, tag);
    value.value_case = HB__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    value.simple_value = (float)number;
    append_value(out, at, &value, &memory);
}

/* ---- texts, histograms ---- */

static Hb__SummaryMetadata__PluginData plugin_data(const char *plugin)
{
    Hb__SummaryMetadata__PluginData data = HB__SUMMARY_METADATA__PLUGIN_DATA__INIT;
    data.plugin_name = constant(plugin);
    return data;
}

static Hb__SummaryMetadata metadata_of(Hb__SummaryMetadata__PluginData *data)
{
    Hb__SummaryMetadata metadata = HB__SUMMARY_METADATA__INIT;
    metadata.plugin_data = data;
    return metadata;
}

/* A value whose tensor is one string; `dims`: 1 for a list of it, 0 for the string alone. */
static void append_string(hb_buf *out, hb_event_stamp at, const char *plugin, char *tag,
                          ProtobufCBinaryData string, size_t dims, arena *memory)
{
    Hb__SummaryMetadata__PluginData data = plugin_data(plugin);
    Hb__SummaryMetadata metadata = metadata_of(&data);
    Hb__TensorShapeProto__Dim one = HB__TENSOR_SHAPE_PROTO__DIM__INIT;
    one.size = 1;
    Hb__TensorShapeProto__Dim *dim[] = {&one};
    Hb__TensorShapeProto shape = HB__TENSOR_SHAPE_PROTO__INIT;
    shape.n_dim = dims;
    shape.dim = dim;
    Hb__TensorProto tensor = HB__TENSOR_PROTO__INIT;
    tensor.dtype = HB__DATA_TYPE__DT_STRING;
    tensor.tensor_shape = &shape;
    tensor.n_string_val = 1;
    tensor.string_val = &string;
    Hb__Summary__Value value = HB__SUMMARY__VALUE__INIT;
    value.tag = tag;
    value.metadata = &metadata;
    value.value_case = HB__SUMMARY__VALUE__VALUE_TENSOR;
    value.tensor = &tensor;
    append_value(out, at, &value, memory);
}

void hb_event_text(hb_buf *out, hb_event_stamp at, const char *tag, const char *markdown)
{
    static const char suffix[] = "/text_summary";
    arena memory = {0};
    const char *name = clean(&memory, tag);
    size_t size = name ? strlen(name) : 0;
    char *full = arena_take(&memory, size + sizeof suffix, 1);
    if (full && name) {
        memcpy(full, name, size);
        memcpy(full + size, suffix, sizeof suffix);
    }
    append_string(out, at, "text", full, bytes_of(clean(&memory, markdown)), 1, &memory);
}

/* The buckets in use, and one empty one before them, whose limit is where they begin. */
static Hb__HistogramProto used_buckets(const hb_bucket_counts *histogram, double *counts)
{
    int first = 0, last = HB_HISTOGRAM_BUCKETS - 1;
    while (first < last && histogram->buckets[first] == 0)
        first++;
    while (last > first && histogram->buckets[last] == 0)
        last--;
    int n = 0;
    counts[n++] = 0;
    for (int i = first; i <= last; i++)
        counts[n++] = histogram->buckets[i];

    Hb__HistogramProto proto = HB__HISTOGRAM_PROTO__INIT;
    proto.n_bucket = proto.n_bucket_limit = (size_t)n;
    proto.bucket = counts;
    proto.bucket_limit = (double *)(uintptr_t)(hb_histogram_limits() + first);
    return proto;
}

void hb_event_histogram(hb_buf *out, hb_event_stamp at, const char *tag,
                        const hb_bucket_counts *histogram)
{
    double counts[HB_HISTOGRAM_BUCKETS + 1];
    Hb__HistogramProto proto = used_buckets(histogram, counts);
    proto.min = histogram->min;
    proto.max = histogram->max;
    proto.num = (double)histogram->count;
    proto.sum = histogram->sum;
    proto.sum_squares = histogram->sum_squares;
    arena memory = {0};
    Hb__Summary__Value value = HB__SUMMARY__VALUE__INIT;
    value.tag = clean(&memory, tag);
    value.value_case = HB__SUMMARY__VALUE__VALUE_HISTO;
    value.histo = &proto;
    append_value(out, at, &value, &memory);
}

/* ---- hyperparameters ---- */

static void append_hparams(hb_buf *out, hb_event_stamp at, const char *tag,
                           const Hb__HParamsPluginData *content, arena *memory)
{
    Hb__SummaryMetadata__PluginData data = plugin_data("hparams");
    data.content = pack(memory, &content->base);
    Hb__SummaryMetadata metadata = metadata_of(&data);
    Hb__Summary__Value value = HB__SUMMARY__VALUE__INIT;
    value.tag = constant(tag);
    value.metadata = &metadata;
    append_value(out, at, &value, memory);
}

static Hb__HParamType type_of(const hb_hparam *hparam)
{
    switch (hparam->type) {
    case HB_HPARAM_TYPE_TEXT: return HB__HPARAM_TYPE__DATA_TYPE_STRING;
    case HB_HPARAM_TYPE_BOOL: return HB__HPARAM_TYPE__DATA_TYPE_BOOL;
    case HB_HPARAM_TYPE_NUMBER: break;
    }
    return HB__HPARAM_TYPE__DATA_TYPE_FLOAT64;
}

static Hb__HParamInfo **hparam_infos(arena *memory, const hb_columns *columns)
{
    size_t n = columns->num_hparams;
    Hb__HParamInfo *infos = arena_take(memory, n, sizeof *infos);
    Hb__HParamInfo **list = arena_take(memory, n, sizeof *list);
    for (size_t i = 0; i < n && infos && list; i++) {
        hb__hparam_info__init(&infos[i]);
        infos[i].name = clean(memory, columns->hparams[i].name);
        infos[i].type = type_of(&columns->hparams[i]);
        infos[i].differs = i < columns->num_varying;
        list[i] = &infos[i];
    }
    return list;
}

static Hb__MetricInfo **metric_infos(arena *memory, const hb_columns *columns)
{
    size_t n = columns->num_metrics;
    struct metric {
        Hb__MetricInfo info;
        Hb__MetricName name;
    } *parts = arena_take(memory, n, sizeof *parts);
    Hb__MetricInfo **list = arena_take(memory, n, sizeof *list);
    for (size_t i = 0; i < n && parts && list; i++) {
        hb__metric_info__init(&parts[i].info);
        hb__metric_name__init(&parts[i].name);
        parts[i].name.tag = clean(memory, columns->metrics[i]);
        if (columns->titles && columns->titles[i])
            parts[i].info.display_name = clean(memory, columns->titles[i]);
        parts[i].info.name = &parts[i].name;
        list[i] = &parts[i].info;
    }
    return list;
}

void hb_event_experiment(hb_buf *out, hb_event_stamp at, const hb_columns *columns)
{
    arena memory = {0};
    Hb__Experiment experiment = HB__EXPERIMENT__INIT;
    experiment.n_hparam_infos = columns->num_hparams;
    experiment.hparam_infos = hparam_infos(&memory, columns);
    experiment.n_metric_infos = columns->num_metrics;
    experiment.metric_infos = metric_infos(&memory, columns);
    Hb__HParamsPluginData content = HB__HPARAMS_PLUGIN_DATA__INIT;
    content.data_case = HB__HPARAMS_PLUGIN_DATA__DATA_EXPERIMENT;
    content.experiment = &experiment;
    append_hparams(out, at, "_hparams_/experiment", &content, &memory);
}

typedef struct entry {
    Hb__SessionStartInfo__HparamsEntry entry;
    Hb__HParamValue value;
} entry;

static void fill_entry(entry *to, const hb_hparam *hparam, arena *memory)
{
    hb__session_start_info__hparams_entry__init(&to->entry);
    hb__hparam_value__init(&to->value);
    to->entry.key = clean(memory, hparam->name);
    to->entry.value = &to->value;
    switch (hparam->type) {
    case HB_HPARAM_TYPE_NUMBER:
        to->value.kind_case = HB__HPARAM_VALUE__KIND_NUMBER_VALUE;
        to->value.number_value = hparam->number;
        break;
    case HB_HPARAM_TYPE_TEXT:
        to->value.kind_case = HB__HPARAM_VALUE__KIND_STRING_VALUE;
        to->value.string_value = clean(memory, hparam->text);
        break;
    case HB_HPARAM_TYPE_BOOL:
        to->value.kind_case = HB__HPARAM_VALUE__KIND_BOOL_VALUE;
        to->value.bool_value = hparam->boolean;
        break;
    }
}

void hb_event_session_start(hb_buf *out, hb_event_stamp at, const hb_hparam *hparams,
                            size_t num_hparams)
{
    arena memory = {0};
    entry *entries = arena_take(&memory, num_hparams, sizeof *entries);
    Hb__SessionStartInfo__HparamsEntry **list = arena_take(&memory, num_hparams, sizeof *list);
    for (size_t i = 0; i < num_hparams && entries && list; i++) {
        fill_entry(&entries[i], &hparams[i], &memory);
        list[i] = &entries[i].entry;
    }
    Hb__SessionStartInfo start = HB__SESSION_START_INFO__INIT;
    start.n_hparams = num_hparams;
    start.hparams = list;
    start.start_time_secs = at.wall_time;
    Hb__HParamsPluginData content = HB__HPARAMS_PLUGIN_DATA__INIT;
    content.data_case = HB__HPARAMS_PLUGIN_DATA__DATA_SESSION_START_INFO;
    content.session_start_info = &start;
    append_hparams(out, at, "_hparams_/session_start_info", &content, &memory);
}

void hb_event_session_end(hb_buf *out, hb_event_stamp at, hb_session_status status)
{
    arena memory = {0};
    Hb__SessionEndInfo end = HB__SESSION_END_INFO__INIT;
    end.status = status == HB_SESSION_SUCCESS ? HB__SESSION_STATUS__STATUS_SUCCESS
                                              : HB__SESSION_STATUS__STATUS_FAILURE;
    end.end_time_secs = at.wall_time;
    Hb__HParamsPluginData content = HB__HPARAMS_PLUGIN_DATA__INIT;
    content.data_case = HB__HPARAMS_PLUGIN_DATA__DATA_SESSION_END_INFO;
    content.session_end_info = &end;
    append_hparams(out, at, "_hparams_/session_end_info", &content, &memory);
}

/* ---- custom scalars ---- */

static char **clean_list(arena *memory, const char *const *texts, size_t n)
{
    char **list = arena_take(memory, n, sizeof *list);
    for (size_t i = 0; i < n && list; i++)
        list[i] = clean(memory, texts[i]);
    return list;
}

static void fill_multiline(Hb__Chart *to, const hb_chart *chart, arena *memory)
{
    Hb__MultilineChartContent *lines = arena_take(memory, 1, sizeof *lines);
    if (!lines) return;
    hb__multiline_chart_content__init(lines);
    lines->n_tag = chart->num_tags;
    lines->tag = clean_list(memory, chart->tags, chart->num_tags);
    to->content_case = HB__CHART__CONTENT_MULTILINE;
    to->multiline = lines;
}

static void fill_margin(Hb__Chart *to, const hb_chart *chart, arena *memory)
{
    size_t n = chart->num_tags / 3;
    Hb__MarginChartContent *bands = arena_take(memory, 1, sizeof *bands);
    Hb__MarginChartContent__Series *series = arena_take(memory, n, sizeof *series);
    Hb__MarginChartContent__Series **list = arena_take(memory, n, sizeof *list);
    char **tags = clean_list(memory, chart->tags, 3 * n);
    if (memory->failed) return;
    for (size_t i = 0; i < n; i++, tags += 3) {
        hb__margin_chart_content__series__init(&series[i]);
        series[i].value = tags[0];
        series[i].lower = tags[1];
        series[i].upper = tags[2];
        list[i] = &series[i];
    }
    hb__margin_chart_content__init(bands);
    bands->n_series = n;
    bands->series = list;
    to->content_case = HB__CHART__CONTENT_MARGIN;
    to->margin = bands;
}

static void fill_category(Hb__Category *to, const hb_chart_category *category, arena *memory)
{
    hb__category__init(to);
    size_t n = category->num_charts;
    Hb__Chart *charts = arena_take(memory, n, sizeof *charts);
    to->title = clean(memory, category->title);
    to->closed = category->closed;
    to->n_chart = n;
    to->chart = arena_take(memory, n, sizeof *to->chart);
    for (size_t i = 0; i < n && charts && to->chart; i++) {
        const hb_chart *chart = &category->charts[i];
        hb__chart__init(&charts[i]);
        charts[i].title = clean(memory, chart->title);
        (chart->margin ? fill_margin : fill_multiline)(&charts[i], chart, memory);
        to->chart[i] = &charts[i];
    }
}

void hb_event_layout(hb_buf *out, hb_event_stamp at, const hb_chart_category *categories,
                     size_t num_categories)
{
    arena memory = {0};
    Hb__Category *parts = arena_take(&memory, num_categories, sizeof *parts);
    Hb__Category **list = arena_take(&memory, num_categories, sizeof *list);
    for (size_t i = 0; i < num_categories && parts && list; i++) {
        fill_category(&parts[i], &categories[i], &memory);
        list[i] = &parts[i];
    }
    Hb__Layout layout = HB__LAYOUT__INIT;
    layout.n_category = num_categories;
    layout.category = list;
    append_string(out, at, "custom_scalars", constant("custom_scalars__config__"),
                  pack(&memory, &layout.base), 0, &memory);
}
