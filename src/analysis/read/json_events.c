/* SPDX-License-Identifier: MIT
 *
 * The list of events.
 */
#include "base/large_memory.h"
#include "read/json_chunks.h"
#include "read/json_units.h"

/* An element that is no object: kept as a row, because the plugin's answer depends on it. */
static hb_result read_odd_element(hb_reader *r)
{
    hb_value value;
    for (;;) {
        const char *p = hb_scan_value(&r->scan, hb_reader_at(r), &value);
        /* A number that touches the end may go on behind it. */
        if (p && p >= r->scan.end && !r->text->eof) p = hb_scan_fail(&r->scan, p, "");
        if (p) {
            hb_row *row = hb_column_push(&r->trace->rows);
            if (!row) return hb_no_memory();
            row->flags = HB_ROW_NOT_OBJECT;
            hb_reader_move_to(r, p);
            return HB_OK;
        }
        if (!hb_reader_more(r)) return hb_reader_failed(r);
    }
}

/* The event whose opening brace is at `p`. */
static inline const char *parse_event(hb_reader *r, const char *p, hb_raw_event *raw)
{
    const char *end = hb_layouts_match(r->layouts, &r->scan, p, raw);
    if (HB_LIKELY(end != NULL)) return end;
    r->num_pending = 0; /* of what may have been taken for a value */
    end = hb_parse_event(&r->scan, p + 1, !r->options->strict, raw);
    if (end && !r->num_pending) hb_layouts_learn(r->layouts, &r->scan, p, end);
    return end;
}

/* Into the trace; false without memory. */
static bool add_event(hb_reader *r, hb_raw_event *raw, const char *p, const char *end)
{
    if (!hb_event_sink_add(&r->sink, raw)) return false;
    if (!r->num_pending) hb_layouts_note_row(r->layouts, p, end, r->trace);
    return true;
}

static hb_result take_event(hb_reader *r, hb_raw_event *raw, const char *end)
{
    const hb_read_options *o = r->options;
    r->num_events++;
    if (!o->event) return add_event(r, raw, hb_reader_at(r), end) ? HB_OK : hb_no_memory();
    hb_str text = {hb_reader_at(r), (uint32_t)(end - hb_reader_at(r))};
    raw->offset = hb_reader_offset(r);
    /* Rows are made of odd elements only, when events are given away. */
    raw->index = (uint32_t)r->num_events - 1 + r->trace->rows.count;
    if (o->event(o->context, raw, text, r->num_pending > 0)) return HB_OK;
    char refusal[256];
    return hb_fail(HB_ERROR_LIMIT, "too many events: %s", hb_large_refusal(refusal));
}

/* NULL: the event is no other one again. */
static inline const char *read_again(hb_reader *r, hb_read_row *again)
{
    return r->options->event ? NULL : hb_layouts_repeat(r->layouts, hb_reader_at(r), again);
}

static hb_result read_event(hb_reader *r)
{
    hb_raw_event raw;
    hb_read_row again;
    if (*hb_reader_at(r) != '{') return read_odd_element(r);
    const char *end = read_again(r, &again);
    if (end) {
        if (!hb_event_sink_add_again(&r->sink, &again)) return hb_no_memory();
        r->num_events++;
        hb_reader_move_to(r, end);
        return HB_OK;
    }
    for (;;) {
        const char *p = parse_event(r, hb_reader_at(r), &raw);
        if (HB_LIKELY(p != NULL)) {
            HB_TRY(take_event(r, &raw, p));
            hb_reader_move_to(r, p);
            return HB_OK;
        }
        if (!hb_reader_more(r)) return hb_reader_failed(r);
    }
}

/* `p` is behind an event. The next one, NULL when there is something else. */
static const char *scan_next_event(hb_scan *scan, const char *p)
{
    p = hb_scan_space(p);
    if (*p != ',') return hb_scan_fail(scan, p, "");
    p = hb_scan_space(p + 1);
    return *p == '{' ? p : hb_scan_fail(scan, p, "");
}

bool hb_read_plain_events(hb_reader *r, uint64_t limit, hb_result *result)
{
    hb_raw_event raw;
    hb_read_row again;
    *result = HB_OK;
    while (hb_reader_offset(r) < limit) {
        const char *start = hb_reader_at(r), *end = read_again(r, &again), *next = NULL;
        bool known = end != NULL;
        if (!known && *start == '{') end = parse_event(r, start, &raw);
        if (end) next = scan_next_event(&r->scan, end);
        if (HB_UNLIKELY(!next)) {
            bool waits = r->text->size < HB_MAX_PLAIN_EVENT && hb_reader_more(r);
            if (!waits) return false;
            continue;
        }
        bool added =
            known ? hb_event_sink_add_again(&r->sink, &again) : add_event(r, &raw, start, end);
        if (!added) {
            *result = hb_no_memory();
            return false;
        }
        r->num_events++;
        hb_reader_move_to(r, next);
        if (HB_UNLIKELY(r->num_pending)) hb_reader_take_defects(r);
    }
    return true;
}

static hb_result read_element(hb_reader *r)
{
    r->moved = false;
    HB_TRY(read_event(r));
    if (r->cut || r->moved) return HB_OK;
    if (HB_UNLIKELY(r->num_pending)) hb_reader_take_defects(r);
    return hb_reader_check_bounds(r);
}

/* From behind an element to the next one; *more is false behind the last one. */
static hb_result find_next(hb_reader *r, bool *more)
{
    char c = hb_reader_peek(r);
    if (c == ',') {
        r->pos++;
        c = hb_reader_peek(r);
        if (c == 0) return hb_reader_expected(r, "expected an event");
        if (c != ']' || r->options->strict) return HB_OK;
        hb_reader_note(r, HB_JSON_DEFECT_TRAILING_COMMA, hb_reader_offset(r));
    }
    if (c != ']') return hb_reader_expected(r, "expected ',' or ']' after an event");
    r->pos++;
    *more = false;
    return HB_OK;
}

hb_result hb_read_events(hb_reader *r)
{
    bool more = hb_reader_peek(r) != ']';
    if (!more) r->pos++;
    r->in_list = true;
    if (more) HB_TRY(hb_read_chunks(r));
    while (more && !r->cut) {
        HB_TRY(read_element(r));
        if (!r->cut && !r->moved) HB_TRY(find_next(r, &more));
    }
    r->in_list = false;
    return HB_OK;
}
