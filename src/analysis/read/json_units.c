/* SPDX-License-Identifier: MIT */
#include "read/json_units.h"

#include <stdio.h>

enum { CHECK_INTERVAL = 8 << 20 };

/* ---- defects ---- */

void hb_reader_note(hb_reader *r, hb_json_defect defect, uint64_t offset)
{
    r->report->counts[defect]++;
    if (r->report->num_notes < HB_READ_MAX_NOTES)
        r->report->notes[r->report->num_notes++] = (hb_read_note){defect, offset};
}

static void on_defect(void *context, hb_json_defect defect, const char *at)
{
    hb_reader *r = context;
    for (uint32_t i = 0; i < r->num_pending; i++)
        if (r->pending[i].defect == defect) return; /* one of a sort for each unit */
    if (r->num_pending == HB_ARRAY_LEN(r->pending)) return;
    r->pending[r->num_pending++] =
        (hb_read_note){defect, r->text->offset + (uint64_t)(at - r->text->data)};
}

void hb_reader_take_defects(hb_reader *r)
{
    for (uint32_t i = 0; i < r->num_pending; i++)
        hb_reader_note(r, r->pending[i].defect, r->pending[i].offset);
    r->num_pending = 0;
}

/* ---- the window ---- */

void hb_reader_init(hb_reader *r, hb_text *text, hb_trace *trace, hb_layouts *layouts,
                    const hb_read_options *options, hb_read_report *report)
{
    *r = (hb_reader){
        .text = text, .trace = trace, .layouts = layouts, .options = options, .report = report};
    hb_layouts_begin_trace(layouts);
    r->scan = (hb_scan){.end = text->data + text->size,
                        .check_na = options->check_na,
                        .defect = on_defect,
                        .context = r};
    hb_event_sink_init(&r->sink, trace, !options->strict);
}

void hb_reader_free(hb_reader *r)
{
    hb_event_sink_free(&r->sink);
}

void hb_reader_seek(hb_reader *r, uint64_t offset)
{
    hb_text_seek(r->text, offset);
    r->pos = 0;
    r->num_pending = 0;
    r->scan.end = r->scan.at = r->text->data;
}

bool hb_reader_more(hb_reader *r)
{
    if (!hb_scan_cut(&r->scan) || r->text->eof) return false;
    r->num_pending = 0;
    bool got = hb_text_more(r->text, r->pos);
    r->pos = 0;
    r->scan.end = r->text->data + r->text->size;
    if (!got) r->scan.at = r->scan.end;
    return got;
}

char hb_reader_peek(hb_reader *r)
{
    for (;;) {
        const char *p = hb_scan_space(hb_reader_at(r));
        if (p < r->scan.end) {
            hb_reader_move_to(r, p);
            return *p;
        }
        r->pos = r->text->size;
        r->scan.at = r->scan.end;
        if (!hb_reader_more(r)) return 0;
    }
}

/* ---- failures ---- */

static hb_result syntax_error(hb_reader *r)
{
    uint64_t offset = r->text->offset + (uint64_t)(r->scan.at - r->text->data);
    return hb_fail(HB_ERROR_FORMAT, "byte %llu: %s", (unsigned long long)offset, r->scan.why);
}

/* The text ended inside the unit at pos: what came before is kept. */
static hb_result cut_off(hb_reader *r)
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
    hb_reader_note(r, HB_JSON_DEFECT_CUT, hb_reader_offset(r));
    snprintf(r->report->cut_reason, sizeof r->report->cut_reason, "%s",
             r->text->result != HB_OK ? r->text->error : "the text ends too early");
    return HB_OK;
}

/* What stands at pos may be whole, when the error is that it stands there. */
static bool find_again(hb_reader *r)
{
    bool inside = r->scan.at > hb_reader_at(r);
    if (r->in_list) return hb_find_event(r, hb_reader_offset(r) + inside, UINT64_MAX);
    return !r->trace->has_events && hb_find_list(r);
}

static hb_result recover(hb_reader *r)
{
    hb_result result = syntax_error(r);
    uint64_t offset = r->text->offset + (uint64_t)(r->scan.at - r->text->data);
    if (r->options->strict) return result;
    r->moved = find_again(r);
    if (!r->moved && !r->num_events) return result;
    r->num_pending = 0;
    r->cut = !r->moved;
    hb_reader_note(r, HB_JSON_DEFECT_DAMAGED, offset);
    return HB_OK;
}

hb_result hb_reader_failed(hb_reader *r)
{
    return r->scan.at >= r->scan.end ? cut_off(r) : recover(r);
}

hb_result hb_reader_expected(hb_reader *r, const char *what)
{
    hb_scan_fail(&r->scan, hb_reader_at(r), what);
    return hb_reader_failed(r);
}

hb_result hb_reader_check_bounds(hb_reader *r)
{
    uint64_t offset = hb_reader_offset(r);
    if (HB_LIKELY(offset < r->next_check)) return HB_OK;
    r->next_check = offset + CHECK_INTERVAL;
    size_t bytes = hb_trace_memory_bytes(r->trace);
    if (bytes > r->max_bytes)
        return hb_fail(HB_ERROR_LIMIT, "the trace needs over %zu MiB of memory at byte %llu",
                       r->max_bytes >> 20, (unsigned long long)offset);
    const hb_read_options *o = r->options;
    if (o->progress && !o->progress(o->context, offset, r->text->total))
        return hb_fail(HB_ERROR_STATE, "stopped at byte %llu", (unsigned long long)offset);
    return HB_OK;
}
