/* SPDX-License-Identifier: MIT */
#include "io/event_deflate.h"

#include <stdlib.h>

#include "io/deflate_block.h"
#include "io/text_scan.h"

enum {
    INPUT = 256 * 1024, /* held at once, the window behind what is new among it */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    MAX_EVENT = 512, /* else inputs of some kB have nothing longer */
#else
    MAX_EVENT = 16 * 1024, /* what is longer is cut */
#endif
    PADDING = 64, /* readable behind the input */
    KINDS = 8192,
    ENDS = 4096,
    STRINGS = 32768,  /* of tables, powers of two */
    CATEGORY = 20,    /* where the line with it begins, behind the phase */
    MIN_MATCH = 3,    /* as recordings show: worth it even from far away */
    MIN_DIGITS = 5,   /* of a number that is worth a match of its own */
    MOST_DROPPED = 3, /* literals for one match less */
    SHORT = 24,       /* a copy that other text is looked for instead of */
    MUCH = 100,       /* text of late that no model had, so that all text is looked for */
};

/* What the ends of numbers are known by, the first one found being taken: so many digits and the
 * text behind them, up to eight bytes together; and what else must be the same. */
static const struct number_key {
    uint8_t digits;
    bool next, kind; /* the begin of a duration behind a time; the event's kind */
} number_keys[] = {{5, false, false}, {1, true, false}, {2, false, false},
                   {2, false, true},  {1, false, true}, {1, false, false}};
enum { NUMBER_KEYS = sizeof number_keys / sizeof *number_keys };

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
    uint32_t kinds[KINDS];            /* by an event's keys: the last one */
    uint32_t ends[NUMBER_KEYS][ENDS]; /* by number_keys */
    uint32_t strings[STRINGS];        /* by bytes */
    uint64_t kind;                    /* of the present event */
    uint32_t unlike; /* bytes of late that no model had, newer ones counting more */
    size_t length;   /* of a match that may go on */
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

/* ---- what an event is like ---- */

/* By what an earlier event is found that this one is like. */
typedef struct keys {
    uint64_t exact; /* its category, its name and its arguments' lists, as inputs and grids */
    uint64_t name;  /* its category and its name */
    uint64_t head;  /* its first lines without digits */
} keys;

static keys keys_of(const unsigned char *p, const unsigned char *end, const unsigned char *args)
{
    const unsigned char *begin = end - p > CATEGORY ? p + CATEGORY : end;
    const unsigned char *category = hb_next_line(begin, end);
    const unsigned char *name = hb_next_line(category + 1, end);
    keys k = {.head = hb_hash_head(p), .name = hb_hash_text(begin, name, 1)};
    const unsigned char *from = args ? memchr(args, '[', (size_t)(end - args)) : NULL;
    const unsigned char *to = from ? memrchr(from, ']', (size_t)(end - from)) : NULL;
    k.exact = to ? hb_hash_text(from, to, k.name) : hb_mix64(k.name + 1);
    return k;
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
    while (n + 8 <= most && hb_load64(p - n - 8) == hb_load64(p - n - 8 - distance))
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
    return &d->strings[hb_mix64(hb_load64(p) << 8) >> 40 & (STRINGS - 1)]; /* of seven bytes */
}

static void put_text(hb_event_deflate *d, const unsigned char *p, const unsigned char *end)
{
    d->unlike += (uint32_t)(end - p);
    while (p < end) {
        uint32_t *slot = string_slot(d, p);
        const unsigned char *k = earlier(d, p, *slot);
        size_t n = k ? hb_common_length(p, k, (size_t)(end - p)) : 0;
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

/* An earlier event that this one is laid over. */
typedef struct model {
    const unsigned char *at; /* where it goes on as this one does; NULL: it has ended */
    bool lost;               /* its line has other text from there on */
    size_t length;           /* as much is equal from there on */
} model;

/* Where an event's text may be copied from: the last one of its kind, and the one before it, which
 * costs fewer bits to point to. */
typedef struct models {
    model same, last;
} models;

static bool is_near(const unsigned char *p, const unsigned char *like)
{
    return like && p - like <= HB_DEFLATE_WINDOW;
}

static inline size_t length_at(const unsigned char *p, const unsigned char *end, const model *m)
{
    return !m->lost && is_near(p, m->at) ? hb_common_length(p, m->at, (size_t)(end - p)) : 0;
}

/* Behind other text than the event has from `p` to `q` the next lines go together. */
static bool find_line(model *m, const unsigned char **p, const unsigned char *q)
{
    *p = hb_next_line(*p, q);
    if (**p != '\n') return false;
    m->at = memchr(m->at, '\n', (size_t)(q - m->at));
    m->lost = false;
    return m->at != NULL;
}

/* The event goes on from `p` to `q`, in which numbers may differ. */
static void follow(model *m, const unsigned char *p, const unsigned char *q,
                   const unsigned char *end)
{
    if (!m->at) return;
    size_t n = HB_MIN(m->length, (size_t)(q - p));
    for (;;) {
        p += n;
        m->at += n;
        if (p == q && !m->lost) break;
        if (!m->lost) {
            size_t ours = HB_MIN(hb_digits_at(p), (size_t)(q - p)), theirs = hb_digits_at(m->at);
            m->lost = !ours && !theirs;
            p += ours;
            m->at += theirs;
        }
        if (m->lost && !find_line(m, &p, q)) break;
        n = hb_common_length(p, m->at, (size_t)(q - p));
    }
    if (m->at && !m->lost && !hb_is_numeric(*q))
        m->at += hb_digits_at(m->at); /* of a longer number */
    if (m->at >= q) m->at = NULL;
    m->length = length_at(q, end, m);
}

static void follow_both(models *m, const unsigned char *p, const unsigned char *q,
                        const unsigned char *end)
{
    follow(&m->same, p, q, end);
    follow(&m->last, p, q, end);
}

/* A place to copy from, and how much. */
typedef struct copy {
    const unsigned char *from;
    size_t length;
} copy;

static inline copy common_with(const unsigned char *p, const unsigned char *end,
                               const unsigned char *like)
{
    return is_near(p, like) ? (copy){like, hb_common_length(p, like, (size_t)(end - p))}
                            : (copy){NULL, 0};
}

static inline copy longest(const models *m)
{
    bool last = m->last.length && m->last.length + 1 >= m->same.length;
    const model *best = last ? &m->last : &m->same;
    return (copy){best->length ? best->at : NULL, best->length};
}

/* To go on with the present match costs nothing: how far, where that is as far as another. */
static inline size_t present_length(const hb_event_deflate *d, const unsigned char *p,
                                    const unsigned char *end, copy best)
{
    if (!d->length || (best.from && p - best.from == (ptrdiff_t)d->distance)) return 0;
    copy present = common_with(p, end, p - d->distance);
    return present.length + 1 >= best.length ? present.length : 0;
}

/* Where a copy is a short one, more of the same bytes may have stood in another event. */
static copy longer_string(hb_event_deflate *d, const unsigned char *p, const unsigned char *end,
                          copy best)
{
    copy other = common_with(p, end, earlier(d, p, *string_slot(d, p)));
    return other.length > best.length && other.length > MIN_MATCH ? other : best;
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
    enum { NEXT = 7 }; /* from there on stand, behind a time, the first two digits of a duration */
    const unsigned char *found = NULL;
    if (r - d->input < 8) return NULL;
    for (int i = 0; i < NUMBER_KEYS; i++) {
        const struct number_key *by = &number_keys[i];
        uint64_t here = hb_load64(r - by->digits), key = here;
        if (by->next) key ^= hb_load64(r + NEXT) * 3;
        if (by->kind) key ^= d->kind;
        uint32_t *slot = &d->ends[i][hb_mix64(key) >> 30 & (ENDS - 1)];
        const unsigned char *k = found ? NULL : earlier(d, r, *slot);
        if (k && k - d->input >= 8 && hb_load64(k - by->digits) == here) found = k;
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
    size_t behind = hb_common_length(r, k, (size_t)(end - r));
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

static void put_event(hb_event_deflate *d, const unsigned char *p, const unsigned char *end,
                      models *m)
{
    m->same.length = length_at(p, end, &m->same);
    m->last.length = length_at(p, end, &m->last);
    while (p < end && (is_near(p, m->same.at) || is_near(p, m->last.at))) {
        copy c = longest(m);
        size_t present = present_length(d, p, end, c);
        if (present) {
            d->length += present;
            follow_both(m, p, p + present, end);
            p += present;
            continue;
        }
        if (c.length < SHORT && !hb_is_numeric(*p)) c = longer_string(d, p, end, c);
        const unsigned char *q = p + c.length, *from = p;
        if (c.length) put_match(d, p, c.length, (uint32_t)(p - c.from));
        if (q == end) return;
        size_t ours = HB_MIN(hb_digits_at(q), (size_t)(end - q));
        if (ours || (c.from && hb_digits_at(c.from + c.length))) {
            const unsigned char *r = q + ours;
            follow_both(m, p, r, end);
            from = r;
            p = put_number(d, q, r, end, longest(m));
            if (p == r) continue;
        } else {
            p = hb_next_line(q + 1, end);
            put_text(d, q, p);
        }
        follow_both(m, from, p, end);
    }
    put_text(d, p, end);
}

/* ---- events ---- */

/* The begin of the next event, in Kineto's layout; or the next line; NULL: not in sight. `args`:
 * the brace of what this one has inside, or NULL. */
static const unsigned char *next_event(const unsigned char *p, const unsigned char *end,
                                       const unsigned char **args)
{
    *args = NULL;
    const unsigned char *limit = (size_t)(end - p) > MAX_EVENT ? p + MAX_EVENT : end;
    const unsigned char *brace = p + 4;
    while (brace < limit && (brace = memchr(brace, '{', (size_t)(limit - brace)))) {
        if (brace + 1 < end && brace[1] == '\n' && memcmp(brace - 3, "\n  ", 3) == 0)
            return brace - 3;
        if (!*args) *args = brace;
        brace++;
    }
    if (limit == end) return NULL;
    const unsigned char *line = memrchr(p + 1, '\n', (size_t)(limit - p - 1));
    if (line && *args > line) *args = NULL; /* inside what is cut off */
    return line ? line : limit;
}

/* What was found before, or else the last event with the key. */
static const unsigned char *find_kind(hb_event_deflate *d, const unsigned char *p, uint64_t key,
                                      const unsigned char *found)
{
    uint32_t *slot = &d->kinds[key >> 32 & (KINDS - 1)];
    const unsigned char *k = found || !d->any ? found : earlier(d, p, *slot);
    *slot = position(d, p);
    return k;
}

/* Text that is new is looked for among earlier events only while there is such text. */
static void index_event(hb_event_deflate *d, const unsigned char *p, const unsigned char *end)
{
    d->unlike -= d->unlike >> 6;
    if (d->unlike < MUCH) return;
    for (; p < end; p++)
        *string_slot(d, p) = position(d, p);
}

static void code_event(hb_event_deflate *d, const unsigned char *p, const unsigned char *end,
                       const unsigned char *args)
{
    keys k = keys_of(p, end, args);
    const unsigned char *same = find_kind(d, p, k.exact, NULL);
    same = find_kind(d, p, k.name, same);
    same = find_kind(d, p, k.head, same);
    const unsigned char *last = d->any ? earlier(d, p, d->before) : NULL;
    d->before = position(d, p);
    d->any = true;
    d->kind = k.exact;
    put_event(d, p, end, &(models){{.at = same}, {.at = last == same ? NULL : last}});
    index_event(d, p, end);
}

/* Codes whole events, with `last` all there is. */
static void code(hb_event_deflate *d, bool last)
{
    const unsigned char *p = d->input + d->done, *end = d->input + d->filled, *next, *args;
    memset(d->input + d->filled, 0, PADDING);
    while ((size_t)(end - p) > HB_SCAN_HEAD && (next = next_event(p, end, &args))) {
        code_event(d, p, next, args);
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
