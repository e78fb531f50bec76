/* SPDX-License-Identifier: MIT
 *
 * Whatever is logged, in whatever order - any tag, text, step, number, settings, layout, more than
 * the queue takes - the event file is whole records with right checksums, each a message that reads
 * back, its texts UTF-8; what was accepted stands in it, once and in order, with its step and
 * value. What is refused has words, and what is dropped is counted.
 */
#include <event.pb-c.h>
#include <fcntl.h>
#include <hparams.pb-c.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hipboard/event_log.h>

#include "base/base.h"
#include "base/crc32c.h"
#include "base/utf8.h"
#include "fuzz_dir.h"

enum { MAX_RECORDS = 256, MAX_VALUES = 16, MAX_PARTS = 6 };

/* ---- values out of the input ---- */

static const uint8_t *at, *end;

static uint64_t take(unsigned size)
{
    uint64_t value = 0;
    for (; size && at < end; size--)
        value = value << 8 | *at++;
    return value;
}

static double take_double(void)
{
    uint64_t bits = take(8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Some steps are ones that programs have. */
static int64_t take_step(void)
{
    uint8_t kind = (uint8_t)take(1);
    if (kind == 255) return HB_CURRENT_STEP;
    return kind < 128 ? kind : (int64_t)take(8);
}

/* Texts live until the file is read: in a store of their own. Now and then one is very long. */
static char *texts[MAX_RECORDS * (2 + 2 * MAX_PARTS)];
static size_t num_texts;

static const char *take_text(void)
{
    if (num_texts == sizeof texts / sizeof *texts) return "full";
    size_t length = take(1), repeat = 1;
    if (length == 255) return NULL;
    if (length == 254) repeat = 1 + take(1) * 40;
    length = HB_MIN(length % 64, (size_t)(end - at));
    char *text = malloc(length * repeat + 1);
    CHECK(text);
    for (size_t i = 0; i < repeat; i++)
        memcpy(text + i * length, at, length);
    text[length * repeat] = 0;
    at += length;
    return texts[num_texts++] = text;
}

/* ---- what is expected ---- */

typedef struct expected {
    Hb__Summary__Value__ValueCase kind; /* NOT_SET: settings, which have metadata alone */
    const char *tag, *suffix, *text;
    int64_t step;
    double number; /* a scalar's value, a histogram's count */
} expected;

static expected records[MAX_RECORDS + 8];
static size_t num_records;
static uint64_t num_refused; /* dropped, as the calls told */
static int64_t current_step;

/* Whether the call was accepted; `count`: the records it stands for. */
static int accepted(hb_result result, unsigned count)
{
    CHECK(result == HB_OK || hb_last_error()[0]);
    if (result == HB_ERROR_LIMIT) num_refused += count;
    return result == HB_OK;
}

static void expect(expected e)
{
    if (e.step == HB_CURRENT_STEP) e.step = current_step;
    records[num_records++] = e;
}

/* ---- the calls ---- */

static void log_scalar(hb_event_log *log)
{
    const char *tag = take_text();
    int64_t step = take_step(), unix_ns = (int64_t)take(8);
    double value = take_double();
    hb_result result = unix_ns ? hb_event_log_scalar_at(log, tag, step, value, unix_ns)
                               : hb_event_log_scalar(log, tag, step, value);
    CHECK((result != HB_ERROR_INVALID_ARGUMENT) ==
          (tag && *tag && strlen(tag) <= HB_EVENT_TAG_MAX));
    if (accepted(result, 1))
        expect((expected){HB__SUMMARY__VALUE__VALUE_SIMPLE_VALUE, tag, "", NULL, step, value});
}

static void log_text(hb_event_log *log)
{
    const char *tag = take_text(), *text = take_text();
    int64_t step = take_step();
    if (accepted(hb_event_log_text(log, tag, step, text), 1))
        expect((expected){HB__SUMMARY__VALUE__VALUE_TENSOR, tag, "/text_summary", text, step, 0});
}

static void log_histogram(hb_event_log *log)
{
    const char *tag = take_text();
    int64_t step = take_step();
    double values[MAX_VALUES], finite = 0;
    size_t count = take(1) % (MAX_VALUES + 1);
    for (size_t i = 0; i < count; i++) {
        values[i] = take_double();
        finite += isfinite(values[i]);
    }
    if (accepted(hb_event_log_histogram(log, tag, step, values, count), 1))
        expect((expected){HB__SUMMARY__VALUE__VALUE_HISTO, tag, "", NULL, step, finite});
}

static void expect_settings(const char *tag)
{
    expect((expected){HB__SUMMARY__VALUE__VALUE__NOT_SET, tag, "", NULL, 0, 0});
}

static int session; /* 1: open */

static void log_hparams(hb_event_log *log)
{
    hb_hparam hparams[MAX_PARTS];
    const char *metrics[MAX_PARTS];
    size_t num_hparams = take(1) % (MAX_PARTS + 1), num_metrics = take(1) % (MAX_PARTS + 1);
    for (size_t i = 0; i < num_hparams; i++)
        hparams[i] = (hb_hparam){.name = take_text(),
                                 .type = (hb_hparam_type)(take(1) % 3),
                                 .number = take_double(),
                                 .text = take_text(),
                                 .boolean = take(1) & 1};
    for (size_t i = 0; i < num_metrics; i++)
        metrics[i] = take_text();
    if (!accepted(hb_event_log_hparams(log, hparams, num_hparams, metrics, num_metrics), 2)) return;
    session = 1;
    expect_settings("_hparams_/experiment");
    expect_settings("_hparams_/session_start_info");
}

static void log_session_end(hb_event_log *log)
{
    hb_session_status status = take(1) & 1 ? HB_SESSION_SUCCESS : HB_SESSION_FAILURE;
    hb_result result = hb_event_log_session_end(log, status);
    CHECK(session || result == HB_ERROR_STATE);
    if (!accepted(result, 1)) return;
    session = 0;
    expect_settings("_hparams_/session_end_info");
}

static void log_layout(hb_event_log *log)
{
    hb_chart charts[MAX_PARTS];
    const char *tags[MAX_PARTS];
    size_t num_tags = take(1) % (MAX_PARTS + 1);
    for (size_t i = 0; i < num_tags; i++)
        tags[i] = take_text();
    size_t num_charts = take(1) % (MAX_PARTS + 1);
    for (size_t i = 0; i < num_charts; i++)
        charts[i] = (hb_chart){take_text(), tags, num_tags, take(1) & 1};
    hb_chart_category categories[2] = {{take_text(), charts, num_charts, false},
                                       {take_text(), NULL, 0, true}};
    if (accepted(hb_event_log_layout(log, categories, take(1) % 3), 1))
        expect((expected){HB__SUMMARY__VALUE__VALUE_TENSOR, "custom_scalars__config__", "", NULL, 0,
                          0});
}

static void log_something(hb_event_log *log)
{
    switch (take(1) % 8) {
    case 0:
    case 1: log_scalar(log); break;
    case 2: log_text(log); break;
    case 3: log_histogram(log); break;
    case 4: log_hparams(log); break;
    case 5: log_session_end(log); break;
    case 6: log_layout(log); break;
    case 7:
        current_step = take_step();
        if (current_step == HB_CURRENT_STEP) current_step = 3;
        hb_event_log_set_step(log, current_step);
        break;
    }
}

/* ---- reading the file ---- */

static uint64_t little_endian(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}

static void check_utf8(const char *text, size_t size)
{
    CHECK(hb_utf8_valid_prefix(text, size) == size);
}

/* `text` as it was given, with `suffix`; only what was not UTF-8 may be replaced. */
static void check_text(const char *text, size_t size, const char *given, const char *suffix)
{
    check_utf8(text, size);
    size_t length = strlen(given), rest = strlen(suffix);
    CHECK(size >= rest && memcmp(text + size - rest, suffix, rest) == 0);
    if (hb_utf8_valid_prefix(given, length) == length)
        CHECK(size == length + rest && memcmp(text, given, length) == 0);
    else
        CHECK(memmem(text, size, "\xef\xbf\xbd", 3));
}

static void check_histogram(const Hb__HistogramProto *histogram, const expected *e)
{
    double sum = 0;
    CHECK(histogram && histogram->num == e->number && histogram->min <= histogram->max);
    CHECK(histogram->n_bucket == histogram->n_bucket_limit && histogram->n_bucket > 0);
    for (size_t i = 0; i < histogram->n_bucket; i++) {
        sum += histogram->bucket[i];
        CHECK(i == 0 || histogram->bucket_limit[i] > histogram->bucket_limit[i - 1]);
    }
    CHECK(sum == e->number);
}

static void check_settings(const Hb__SummaryMetadata *metadata)
{
    CHECK(metadata && strcmp(metadata->plugin_data->plugin_name, "hparams") == 0);
    ProtobufCBinaryData packed = metadata->plugin_data->content;
    Hb__HParamsPluginData *data = hb__hparams_plugin_data__unpack(NULL, packed.len, packed.data);
    CHECK(data && data->data_case != HB__HPARAMS_PLUGIN_DATA__DATA__NOT_SET);
    if (data->data_case == HB__HPARAMS_PLUGIN_DATA__DATA_SESSION_START_INFO)
        for (size_t i = 0; i < data->session_start_info->n_hparams; i++) {
            const char *key = data->session_start_info->hparams[i]->key;
            check_utf8(key, strlen(key));
        }
    hb__hparams_plugin_data__free_unpacked(data, NULL);
}

static void check_value(const Hb__Summary__Value *value, const expected *e)
{
    CHECK(value->value_case == e->kind);
    check_text(value->tag, strlen(value->tag), e->tag, e->suffix);
    switch (e->kind) {
    case HB__SUMMARY__VALUE__VALUE_SIMPLE_VALUE: {
        float number = (float)e->number;
        CHECK(isnan(number) ? isnan(value->simple_value) : value->simple_value == number);
        break;
    }
    case HB__SUMMARY__VALUE__VALUE_HISTO: check_histogram(value->histo, e); break;
    case HB__SUMMARY__VALUE__VALUE_TENSOR: {
        CHECK(value->tensor && value->tensor->n_string_val == 1);
        ProtobufCBinaryData text = value->tensor->string_val[0];
        if (e->text) check_text(text.len ? (char *)text.data : "", text.len, e->text, "");
        break;
    }
    default: check_settings(value->metadata); break;
    }
}

/* Between the others may stand that some are missing. */
static int is_note(const Hb__Event *event)
{
    return event->what_case == HB__EVENT__WHAT_SUMMARY && num_refused > 0 &&
           strcmp(event->summary->value[0]->tag, "hipboard/dropped_records/text_summary") == 0;
}

static void check_event(const Hb__Event *event, size_t i)
{
    CHECK(event->what_case == HB__EVENT__WHAT_SUMMARY && event->summary->n_value == 1);
    CHECK(i < num_records);
    check_value(event->summary->value[0], &records[i]);
    CHECK(event->step == records[i].step);
}

static void check_file(const uint8_t *data, size_t size)
{
    size_t record = 0, found = 0;
    for (size_t pos = 0, length; pos < size; pos += length + 16, record++) {
        CHECK(size - pos >= 16);
        length = little_endian(data + pos, 8);
        CHECK(length <= size - pos - 16);
        CHECK(little_endian(data + pos + 8, 4) == hb_crc32c_masked(data + pos, 8));
        CHECK(little_endian(data + pos + 12 + length, 4) ==
              hb_crc32c_masked(data + pos + 12, length));
        Hb__Event *event = hb__event__unpack(NULL, length, data + pos + 12);
        CHECK(event);
        if (record == 0)
            CHECK(event->what_case == HB__EVENT__WHAT_FILE_VERSION &&
                  strcmp(event->file_version, "brain.Event:2") == 0);
        else if (!is_note(event))
            check_event(event, found++);
        hb__event__free_unpacked(event, NULL);
    }
    CHECK(record > 0 && found == num_records);
}

static void read_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    uint8_t *data = malloc((size_t)st.st_size + 1);
    CHECK(data && read(fd, data, (size_t)st.st_size) == st.st_size);
    close(fd);
    check_file(data, (size_t)st.st_size);
    free(data);
}

/* ---- one input ---- */

static void close_and_check(hb_event_log *log)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", hb_event_log_path(log));
    hb_event_log_counts counts = {.struct_size = sizeof counts};
    CHECK(hb_event_log_flush(log) == HB_OK && hb_event_log_count(log, &counts) == HB_OK);
    CHECK(counts.written == num_records && counts.dropped_queue == num_refused);
    if (session) expect_settings("_hparams_/session_end_info");
    CHECK(hb_event_log_close(log) == (num_refused ? HB_ERROR_LIMIT : HB_OK));
    read_file(path);
    CHECK(unlink(path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    at = data;
    end = data + size;
    num_records = num_refused = 0;
    current_step = 0;
    session = 0;
    hb_event_log_options options = HB_EVENT_LOG_OPTIONS_INIT;
    static const uint64_t queues[16] = {
        0, [7] = 1, [15] = 4096}; /* few, since each says it is full */
    options.max_queue_bytes = queues[take(1) % 16];
    hb_event_log *log = hb_event_log_open(fuzz_dir(), &options);
    CHECK(log);
    while (at < end && num_records < MAX_RECORDS)
        log_something(log);
    close_and_check(log);
    for (size_t i = 0; i < num_texts; i++)
        free(texts[i]);
    num_texts = 0;
    return 0;
}
