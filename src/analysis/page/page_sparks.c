/* SPDX-License-Identifier: MIT */
#include "page/page_sparks.h"

typedef struct filling {
    hb_sparks *sparks;
    hb_analysis *a;
    uint32_t *steps; /* by bar: how many it stands for */
    uint32_t names;  /* that have bars so far */
} filling;

/* The bar of what began at `time`; UINT32_MAX: outside all steps. */
static uint32_t bar_at(const filling *f, double time)
{
    uint32_t low = 0, high = f->a->steps.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (f->a->steps.items[middle].range.start.v <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || time >= f->a->steps.items[low - 1].range.end.v) return UINT32_MAX;
    return (uint32_t)((uint64_t)(low - 1) * f->sparks->bars / f->a->steps.count);
}

static void add(filling *f, hb_string_id name, double time, double us)
{
    uint32_t bar = bar_at(f, time), place = f->sparks->places[name];
    if (bar != UINT32_MAX && place)
        f->sparks->times[(size_t)(place - 1) * f->sparks->bars + bar] += us / f->steps[bar];
}

static void give_place(filling *f, hb_string_id name)
{
    if (!f->sparks->places[name]) f->sparks->places[name] = ++f->names;
}

static void begin(filling *f, uint32_t names)
{
    hb_sparks *s = f->sparks;
    uint32_t steps = f->a->steps.count;
    s->bars = HB_MIN(steps, (uint32_t)HB_SPARK_BARS);
    s->places = HB_NEW_ARRAY(&s->arena, uint32_t, f->a->trace->strings.count + 1);
    s->times = HB_NEW_ARRAY(&s->arena, double, (size_t)names * s->bars + 1);
    f->steps = HB_NEW_ARRAY(&s->arena, uint32_t, s->bars);
    for (uint32_t i = 0; i < steps; i++)
        f->steps[(uint64_t)i * s->bars / steps]++;
}

static void add_operator(void *context, hb_analysis *a, const hb_node *op)
{
    add(context, op->name, op->start, hb_self_host(a, op) + hb_work_of(a, op)->self_device);
}

static void fill_operators(filling *f)
{
    const hb_analysis *a = f->a;
    begin(f, a->by_name.count);
    for (uint32_t i = 0; i < a->by_name.count; i++)
        give_place(f, a->by_name.items[i].name);
    hb_each_operator(f->a, add_operator, f);
}

static void fill_kernels(filling *f)
{
    const hb_analysis *a = f->a;
    begin(f, a->kernel_names.count);
    for (uint32_t i = 0; i < a->kernel_names.count; i++)
        give_place(f, a->kernel_names.items[i].name);
    for (uint32_t i = 0; i < a->devices.count; i++) {
        const hb_device_node *d = &a->devices.items[i];
        if (d->type == HB_TYPE_KERNEL)
            add(f, hb_trace_row(a->trace, d->row)->name, d->start, d->end - d->start);
    }
}

static hb_result make(hb_sparks *s, hb_analysis *a, void (*fill)(filling *f))
{
    filling f = {.sparks = s, .a = a};
    *s = (hb_sparks){0};
    if (a->steps.count < 2) return HB_OK;
    if (hb_arena_try(&s->arena)) fill(&f);
    return hb_arena_outcome(&s->arena);
}

hb_result hb_sparks_of_operators(hb_sparks *sparks, hb_analysis *analysis)
{
    return make(sparks, analysis, fill_operators);
}

hb_result hb_sparks_of_kernels(hb_sparks *sparks, hb_analysis *analysis)
{
    return make(sparks, analysis, fill_kernels);
}

void hb_sparks_free(hb_sparks *sparks)
{
    hb_arena_free(&sparks->arena);
}

const char *hb_spark_of(hb_sparks *s, hb_string_id name)
{
    uint32_t place = s->bars ? s->places[name] : 0;
    if (!place) return "";
    const double *times = s->times + (size_t)(place - 1) * s->bars;
    double most = 0;
    for (uint32_t i = 0; i < s->bars; i++)
        most = HB_MAX(most, times[i]);
    for (uint32_t i = 0; i < s->bars; i++)
        s->text[i] = (char)(times[i] > 0 ? '1' + (int)(7 * times[i] / most) : '0');
    s->text[s->bars] = 0;
    return most > 0 ? s->text : "";
}
