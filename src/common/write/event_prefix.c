/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "write/json_parts.h"

/* Up to the name, by category. */
typedef hb_str heads[HB_CATEGORIES];
#define HEAD(id, before, text, after)                                                \
    [HB_CATEGORY_##id] = {"\n  {\n    \"ph\": " before "    \"cat\": \"" text after, \
                          sizeof("\n  {\n    \"ph\": " before "    \"cat\": \"" text after) - 1},

static const heads complete_heads = {
#define HB_CATEGORY(id, text, match, kind, plugin) HEAD(id, "\"X\",\n", text, "\",\n    \"name\": ")
#include "rules/categories.def"
};

static const heads instant_heads = {
#define HB_CATEGORY(id, text, match, kind, plugin) \
    HEAD(id, "\"i\",\n    \n", text, "\",\n    \"s\": \"t\",\n    \"name\": ")
#include "rules/categories.def"
};

static const heads counter_heads = {
#define HB_CATEGORY(id, text, match, kind, plugin) HEAD(id, "\"C\",\n", text, "\",\n    \"name\": ")
#include "rules/categories.def"
};

hb_str hb_complete_head(hb_category category)
{
    return complete_heads[category];
}

hb_str hb_instant_head(hb_category category)
{
    return instant_heads[category];
}

hb_str hb_counter_head(hb_category category)
{
    return counter_heads[category];
}

char *hb_put_head(hb_out *out, hb_str head, hb_str name)
{
    if (HB_UNLIKELY(name.len > HB_OUT_BLOCK / 2)) {
        hb_out_bytes(out, head.s, head.len);
        hb_out_bytes(out, name.s, name.len);
        return hb_out_room(out, HB_OUT_ROOM);
    }
    char *p = hb_out_room(out, head.len + name.len + HB_OUT_ROOM);
    memcpy(p, head.s, head.len);
    memcpy(p + head.len, name.s, name.len);
    return p + head.len + name.len;
}

char *hb_put_new_row(hb_row_text *row, char *p, int64_t pid, int64_t tid)
{
    char *end = row->text;
    end = HB_PUT(end, ",\n    \"pid\": ");
    end = hb_put_i64(end, pid);
    end = HB_PUT(end, ",\n    \"tid\": ");
    end = hb_put_u64(end, hb_row_number(tid));
    end = HB_PUT(end, ",\n    \"ts\": ");
    row->pid = pid;
    row->tid = tid;
    row->len = (uint32_t)(end - row->text);
    memcpy(p, row->text, row->len);
    return p + row->len;
}

/* "0.000" where the clock went back. */
static char *put_dur(char *p, uint64_t start, uint64_t end, bool exact_end)
{
    if (end <= start) return HB_PUT(p, "0.000");
    return exact_end ? hb_put_nesting_us(p, start, end) : hb_put_us(p, end - start);
}

/* Writes all of the head but its end, which it returns. */
static hb_str put_own_category(hb_out *out, hb_str category)
{
    HB_OUT(out, "\n  {\n    \"ph\": \"X\",\n    \"cat\": ");
    hb_out_json(out, category.s, category.len);
    return HB_STR(",\n    \"name\": ");
}

char *hb_put_duration_event(hb_writer *w, const hb_trace_event *event, const hb_place *place,
                            int64_t pid)
{
    uint64_t start = hb_since_base(w, event->start_ns), end = hb_since_base(w, place->end_ns);
    hb_str head = complete_heads[place->category], name = hb_names_get(w->names, event);
    if (HB_UNLIKELY(place->own.len)) head = put_own_category(&w->out, place->own);
    char *p = hb_put_head(&w->out, head, name);
    p = hb_put_row(&w->row, p, pid, event->tid);
    p = hb_put_us(p, start);
    p = HB_PUT(p, ",\n    \"dur\": ");
    p = put_dur(p, start, end, place->in_tree);
    w->stats.events++;
    return HB_PUT(p, "\n    ,\n    \"args\": {\n      ");
}

void hb_write_flow(hb_writer *w, bool start, uint64_t id, hb_category category,
                   const hb_trace_event *event, int64_t pid)
{
    hb_str cat = hb_category_text(category);
    char *p = hb_out_room(&w->out, HB_OUT_ROOM);
    p = start ? HB_PUT(p, "\n  {\n    \"ph\": \"s\",\n    \"id\": ")
              : HB_PUT(p, "\n  {\n    \"ph\": \"f\",\n    \"id\": ");
    p = hb_put_u64(p, id);
    p = hb_put_row(&w->row, p, pid, event->tid);
    p = hb_put_us(p, hb_since_base(w, event->start_ns));
    p = HB_PUT(p, ",\n    \"cat\": \"");
    memcpy(p, cat.s, cat.len);
    p = HB_PUT(p + cat.len, "\",\n    \"name\": \"");
    memcpy(p, cat.s, cat.len);
    p = HB_PUT(p + cat.len, "\"\n    ");
    if (!start) p = HB_PUT(p, ", \"bp\": \"e\"");
    p = HB_PUT(p, "\n  },");
    w->stats.events++;
    hb_out_done(&w->out, p);
}
