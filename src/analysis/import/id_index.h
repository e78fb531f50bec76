/* SPDX-License-Identifier: MIT
 *
 * From a tool's ids to numbers of ours. Ids that lie close together, as they nearly always do, take
 * four bytes each.
 */
#ifndef HB_IMPORT_ID_INDEX_H
#define HB_IMPORT_ID_INDEX_H

#include "base/hash_map.h"

/** All zero is empty. All of it is the arena's. */
typedef struct hb_id_index {
    uint32_t *near; /* by id */
    uint64_t size;  /* of `near` */
    uint64_t count;
    hb_dict far;
} hb_id_index;

/** `value`: not 0. Leaves by the arena without memory. */
void hb_id_index_set(hb_arena *arena, hb_id_index *index, uint64_t id, uint32_t value);
/** Before the arena goes, which it need not wait for. */
void hb_id_index_free(hb_arena *arena, hb_id_index *index);

/** 0: there is none of that id. */
static inline uint32_t hb_id_index_get(const hb_id_index *index, uint64_t id)
{
    if (HB_LIKELY(id < index->size)) return index->near[id];
    if (!index->far.slots.size) return 0;
    const hb_dict_entry *entry = hb_dict_get(&index->far, id);
    return entry ? entry->value : 0;
}

#endif
