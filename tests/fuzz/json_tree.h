/* SPDX-License-Identifier: MIT
 *
 * What was written, as cJSON reads it. It asks for memory for each value by itself, which was half
 * of the writer's time under sanitizers: here they take room that the next tree has again.
 */
#ifndef HB_FUZZ_JSON_TREE_H
#define HB_FUZZ_JSON_TREE_H

#include <sys/mman.h>

#include <cjson/cJSON.h>

#include "fuzz.h"

/* Addresses, and as much of them as stays in memory between two trees. */
enum { JSON_TREE_ROOM = 1 << 30, JSON_TREE_KEPT = 16 << 20 };

static char *json_tree_room;
static size_t json_tree_used;

static inline void *json_tree_take(size_t size)
{
    size = (size + 15) / 16 * 16;
    if (size > JSON_TREE_ROOM - json_tree_used) return NULL;
    json_tree_used += size;
    return json_tree_room + json_tree_used - size;
}

static inline void json_tree_give(void *value)
{
    (void)value;
}

/** The values of a text, until the next is asked for; NULL where it is no JSON. */
static inline const cJSON *json_tree(const char *text, size_t size)
{
    if (!json_tree_room) {
        json_tree_room = mmap(NULL, JSON_TREE_ROOM, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(json_tree_room != MAP_FAILED);
        cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = json_tree_take, .free_fn = json_tree_give});
    }
    if (json_tree_used > JSON_TREE_KEPT)
        CHECK(madvise(json_tree_room + JSON_TREE_KEPT, JSON_TREE_ROOM - JSON_TREE_KEPT,
                      MADV_DONTNEED) == 0);
    json_tree_used = 0;
    return cJSON_ParseWithLength(text, size);
}

#endif
