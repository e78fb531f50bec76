/* SPDX-License-Identifier: MIT */
#include "import/added_scopes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/names.h"
#include "rules/kernel_class.h"
#include "rules/name_class.h"

/* Beside all that other sources give out. */
#define FIRST_EXTERNAL_ID (((uint64_t)1 << 52) + ((uint64_t)1 << 50))
#define FIRST_TID         INT64_C(2000000000)

/* A scope as it was read, or one that is made. */
typedef struct scope {
    hb_str name;
    int64_t start, end, tid;
    hb_module_args module;
} scope;

typedef HB_VEC(scope) scopes;

typedef struct adder {
    hb_source base;
    hb_trace_info info;
    hb_source *inner;
    hb_arena arena;
    scopes modules, kernels; /* by start; by thread, then start */
    scopes kernels_by_time;
    HB_VEC(hb_thread_info) threads; /* of the source, and rows of kernels */
    /* the present pass */
    hb_pass pass;
    uint32_t given;
    bool has_pending, is_over;
    hb_trace_event pending;
} adder;

static adder *self(hb_source *source)
{
    return (adder *)source;
}

/* ---- events ---- */

static bool give_module(adder *a, hb_trace_event *e)
{
    if (a->given == a->modules.count) return false;
    const scope *s = &a->modules.items[a->given++];
    *e = (hb_trace_event){.kind = HB_EVENT_MODULE,
                          .name = s->name,
                          .start_ns = s->start,
                          .end_ns = s->end,
                          .tid = s->tid,
                          .device = -1,
                          .module = s->module};
    return true;
}

static bool give_kernel(adder *a, const scopes *list, hb_trace_event *e)
{
    static const hb_arg mark = {"hipboard", HB_ARG_STRING, 0, 0, 0, "inferred"};
    if (a->given == list->count) return false;
    const scope *s = &list->items[a->given++];
    *e = (hb_trace_event){.kind = HB_EVENT_OP,
                          .name = s->name,
                          .start_ns = s->start,
                          .end_ns = s->end,
                          .tid = s->tid,
                          .device = -1,
                          .external_id = FIRST_EXTERNAL_ID + s->module.python_id,
                          .op = {.args = &mark, .num_args = 1}};
    return true;
}

static hb_result begin(hb_source *source, hb_pass pass)
{
    adder *a = self(source);
    a->pass = pass;
    a->given = 0;
    a->has_pending = a->is_over = false;
    return a->inner->begin(a->inner, pass);
}

/* Both by time. */
static bool next_in_time(adder *a, hb_trace_event *e)
{
    if (!a->has_pending && !a->is_over) {
        a->has_pending = a->inner->next(a->inner, &a->pending);
        a->is_over = !a->has_pending;
    }
    bool more = a->given < a->kernels_by_time.count;
    bool is_due =
        more && (!a->has_pending || a->kernels_by_time.items[a->given].start < a->pending.start_ns);
    if (is_due) return give_kernel(a, &a->kernels_by_time, e);
    if (!a->has_pending) return false;
    *e = a->pending;
    a->has_pending = false;
    return true;
}

static bool next(hb_source *source, hb_trace_event *e)
{
    adder *a = self(source);
    if (a->pass == HB_PASS_TIMELINE && a->kernels.count) return next_in_time(a, e);
    if (a->inner->next(a->inner, e)) return true;
    if (a->pass == HB_PASS_MODULES) return give_module(a, e);
    return a->pass == HB_PASS_HOST && give_kernel(a, &a->kernels, e);
}

static void source_close(hb_source *source)
{
    adder *a = self(source);
    if (a->inner) a->inner->close(a->inner);
    hb_arena_free(&a->arena);
    free(a);
}

/* ---- what is made ---- */

static void begin_inner(adder *a, hb_pass pass)
{
    hb_result result = a->inner->begin(a->inner, pass);
    if (result != HB_OK) hb_arena_leave(&a->arena, result, "%s", hb_last_error());
}

static hb_str copy_text(adder *a, const char *before, hb_str text)
{
    size_t n = strlen(before);
    char *copy = hb_arena_alloc(&a->arena, n + text.len + 1);
    memcpy(copy, before, n);
    if (text.len) memcpy(copy + n, text.s, text.len);
    return (hb_str){copy, (uint32_t)(n + text.len)};
}

static bool by_start(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const scope *)a)->start < ((const scope *)b)->start;
}

static bool by_thread(const void *context, const void *a, const void *b)
{
    const scope *x = a, *y = b;
    (void)context;
    return x->tid != y->tid ? x->tid < y->tid : x->start < y->start;
}

static bool is_made_up(const hb_trace_event *e)
{
    for (uint32_t i = 0; i < e->op.num_args; i++)
        if (strcmp(e->op.args[i].key, "hipboard") == 0) return true;
    return hb_is_step(e->name);
}

typedef struct numbering {
    hb_names classes;
    hb_dict known, counts; /* known: by class and parent */
} numbering;

/* Which of its class: the same name below the same module is the same one again. */
static uint32_t module_of(adder *a, numbering *n, hb_str name, uint32_t parent)
{
    bool added, is_new;
    uint32_t class = hb_names_add(&a->arena, &n->classes, name);
    hb_dict_entry *entry =
        hb_dict_add(&a->arena, &n->known, (uint64_t) class << 32 | parent, &is_new);
    if (is_new) entry->value = hb_dict_add(&a->arena, &n->counts, class, &added)->value++;
    return entry->value;
}

/* Ids count by start over all threads; parents stand before their children. */
static void number_modules(adder *a)
{
    numbering numbers = {0};
    hb_dict open = {0}; /* a thread's innermost one, + 1 */
    scopes *list = &a->modules;
    bool added;
    for (uint32_t i = 0; i < list->count; i++) {
        scope *s = &list->items[i];
        uint32_t parent = hb_dict_add(&a->arena, &open, (uint64_t)s->tid, &added)->value;
        while (parent && list->items[parent - 1].end <= s->start)
            parent = (uint32_t)list->items[parent - 1].module.parent_id;
        s->module =
            (hb_module_args){i + 1, parent,
                             module_of(a, &numbers, s->name,
                                       parent ? list->items[parent - 1].module.module_id + 1 : 0)};
        hb_dict_get(&open, (uint64_t)s->tid)->value = i + 1;
    }
}

static void make_modules(adder *a)
{
    hb_trace_event e;
    begin_inner(a, HB_PASS_HOST);
    while (a->inner->next(a->inner, &e)) {
        bool is_scope = e.kind == HB_EVENT_OP || e.kind == HB_EVENT_USER_ANNOTATION;
        if (!is_scope || is_made_up(&e)) continue;
        *HB_PUSH(&a->arena, &a->modules) =
            (scope){copy_text(a, hb_known_text(HB_KNOWN_MODULE).s, e.name),
                    e.start_ns,
                    e.end_ns,
                    e.tid,
                    {0}};
    }
    hb_sort(&a->arena, a->modules.items, a->modules.count, sizeof(scope), by_start, NULL);
    number_modules(a);
    a->info.with_modules = a->modules.count > 0;
}

static void name_rows(adder *a)
{
    for (size_t i = 0; i < a->info.num_threads; i++)
        *HB_PUSH(&a->arena, &a->threads) = a->info.threads[i];
    for (uint32_t i = 0; i < a->kernels.count; i++) {
        int64_t tid = a->kernels.items[i].tid;
        if (i && a->kernels.items[i - 1].tid == tid) continue;
        char name[60];
        int n = snprintf(name, sizeof name, "inferred of stream %lld",
                         (long long)(tid - FIRST_TID) % 1000000);
        *HB_PUSH(&a->arena, &a->threads) =
            (hb_thread_info){tid, copy_text(a, "", (hb_str){name, (uint32_t)n}).s};
    }
    a->info.threads = a->threads.items;
    a->info.num_threads = a->threads.count;
}

/* A row for each stream. Kernels that overlap by the clocks of some GPUs end where the next one
 * begins. */
static void make_kernels(adder *a)
{
    hb_trace_event e;
    const hb_kernel_rules rules = {0};
    begin_inner(a, HB_PASS_DEVICE);
    while (a->inner->next(a->inner, &e)) {
        if (e.kind != HB_EVENT_KERNEL || !(e.flags & HB_TEV_NO_CALL)) continue;
        int64_t tid = FIRST_TID + e.device * INT64_C(1000000) + e.tid % 1000000;
        *HB_PUSH(&a->arena, &a->kernels) =
            (scope){hb_kernel_class_of(&rules, e.name), e.start_ns, e.end_ns, tid, {0}};
    }
    scopes *list = &a->kernels;
    hb_sort(&a->arena, list->items, list->count, sizeof(scope), by_thread, NULL);
    for (uint32_t i = 0; i < list->count; i++) {
        scope *s = &list->items[i];
        s->module.python_id = i;
        if (i + 1 < list->count && s[1].tid == s->tid) s->end = HB_MIN(s->end, s[1].start);
        *HB_PUSH(&a->arena, &a->kernels_by_time) = *s;
    }
    hb_sort(&a->arena, a->kernels_by_time.items, list->count, sizeof(scope), by_start, NULL);
    name_rows(a);
}

static hb_result make(adder *a, bool modules, bool kernels)
{
    if (hb_arena_try(&a->arena)) {
        if (modules) make_modules(a);
        if (kernels) make_kernels(a);
    }
    return hb_arena_outcome(&a->arena);
}

hb_result hb_add_scopes(hb_source **source, bool modules, bool kernels)
{
    if (!modules && !kernels) return HB_OK;
    adder *a = calloc(1, sizeof *a);
    if (!a) return hb_no_memory();
    a->base = (hb_source){&a->info, begin, next, source_close};
    a->info = *(*source)->info;
    a->inner = *source;
    hb_result result = make(a, modules, kernels);
    if (result == HB_OK) {
        *source = &a->base;
        return HB_OK;
    }
    a->inner = NULL; /* it stays the caller's */
    source_close(&a->base);
    return result;
}
