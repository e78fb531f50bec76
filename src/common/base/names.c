/* SPDX-License-Identifier: MIT */
#include "base/names.h"

#include "base/string_table.h"

static hb_str copy_text(hb_arena *arena, hb_str text)
{
    char *copy = hb_arena_alloc(arena, (size_t)text.len + 1);
    if (text.len) memcpy(copy, text.s, text.len);
    copy[text.len] = 0;
    return (hb_str){copy, text.len};
}

/* Texts of one hash stand under keys whose upper half counts them. */
uint32_t hb_names_add(hb_arena *arena, hb_names *names, hb_str text)
{
    bool added;
    for (uint64_t key = hb_hash_bytes(text.s, text.len);; key += UINT64_C(1) << 32) {
        hb_dict_entry *entry = hb_dict_add(arena, &names->by_hash, key, &added);
        if (added) {
            entry->value = names->items.count;
            *HB_PUSH(arena, &names->items) = copy_text(arena, text);
            return names->items.count - 1;
        }
        hb_str known = names->items.items[entry->value];
        if (known.len == text.len && (!text.len || memcmp(known.s, text.s, text.len) == 0))
            return entry->value;
    }
}
