/* SPDX-License-Identifier: MIT */
#include "read/event_repeats.h"

#include <stdlib.h>

#include "read/event_numbers.h"

enum {
    MAX_NUMBERS = 12,
    MAX_TEXT = 16384,
    FIRST_TRIES = 64, /* learned so often, it must have been of use as often */
};

/* What a number that changes is for. */
typedef enum number_use {
    USE_NONE, /* it need only be one */
    USE_START,
    USE_DURATION,
    USE_DURATION_OF_START, /* which stands before it */
    USE_ID,
    USE_CORRELATION,
} number_use;

typedef struct number {
    uint16_t before; /* bytes of text in front of it */
    uint8_t use;
} number;

struct hb_repeat {
    char *text; /* all but the numbers */
    uint32_t capacity;
    uint32_t trace; /* the number of the trace that the row is of; 0: none */
    uint32_t learned, of_use;
    uint16_t tail; /* bytes behind the last number */
    uint8_t num_numbers;
    number numbers[MAX_NUMBERS];
    hb_read_row row;
};

/* ---- what can be one ---- */

static bool is_scope(const hb_row *row)
{
    return row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_ANNOTATION ||
           row->kind == HB_KIND_PYTHON;
}

static bool has_device_row(const hb_row *row)
{
    return hb_row_is_call(row) || hb_row_is_work(row);
}

/* Frames, memory and flows are more than a row of times and one id. */
static bool can_repeat(const hb_trace *trace, const hb_row *row)
{
    if (hb_row_odd_times(trace, row) || !(row->flags & HB_ROW_TS)) return false;
    if (is_scope(row)) return !hb_trace_op(trace, row)->detail;
    bool plain = row->kind == HB_KIND_SPAN || (row->kind == HB_KIND_OTHER && row->ph == 'X');
    return has_device_row(row) || plain;
}

/* False: the part is text. */
static bool use_of(const hb_trace *trace, const hb_row *row, const hb_event_part *part,
                   number_use *use)
{
    *use = USE_NONE;
    if (!part->is_number) return false;
    switch (part->slot) {
    case HB_SLOT_TS: *use = USE_START; return true;
    case HB_SLOT_DUR: *use = USE_DURATION; return (row->flags & HB_ROW_DUR) != 0;
    case HB_SLOT_EXTERNAL:
    case HB_SLOT_EXTERNAL_LOWER: *use = USE_ID; return true;
    case HB_SLOT_CORRELATION:
        if (has_device_row(row)) *use = USE_CORRELATION;
        return true;
    /* Of use with a stack or a forward thread only, and then there is a detail. */
    case HB_SLOT_SEQUENCE: return is_scope(row) && !hb_trace_op(trace, row)->stack;
    default: return part->slot == HB_SLOT_COUNT;
    }
}

/* ---- learning ---- */

static bool make_room(hb_repeat *r, size_t size)
{
    if (size <= r->capacity) return true;
    if (size > MAX_TEXT) return false;
    size_t capacity = HB_MIN(size + size / 2, (size_t)MAX_TEXT);
    char *text = realloc(r->text, capacity);
    if (!text) return false;
    r->text = text;
    r->capacity = (uint32_t)capacity;
    return true;
}

static bool has_varied(hb_varying *v, unsigned i, const hb_event_part *part)
{
    if (i >= HB_MAX_EVENT_PARTS) return true;
    uint32_t hash = hb_hash_bytes(part->start, (size_t)(part->end - part->start)) | 1;
    if (v->seen[i] && v->seen[i] != hash) v->varies |= UINT64_C(1) << i;
    v->seen[i] = hash;
    return v->varies >> i & 1;
}

static void take_text(hb_repeat *r, const char **from, const char *to, size_t *size)
{
    memcpy(r->text + *size, *from, (size_t)(to - *from));
    *size += (size_t)(to - *from);
    *from = to;
}

/* Cuts the event's text where numbers stand. False: there are too many. */
static bool cut(hb_repeat *r, hb_varying *varying, const hb_event_text *event,
                const hb_trace *trace, const hb_row *row)
{
    const char *from = event->start;
    size_t size = 0, cut_at = 0;
    bool has_id = false, has_start = false;
    r->num_numbers = 0;
    for (unsigned i = 0; i < event->num_parts; i++) {
        const hb_event_part *part = &event->parts[i];
        number_use use;
        if (!use_of(trace, row, part, &use)) continue;
        if (use == USE_NONE && !has_varied(varying, i, part)) continue;
        if (r->num_numbers == MAX_NUMBERS || (use == USE_ID && has_id)) return false;
        has_id |= use == USE_ID;
        has_start |= use == USE_START;
        if (use == USE_DURATION && has_start) use = USE_DURATION_OF_START;
        take_text(r, &from, part->start, &size);
        from = part->end;
        r->numbers[r->num_numbers++] = (number){(uint16_t)(size - cut_at), (uint8_t)use};
        cut_at = size;
    }
    take_text(r, &from, event->end, &size);
    memset(r->text + size, 0, HB_SAME_PADDING);
    r->tail = (uint16_t)(size - cut_at);
    return true;
}

void hb_repeat_learn(hb_repeat **repeat, hb_varying *varying, const hb_event_text *event,
                     const hb_trace *trace, uint32_t trace_number)
{
    const hb_row *row = hb_trace_row(trace, trace->rows.count - 1);
    if (!can_repeat(trace, row) || event->num_parts > HB_MAX_EVENT_PARTS) return;
    if (!*repeat) *repeat = calloc(1, sizeof **repeat);
    hb_repeat *r = *repeat;
    if (!r || (r->learned >= FIRST_TRIES && r->of_use < r->learned)) return;
    r->learned++;
    r->trace = 0;
    if (!make_room(r, (size_t)(event->end - event->start) + HB_SAME_PADDING)) return;
    if (!cut(r, varying, event, trace, row)) return;
    r->row.row = *row;
    r->row.row.flags &= (uint16_t) ~(HB_ROW_TS_INT | HB_ROW_DUR_INT | HB_ROW_NESTED);
    if (has_device_row(row)) r->row.device = *hb_trace_device(trace, row);
    r->trace = trace_number;
}

bool hb_repeat_is_stale(const hb_repeat *r, uint32_t trace_number)
{
    return !r || r->trace != trace_number;
}

void hb_repeat_free(hb_repeat *r)
{
    if (r) free(r->text);
    free(r);
}

/* ---- matching ---- */

/* Whatever hb_trace_id() makes no index of. */
static inline const char *take_id(const char *p, hb_id *id)
{
    enum { MAX_DIGITS = 9 };
    uint64_t value = 0;
    const char *end = hb_take_digits(p, &value);
    if (end == p || end - p > MAX_DIGITS || (*p == '0' && end > p + 1) || *end == '.') return NULL;
    *id = (hb_id)value + 1;
    return end;
}

static inline const char *take_time(const char *p, int64_t *ns, hb_row *row, uint16_t int_flag)
{
    bool has_point;
    p = hb_take_plain_time(p, ns, &has_point);
    if (p && !has_point) row->flags |= int_flag;
    return p;
}

/* A duration with more decimals, by which the event nests in doubles, too. Both operands are exact,
 * so the quotient is what strtod() makes of the text. */
static const char *take_nesting(const char *p, hb_row *row)
{
    static const double scales[] = {1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    enum { LEAST = 4, MOST = LEAST + HB_ARRAY_LEN(scales) - 1, MAX_DIGITS = 15 };
    uint64_t digits = 0;
    const char *point = hb_take_digits(p, &digits), *end;
    if (point == p || point - p > MAX_DIGITS - MOST || *point != '.') return NULL;
    if (*p == '0' && point > p + 1) return NULL;
    end = hb_take_digits(point + 1, &digits);
    ptrdiff_t decimals = end - point - 1;
    if (decimals < LEAST || decimals > MOST) return NULL;
    double us = (double)digits / scales[decimals - LEAST];
    if (!hb_us_to_ns(us, &row->duration) || hb_ns_to_us(row->duration) == us) return NULL;
    if (!hb_row_nests_by(row, us)) return NULL;
    row->flags |= HB_ROW_NESTED;
    return end;
}

static const char *take_duration(const char *p, hb_row *row)
{
    const char *end = take_time(p, &row->duration, row, HB_ROW_DUR_INT);
    return HB_LIKELY(end != NULL) ? end : take_nesting(p, row);
}

static inline const char *take_number(const char *p, number_use use, hb_read_row *again)
{
    bool has_point;
    switch (use) {
    case USE_NONE: return hb_behind_number(p, &has_point);
    case USE_START: return take_time(p, &again->row.start, &again->row, HB_ROW_TS_INT);
    case USE_DURATION: return take_time(p, &again->row.duration, &again->row, HB_ROW_DUR_INT);
    case USE_DURATION_OF_START: return take_duration(p, &again->row);
    case USE_ID: return take_id(p, &again->row.id);
    case USE_CORRELATION: return take_id(p, &again->device.correlation);
    }
    return NULL;
}

const char *hb_repeat_match(hb_repeat *r, const char *p, uint32_t trace_number, hb_read_row *again)
{
    if (hb_repeat_is_stale(r, trace_number)) return NULL;
    const char *text = r->text;
    *again = r->row;
    for (unsigned i = 0; i < r->num_numbers; i++) {
        const number *n = &r->numbers[i];
        if (!hb_same_text(p, text, n->before)) return NULL;
        p = take_number(p + n->before, (number_use)n->use, again);
        if (!p) return NULL;
        text += n->before;
    }
    if (!hb_same_text(p, text, r->tail)) return NULL;
    r->of_use++;
    return p + r->tail;
}

bool hb_event_sink_add_again(hb_event_sink *sink, const hb_read_row *again)
{
    hb_row *row = hb_builder_row(&sink->builder);
    *row = again->row;
    if (has_device_row(row)) *hb_builder_device(&sink->builder, row) = again->device;
    return !sink->builder.failed;
}
