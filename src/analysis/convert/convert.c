/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "convert/convert.h"
#include "io/gzip.h"
#include "io/out.h"
#include "io/publish.h"
#include "read/packed_file.h"

/* ---- one file ---- */

typedef struct output {
    hb_plan *plan;
    hb_publish publish;
    hb_gzip gzip;
    bool compresses;
    hb_out out;
    hb_buf event;
    uint32_t part;
    uint64_t events;
} output;

static hb_result open_output(output *o, const char *path, bool gzip)
{
    hb_buf_init(&o->event, SIZE_MAX / 4);
    HB_TRY(hb_publish_open(&o->publish, path, o->plan->options->replace));
    if (gzip) HB_TRY(hb_gzip_open(&o->gzip, &o->publish.sink, NULL, 0, HB_GZIP_SMALLER));
    o->compresses = gzip;
    return hb_out_open(&o->out, gzip ? &o->gzip.sink : &o->publish.sink);
}

static hb_result finish_output(output *o)
{
    HB_TRY(hb_out_finish(&o->out));
    return o->compresses ? hb_gzip_finish(&o->gzip) : HB_OK;
}

/* Not committed, it leaves no file. */
static void close_output(output *o)
{
    hb_out_free(&o->out);
    if (o->compresses) hb_gzip_free(&o->gzip);
    hb_publish_free(&o->publish);
    hb_buf_free(&o->event);
}

typedef struct changes {
    uint64_t counts[HB_CHANGE_COUNT];
} changes;

/* What all files have is written for each, and changed once: the first file's counts. */
static changes counted_before(const output *o)
{
    changes c;
    memcpy(c.counts, o->plan->counts, sizeof c.counts);
    return c;
}

static void count_once(output *o, const changes *before)
{
    if (o->part) memcpy(o->plan->counts, before->counts, sizeof before->counts);
}

static void put_event(output *o, uint32_t place, const hb_raw_event *raw, hb_str text,
                      bool defective)
{
    const hb_item *item = hb_plan_item(o->plan, place);
    o->event.size = 0;
    if (!hb_edit_event(o->plan, item, raw, text, defective, o->part, &o->event)) {
        o->plan->counts[HB_CHANGE_LOST]++;
        return;
    }
    if (o->plan->counted.size) hb_put_counters(o->plan, place, &o->event);
    if (o->events++) HB_OUT(&o->out, ",\n  ");
    hb_out_bytes(&o->out, o->event.data, o->event.size);
}

/* The list without its bracket, and a device for each number that is used. Of several lists, of
 * which the last counts, this may be one that has none. */
static void write_properties(output *o, hb_str list)
{
    hb_plan *plan = o->plan;
    int needed = plan->max_memory_device + 1;
    for (int i = 0; i < plan->num_devices; i++)
        needed = HB_MAX(needed, plan->numbers[i] + 1);
    needed = HB_MIN(needed, HB_PLAN_DEVICES); /* more were not counted */
    bool has_any = *list.s == '[' && *hb_scan_space(list.s + 1) == '{';
    if (plan->num_properties == 0 || plan->num_properties >= needed || !has_any) {
        hb_out_bytes(&o->out, list.s, list.len);
        return;
    }
    hb_out_bytes(&o->out, list.s, list.len - 1);
    for (int i = plan->num_properties; i < needed; i++) {
        char text[64];
        int len = snprintf(text, sizeof text, ", {\"id\": %d, \"name\": \"\"}", i);
        hb_out_bytes(&o->out, text, (size_t)len);
    }
    HB_OUT(&o->out, "]");
    plan->counts[HB_CHANGE_PROPERTIES] += (uint64_t)(needed - plan->num_properties);
}

/* A number in quotes behind a name: the opening quote, and the digits up to the closing one,
 * without the naughts in front that JSON knows not. */
static bool find_quoted(const char *p, const char *end, const char **open, hb_str *digits)
{
    p = hb_scan_space(p);
    if (p >= end || *p != ':') return false;
    p = hb_scan_space(p + 1);
    if (p >= end || *p != '"') return false;
    *open = p++;
    while (p + 1 < end && *p == '0' && p[1] >= '0' && p[1] <= '9')
        p++;
    digits->s = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    digits->len = (uint32_t)(p - digits->s);
    return p < end && *p == '"' && digits->len;
}

/* Anything else loses the file. */
static hb_str list_of_objects(output *o, hb_str json)
{
    if (hb_is_list_of_objects(json) || (json.len == 4 && memcmp(json.s, "null", 4) == 0))
        return json;
    o->plan->counts[HB_CHANGE_ODD]++;
    return HB_STR("[]");
}

/* The plugin compares capabilities with numbers. */
static hb_str unquote_capabilities(output *o, hb_str json, hb_buf *out)
{
    static const char name[] = "\"computeM"; /* ajor, inor */
    const char *p = json.s, *end = json.s + json.len, *at = p, *open;
    hb_str digits;
    uint64_t before = o->plan->counts[HB_CHANGE_COMPUTE];
    while ((at = memmem(at, (size_t)(end - at), name, sizeof name - 1)) != NULL) {
        at += sizeof name - 1;
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (!quote || !find_quoted(quote + 1, end, &open, &digits)) continue;
        hb_buf_append(out, p, (size_t)(open - p));
        hb_buf_append(out, digits.s, digits.len);
        p = at = digits.s + digits.len + 1;
        o->plan->counts[HB_CHANGE_COMPUTE]++;
    }
    if (o->plan->counts[HB_CHANGE_COMPUTE] == before) return json;
    hb_buf_append(out, p, (size_t)(end - p));
    return (hb_str){out->data, (uint32_t)out->size};
}

static bool is_defective(const hb_read_report *report)
{
    return report->counts[HB_JSON_DEFECT_CONTROL] || report->counts[HB_JSON_DEFECT_BAD_ESCAPE] ||
           report->counts[HB_JSON_DEFECT_BAD_UTF8] || report->counts[HB_JSON_DEFECT_SURROGATE] ||
           report->counts[HB_JSON_DEFECT_BARE_NA];
}

/* The key of another list than the one that was read: readers who take the last of several, and
 * know escaped letters in keys, would take it instead. */
static bool is_list_of_events(hb_str key)
{
    return hb_str_is(key, "traceEvents");
}

static void write_member(output *o, hb_str key, hb_str json)
{
    if (hb_plan_is_old_clock(o->plan, key) || is_list_of_events(key)) return;
    HB_OUT(&o->out, "  ");
    hb_out_json(&o->out, key.s, key.len);
    HB_OUT(&o->out, ": ");
    if (key.len == 16 && memcmp(key.s, "deviceProperties", 16) == 0 && !o->plan->options->kineto) {
        hb_buf mended;
        hb_buf_init(&mended, SIZE_MAX / 4);
        write_properties(o, unquote_capabilities(o, list_of_objects(o, json), &mended));
        hb_buf_free(&mended);
    } else {
        hb_out_bytes(&o->out, json.s, json.len);
    }
    HB_OUT(&o->out, ",\n");
}

static void write_head(output *o)
{
    const hb_trace *trace = &o->plan->trace;
    changes before = counted_before(o);
    HB_OUT(&o->out, "{\n");
    for (uint32_t i = 0; i < trace->num_members; i++)
        write_member(o, hb_trace_text(trace, trace->members[i].key),
                     hb_trace_text(trace, trace->members[i].json));
    count_once(o, &before);
    if (o->plan->clock.size) {
        HB_OUT(&o->out, "  \"hipboard_clock\": ");
        hb_out_bytes(&o->out, o->plan->clock.data, o->plan->clock.size);
        HB_OUT(&o->out, ",\n");
    }
    HB_OUT(&o->out, "  \"traceEvents\": [\n  ");
}

/* ---- files that are written together ---- */

/* The input is read once for so many; each takes some megabytes where it is compressed. */
#define MOST_OUTPUTS 32u

typedef struct outputs {
    hb_plan *plan;
    output *list;
    uint32_t first, count; /* parts */
    uint32_t next;         /* of the items */
} outputs;

static bool write_event(void *context, const hb_raw_event *raw, hb_str text, bool defective)
{
    outputs *all = context;
    if (all->next >= all->plan->items.count) return false; /* the file has grown since */
    uint32_t place = all->next++, part = hb_plan_item(all->plan, place)->part;
    if (part != HB_PART_ALL) {
        if (part < all->first || part - all->first >= all->count) return true;
        output *o = &all->list[part - all->first];
        put_event(o, place, raw, text, defective);
        return o->out.result == HB_OK;
    }
    for (output *o = all->list; o < all->list + all->count; o++) {
        changes before = counted_before(o);
        put_event(o, place, raw, text, defective);
        count_once(o, &before);
        if (o->out.result != HB_OK) return false;
    }
    return true;
}

static bool progress(void *context, uint64_t bytes, uint64_t total)
{
    const hb_plan *plan = ((outputs *)context)->plan;
    const hb_convert_options *o = plan->options;
    return !o->progress || o->progress(o->context, plan->input, bytes, total);
}

/* NULL: all could be written so far. */
static output *failed_one(const outputs *all)
{
    for (output *o = all->list; o < all->list + all->count; o++)
        if (o->out.result != HB_OK) return o;
    return NULL;
}

static hb_result read_events(outputs *all)
{
    hb_plan *plan = all->plan;
    hb_read_options options = {.event = write_event, .progress = progress, .context = all};
    hb_trace ignored;
    hb_read_report report;
    hb_result result = hb_read_trace(plan->input, &options, &ignored, &report);
    hb_trace_free(&ignored);
    if (result != HB_OK || failed_one(all) || !plan->steps.size) return result;
    result = hb_read_trace_memory(plan->steps.data, plan->steps.size, &options, &ignored, &report);
    hb_trace_free(&ignored);
    return result;
}

/* What could not be written tells more than that reading was given up. */
static hb_result write_text(outputs *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        write_head(&all->list[i]);
    hb_result result = read_events(all);
    output *failed = failed_one(all);
    if (failed) return hb_out_finish(&failed->out);
    HB_TRY(result);
    for (uint32_t i = 0; i < all->count; i++) {
        HB_OUT(&all->list[i].out, "\n  ]\n}\n");
        HB_TRY(finish_output(&all->list[i]));
    }
    return HB_OK;
}

/* Nothing was to be changed: the input's own bytes, or its text when only one of the two is
 * compressed. */
static hb_result copy_text(output *o, bool raw)
{
    hb_text text;
    HB_TRY(hb_text_open(&text, o->plan->input, raw ? HB_TEXT_PLAIN : HB_TEXT_AUTO));
    do {
        hb_out_bytes(&o->out, text.data, text.size);
    } while (o->out.result == HB_OK && hb_text_more(&text, text.size));
    hb_result result = text.result;
    if (result != HB_OK) hb_fail(result, "%s: %s", o->plan->input, text.error);
    hb_text_close(&text);
    return result;
}

static bool has_changed(const hb_plan *plan)
{
    static const bool unknown[] = {
#define HB_MEND(id, key, unknown, text) unknown,
#include "rules/mends.def"
    };
    for (size_t i = 0; i < HB_CHANGE_COUNT; i++)
        if (plan->counts[i] && !unknown[i]) return true;
    return plan->num_parts > 1 || is_defective(&plan->report);
}

/* A trace without events is none. */
static hb_result check_any_is_left(const outputs *all)
{
    bool any = all->plan->counts[HB_CHANGE_LOST] == 0;
    for (uint32_t i = 0; i < all->count && !any; i++)
        any = all->list[i].events > 0;
    return any ? HB_OK
               : hb_fail(HB_ERROR_FORMAT, "%s: its events are too broken to keep",
                         all->plan->input);
}

/* What needed no change is written again as it stands, blanks included. */
static hb_result write_together(outputs *all, char *const *paths, uint64_t *events)
{
    hb_plan *plan = all->plan;
    uint32_t count = all->count;
    hb_result result = HB_OK;
    for (all->count = 0; all->count < count && result == HB_OK; all->count++) {
        output *o = &all->list[all->count];
        *o = (output){.plan = plan, .part = all->first + all->count};
        result = open_output(o, paths[o->part], plan->options->gzip);
    }
    if (result == HB_OK) result = write_text(all);
    if (result == HB_OK) result = check_any_is_left(all);
    for (uint32_t i = 0; i < all->count; i++) {
        if (result == HB_OK && has_changed(plan)) result = hb_publish_commit(&all->list[i].publish);
        *events += all->list[i].events;
        close_output(&all->list[i]);
    }
    return result;
}

static bool is_gzip(const char *path)
{
    hb_text text;
    if (hb_text_open(&text, path, HB_TEXT_PLAIN) != HB_OK) return false;
    hb_text_more(&text, 0);
    bool gzip = (unsigned char)text.data[0] == 0x1f && (unsigned char)text.data[1] == 0x8b;
    hb_text_close(&text);
    return gzip;
}

static hb_result write_verbatim(hb_plan *plan, const char *path)
{
    output *o = calloc(1, sizeof *o);
    if (!o) return hb_fail(HB_ERROR_NO_MEMORY, "no memory to write '%s'", path);
    bool raw = is_gzip(plan->input) == plan->options->gzip;
    o->plan = plan;
    hb_result result = open_output(o, path, plan->options->gzip && !raw);
    if (result == HB_OK) result = copy_text(o, raw);
    if (result == HB_OK) result = finish_output(o);
    if (result == HB_OK) result = hb_publish_commit(&o->publish);
    close_output(o);
    free(o);
    return result;
}

/* The input is read twice. */
static hb_result check_input(const char *path)
{
    hb_packed_file file;
    HB_TRY(hb_open_packed(path, &file));
    close(file.fd);
    if (S_ISREG(file.st.st_mode) || S_ISDIR(file.st.st_mode))
        return HB_OK; /* the reader refuses those */
    return hb_fail(HB_ERROR_IO, "cannot read '%s' twice: give it as standard input, -", path);
}

/* ---- the conversion ---- */

typedef struct conversion {
    hb_conversion public;
    char **paths;
    hb_convert_note notes[HB_CHANGE_COUNT];
} conversion;

/* A name that ends in ".<digits>" gets more of them, so that the worker stays the same. */
static char *part_path(const hb_plan *plan, const char *directory, const char *name, uint32_t part)
{
    const char *dot = strrchr(name, '.');
    bool span = dot && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1);
    char number[16] = "", *path;
    if (plan->num_parts > 1) snprintf(number, sizeof number, "%s%04u", span ? "" : ".", part + 1);
    if (asprintf(&path, "%s/%s%s.pt.trace.json%s", directory, name, number,
                 plan->options->gzip ? ".gz" : "") < 0)
        return NULL;
    return path;
}

static hb_result write_parts(hb_plan *plan, conversion *c)
{
    outputs all = {.plan = plan};
    all.list = malloc(HB_MIN(plan->num_parts, MOST_OUTPUTS) * sizeof *all.list);
    hb_result result = all.list ? HB_OK : hb_no_memory();
    for (uint32_t first = 0; first < plan->num_parts && result == HB_OK; first += MOST_OUTPUTS) {
        all.first = first;
        all.count = HB_MIN(plan->num_parts - first, MOST_OUTPUTS);
        all.next = 0;
        result = write_together(&all, c->paths, &c->public.events);
    }
    free(all.list);
    /* A broken key, or what stood among the events and was none. */
    if (is_defective(&plan->report) && !plan->counts[HB_CHANGE_LOST])
        plan->counts[HB_CHANGE_CLEAN] = HB_MAX(plan->counts[HB_CHANGE_CLEAN], 1);
    c->public.identical = result == HB_OK && !has_changed(plan);
    return c->public.identical ? write_verbatim(plan, c->paths[0]) : result;
}

static hb_result name_parts(hb_plan *plan, conversion *c, const char *directory, const char *name)
{
    c->paths = calloc(plan->num_parts, sizeof *c->paths);
    if (!c->paths) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for %u paths", plan->num_parts);
    c->public.paths = (const char *const *)c->paths;
    for (uint32_t i = 0; i < plan->num_parts; i++) {
        c->paths[i] = part_path(plan, directory, name, i);
        if (!c->paths[i]) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a path");
        c->public.num_paths++;
    }
    return HB_OK;
}

static void list_notes(const hb_plan *plan, conversion *c)
{
    static const hb_convert_note all[] = {
#define HB_MEND(id, key, unknown, text) {key, text, 0, unknown},
#include "rules/mends.def"
    };
    c->public.notes = c->notes;
    for (size_t i = 0; i < HB_CHANGE_COUNT; i++) {
        if (plan->counts[i] == 0) continue;
        c->notes[c->public.num_notes] = all[i];
        c->notes[c->public.num_notes++].count = plan->counts[i];
    }
}

static bool has_known_events(const hb_plan *plan)
{
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (item->role >= HB_PLAN_NODE && item->role <= HB_PLAN_MEMORY) return true;
    }
    return false;
}

/* Mended before anything is decided by them. */
static hb_result clean_members(hb_plan *plan)
{
    static const hb_raw_event none = {0};
    hb_buf text;
    if (!is_defective(&plan->report)) return HB_OK;
    hb_buf_init(&text, SIZE_MAX / 4);
    for (uint32_t i = 0; i < plan->trace.num_members && !text.failed; i++) {
        hb_str json = hb_trace_text(&plan->trace, plan->trace.members[i].json);
        text.size = 0;
        if (!hb_clean_json(&none, json, &text) ||
            (text.size == json.len && memcmp(text.data, json.s, json.len) == 0))
            continue;
        plan->trace.members[i].json = hb_texts_add(&plan->trace.strings, text.data, text.size);
        text.failed |= !plan->trace.members[i].json;
        plan->counts[HB_CHANGE_CLEAN]++;
    }
    bool failed = text.failed;
    hb_buf_free(&text);
    return failed ? hb_no_memory() : HB_OK;
}

/* What is odd about the file as a whole. */
static void count_file(hb_plan *plan)
{
    const hb_read_report *report = &plan->report;
    plan->counts[HB_CHANGE_ODD] += plan->trace.rows.count; /* elements that are no events */
    for (uint32_t i = 0; i < plan->trace.num_members; i++)
        plan->counts[HB_CHANGE_ODD] +=
            is_list_of_events(hb_trace_text(&plan->trace, plan->trace.members[i].key));
    plan->counts[HB_CHANGE_CUT_OFF] = report->counts[HB_JSON_DEFECT_CUT] > 0;
    plan->counts[HB_CHANGE_DAMAGED] = report->counts[HB_JSON_DEFECT_DAMAGED];
    plan->counts[HB_CHANGE_NOTHING] = !has_known_events(plan);
    plan->counts[HB_CHANGE_TOP] = report->counts[HB_JSON_DEFECT_BARE_ARRAY] +
                                  report->counts[HB_JSON_DEFECT_TRAILING_COMMA] +
                                  report->counts[HB_JSON_DEFECT_EXTRA];
    if (!plan->options->kineto)
        plan->counts[HB_CHANGE_TOP] += plan->trace.num_members - plan->trace.members_before;
}

/* What of it fails for want of memory leaves the arena. */
static hb_result decide(hb_plan *plan)
{
    hb_plan_index_calls(plan);
    if (!plan->options->kineto) hb_plan_nesting(plan); /* what is hidden owns no calls */
    hb_plan_index_owners(plan);
    hb_plan_links(plan);
    return hb_plan_parts(plan);
}

static hb_result make_plan(hb_plan *plan)
{
    HB_TRY(hb_plan_prepass(plan));
    HB_TRY(clean_members(plan));
    HB_TRY(hb_plan_counters(plan));
    count_file(plan);
    hb_plan_devices(plan);
    HB_TRY(hb_plan_shift(plan));
    HB_TRY(hb_plan_processes(plan));
    return hb_arena_try(&plan->arena) ? decide(plan) : hb_arena_outcome(&plan->arena);
}

static void free_plan(hb_plan *plan)
{
    hb_trace_free(&plan->trace);
    hb_column_free(&plan->items);
    hb_column_free(&plan->pids);
    hb_arena_free(&plan->arena);
    hb_buf_free(&plan->steps);
    hb_buf_free(&plan->counters);
    hb_buf_free(&plan->counted);
    hb_buf_free(&plan->clock);
}

hb_result hb_convert(const char *input, const char *directory, const char *name,
                     const hb_convert_options *options, hb_conversion **result)
{
    hb_convert_options o = HB_CONVERT_OPTIONS_INIT;
    if (!result) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    *result = NULL;
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_CONVERT_OPTIONS_INIT"));
    hb_plan *plan = calloc(1, sizeof *plan);
    conversion *c = calloc(1, sizeof *c);
    hb_result done = HB_ERROR_NO_MEMORY;
    locale_t before = hb_enter_c_locale();
    if (plan && c) {
        plan->input = input;
        plan->options = &o;
        done = check_input(input);
        if (done == HB_OK) done = make_plan(plan);
        if (done == HB_OK) done = name_parts(plan, c, directory, name);
        if (done == HB_OK) done = write_parts(plan, c);
        if (done == HB_OK) list_notes(plan, c);
        free_plan(plan);
    } else {
        hb_fail(done, "no memory to convert '%s'", input);
    }
    hb_leave_c_locale(before);
    free(plan);
    if (done == HB_OK)
        *result = &c->public;
    else if (c)
        hb_conversion_free(&c->public);
    return done;
}

void hb_conversion_free(hb_conversion *public)
{
    conversion *c = (conversion *)(void *)public;
    if (!c) return;
    for (size_t i = 0; i < c->public.num_paths; i++)
        free(c->paths[i]);
    free(c->paths);
    free(c);
}
