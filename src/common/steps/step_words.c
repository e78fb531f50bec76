/* SPDX-License-Identifier: MIT */
#include "steps/step_words.h"

#include <stdio.h>

#include "base/hash_map.h"
#include "base/times.h"
#include "rules/name_class.h"

enum { KERNELS_WANTED = 12, FRAMES_MOST = 128, EXACT_SIZE = 512 };

/* What a device did for one call, summed up: of many kernels, as a graph runs them, the first one's
 * names. */
typedef struct work {
    uint64_t correlation;
    int64_t ns;
    hb_string_id name, exact;
    bool is_copy, crosses; /* between the host's memory and a device's */
} work;

typedef struct collector {
    hb_step_words *words;
    hb_source *source;
    HB_VEC(work) works;
    hb_dict numbers; /* of works, by correlation */
    uint32_t last;   /* looked for; the next one is often the same or the one behind it */
    HB_VEC(hb_step_word) waits; /* what waits: only times, thread and whether it loads */
    uint32_t kernels;
    /* What follows itself is looked up once. */
    uint64_t last_key;
    uint32_t last_grid[3];
    bool last_has_grid;
    hb_string_id last_name, last_exact;
} collector;

static void begin(const collector *c, hb_pass pass)
{
    hb_result result = c->source->begin(c->source, pass);
    if (result != HB_OK) hb_arena_leave(c->words->arena, result, "%s", hb_last_error());
}

static hb_string_id text_id(const collector *c, const char *text, size_t size)
{
    hb_string_id id = hb_texts_add(c->words->texts, text, size);
    if (!id) hb_arena_leave(c->words->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

/* For one more than so many. */
static bool has_room(const collector *c, uint32_t count)
{
    c->words->too_many |= count == c->words->most;
    return !c->words->too_many;
}

/* ---- device work ---- */

static bool is_work(const hb_trace_event *e)
{
    return e->kind == HB_EVENT_KERNEL || e->kind == HB_EVENT_MEMCPY || e->kind == HB_EVENT_MEMSET;
}

/* Names with their grids, which are never shown. */
static hb_string_id exact_of(const collector *c, const hb_trace_event *e)
{
    char text[EXACT_SIZE];
    const hb_kernel_args *k = &e->kernel;
    if (e->kind != HB_EVENT_KERNEL || !k->has_grid) return 0;
    size_t n = HB_MIN(e->name.len, 400u);
    memcpy(text, e->name.s, n);
    memcpy(text + n, k->grid, sizeof k->grid);
    return text_id(c, text, n + sizeof k->grid);
}

/* Both names of a work: the plain one, and that with its grid. */
static void take_names(collector *c, const hb_trace_event *e)
{
    const hb_kernel_args *k = &e->kernel;
    bool has_grid = e->kind == HB_EVENT_KERNEL && k->has_grid;
    bool again = e->name_key && e->name_key == c->last_key && has_grid == c->last_has_grid &&
                 (!has_grid || memcmp(k->grid, c->last_grid, sizeof k->grid) == 0);
    if (again) return;
    c->last_name = text_id(c, e->name.s, e->name.len);
    c->last_exact = exact_of(c, e);
    c->last_key = e->name_key;
    c->last_has_grid = has_grid;
    if (has_grid) memcpy(c->last_grid, k->grid, sizeof k->grid);
}

static bool crosses(const hb_trace_event *e)
{
    const char *kind = e->kind == HB_EVENT_MEMCPY ? e->copy.kind : NULL;
    return kind && (strcmp(kind, "HtoD") == 0 || strcmp(kind, "DtoH") == 0);
}

static work *work_of(collector *c, uint64_t correlation)
{
    work *all = c->works.items;
    uint32_t i = c->last, end = HB_MIN(c->last + 2, c->works.count);
    while (i < end && all[i].correlation != correlation)
        i++;
    if (i >= end) i = hb_dict_value(&c->numbers, correlation);
    if (i == UINT32_MAX) return NULL;
    c->last = i;
    return &all[i];
}

static void add_work(collector *c, const hb_trace_event *e)
{
    if (!has_room(c, c->works.count)) return;
    take_names(c, e);
    hb_dict_set(c->words->arena, &c->numbers, e->correlation, c->works.count);
    *HB_PUSH(c->words->arena, &c->works) =
        (work){.correlation = e->correlation,
               .ns = e->end_ns - e->start_ns,
               .name = c->last_name,
               .exact = c->last_exact ? c->last_exact : c->last_name,
               .is_copy = e->kind != HB_EVENT_KERNEL,
               .crosses = crosses(e)};
}

static void collect_works(collector *c)
{
    hb_trace_event e;
    begin(c, HB_PASS_DEVICE);
    while (c->source->next(c->source, &e)) {
        if (!is_work(&e) || !e.correlation) continue;
        c->kernels += e.kind == HB_EVENT_KERNEL;
        work *of_call = work_of(c, e.correlation);
        if (of_call)
            hb_add_ns(&of_call->ns, e.end_ns - e.start_ns);
        else
            add_work(c, &e);
    }
}

/* ---- stacks ---- */

static void take_addresses(hb_step_words *words, const hb_runtime_args *r)
{
    for (uint32_t i = r->num_pcs; i-- > 0;)
        *HB_PUSH(words->arena, &words->frames) = r->pcs[i];
}

/* "file(line): function;" innermost first. Equal texts are one place. */
static void take_texts(const collector *c, hb_str stack)
{
    const char *at = stack.s + stack.len;
    while (at > stack.s) {
        const char *end = at;
        while (at > stack.s && at[-1] != ';')
            at--;
        if (end > at)
            *HB_PUSH(c->words->arena, &c->words->frames) = text_id(c, at, (size_t)(end - at));
        if (at > stack.s) at--;
    }
}

static void take_frames(const collector *c, hb_step_word *word, const hb_runtime_args *r)
{
    hb_step_words *words = c->words;
    word->frames = words->frames.count;
    if (r->num_pcs)
        take_addresses(words, r);
    else if (r->stack.len)
        take_texts(c, r->stack);
    if (r->stack.len) word->stack = text_id(c, r->stack.s, r->stack.len);
    uint32_t n = words->frames.count - word->frames;
    word->num_frames = (uint16_t)HB_MIN(n, (uint32_t)FRAMES_MOST);
}

/* ---- calls ---- */

static void take_call(collector *c, const hb_trace_event *e)
{
    const work *w = e->runtime.launches ? work_of(c, e->correlation) : NULL;
    hb_step_word word = {.start_ns = e->start_ns, .end_ns = e->end_ns, .tid = e->tid};
    bool waits = e->kind == HB_EVENT_SYNC || (w && w->crosses);
    if (waits) *HB_PUSH(c->words->arena, &c->waits) = word;
    if (!w || !has_room(c, c->words->items.count)) return;
    word.work_ns = w->ns;
    word.name = w->name;
    word.exact = w->exact;
    word.is_copy = w->is_copy;
    take_frames(c, &word, &e->runtime);
    *HB_PUSH(c->words->arena, &c->words->items) = word;
}

/* Whose batch the program waits for. */
static void take_loader(collector *c, const hb_trace_event *e)
{
    bool scope = e->kind == HB_EVENT_OP || e->kind == HB_EVENT_USER_ANNOTATION;
    if (!scope || !(hb_scope_class_of(e->name) & HB_NAME_LOADER)) return;
    *HB_PUSH(c->words->arena, &c->waits) =
        (hb_step_word){.start_ns = e->start_ns, .end_ns = e->end_ns, .tid = e->tid, .loads = true};
}

static void collect_loaders(collector *c)
{
    hb_trace_event e;
    begin(c, HB_PASS_HOST);
    while (c->source->next(c->source, &e))
        take_loader(c, &e);
}

static void collect_calls(collector *c)
{
    hb_trace_event e;
    begin(c, HB_PASS_DEVICE);
    while (!c->words->too_many && c->source->next(c->source, &e))
        if (e.kind == HB_EVENT_RUNTIME || e.kind == HB_EVENT_SYNC) take_call(c, &e);
}

static bool earlier(const void *context, const void *a, const void *b)
{
    const hb_step_word *x = a, *y = b;
    (void)context;
    return x->tid != y->tid ? x->tid < y->tid : x->start_ns < y->start_ns;
}

/* Both lists are in order of thread and start. */
static void mark_waits(collector *c)
{
    uint32_t at = 0;
    hb_step_words *words = c->words;
    for (uint32_t i = 0; i < words->items.count; i++) {
        hb_step_word *w = &words->items.items[i];
        for (; at < c->waits.count; at++) {
            const hb_step_word *wait = &c->waits.items[at];
            if (!earlier(NULL, wait, w) && wait->start_ns != w->start_ns) break;
            if (wait->tid != w->tid) continue;
            w->host_waits = true;
            w->loads |= wait->loads;
        }
    }
}

/* ---- operators ---- */

static hb_string_id exact_operator(const collector *c, const hb_trace_event *e)
{
    char text[EXACT_SIZE];
    size_t n =
        (size_t)snprintf(text, sizeof text, "%.*s", (int)HB_MIN(e->name.len, 300), e->name.s);
    for (uint32_t i = 0; i < e->op.num_inputs; i++) {
        const hb_input *in = &e->op.inputs[i];
        for (uint32_t k = 0; in->kind == HB_INPUT_TENSOR && k < in->count && n < sizeof text - 24;
             k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%c%lld", k ? 'x' : ' ',
                                  (long long)in->dims[k]);
    }
    return text_id(c, text, n);
}

static void take_operator(collector *c, const hb_trace_event *e)
{
    hb_step_words *words = c->words;
    if (!has_room(c, words->items.count)) return;
    bool together = e->flags & HB_TEV_COMMUNICATION;
    *HB_PUSH(words->arena, &words->items) =
        (hb_step_word){.start_ns = e->start_ns,
                       .end_ns = e->end_ns,
                       .tid = e->tid,
                       .work_ns = e->end_ns - e->start_ns,
                       .name = text_id(c, e->name.s, e->name.len),
                       .exact = exact_operator(c, e)};
    if (together) /* ranks wait for each other */
        *HB_PUSH(words->arena, &c->waits) =
            (hb_step_word){.start_ns = e->end_ns, .end_ns = e->end_ns, .tid = e->tid};
}

static void collect_operators(collector *c)
{
    hb_trace_event e;
    int64_t tid = 0, end = INT64_MIN;
    begin(c, HB_PASS_HOST);
    while (!c->words->too_many && c->source->next(c->source, &e)) {
        take_loader(c, &e);
        if (e.kind != HB_EVENT_OP) continue;
        if (e.tid != tid) end = INT64_MIN;
        tid = e.tid;
        if (e.start_ns < end) continue;
        end = e.end_ns;
        take_operator(c, &e);
    }
}

/* ---- the whole ---- */

static void put_in_order(collector *c)
{
    hb_step_words *words = c->words;
    hb_sort(words->arena, words->items.items, words->items.count, sizeof(hb_step_word), earlier,
            NULL);
    hb_sort(words->arena, c->waits.items, c->waits.count, sizeof(hb_step_word), earlier, NULL);
    mark_waits(c);
    for (uint32_t i = 0; i < words->items.count; i++)
        hb_add_ns(&words->work_ns, words->items.items[i].work_ns);
}

void hb_step_words_collect(hb_step_words *words, hb_source *source)
{
    collector c = {.words = words, .source = source};
    collect_works(&c);
    if (c.kernels >= KERNELS_WANTED) {
        words->are_launches = true;
        collect_calls(&c);
        collect_loaders(&c);
    } else {
        words->too_many = false; /* whose works are not asked for */
        collect_operators(&c);
    }
    put_in_order(&c);
}

int64_t hb_step_words_work(const hb_step_words *words, hb_word_range range)
{
    int64_t ns = 0;
    for (uint32_t i = range.first; i < range.end; i++)
        hb_add_ns(&ns, words->items.items[i].work_ns);
    return ns;
}

hb_word_range hb_step_words_busiest(const hb_step_words *words)
{
    hb_word_range best = {0, 0};
    int64_t most = -1;
    for (uint32_t i = 0, first = 0; i < words->items.count; i++) {
        const hb_step_word *w = &words->items.items[i];
        if (w->tid != words->items.items[first].tid) first = i;
        if (i + 1 < words->items.count && words->items.items[i + 1].tid == w->tid) continue;
        hb_word_range thread = {first, i + 1};
        int64_t ns = hb_step_words_work(words, thread);
        if (ns > most) {
            most = ns;
            best = thread;
        }
    }
    return best;
}
