/* SPDX-License-Identifier: MIT */
#include "import/agents.h"

#include "base/json_members.h"

/* The members that are used, gathered in one walk: an agent's text has 100 kB. */
typedef struct agent {
    int64_t cus, simds_per_cu, waves_per_simd, wave, lds_kb, version, block, waves_per_cu;
    uint64_t memory;
} agent;

static bool add_bank(void *context, const hb_value *bank)
{
    int64_t bytes;
    hb_value size = hb_json_member((hb_str){bank->s, (uint32_t)bank->size}, "size_in_bytes");
    if (hb_value_int(&size, &bytes) && bytes > 0) ((agent *)context)->memory += (uint64_t)bytes;
    return true;
}

static bool take_member(void *context, const hb_value *key, const hb_value *value)
{
    agent *a = context;
    const struct {
        const char *name;
        int64_t *to;
    } numbers[] = {
        {"cu_count", &a->cus},
        {"simd_per_cu", &a->simds_per_cu},
        {"max_waves_per_simd", &a->waves_per_simd},
        {"wave_front_size", &a->wave},
        {"lds_size_in_kb", &a->lds_kb},
        {"gfx_target_version", &a->version},
        {"workgroup_max_size", &a->block},
        {"max_waves_per_cu", &a->waves_per_cu},
    };
    for (size_t i = 0; value->type == HB_JSON_INT && i < HB_ARRAY_LEN(numbers); i++) {
        int64_t number;
        if (hb_value_is(key, numbers[i].name) && hb_value_int(value, &number) && number >= 0 &&
            number <= INT32_MAX)
            *numbers[i].to = number;
    }
    if (value->type == HB_JSON_ARRAY && hb_value_is(key, "mem_banks"))
        hb_json_each((hb_str){value->s, (uint32_t)value->size}, add_bank, a);
    return true;
}

void hb_import_add_gpu(hb_import *import, hb_import_process *process, int32_t id, hb_str name,
                       hb_str arch, hb_str json)
{
    agent a = {0};
    for (uint32_t i = 0; i < process->rows.devices.count; i++)
        if (process->rows.devices.items[i].id == id) return;
    bool described = hb_json_value(json).type == HB_JSON_OBJECT;
    if (!described && !name.len && !arch.len) return;
    if (described) hb_json_each_member(json, take_member, &a);
    int64_t waves = a.waves_per_cu ? a.waves_per_cu : a.simds_per_cu * a.waves_per_simd;
    *HB_PUSH(&import->arena, &process->rows.devices) = (hb_device_info){
        .id = id,
        .name = hb_import_copy_text(import, name.len ? name : arch),
        .arch = hb_import_copy_text(import, arch),
        .total_global_mem = a.memory,
        .compute_major = (int32_t)(a.version / 10000),
        .compute_minor = (int32_t)(a.version / 100 % 100),
        .max_threads_per_block = (int32_t)a.block,
        .max_threads_per_cu = (int32_t)HB_MIN(waves * a.wave, (int64_t)INT32_MAX),
        .warp_size = (int32_t)a.wave,
        .shared_mem_per_block = (uint64_t)a.lds_kb * 1024,
        .num_cus = (int32_t)a.cus,
        .max_shared_mem_per_cu = (uint64_t)a.lds_kb * 1024,
    };
}
