/* SPDX-License-Identifier: MIT
 *
 * One event, as it stood or with a few of its values exchanged. All else keeps its text: the order
 * of members, blanks, digits.
 */
#include <math.h>
#include <stdio.h>

#include "base/json_members.h"
#include "convert/convert.h"
#include "io/number_text.h"
#include "trace/devices.h"

typedef struct edit {
    const char *at;
    size_t cut;
    char text[240];
} edit;

typedef struct edits {
    hb_plan *plan;
    const hb_item *item;
    const hb_raw_event *raw;
    const char *start; /* behind the opening brace */
    edit list[16];
    unsigned count;
    uint32_t part;
    char args[200]; /* members of args that are not there yet */
    size_t args_size;
    bool has_times; /* that are shifted already */
    bool too_many;
} edits;

/* ---- changing values ---- */

HB_PRINTF(4, 5)
static void splice(edits *e, const char *at, size_t cut, const char *format, ...)
{
    unsigned i = 0;
    while (i < e->count && !(cut && e->list[i].at == at && e->list[i].cut == cut))
        i++;
    e->too_many |= i == HB_ARRAY_LEN(e->list);
    if (e->too_many) return;
    if (i == e->count) /* else another text for the same value */
        for (e->count++; i > 0 && e->list[i - 1].at > at; i--)
            e->list[i] = e->list[i - 1];
    e->list[i].at = at;
    e->list[i].cut = cut;
    va_list args;
    va_start(args, format);
    vsnprintf(e->list[i].text, sizeof e->list[i].text, format, args);
    va_end(args);
}

static void replace(edits *e, const hb_value *value, const char *text)
{
    size_t quote = value->type == HB_JSON_STRING;
    splice(e, value->s - quote, value->size + 2 * quote, "%s", text);
}

static bool is_replaced(const edits *e, const hb_value *value)
{
    const char *at = value->s - (value->type == HB_JSON_STRING);
    for (unsigned i = 0; i < e->count; i++)
        if (e->list[i].cut && e->list[i].at == at) return true;
    return false;
}

/* Sets a member of the event; `name` for when it is not there. */
static void set(edits *e, hb_slot slot, const char *name, const char *text)
{
    hb_value value = hb_raw_get(e->raw, slot);
    if (value.type != HB_JSON_NONE)
        replace(e, &value, text);
    else
        splice(e, e->start, 0, "\n    \"%s\": %s,", name, text);
}

/* Adds a member to args. */
static void add_arg(edits *e, const char *name, const char *text)
{
    int n = snprintf(e->args + e->args_size, sizeof e->args - e->args_size, "%s\"%s\": %s",
                     e->args_size ? ", " : "", name, text);
    e->args_size += (size_t)n;
}

/* All members that were added to args at once: it may not be there, or be something else. */
static void write_args(edits *e)
{
    hb_value args = hb_raw_get(e->raw, HB_SLOT_ARGS);
    char text[sizeof e->args + 2];
    bool empty = args.type == HB_JSON_OBJECT && *hb_scan_space(args.s + 1) == '}';
    if (e->args_size == 0) return;
    snprintf(text, sizeof text, "{%s}", e->args);
    if (args.type == HB_JSON_OBJECT)
        splice(e, args.s + 1, 0, "%s%s", e->args, empty ? "" : ", ");
    else if (args.type != HB_JSON_NONE)
        replace(e, &args, text);
    else
        splice(e, e->start, 0, "\n    \"args\": %s,", text);
}

static void set_arg(edits *e, hb_slot slot, const char *name, const char *text)
{
    hb_value value = hb_raw_get(e->raw, slot);
    if (value.type != HB_JSON_NONE)
        replace(e, &value, text);
    else
        add_arg(e, name, text);
}

static void count(edits *e, hb_change change)
{
    e->plan->counts[change]++;
}

static const char *number_text(double value, char text[HB_MAX_NUMBER + 1])
{
    *hb_put_double(text, value) = 0;
    return text;
}

/* ---- what the plugin needs ---- */

static bool category_is(const hb_value *cat, hb_category category)
{
    return cat->type == HB_JSON_STRING &&
           hb_category_is(category, (hb_str){cat->s, (uint32_t)cat->size});
}

static void write_category(edits *e, hb_category category)
{
    char text[40];
    snprintf(text, sizeof text, "\"%s\"", hb_category_text(category).s);
    set(e, HB_SLOT_CAT, "cat", text);
}

static void set_category(edits *e, hb_category category, hb_change change)
{
    hb_value cat = hb_raw_get(e->raw, HB_SLOT_CAT);
    if (hb_value_is(&cat, hb_category_text(category).s)) return;
    write_category(e, category);
    count(e, change);
}

static void set_id(edits *e)
{
    char text[HB_MAX_NUMBER + 1];
    *hb_put_i64(text, e->item->ext) = 0;
    const char *id = e->item->flags & HB_ITEM_NO_ID ? "null" : text;
    hb_value lower = hb_raw_get(e->raw, HB_SLOT_EXTERNAL_LOWER);
    if (lower.type > HB_JSON_NULL) {
        set_arg(e, HB_SLOT_EXTERNAL_LOWER, "external id", id);
        if (!(e->item->flags & HB_ITEM_NO_ID)) return;
    }
    set_arg(e, HB_SLOT_EXTERNAL, "External id", id);
}

/* It may have been given another one and its own again. */
static bool has_its_id(const edits *e)
{
    hb_value lower = hb_raw_get(e->raw, HB_SLOT_EXTERNAL_LOWER);
    hb_value id = lower.type > HB_JSON_NULL ? lower : hb_raw_get(e->raw, HB_SLOT_EXTERNAL);
    hb_slot slot = lower.type > HB_JSON_NULL ? HB_SLOT_EXTERNAL_LOWER : HB_SLOT_EXTERNAL;
    return id.type == HB_JSON_INT && hb_plain_int(e->raw, slot) == e->item->ext;
}

static void edit_call(edits *e)
{
    set_category(e, HB_CATEGORY_RUNTIME, HB_CHANGE_RUNTIME);
    if (!(e->item->flags & HB_ITEM_ID) || has_its_id(e)) return;
    set_id(e);
    if (e->item->ext == HB_NO_ID)
        count(e, HB_CHANGE_NO_OP);
    else if (!(e->item->flags & HB_ITEM_CORR)) /* else it may be its process's other name only */
        count(e, HB_CHANGE_LINK);
}

static void set_int(edits *e, hb_slot slot, const char *name, int64_t value)
{
    char text[HB_MAX_NUMBER + 1];
    *hb_put_i64(text, value) = 0;
    if (slot == HB_SLOT_TID)
        set(e, slot, name, text);
    else
        set_arg(e, slot, name, text);
}

/* What two processes of the file had in common. */
static void edit_process(edits *e)
{
    const hb_item *item = e->item;
    if (item->flags & HB_ITEM_TID) set_int(e, HB_SLOT_TID, "tid", item->tid);
    if (item->flags & HB_ITEM_CORR) set_int(e, HB_SLOT_CORRELATION, "correlation", item->corr);
    if (item->flags & HB_ITEM_ID && item->role != HB_PLAN_CALL) set_id(e);
}

/* A value that is not the whole number `to` becomes it. */
static bool set_number(edits *e, hb_slot slot, const char *name, int to, bool arg)
{
    hb_value value = hb_raw_get(e->raw, slot);
    char text[16];
    int64_t now;
    if (hb_value_int(&value, &now) && now == to) return false;
    snprintf(text, sizeof text, "%d", to);
    if (arg)
        set_arg(e, slot, name, text);
    else
        set(e, slot, name, text);
    return true;
}

/* What is said of the device twice is the same, of one without work, too. */
static void edit_place(edits *e, bool needs_arg)
{
    int number = hb_plan_number(e->plan, e->item->device);
    bool has_arg = needs_arg || hb_raw_get(e->raw, HB_SLOT_DEVICE).type != HB_JSON_NONE;
    if (number < 0) number = e->item->device;
    if (number < 0) return;
    bool pid = set_number(e, HB_SLOT_PID, "pid", number, false);
    bool arg = has_arg && set_number(e, HB_SLOT_DEVICE, "device", number, true);
    if (pid || arg) count(e, HB_CHANGE_DEVICE);
}

static void mend_ratio(edits *e, hb_slot slot)
{
    hb_value value = hb_raw_get(e->raw, slot);
    double ignored;
    if (value.type == HB_JSON_NONE || value.type == HB_JSON_INT) return;
    if (value.type == HB_JSON_FLOAT && hb_plain_number(&value, &ignored)) return;
    replace(e, &value, "0");
    count(e, HB_CHANGE_NUMBER);
}

static void add_blocks(edits *e)
{
    hb_value grid = hb_raw_get(e->raw, HB_SLOT_GRID);
    int number = hb_plan_number(e->plan, e->item->device);
    int sms = number >= 0 && number < HB_PLAN_DEVICES ? e->plan->sms[number] : 0;
    double blocks = grid.type == HB_JSON_ARRAY ? hb_blocks_of_grid(grid.s) : 0;
    char text[HB_MAX_NUMBER + 1];
    if (sms <= 0 || blocks <= 0) {
        count(e, HB_CHANGE_NO_SMS);
        return;
    }
    add_arg(e, "blocks per SM", number_text(blocks / sms, text));
    count(e, HB_CHANGE_BLOCKS);
}

static void edit_work(edits *e)
{
    hb_value cat = hb_raw_get(e->raw, HB_SLOT_CAT);
    edit_place(e, true);
    if (cat.size != 6 || (*cat.s | 32) != 'k') return; /* a copy or a fill */
    mend_ratio(e, HB_SLOT_BLOCKS_PER_SM);
    mend_ratio(e, HB_SLOT_OCCUPANCY);
    if (hb_raw_get(e->raw, HB_SLOT_BLOCKS_PER_SM).type == HB_JSON_NONE) add_blocks(e);
    if (hb_raw_get(e->raw, HB_SLOT_OCCUPANCY).type == HB_JSON_NONE)
        count(e, HB_CHANGE_NO_OCCUPANCY);
}

typedef struct renaming {
    edits *e;
    hb_slot slot;
    bool any;
} renaming;

static bool rename_member(void *context, const hb_value *key, const hb_value *value)
{
    renaming *r = context;
    (void)value;
    if (hb_event_slot(key, true) != (int)r->slot) return true;
    splice(r->e, key->s + key->size, 0, " (as told)");
    r->any = true;
    return true;
}

/* One that is no number is none: its key becomes another, wherever it stands, since of several the
 * last counts. */
static void rename_odd(edits *e, hb_slot slot)
{
    renaming r = {.e = e, .slot = slot};
    hb_value value = hb_raw_get(e->raw, slot), args = hb_raw_get(e->raw, HB_SLOT_ARGS);
    if (hb_adds_up(&value)) return;
    hb_json_each_member((hb_str){args.s, (uint32_t)args.size}, rename_member, &r);
    if (r.any) count(e, HB_CHANGE_ODD);
}

static void edit_memory(edits *e)
{
    rename_odd(e, HB_SLOT_ALLOCATED);
    rename_odd(e, HB_SLOT_RESERVED);
    int64_t type = hb_plain_int(e->raw, HB_SLOT_DEVICE_TYPE);
    if (type == 0 || type == 1) return;
    set_arg(e, HB_SLOT_DEVICE_TYPE, "Device Type", "1");
    count(e, HB_CHANGE_MEMORY);
}

/* An incomplete one can lose the file, and half a pair is none. The plugin knows PyTorch's other
 * name of them not. */
static void edit_flow(edits *e)
{
    hb_value id = hb_raw_get(e->raw, HB_SLOT_ID), ts = hb_raw_get(e->raw, HB_SLOT_TS);
    bool whole = id.type != HB_JSON_NONE && id.type != HB_JSON_ARRAY && id.type != HB_JSON_OBJECT &&
                 ts.type != HB_JSON_NONE;
    if (!whole || hb_plan_is_cut(e->plan)) set_category(e, HB_CATEGORY_FWDBWD, HB_CHANGE_FLOW);
}

/* The plugin multiplies a collective's dims and looks up a type for each; what it cannot read loses
 * the whole run. */
static void edit_collective(edits *e)
{
    enum { MAX_MISSING = 20 };
    hb_value dims = hb_raw_get(e->raw, HB_SLOT_DIMS), types = hb_raw_get(e->raw, HB_SLOT_TYPES);
    hb_value name = hb_raw_get(e->raw, HB_SLOT_NAME);
    bool nested, ignored;
    if (name.type != HB_JSON_STRING || !hb_is_collective((hb_str){name.s, (uint32_t)name.size}))
        return;
    if (dims.type == HB_JSON_NONE) dims = hb_raw_get(e->raw, HB_SLOT_DIMS_LOWER);
    if (dims.type != HB_JSON_NONE && dims.type != HB_JSON_ARRAY) {
        replace(e, &dims, "[]");
        count(e, HB_CHANGE_COLLECTIVE);
        return;
    }
    int num_dims = hb_list_count(&dims, &nested), num_types = hb_list_count(&types, &ignored);
    int missing = num_dims - HB_MAX(num_types, 0);
    if (num_dims <= 0 || (!nested && missing <= 0)) return;
    count(e, HB_CHANGE_COLLECTIVE);
    if (nested || missing > MAX_MISSING || (num_types < 0 && types.type != HB_JSON_NONE)) {
        replace(e, &dims, "[]");
        return;
    }
    char text[4 * MAX_MISSING + 4] = "";
    size_t n = 0;
    for (int i = 0; i < missing; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, i || num_types > 0 ? ", \"\"" : "\"\"");
    char list[sizeof text + 4];
    snprintf(list, sizeof list, "[%s]", text);
    if (num_types < 0)
        add_arg(e, "Input type", list);
    else
        splice(e, types.s + types.size - 1, 0, "%s", text);
}

static bool is_x(const edits *e)
{
    hb_value ph = hb_raw_get(e->raw, HB_SLOT_PH);
    return hb_value_is(&ph, "X");
}

/* The plugin takes records of memory by their phase, in whatever category they are: the older word
 * for the same is drawn, too. */
static void edit_hidden(edits *e)
{
    hb_value ph = hb_raw_get(e->raw, HB_SLOT_PH);
    if (hb_value_is(&ph, "i")) {
        replace(e, &ph, "\"I\"");
        count(e, HB_CHANGE_ODD);
        return;
    }
    hb_change change = HB_CHANGE_ODD;
    if (e->item->role == HB_PLAN_GPU_STEP) change = HB_CHANGE_GPU_STEP;
    uint64_t before = e->plan->counts[change];
    set_category(e, HB_CATEGORY_OUTSIDE_TREE, change);
    /* The plan has counted those that it found. */
    bool planned = hb_item_is_scope(e->item) && e->item->tid != HB_ABSENT;
    if (planned) e->plan->counts[change] = before;
}

/* A number in quotes is none to the plugin; it may have been given another value. An integer stays
 * the one that the plan took it for, beyond what doubles tell apart, too. */
static void unquote(edits *e, hb_slot slot)
{
    hb_value value = hb_raw_get(e->raw, slot);
    char text[HB_MAX_NUMBER + 1];
    double number;
    if (value.type != HB_JSON_STRING || !hb_plain_number(&value, &number) || is_replaced(e, &value))
        return;
    int64_t integer = hb_plain_int(e->raw, slot);
    *(integer == HB_ABSENT ? hb_put_double(text, number) : hb_put_i64(text, integer)) = 0;
    replace(e, &value, text);
}

/* Whatever loses a file wherever it stands. */
static void mend(edits *e)
{
    hb_value name = hb_raw_get(e->raw, HB_SLOT_NAME), cat = hb_raw_get(e->raw, HB_SLOT_CAT);
    hb_value args = hb_raw_get(e->raw, HB_SLOT_ARGS);
    unsigned before = e->count;
    if (name.type != HB_JSON_STRING) set(e, HB_SLOT_NAME, "name", "\"\"");
    if (is_x(e) && (cat.type != HB_JSON_STRING || category_is(&cat, HB_CATEGORY_MEMORY)))
        write_category(e, HB_CATEGORY_OUTSIDE_TREE);
    if (args.type != HB_JSON_NONE && args.type != HB_JSON_OBJECT && !e->args_size)
        replace(e, &args, "{}");
    static const hb_slot numbers[] = {HB_SLOT_TS,         HB_SLOT_DUR,       HB_SLOT_TID,
                                      HB_SLOT_BYTES,      HB_SLOT_ALLOCATED, HB_SLOT_RESERVED,
                                      HB_SLOT_DEVICE_ID,  HB_SLOT_EXTERNAL,  HB_SLOT_EXTERNAL_LOWER,
                                      HB_SLOT_CORRELATION};
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers); i++)
        unquote(e, numbers[i]);
    if (e->count != before) count(e, HB_CHANGE_ODD);
}

static void edit_for_plugin(edits *e)
{
    const hb_item *item = e->item;
    edit_process(e);
    if (item->flags & HB_ITEM_HIDE || item->role == HB_PLAN_GPU_STEP) {
        if (item->role == HB_PLAN_GPU_STEP) edit_place(e, false);
        edit_hidden(e);
        return;
    }
    switch ((hb_plan_role)item->role) {
    case HB_PLAN_CALL: edit_call(e); break;
    case HB_PLAN_WORK: edit_work(e); break;
    case HB_PLAN_SCOPE: set_category(e, HB_CATEGORY_CPU_OP, HB_CHANGE_SCOPE); break;
    case HB_PLAN_MEMORY: edit_memory(e); break;
    case HB_PLAN_FLOW: edit_flow(e); break;
    case HB_PLAN_NODE: edit_collective(e); break;
    case HB_PLAN_ARROW:
    case HB_PLAN_GPU_ANNOTATION: edit_place(e, false); break;
    default: break;
    }
    if (item->flags & HB_ITEM_NO_ID) {
        set_id(e);
        count(e, HB_CHANGE_DOUBLE_ID);
    }
}

static void edit_for_kineto(edits *e)
{
    hb_value cat = hb_raw_get(e->raw, HB_SLOT_CAT), name = hb_raw_get(e->raw, HB_SLOT_NAME);
    unsigned bits =
        name.type == HB_JSON_STRING ? hb_scope_class_of((hb_str){name.s, (uint32_t)name.size}) : 0;
    if (e->item->role == HB_PLAN_CALL && category_is(&cat, HB_CATEGORY_RUNTIME))
        set_category(e, HB_CATEGORY_CUDA_RUNTIME, HB_CHANGE_KINETO);
    else if (category_is(&cat, HB_CATEGORY_OUTSIDE_TREE) ||
             (bits & HB_NAME_LIBRARY && category_is(&cat, HB_CATEGORY_CPU_OP)))
        set_category(e, HB_CATEGORY_USER_ANNOTATION, HB_CHANGE_KINETO);
}

/* ---- times ---- */

static const char *us_text(int64_t ns, char text[HB_MAX_NUMBER + 2])
{
    char *p = text;
    if (ns < 0) *p++ = '-';
    *hb_put_us(p, ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns) = 0;
    return text;
}

/* Ends that were equal stay equal, also as doubles. */
static const char *length_text(int64_t start, int64_t end, char text[HB_MAX_NUMBER + 2])
{
    if (start < 0 || end <= start) return us_text(end - start, text);
    *hb_put_nesting_us(text, (uint64_t)start, (uint64_t)end) = 0;
    return text;
}

/* What another edit made of the length counts. */
static bool length_of(const edits *e, const hb_value *dur, int64_t *ns)
{
    if (e->item->flags & HB_ITEM_DURATION && !e->plan->options->kineto)
        return hb_us_to_ns(e->item->dur, ns);
    return dur->type != HB_JSON_NONE && hb_plan_time(dur, ns);
}

static void set_times(edits *e, double from, double to)
{
    char text[HB_MAX_NUMBER + 2];
    int64_t start, end;
    if (!hb_us_to_ns(from, &start) || !hb_us_to_ns(to, &end)) return;
    e->has_times = true;
    start = hb_plan_shifted(e->plan, start);
    end = hb_plan_shifted(e->plan, end);
    set(e, HB_SLOT_TS, "ts", us_text(start, text));
    set(e, HB_SLOT_DUR, "dur", us_text(HB_MAX(end - start, 1000), text));
}

/* The span of a part was shifted when it was cut. */
static void shift_times(edits *e)
{
    hb_value ts = hb_raw_get(e->raw, HB_SLOT_TS), dur = hb_raw_get(e->raw, HB_SLOT_DUR);
    char text[HB_MAX_NUMBER + 2];
    int64_t start, length;
    if (!e->plan->num_lines || e->has_times || !hb_plan_time(&ts, &start)) return;
    int64_t from = hb_plan_shifted(e->plan, start);
    set(e, HB_SLOT_TS, "ts", us_text(from, text));
    if (!length_of(e, &dur, &length) || length < 0) return;
    set(e, HB_SLOT_DUR, "dur", length_text(from, hb_plan_shifted(e->plan, start + length), text));
}

/* The profiler's own span, cut to the part. */
static void edit_span(edits *e)
{
    const hb_plan *plan = e->plan;
    double start = plan->cuts[e->part], end = plan->cuts[e->part + 1];
    char text[HB_MAX_NUMBER + 1];
    double from = fmax(e->item->ts, start), to = fmin(e->item->ts + e->item->dur, end);
    if (!is_x(e) || isnan(e->item->ts) || isnan(e->item->dur) || to <= from) return;
    if (plan->num_lines && (from > e->item->ts || to < e->item->ts + e->item->dur)) {
        set_times(e, from, to);
        return;
    }
    if (from > e->item->ts) set(e, HB_SLOT_TS, "ts", number_text(from, text));
    if (from > e->item->ts || to < e->item->ts + e->item->dur)
        set(e, HB_SLOT_DUR, "dur", number_text(fmax(to - from, 1), text));
}

/* ---- the event ---- */

static void write_edits(const edits *e, hb_str text, hb_buf *out)
{
    const char *p = text.s;
    for (unsigned i = 0; i < e->count; i++) {
        hb_buf_append(out, p, (size_t)(e->list[i].at - p));
        hb_buf_str(out, e->list[i].text);
        p = e->list[i].at + e->list[i].cut;
    }
    /* A comma is written behind each member that is put first. */
    if (*hb_scan_space(e->start) == '}' && e->count) out->size--;
    hb_buf_append(out, p, (size_t)(text.s + text.len - p));
}

static bool edit_event(hb_plan *plan, const hb_item *item, const hb_raw_event *raw, hb_str text,
                       uint32_t part, hb_buf *out)
{
    edits e = {.plan = plan, .item = item, .raw = raw, .start = text.s + 1, .part = part};
    char number[HB_MAX_NUMBER + 1];
    if (item->flags & HB_ITEM_DURATION && !plan->options->kineto)
        set(&e, HB_SLOT_DUR, "dur", number_text(item->dur, number));
    if (plan->options->kineto) {
        edit_for_kineto(&e);
    } else {
        edit_for_plugin(&e);
        mend(&e);
    }
    write_args(&e);
    if (item->role == HB_PLAN_SPAN && plan->cuts) edit_span(&e);
    shift_times(&e);
    write_edits(&e, text, out);
    return !e.too_many && !out->failed;
}

bool hb_edit_event(hb_plan *plan, const hb_item *item, const hb_raw_event *raw, hb_str text,
                   bool defective, uint32_t part, hb_buf *out)
{
    if (!defective) return edit_event(plan, item, raw, text, part, out);
    hb_buf mended;
    hb_raw_event again;
    hb_buf_init(&mended, SIZE_MAX / 4);
    bool ok =
        hb_clean_event(raw, text, &mended, &again) &&
        edit_event(plan, item, &again, (hb_str){mended.data, (uint32_t)mended.size}, part, out);
    if (ok) plan->counts[HB_CHANGE_CLEAN]++;
    hb_buf_free(&mended);
    return ok;
}
