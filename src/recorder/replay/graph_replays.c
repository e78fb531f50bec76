/* SPDX-License-Identifier: MIT */
#include "replay/graph_replays.h"

#include <stdio.h>
#include <stdlib.h>

#include "replay/correlation.h"

typedef struct node {
    uint64_t scope; /* External id of the innermost scope around the launch */
    uint64_t stream;
    uint32_t kernel;
} node;

/* A stretch of nodes that an address means from some moment on. */
typedef struct stretch {
    uint64_t key, start; /* the graph's or executable graph's address */
    uint64_t graph;      /* of an executable one */
    uint32_t first, count;
} stretch;

typedef struct run {
    uint64_t correlation, start, exec;
    uint32_t first, count;
    bool unknown;      /* of what the graph is made */
    uint64_t reported; /* pieces of its work */
    uint32_t at;       /* the next kernel's node */
    uint32_t unnamed;  /* kernels without names so far */
    double flops;
} run;

typedef struct scope {
    uint64_t id;
    uint64_t owner; /* the operator that counts its work, perhaps itself; 0: none does */
    double flops;   /* the owner's */
    uint32_t name;  /* of the owner, else of the operator that it is; 0: there is none */
} scope;

#define ITEMS(type, buf) ((type *)(void *)(buf).data)
#define COUNT(type, buf) ((buf).size / sizeof(type))

void hb_graph_replays_init(hb_graph_replays *g)
{
    *g = (hb_graph_replays){0};
    hb_buf_init(&g->nodes, (size_t)4 << 30);
    hb_buf_init(&g->captured, (size_t)4 << 30);
    hb_buf_init(&g->made, (size_t)4 << 30);
    hb_buf_init(&g->runs, (size_t)4 << 30);
    hb_buf_init(&g->scopes, (size_t)4 << 30);
    hb_buf_init(&g->owners, (size_t)4 << 30);
}

void hb_graph_replays_free(hb_graph_replays *g)
{
    hb_buf_free(&g->nodes);
    hb_buf_free(&g->captured);
    hb_buf_free(&g->made);
    hb_buf_free(&g->runs);
    hb_buf_free(&g->scopes);
    hb_buf_free(&g->owners);
}

/* ---- what was recorded ---- */

void hb_graph_replays_begin_thread(hb_graph_replays *g)
{
    g->taken = COUNT(node, g->nodes);
}

void hb_graph_replays_add_launch(hb_graph_replays *g, const hb_record_call *call)
{
    bool named = hb_call_names_kernel(call);
    node n = {call->external_id, call->stream,
              named ? ((const hb_record_launch *)call)->kernel : 0};
    if (call->head.type == HB_RECORD_LAUNCH) hb_buf_append(&g->nodes, &n, sizeof n);
}

void hb_graph_replays_add(hb_graph_replays *g, const hb_record_graph *r)
{
    stretch s = {.start = r->head.start, .graph = r->graph};
    run new_run = {.correlation = r->correlation, .start = r->head.start, .exec = r->exec};
    switch (r->head.flags) {
    case HB_GRAPH_CAPTURED:
        s.key = r->graph;
        s.first = (uint32_t)g->taken;
        g->taken = COUNT(node, g->nodes);
        s.count = (uint32_t)g->taken - s.first;
        hb_buf_append(&g->captured, &s, sizeof s);
        break;
    case HB_GRAPH_MADE:
        s.key = r->exec;
        hb_buf_append(&g->made, &s, sizeof s);
        break;
    case HB_GRAPH_RUN: hb_buf_append(&g->runs, &new_run, sizeof new_run); break;
    default: break;
    }
}

/* ---- which graph is which ---- */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_key_and_start(const void *a, const void *b)
{
    const stretch *x = a, *y = b;
    int order = COMPARE(x->key, y->key);
    return order ? order : COMPARE(x->start, y->start);
}

static int by_correlation(const void *a, const void *b)
{
    return COMPARE(((const run *)a)->correlation, ((const run *)b)->correlation);
}

static int by_scope(const void *a, const void *b)
{
    return COMPARE(((const scope *)a)->id, ((const scope *)b)->id);
}

/* What the address meant by then: NULL when that is not known. */
static const stretch *latest(const hb_buf *list, uint64_t key, uint64_t start)
{
    const stretch *all = ITEMS(const stretch, *list), wanted = {.key = key, .start = start};
    size_t low = 0, high = COUNT(stretch, *list);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_key_and_start(&all[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && all[low - 1].key == key ? &all[low - 1] : NULL;
}

static void sort(hb_buf *list, size_t size, int (*order)(const void *, const void *))
{
    if (list->size) qsort(list->data, list->size / size, size, order);
}

static void find_stretches(hb_graph_replays *g)
{
    sort(&g->captured, sizeof(stretch), by_key_and_start);
    sort(&g->made, sizeof(stretch), by_key_and_start);
    sort(&g->runs, sizeof(run), by_correlation);
    for (size_t i = 0; i < COUNT(run, g->runs); i++) {
        run *r = &ITEMS(run, g->runs)[i];
        const stretch *made = latest(&g->made, r->exec, r->start);
        const stretch *graph = made ? latest(&g->captured, made->graph, made->start) : NULL;
        if (graph) {
            r->first = graph->first;
            r->count = graph->count;
        } else {
            r->unknown = true;
            g->unknown++;
        }
    }
}

/* ---- which operators they hold ---- */

static scope *find_scope(const hb_graph_replays *g, uint64_t id)
{
    scope wanted = {.id = id};
    if (!g->scopes.size) return NULL;
    return bsearch(&wanted, g->scopes.data, COUNT(scope, g->scopes), sizeof wanted, by_scope);
}

static void list_scopes(hb_graph_replays *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < COUNT(node, g->nodes); i++) {
        scope s = {.id = ITEMS(node, g->nodes)[i].scope};
        bool again = i && ITEMS(node, g->nodes)[i - 1].scope == s.id;
        if (s.id && !again) hb_buf_append(&g->scopes, &s, sizeof s);
    }
    sort(&g->scopes, sizeof(scope), by_scope);
    scope *all = ITEMS(scope, g->scopes);
    for (size_t i = 0; i < COUNT(scope, g->scopes); i++)
        if (!kept || all[kept - 1].id != all[i].id) all[kept++] = all[i];
    g->scopes.size = kept * sizeof *all;
}

/* The outermost operator that has FLOPs counts them, for all within it. */
static hb_result find_owners(hb_graph_replays *g, hb_source *host)
{
    hb_trace_event e;
    scope outer = {0};
    int64_t tid = 0, end = INT64_MIN;
    HB_TRY(host->begin(host, HB_PASS_HOST));
    while (host->next(host, &e)) {
        bool op = e.kind == HB_EVENT_OP;
        if (!op && e.kind != HB_EVENT_USER_ANNOTATION) continue;
        bool inside = outer.owner && e.tid == tid && e.start_ns < end;
        if (!inside) outer.owner = 0;
        if (!inside && op && e.op.flops > 0) {
            outer = (scope){.owner = e.external_id, .flops = e.op.flops, .name = e.name_key};
            tid = e.tid;
            end = e.end_ns;
        }
        scope *s = find_scope(g, e.external_id);
        if (!s) continue;
        s->name = outer.owner ? outer.name : op ? e.name_key : 0;
        s->owner = outer.owner;
        s->flops = outer.flops;
        if (s->owner) hb_buf_append(&g->owners, &s->owner, sizeof s->owner);
    }
    return HB_OK;
}

static int by_id(const void *a, const void *b)
{
    return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

bool hb_graph_replays_holds(const hb_graph_replays *g, uint64_t id)
{
    size_t n = COUNT(uint64_t, g->owners);
    return n && bsearch(&id, g->owners.data, n, sizeof id, by_id);
}

static const scope *scope_of(const hb_graph_replays *g, uint32_t at)
{
    const node *n = &ITEMS(const node, g->nodes)[at];
    return n->scope ? find_scope(g, n->scope) : NULL;
}

/* An operator's launches follow each other. */
static void sum_runs(hb_graph_replays *g)
{
    for (size_t i = 0; i < COUNT(run, g->runs); i++) {
        run *r = &ITEMS(run, g->runs)[i], *before = i ? r - 1 : r;
        uint64_t last = 0;
        if (before != r && before->first == r->first && before->count == r->count) {
            r->flops = before->flops;
            continue;
        }
        for (uint32_t k = 0; k < r->count; k++) {
            const scope *s = scope_of(g, r->first + k);
            if (s && s->owner && s->owner != last) r->flops += s->flops;
            last = s ? s->owner : 0;
        }
    }
}

hb_result hb_graph_replays_finish(hb_graph_replays *g, hb_source *host)
{
    if (!g->nodes.size && !g->runs.size) return HB_OK;
    list_scopes(g);
    if (!g->nodes.failed && !g->captured.failed && !g->made.failed && !g->runs.failed)
        find_stretches(g);
    if (g->scopes.size) HB_TRY(find_owners(g, host));
    sort(&g->owners, sizeof(uint64_t), by_id);
    sum_runs(g);
    if (g->nodes.failed || g->captured.failed || g->made.failed || g->runs.failed ||
        g->scopes.failed || g->owners.failed)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the graphs of a trace");
    return HB_OK;
}

/* ---- runs ---- */

static run *find_run(const hb_graph_replays *g, uint64_t correlation)
{
    run wanted = {.correlation = correlation};
    if (!g->runs.size) return NULL;
    return bsearch(&wanted, g->runs.data, COUNT(run, g->runs), sizeof wanted, by_correlation);
}

void hb_graph_replays_reported(hb_graph_replays *g, uint64_t correlation)
{
    run *r = find_run(g, correlation);
    if (r) r->reported++;
}

static int by_exec(const void *a, const void *b)
{
    return COMPARE(((const run *)a)->exec, ((const run *)b)->exec);
}

/* Of an address that became another graph amid the recording there is nothing to compare. */
static bool is_one_graph(const hb_graph_replays *g, uint64_t exec)
{
    return latest(&g->made, exec, UINT64_MAX) == NULL;
}

uint64_t hb_graph_replays_missing(const hb_graph_replays *g)
{
    hb_buf of_unknown;
    uint64_t missing = 0;
    hb_buf_init(&of_unknown, (size_t)4 << 30);
    for (size_t i = 0; i < COUNT(run, g->runs); i++) {
        const run *r = &ITEMS(const run, g->runs)[i];
        if (r->unknown && is_one_graph(g, r->exec)) hb_buf_append(&of_unknown, r, sizeof *r);
    }
    sort(&of_unknown, sizeof(run), by_exec);
    const run *runs = ITEMS(const run, of_unknown);
    size_t n = COUNT(run, of_unknown);
    for (size_t i = 0, end; i < n; i = end) {
        uint64_t most = 0;
        for (end = i; end < n && runs[end].exec == runs[i].exec; end++)
            most = HB_MAX(most, runs[end].reported);
        for (size_t k = i; k < end; k++)
            missing += most - runs[k].reported;
    }
    hb_buf_free(&of_unknown);
    return missing;
}

enum { MOST_NAMES = 8 };

typedef struct names {
    struct {
        uint32_t id, times;
    } items[MOST_NAMES];
    uint32_t count, others;
} names;

static void count_name(names *all, uint32_t id)
{
    uint32_t i = 0;
    while (i < all->count && all->items[i].id != id)
        i++;
    if (i == MOST_NAMES) {
        all->others++;
        return;
    }
    if (i == all->count) all->items[all->count++].id = id;
    all->items[i].times++;
}

/* "rocblas_sgemm x3, hipblasGemmEx and 2 others" */
static void tell_names(const names *all, char text[HB_GRAPH_TEXT_SIZE], hb_name_text name_text,
                       const void *context)
{
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < all->count && at < HB_GRAPH_TEXT_SIZE - 1; i++) {
        char times[16] = "";
        hb_str name = name_text(context, all->items[i].id);
        if (all->items[i].times > 1) snprintf(times, sizeof times, " x%u", all->items[i].times);
        at += (size_t)snprintf(text + at, HB_GRAPH_TEXT_SIZE - at, "%s%.*s%s", i ? ", " : "",
                               (int)name.len, name.s, times);
    }
    if (all->others && at < HB_GRAPH_TEXT_SIZE - 1)
        snprintf(text + at, HB_GRAPH_TEXT_SIZE - at, " and %u others", all->others);
}

static void name_operators(hb_graph_replays *g, const run *r, hb_name_text text,
                           const void *context)
{
    names all = {.count = 0};
    uint64_t last = 0;
    if (g->text[0] && g->text_first == r->first && g->text_count == r->count) return;
    for (uint32_t k = 0; k < r->count; k++) {
        const scope *s = scope_of(g, r->first + k);
        uint64_t of = s ? (s->owner ? s->owner : s->id) : 0;
        if (s && s->name && of != last) count_name(&all, s->name);
        last = of;
    }
    tell_names(&all, g->text, text, context);
    g->text_first = r->first;
    g->text_count = r->count;
}

bool hb_graph_replays_run(hb_graph_replays *g, uint64_t correlation, hb_name_text text,
                          const void *context, hb_graph_run *of)
{
    const run *r = find_run(g, correlation);
    if (!r || !r->count) return false;
    name_operators(g, r, text, context);
    of->flops = r->flops;
    of->operators = g->text;
    return g->text[0] != '\0';
}

uint32_t hb_graph_replays_operator(hb_graph_replays *g, uint64_t correlation, uint64_t scope_id,
                                   uint32_t kernel)
{
    const scope *known = scope_id ? find_scope(g, scope_id) : NULL;
    run *r = known ? NULL : find_run(g, correlation);
    if (known) return known->name;
    for (uint32_t i = 0; r && i < r->count; i++) {
        uint32_t at = (r->at + i) % r->count;
        if (ITEMS(node, g->nodes)[r->first + at].kernel != kernel) continue;
        r->at = at + 1;
        known = scope_of(g, r->first + at);
        return known ? known->name : 0;
    }
    return 0;
}

/* Of several streams nobody knows in which order they run. */
static bool is_of_one_stream(const hb_graph_replays *g, const run *r)
{
    const node *nodes = &ITEMS(const node, g->nodes)[r->first];
    for (uint32_t i = 1; i < r->count; i++)
        if (nodes[i].stream != nodes[0].stream) return false;
    return true;
}

uint32_t hb_graph_replays_kernel(hb_graph_replays *g, uint64_t correlation)
{
    run *r = find_run(g, correlation);
    if (!r || r->unnamed >= r->count || (!r->unnamed && !is_of_one_stream(g, r))) return 0;
    return ITEMS(node, g->nodes)[r->first + r->unnamed++].kernel;
}

void hb_graph_replays_rewind(hb_graph_replays *g)
{
    for (size_t i = 0; i < COUNT(run, g->runs); i++)
        ITEMS(run, g->runs)[i].at = ITEMS(run, g->runs)[i].unnamed = 0;
}
