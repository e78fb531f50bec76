/* SPDX-License-Identifier: MIT */
#include "trace/trace.h"

#include <stdlib.h>

#include "base/large_memory.h"

bool hb_row_has_start(const hb_trace *trace, const hb_row *row)
{
    if (!(row->flags & HB_ROW_TS)) return false;
    const hb_odd_times *odd = hb_row_odd_times(trace, row);
    return !odd || hb_us_fits_ns(odd->ts);
}

bool hb_row_is_timed(const hb_trace *trace, const hb_row *row)
{
    const unsigned needed = HB_ROW_TS | HB_ROW_DUR | HB_ROW_COMPLETE;
    const hb_odd_times *odd = hb_row_odd_times(trace, row);
    return (row->flags & needed) == needed && row->duration >= 0 && !(odd && odd->far);
}

enum { FIRST_SLOTS = 128 }; /* a power of two */

/* Blocks of large columns are made so many at once that they fill huge pages. */
enum { GROUP = 4, HUGE_PAGE = 2 << 20 };

static bool begins_group(const hb_column *c, uint32_t block)
{
    bool fills = (size_t)GROUP * HB_COLUMN_BLOCK * c->item_size >= HUGE_PAGE;
    return !fills || block < GROUP || block % GROUP == 0;
}

/* Of what begins with that block. A small trace must not pay for a large one's pages. */
static size_t group_size(const hb_column *c, uint32_t block)
{
    size_t size = (size_t)HB_COLUMN_BLOCK * c->item_size;
    if (block < GROUP || begins_group(c, block + 1)) return size;
    return (GROUP * size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

static void *new_block(hb_column *c, uint32_t block)
{
    size_t size = (size_t)HB_COLUMN_BLOCK * c->item_size, group = group_size(c, block);
    if (!begins_group(c, block)) return (char *)c->blocks[block - 1] + size;
    if (block < GROUP) return malloc(size);
    void *made = hb_large_alloc(group);
    if (made && !hb_large_is_in_memory(made, group)) c->in_files += group;
    return made;
}

static void free_group(const hb_column *c, uint32_t block)
{
    if (block < GROUP)
        free(c->blocks[block]);
    else
        hb_large_free(c->blocks[block], group_size(c, block));
}

void *hb_column_push(hb_column *c)
{
    uint32_t block = c->count >> HB_COLUMN_SHIFT;
    if (block == c->num_blocks) {
        if (c->count == UINT32_MAX - HB_COLUMN_BLOCK) return NULL;
        void **blocks = realloc(c->blocks, (c->num_blocks + 1) * sizeof *blocks);
        if (!blocks) return NULL;
        c->blocks = blocks;
        blocks[block] = new_block(c, block);
        if (!blocks[block]) return NULL;
        c->num_blocks++;
    }
    return memset(hb_column_at(c, c->count++), 0, c->item_size);
}

static void clear_column(hb_column *c)
{
    c->count = 0;
}

void hb_column_free(hb_column *c)
{
    for (uint32_t i = 0; i < c->num_blocks; i++)
        if (begins_group(c, i)) free_group(c, i);
    free(c->blocks);
    *c = (hb_column){.item_size = c->item_size};
}

/* ---- what is stored once ---- */

bool hb_distinct_init(hb_distinct *d, uint32_t item_size)
{
    *d = (hb_distinct){.items.item_size = item_size};
    return hb_slots_double(NULL, &d->slots, FIRST_SLOTS) && hb_column_push(&d->items);
}

void hb_distinct_free(hb_distinct *d)
{
    hb_column_free(&d->items);
    hb_slots_free(&d->slots);
}

static inline bool is_item(const void *distinct, uint32_t index, const void *item)
{
    const hb_distinct *d = distinct;
    return memcmp(hb_column_at(&d->items, index), item, d->items.item_size) == 0;
}

static void clear_distinct(hb_distinct *d)
{
    hb_slots_clear(&d->slots);
    d->items.count = 1;
}

static uint32_t hash_of(const hb_distinct *d, const void *item)
{
    return hb_hash_bytes(item, d->items.item_size);
}

/* Where the item is, or would be. */
static uint32_t *slot_of(const hb_distinct *d, const void *item)
{
    return hb_slots_find(&d->slots, hash_of(d, item), is_item, d, item);
}

/* Not all items are in the table. */
static bool grow_slots(hb_distinct *d)
{
    hb_slots larger = {.size = d->slots.size};
    if (!hb_slots_double(NULL, &larger, FIRST_SLOTS)) return false;
    for (uint32_t i = 0; i < d->slots.size; i++) {
        uint32_t index = d->slots.items[i];
        if (index) hb_slots_enter(&larger, hash_of(d, hb_column_at(&d->items, index)), index);
    }
    hb_slots_free(&d->slots);
    d->slots = larger;
    return true;
}

/* One that no other is equal to: it is not looked for, nor found. */
static uint32_t push_distinct(hb_distinct *d, const void *item)
{
    void *kept = hb_column_push(&d->items);
    if (!kept) return UINT32_MAX;
    memcpy(kept, item, d->items.item_size);
    return d->items.count - 1;
}

uint32_t hb_distinct_add(hb_distinct *d, const void *item)
{
    uint32_t *slot = slot_of(d, item);
    if (*slot) return *slot;
    if (!hb_slots_have_room(&d->slots)) {
        if (!grow_slots(d)) return UINT32_MAX;
        slot = slot_of(d, item);
    }
    uint32_t index = push_distinct(d, item);
    if (index == UINT32_MAX) return UINT32_MAX;
    d->slots.used++;
    return *slot = index;
}

uint32_t hb_trace_key(hb_trace *t, hb_key key)
{
    return key == HB_KEY_NONE ? 0 : hb_distinct_add(&t->keys, &key);
}

uint32_t hb_trace_track(hb_trace *t, uint32_t pid, uint32_t tid)
{
    hb_track track = {pid, tid};
    return pid || tid ? hb_distinct_add(&t->tracks, &track) : 0;
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

uint32_t hb_trace_launch(hb_trace *t, const hb_launch *launch)
{
    hb_launch made = *launch;
    made.gpu = gpu_of(launch);
    return hb_distinct_add(&t->launches, &made);
}

uint32_t hb_trace_add_op(hb_trace *t, const hb_op_row *op)
{
    return op->detail ? push_distinct(&t->ops, op) : hb_distinct_add(&t->ops, op);
}

bool hb_trace_set_odd_times(hb_trace *t, hb_row *row, double ts, double dur)
{
    hb_column *odd = &t->odd_times;
    if (!odd->count && !hb_column_push(odd)) return false; /* 0 stands for none */
    hb_odd_times *times = hb_column_push(odd);
    if (!times) return false;
    times->ts = ts;
    times->dur = dur;
    times->far = !hb_us_to_ns(ts, &row->start);
    times->far |= !hb_us_to_ns(dur, &row->duration);
    times->category = row->category;
    row->category = (odd->count - 1) | HB_ODD_TIMES;
    return true;
}

/* ---- the whole ---- */

bool hb_trace_init(hb_trace *t)
{
    *t = (hb_trace){
        .rows.item_size = sizeof(hb_row),
        .details.item_size = sizeof(hb_op_detail),
        .functions.item_size = sizeof(hb_function_row),
        .devices.item_size = sizeof(hb_device_row),
        .memory.item_size = sizeof(hb_memory_row),
        .odd_times.item_size = sizeof(hb_odd_times),
    };
    return hb_texts_init(&t->strings) && hb_distinct_init(&t->keys, sizeof(hb_key)) &&
           hb_distinct_init(&t->tracks, sizeof(hb_track)) &&
           hb_distinct_init(&t->launches, sizeof(hb_launch)) &&
           hb_distinct_init(&t->ops, sizeof(hb_op_row));
}

void hb_trace_clear_events(hb_trace *t)
{
    hb_column_free(&t->rows);
    hb_column_free(&t->details);
    hb_column_free(&t->functions);
    hb_column_free(&t->devices);
    hb_column_free(&t->memory);
    hb_column_free(&t->odd_times);
    if (t->ops.slots.items) clear_distinct(&t->ops);
}

void hb_trace_restart(hb_trace *t)
{
    hb_trace old = *t;
    free(old.members);
    *t = (hb_trace){.strings = old.strings,
                    .rows = old.rows,
                    .details = old.details,
                    .functions = old.functions,
                    .devices = old.devices,
                    .memory = old.memory,
                    .odd_times = old.odd_times,
                    .keys = old.keys,
                    .tracks = old.tracks,
                    .launches = old.launches,
                    .ops = old.ops};
    clear_column(&t->rows);
    clear_column(&t->details);
    clear_column(&t->functions);
    clear_column(&t->devices);
    clear_column(&t->memory);
    clear_column(&t->odd_times);
    clear_distinct(&t->keys);
    clear_distinct(&t->tracks);
    clear_distinct(&t->launches);
    clear_distinct(&t->ops);
    hb_texts_clear(&t->strings);
}

void hb_trace_free(hb_trace *t)
{
    hb_trace_clear_events(t);
    hb_distinct_free(&t->keys);
    hb_distinct_free(&t->tracks);
    hb_distinct_free(&t->launches);
    hb_distinct_free(&t->ops);
    hb_texts_free(&t->strings);
    free(t->members);
    *t = (hb_trace){0};
}

/* What was never written to takes no memory. */
static size_t column_bytes(const hb_column *c)
{
    return (size_t)c->count * c->item_size;
}

static size_t distinct_bytes(const hb_distinct *d)
{
    return column_bytes(&d->items) + d->slots.size * sizeof *d->slots.items;
}

size_t hb_trace_bytes(const hb_trace *t)
{
    return t->strings.bytes + column_bytes(&t->rows) + column_bytes(&t->details) +
           column_bytes(&t->functions) + column_bytes(&t->devices) + column_bytes(&t->memory) +
           column_bytes(&t->odd_times) + distinct_bytes(&t->keys) + distinct_bytes(&t->tracks) +
           distinct_bytes(&t->launches) + distinct_bytes(&t->ops);
}

size_t hb_trace_memory_bytes(const hb_trace *t)
{
    size_t bytes = hb_trace_bytes(t);
    size_t in_files = t->strings.in_files + t->rows.in_files + t->details.in_files +
                      t->functions.in_files + t->devices.in_files + t->memory.in_files +
                      t->odd_times.in_files + t->keys.items.in_files + t->tracks.items.in_files +
                      t->launches.items.in_files + t->ops.items.in_files;
    return bytes - HB_MIN(bytes, in_files);
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
