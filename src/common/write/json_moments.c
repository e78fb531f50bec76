/* SPDX-License-Identifier: MIT
 *
 * Numbers at a moment, and arrows between scopes.
 */
#include "write/json_parts.h"

/* PyTorch has no such event; this is Kineto's layout of a counter. Viewers name a curve by its key
 * in the args, which is the unit where there is one. */
static void write_number(hb_writer *w, const hb_trace_event *event, hb_str key, double value)
{
    char *p =
        hb_put_head(&w->out, hb_counter_head(HB_CATEGORY_SCALAR), hb_names_get(w->names, event));
    p = hb_put_row(&w->row, p, w->pid, event->tid);
    p = hb_put_us(p, hb_since_base(w, event->start_ns));
    hb_out_done(&w->out, HB_PUT(p, ",\n    \"args\": {\n      "));
    hb_out_json(&w->out, key.s, key.len);
    p = HB_PUT(hb_out_room(&w->out, HB_OUT_ROOM), ": ");
    p = hb_put_double(p, value);
    hb_out_done(&w->out, hb_put_args_end(p));
    w->stats.events++;
}

void hb_write_scalar(hb_writer *w, const hb_trace_event *event)
{
    write_number(w, event, HB_STR("value"), event->scalar);
}

void hb_write_counter(hb_writer *w, const hb_trace_event *event)
{
    const hb_counter_args *counter = &event->counter;
    write_number(w, event, counter->unit.len ? counter->unit : HB_STR("value"), counter->value);
}

char *hb_put_flow_id(char *p, uint64_t id)
{
    if (id < (uint64_t)1 << 53) return hb_put_u64(p, id);
    *p++ = '"';
    p = hb_put_hex(p, id);
    *p++ = '"';
    return p;
}

char hb_flow_letter(hb_flow_phase phase)
{
    return phase == HB_FLOW_BEGIN ? 's' : phase == HB_FLOW_STEP ? 't' : 'f';
}

/* "bp": it belongs to the scope around it, not to the next one. */
void hb_write_user_flow(hb_writer *w, const hb_trace_event *event)
{
    hb_str cat = hb_category_text(HB_CATEGORY_FLOW);
    char *p = hb_out_room(&w->out, HB_OUT_ROOM);
    p = HB_PUT(p, "\n  {\n    \"ph\": \"");
    *p++ = hb_flow_letter(event->flow.phase);
    p = hb_put_flow_id(HB_PUT(p, "\",\n    \"id\": "), event->flow.id);
    p = hb_put_row(&w->row, p, w->pid, event->tid);
    p = hb_put_us(p, hb_since_base(w, event->start_ns));
    p = HB_PUT(p, ",\n    \"cat\": \"");
    memcpy(p, cat.s, cat.len);
    hb_out_done(&w->out, p + cat.len);
    p = hb_put_head(&w->out, HB_STR("\",\n    \"name\": "), hb_names_get(w->names, event));
    p = HB_PUT(p, "\n    ");
    if (event->flow.phase != HB_FLOW_BEGIN) p = HB_PUT(p, ", \"bp\": \"e\"");
    hb_out_done(&w->out, HB_PUT(p, "\n  },"));
    w->stats.events++;
}
