/* SPDX-License-Identifier: MIT
 *
 * What traces say of themselves, and in what two runs differ by that.
 */
#include "compare/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/utf8.h"

/* A longer member of a trace is no setting but data. */
enum { MAX_FACT = 300, MAX_SHOWN = 400 };

/* Not a setting, or told in words of our own. */
static const char *const unspoken[] = {
    "traceEvents",         "traceName",       "trace_id",
    "deviceProperties",    "distributedInfo", "displayTimeUnit",
    "baseTimeNanoseconds", "record_shapes",   "profile_memory",
    "with_stack",          "with_flops",      "with_modules",
};

static void add_fact(hb_comparison *c, hb_compare_run *run, const char *key, const char *text,
                     size_t size)
{
    hb_fact fact = {hb_comparison_intern(c, &c->arena, key, strlen(key)),
                    hb_comparison_intern(c, &c->arena, text, size)};
    for (uint32_t i = 0; i < run->facts.count; i++)
        if (run->facts.items[i].key == fact.key && run->facts.items[i].text == fact.text) return;
    *HB_PUSH(&c->arena, &run->facts) = fact;
}

static bool is_unspoken(const char *key)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(unspoken); i++)
        if (strcmp(unspoken[i], key) == 0) return true;
    return false;
}

static void take_members(hb_comparison *c, hb_compare_run *run, const hb_trace *t)
{
    for (uint32_t i = 0; i < t->num_members; i++) {
        const char *key = hb_trace_text(t, t->members[i].key).s;
        hb_str json = hb_trace_text(t, t->members[i].json);
        if (is_unspoken(key) || json.len > MAX_FACT || !json.len) continue;
        hb_buf text; /* the same however it is spaced */
        hb_buf_init(&text, 1 << 16);
        hb_json_to_python(&text, json);
        add_fact(c, run, key, text.data ? text.data : "", text.size);
        hb_buf_free(&text);
    }
}

/* What was recorded changes what recording costs. */
static void take_settings(hb_comparison *c, hb_compare_run *run, const hb_trace *t)
{
    static const char *const keys[][2] = {{"record_shapes", "shapes"},
                                          {"profile_memory", "memory"},
                                          {"with_stack", "stacks"},
                                          {"with_flops", "FLOPs"},
                                          {"with_modules", "modules"}};
    char text[80] = "";
    for (size_t i = 0; i < HB_ARRAY_LEN(keys); i++) {
        hb_str json = hb_trace_member(t, keys[i][0]);
        if (!json.len || hb_python_false(json)) continue;
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", keys[i][1]);
    }
    add_fact(c, run, "recorded with", *text ? text : "times only",
             strlen(*text ? text : "times only"));
}

/* ---- devices ---- */

typedef struct device_list {
    hb_buf text;
    char last[200];
    unsigned same; /* in a row */
    bool simulated;
} device_list;

static void end_devices(device_list *list)
{
    if (list->same > 1) hb_buf_printf(&list->text, "%u x ", list->same);
    if (list->same) hb_buf_str(&list->text, list->last);
    list->same = 0;
}

static void name_device(char text[200], const hb_value *device)
{
    hb_str object = {device->s, (uint32_t)device->size};
    hb_value name = hb_json_member(object, "name"), cus = hb_json_member(object, "numSms");
    hb_value memory = hb_json_member(object, "totalGlobalMem");
    hb_num number;
    int n = (int)hb_value_put_text(&name, text, 121);
    if (!n) n = sprintf(text, "unnamed device");
    if (hb_value_number(&cus, &number) && number.v > 0)
        n += snprintf(text + n, 200 - (size_t)n, ", %.6g CUs", number.v);
    if (hb_value_number(&memory, &number) && number.v > 0)
        snprintf(text + n, 200 - (size_t)n, ", %.4g GiB", number.v / 1073741824);
}

static bool take_device(void *context, const hb_value *device)
{
    device_list *list = context;
    char text[200];
    if (device->type != HB_JSON_OBJECT) return true;
    name_device(text, device);
    list->simulated |= strstr(text, "(simulated)") != NULL;
    if (list->same && strcmp(text, list->last) != 0) {
        end_devices(list);
        hb_buf_str(&list->text, "; ");
    }
    strcpy(list->last, text);
    list->same++;
    return true;
}

static void take_devices(hb_comparison *c, hb_compare_run *run, const hb_trace *t)
{
    device_list list = {.same = 0};
    hb_str json = hb_trace_member(t, "deviceProperties");
    hb_buf_init(&list.text, SIZE_MAX / 2);
    if (hb_json_value(json).type == HB_JSON_ARRAY) hb_json_each(json, take_device, &list);
    end_devices(&list);
    bool none = !list.text.size;
    const char *text = none ? "none" : hb_buf_text(&list.text);
    run->simulated |= list.simulated;
    add_fact(c, run, "devices", text, strlen(text));
    hb_buf_free(&list.text);
}

static void take_ranks(hb_comparison *c, hb_compare_run *run, const hb_trace *t)
{
    char text[64];
    hb_num size;
    hb_str json = hb_trace_member(t, "distributedInfo");
    if (hb_json_value(json).type != HB_JSON_OBJECT) return;
    hb_value world = hb_json_member(json, "world_size"), backend = hb_json_member(json, "backend");
    if (!hb_value_number(&world, &size)) return;
    bool named = backend.type == HB_JSON_STRING && backend.size > 0;
    int n = snprintf(text, sizeof text, "%.15g%s%.*s", size.v, named ? " by " : "",
                     named ? (int)HB_MIN(backend.size, (size_t)30) : 0, backend.s);
    add_fact(c, run, "ranks", text, (size_t)n);
}

/* ---- dialect and age ---- */

/* Only device work is written differently in the two; the first call of the runtime tells. */
static void take_dialect(hb_comparison *c, hb_compare_run *run, const hb_trace *t)
{
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const hb_row *row = hb_trace_row(t, i);
        if (row->kind != HB_KIND_RUNTIME) continue;
        bool plugins = hb_row_is_of(t, row, HB_CATEGORY_RUNTIME);
        const char *name = plugins ? "tensorboard" : "kineto";
        add_fact(c, run, "dialect", name, strlen(name));
        return;
    }
}

/* Old traces have microseconds of Unix time; later ones count from a base. */
static double recorded_at(const hb_digest *d)
{
    double first = d->first_us;
    hb_value base = hb_json_value(hb_trace_member(d->trace, "baseTimeNanoseconds"));
    hb_num ns = hb_int(0);
    bool based = hb_value_number(&base, &ns) && ns.v > 0;
    if (first - first != 0 || (!based && first < 1e15)) return 0;
    return ns.v / 1e9 + first / 1e6;
}

void hb_facts_take(hb_comparison *c, hb_compare_run *run, const hb_digest *d)
{
    const hb_trace *t = d->trace;
    double at = recorded_at(d);
    if (at > 0 && (run->recorded_at == 0 || at < run->recorded_at)) run->recorded_at = at;
    take_devices(c, run, t);
    take_ranks(c, run, t);
    take_dialect(c, run, t);
    take_settings(c, run, t);
    take_members(c, run, t);
}

/* ---- contrasts ---- */

typedef HB_VEC(hb_run_contrast) contrasts;

static void add_contrast(hb_comparison *c, contrasts *list, const char *what, const char *before,
                         const char *after)
{
    if (strcmp(before, after) == 0) return;
    *HB_PUSH(&c->arena, list) = (hb_run_contrast){what, before, after};
}

static const char *keep(hb_comparison *c, const char *text)
{
    return hb_comparison_string(c, hb_comparison_intern(c, &c->arena, text, strlen(text)));
}

static const char *number_text(hb_comparison *c, size_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", number);
    return keep(c, text);
}

/* What a run's files say of a key; several things, as of hosts, are listed. */
static const char *fact_of(hb_comparison *c, const hb_compare_run *run, hb_string_id key)
{
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    for (uint32_t i = 0; i < run->facts.count; i++)
        if (run->facts.items[i].key == key)
            hb_buf_printf(&text, "%s%s", text.size ? " | " : "",
                          hb_comparison_string(c, run->facts.items[i].text));
    const char *kept = keep(c, hb_buf_text(&text));
    hb_buf_free(&text);
    return kept;
}

/* Where to begin, so that what two long texts differ in is shown. */
static size_t first_shown(const char *a, const char *b)
{
    enum { LED_BY = 40 };
    size_t same = 0;
    while (a[same] && a[same] == b[same])
        same++;
    return same < MAX_SHOWN / 2 ? 0 : hb_utf8_cut(a, same, same - LED_BY);
}

static const char *shown(hb_comparison *c, const char *text, size_t from)
{
    size_t size = strlen(text + from), most = hb_utf8_cut(text + from, size, MAX_SHOWN);
    if (from == 0 && most == size) return text;
    hb_buf part;
    hb_buf_init(&part, MAX_SHOWN + 16);
    if (from) hb_buf_str(&part, "... ");
    hb_buf_append(&part, text + from, most);
    if (most < size) hb_buf_str(&part, " ...");
    const char *kept = keep(c, hb_buf_text(&part));
    hb_buf_free(&part);
    return kept;
}

static void contrast_facts(hb_comparison *c, const hb_compare_run *before,
                           const hb_compare_run *after, contrasts *list)
{
    hb_dict seen = {0};
    bool added;
    for (int side = 0; side < 2; side++) {
        const hb_facts *facts = side ? &after->facts : &before->facts;
        for (uint32_t i = 0; i < facts->count; i++) {
            hb_string_id key = facts->items[i].key;
            hb_dict_add(&c->arena, &seen, key, &added);
            if (!added) continue;
            const char *x = fact_of(c, before, key), *y = fact_of(c, after, key);
            size_t from = first_shown(x, y);
            add_contrast(c, list, hb_comparison_string(c, key), shown(c, x, from),
                         shown(c, y, from));
        }
    }
}

void hb_put_date(char text[32], double at, bool with_time)
{
    const double most = 1e11; /* far more than a calendar, and less than any time_t, has room for */
    struct tm tm;
    *text = '\0';
    if (!(at > 0 && at < most)) return;
    time_t seconds = (time_t)at;
    if (gmtime_r(&seconds, &tm)) strftime(text, 32, with_time ? "%F %H:%M UTC" : "%F", &tm);
}

static const char *date_text(hb_comparison *c, double at)
{
    char text[32];
    hb_put_date(text, at, false);
    return keep(c, text);
}

static const char *steps_text(hb_comparison *c, const hb_compare_run *run)
{
    return run->has_steps ? number_text(c, run->num_steps) : "no steps: the whole trace";
}

void hb_contrasts_make(hb_comparison *c, hb_compare_run *run)
{
    const hb_compare_run *before = &c->runs[c->baseline];
    contrasts list = {0};
    contrast_facts(c, before, run, &list);
    add_contrast(c, &list, "simulated GPU", before->simulated ? "yes" : "no",
                 run->simulated ? "yes" : "no");
    add_contrast(c, &list, "workers", number_text(c, before->num_workers),
                 number_text(c, run->num_workers));
    add_contrast(c, &list, "steps", steps_text(c, before), steps_text(c, run));
    if (fabs(before->recorded_at - run->recorded_at) > 86400)
        add_contrast(c, &list, "recorded on", date_text(c, before->recorded_at),
                     date_text(c, run->recorded_at));
    run->contrasts = list.items;
    run->num_contrasts = list.count;
}
