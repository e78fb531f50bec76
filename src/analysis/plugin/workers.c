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
    const hb_worker_comms *b = d->comms[0];
    for (uint32_t w = 0; w < d->num_workers; w++) {
        const hb_worker_comms *a = d->comms[w];
        const char *first = d->workers[0].name, *name = d->workers[w].name;
        if (!a->communicates || !a->count) return differ(d, "%s has no collectives", name);
        if (a->count != b->count)
            return differ(d, "%s has %u collectives, %s has %u", first, b->count, name, a->count);
        for (uint32_t i = 0; i < a->count; i++)
            if (a->items[i].count != b->items[i].count)
                return differ(d, "collective %u ran %u kernels on %s and %u on %s", i + 1,
                              b->items[i].count, first, a->items[i].count, name);
    }
    return d->num_workers > 0;
}

/* The shortest of the workers' kernels transferred data all the time; the others waited first. All
 * workers have the same number of ranges at the same places. */
static hb_num *shortest_of(hb_distributed *d)
{
    const hb_worker_comms *first = d->comms[0];
    uint32_t n = 0;
    for (uint32_t i = 0; i < first->count; i++)
        n += first->items[i].count;
    hb_num *shortest = HB_NEW_ARRAY(&d->arena, hb_num, n + 1);
    for (uint32_t w = 0; w < d->num_workers; w++)
        for (uint32_t i = 0; i < n; i++) {
            hb_range r = d->comms[w]->ranges[i];
            hb_num length = hb_num_sub(r.end, r.start);
            if (w == 0 || length.v < shortest[i].v) shortest[i] = length;
        }
    return shortest;
}

/* ---- sizes ---- */

typedef struct size_walk {
    const char *fault; /* the plugin would lose the run */
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

/* Of a text Python takes each letter for a type, of which it knows none. */
static void take_letters(size_walk *s, hb_str text)
{
    for (uint32_t i = 1; i + 1 < text.len; i++)
        if (((unsigned char)text.s[i] & 0xc0) != 0x80) take_type(s, &(hb_value){0});
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

static bool lose_run(size_walk *s, const char *why)
{
    s->fault = why;
    return false;
}

static bool take_size(void *context, const hb_value *size)
{
    size_walk *s = context;
    hb_num n;
    if (!hb_value_number(size, &n))
        return lose_run(s, "a collective's Input Dims hold a list of tensors");
    s->product = (hb_num){s->product.v * n.v, s->product.is_float || n.is_float};
    return true;
}

static bool take_input(void *context, const hb_value *dims)
{
    size_walk *s = context;
    if (s->input >= s->num_types)
        return lose_run(s, "a collective's Input type is missing or too short");
    if (dims->type != HB_JSON_ARRAY)
        return lose_run(s, "a collective's Input Dims hold something other than a list");
    s->product = hb_int(1);
    hb_json_each((hb_str){dims->s, (uint32_t)dims->size}, take_size, s);
    if (s->fault) return false;
    s->product.v *= element_size(&s->types[s->input++]);
    s->sum = hb_num_add(s->sum, s->product);
    return true;
}

static hb_num bytes_of(const hb_analysis *a, const hb_comm *c, const char **fault)
{
    hb_str dims = hb_trace_text(a->trace, c->dims), types = hb_trace_text(a->trace, c->types);
    size_walk s; /* 24 KiB, hardly ever full: not cleared, and not one a collective in the arena */
    s.fault = NULL;
    s.num_types = s.input = 0;
    s.product = s.sum = hb_int(0);
    if (!c->dims || hb_python_false(dims)) return s.sum;
    if (*dims.s != '[') {
        *fault = "a collective's Input Dims are not a list";
        return s.sum;
    }
    if (c->types && *types.s == '[') hb_json_each(types, take_type, &s);
    if (c->types && *types.s == '"') take_letters(&s, types);
    hb_json_each(dims, take_input, &s);
    if (s.fault) *fault = s.fault;
    return s.sum;
}

/* The device table takes pids for indices. */
static const char *device_fault(hb_arena *arena, const hb_analysis *a)
{
    if (!a->props.present) return NULL;
    for (uint32_t i = 0; i < a->num_used_devices; i++) {
        hb_key pid = a->used_devices[i];
        if (hb_key_tag(pid) != HB_KEY_TAG_INT) return "a device event's pid is not an integer";
        int64_t id = hb_key_value(pid);
        if (id < 0 || id >= a->props.count) continue;
        const hb_prop *prop = &a->props.items[id];
        hb_num number;
        if (!prop->is_object) {
            char *text = HB_NEW_ARRAY(arena, char, 80);
            snprintf(text, 80, "deviceProperties: entry %lld is no object", (long long)id);
            return text;
        }
        if (prop->memory.type > HB_JSON_STRING ||
            (prop->memory.type == HB_JSON_STRING && !hb_text_number(&prop->memory, &number)))
            return "totalGlobalMem is not a number";
    }
    return NULL;
}

/* ---- what is needed of a worker ---- */

static hb_string_id name_in(hb_arena *arena, const hb_analysis *a, hb_string_id name,
                            hb_texts *names)
{
    if (!names) return name;
    hb_str text = hb_trace_text(a->trace, name);
    hb_string_id id = hb_texts_add(names, text.s ? text.s : "", text.len);
    if (!id) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

hb_worker_comms *hb_worker_comms_of(hb_arena *arena, const hb_analysis *a, hb_texts *names)
{
    uint32_t ranges = 0;
    hb_worker_comms *made = hb_arena_alloc(arena, sizeof *made);
    for (uint32_t i = 0; i < a->comms.count; i++)
        ranges += a->comms.items[i].ranges.count;
    made->communicates = a->has_role[HB_ROLE_COMMUNICATION];
    made->items = HB_NEW_ARRAY(arena, hb_worker_comm, a->comms.count + 1);
    made->ranges = HB_NEW_ARRAY(arena, hb_range, ranges + 1);
    made->device_fault = device_fault(arena, a);
    ranges = 0;
    for (uint32_t i = 0; i < a->comms.count; i++) {
        const hb_comm *c = &a->comms.items[i];
        const char *fault = NULL;
        hb_worker_comm *to = &made->items[made->count++];
        *to = (hb_worker_comm){.name = name_in(arena, a, c->name, names),
                               .step = c->step,
                               .first = ranges,
                               .count = c->ranges.count,
                               .bytes = bytes_of(a, c, &fault)};
        if (c->step >= 0) to->step_name = name_in(arena, a, a->steps.items[c->step].name, names);
        if (!made->size_fault) made->size_fault = fault;
        if (c->ranges.count)
            memcpy(made->ranges + ranges, c->ranges.items, c->ranges.count * sizeof(hb_range));
        ranges += c->ranges.count;
    }
    return made;
}

/* ---- sums ---- */

typedef HB_VEC(hb_range) range_list;

/* The end of each range, in which data were transferred. */
static void extend(hb_arena *arena, range_list *total, range_list *real, const hb_range *items,
                   const hb_num *shortest, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        *HB_PUSH(arena, total) = items[i];
        *HB_PUSH(arena, real) = (hb_range){hb_num_sub(items[i].end, shortest[i]), items[i].end};
    }
}

static hb_num merged_sum(hb_arena *arena, const range_list *list)
{
    hb_ranges merged = hb_ranges_merge(arena, list->items, list->count);
    return hb_ranges_sum(&merged);
}

/* Steps are told apart by their names. */
static void sum_worker(hb_arena *arena, const hb_worker_comms *comms, const hb_num *shortest,
                       hb_worker_stats *stats)
{
    hb_dict steps = {0}, names = {0};
    struct lists {
        range_list total, real;
    } *by_step = HB_NEW_ARRAY(arena, struct lists, comms->count),
      *by_name = HB_NEW_ARRAY(arena, struct lists, comms->count);
    bool added;
    for (uint32_t i = 0; i < comms->count; i++) {
        const hb_worker_comm *c = &comms->items[i];
        const hb_range *ranges = comms->ranges + c->first;
        hb_dict_entry *e = hb_dict_add(arena, &steps, c->step_name, &added);
        if (added) {
            e->value = stats->waits.count;
            *HB_PUSH(arena, &stats->waits) = (hb_wait_stat){.step = c->step};
        }
        extend(arena, &by_step[e->value].total, &by_step[e->value].real, ranges,
               shortest + c->first, c->count);
        e = hb_dict_add(arena, &names, c->name, &added);
        if (added) {
            e->value = stats->ops.count;
            *HB_PUSH(arena, &stats->ops) = (hb_comm_stat){.name = c->name};
        }
        extend(arena, &by_name[e->value].total, &by_name[e->value].real, ranges,
               shortest + c->first, c->count);
        hb_comm_stat *op = &stats->ops.items[e->value];
        op->calls++;
        op->bytes = hb_num_add(op->bytes, c->bytes);
    }
    for (uint32_t i = 0; i < stats->waits.count; i++) {
        stats->waits.items[i].total = merged_sum(arena, &by_step[i].total);
        stats->waits.items[i].real = merged_sum(arena, &by_step[i].real);
    }
    for (uint32_t i = 0; i < stats->ops.count; i++) {
        stats->ops.items[i].total = merged_sum(arena, &by_name[i].total);
        stats->ops.items[i].real = merged_sum(arena, &by_name[i].real);
    }
}

/* What stays of it; all else that it takes is one worker's, and goes with it. */
static void keep_stats(hb_arena *arena, hb_worker_stats *to, const hb_worker_stats *from)
{
    for (uint32_t i = 0; i < from->waits.count; i++)
        *HB_PUSH(arena, &to->waits) = from->waits.items[i];
    for (uint32_t i = 0; i < from->ops.count; i++)
        *HB_PUSH(arena, &to->ops) = from->ops.items[i];
}

static void sum_apart(hb_distributed *d, uint32_t w, const hb_num *shortest)
{
    hb_arena own = {0};
    hb_worker_stats stats = {0};
    if (hb_arena_try(&own)) sum_worker(&own, d->comms[w], shortest, &stats);
    hb_result result = own.result;
    if (result == HB_OK) keep_stats(&d->arena, &d->stats[w], &stats);
    hb_arena_free(&own);
    if (result != HB_OK) hb_arena_leave(&d->arena, result, "out of memory");
}

static void lose(hb_distributed *d, const char *why)
{
    if (why) hb_arena_leave(&d->arena, HB_ERROR_FORMAT, "%s", why);
}

static void run(hb_distributed *d)
{
    const hb_num *shortest = shortest_of(d);
    d->stats = HB_NEW_ARRAY(&d->arena, hb_worker_stats, d->num_workers);
    for (uint32_t w = 0; w < d->num_workers; w++) {
        lose(d, d->comms[w]->size_fault);
        sum_apart(d, w, shortest);
    }
    for (uint32_t w = 0; w < d->num_workers; w++)
        lose(d, d->comms[w]->device_fault);
}

static void take_comms(hb_distributed *d)
{
    d->comms = HB_NEW_ARRAY(&d->arena, const hb_worker_comms *, d->num_workers + 1);
    for (uint32_t w = 0; w < d->num_workers; w++) {
        const hb_worker *from = &d->workers[w];
        d->comms[w] =
            from->comms ? from->comms : hb_worker_comms_of(&d->arena, from->analysis, NULL);
    }
}

hb_result hb_distributed_run(hb_distributed *d, const hb_worker *workers, uint32_t num_workers,
                             bool *exists)
{
    *d = (hb_distributed){.workers = workers, .num_workers = num_workers};
    *exists = false;
    if (hb_arena_try(&d->arena)) {
        take_comms(d);
        *exists = comparable(d);
        if (*exists) run(d);
    }
    return hb_arena_outcome(&d->arena);
}

void hb_distributed_free(hb_distributed *d)
{
    hb_arena_free(&d->arena);
}
