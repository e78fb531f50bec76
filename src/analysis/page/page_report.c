/* SPDX-License-Identifier: MIT
 *
 * A report: the page, what it may ask for as blocks of base64 behind gzip, each of which is
 * unpacked when its view is opened; and the main numbers in plain HTML, for who has no JavaScript.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/c_locale.h"
#include "io/gzip.h"
#include "io/publish.h"
#include "page/page_files.h"
#include "page/page_html.h"
#include "page/page_views.h"

enum {
    DEFAULT_SIZE = 10 << 20,
    MOST_SLICES = 1000000, /* that are drawn at once without a server */
    MOST_DETAILS = 4,      /* windows in full beside an outline of the whole */
};

/* What a record takes in the file, gzip and base64 counted; measured on traces of several writers.
 */
#define BYTES_A_SLICE 9.0

typedef struct report {
    hb_page *page;
    const hb_report_options *options;
    hb_sink *to;
    hb_buf blocks, plain;
    size_t traces; /* that could be read */
} report;

/* ---- blocks ---- */

static void put_base64(hb_buf *buf, const unsigned char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *to = hb_buf_reserve(buf, (size + 2) / 3 * 4);
    if (!to) return;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned bits = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0u);
        *to++ = digits[bits >> 18];
        *to++ = digits[bits >> 12 & 63];
        *to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[bits & 63] : '=';
    }
    buf->size += (size + 2) / 3 * 4;
}

static hb_result compress_into(hb_buf *buf, const void *data, size_t size)
{
    hb_memory_sink packed;
    hb_gzip gzip;
    hb_memory_sink_init(&packed, SIZE_MAX / 2);
    hb_result result = hb_gzip_open(&gzip, &packed.sink, NULL, 0, HB_GZIP_ZLIB);
    if (result == HB_OK) {
        result = gzip.sink.write(&gzip.sink, data, size);
        if (result == HB_OK) result = hb_gzip_finish(&gzip);
        hb_gzip_free(&gzip);
    }
    if (result == HB_OK) put_base64(buf, (const unsigned char *)packed.buf.data, packed.buf.size);
    hb_memory_sink_free(&packed);
    return result;
}

/* `name`: without what HTML would mind. */
static hb_result add_block(report *r, const char *name, const void *data, size_t size)
{
    hb_buf_printf(&r->blocks, "<script type=\"application/octet-stream\" data-block=\"%s\">", name);
    HB_TRY(compress_into(&r->blocks, data, size));
    hb_buf_str(&r->blocks, "</script>\n");
    return r->blocks.failed ? hb_no_memory() : HB_OK;
}

/* A block is named by its route and its trace's place. */
static void name_block(const char *route, const hb_page_trace *trace, char name[64])
{
    if (trace)
        snprintf(name, 64, "%s#%zu", route, trace->place);
    else
        snprintf(name, 64, "%s", route);
}

static hb_result add_answer(report *r, const char *route, const hb_page_trace *trace)
{
    hb_buf address;
    hb_page_answer answer;
    char name[64];
    hb_buf_init(&address, SIZE_MAX / 2);
    hb_buf_str(&address, route);
    if (trace) hb_buf_str(&address, "?trace=");
    for (const char *c = trace ? trace->id : ""; *c; c++)
        hb_buf_printf(&address, "%%%02X", (unsigned char)*c);
    hb_result result = hb_page_ask(r->page, hb_buf_text(&address), &answer);
    hb_buf_free(&address);
    if (result != HB_OK) return result;
    name_block(route, trace, name);
    result = add_block(r, name, answer.body, answer.size);
    hb_free(answer.body);
    return result;
}

/* A view that cannot be made says why in its place. */
static hb_result add_view(report *r, const char *route, const hb_page_trace *trace)
{
    hb_result result = add_answer(r, route, trace);
    if (result == HB_OK || result == HB_ERROR_NO_MEMORY || result == HB_ERROR_STATE) return result;
    char name[64];
    hb_buf json;
    hb_buf_init(&json, SIZE_MAX / 2);
    hb_emitter out = {&json, false};
    hb_emit_open(&out, '{');
    hb_emit_pair(&out, "error", hb_last_error());
    hb_emit_close(&out, '}');
    name_block(route, trace, name);
    result = add_block(r, name, hb_buf_text(&json), json.size);
    hb_buf_free(&json);
    return result;
}

/* ---- the timeline, as much of it as the size allows ---- */

typedef struct outline {
    report *r;
    hb_page_trace *trace;
    hb_timeline *timeline;
    double room; /* records */
    unsigned windows;
} outline;

static hb_result add_window(outline *o, int64_t from, int64_t to, int64_t cell)
{
    char name[64];
    hb_buf buf;
    hb_slice_window window = {HB_MAX(from, 0), to, cell};
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_page_put_slices(o->timeline, &window, &buf);
    snprintf(name, sizeof name, "hb/timeline/slices#%zu.%u", o->trace->place, o->windows++);
    hb_result result = buf.failed ? hb_no_memory() : add_block(o->r, name, buf.data, buf.size);
    hb_buf_free(&buf);
    return result;
}

/* In full where there is room; with a tenth of its length on both sides. */
static hb_result add_detail(outline *o, double from_us, double us)
{
    int64_t from = (int64_t)(1e3 * (from_us - us / 10)), to = (int64_t)(1e3 * (from_us + 1.1 * us));
    hb_slice_window window = {HB_MAX(from, 0), to, 0};
    double count = (double)hb_page_count_slices(o->timeline, &window);
    if (count > o->room || o->windows > MOST_DETAILS) return HB_OK;
    o->room -= count;
    return add_window(o, from, to, 0);
}

static int by_duration(const void *x, const void *y)
{
    const hb_step_stat *a = *(const hb_step_stat *const *)x, *b = *(const hb_step_stat *const *)y;
    return a->duration_us < b->duration_us ? -1 : a->duration_us > b->duration_us;
}

/* The slowest step, the median one and the first, and the longest gap. */
static hb_result add_details(outline *o)
{
    const hb_step_stat *steps;
    const hb_idle_gap *gaps;
    hb_insights *insights;
    size_t count, num_gaps;
    double zero = (double)o->timeline->start / 1e3;
    hb_result result = HB_OK;
    if (hb_trace_file_steps(o->trace->file, &steps, &count) == HB_OK && count) {
        const hb_step_stat **sorted = calloc(count, sizeof(*sorted));
        if (!sorted) return hb_no_memory();
        for (size_t i = 0; i < count; i++)
            sorted[i] = &steps[i];
        qsort(sorted, count, sizeof(*sorted), by_duration);
        const hb_step_stat *wanted[] = {sorted[count - 1], sorted[count / 2], &steps[0]};
        free(sorted);
        for (size_t i = 0; result == HB_OK && i < HB_ARRAY_LEN(wanted); i++)
            result = add_detail(o, wanted[i]->start_us - zero, wanted[i]->duration_us);
    }
    if (result == HB_OK && hb_page_insights(o->trace, &insights) == HB_OK &&
        hb_insights_gaps(insights, &gaps, &num_gaps) == HB_OK && num_gaps)
        result = add_detail(o, gaps[0].start_us, gaps[0].duration_us);
    return result;
}

static hb_result add_timeline(report *r, hb_page_trace *trace, double share)
{
    outline o = {.r = r, .trace = trace};
    HB_TRY(hb_page_timeline(trace, &o.timeline));
    HB_TRY(add_view(r, "hb/timeline", trace));
    HB_TRY(add_view(r, "hb/timeline/counters", trace));
    int64_t end = o.timeline->end - o.timeline->start + 1;
    hb_slice_window whole = {0, end, 0};
    o.room = HB_MIN(share / BYTES_A_SLICE, (double)MOST_SLICES);
    double count = (double)o.timeline->num_slices, outline_room = o.room / 2;
    if (count > o.room) whole.cell = HB_MAX(end / (1 << 20), 1);
    while (whole.cell &&
           (count = (double)hb_page_count_slices(o.timeline, &whole)) > outline_room &&
           whole.cell < end)
        whole.cell *= 2;
    HB_TRY(add_window(&o, 0, end, whole.cell));
    o.room -= count;
    return whole.cell ? add_details(&o) : HB_OK;
}

static hb_result add_launches(report *r, hb_page_trace *trace)
{
    char name[64];
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    snprintf(name, sizeof name, "hb/timeline/launches#%zu", trace->place);
    hb_result result = hb_page_put_launches(trace, &buf);
    if (result == HB_OK && buf.failed) result = hb_no_memory();
    if (result == HB_OK) result = add_block(r, name, buf.data, buf.size);
    hb_buf_free(&buf);
    return result;
}

/* ---- traces ---- */

static void leave_out(report *r, const hb_page_trace *trace)
{
    hb_html_left_out(&r->plain, trace, hb_last_error());
    if (r->options->left_out)
        r->options->left_out(r->options->context, trace->path, hb_last_error());
}

static hb_result add_answers(report *r, hb_page_trace *trace, double room)
{
    static const char *const routes[] = {"hb/overview", "hb/plugin",   "hb/steps", "hb/operators",
                                         "hb/kernels",  "hb/roofline", "hb/gpu",   "hb/memory",
                                         "hb/modules",  "hb/stacks"};
    hb_result result = HB_OK;
    size_t before = r->blocks.size;
    r->traces++;
    hb_html_trace(&r->plain, trace);
    for (size_t i = 0; result == HB_OK && i < HB_ARRAY_LEN(routes); i++)
        result = add_view(r, routes[i], trace);
    if (result == HB_OK) result = add_launches(r, trace);
    if (result == HB_OK) result = add_timeline(r, trace, room - (double)(r->blocks.size - before));
    return result;
}

static hb_result add_trace(report *r, hb_page_trace *trace, double room)
{
    hb_page_trace *used;
    hb_result result = hb_page_use(r->page, trace->id, &used);
    if (result == HB_ERROR_STATE || result == HB_ERROR_NO_MEMORY) return result;
    if (result != HB_OK) {
        leave_out(r, trace);
        return HB_OK;
    }
    result = add_answers(r, used, room);
    hb_page_unread(used);
    hb_page_leave(used);
    return result;
}

static bool same_group(const hb_page_trace *a, const hb_page_trace *b)
{
    return strcmp(a->run, b->run) == 0 && strcmp(a->span, b->span) == 0;
}

/* Workers of one run and cycle; the first one has the answer. */
static hb_result add_ranks(report *r)
{
    hb_page *page = r->page;
    hb_result result = HB_OK;
    for (size_t i = 0; result == HB_OK && i < page->num_traces; i++) {
        size_t others = 0, earlier = 0;
        for (size_t k = 0; k < page->num_traces; k++) {
            bool same = k != i && same_group(page->traces[i], page->traces[k]);
            others += same;
            earlier += same && k < i;
        }
        if (!others || earlier) continue;
        result = add_view(r, "hb/ranks", page->traces[i]);
        for (size_t k = 0; k < page->num_traces; k++)
            hb_page_unread(page->traces[k]);
    }
    return result;
}

/* Runs, or files that were named one by one. */
static bool is_comparable(const hb_page *page)
{
    if (page->one_run) return false;
    if (page->num_paths > 1) return true;
    for (size_t i = 1; i < page->num_traces; i++)
        if (strcmp(page->traces[0]->run, page->traces[i]->run) != 0) return true;
    return false;
}

static hb_result collect(report *r)
{
    double size = (double)(r->options->max_size ? r->options->max_size : DEFAULT_SIZE);
    size_t count = r->page->num_traces;
    for (size_t i = 0; i < count; i++) {
        double left = size - (double)(hb_page_frame_size() + r->plain.size + r->blocks.size);
        HB_TRY(add_trace(r, r->page->traces[i], HB_MAX(left, 0) / (double)(count - i)));
    }
    if (!r->traces) return hb_fail(HB_ERROR_NOT_FOUND, "%s", hb_last_error());
    HB_TRY(add_answer(r, "hb/about", NULL));
    HB_TRY(add_ranks(r));
    return is_comparable(r->page) ? add_view(r, "hb/compare", NULL) : HB_OK;
}

/* ---- the file ---- */

static hb_result write_text(report *r, const char *file)
{
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_result result = hb_page_file_text(file, &buf, NULL);
    if (result == HB_OK) result = r->to->write(r->to, buf.data, buf.size);
    hb_buf_free(&buf);
    return result;
}

static hb_result write_buf(report *r, const hb_buf *buf)
{
    if (buf->failed) return hb_no_memory();
    return r->to->write(r->to, buf->data, buf->size);
}

static hb_result write_all(report *r)
{
    hb_buf title;
    hb_buf_init(&title, SIZE_MAX / 2);
    hb_html_title(&title, r->page);
    hb_result result = write_text(r, "report.head");
    if (result == HB_OK) result = write_buf(r, &title);
    if (result == HB_OK) result = write_text(r, "report.style");
    if (result == HB_OK) result = write_buf(r, &r->plain);
    if (result == HB_OK) result = r->to->write(r->to, "</div>\n", 7);
    if (result == HB_OK) result = write_buf(r, &r->blocks);
    if (result == HB_OK) result = write_text(r, "report.script");
    hb_buf_free(&title);
    return result;
}

static hb_result begin(report *r, hb_page *page, const hb_report_options *options)
{
    *r = (report){.page = page, .options = options};
    hb_buf_init(&r->blocks, SIZE_MAX / 2);
    hb_buf_init(&r->plain, SIZE_MAX / 2);
    hb_html_begin(&r->plain);
    return collect(r);
}

static void end(report *r)
{
    hb_buf_free(&r->blocks);
    hb_buf_free(&r->plain);
}

static hb_result publish(report *r, const char *path)
{
    hb_publish file;
    hb_result result = hb_publish_open(&file, path, true);
    r->to = &file.sink;
    if (result == HB_OK) result = write_all(r);
    if (result == HB_OK) result = hb_publish_commit(&file);
    hb_publish_free(&file);
    return result;
}

hb_result hb_page_write_report(hb_page *page, const char *path, const hb_report_options *options)
{
    hb_report_options o = HB_REPORT_OPTIONS_INIT;
    report r;
    if (!page || !path) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_REPORT_OPTIONS_INIT"));
    locale_t before = hb_enter_c_locale();
    hb_result result = begin(&r, page, &o);
    if (result == HB_OK) result = publish(&r, path);
    hb_leave_c_locale(before);
    end(&r);
    return result;
}

/* ---- as an answer ---- */

static hb_result make_into(hb_page *page, hb_buf *buf)
{
    hb_report_options options = HB_REPORT_OPTIONS_INIT;
    hb_memory_sink memory;
    report r;
    hb_memory_sink_init(&memory, SIZE_MAX / 2);
    hb_result result = begin(&r, page, &options);
    r.to = &memory.sink;
    if (result == HB_OK) result = write_all(&r);
    if (result == HB_OK) hb_buf_append(buf, memory.buf.data, memory.buf.size);
    hb_memory_sink_free(&memory);
    end(&r);
    return result;
}

/* Of a page of its own: a report is made trace after trace, and what is there may change meanwhile.
 */
hb_result hb_page_put_report(hb_page *page, const char *run, hb_buf *buf)
{
    hb_page *still;
    hb_page_options options = HB_PAGE_OPTIONS_INIT;
    options.open = &page->open;
    options.max_memory = page->max_memory;
    HB_TRY(hb_page_open((const char *const *)page->paths, page->num_paths, &options, &still));
    if (run) hb_page_keep_run(still, run);
    hb_result result = still->num_traces
                           ? make_into(still, buf)
                           : hb_fail(HB_ERROR_NOT_FOUND, "there is no run '%s' (any more)", run);
    hb_page_close(still);
    return result;
}
