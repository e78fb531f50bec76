/* SPDX-License-Identifier: MIT */
#include "plugin/workers.h"

#include <stdio.h>

HB_PRINTF(2, 3) static bool differ(hb_distributed *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(d->mismatch, sizeof d->mismatch, format, args);
    va_end(args);
    return false;
}

/* Every worker must have collectives, all as many, and each as many kernels. */
static bool comparable(hb_distributed *d)
{
    const hb_worker *first = &d->workers[0];
    for (uint32_t w = 0; w < d->num_workers; w++) {
        const hb_worker *x = &d->workers[w];
        const hb_analysis *a = x->analysis, *b = first->analysis;
        if (!a->roles[HB_ROLE_COMMUNICATION].count || !a->comms.count)
            return differ(d, "%s has no collectives", x->name);
        if (a->comms.count != b->comms.count)
            return differ(d, "%s has %u collectives, %s has %u", first->name, b->comms.count,
                          x->name, a->comms.count);
        for (uint32_t i = 0; i < a->comms.count; i++)
            if (a->comms.items[i].ranges.count != b->comms.items[i].ranges.count)
                return differ(d, "collective %u ran %u kernels on %s and %u on %s", i + 1,
                              b->comms.items[i].ranges.count, first->name,
                              a->comms.items[i].ranges.count, x->name);
    }
    return d->num_workers > 0;
}

/* The shortest of the workers' kernels transferred data all the time; the others waited first. */
static void find_real(hb_distributed *d, uint32_t i)
{
    uint32_t n = d->workers[0].analysis->comms.items[i].ranges.count;
    for (uint32_t w = 0; w < d->num_workers; w++)
        d->workers[w].analysis->comms.items[i].real = HB_NEW_ARRAY(&d->arena, hb_range, n);
    for (uint32_t k = 0; k < n; k++) {
        hb_num shortest = {0};
        for (uint32_t w = 0; w < d->num_workers; w++) {
            hb_range r = d->workers[w].analysis->comms.items[i].ranges.items[k];
            hb_num length = hb_num_sub(r.end, r.start);
            if (w == 0 || length.v < shortest.v) shortest = length;
        }
        for (uint32_t w = 0; w < d->num_workers; w++) {
            hb_comm *c = &d->workers[w].analysis->comms.items[i];
            hb_num end = c->ranges.items[k].end;
            c->real[k] = (hb_range){hb_num_sub(end, shortest), end};
        }
    }
}

/* ---- sizes ---- */

typedef struct size_walk {
    hb_distributed *d;
    hb_value types[1024];
    uint32_t num_types, input;
    hb_num product, sum;
} size_walk;

static bool take_type(void *context, const hb_value *type)
{
    size_walk *s = context;
    if (s->num_types < HB_ARRAY_LEN(s->types)) s->types[s->num_types++] = *type;
    return true;
}

static double element_size(const hb_value *type)
{
    static const struct {
        const char *name;
        int size;
    } sizes[] = {{"long int", 8},  {"float", 4},         {"int", 4},
                 {"c10::Half", 2}, {"c10::BFloat16", 2}, {"unsigned char", 1}};
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++)
        if (hb_value_is(type, sizes[i].name)) return sizes[i].size;
    return 0;
}

_Noreturn static void lose_run(hb_distributed *d, const char *why)
{
    hb_arena_leave(&d->arena, HB_ERROR_FORMAT, "a collective's %s", why);
}

static bool take_size(void *context, const hb_value *size)
{
    size_walk *s = context;
    hb_num n;
    if (!hb_value_number(size, &n)) lose_run(s->d, "Input Dims hold a list of tensors");
    s->product = (hb_num){s->product.v * n.v, s->product.is_float || n.is_float};
    return true;
}

static bool take_input(void *context, const hb_value *dims)
{
    size_walk *s = context;
    if (s->input >= s->num_types) lose_run(s->d, "Input type is missing or too short");
    if (dims->type != HB_JSON_ARRAY) lose_run(s->d, "Input Dims hold something other than a list");
    s->product = hb_int(1);
    hb_json_each((hb_str){dims->s, (uint32_t)dims->size}, take_size, s);
    s->product.v *= element_size(&s->types[s->input++]);
    s->sum = hb_num_add(s->sum, s->product);
    return true;
}

static hb_num bytes_of(hb_distributed *d, const hb_analysis *a, const hb_comm *c)
{
    hb_str dims = hb_trace_text(a->trace, c->dims), types = hb_trace_text(a->trace, c->types);
    size_walk s; /* 24 KiB, hardly ever full: not cleared, and not one a collective in the arena */
    s.d = d;
    s.num_types = s.input = 0;
    s.product = s.sum = hb_int(0);
    if (!c->dims || hb_python_false(dims)) return s.sum;
    if (*dims.s != '[') lose_run(d, "Input Dims are not a list");
    if (c->types && *types.s == '[') hb_json_each(types, take_type, &s);
    hb_json_each(dims, take_input, &s);
    return s.sum;
}

/* ---- sums ---- */

typedef HB_VEC(hb_range) range_list;

static void extend(hb_arena *arena, range_list *list, const hb_range *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        *HB_PUSH(arena, list) = items[i];
}

static hb_num merged_sum(hb_arena *arena, const range_list *list)
{
    hb_ranges merged = hb_ranges_merge(arena, list->items, list->count);
    return hb_ranges_sum(&merged);
}

/* Steps are told apart by their names. */
static uint64_t step_key(const hb_analysis *a, const hb_comm *c)
{
    return c->step < 0 ? 0 : a->steps.items[c->step].name;
}

static void sum_worker(hb_distributed *d, const hb_analysis *a, hb_worker_stats *stats)
{
    hb_dict steps = {0}, names = {0};
    struct lists {
        range_list total, real;
    } *by_step = HB_NEW_ARRAY(&d->arena, struct lists, a->comms.count),
      *by_name = HB_NEW_ARRAY(&d->arena, struct lists, a->comms.count);
    bool added;
    for (uint32_t i = 0; i < a->comms.count; i++) {
        const hb_comm *c = &a->comms.items[i];
        hb_dict_entry *e = hb_dict_add(&d->arena, &steps, step_key(a, c), &added);
        if (added) {
            e->value = stats->waits.count;
            *HB_PUSH(&d->arena, &stats->waits) = (hb_wait_stat){.step = c->step};
        }
        extend(&d->arena, &by_step[e->value].total, c->ranges.items, c->ranges.count);
        extend(&d->arena, &by_step[e->value].real, c->real, c->ranges.count);
        e = hb_dict_add(&d->arena, &names, c->name, &added);
        if (added) {
            e->value = stats->ops.count;
            *HB_PUSH(&d->arena, &stats->ops) = (hb_comm_stat){.name = c->name};
        }
        extend(&d->arena, &by_name[e->value].total, c->ranges.items, c->ranges.count);
        extend(&d->arena, &by_name[e->value].real, c->real, c->ranges.count);
        hb_comm_stat *op = &stats->ops.items[e->value];
        op->calls++;
        op->bytes = hb_num_add(op->bytes, bytes_of(d, a, c));
    }
    for (uint32_t i = 0; i < stats->waits.count; i++) {
        stats->waits.items[i].total = merged_sum(&d->arena, &by_step[i].total);
        stats->waits.items[i].real = merged_sum(&d->arena, &by_step[i].real);
    }
    for (uint32_t i = 0; i < stats->ops.count; i++) {
        stats->ops.items[i].total = merged_sum(&d->arena, &by_name[i].total);
        stats->ops.items[i].real = merged_sum(&d->arena, &by_name[i].real);
    }
}

/* The device table takes pids for indices. */
static void check_pids(hb_distributed *d, const hb_analysis *a)
{
    if (!a->props.present) return;
    for (uint32_t i = 0; i < a->num_used_devices; i++) {
        hb_key pid = a->used_devices[i];
        if (hb_key_tag(pid) != HB_KEY_TAG_INT)
            hb_arena_leave(&d->arena, HB_ERROR_FORMAT, "a device event's pid is not an integer");
        int64_t id = hb_key_value(pid);
        if (id < 0 || id >= a->props.count) continue;
        const hb_prop *prop = &a->props.items[id];
        hb_num number;
        if (!prop->is_object)
            hb_arena_leave(&d->arena, HB_ERROR_FORMAT, "deviceProperties: entry %lld is no object",
                           (long long)id);
        if (prop->memory.type > HB_JSON_STRING ||
            (prop->memory.type == HB_JSON_STRING && !hb_text_number(&prop->memory, &number)))
            hb_arena_leave(&d->arena, HB_ERROR_FORMAT, "totalGlobalMem is not a number");
    }
}

static void run(hb_distributed *d)
{
    for (uint32_t i = 0; i < d->workers[0].analysis->comms.count; i++)
        find_real(d, i);
    d->stats = HB_NEW_ARRAY(&d->arena, hb_worker_stats, d->num_workers);
    for (uint32_t w = 0; w < d->num_workers; w++)
        sum_worker(d, d->workers[w].analysis, &d->stats[w]);
    for (uint32_t w = 0; w < d->num_workers; w++)
        check_pids(d, d->workers[w].analysis);
}

hb_result hb_distributed_run(hb_distributed *d, const hb_worker *workers, uint32_t num_workers,
                             bool *exists)
{
    *d = (hb_distributed){.workers = workers, .num_workers = num_workers};
    *exists = comparable(d);
    if (!*exists) return HB_OK;
    if (hb_arena_try(&d->arena)) run(d);
    if (d->arena.result != HB_OK) return hb_arena_outcome(&d->arena);
    return HB_OK;
}

void hb_distributed_free(hb_distributed *d)
{
    hb_arena_free(&d->arena);
}
