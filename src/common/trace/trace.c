/* SPDX-License-Identifier: MIT */
#include "trace/trace.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

/* Category in lower case, kind. */
static const struct {
    const char *cat;
    hb_kind kind;
} category_kinds[] = {
    {"cpu_op", HB_KIND_OPERATOR},
    {"operator", HB_KIND_OPERATOR},
    {"user_annotation", HB_KIND_ANNOTATION},
    {"gpu_user_annotation", HB_KIND_ANNOTATION},
    {"python", HB_KIND_PYTHON},
    {"python_function", HB_KIND_FUNCTION},
    {"runtime", HB_KIND_RUNTIME},
    {"kernel", HB_KIND_KERNEL},
    {"memcpy", HB_KIND_MEMCPY},
    {"gpu_memcpy", HB_KIND_MEMCPY},
    {"memset", HB_KIND_MEMSET},
    {"gpu_memset", HB_KIND_MEMSET},
    {"trace", HB_KIND_SPAN},
    {"memory", HB_KIND_MEMORY},
    {"cuda_runtime", HB_KIND_CALL},
    {"cuda_driver", HB_KIND_CALL},
    {"hip_runtime", HB_KIND_CALL},
    {"hip_driver", HB_KIND_CALL},
    {"xpu_runtime", HB_KIND_CALL},
    {"xpu_driver", HB_KIND_CALL},
    {"mtia_runtime", HB_KIND_CALL},
    {"privateuse1_runtime", HB_KIND_CALL},
    {"privateuse1_driver", HB_KIND_CALL},
};

hb_kind hb_kind_by_category(hb_str cat)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(category_kinds); i++)
        if (strlen(category_kinds[i].cat) == cat.len &&
            strncasecmp(category_kinds[i].cat, cat.s, cat.len) == 0)
            return category_kinds[i].kind;
    return HB_KIND_OTHER;
}

bool hb_row_is_timed(const hb_row *row)
{
    const unsigned needed = HB_ROW_TS | HB_ROW_DUR | HB_ROW_COMPLETE;
    return (row->flags & needed) == needed && isfinite(row->ts) && isfinite(row->dur) &&
           row->dur >= 0;
}

bool hb_is_library_scope(hb_str name)
{
    return hb_str_begins(name, "enumerate(DataLoader)#") ||
           hb_str_begins(name, "enumerate(DataPipe)#") || hb_str_begins(name, "Optimizer.") ||
           hb_str_is(name, "DistributedDataParallel.forward") ||
           hb_str_is(name, "DataParallel.forward");
}

enum { FIRST_KEYS = 64 };

void *hb_column_push(hb_column *c)
{
    uint32_t block = c->count >> HB_COLUMN_SHIFT;
    if (block == c->num_blocks) {
        if (c->count == UINT32_MAX - HB_COLUMN_BLOCK) return NULL;
        void **blocks = realloc(c->blocks, (c->num_blocks + 1) * sizeof *blocks);
        if (!blocks) return NULL;
        c->blocks = blocks;
        blocks[block] = malloc((size_t)HB_COLUMN_BLOCK * c->item_size);
        if (!blocks[block]) return NULL;
        /* A small trace must not pay for a large one's pages. */
        if (block) hb_use_huge_pages(blocks[block], (size_t)HB_COLUMN_BLOCK * c->item_size);
        c->num_blocks++;
    }
    return memset(hb_column_at(c, c->count++), 0, c->item_size);
}

void hb_column_free(hb_column *c)
{
    for (uint32_t i = 0; i < c->num_blocks; i++)
        free(c->blocks[i]);
    free(c->blocks);
    *c = (hb_column){.item_size = c->item_size};
}

bool hb_trace_init(hb_trace *t)
{
    *t = (hb_trace){
        .rows.item_size = sizeof(hb_row),
        .ops.item_size = sizeof(hb_op_row),
        .details.item_size = sizeof(hb_op_detail),
        .functions.item_size = sizeof(hb_function_row),
        .devices.item_size = sizeof(hb_device_row),
        .memory.item_size = sizeof(hb_memory_row),
        .launches.item_size = sizeof(hb_launch),
        .keys_capacity = FIRST_KEYS,
        .num_key_slots = FIRST_KEYS * 2,
        .num_launch_slots = FIRST_KEYS * 2,
        .num_keys = 1,
    };
    if (!hb_texts_init(&t->strings)) return false;
    t->keys = calloc(t->keys_capacity, sizeof *t->keys);
    t->key_slots = calloc(t->num_key_slots, sizeof *t->key_slots);
    t->launch_slots = calloc(t->num_launch_slots, sizeof *t->launch_slots);
    return t->keys && t->key_slots && t->launch_slots && hb_column_push(&t->launches);
}

void hb_trace_clear_events(hb_trace *t)
{
    hb_column_free(&t->rows);
    hb_column_free(&t->ops);
    hb_column_free(&t->details);
    hb_column_free(&t->functions);
    hb_column_free(&t->devices);
    hb_column_free(&t->memory);
}

void hb_trace_free(hb_trace *t)
{
    hb_trace_clear_events(t);
    hb_column_free(&t->launches);
    hb_texts_free(&t->strings);
    free(t->keys);
    free(t->key_slots);
    free(t->launch_slots);
    free(t->members);
    *t = (hb_trace){0};
}

/* What was never written to takes no memory. */
static size_t column_bytes(const hb_column *c)
{
    return (size_t)c->count * c->item_size;
}

size_t hb_trace_bytes(const hb_trace *t)
{
    return t->strings.bytes + column_bytes(&t->rows) + column_bytes(&t->ops) +
           column_bytes(&t->functions) + column_bytes(&t->devices) + column_bytes(&t->memory) +
           column_bytes(&t->launches) + column_bytes(&t->details) +
           t->keys_capacity * sizeof *t->keys +
           (t->num_key_slots + t->num_launch_slots) * sizeof(uint32_t);
}

static uint32_t key_slot(const hb_trace *t, hb_key key)
{
    uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & (t->num_key_slots - 1);
    while (t->key_slots[i] && t->keys[t->key_slots[i]] != key)
        i = (i + 1) & (t->num_key_slots - 1);
    return i;
}

static bool grow_keys(hb_trace *t)
{
    hb_key *keys = realloc(t->keys, t->keys_capacity * 2 * sizeof *keys);
    if (keys) t->keys = keys;
    uint32_t *slots = calloc((size_t)t->num_key_slots * 2, sizeof *slots);
    if (!keys || !slots) {
        free(slots);
        return false;
    }
    free(t->key_slots);
    t->key_slots = slots;
    t->keys_capacity *= 2;
    t->num_key_slots *= 2;
    for (uint32_t id = 1; id < t->num_keys; id++)
        slots[key_slot(t, keys[id])] = id;
    return true;
}

uint32_t hb_trace_key(hb_trace *t, hb_key key)
{
    if (key == HB_KEY_NONE) return 0;
    uint32_t i = key_slot(t, key);
    if (t->key_slots[i]) return t->key_slots[i];
    if (t->num_keys == t->keys_capacity) {
        if (!grow_keys(t)) return UINT32_MAX;
        i = key_slot(t, key);
    }
    t->keys[t->num_keys] = key;
    t->key_slots[i] = t->num_keys;
    return t->num_keys++;
}

/* The one place where a device that a file names becomes an index. Negative ones count from the
 * end, as in the plugin's lists. */
static int8_t gpu_of(const hb_launch *launch)
{
    if (launch->device_state != HB_NUMBER_INT || hb_key_tag(launch->device) != HB_KEY_TAG_INT)
        return HB_NO_GPU;
    int64_t id = hb_key_value(launch->device);
    if (id < -HB_MAX_GPUS || id >= HB_MAX_GPUS) return HB_NO_GPU;
    return (int8_t)(id < 0 ? id + HB_MAX_GPUS : id);
}

static uint32_t launch_slot(const hb_trace *t, const hb_launch *launch)
{
    uint32_t mask = t->num_launch_slots - 1, i = hb_hash_bytes(launch, sizeof *launch) & mask;
    while (t->launch_slots[i] &&
           memcmp(hb_column_at(&t->launches, t->launch_slots[i]), launch, sizeof *launch) != 0)
        i = (i + 1) & mask;
    return i;
}

static bool grow_launches(hb_trace *t)
{
    uint32_t *slots = calloc((size_t)t->num_launch_slots * 2, sizeof *slots);
    if (!slots) return false;
    free(t->launch_slots);
    t->launch_slots = slots;
    t->num_launch_slots *= 2;
    for (uint32_t id = 1; id < t->launches.count; id++)
        slots[launch_slot(t, hb_column_at(&t->launches, id))] = id;
    return true;
}

uint32_t hb_trace_launch(hb_trace *t, const hb_launch *launch)
{
    hb_launch made = *launch;
    made.gpu = gpu_of(launch);
    uint32_t i = launch_slot(t, &made);
    if (t->launch_slots[i]) return t->launch_slots[i];
    if (t->launches.count > t->num_launch_slots / 2) {
        if (!grow_launches(t)) return UINT32_MAX;
        i = launch_slot(t, &made);
    }
    hb_launch *kept = hb_column_push(&t->launches);
    if (!kept) return UINT32_MAX;
    *kept = made;
    return t->launch_slots[i] = t->launches.count - 1;
}

bool hb_trace_add_member(hb_trace *t, hb_str key, hb_str json)
{
    hb_member *members = realloc(t->members, (t->num_members + 1) * sizeof *members);
    if (!members) return false;
    t->members = members;
    hb_member m = {hb_texts_add(&t->strings, key.s, key.len),
                   hb_texts_add(&t->strings, json.s, json.len)};
    if (!m.key || !m.json) return false;
    members[t->num_members++] = m;
    return true;
}

hb_str hb_trace_member(const hb_trace *t, const char *key)
{
    for (uint32_t i = t->num_members; i-- > 0;) {
        hb_str name = hb_trace_text(t, t->members[i].key);
        if (name.len == strlen(key) && memcmp(name.s, key, name.len) == 0)
            return hb_trace_text(t, t->members[i].json);
    }
    return (hb_str){"", 0};
}
