/* SPDX-License-Identifier: MIT
 *
 * The routes about one trace.
 */
#include "routes/routes_logdir.h"

typedef struct request {
    hb_analysis *a, *other;
    unsigned num_workers;
    const hb_url *url;
    hb_emitter *out;
    hb_arena *arena;
} request;

typedef hb_result (*handler)(const request *r);

static bool by_shape(const request *r)
{
    const char *group = hb_url_get(r->url, "group_by");
    return group && strcmp(group, "OperationAndInputShape") == 0;
}

static hb_result overview(const request *r)
{
    hb_answer_overview(r->out, r->a, r->num_workers);
    return HB_OK;
}

static hb_result operation(const request *r)
{
    hb_answer_op_pie(r->out, r->a, by_shape(r));
    return HB_OK;
}

static hb_result operation_table(const request *r)
{
    hb_answer_op_table(r->out, r->a, by_shape(r));
    return HB_OK;
}

static hb_result operation_stack(const request *r)
{
    const char *name = hb_url_get(r->url, "op_name"), *shape = hb_url_get(r->url, "input_shape");
    if (!name) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "parameter op_name is missing");
    hb_buf key;
    hb_buf_init(&key, SIZE_MAX / 2);
    hb_buf_str(&key, name);
    if (by_shape(r)) {
        hb_buf_str(&key, "###");
        hb_buf_str(&key, shape ? shape : "None");
    }
    hb_str text = {hb_buf_text(&key), (uint32_t)key.size};
    hb_result result = hb_answer_op_stack(r->out, r->a, by_shape(r), text);
    hb_buf_free(&key);
    return result;
}

static hb_result kernel(const request *r)
{
    hb_answer_kernel_pie(r->out, r->a);
    return HB_OK;
}

static hb_result kernel_table(const request *r)
{
    const char *group = hb_url_get(r->url, "group_by");
    if (group && strcmp(group, "Kernel") == 0)
        hb_answer_kernel_table(r->out, r->a);
    else
        hb_answer_kernel_op_table(r->out, r->a);
    return HB_OK;
}

static hb_result kernel_tc_pie(const request *r)
{
    hb_answer_kernel_tc_pie(r->out, r->a);
    return HB_OK;
}

static hb_result units_of(const request *r, const char *memory_default, hb_units *units)
{
    const char *time = hb_url_get(r->url, "time_metric");
    const char *memory = hb_url_get(r->url, "memory_metric");
    if (!hb_units_find(units, time ? time : "ms", memory ? memory : memory_default))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "unknown unit '%s' or '%s'", time ? time : "ms",
                       memory ? memory : memory_default);
    return HB_OK;
}

static hb_result window_of(const request *r, hb_memory_window *w)
{
    const char *start = hb_url_get(r->url, "start_ts"), *end = hb_url_get(r->url, "end_ts");
    *w = (hb_memory_window){.has_start = start != NULL, .has_end = end != NULL};
    if ((start && !hb_python_int(start, &w->start)) || (end && !hb_python_int(end, &w->end)))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "start_ts and end_ts must be integers");
    return HB_OK;
}

/* /memory does not know time_metric. */
static hb_result memory(const request *r)
{
    hb_units units;
    hb_memory_window window;
    const char *metric = hb_url_get(r->url, "memory_metric");
    HB_TRY(window_of(r, &window));
    if (!hb_units_find(&units, "us", metric ? metric : "KB"))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "unknown unit '%s'", metric);
    return hb_answer_memory(r->out, r->a, r->arena, &units, &window);
}

static hb_result memory_curve(const request *r)
{
    hb_units units;
    HB_TRY(units_of(r, "MB", &units));
    return hb_answer_memory_curve(r->out, r->a, r->arena, &units);
}

static hb_result memory_events(const request *r)
{
    hb_units units;
    hb_memory_window window;
    HB_TRY(window_of(r, &window));
    HB_TRY(units_of(r, "KB", &units));
    return hb_answer_memory_events(r->out, r->a, r->arena, &units, &window);
}

static hb_result module(const request *r)
{
    return hb_answer_module(r->out, r->a);
}

static hb_result tree(const request *r)
{
    return hb_answer_tree(r->out, r->a);
}

static hb_result diff(const request *r)
{
    hb_diff *d;
    HB_TRY(hb_diff_run(r->arena, r->a, r->other, &d));
    hb_answer_diff(r->out, r->arena, d);
    return HB_OK;
}

static hb_result diff_node(const request *r)
{
    hb_diff *d;
    const char *path = hb_url_get(r->url, "path");
    HB_TRY(hb_diff_run(r->arena, r->a, r->other, &d));
    return hb_answer_diff_node(r->out, r->arena, d, path ? path : "0");
}

static const struct {
    const char *route;
    handler fn;
    bool diff;
} routes[] = {
    {"overview", overview, false},
    {"operation", operation, false},
    {"operation/table", operation_table, false},
    {"operation/stack", operation_stack, false},
    {"kernel", kernel, false},
    {"kernel/table", kernel_table, false},
    {"kernel/tc_pie", kernel_tc_pie, false},
    {"memory", memory, false},
    {"memory_curve", memory_curve, false},
    {"memory_events", memory_events, false},
    {"module", module, false},
    {"tree", tree, false},
    {"diff", diff, true},
    {"diffnode", diff_node, true},
};

static int find_route(const char *route)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(routes); i++)
        if (strcmp(routes[i].route, route) == 0) return (int)i;
    return -1;
}

bool hb_query_is_profile_route(const char *route)
{
    int i = find_route(route);
    return i >= 0 && !routes[i].diff;
}

bool hb_query_is_diff_route(const char *route)
{
    int i = find_route(route);
    return i >= 0 && routes[i].diff;
}

/* No variable of this function changes between setjmp() and longjmp(). */
static hb_result guarded(handler fn, const request *r)
{
    if (hb_arena_try(r->arena)) return fn(r);
    return hb_arena_outcome(r->arena);
}

hb_result hb_query_profile(hb_analysis *a, hb_analysis *other, unsigned num_workers,
                           const hb_url *url, hb_emitter *out)
{
    hb_arena arena = {0};
    request r = {a, other, num_workers, url, out, &arena};
    int i = find_route(url->route);
    if (i < 0) return hb_fail(HB_ERROR_NOT_FOUND, "no route '%s'", url->route);
    if ((a->told || (other && other->told)) && routes[i].fn != overview)
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "a digest has the overview; '%s' is in the trace that it was made of",
                       url->route);
    hb_result result = guarded(routes[i].fn, &r);
    hb_arena_free(&arena);
    return result;
}
