/* SPDX-License-Identifier: MIT */
#include "import/own_info.h"

#include "base/json_members.h"

bool hb_own_info_is(hb_str category)
{
    return hb_str_is(category, "hipboard_info");
}

static int64_t number_of(const hb_value *v)
{
    int64_t number;
    return hb_value_int(v, &number) && number >= 0 ? number : 0;
}

typedef struct reading {
    hb_import *import;
    hb_import_process *process;
    hb_device_info device;
} reading;

static bool take_device_member(void *context, const hb_value *key, const hb_value *value)
{
    reading *r = context;
    hb_device_info *d = &r->device;
    const struct {
        const char *name;
        int32_t *to;
    } numbers[] = {
        {"id", &d->id},
        {"major", &d->compute_major},
        {"minor", &d->compute_minor},
        {"block", &d->max_threads_per_block},
        {"cuThreads", &d->max_threads_per_cu},
        {"registers", &d->regs_per_block},
        {"wave", &d->warp_size},
        {"cus", &d->num_cus},
        {"clockKhz", &d->clock_khz},
        {"memoryKhz", &d->memory_khz},
        {"busBits", &d->memory_bus_bits},
    };
    const struct {
        const char *name;
        uint64_t *to;
    } sizes[] = {
        {"memory", &d->total_global_mem},
        {"lds", &d->shared_mem_per_block},
        {"cuLds", &d->max_shared_mem_per_cu},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers); i++)
        if (hb_value_is(key, numbers[i].name))
            *numbers[i].to = (int32_t)HB_MIN(number_of(value), (int64_t)INT32_MAX);
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++)
        if (hb_value_is(key, sizes[i].name)) *sizes[i].to = (uint64_t)number_of(value);
    if (hb_value_is(key, "name")) d->name = hb_import_copy_value(r->import, value);
    if (hb_value_is(key, "arch")) d->arch = hb_import_copy_value(r->import, value);
    return true;
}

static bool take_device(void *context, const hb_value *value)
{
    reading *r = context;
    r->device = (hb_device_info){.id = -1, .name = "", .arch = ""};
    if (value->type != HB_JSON_OBJECT) return true;
    hb_json_each_member((hb_str){value->s, (uint32_t)value->size}, take_device_member, r);
    for (uint32_t i = 0; i < r->process->rows.devices.count; i++)
        if (r->process->rows.devices.items[i].id == r->device.id) return true;
    if (r->device.id >= 0) *HB_PUSH(&r->import->arena, &r->process->rows.devices) = r->device;
    return true;
}

static bool take_member(void *context, const hb_value *key, const hb_value *value)
{
    reading *r = context;
    if (hb_value_is(key, "host")) r->process->host = hb_import_copy_value(r->import, value);
    if (hb_value_is(key, "program")) r->process->program = hb_import_copy_value(r->import, value);
    if (hb_value_is(key, "rank")) r->process->rank = number_of(value);
    if (hb_value_is(key, "world_size")) r->process->world = number_of(value);
    if (hb_value_is(key, "distributed") && value->type == HB_JSON_OBJECT)
        hb_json_each_member((hb_str){value->s, (uint32_t)value->size}, take_member, r);
    if (hb_value_is(key, "serialised")) r->process->serialised = value->type == HB_JSON_TRUE;
    if (hb_value_is(key, "devices") && value->type == HB_JSON_ARRAY)
        hb_json_each((hb_str){value->s, (uint32_t)value->size}, take_device, r);
    return true;
}

void hb_own_info_take(hb_import *import, hb_import_process *process, hb_str json)
{
    reading r = {import, process, {0}};
    char *copy = hb_arena_alloc(&import->arena, (size_t)json.len + HB_SCAN_PADDING);
    memcpy(copy, json.s, json.len);
    json.s = copy;
    if (hb_json_value(json).type == HB_JSON_OBJECT) hb_json_each_member(json, take_member, &r);
}
