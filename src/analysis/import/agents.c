/* SPDX-License-Identifier: MIT */
#include "import/agents.h"

#include <ctype.h>

#include "base/json_members.h"
#include "gpu/peaks.h"

/* The members that are used, gathered in one walk: an agent's text has 100 kB. */
typedef struct agent {
    int64_t cus, simds_per_cu, waves_per_simd, wave, lds_kb, version, block, waves_per_cu;
    int64_t mhz, memory_mhz, bus_bits; /* the memory's: of the first bank that tells */
    uint64_t memory;
} agent;

static int64_t positive(const hb_value *object, const char *name, int64_t most)
{
    int64_t number;
    hb_value value = hb_json_member((hb_str){object->s, (uint32_t)object->size}, name);
    return hb_value_int(&value, &number) && number > 0 && number <= most ? number : 0;
}

static bool add_bank(void *context, const hb_value *bank)
{
    agent *a = context;
    a->memory += (uint64_t)positive(bank, "size_in_bytes", INT64_MAX);
    if (a->memory_mhz) return true;
    a->memory_mhz = positive(bank, "mem_clk_max", INT32_MAX / 1000);
    a->bus_bits = positive(bank, "width", INT32_MAX);
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
        {"max_engine_clk_fcompute", &a->mhz},
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

int32_t hb_import_cus_of_one(const hb_device_info *device)
{
    const char *arch = device->arch ? device->arch : "";
    return hb_cus_of_one((hb_str){arch, (uint32_t)strlen(arch)});
}

/* "gfx90a" is 9.0, "gfx1151" 11.5: as the numbers of gfx_target_version, 90010 and 110501. */
static int64_t version_of(hb_str arch)
{
    int64_t major = 0;
    if (arch.len < 6 || memcmp(arch.s, "gfx", 3) != 0) return 0;
    size_t end = 3;
    while (end < arch.len && isalnum((unsigned char)arch.s[end]))
        end++;
    if (end < 6) return 0;
    for (size_t i = 3; i + 2 < end; i++) {
        if (!isdigit((unsigned char)arch.s[i]) || i > 6) return 0;
        major = major * 10 + (arch.s[i] - '0');
    }
    char minor = arch.s[end - 2];
    return isdigit((unsigned char)minor) ? major * 10000 + (minor - '0') * 100 : 0;
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
    if (!a.version) a.version = version_of(arch);
    int32_t together = hb_cus_of_one(arch); /* as HIP tells of a device */
    int64_t waves = a.waves_per_cu ? a.waves_per_cu : a.simds_per_cu * a.waves_per_simd;
    waves = HB_MIN(waves, (int64_t)INT32_MAX); /* or threads would not fit */
    *HB_PUSH(&import->arena, &process->rows.devices) = (hb_device_info){
        .id = id,
        .name = hb_import_copy_text(import, name.len ? name : arch),
        .arch = hb_import_copy_text(import, arch),
        .total_global_mem = a.memory,
        .compute_major = (int32_t)(a.version / 10000),
        .compute_minor = (int32_t)(a.version / 100 % 100),
        .max_threads_per_block = (int32_t)a.block,
        .max_threads_per_cu = (int32_t)HB_MIN(waves * a.wave * together, (int64_t)INT32_MAX),
        .warp_size = (int32_t)a.wave,
        .shared_mem_per_block = (uint64_t)a.lds_kb * 1024,
        .num_cus = (int32_t)a.cus / together,
        .max_shared_mem_per_cu = (uint64_t)a.lds_kb * 1024,
        .clock_khz = (int32_t)HB_MIN(a.mhz, INT32_MAX / 1000) * 1000,
        .memory_khz = (int32_t)a.memory_mhz * 1000,
        .memory_bus_bits = (int32_t)a.bus_bits,
    };
}
