/* SPDX-License-Identifier: MIT */
#include "write/json_names.h"

#include <stdlib.h>

#include "base/base.h"
#include "rules/name_class.h"

enum {
    SLOTS = 4096,             /* direct-mapped: two names of one slot displace each other */
    KEPT_BYTES = 1024 * 1024, /* when these are full, all is forgotten and learnt again */
    LONGEST_KEPT = 4096,
    LONGEST = 512 * 1024 * 1024, /* of any name's JSON text */
};

struct hb_names {
    struct {
        uint32_t key, len;
        const char *text;
        enum { UNKNOWN, NO, YES } collective;
    } slots[SLOTS];
    char *kept;
    size_t used;
    hb_buf scratch; /* for names that are not kept */
    bool kineto;
};

hb_names *hb_names_new(bool kineto)
{
    hb_names *names = calloc(1, sizeof *names);
    if (!names) return NULL;
    names->kept = malloc(KEPT_BYTES);
    names->kineto = kineto;
    hb_buf_init(&names->scratch, LONGEST);
    if (names->kept) return names;
    free(names);
    return NULL;
}

void hb_names_free(hb_names *names)
{
    if (!names) return;
    hb_buf_free(&names->scratch);
    free(names->kept);
    free(names);
}

static hb_str escape(hb_names *names, hb_str name)
{
    names->scratch.size = 0;
    names->scratch.failed = false;
    if (names->kineto && name.len == 6 && memcmp(name.s, "kernel", 6) == 0) name.s = "Kernel";
    hb_buf_json_string(&names->scratch, name.s, name.len);
    if (names->scratch.failed) return HB_STR("\"(name too long)\"");
    return (hb_str){names->scratch.data, (uint32_t)names->scratch.size};
}

static hb_str keep(hb_names *names, uint32_t key, hb_str text)
{
    if (names->used + text.len > KEPT_BYTES) {
        memset(names->slots, 0, sizeof names->slots);
        names->used = 0;
    }
    char *to = names->kept + names->used;
    memcpy(to, text.s, text.len);
    names->used += text.len;
    names->slots[key % SLOTS].key = key;
    names->slots[key % SLOTS].len = text.len;
    names->slots[key % SLOTS].text = to;
    names->slots[key % SLOTS].collective = UNKNOWN;
    return (hb_str){to, text.len};
}

hb_str hb_names_get(hb_names *names, const hb_trace_event *event)
{
    uint32_t key = event->name_key;
    if (HB_LIKELY(key != 0 && names->slots[key % SLOTS].key == key))
        return (hb_str){names->slots[key % SLOTS].text, names->slots[key % SLOTS].len};
    hb_str text = escape(names, event->name);
    return key != 0 && text.len <= LONGEST_KEPT ? keep(names, key, text) : text;
}

bool hb_names_is_collective(hb_names *names, const hb_trace_event *event)
{
    uint32_t key = event->name_key;
    if (key == 0 || names->slots[key % SLOTS].key != key) return hb_is_collective(event->name);
    if (names->slots[key % SLOTS].collective == UNKNOWN)
        names->slots[key % SLOTS].collective = hb_is_collective(event->name) ? YES : NO;
    return names->slots[key % SLOTS].collective == YES;
}
