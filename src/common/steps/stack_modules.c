/* SPDX-License-Identifier: MIT */
#include "steps/stack_modules.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "base/json_scan.h"
#include "base/string_table.h"
#include "rules/name_class.h"

enum { DEPTH_MOST = 64, PLACES_MOST = 256 };

/* A frame text that was looked at: the same few come again and again. */
typedef struct frame {
    hb_string_id method; /* its function; 0: no module's */
    hb_string_id class;
} frame;

typedef struct call {
    int64_t start, end, tid;
    hb_string_id stack;
} call;

typedef struct module {
    hb_str name;
    hb_string_id class;
    int64_t start, end, tid;
    uint32_t parent; /* index + 1 */
    uint32_t place;  /* + 1: which one of its class: where it was called, and in which other one */
    hb_module_args args;
} module;

/* The frames of the present call that are modules', outermost first. */
typedef struct chain {
    struct {
        hb_string_id method, class;
        hb_string_id called_at, calls_from; /* texts of frames; 0: the outermost is called */
    } items[DEPTH_MOST];
    uint32_t count;
} chain;

/* Open ones, of one thread. */
typedef struct opened {
    hb_string_id method, called_at;
    uint32_t module;   /* index */
    hb_string_id last; /* the place that the last call came from */
    hb_string_id places[PLACES_MOST];
    uint32_t num_places;
} opened;

typedef struct finder {
    hb_source base;
    hb_trace_info info;
    hb_source *inner;
    hb_arena arena;
    hb_texts texts;
    regex_t expression;
    bool compiled;
    hb_dict frames;           /* by text: index in `known` */
    hb_dict calls_in, places; /* pairs that make a place */
    HB_VEC(frame) known;
    HB_VEC(call) calls;
    HB_VEC(module) modules;
    opened *open;
    uint32_t depth;
    /* the present pass */
    hb_pass pass;
    uint32_t given;
} finder;

/* ---- frames ---- */

static hb_string_id text_id(finder *f, const char *text, size_t size)
{
    hb_string_id id = hb_texts_add(&f->texts, text, size);
    if (!id) hb_arena_leave(&f->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

/* "file(line): function" */
static frame look_at(finder *f, const char *text, size_t size)
{
    char function[1024];
    regmatch_t found[2];
    const char *begin = memmem(text, size, "): ", 3);
    begin = begin ? begin + 3 : text;
    size_t n = HB_MIN((size_t)(text + size - begin), sizeof function - 1);
    memcpy(function, begin, n);
    function[n] = '\0';
    if (regexec(&f->expression, function, 2, found, 0) != 0) return (frame){0};
    const regmatch_t *m = found[1].rm_so >= 0 ? &found[1] : &found[0];
    size_t length = (size_t)(m->rm_eo - m->rm_so);
    hb_string_id class = length ? text_id(f, function + m->rm_so, length) : 0;
    if (!class) return (frame){0};
    return (frame){text_id(f, function, n), class};
}

static frame frame_of(finder *f, hb_string_id text)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(&f->arena, &f->frames, text, &added);
    if (added) {
        hb_str s = hb_texts_get(&f->texts, text);
        entry->value = f->known.count;
        *HB_PUSH(&f->arena, &f->known) = look_at(f, s.s, s.len);
    }
    return f->known.items[entry->value];
}

/* From the outermost frame, which stands last, inwards. */
static void read_chain(finder *f, hb_str stack, chain *c)
{
    const char *at = stack.s + stack.len;
    hb_string_id outer = 0;
    c->count = 0;
    while (at > stack.s) {
        const char *end = at[-1] == ';' ? at - 1 : at;
        for (at = end; at > stack.s && at[-1] != ';';)
            at--;
        size_t size = (size_t)(end - at);
        hb_string_id text = text_id(f, at, size);
        frame of = frame_of(f, text);
        if (of.method && c->count < DEPTH_MOST) {
            c->items[c->count].method = of.method;
            c->items[c->count].called_at = outer;
            c->items[c->count].calls_from = text;
            c->items[c->count++].class = of.class;
        }
        outer = text;
    }
}

/* ---- calls ---- */

static void collect(finder *f, hb_pass pass)
{
    hb_trace_event e;
    hb_result result = f->inner->begin(f->inner, pass);
    if (result != HB_OK) hb_arena_leave(&f->arena, result, "%s", hb_last_error());
    while (f->inner->next(f->inner, &e)) {
        bool scope = e.kind == HB_EVENT_OP || e.kind == HB_EVENT_USER_ANNOTATION;
        bool call_of_hip = e.kind == HB_EVENT_RUNTIME || e.kind == HB_EVENT_SYNC;
        hb_str stack = scope ? e.op.stack : call_of_hip ? e.runtime.stack : (hb_str){0};
        if (!stack.len) continue;
        *HB_PUSH(&f->arena, &f->calls) =
            (call){e.start_ns, e.end_ns, e.tid, text_id(f, stack.s, stack.len)};
    }
}

static bool earlier(const void *context, const void *a, const void *b)
{
    const call *x = a, *y = b;
    (void)context;
    if (x->tid != y->tid) return x->tid < y->tid;
    return x->start != y->start ? x->start < y->start : x->end > y->end;
}

/* ---- modules ---- */

static bool was_at(const opened *o, hb_string_id place)
{
    for (uint32_t i = 0; i < o->num_places; i++)
        if (o->places[i] == place) return true;
    return false;
}

static void note_place(opened *o, hb_string_id place)
{
    if (o->last == place) return;
    o->last = place;
    if (o->num_places < PLACES_MOST) o->places[o->num_places++] = place;
}

/* How many of the open ones go on. */
static uint32_t still_open(const finder *f, const chain *c)
{
    uint32_t n = 0;
    while (n < f->depth && n < c->count) {
        const opened *o = &f->open[n];
        bool same = o->method == c->items[n].method && o->called_at == c->items[n].called_at;
        bool again = o->last != c->items[n].calls_from && was_at(o, c->items[n].calls_from);
        if (!same || again) return n;
        n++;
    }
    return n;
}

static void open_one(finder *f, const chain *c, const call *at)
{
    opened *o = &f->open[f->depth];
    uint32_t parent = f->depth ? f->open[f->depth - 1].module + 1 : 0;
    uint32_t in = parent ? f->modules.items[parent - 1].place : 0;
    *o = (opened){.method = c->items[f->depth].method,
                  .called_at = c->items[f->depth].called_at,
                  .module = f->modules.count};
    uint32_t called = hb_pair_number(&f->arena, &f->calls_in, in, o->called_at);
    *HB_PUSH(&f->arena, &f->modules) =
        (module){.class = c->items[f->depth].class,
                 .start = at->start,
                 .end = at->end,
                 .tid = at->tid,
                 .parent = parent,
                 .place = hb_pair_number(&f->arena, &f->places, called, o->method) + 1};
    f->depth++;
}

static void take_call(finder *f, const call *at)
{
    chain c;
    read_chain(f, hb_texts_get(&f->texts, at->stack), &c);
    f->depth = still_open(f, &c);
    while (f->depth < c.count)
        open_one(f, &c, at);
    for (uint32_t i = 0; i < f->depth; i++) {
        module *m = &f->modules.items[f->open[i].module];
        m->end = HB_MAX(m->end, at->end);
        note_place(&f->open[i], c.items[i].calls_from);
    }
}

/* Ids count by start over all threads. */
static bool by_start(const void *context, const void *a, const void *b)
{
    const module *all = context, *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];
    return x->start < y->start;
}

/* Which of its class: what was called at the same place, in the same other one, is the same. */
static uint32_t number_of(finder *f, hb_dict *known, hb_dict *counts, const module *m)
{
    bool is_new, added;
    hb_dict_entry *place = hb_dict_add(&f->arena, known, m->place, &is_new);
    if (!is_new) return place->value;
    hb_dict_entry *count = hb_dict_add(&f->arena, counts, m->class, &added);
    return place->value = count->value++;
}

/* "nn.Module: Layer_1" */
static hb_str name_of(finder *f, const module *m)
{
    hb_str class = hb_texts_get(&f->texts, m->class);
    size_t size = hb_known_text(HB_KNOWN_MODULE).len + class.len + 16;
    char *name = hb_arena_alloc(&f->arena, size);
    int n = snprintf(name, size, "%s%.*s_%u", hb_known_text(HB_KNOWN_MODULE).s, (int)class.len,
                     class.s, m->args.module_id);
    return (hb_str){name, (uint32_t)n};
}

static void put_in_order(finder *f)
{
    hb_dict known = {0}, counts = {0};
    uint32_t n = f->modules.count;
    uint32_t *order = HB_NEW_ARRAY(&f->arena, uint32_t, n + 1);
    uint32_t *number = HB_NEW_ARRAY(&f->arena, uint32_t, n + 1);
    module *sorted = HB_NEW_ARRAY(&f->arena, module, n + 1);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    hb_sort(&f->arena, order, n, sizeof *order, by_start, f->modules.items);
    for (uint32_t i = 0; i < n; i++)
        number[order[i]] = i + 1;
    for (uint32_t i = 0; i < n; i++) {
        module *m = &sorted[i];
        *m = f->modules.items[order[i]];
        m->args = (hb_module_args){i + 1, m->parent ? number[m->parent - 1] : 0,
                                   number_of(f, &known, &counts, m)};
        m->name = name_of(f, m);
    }
    if (n) memcpy(f->modules.items, sorted, n * sizeof *sorted);
}

static void find(finder *f)
{
    if (!hb_texts_init(&f->texts)) hb_arena_leave(&f->arena, HB_ERROR_NO_MEMORY, "out of memory");
    collect(f, HB_PASS_HOST);
    collect(f, HB_PASS_DEVICE);
    hb_sort(&f->arena, f->calls.items, f->calls.count, sizeof(call), earlier, NULL);
    f->open = HB_NEW_ARRAY(&f->arena, opened, DEPTH_MOST);
    for (uint32_t i = 0; i < f->calls.count; i++) {
        if (i && f->calls.items[i].tid != f->calls.items[i - 1].tid) f->depth = 0;
        take_call(f, &f->calls.items[i]);
    }
    put_in_order(f);
}

/* ---- as a source ---- */

static finder *self(hb_source *source)
{
    return (finder *)source;
}

static hb_result begin(hb_source *source, hb_pass pass)
{
    finder *f = self(source);
    f->pass = pass;
    f->given = 0;
    return f->inner->begin(f->inner, pass);
}

static bool next(hb_source *source, hb_trace_event *e)
{
    finder *f = self(source);
    if (f->pass != HB_PASS_MODULES) return f->inner->next(f->inner, e);
    if (f->given == f->modules.count) return false;
    const module *m = &f->modules.items[f->given++];
    *e = (hb_trace_event){.kind = HB_EVENT_MODULE,
                          .name = m->name,
                          .start_ns = m->start,
                          .end_ns = m->end,
                          .tid = m->tid,
                          .device = -1,
                          .module = m->args};
    return true;
}

static void free_finder(finder *f)
{
    if (f->compiled) regfree(&f->expression);
    hb_texts_free(&f->texts);
    hb_arena_free(&f->arena);
    free(f);
}

static void source_close(hb_source *source)
{
    finder *f = self(source);
    f->inner->close(f->inner);
    free_finder(f);
}

/* ---- opening ---- */

static const char *asked_for(const hb_trace_info *info)
{
    for (size_t i = 0; i < info->num_metadata; i++)
        if (strcmp(info->metadata[i].key, HB_METADATA_MODULE_FRAMES) == 0)
            return info->metadata[i].json;
    return NULL;
}

static bool has_modules(hb_source *source)
{
    hb_trace_event e;
    return source->begin(source, HB_PASS_MODULES) == HB_OK && source->next(source, &e);
}

/* The expression that the JSON string holds; without memory, or if it is none, there is none. */
static void compile(finder *f, const char *json)
{
    size_t size = strlen(json);
    char *padded = calloc(1, size + HB_SCAN_PADDING);
    hb_scan scan = {.end = padded ? padded + size : NULL};
    hb_value value;
    hb_buf text;
    hb_buf_init(&text, (size_t)1 << 16);
    if (padded) memcpy(padded, json, size);
    if (padded && hb_scan_value(&scan, padded, &value) && value.type == HB_JSON_STRING)
        hb_value_decode(&value, &text);
    if (text.size && !text.failed)
        f->compiled = regcomp(&f->expression, hb_buf_text(&text), REG_EXTENDED) == 0;
    hb_buf_free(&text);
    free(padded);
}

static hb_result find_modules(finder *f, const char *json)
{
    compile(f, json);
    if (!f->compiled) return HB_OK;
    if (hb_arena_try(&f->arena)) find(f);
    return hb_arena_outcome(&f->arena);
}

hb_result hb_put_stack_modules(hb_source **source)
{
    const char *json = asked_for((*source)->info);
    if (!json || has_modules(*source)) return HB_OK;
    finder *f = calloc(1, sizeof *f);
    if (!f) return hb_no_memory();
    f->base = (hb_source){&f->info, begin, next, source_close};
    f->info = *(*source)->info;
    f->inner = *source;
    hb_result result = find_modules(f, json);
    if (result != HB_OK || !f->modules.count) {
        free_finder(f);
        return result;
    }
    f->info.with_modules = true;
    *source = &f->base;
    return HB_OK;
}
