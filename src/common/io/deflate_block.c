/* SPDX-License-Identifier: MIT */
#include "io/deflate_block.h"

#include <stdlib.h>

enum {
    END = 256,
    MAX_BITS = 15,
    SYMBOLS = 19, /* of the code that codes' lengths are written in */
    SYMBOL_BITS = 7,
    MAX_LEAVES = HB_DEFLATE_LITERALS,
};

/* ---- bits ---- */

static inline unsigned char *put(hb_deflate_block *b, unsigned char *p, uint64_t value, unsigned n)
{
    b->bits |= value << b->num_bits;
    b->num_bits += n;
    uint64_t little = __builtin_bswap64(b->bits);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    little = b->bits;
#endif
    memcpy(p, &little, 8); /* those behind the whole bytes are written again */
    p += b->num_bits >> 3;
    b->bits >>= b->num_bits & ~7u;
    b->num_bits &= 7;
    return p;
}

/* ---- codes ---- */

typedef struct leaf {
    uint32_t count;
    uint16_t symbol;
} leaf;

static int by_count(const void *x, const void *y)
{
    const leaf *a = x, *b = y;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* Symbols that occur, the rarest first; always two, as a code needs them. */
static int collect_leaves(const uint32_t *count, int n, leaf *leaves)
{
    int m = 0;
    for (int i = 0; i < n; i++)
        if (count[i]) leaves[m++] = (leaf){count[i], (uint16_t)i};
    for (int i = 0; m < 2; i++)
        if (!count[i]) leaves[m++] = (leaf){1, (uint16_t)i};
    qsort(leaves, (size_t)m, sizeof *leaves, by_count);
    return m;
}

/* Huffman's tree out of two queues, leaves and inner nodes, both in ascending order: how many of
 * the `m` leaves stand at each depth, deeper ones at `limit`. */
static void count_depths(const leaf *leaves, int m, int limit, int at_depth[MAX_BITS + 1])
{
    uint64_t weight[2 * MAX_LEAVES];
    int parent[2 * MAX_LEAVES], depth[2 * MAX_LEAVES], next_leaf = 0, next_node = m;
    for (int i = 0; i < m; i++)
        weight[i] = leaves[i].count;
    for (int node = m; node < 2 * m - 1; node++) {
        weight[node] = 0;
        for (int child = 0; child < 2; child++) {
            bool is_leaf =
                next_leaf < m && (next_node >= node || weight[next_leaf] <= weight[next_node]);
            int taken = is_leaf ? next_leaf++ : next_node++;
            weight[node] += weight[taken];
            parent[taken] = node;
        }
    }
    depth[2 * m - 2] = 0;
    memset(at_depth, 0, (MAX_BITS + 1) * sizeof *at_depth);
    for (int i = 2 * m - 3; i >= 0; i--) {
        depth[i] = depth[parent[i]] + 1;
        if (i < m) at_depth[HB_MIN(depth[i], limit)]++;
    }
}

/* The codes of all depths must fill the space of `limit` bits exactly. */
static void fit_depths(int limit, int at_depth[MAX_BITS + 1])
{
    int64_t used = 0, space = (int64_t)1 << limit;
    for (int d = 1; d <= limit; d++)
        used += (int64_t)at_depth[d] << (limit - d);
    while (used > space) { /* the longest that can become longer */
        int d = limit - 1;
        while (!at_depth[d])
            d--;
        at_depth[d]--;
        at_depth[d + 1]++;
        used -= (int64_t)1 << (limit - d - 1);
    }
    while (used < space) { /* the shortest that may become shorter */
        int d = 2;
        while (!at_depth[d] || (int64_t)1 << (limit - d) > space - used)
            d++;
        at_depth[d]--;
        at_depth[d - 1]++;
        used += (int64_t)1 << (limit - d);
    }
}

static void find_lengths(const uint32_t *count, int n, int limit, uint8_t *lengths)
{
    leaf leaves[MAX_LEAVES];
    int at_depth[MAX_BITS + 1], m = collect_leaves(count, n, leaves), next = 0;
    count_depths(leaves, m, limit, at_depth);
    fit_depths(limit, at_depth);
    memset(lengths, 0, (size_t)n);
    for (int d = limit; d > 0; d--)
        for (int i = 0; i < at_depth[d]; i++)
            lengths[leaves[next++].symbol] = (uint8_t)d;
}

/* Codes of a length ascend with their symbols; deflate sends them from their highest bit. */
static void find_codes(const uint8_t *lengths, int n, uint16_t *codes)
{
    unsigned count[MAX_BITS + 1] = {0}, next[MAX_BITS + 2] = {0};
    for (int i = 0; i < n; i++)
        count[lengths[i]]++;
    count[0] = 0;
    for (int d = 1; d <= MAX_BITS; d++)
        next[d + 1] = (next[d] + count[d]) << 1;
    for (int i = 0; i < n; i++) {
        unsigned code = lengths[i] ? next[lengths[i]]++ : 0, reversed = 0;
        for (int bit = 0; bit < lengths[i]; bit++)
            reversed |= (code >> bit & 1) << (lengths[i] - 1 - bit);
        codes[i] = (uint16_t)reversed;
    }
}

typedef struct code {
    uint8_t literal_bits[HB_DEFLATE_LITERALS], distance_bits[HB_DEFLATE_DISTANCES];
    uint16_t literals[HB_DEFLATE_LITERALS], distances[HB_DEFLATE_DISTANCES];
} code;

static void make_code(hb_deflate_block *b, code *c)
{
    b->literals[END] = 1;
    find_lengths(b->literals, HB_DEFLATE_LITERALS, MAX_BITS, c->literal_bits);
    find_lengths(b->distances, HB_DEFLATE_DISTANCES, MAX_BITS, c->distance_bits);
    find_codes(c->literal_bits, HB_DEFLATE_LITERALS, c->literals);
    find_codes(c->distance_bits, HB_DEFLATE_DISTANCES, c->distances);
}

/* ---- the block ---- */

/* The lengths with their repetitions: symbols, and what follows each. */
typedef struct run_list {
    uint8_t symbol[HB_DEFLATE_LITERALS + HB_DEFLATE_DISTANCES];
    uint8_t value[HB_DEFLATE_LITERALS + HB_DEFLATE_DISTANCES];
    int count;
    uint32_t often[SYMBOLS];
} run_list;

enum { AGAIN = 16, FEW_ZEROS = 17, MANY_ZEROS = 18 };

static void add_run(run_list *r, int symbol, int value)
{
    r->symbol[r->count] = (uint8_t)symbol;
    r->value[r->count++] = (uint8_t)value;
    r->often[symbol]++;
}

static void find_runs(const uint8_t *lengths, int n, run_list *r)
{
    *r = (run_list){.count = 0};
    for (int i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && lengths[i + same] == lengths[i];)
            same++;
        int left = same;
        if (lengths[i]) add_run(r, lengths[i], 0), left--;
        while (!lengths[i] && left >= 11) {
            int part = HB_MIN(left, 138);
            add_run(r, MANY_ZEROS, part - 11);
            left -= part;
        }
        if (!lengths[i] && left >= 3) add_run(r, FEW_ZEROS, left - 3), left = 0;
        while (lengths[i] && left >= 3) {
            int part = HB_MIN(left, 6);
            add_run(r, AGAIN, part - 3);
            left -= part;
        }
        while (left-- > 0)
            add_run(r, lengths[i], 0);
    }
}

static unsigned char *put_code(hb_deflate_block *b, unsigned char *p, const code *c)
{
    static const uint8_t order[SYMBOLS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                           11, 4,  12, 3, 13, 2, 14, 1, 15};
    static const uint8_t value_bits[SYMBOLS] = {[AGAIN] = 2, [FEW_ZEROS] = 3, [MANY_ZEROS] = 7};
    uint8_t all[HB_DEFLATE_LITERALS + HB_DEFLATE_DISTANCES], bits[SYMBOLS];
    uint16_t codes[SYMBOLS];
    run_list runs;
    int literals = HB_DEFLATE_LITERALS, distances = HB_DEFLATE_DISTANCES, symbols = SYMBOLS;
    while (literals > END + 1 && !c->literal_bits[literals - 1])
        literals--;
    while (distances > 1 && !c->distance_bits[distances - 1])
        distances--;
    memcpy(all, c->literal_bits, (size_t)literals);
    memcpy(all + literals, c->distance_bits, (size_t)distances);
    find_runs(all, literals + distances, &runs);
    find_lengths(runs.often, SYMBOLS, SYMBOL_BITS, bits);
    find_codes(bits, SYMBOLS, codes);
    while (symbols > 4 && !bits[order[symbols - 1]])
        symbols--;
    p = put(b, p, (uint64_t)(literals - END - 1), 5);
    p = put(b, p, (uint64_t)(distances - 1), 5);
    p = put(b, p, (uint64_t)(symbols - 4), 4);
    for (int i = 0; i < symbols; i++)
        p = put(b, p, bits[order[i]], 3);
    for (int i = 0; i < runs.count; i++) {
        p = put(b, p, codes[runs.symbol[i]], bits[runs.symbol[i]]);
        p = put(b, p, runs.value[i], value_bits[runs.symbol[i]]);
    }
    return p;
}

static inline unsigned char *put_match(hb_deflate_block *b, unsigned char *p, const code *c,
                                       uint32_t token)
{
    unsigned extra, n;
    uint32_t value;
    unsigned symbol = 257 + hb_length_symbol(token >> 16, &extra, &value);
    uint64_t all = c->literals[symbol];
    n = c->literal_bits[symbol];
    all |= (uint64_t)value << n;
    n += extra;
    symbol = hb_distance_symbol(token & 0xffff, &extra, &value);
    all |= (uint64_t)c->distances[symbol] << n;
    n += c->distance_bits[symbol];
    all |= (uint64_t)value << n;
    return put(b, p, all, n + extra);
}

void hb_deflate_block_end(hb_deflate_block *b, bool last)
{
    enum { DYNAMIC = 2 };
    code c;
    unsigned char *p = b->out;
    make_code(b, &c);
    p = put(b, p, (uint64_t)last | DYNAMIC << 1, 3);
    p = put_code(b, p, &c);
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t token = b->tokens[i];
        p = token >> 16 ? put_match(b, p, &c, token)
                        : put(b, p, c.literals[token], c.literal_bits[token]);
    }
    p = put(b, p, c.literals[END], c.literal_bits[END]);
    if (last && b->num_bits) p = put(b, p, 0, 8 - b->num_bits);
    if (b->result == HB_OK) b->result = b->below->write(b->below, b->out, (size_t)(p - b->out));
    b->count = 0;
    memset(b->literals, 0, sizeof b->literals);
    memset(b->distances, 0, sizeof b->distances);
}

void hb_deflate_align(hb_deflate_block *b)
{
    static const unsigned char no_bytes[] = {0, 0, 0xff,
                                             0xff}; /* their count, and its complement */
    unsigned char *p = put(b, b->out, 0, 3);
    if (b->num_bits) p = put(b, p, 0, 8 - b->num_bits);
    memcpy(p, no_bytes, sizeof no_bytes);
    p += sizeof no_bytes;
    if (b->result == HB_OK) b->result = b->below->write(b->below, b->out, (size_t)(p - b->out));
}
