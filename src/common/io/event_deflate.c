/* SPDX-License-Identifier: MIT */
#include "io/event_deflate.h"

#include <stdlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "io/deflate_block.h"

enum {
    INPUT = 256 * 1024,    /* held at once, the window behind what is new among it */
    MAX_EVENT = 16 * 1024, /* what is longer is cut */
    PADDING = 64,          /* readable behind the input */
    KINDS = 4096,
    ENDS = 4096,
    STRINGS = 8192,   /* of tables, powers of two */
    HEAD = 96,        /* bytes that tell an event's kind, its name among them */
    MIN_MATCH = 4,    /* a shorter one costs more than its bytes */
    MIN_DIGITS = 5,   /* of a number that is worth a match of its own */
    MOST_DROPPED = 3, /* literals for one match less */
};

/* How many digits the ends of numbers are known by. */
static const uint8_t end_digits[] = {5, 2, 1};
enum { END_TABLES = sizeof end_digits };

/* Positions count from the stream's beginning, in 32 bits: only differences are used, and what is
 * found is compared, so that an entry from long ago is a bad guess and no mistake. */
struct hb_event_deflate {
    hb_deflate_block block;
    unsigned char input[INPUT + PADDING];
    size_t done, filled; /* of the input: coded, there */
    uint32_t base;       /* the position of its first byte */
    uint32_t before;     /* of the last event */
    bool any;            /* there was one */
    bool finished;
    uint32_t kinds[KINDS];           /* by an event's first lines without digits: the last one */
    uint32_t ends[END_TABLES][ENDS]; /* by the last digits of a number and what follows */
    uint32_t strings[STRINGS];       /* by bytes */
    size_t length;                   /* of a match that may go on */
    uint32_t distance;
};

hb_event_deflate *hb_event_deflate_new(hb_sink *below)
{
    hb_event_deflate *d = calloc(1, sizeof *d);
    if (d) d->block.below = below;
    return d;
}

void hb_event_deflate_free(hb_event_deflate *d)
{
    free(d);
}

/* ---- looking at text ---- */

static inline uint64_t load64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* How many bytes are equal, at most `most`; both may be read 16 bytes beyond. */
static inline size_t common(const unsigned char *a, const unsigned char *b, size_t most)
{
    size_t n = 0;
#ifdef __SSE2__
    for (; n < most; n += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(a + n));
        __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(b + n));
        unsigned differ = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)) ^ 0xffff;
        if (differ) {
            n += (unsigned)__builtin_ctz(differ);
            break;
        }
    }
#else
    while (n < most && a[n] == b[n])
        n++;
#endif
    return HB_MIN(n, most);
}

static inline bool is_numeric(unsigned char c)
{
    return (unsigned char)(c - '0') < 10 || c == '.';
}

/* How many of the next bytes, at most 16, are digits and points. */
static inline size_t digits_at(const unsigned char *p)
{
    size_t n = 0;
#ifdef __SSE2__
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
    __m128i yes = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit),
                               _mm_cmpeq_epi8(x, _mm_set1_epi8('.')));
    n = (size_t)__builtin_ctz(~(unsigned)_mm_movemask_epi8(yes));
#else
    while (n < 16 && is_numeric(p[n]))
        n++;
#endif
    return n;
}

static inline uint64_t mix(uint64_t h)
{
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 31;
}

/* Of the first lines; digits count for nothing. Reads HEAD bytes. */
static inline uint32_t kind_of(const unsigned char *p)
{
    uint64_t h = 0;
    for (int i = 8; i < HEAD; i += 16) { /* all begin with the same bytes */
#ifdef __SSE2__
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
        x = _mm_andnot_si128(_mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit), x);
        uint64_t words[2];
        memcpy(words, &x, sizeof words);
#else
        unsigned char bytes[16];
        uint64_t words[2];
        for (int k = 0; k < 16; k++)
            bytes[k] = (unsigned char)(p[i + k] - '0') < 10 ? 0 : p[i + k];
        memcpy(words, bytes, sizeof words);
#endif
        h = mix(mix(h ^ words[0]) ^ words[1]);
    }
    return (uint32_t)(h >> 32) & (KINDS - 1);
}

/* ---- what is written ---- */

static inline void flush(hb_event_deflate *d)
{
    if (d->length) hb_deflate_match(&d->block, d->length, d->distance);
    d->length = 0;
}

static inline void put_literals(hb_event_deflate *d, const unsigned char *p, size_t n)
{
    flush(d);
    for (size_t i = 0; i < n; i++)
        hb_deflate_literal(&d->block, p[i]);
}

/* How many bytes before `p` are equal to those at a distance, at most `most`. */
static size_t common_before(const hb_event_deflate *d, const unsigned char *p, uint32_t distance,
                            size_t most)
{
    size_t n = 0, there = (size_t)(p - d->input);
    most = HB_MIN(most, there > distance ? there - distance : 0);
    while (n + 8 <= most && load64(p - n - 8) == load64(p - n - 8 - distance))
        n += 8;
    while (n < most && p[-1 - (ptrdiff_t)n] == p[-1 - (ptrdiff_t)n - (ptrdiff_t)distance])
        n++;
    return n;
}

/* A match at `p` may as well begin where the one before it does, but for a few bytes. */
static bool take_over(hb_event_deflate *d, const unsigned char *p, size_t n, uint32_t distance)
{
    size_t had = d->length, back = had ? common_before(d, p, distance, had) : 0;
    if (!had || back + MOST_DROPPED < had) return false;
    d->length = 0;
    put_literals(d, p - had, had - back);
    d->length = back + n;
    d->distance = distance;
    return true;
}

/* Equal stretches that follow each other at one distance are one match. */
static inline void put_match(hb_event_deflate *d, const unsigned char *p, size_t n,
                             uint32_t distance)
{
    if (d->length && d->distance == distance) {
        d->length += n;
    } else if (n >= MIN_MATCH && take_over(d, p, n, distance)) {
        return;
    } else if (n < MIN_MATCH) {
        put_literals(d, p, n);
    } else {
        flush(d);
        d->length = n;
        d->distance = distance;
    }
}

static inline uint32_t position(const hb_event_deflate *d, const unsigned char *p)
{
    return d->base + (uint32_t)(p - d->input);
}

/* What stood at a position, if it is in the window of `p`. */
static inline const unsigned char *earlier(const hb_event_deflate *d, const unsigned char *p,
                                           uint32_t at)
{
    uint32_t distance = position(d, p) - at;
    bool there = distance - 1 < HB_DEFLATE_WINDOW && distance <= (size_t)(p - d->input);
    return there ? p - distance : NULL;
}

/* ---- text of no earlier event ---- */

static inline uint32_t *string_slot(hb_event_deflate *d, const unsigned char *p)
{
    return &d->strings[mix(load64(p) << 24) >> 40 & (STRINGS - 1)]; /* of five bytes */
}

static void put_text(hb_event_deflate *d, const unsigned char *p, const unsigned char *end)
{
    while (p < end) {
        uint32_t *slot = string_slot(d, p);
        const unsigned char *k = earlier(d, p, *slot);
        size_t n = k ? common(p, k, (size_t)(end - p)) : 0;
        *slot = position(d, p);
        if (n < MIN_MATCH + 1) {
            put_literals(d, p++, 1);
            continue;
        }
        put_match(d, p, n, (uint32_t)(p - k));
        p += n;
    }
}

/* ---- an event over earlier ones ---- */

/* Where an earlier event, which goes on at `like` as this one does at `p`, goes on at `q`; NULL:
 * it has other text between. */
static const unsigned char *follow(const unsigned char *like, const unsigned char *p,
                                   const unsigned char *q)
{
    while (p < q) {
        size_t n = common(p, like, (size_t)(q - p));
        p += n;
        like += n;
        if (p == q) break;
        size_t ours = digits_at(p), theirs = digits_at(like);
        if (!ours && !theirs) return NULL;
        p += ours;
        like += theirs;
    }
    if (!is_numeric(*q)) like += digits_at(like); /* of a longer number */
    return p == q && like < q ? like : NULL;
}

static const unsigned char *next_line(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *line = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return line ? line : end;
}

/* Behind the first line that begins after `from`; what is lost stays lost. */
static const unsigned char *resume(const unsigned char *like, const unsigned char *from,
                                   const unsigned char *q)
{
    const unsigned char *line = like ? next_line(like + (*from != '\n'), q) : NULL;
    return line && line < q ? line : NULL;
}

static bool is_near(const unsigned char *p, const unsigned char *like)
{
    return like && p - like <= HB_DEFLATE_WINDOW;
}

/* Where an event's text may be copied from: the last one of its kind, and the one before it, which
 * costs fewer bits to point to. Each as it goes on where the event does; NULL: it has ended. */
typedef struct models {
    const unsigned char *same, *last;
} models;

static const unsigned char *follow_one(const unsigned char *like, const unsigned char *p,
                                       const unsigned char *q)
{
    return like ? follow(like, p, q) : NULL;
}

static models follow_both(models m, const unsigned char *p, const unsigned char *q)
{
    return (models){follow_one(m.same, p, q), follow_one(m.last, p, q)};
}

/* A place to copy from, and how much. */
typedef struct copy {
    const unsigned char *from;
    size_t length;
} copy;

static inline copy common_with(const unsigned char *p, const unsigned char *end,
                               const unsigned char *like)
{
    return is_near(p, like) ? (copy){like, common(p, like, (size_t)(end - p))} : (copy){NULL, 0};
}

static inline copy longest(const unsigned char *p, const unsigned char *end, models m)
{
    copy same = common_with(p, end, m.same), last = common_with(p, end, m.last);
    return last.from && last.length + (last.length > 0) >= same.length ? last : same;
}

/* To go on with the present match costs nothing: how far, where that is as far as another. */
static inline size_t present_length(const hb_event_deflate *d, const unsigned char *p,
                                    const unsigned char *end, copy best)
{
    if (!d->length || (best.from && p - best.from == (ptrdiff_t)d->distance)) return 0;
    copy present = common_with(p, end, p - d->distance);
    return present.length + 1 >= best.length ? present.length : 0;
}

/* ---- numbers ---- */

/* The last digits of a number and what follows stood somewhere before, to be copied at once. */
typedef struct number_end {
    const unsigned char *from; /* behind the number; NULL: nowhere */
    size_t digits, behind;     /* bytes before and from there on */
} number_end;

/* Where a number that ended in the same digits ended, with the same text behind it. */
static const unsigned char *find_end(hb_event_deflate *d, const unsigned char *r)
{
    const unsigned char *found = NULL;
    if (r - d->input < 8) return NULL;
    for (int i = 0; i < END_TABLES; i++) {
        uint64_t here = load64(r - end_digits[i]);
        uint32_t *slot = &d->ends[i][mix(here) >> 30 & (ENDS - 1)];
        const unsigned char *k = found ? NULL : earlier(d, r, *slot);
        if (k && k - d->input >= 8 && load64(k - end_digits[i]) == here) found = k;
        *slot = position(d, r);
    }
    return found;
}

static int bits_of(const unsigned char *p, const unsigned char *from)
{
    return from ? 31 - __builtin_clz((unsigned)(p - from)) : 15;
}

/* Of a number with digits from `q` to `r`; `best` is the copy that would be taken from `r` on. In
 * bits: what a digit, a byte and a distance cost, as measured on recordings. */
static number_end choose_end(hb_event_deflate *d, const unsigned char *q, const unsigned char *r,
                             const unsigned char *end, copy best)
{
    enum { NEAR = 6, DIGIT = 5, BYTE = 4, MIN_GAIN = 3 };
    const unsigned char *k = find_end(d, r);
    if (!k) return (number_end){0};
    size_t digits = common_before(d, r, (uint32_t)(r - k), (size_t)(r - q));
    size_t behind = common(r, k, (size_t)(end - r));
    if (behind < MIN_MATCH || behind + NEAR < best.length)
        return (number_end){digits >= MIN_DIGITS ? k : NULL, digits, 0};
    int64_t gain = DIGIT * (int64_t)digits + BYTE * ((int64_t)behind - (int64_t)best.length) -
                   (bits_of(r, k) - bits_of(r, best.length ? best.from : NULL));
    return (number_end){gain > MIN_GAIN ? k : NULL, digits, behind};
}

/* What is left of a number, from `q` to `r`, of which the bytes before are written; and what goes
 * with it, unless `best` is to be taken from there on. Where the event goes on. */
static const unsigned char *put_number(hb_event_deflate *d, const unsigned char *q,
                                       const unsigned char *r, const unsigned char *end, copy best)
{
    number_end e = q < r ? choose_end(d, q, r, end, best) : (number_end){0};
    if (!e.from || !e.digits) {
        put_literals(d, q, (size_t)(r - q));
        return r;
    }
    if ((size_t)(r - q) > e.digits) put_literals(d, q, (size_t)(r - q) - e.digits);
    put_match(d, r - e.digits, e.digits + e.behind, (uint32_t)(r - e.from));
    return r + e.behind;
}

/* ---- an event ---- */

/* `c` is always the longest copy at `p`. */
static void put_event(hb_event_deflate *d, const unsigned char *p, const unsigned char *end,
                      models m)
{
    copy c = longest(p, end, m);
    while (p < end && (is_near(p, m.same) || is_near(p, m.last))) {
        size_t present = present_length(d, p, end, c);
        if (present) {
            d->length += present;
            m = follow_both(m, p, p + present);
            p += present;
            c = longest(p, end, m);
            continue;
        }
        const unsigned char *q = p + c.length;
        if (c.length) put_match(d, p, c.length, (uint32_t)(p - c.from));
        if (q == end) return;
        size_t ours = HB_MIN(digits_at(q), (size_t)(end - q));
        if (ours || (c.from && digits_at(c.from + c.length))) {
            const unsigned char *r = q + ours;
            m = follow_both(m, p, r);
            c = longest(r, end, m);
            p = put_number(d, q, r, end, c);
            if (p == r) continue;
            m = follow_both(m, r, p);
        } else {
            const unsigned char *line = next_line(q + 1, end);
            put_text(d, q, line);
            m.same = resume(follow_one(m.same, p, q), q, line);
            m.last = resume(follow_one(m.last, p, q), q, line);
            p = line;
        }
        c = longest(p, end, m);
    }
    put_text(d, p, end);
}

/* ---- events ---- */

/* The begin of the next event, in Kineto's layout; or the next line; NULL: not in sight. */
static const unsigned char *next_event(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *limit = (size_t)(end - p) > MAX_EVENT ? p + MAX_EVENT : end;
    const unsigned char *brace = p + 4;
    while (brace < limit && (brace = memchr(brace, '{', (size_t)(limit - brace)))) {
        if (brace + 1 < end && brace[1] == '\n' && memcmp(brace - 3, "\n  ", 3) == 0)
            return brace - 3;
        brace++;
    }
    if (limit == end) return NULL;
    const unsigned char *line = memrchr(p + 1, '\n', (size_t)(limit - p - 1));
    return line ? line : limit;
}

static void code_event(hb_event_deflate *d, const unsigned char *p, const unsigned char *end)
{
    uint32_t *slot = &d->kinds[kind_of(p)];
    const unsigned char *same = d->any ? earlier(d, p, *slot) : NULL;
    const unsigned char *last = d->any ? earlier(d, p, d->before) : NULL;
    *slot = d->before = position(d, p);
    d->any = true;
    put_event(d, p, end, (models){same, last == same ? NULL : last});
}

/* Codes whole events, with `last` all there is. */
static void code(hb_event_deflate *d, bool last)
{
    const unsigned char *p = d->input + d->done, *end = d->input + d->filled, *next;
    memset(d->input + d->filled, 0, PADDING);
    while ((size_t)(end - p) > HEAD && (next = next_event(p, end))) {
        code_event(d, p, next);
        p = next;
    }
    if (last) {
        put_text(d, p, end);
        p = end;
    }
    d->done = (size_t)(p - d->input);
}

/* Forgets what is behind the window. */
static void make_room(hb_event_deflate *d)
{
    size_t away = d->done > HB_DEFLATE_WINDOW ? d->done - HB_DEFLATE_WINDOW : 0;
    memmove(d->input, d->input + away, d->filled - away);
    d->base += (uint32_t)away;
    d->done -= away;
    d->filled -= away;
}

hb_result hb_event_deflate_write(hb_event_deflate *d, const void *data, size_t size)
{
    const unsigned char *from = data;
    if (d->finished) return hb_fail(HB_ERROR_STATE, "deflate stream already finished");
    while (size && d->block.result == HB_OK) {
        size_t part = HB_MIN(size, INPUT - d->filled);
        memcpy(d->input + d->filled, from, part);
        d->filled += part;
        from += part;
        size -= part;
        if (d->filled < INPUT) break;
        code(d, false);
        make_room(d);
    }
    return d->block.result;
}

hb_result hb_event_deflate_flush(hb_event_deflate *d)
{
    if (d->block.result != HB_OK) return d->block.result;
    code(d, true);
    flush(d);
    hb_deflate_block_end(&d->block, false);
    hb_deflate_align(&d->block);
    make_room(d);
    return d->block.result;
}

void hb_event_deflate_redirect(hb_event_deflate *d, hb_sink *below)
{
    d->block.below = below;
}

hb_result hb_event_deflate_finish(hb_event_deflate *d)
{
    if (d->finished) return hb_fail(HB_ERROR_STATE, "deflate stream already finished");
    d->finished = true;
    if (d->block.result != HB_OK) return d->block.result;
    code(d, true);
    flush(d);
    hb_deflate_block_end(&d->block, true);
    return d->block.result;
}
