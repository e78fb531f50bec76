/* SPDX-License-Identifier: MIT
 *
 * Events that are laid out as earlier ones are not tokenised again, and those that differ in
 * numbers only not even looked through: what is read of them must be the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/number_text.h"
#include "raw_events.h"
#include "read/event_layouts.h"

/* ---- lists of events ---- */

static hb_buf list_of(const char *const *events, size_t count)
{
    hb_buf text;
    hb_buf_init(&text, (size_t)1 << 30);
    hb_buf_append(&text, "{\"traceEvents\": [\n", 18);
    for (size_t i = 0; i < count; i++)
        hb_buf_printf(&text, "%s%s", i ? ",\n" : "", events[i]);
    hb_buf_append(&text, "\n]}", 3);
    assert_false(text.failed);
    return text;
}

static raw_events compare(const hb_buf *text)
{
    hb_trace trace;
    hb_read_report report;
    raw_events found = {0};
    hb_read_options options = {.event = compare_raw_event, .context = &found};
    assert_int_equal(hb_read_trace_memory(text->data, text->size, &options, &trace, &report),
                     HB_OK);
    hb_trace_free(&trace);
    return found;
}

/* Each after each other, so that every one meets the layout of every other. */
static void all_pairs_are_read_as_tokenised(const char *const *events, size_t count)
{
    const char *listed[512];
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            assert_in_range(n, 0, HB_ARRAY_LEN(listed) - 3);
            listed[n++] = events[i];
            listed[n++] = events[i];
            listed[n++] = events[j];
        }
    hb_buf text = list_of(listed, n);
    raw_events found = compare(&text);
    assert_int_equal(found.count, n);
    if (found.wrong) fail_msg("event %u: %s", found.wrong - 1, listed[found.wrong - 1]);
    hb_buf_free(&text);
}

static void numbers_of_every_form(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1.5, \"dur\": 2, \"args\": {\"External id\": 1}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 12345678.125, \"dur\": 12345678, "
        "\"args\": {\"External id\": 12345678901234567890}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": -1.5, \"dur\": 0, \"args\": {\"External id\": "
        "-0}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1e3, \"dur\": 2E-1, \"args\": {\"External id\": "
        "1.0e1}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": NaN, \"dur\": null, \"args\": {\"External id\": "
        "\"7\"}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": \"1.5\", \"dur\": true, \"args\": {\"External "
        "id\": [1]}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": -Infinity, \"dur\": 1234567812345678, "
        "\"args\": {\"External id\": 0.5}}",
    };
    all_pairs_are_read_as_tokenised(events, HB_ARRAY_LEN(events));
}

static void texts_lists_and_members_of_every_form(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"args\":{\"Input "
        "Dims\":[[1,2]]}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"args\":{\"Input "
        "Dims\":[[1,20]]}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"args\":{\"Input Dims\":[[1,2]] "
        "}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a \\\"b\\u00e9\",\"ts\":1,\"args\":{}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"\303\251\",\"ts\":1,\"args\":null}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"args\":{\"grid\":[1],\"grid\":["
        "2]}}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"args\":{\"grid\":1},\"args\":{\"block\":\"x\"}}",
        "{\"ph\":\"X\",\"name\":\"a\",\"na\\u006de\":\"b\",\"ts\":1,\"args\":{\"gr\\u0069d\":[3]}}",
        "{}",
        "{\"ts\":5}",
        "{\"args\":{\"x\":{\"y\":[{}]}},\"ts\":5,\"name\":7}",
    };
    all_pairs_are_read_as_tokenised(events, HB_ARRAY_LEN(events));
}

/* What is odd is said of every event that has it, not of the first only. */
/* Arguments that are none, and behind them some that are. */
static void arguments_that_are_no_object(void **state)
{
    static const char *const args[] = {"null",
                                       "\"g\"",
                                       "[]",
                                       "7",
                                       "true",
                                       "{}",
                                       "[{\"External id\": 5}]",
                                       "{\"External id\": 3, \"Input Dims\": [[2]]}"};
    static char texts[HB_ARRAY_LEN(args)][200];
    const char *events[HB_ARRAY_LEN(args)];
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(args); i++) {
        snprintf(texts[i], sizeof texts[i],
                 "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, "
                 "\"ts\": 3, \"dur\": 4, "
                 "\"args\": %s}",
                 args[i]);
        events[i] = texts[i];
    }
    all_pairs_are_read_as_tokenised(events, HB_ARRAY_LEN(events));
}

static void defects_of_every_form(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"args\": {\"Call stack\": \"f\"}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"args\": {\"Call stack\": \"f\001\"}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"args\": {\"Call stack\": N/A}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"args\": {\"Call stack\": \"f \"g\" h\"}}",
        "{\"ph\": \"X\", \"name\": \"a \"b\" c\", \"ts\": 1, \"args\": {\"Call stack\": \"\\q\"}}",
        "{\"ph\": \"X\", \"name\": \"\377\", \"ts\": 1, \"args\": {\"Call stack\": "
        "\"\355\240\200\"}}",
    };
    all_pairs_are_read_as_tokenised(events, HB_ARRAY_LEN(events));
}

/* More layouts, holes and values than are kept. */
static void what_is_too_much_to_remember(void **state)
{
    enum { NAMES = 5000 };
    char *events[NAMES + 4];
    hb_buf many;
    (void)state;
    hb_buf_init(&many, 1 << 20);
    hb_buf_printf(&many, "{\"ts\": 1, \"args\": {\"m\": 0");
    for (int i = 0; i < 100; i++)
        hb_buf_printf(&many, ", \"m%d\": %d", i, i);
    hb_buf_append(&many, "}}", 2);
    hb_buf_append(&many, "", 1);
    for (int i = 0; i < NAMES; i++)
        assert_true(asprintf(&events[i],
                             "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"n%d\", \"ts\": %d, "
                             "\"args\": {\"Call stack\": \"%0*d\"}}",
                             i % 3 ? i : 7, i, i % 2 ? 20 : 5000, i) > 0);
    events[NAMES] = events[NAMES + 1] = many.data;
    assert_true(asprintf(&events[NAMES + 2], "{\"name\": \"%09000d\", \"ts\": 1}", 0) > 0);
    events[NAMES + 3] = events[NAMES + 2];
    hb_buf text = list_of((const char *const *)events, HB_ARRAY_LEN(events));
    raw_events found = compare(&text);
    assert_int_equal(found.count, HB_ARRAY_LEN(events));
    assert_int_equal(found.wrong, 0);
    for (int i = 0; i < NAMES; i++)
        free(events[i]);
    free(events[NAMES + 2]);
    hb_buf_free(&many);
    hb_buf_free(&text);
}

/* ---- into traces ---- */

static const char *text_of(const hb_trace *trace, hb_string_id id)
{
    return hb_trace_text(trace, id).s;
}

/* Ids of texts are of one trace; layouts serve several. */
static void texts_are_those_of_the_trace(void **state)
{
    enum { EVENTS = 3000 };
    char path[] = "/tmp/hipboard-test-XXXXXX";
    (void)state;
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fprintf(file, "{\"traceEvents\": [\n");
    for (int i = 0; i < EVENTS; i++)
        fprintf(
            file,
            "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op %d\", \"pid\": 1, \"tid\": %d, "
            "\"ts\": %d, \"dur\": 1, \"args\": {\"External id\": %d, \"Input Dims\": [[%d]], "
            "\"Input type\": [\"%s\"]}}%s\n",
            i * 7 % 11, i % 3, i, i + 1, i % 5, i % 4 ? "float" : "int", i < EVENTS - 1 ? "," : "");
    fprintf(file, "]}");
    assert_int_equal(fclose(file), 0);
    for (unsigned readers = 1; readers <= 3; readers++) {
        hb_trace trace;
        hb_read_report report;
        hb_read_options options = {.num_readers = readers, .chunk_size = 20000};
        assert_int_equal(hb_read_trace(path, &options, &trace, &report), HB_OK);
        assert_int_equal(trace.rows.count, EVENTS);
        for (uint32_t i = 0; i < EVENTS; i++) {
            char name[32], dims[32];
            const hb_row *row = hb_trace_row(&trace, i);
            const hb_op_row *op = hb_trace_op(&trace, row);
            snprintf(name, sizeof name, "op %u", i * 7 % 11);
            snprintf(dims, sizeof dims, "[[%u]]", i % 5);
            assert_string_equal(text_of(&trace, row->name), name);
            assert_string_equal(text_of(&trace, row->category), "cpu_op");
            assert_string_equal(text_of(&trace, op->dims), dims);
            assert_string_equal(text_of(&trace, op->types), i % 4 ? "[\"float\"]" : "[\"int\"]");
            assert_true(row->start == (int64_t)i * 1000);
        }
        hb_trace_free(&trace);
    }
    unlink(path);
}

/* ---- events that are others again ---- */

static void assert_same_text(const hb_trace *a, hb_string_id x, const hb_trace *b, hb_string_id y)
{
    assert_string_equal(text_of(a, x), text_of(b, y));
}

static void assert_same_key(const hb_trace *a, hb_key x, const hb_trace *b, hb_key y)
{
    assert_int_equal(hb_key_tag(x), hb_key_tag(y));
    if (hb_key_tag(x) == HB_KEY_TAG_TEXT || hb_key_tag(x) == HB_KEY_TAG_CONTAINER)
        assert_same_text(a, hb_key_string(x), b, hb_key_string(y));
    else
        assert_true(x == y);
}

static void assert_same_side(const hb_trace *a, const hb_row *r, const hb_trace *b, const hb_row *s)
{
    if (r->kind == HB_KIND_OPERATOR || r->kind == HB_KIND_ANNOTATION) {
        const hb_op_row *x = hb_trace_op(a, r), *y = hb_trace_op(b, s);
        assert_same_text(a, x->dims, b, y->dims);
        assert_same_text(a, x->types, b, y->types);
        assert_same_text(a, x->stack, b, y->stack);
        const hb_op_detail *d = hb_trace_detail(a, x), *e = hb_trace_detail(b, y);
        assert_true(!d == !e);
        assert_true(!d || (d->sequence == e->sequence && d->fwd_thread == e->fwd_thread));
    }
    if (hb_row_is_work(r) || hb_row_is_call(r)) {
        assert_same_key(a, hb_row_correlation_key(a, r), b, hb_row_correlation_key(b, s));
        const hb_launch *l = hb_trace_launch_of(a, r), *m = hb_trace_launch_of(b, s);
        assert_same_text(a, l->grid, b, m->grid);
        assert_same_key(a, l->device, b, m->device);
        assert_true(l->bytes == m->bytes && l->gpu == m->gpu);
    }
    if (hb_row_is_counter(r)) assert_same_text(a, r->extra, b, s->extra);
}

static void assert_same_row(const hb_trace *a, const hb_row *r, const hb_trace *b, const hb_row *s)
{
    double ts = hb_plugin_ts(a, r), dur = hb_plugin_dur(a, r);
    assert_same_text(a, r->name, b, s->name);
    assert_same_text(a, hb_row_category(a, r), b, hb_row_category(b, s));
    assert_int_equal(r->flags, s->flags);
    assert_int_equal(r->kind, s->kind);
    assert_int_equal(r->ph, s->ph);
    assert_true(r->start == s->start && r->duration == s->duration);
    assert_true(ts == hb_plugin_ts(b, s) || ts != ts);
    assert_true(dur == hb_plugin_dur(b, s) || dur != dur);
    assert_same_key(a, hb_row_key(a, r), b, hb_row_key(b, s));
    assert_same_key(a, hb_row_pid_key(a, r), b, hb_row_pid_key(b, s));
    assert_same_key(a, hb_row_tid_key(a, r), b, hb_row_tid_key(b, s));
    assert_same_side(a, r, b, s);
}

static hb_trace trace_of(const char *const *events, size_t count)
{
    hb_trace trace;
    hb_read_report report;
    hb_read_options options = {0};
    hb_buf text = list_of(events, count);
    assert_int_equal(hb_read_trace_memory(text.data, text.size, &options, &trace, &report), HB_OK);
    assert_int_equal(trace.rows.count, count);
    hb_buf_free(&text);
    return trace;
}

static unsigned random_below(unsigned limit)
{
    static uint64_t state = 12;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

/* Mostly numbers that count up, and some of each form that a number may have. */
static const char *random_number(void)
{
    static const char *const odd[] = {
        "0",   "-0",        "-0.0",   "01",         "1e3",
        "1.5", "null",      "\"12\"", "2.0005",     "-7",
        "[1]", "999999999", "true",   "1234567890", "4784245347339.986",
        "NaN"};
    static char texts[8][32];
    static unsigned next, count;
    char *text = texts[next++ % HB_ARRAY_LEN(texts)];
    if (random_below(12) == 0) {
        const char *one = odd[random_below(HB_ARRAY_LEN(odd))];
        return strcmp(one, "01") ? one : "1";
    }
    snprintf(text, sizeof texts[0], random_below(2) ? "%u" : "%u.125", ++count);
    return text;
}

/* As hipboard writes times that nest in doubles, too, and a little beside. */
static void put_nesting_times(hb_buf *text, bool duration_first)
{
    uint64_t start = 4804352295883460u + random_below(1000000000), ns = 1 + random_below(30000);
    char ts[HB_MAX_NUMBER + 1], dur[HB_MAX_NUMBER + 1];
    *hb_put_us(ts, start) = '\0';
    char *end = hb_put_nesting_us(dur, start, start + ns);
    *end = '\0';
    if (random_below(4) == 0) end[-1] = (char)('0' + random_below(10));
    if (random_below(16) == 0) strcpy(end, "0000000000");
    if (duration_first)
        hb_buf_printf(text, "\"dur\": %s, \"ts\": %s", dur, ts);
    else
        hb_buf_printf(text, "\"ts\": %s, \"dur\": %s", ts, dur);
}

/* Of a kind; '#' is any number, '@' and '%' are times that nest. */
static char *random_event(void)
{
    static const char *const kinds[] = {
        "\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 1, \"tid\": 2, "
        "\"ts\": "
        "#, \"dur\": #, \"args\": {\"External id\": #, \"Record function id\": 0, \"Input Dims\": "
        "[[1]], \"Ev Idx\": #}",
        "\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mul\", \"pid\": 1, \"tid\": 2, "
        "\"ts\": "
        "#, \"dur\": #, \"args\": {\"External id\": #, \"Sequence number\": #, \"Fwd thread id\": "
        "0, "
        "\"Input type\": [\"float\"]}",
        "\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::div\", \"pid\": 1, \"tid\": #, "
        "\"ts\": "
        "#, \"dur\": #, \"args\": {\"External id\": #, \"Sequence number\": #, \"Fwd thread id\": "
        "1, "
        "\"Call stack\": \"a\"}",
        "\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": "
        "#, "
        "\"dur\": #, \"args\": {\"External id\": #, \"correlation\": #, \"device\": 0, \"stream\": "
        "7, "
        "\"grid\": [1, 2, 3], \"block\": [64, 1, 1], \"registers per thread\": 32}",
        "\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"hipLaunchKernel\", \"pid\": 1, "
        "\"tid\": 2, \"ts\": #, \"dur\": #, \"args\": {\"External id\": #, \"correlation\": #, "
        "\"cbid\": #}",
        "\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy\", \"pid\": 0, \"tid\": 7, "
        "\"ts\": "
        "#, \"dur\": #, \"args\": {\"correlation\": #, \"bytes\": #, \"device\": #}",
        "\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::relu\", \"pid\": 1, \"tid\": 2, @, "
        "\"args\": {\"External id\": #, \"Input Dims\": [[1]], \"Ev Idx\": #}",
        "\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::tanh\", \"pid\": 1, \"tid\": 2, %, "
        "\"args\": {\"External id\": #}",
        "\"ph\": \"C\", \"name\": \"curve\", \"pid\": 1, \"ts\": #, \"args\": {\"value\": #}",
        "\"ph\": \"X\", \"name\": \"bare\", \"ts\": #, \"dur\": #, \"external id\": #, \"args\": "
        "{\"external id\": #, \"External id\": #}",
        "\"ph\": \"s\", \"cat\": \"ac2g\", \"name\": \"ac2g\", \"id\": #, \"pid\": 1, \"tid\": 2, "
        "\"ts\": #",
    };
    hb_buf text;
    hb_buf_init(&text, 1 << 20);
    hb_buf_append(&text, "{", 1);
    for (const char *p = kinds[random_below(HB_ARRAY_LEN(kinds))]; *p; p++) {
        if (*p == '#')
            hb_buf_str(&text, random_number());
        else if (*p == '@' || *p == '%')
            put_nesting_times(&text, *p == '%');
        else
            hb_buf_append(&text, p, 1);
    }
    hb_buf_append(&text, "}", 2);
    assert_false(text.failed);
    return text.data;
}

/* An event is the same whatever stood before it. */
/* What is odd in itself is not remembered, and has nothing of what was, which is as long. */
static void odd_texts_have_nothing_of_the_one_before(void **state)
{
    static const char *const names[] = {"ab cd",  "ef gh",  "ij kl", "ab cd",  "ef gh",
                                        "ab\tcd", "ab cd",  "ab cd", "ab\ncd", "ef gh",
                                        "ab\1cd", "ab\1cd", "ab cd"};
    hb_buf text;
    (void)state;
    hb_buf_init(&text, (size_t)1 << 20);
    hb_buf_str(&text, "{\"traceEvents\": [");
    for (unsigned i = 0; i < HB_ARRAY_LEN(names); i++)
        hb_buf_printf(
            &text,
            "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 1, \"tid\": 2, "
            "\"ts\": %u, \"dur\": 1, \"args\": {\"External id\": %u, \"Input type\": [\"%s\"]}}",
            i ? ", " : "", i % 2 ? "op" : names[i], i, i, names[i]);
    hb_buf_str(&text, "]}");
    hb_trace trace;
    hb_read_report report;
    hb_read_options options = {0};
    assert_int_equal(hb_read_trace_memory(text.data, text.size, &options, &trace, &report), HB_OK);
    assert_int_equal(trace.rows.count, HB_ARRAY_LEN(names));
    for (uint32_t i = 0; i < trace.rows.count; i++) {
        char types[32];
        const hb_row *row = hb_trace_row(&trace, i);
        snprintf(types, sizeof types, "[\"%s\"]", names[i]);
        assert_string_equal(text_of(&trace, row->name), i % 2 ? "op" : names[i]);
        assert_string_equal(text_of(&trace, hb_trace_op(&trace, row)->types), types);
    }
    hb_trace_free(&trace);
    hb_buf_free(&text);
}

static void an_event_is_read_as_if_it_were_alone(void **state)
{
    enum { EVENTS = 6000 / FEWER };
    static char *events[EVENTS];
    (void)state;
    for (int i = 0; i < EVENTS; i++)
        events[i] = random_event();
    hb_trace all = trace_of((const char *const *)events, EVENTS);
    for (uint32_t i = 0; i < EVENTS; i++) {
        hb_trace alone = trace_of((const char *const *)&events[i], 1);
        assert_same_row(&all, hb_trace_row(&all, i), &alone, hb_trace_row(&alone, 0));
        hb_trace_free(&alone);
        free(events[i]);
    }
    hb_trace_free(&all);
}

/* ---- what is not tokenised again ---- */

static char read_text[100000]; /* zeros stand behind what is in it */

/* Where the event ends by its layout; NULL: it fits none, and is learned. */
static const char *meet(hb_layouts *l, const char *event, hb_raw_event *raw)
{
    size_t size = strlen(event);
    hb_scan scan = {.end = read_text + size + 2};
    assert_in_range(size, 1, sizeof read_text - HB_SCAN_PADDING - 2);
    memset(read_text, 0, sizeof read_text);
    memcpy(read_text, event, size);
    memcpy(read_text + size, ",\n", 2);
    memset(raw, 0, sizeof *raw);
    const char *end = hb_layouts_match(l, &scan, read_text, raw);
    if (end) {
        hb_raw_event tokenised;
        assert_ptr_equal(end, read_text + size);
        assert_ptr_equal(hb_parse_event(&scan, read_text + 1, true, &tokenised), end);
        assert_true(raw_events_are_equal(raw, &tokenised));
    } else {
        assert_ptr_equal(hb_parse_event(&scan, read_text + 1, true, raw), read_text + size);
        hb_layouts_learn(l, &scan, read_text, read_text + size);
    }
    return end;
}

/* The second differs in what may: numbers, and texts that are no names. */
static void an_event_like_one_before_fits_its_layout(void **state)
{
    static const struct {
        const char *first, *second;
        bool fits, again; /* when it comes the first time, the second */
    } cases[] = {
        {"{}", "{}", true, true},
        {"{\"ph\": \"M\", \"name\": \"a\"}", "{\"ph\": \"M\", \"name\": \"a\"}", true, true},
        {"{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1}",
         "{\"ph\": \"X\", \"name\": \"a\", \"ts\": -17.250}", true, true},
        {"{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1}",
         "{\"ph\": \"X\", \"name\": \"b\", \"ts\": 1}", false, true},
        {"{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1}",
         "{\"ph\": \"i\", \"name\": \"a\", \"ts\": 1}", false, true},
        {"{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1}",
         "{\"ph\": \"X\", \"name\": \"a\", \"ts\":  1}", false, true},
        {"{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1}",
         "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1 }", false, true},
        {"{ \"ts\" : 1 ,\n\"dur\"\t:2\r\n, \"args\" : { \"External id\" : 3 , \"x\": [ 1 ] } , "
         "\"pid\": \"a\" }",
         "{ \"ts\" : 9 ,\n\"dur\"\t:8\r\n, \"args\" : { \"External id\" : 7 , \"x\": {\"y\": 2} } "
         ", \"pid\": \"bc\" }",
         true, true},
        {"{\"ph\": \"X\", \"other\": \"a\", \"ts\": 1}",
         "{\"ph\": \"X\", \"other\": \"b\", \"ts\": 1}", false, true},
        {"{\"ph\": \"X\", \"ts\": 1, \"other\": [1]}", "{\"ph\": \"X\", \"ts\": 1, \"other\": [2]}",
         true, true},
        {"{\"ph\": \"X\", \"args\": {}, \"ts\": 1}", "{\"ph\": \"X\", \"args\": {}, \"ts\": 2}",
         true, true},
        {"{\"ph\": \"X\", \"ts\": 1, \"args\": {\"ph\": \"a\"}}",
         "{\"ph\": \"X\", \"ts\": 2, \"args\": {\"ph\": \"b\"}}", true, true},
        {"{\"ph\": \"X\", \"args\": [1], \"ts\": 1}", "{\"ph\": \"X\", \"args\": [1], \"ts\": 1}",
         false, false},
        {"{\"ph\": \"X\", \"ts\": 1, \"ts\": 2}", "{\"ph\": \"X\", \"ts\": 1, \"ts\": 2}", false,
         false},
        {"{\"ph\": \"X\", \"args\": {\"x\": 1, \"x\": 2}}",
         "{\"ph\": \"X\", \"args\": {\"x\": 3, \"x\": 4}}", true, true},
        {"{\"cat\": \"cpu_op\", \"ts\": 1, \"args\": {\"Call stack\": \"a;b\", \"Input Dims\": "
         "[[1, 2], []]}}",
         "{\"cat\": \"cpu_op\", \"ts\": 1, \"args\": {\"Call stack\": \"c\\\"d\", \"Input Dims\": "
         "[]}}",
         true, true},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_raw_event raw;
        hb_layouts *l = hb_layouts_new();
        assert_non_null(l);
        assert_null(meet(l, cases[i].first, &raw));
        bool fits = meet(l, cases[i].second, &raw) != NULL;
        if (fits != cases[i].fits) fail_msg("%s and %s", cases[i].first, cases[i].second);
        bool again = meet(l, cases[i].second, &raw) != NULL;
        if (again != cases[i].again) fail_msg("%s again", cases[i].second);
        hb_layouts_free(l);
    }
}

/* Of an event that is another one again no more is read than its times and ids. */
static void a_repeat_differs_in_times_and_ids(void **state)
{
#define OP(times, id, pid, dims)                                                                  \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op\", \"pid\": " pid ", \"tid\": 2, " times \
    ", \"args\": {\"External id\": " id ", \"Input Dims\": [" dims "]}}"
    static const struct {
        const char *event;
        int64_t start, duration; /* ns; 0: it is no repeat */
        hb_id id;
    } cases[] = {
        {OP("\"ts\": 10.5, \"dur\": 2.25", "7", "1", "[1]"), 10500, 2250, 8},
        {OP("\"ts\": 3, \"dur\": 4", "0", "1", "[1]"), 3000, 4000, 1},
        {OP("\"ts\": 3, \"dur\": 4", "999999999", "1", "[1]"), 3000, 4000, 1000000000},
        {OP("\"ts\": 3, \"dur\": 4", "1000000000", "1", "[1]"), 0, 0, 0},
        {OP("\"ts\": 3, \"dur\": 4", "07", "1", "[1]"), 0, 0, 0},
        {OP("\"ts\": 3, \"dur\": 4", "7.0", "1", "[1]"), 0, 0, 0},
        {OP("\"ts\": 3, \"dur\": 4", "-7", "1", "[1]"), 0, 0, 0},
        {OP("\"ts\": 3, \"dur\": 4", "\"7\"", "1", "[1]"), 0, 0, 0},
        {OP("\"ts\": 3e2, \"dur\": 4", "7", "1", "[1]"), 0, 0, 0},
        {OP("\"ts\": 3, \"dur\": \"4\"", "7", "1", "[1]"), 0, 0, 0},
        {OP("\"ts\": 3, \"dur\": 4", "7", "3", "[1]"), 0, 0, 0},
        {OP("\"ts\": 3, \"dur\": 4", "7", "1", "[2]"), 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_trace trace;
        hb_event_sink sink;
        hb_raw_event raw;
        hb_read_row again;
        hb_layouts *l = hb_layouts_new();
        assert_true(hb_trace_init(&trace));
        hb_event_sink_init(&sink, &trace, true);
        for (int turn = 0; turn < 8; turn++) {
            const char *first = OP("\"ts\": 1, \"dur\": 2", "5", "1", "[1]");
            const char *end = meet(l, first, &raw);
            assert_int_equal(end != NULL, turn > 0);
            assert_true(hb_event_sink_add(&sink, &raw));
            if (end) hb_layouts_note_row(l, read_text, end, &trace);
        }
        memset(read_text, 0, sizeof read_text);
        strcpy(read_text, cases[i].event);
        const char *end = hb_layouts_repeat(l, read_text, &again);
        if (!cases[i].start != !end) fail_msg("%s", cases[i].event);
        if (end) {
            assert_ptr_equal(end, read_text + strlen(read_text));
            assert_true(again.row.start == cases[i].start &&
                        again.row.duration == cases[i].duration);
            assert_int_equal(again.row.id, cases[i].id);
        }
        hb_event_sink_free(&sink);
        hb_trace_free(&trace);
        hb_layouts_begin_trace(l); /* another one has other texts */
        assert_null(hb_layouts_repeat(l, read_text, &again));
        hb_layouts_free(l);
    }
#undef OP
}

/* Of the last two texts in a place it is known what was made of them. */
static hb_seen_text *known_of(hb_layouts *l, const char *stack)
{
    static char event[20000];
    hb_raw_event raw;
    snprintf(event, sizeof event, "{\"ph\": \"X\", \"ts\": 1, \"args\": {\"Call stack\": \"%s\"}}",
             stack);
    assert_non_null(meet(l, event, &raw));
    assert_int_equal(raw.trace, 1);
    assert_int_equal(raw.slots[HB_SLOT_STACK].size, strlen(stack));
    return raw.known[HB_SLOT_STACK];
}

static void the_last_two_texts_are_known(void **state)
{
    static const struct {
        const char *text;
        hb_string_id id; /* that was noted of it; 0: it was not there, or is forgotten */
    } turns[] = {{"one", 1},   {"one", 1},   {"two", 0}, {"two", 2}, {"one", 1},
                 {"two", 2},   {"three", 0}, {"two", 2}, {"one", 0}, {"two", 2},
                 {"three", 0}, {"two", 2},   {"tw", 0},  {"two", 2}};
    hb_raw_event raw;
    hb_layouts *l = hb_layouts_new();
    (void)state;
    assert_null(meet(l, "{\"ph\": \"X\", \"ts\": 1, \"args\": {\"Call stack\": \"one\"}}", &raw));
    known_of(l, "one")->id = 1;
    for (size_t i = 0; i < HB_ARRAY_LEN(turns); i++) {
        hb_seen_text *known = known_of(l, turns[i].text);
        assert_non_null(known);
        if (known->id != turns[i].id) fail_msg("turn %zu: %u", i, known->id);
        known->id = turns[i].text[1] == 'w' && turns[i].text[2] ? 2
                    : turns[i].text[0] == 'o'                   ? 1
                                                                : 3;
    }
    hb_layouts_free(l);
}

/* With its quotes and what stands behind it, 4096 bytes. */
static void long_texts_are_not_kept(void **state)
{
    static char stack[10000];
    hb_raw_event raw;
    hb_layouts *l = hb_layouts_new();
    (void)state;
    assert_null(meet(l, "{\"ph\": \"X\", \"ts\": 1, \"args\": {\"Call stack\": \"one\"}}", &raw));
    for (size_t size = 4090; size < 4100; size++) {
        memset(stack, 'x', size);
        stack[size] = '\0';
        assert_int_equal(known_of(l, stack) != NULL, size <= 4093);
    }
    for (size_t size = 4093; size; size -= size > 100 ? 97 : 1) { /* in the room of longer ones */
        memset(stack, 'y', size);
        stack[size] = '\0';
        hb_seen_text *known = known_of(l, stack);
        assert_non_null(known);
        known->id = (hb_string_id)size;
        assert_int_equal(known_of(l, stack)->id, size);
    }
    hb_layouts_free(l);
}

/* 16 MB in all. */
static void no_more_is_kept_than_there_is_room_for(void **state)
{
    enum { VALUES = 10, SIZE = 4000, MB = 1 << 20 };
    static char event[VALUES * (SIZE + 40)];
    unsigned kept = 0, events = 0;
    hb_layouts *l = hb_layouts_new();
    (void)state;
    for (; events < 2000; events++) {
        hb_raw_event raw;
        size_t n = (size_t)snprintf(
            event, sizeof event,
            "{\"ph\": \"X\", \"name\": \"e%u\", \"args\": {\"Call stack\": ", events);
        for (int i = 0; i < VALUES; i++)
            n += (size_t)snprintf(event + n, sizeof event - n, "%s\"%0*u\"", i ? ", \"x\": " : "",
                                  SIZE, events);
        snprintf(event + n, sizeof event - n, "}}");
        assert_null(meet(l, event, &raw));
        assert_non_null(meet(l, event, &raw));
        if (!raw.known[HB_SLOT_STACK]) break;
        kept += VALUES;
    }
    /* with room for half as much again */
    assert_in_range(kept, (size_t)16 * MB / (SIZE * 3 / 2) * 97 / 100,
                    (size_t)16 * MB / (SIZE * 3 / 2) + VALUES);
    hb_layouts_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_form),
        cmocka_unit_test(texts_lists_and_members_of_every_form),
        cmocka_unit_test(arguments_that_are_no_object),
        cmocka_unit_test(defects_of_every_form),
        cmocka_unit_test(what_is_too_much_to_remember),
        cmocka_unit_test(an_event_like_one_before_fits_its_layout),
        cmocka_unit_test(a_repeat_differs_in_times_and_ids),
        cmocka_unit_test(the_last_two_texts_are_known),
        cmocka_unit_test(long_texts_are_not_kept),
        cmocka_unit_test(no_more_is_kept_than_there_is_room_for),
        cmocka_unit_test(texts_are_those_of_the_trace),
        cmocka_unit_test(odd_texts_have_nothing_of_the_one_before),
        cmocka_unit_test(an_event_is_read_as_if_it_were_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
