/* SPDX-License-Identifier: MIT */
#include "read/json_reader.h"

#include <stdio.h>

#include "base/large_memory.h"
#include "base/memory_share.h"
#include "read/encoding.h"
#include "read/json_units.h"

const char *hb_json_defect_text(hb_json_defect defect)
{
    static const char *const texts[] = {
#define HB_JSON_DEFECT_TEXT(name, text) text,
        HB_JSON_DEFECT_MAP(HB_JSON_DEFECT_TEXT)
#undef HB_JSON_DEFECT_TEXT
    };
    return texts[defect];
}

/* Scans the member's name and ':'; returns where the value begins. */
static const char *scan_member_name(hb_reader *r, hb_value *key)
{
    const char *p = hb_reader_at(r);
    if (*p != '"') return hb_scan_fail(&r->scan, p, "expected a member's name");
    p = hb_scan_string(&r->scan, p + 1, key);
    if (!p) return NULL;
    p = hb_scan_space(p);
    if (*p != ':') return hb_scan_fail(&r->scan, p, "expected ':'");
    p = hb_scan_space(p + 1);
    return *p ? p : hb_scan_fail(&r->scan, p, "expected a value");
}

static bool keep_member(hb_reader *r, const hb_value *key, const hb_value *value)
{
    hb_buf name;
    hb_buf_init(&name, SIZE_MAX / 2);
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
static hb_result take_member(hb_reader *r, const hb_value *key, const char *p, bool events,
                             bool *again)
{
    hb_value value;
    p = hb_scan_value(&r->scan, p, &value);
    if (p && p >= r->scan.end && !r->text->eof) p = hb_scan_fail(&r->scan, p, "");
    if (!p) {
        if (!hb_reader_more(r)) return hb_reader_failed(r);
        *again = true;
        return HB_OK;
    }
    if (events) {
        hb_trace_clear_events(r->trace);
        r->trace->has_events = is_empty_container(&value); /* Python finds nothing to trip over */
    } else if (!keep_member(r, key, &value)) {
        return hb_no_memory();
    }
    hb_reader_move_to(r, p);
    return HB_OK;
}

static hb_result read_member(hb_reader *r)
{
    hb_value key;
    bool again;
    do {
        again = false;
        const char *p = scan_member_name(r, &key);
        if (!p) {
            if (!hb_reader_more(r)) return hb_reader_failed(r);
            again = true;
            continue;
        }
        bool events = hb_value_is(&key, "traceEvents");
        if (events && *p == '[') {
            hb_trace_clear_events(r->trace);
            r->trace->has_events = true;
            r->trace->members_before = r->trace->num_members;
            hb_reader_move_to(r, p + 1);
            return hb_read_events(r);
        }
        HB_TRY(take_member(r, &key, p, events, &again));
    } while (again && !r->cut);
    return HB_OK;
}

/* From behind a member to the next one; *more is false behind the last one. */
static hb_result find_next(hb_reader *r, bool *more)
{
    char c = hb_reader_peek(r);
    *more = c != '}';
    if (c != '}' && c != ',')
        return hb_reader_expected(r, "expected ',' or '}' after a top-level member");
    r->pos++;
    if (*more && !hb_reader_peek(r)) return hb_reader_expected(r, "expected a member's name");
    return HB_OK;
}

static hb_result read_object(hb_reader *r)
{
    r->pos++;
    bool more = hb_reader_peek(r) != '}';
    if (!more) r->pos++;
    while (more && !r->cut) {
        r->moved = false;
        HB_TRY(read_member(r));
        if (r->cut || r->moved) continue;
        hb_reader_take_defects(r);
        HB_TRY(find_next(r, &more));
    }
    return HB_OK;
}

static hb_result read_array(hb_reader *r)
{
    if (r->options->strict)
        return hb_fail(HB_ERROR_FORMAT, "the file is a list, not an object with traceEvents");
    hb_reader_note(r, HB_JSON_DEFECT_BARE_ARRAY, hb_reader_offset(r));
    r->trace->has_events = r->trace->bare_array = true;
    r->pos++;
    return hb_read_events(r);
}

static hb_result read_document(hb_reader *r)
{
    switch (hb_reader_peek(r)) {
    case '{': HB_TRY(read_object(r)); break;
    case '[': HB_TRY(read_array(r)); break;
    case 0:
        if (r->text->result != HB_OK) return hb_fail(r->text->result, "%s", r->text->error);
        if (r->pos >= r->text->size) return hb_fail(HB_ERROR_FORMAT, "the file is empty");
        __attribute__((fallthrough));
    default: return hb_reader_expected(r, "not a JSON object");
    }
    if (r->cut) return HB_OK;
    if (hb_reader_peek(r) || r->pos < r->text->size) {
        if (r->options->strict) return hb_reader_expected(r, "text after the end");
        hb_reader_note(r, HB_JSON_DEFECT_EXTRA, hb_reader_offset(r));
    }
    if (r->text->result != HB_OK) {
        if (r->options->strict) return hb_fail(r->text->result, "%s", r->text->error);
        hb_reader_note(r, HB_JSON_DEFECT_CUT, r->text->offset + r->text->size);
        snprintf(r->report->cut_reason, sizeof r->report->cut_reason, "%s", r->text->error);
    }
    if (!r->trace->has_events)
        return hb_fail(HB_ERROR_FORMAT, "no list traceEvents: not a trace as PyTorch writes it");
    return HB_OK;
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
        result = hb_no_memory();
    hb_text_close(text);
    if (result == HB_OK) result = hb_text_open_memory(text, utf8.data ? utf8.data : "", utf8.size);
    hb_buf_free(&utf8);
    return result;
}

/* Where no memory was left, and no temporary file could be made, the user can do something. */
static hb_result tell(hb_result result, const char *path)
{
    char text[256];
    if (result == HB_OK) return result;
    if (result == HB_ERROR_NO_MEMORY) hb_fail(result, "%s", hb_large_refusal(text));
    return hb_fail(result, "%s: %s", path, hb_last_error());
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
    hb_reader r;
    hb_reader_init(&r, text, trace, hb_layouts_new(), options, report);
    r.pos = start;
    r.max_bytes = options->max_bytes ? options->max_bytes : hb_memory_share();
    hb_result result = read_document(&r);
    report->bytes = hb_reader_offset(&r);
    hb_layouts_free(r.layouts);
    hb_reader_free(&r);
    hb_text_close(text);
    return result;
}

hb_result hb_read_trace(const char *path, const hb_read_options *options, hb_trace *trace,
                        hb_read_report *report)
{
    hb_text text;
    *report = (hb_read_report){0};
    *trace = (hb_trace){0};
    HB_TRY(hb_large_use_disk());
    if (!hb_trace_init(trace)) return hb_no_memory();
    HB_TRY(hb_text_open(&text, path, options->form));
    hb_result result = read_text(&text, options, trace, report);
    return tell(result, path);
}

hb_result hb_read_trace_memory(const char *data, size_t size, const hb_read_options *options,
                               hb_trace *trace, hb_read_report *report)
{
    hb_text text;
    *report = (hb_read_report){0};
    if (!hb_trace_init(trace)) return hb_no_memory();
    HB_TRY(hb_text_open_memory(&text, data, size));
    return read_text(&text, options, trace, report);
}
