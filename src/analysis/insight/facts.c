/* SPDX-License-Identifier: MIT
 *
 * What rules want to know of a trace beside its kernels' times.
 */
#include "base/json_members.h"
#include "insight/insight.h"
#include "rules/name_class.h"

/* ---- who computes, and how they talk ---- */

/* Bits of few names are asked for, and of these only once. */
static bool may_tell(hb_str name)
{
    return hb_name_is(HB_KNOWN_NCCL, name) || hb_name_is(HB_KNOWN_GLOO, name) ||
           hb_name_is(HB_KNOWN_DP_FORWARD, name) || hb_name_is(HB_KNOWN_DDP_FORWARD, name);
}

static uint32_t count_computing(const hb_insight *in)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < in->gpus.count; i++)
        n += in->gpus.items[i].kinds[HB_WORK_COMPUTATION] > 0;
    return n;
}

hb_distributed_facts hb_insight_distribution(const hb_insight *in)
{
    hb_distributed_facts facts = {.gpus = count_computing(in)};
    for (uint32_t i = 0; i < in->gpus.count; i++)
        facts.communication_kernels |= in->gpus.items[i].kinds[HB_WORK_COMMUNICATION] > 0;
    bool any = false;
    for (uint32_t i = 1; i < in->trace->strings.count && !any; i++)
        any = may_tell(hb_trace_text(in->trace, i));
    for (uint32_t i = 0; any && i < in->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(in->trace, i);
        bool scope = row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_ANNOTATION;
        if (!scope || !hb_row_is_timed(in->trace, row)) continue;
        hb_str name = hb_trace_text(in->trace, row->name);
        if (may_tell(name)) hb_distributed_facts_add(&facts, name, 1);
    }
    return facts;
}

/* ---- memory ---- */

static hb_gpu_memory *memory_of(hb_insight *in, hb_dict *index, hb_gpu_memories *list, int64_t gpu)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&in->arena, index, (uint64_t)gpu, &added);
    if (added) {
        e->value = list->count;
        *HB_PUSH(&in->arena, list) = (hb_gpu_memory){.gpu = gpu};
    }
    return &list->items[e->value];
}

/* deviceProperties: the n-th is GPU n. */
typedef struct capacities {
    hb_gpu_memories *list;
    int64_t gpu;
} capacities;

static bool take_capacity(void *context, const hb_value *device)
{
    capacities *c = context;
    hb_value memory = hb_json_member((hb_str){device->s, (uint32_t)device->size}, "totalGlobalMem");
    bool known = memory.type == HB_JSON_INT || memory.type == HB_JSON_FLOAT;
    for (uint32_t i = 0; known && i < c->list->count; i++)
        if (c->list->items[i].gpu == c->gpu) c->list->items[i].capacity = hb_value_double(&memory);
    c->gpu++;
    return true;
}

static void find_capacities(hb_insight *in, hb_gpu_memories *list)
{
    capacities c = {list, 0};
    hb_str devices = hb_trace_member(in->trace, "deviceProperties");
    if (hb_json_value(devices).type == HB_JSON_ARRAY) hb_json_each(devices, take_capacity, &c);
}

hb_gpu_memories hb_insight_memories(hb_insight *in)
{
    hb_gpu_memories list = {0};
    hb_dict index = {0};
    for (uint32_t i = 0; i < in->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(in->trace, i);
        if (row->kind != HB_KIND_MEMORY) continue;
        const hb_memory_row *m = hb_trace_memory(in->trace, row);
        hb_key device = hb_trace_key_at(in->trace, m->device);
        bool gpu = m->device_type == 1 || m->device_type == 2;
        bool known = m->allocated_state == HB_NUMBER_INT || m->allocated_state == HB_NUMBER_FLOAT;
        if (!gpu || !known || hb_key_tag(device) != HB_KEY_TAG_INT || hb_key_value(device) < 0)
            continue;
        hb_gpu_memory *to = memory_of(in, &index, &list, hb_key_value(device));
        to->peak = HB_MAX(to->peak, m->allocated);
    }
    if (list.count) find_capacities(in, &list);
    return list;
}
