/* SPDX-License-Identifier: MIT */
#include "read/reader.h"

#include <stdio.h>
#include <unistd.h>

#include "read/encoding.h"
#include "read/event_parser.h"

/* A unit is an event or a top-level member. When the window ends inside a unit, more text is
 * fetched and the unit is read again from its start; nothing but `pos` survives from one try to the
 * next. */
typedef struct reader {
    hb_text *text;
    hb_trace *trace;
    const hb_read_options *options;
    hb_read_report *report;
    hb_scan scan;
    hb_event_sink sink;
    size_t pos;          /* of the present unit in the window */
    uint64_t next_check; /* offset at which memory and progress are looked at again */
    size_t max_bytes;
    hb_read_note pending[4]; /* the unit's flaws, counted when it is taken */
    uint32_t num_pending;
    bool cut;
} reader;

enum { CHECK_INTERVAL = 8 << 20 };

const char *hb_flaw_text(hb_flaw flaw)
{
    static const char *const texts[] = {
#define HB_FLAW_TEXT(name, text) text,
        HB_FLAW_MAP(HB_FLAW_TEXT)
#undef HB_FLAW_TEXT
    };
    return texts[flaw];
}

/* ---- flaws ---- */

static void note(reader *r, hb_flaw flaw, uint64_t offset)
{
    r->report->counts[flaw]++;
    if (r->report->num_notes < HB_READ_MAX_NOTES)
        r->report->notes[r->report->num_notes++] = (hb_read_note){flaw, offset};
}

static void on_flaw(void *context, hb_flaw flaw, const char *at)
{
    reader *r = context;
    for (uint32_t i = 0; i < r->num_pending; i++)
        if (r->pending[i].flaw == flaw) return; /* one of a sort for each unit */
    if (r->num_pending == HB_ARRAY_LEN(r->pending)) return;
    r->pending[r->num_pending++] =
        (hb_read_note){flaw, r->text->offset + (uint64_t)(at - r->text->data)};
}

static void take_flaws(reader *r)
{
    for (uint32_t i = 0; i < r->num_pending; i++)
        note(r, r->pending[i].flaw, r->pending[i].offset);
    r->num_pending = 0;
}

/* ---- the window ---- */

static inline const char *at(reader *r)
{
    return r->text->data + r->pos;
}

/* After a failure in the unit at pos: true when it is worth another try. */
static bool more(reader *r)
{
    if (!hb_scan_cut(&r->scan) || r->text->eof) return false;
    r->num_pending = 0;
    bool got = hb_text_more(r->text, r->pos);
    r->pos = 0;
    r->scan.end = r->text->data + r->text->size;
    if (!got) r->scan.at = r->scan.end;
    return got;
}

/* The first character at or after pos that is no space, 0 at the end of the text. */
static char peek(reader *r)
{
    for (;;) {
        const char *p = hb_scan_space(at(r));
        if (p < r->scan.end) {
            r->pos = (size_t)(p - r->text->data);
            return *p;
        }
        r->pos = r->text->size;
        r->scan.at = r->scan.end;
        if (!more(r)) return 0;
    }
}

static hb_result syntax_error(reader *r)
{
    uint64_t offset = r->text->offset + (uint64_t)(r->scan.at - r->text->data);
    return hb_fail(HB_ERROR_FORMAT, "byte %llu: %s", (unsigned long long)offset, r->scan.why);
}

/* The text ended inside the unit at pos: what came before is kept. */
static hb_result cut_off(reader *r)
{
    if (r->text->result == HB_ERROR_LIMIT || r->text->result == HB_ERROR_NO_MEMORY ||
        r->text->result == HB_ERROR_IO)
        return hb_fail(r->text->result, "%s", r->text->error);
    if (r->options->strict || !r->trace->has_events) {
        if (r->text->result != HB_OK) return hb_fail(r->text->result, "%s", r->text->error);
        return hb_fail(HB_ERROR_FORMAT, "byte %llu: the text ends too early",
                       (unsigned long long)(r->text->offset + r->text->size));
    }
    r->num_pending = 0;
    r->cut = true;
    note(r, HB_FLAW_CUT, r->text->offset + r->pos);
    snprintf(r->report->cut_reason, sizeof r->report->cut_reason, "%s",
             r->text->result != HB_OK ? r->text->error : "the text ends too early");
    return HB_OK;
}

static hb_result failed(reader *r)
{
    return r->scan.at >= r->scan.end ? cut_off(r) : syntax_error(r);
}

static hb_result expected(reader *r, const char *what)
{
    hb_scan_fail(&r->scan, at(r), what);
    return at(r) >= r->scan.end ? cut_off(r) : syntax_error(r);
}

static hb_result check_bounds(reader *r)
{
    uint64_t offset = r->text->offset + r->pos;
    if (HB_LIKELY(offset < r->next_check)) return HB_OK;
    r->next_check = offset + CHECK_INTERVAL;
    hb_text_release(r->text, r->pos);
    size_t bytes = hb_trace_bytes(r->trace);
    if (bytes > r->max_bytes)
        return hb_fail(HB_ERROR_LIMIT, "the trace needs over %zu MiB of memory at byte %llu",
                       r->max_bytes >> 20, (unsigned long long)offset);
    const hb_read_options *o = r->options;
    if (o->progress && !o->progress(o->context, offset, r->text->total))
        return hb_fail(HB_ERROR_STATE, "stopped at byte %llu", (unsigned long long)offset);
    return HB_OK;
}

/* ---- events ---- */

static hb_result no_memory(void)
{
    return hb_fail(HB_ERROR_NO_MEMORY, "out of memory for the trace");
}

/* An element that is no object: kept as a row, because the plugin's answer depends on it. */
static hb_result read_odd_element(reader *r)
{
    hb_value value;
    for (;;) {
        const char *p = hb_scan_value(&r->scan, at(r), &value);
        /* A number that touches the end may go on behind it. */
        if (p && p >= r->scan.end && !r->text->eof) p = hb_scan_fail(&r->scan, p, "");
        if (p) {
            hb_row *row = hb_column_push(&r->trace->rows);
            if (!row) return no_memory();
            row->flags = HB_ROW_NOT_OBJECT;
            r->pos = (size_t)(p - r->text->data);
            return HB_OK;
        }
        if (!more(r)) return failed(r);
    }
}

static hb_result take_event(reader *r, const hb_raw_event *raw, const char *end)
{
    const hb_read_options *o = r->options;
    if (!o->event) return hb_event_sink_add(&r->sink, raw) ? HB_OK : no_memory();
    hb_str text = {at(r), (uint32_t)(end - at(r))};
    if (o->event(o->context, raw, text, r->num_pending > 0)) return HB_OK;
    return hb_fail(HB_ERROR_LIMIT, "too many events for the memory there is");
}

static hb_result read_event(reader *r)
{
    hb_raw_event raw;
    if (*at(r) != '{') return read_odd_element(r);
    for (;;) {
        const char *p = hb_parse_event(&r->scan, at(r) + 1, !r->options->strict, &raw);
        if (HB_LIKELY(p != NULL)) {
            HB_TRY(take_event(r, &raw, p));
            r->pos = (size_t)(p - r->text->data);
            return HB_OK;
        }
        if (!more(r)) return failed(r);
    }
}

/* pos is behind the opening bracket. */
static hb_result read_events(reader *r)
{
    char c = peek(r);
    if (c == ']') {
        r->pos++;
        return HB_OK;
    }
    for (;;) {
        HB_TRY(read_event(r));
        if (r->cut) return HB_OK;
        if (HB_UNLIKELY(r->num_pending)) take_flaws(r);
        HB_TRY(check_bounds(r));
        c = peek(r);
        if (c == ',') {
            r->pos++;
            c = peek(r);
            if (c == ']' && !r->options->strict) {
                note(r, HB_FLAW_TRAILING_COMMA, r->text->offset + r->pos);
            } else {
                if (c == 0) return expected(r, "expected an event");
                continue;
            }
        }
        if (c != ']') return expected(r, "expected ',' or ']' after an event");
        r->pos++;
        return HB_OK;
    }
}

/* ---- the document ---- */

/* Scans the member's name and ':'; returns where the value begins. */
static const char *scan_member_name(reader *r, hb_value *key)
{
    const char *p = at(r);
    if (*p != '"') return hb_scan_fail(&r->scan, p, "expected a member's name");
    p = hb_scan_string(&r->scan, p + 1, key);
    if (!p) return NULL;
    p = hb_scan_space(p);
    if (*p != ':') return hb_scan_fail(&r->scan, p, "expected ':'");
    p = hb_scan_space(p + 1);
    return *p ? p : hb_scan_fail(&r->scan, p, "expected a value");
}

static bool keep_member(reader *r, const hb_value *key, const hb_value *value)
{
    hb_buf name;
    hb_buf_init(&name, 1 << 20);
    hb_value_decode(key, &name);
    size_t quote = value->type == HB_JSON_STRING && value->s[-1] == '"';
    bool ok =
        !name.failed &&
        hb_trace_add_member(r->trace, (hb_str){name.data ? name.data : "", (uint32_t)name.size},
                            (hb_str){value->s - quote, (uint32_t)(value->size + 2 * quote)});
    hb_buf_free(&name);
    return ok;
}

static bool is_empty_container(const hb_value *v)
{
    if (v->type == HB_JSON_STRING) return v->size == 0;
    return v->type == HB_JSON_OBJECT && *hb_scan_space(v->s + 1) == '}';
}

/* A member's value other than the list of events. */
static hb_result take_member(reader *r, const hb_value *key, const char *p, bool events,
                             bool *again)
{
    hb_value value;
    p = hb_scan_value(&r->scan, p, &value);
    if (p && p >= r->scan.end && !r->text->eof) p = hb_scan_fail(&r->scan, p, "");
    if (!p) {
        if (!more(r)) return failed(r);
        *again = true;
        return HB_OK;
    }
    if (events) {
        hb_trace_clear_events(r->trace);
        r->trace->has_events = is_empty_container(&value); /* Python finds nothing to trip over */
    } else if (!keep_member(r, key, &value)) {
        return no_memory();
    }
    r->pos = (size_t)(p - r->text->data);
    return HB_OK;
}

static hb_result read_member(reader *r)
{
    hb_value key;
    bool again;
    do {
        again = false;
        const char *p = scan_member_name(r, &key);
        if (!p) {
            if (!more(r)) return failed(r);
            again = true;
            continue;
        }
        bool events = hb_value_is(&key, "traceEvents");
        if (events && *p == '[') {
            hb_trace_clear_events(r->trace);
            r->trace->has_events = true;
            r->trace->members_before = r->trace->num_members;
            r->pos = (size_t)(p + 1 - r->text->data);
            return read_events(r);
        }
        HB_TRY(take_member(r, &key, p, events, &again));
    } while (again && !r->cut);
    return HB_OK;
}

static hb_result read_object(reader *r)
{
    r->pos++;
    char c = peek(r);
    if (c == '}') {
        r->pos++;
        return HB_OK;
    }
    for (;;) {
        if (c == 0) return expected(r, "expected a member's name");
        HB_TRY(read_member(r));
        if (r->cut) return HB_OK;
        take_flaws(r);
        c = peek(r);
        if (c == '}') {
            r->pos++;
            return HB_OK;
        }
        if (c != ',') return expected(r, "expected ',' or '}' after a top-level member");
        r->pos++;
        c = peek(r);
    }
}

static hb_result read_array(reader *r)
{
    if (r->options->strict)
        return hb_fail(HB_ERROR_FORMAT, "the file is a list, not an object with traceEvents");
    note(r, HB_FLAW_BARE_ARRAY, r->text->offset + r->pos);
    r->trace->has_events = r->trace->bare_array = true;
    r->pos++;
    return read_events(r);
}

static hb_result read_document(reader *r)
{
    switch (peek(r)) {
    case '{': HB_TRY(read_object(r)); break;
    case '[': HB_TRY(read_array(r)); break;
    case 0:
        if (r->text->result != HB_OK) return hb_fail(r->text->result, "%s", r->text->error);
        if (r->pos >= r->text->size) return hb_fail(HB_ERROR_FORMAT, "the file is empty");
        /* fall through */
    default: return expected(r, "not a JSON object");
    }
    if (r->cut) return HB_OK;
    if (peek(r) || r->pos < r->text->size) {
        if (r->options->strict) return expected(r, "text after the end");
        note(r, HB_FLAW_EXTRA, r->text->offset + r->pos);
    }
    if (r->text->result != HB_OK) {
        if (r->options->strict) return hb_fail(r->text->result, "%s", r->text->error);
        note(r, HB_FLAW_CUT, r->text->offset + r->text->size);
        snprintf(r->report->cut_reason, sizeof r->report->cut_reason, "%s", r->text->error);
    }
    if (!r->trace->has_events) return hb_fail(HB_ERROR_FORMAT, "no list traceEvents");
    return HB_OK;
}

static size_t default_max_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages / 2 * (size_t)page : SIZE_MAX / 2;
}

/* UTF-16 and UTF-32 are rare enough to be held in memory as a whole, twice. */
static hb_result decode_text(hb_text *text, hb_encoding encoding)
{
    hb_buf utf8;
    while (!text->eof)
        hb_text_more(text, 0);
    hb_result result = text->result;
    hb_buf_init(&utf8, SIZE_MAX / 2);
    if (result != HB_OK)
        hb_fail(result, "%s", text->error);
    else if (!hb_encoding_decode(encoding, text->data, text->size, &utf8))
        result = hb_fail(HB_ERROR_FORMAT, "invalid UTF-%u", encoding.width * 8);
    else if (utf8.failed)
        result = no_memory();
    hb_text_close(text);
    if (result == HB_OK) result = hb_text_open_memory(text, utf8.data ? utf8.data : "", utf8.size);
    hb_buf_free(&utf8);
    return result;
}

/* Skips a byte order mark, and makes UTF-8 of what is not. */
static hb_result settle_encoding(hb_text *text, hb_read_report *report, size_t *start)
{
    while (text->size < 4 && hb_text_more(text, 0))
        continue;
    hb_encoding encoding = hb_encoding_of(text->data, text->size);
    report->encoded = encoding.width > 1 || encoding.bom;
    *start = encoding.width == 1 ? encoding.bom : 0;
    return encoding.width == 1 ? HB_OK : decode_text(text, encoding);
}

static hb_result read_text(hb_text *text, const hb_read_options *options, hb_trace *trace,
                           hb_read_report *report)
{
    size_t start;
    hb_result settled = settle_encoding(text, report, &start);
    if (settled != HB_OK) {
        hb_text_close(text);
        return settled;
    }
    reader r = {.text = text, .trace = trace, .options = options, .report = report};
    r.pos = start;
    r.max_bytes = options->max_bytes ? options->max_bytes : default_max_bytes();
    r.scan = (hb_scan){.end = text->data + text->size,
                       .check_na = options->check_na,
                       .flaw = on_flaw,
                       .context = &r};
    hb_event_sink_init(&r.sink, trace);
    hb_result result = read_document(&r);
    hb_event_sink_free(&r.sink);
    report->bytes = text->offset + r.pos;
    hb_text_close(text);
    return result;
}

hb_result hb_read_trace(const char *path, const hb_read_options *options, hb_trace *trace,
                        hb_read_report *report)
{
    hb_text text;
    *report = (hb_read_report){0};
    if (!hb_trace_init(trace)) return no_memory();
    HB_TRY(hb_text_open(&text, path, options->form));
    hb_result result = read_text(&text, options, trace, report);
    return result == HB_OK ? result : hb_fail(result, "%s: %s", path, hb_last_error());
}

hb_result hb_read_trace_memory(const char *data, size_t size, const hb_read_options *options,
                               hb_trace *trace, hb_read_report *report)
{
    hb_text text;
    *report = (hb_read_report){0};
    if (!hb_trace_init(trace)) return no_memory();
    HB_TRY(hb_text_open_memory(&text, data, size));
    return read_text(&text, options, trace, report);
}
