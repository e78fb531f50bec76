/* SPDX-License-Identifier: MIT
 *
 * Communication: operators with what they move, and the groups that move it.
 */
#include "record/communication.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "record/record.h"
#include "record/strings.h"

enum { MOST_GROUPS = 65535 };

/* Filled in before its index is given out, and never changed: who has the index sees it. In blocks,
 * since most programs have none. */
typedef struct known_group {
    uint32_t text;
    atomic_ullong recorded; /* how many of it, for those who do not count; orders nothing */
} known_group;

enum { BLOCK = 256, BLOCKS = (MOST_GROUPS + BLOCK) / BLOCK };

static known_group world = {.text = HB_STRING_UNNAMED};
static known_group unknown = {.text = HB_STRING_DROPPED}; /* which is no group's text */
static _Atomic(known_group *) blocks[BLOCKS];
static atomic_uint num_groups; /* given out; the first is 1 */

static known_group *group_at(hb_comm_group group)
{
    if (group == HB_COMM_WORLD) return &world;
    if (group > MOST_GROUPS) return &unknown;
    known_group *block = atomic_load_explicit(&blocks[group / BLOCK], memory_order_acquire);
    return block ? &block[group % BLOCK] : &unknown;
}

/* ---- groups ---- */

void hb_comm_put_ranks(hb_buf *text, const int64_t *ranks, size_t count)
{
    size_t shown = HB_MIN(count, HB_COMM_SHOWN_RANKS);
    hb_buf_str(text, "[");
    for (size_t i = 0; i < shown; i++)
        hb_buf_printf(text, "%s%lld", i ? ", " : "", (long long)ranks[i]);
    hb_buf_str(text, shown < count ? ", ...]" : "]");
}

/* Tabs part it. */
static void put_word(hb_buf *text, const char *word)
{
    for (; word && *word; word++)
        hb_buf_append(text, (unsigned char)*word < ' ' ? " " : word, 1);
    hb_buf_str(text, "\t");
}

static uint32_t text_of(const hb_process_group *g)
{
    hb_buf text;
    hb_buf_init(&text, HB_NAME_MAX);
    put_word(&text, g->name);
    put_word(&text, g->description);
    hb_buf_printf(&text, "%zu\t", g->num_ranks);
    if (g->ranks) hb_comm_put_ranks(&text, g->ranks, g->num_ranks);
    uint32_t id = text.failed ? HB_STRING_DROPPED : hb_strings_intern(text.data, text.size);
    hb_buf_free(&text);
    return id;
}

/* Of two threads one makes it. */
static bool make_block(hb_comm_group group)
{
    _Atomic(known_group *) *at = &blocks[group / BLOCK];
    known_group *none = NULL, *made;
    if (atomic_load_explicit(at, memory_order_acquire)) return true;
    made = calloc(BLOCK, sizeof *made);
    if (!made) return false;
    if (!atomic_compare_exchange_strong(at, &none, made)) free(made);
    return true;
}

hb_comm_group hb_comm_group_make(const hb_process_group *group)
{
    if (!group || hb_record_init() != HB_OK) return HB_COMM_UNKNOWN;
    uint32_t text = text_of(group);
    if (text == HB_STRING_DROPPED) return HB_COMM_UNKNOWN;
    unsigned index = atomic_fetch_add(&num_groups, 1) + 1;
    if (index > MOST_GROUPS) {
        atomic_store(&num_groups, MOST_GROUPS);
        return HB_COMM_UNKNOWN;
    }
    if (!make_block(index)) return HB_COMM_UNKNOWN;
    group_at(index)->text = text;
    return index;
}

/* Up to the next tab. */
static hb_str take_word(hb_str *rest)
{
    const char *tab = memchr(rest->s, '\t', rest->len);
    hb_str word = {rest->s, tab ? (uint32_t)(tab - rest->s) : rest->len};
    uint32_t used = word.len + (tab != NULL);
    *rest = (hb_str){rest->s + used, rest->len - used};
    return word;
}

bool hb_comm_group_read(hb_str text, hb_comm_group_words *words)
{
    char size[24] = "";
    if (!text.s) return false;
    words->name = take_word(&text);
    words->description = take_word(&text);
    hb_str count = take_word(&text);
    words->ranks = text;
    if (count.len == 0 || count.len >= sizeof size) return false;
    memcpy(size, count.s, count.len);
    words->size = strtoll(size, NULL, 10);
    return words->size > 0;
}

/* ---- recording ---- */

static const uint8_t sizes[] = {
#define SIZE(name, text, size) size,
    HB_DTYPE_MAP(SIZE)
#undef SIZE
};

static uint32_t rank_of(int64_t rank)
{
    return rank >= 0 && rank <= INT32_MAX ? (uint32_t)rank : UINT32_MAX;
}

int64_t hb_comm_bytes(const hb_comm_info *info)
{
    if (info->bytes >= 0) return info->bytes;
    int64_t elements = HB_MAX(info->in, info->out);
    int64_t size = info->type < HB_ARRAY_LEN(sizes) && sizes[info->type] ? sizes[info->type] : 1;
    return elements < 0 ? -1 : elements <= INT64_MAX / 16 ? elements * size : INT64_MAX;
}

static inline uint64_t both(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

/* In whole words: read again at once in others than they were written in, they would have to be
 * waited for. */
static inline hb_comm_words record_of(const hb_comm_info *info, uint64_t sequence, bool in_group)
{
    uint32_t dtype = info->type < HB_ARRAY_LEN(sizes) ? (uint32_t)info->type : 0;
    hb_comm_words r;
    r.words[0] = both(group_at(info->group)->text,
                      dtype | (info->async ? 1u << 8 : 0) | (in_group ? 1u << 16 : 0));
    r.words[1] = both(rank_of(info->source), rank_of(info->dest));
    r.words[2] = (uint32_t)info->tag;
    r.words[HB_COMM_WORD_SEQUENCE] = sequence == HB_COMM_UNCOUNTED ? 0 : sequence;
    r.words[4] = (uint64_t)info->in;
    r.words[5] = (uint64_t)info->out;
    r.words[6] = (uint64_t)hb_comm_bytes(info);
    return r;
}

/* A newer caller's may be longer. Messages are not counted. */
static hb_scope begin(uint32_t name, const hb_comm_info *info, bool in_group, const void *frame,
                      const void *caller)
{
    static const hb_comm_info nothing = {
        .in = -1, .out = -1, .bytes = -1, .source = -1, .dest = -1, .tag = HB_COMM_NO_TAG};
    if (!info || info->struct_size < offsetof(hb_comm_info, flow)) info = &nothing;
    uint64_t flow = info->struct_size < sizeof *info ? 0 : info->flow;
    uint64_t sequence = info->sequence;
    if (!sequence && info->source < 0 && info->dest < 0)
        sequence = 1 + atomic_fetch_add_explicit(&group_at(info->group)->recorded, 1,
                                                 memory_order_relaxed);
    hb_comm_words comm = record_of(info, sequence, in_group);
    return hb_record_communication(name, &comm, flow, frame, caller);
}

hb_scope hb_comm_begin(const char *name, const hb_comm_info *info)
{
    if (!HB_ENABLED()) return (hb_scope){0};
    return begin(hb_record_name(name, HB_FRAME), info, false, HB_FRAME,
                 __builtin_return_address(0));
}

hb_scope hb_comm_begin_site(hb_site *site, const hb_comm_info *info)
{
    if (!site || !HB_ENABLED()) return (hb_scope){0};
    return begin(hb_record_site_id(site, HB_FRAME), info, false, HB_FRAME,
                 __builtin_return_address(0));
}

hb_scope hb_comm_record(uint32_t name, const hb_comm_info *info, bool in_group, const void *frame,
                        const void *caller)
{
    return begin(name, info, in_group, frame, caller);
}

void hb_comm_end(hb_scope *scope, const hb_comm_info *info)
{
    if (!scope || !scope->record) return;
    if (info && info->struct_size >= offsetof(hb_comm_info, flow)) {
        hb_comm_words comm = record_of(info, info->sequence, false);
        hb_record_communicated(scope, &comm, info->sequence == 0, HB_FRAME);
    }
    hb_scope_end(scope);
}
