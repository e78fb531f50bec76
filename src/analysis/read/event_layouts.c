/* SPDX-License-Identifier: MIT */
#include "read/event_layouts.h"

#include <stdlib.h>

#include "read/event_numbers.h"

enum {
    MAX_LAYOUTS = 2048,
    SAME_HEADS = 64, /* layouts that begin alike, "event 17": from then on names are values */
    MOST_SAME_HEADS = SAME_HEADS + 8,
    MAX_HOLES = HB_MAX_EVENT_PARTS,
    MAX_FIXED = 16,
    MAX_TEXT = 8192,           /* of the fixed parts of a layout */
    MAX_VALUE = 4096,          /* of a value that is remembered */
    MAX_REMEMBERED = 16 << 20, /* of all that is remembered, in bytes */
    BUCKETS = 1024,
    GUESS_BITS = 14,
    REPEATS = 4,
    PADDING = HB_SAME_PADDING,
    NO_SLOT = HB_SLOT_COUNT,
};

/* A value that stood in a hole. */
typedef struct remembered {
    char *text; /* with the character behind it, which ends it */
    uint32_t size, capacity;
    uint8_t type;
    bool escaped;
    hb_seen_text known;
} remembered;

typedef struct hole {
    uint16_t before; /* bytes of fixed text in front of it */
    uint8_t slot;
    uint8_t value; /* index of the values that are remembered for it, NUMBER for a number */
} hole;

enum { NUMBER = 255 };

/* A place in the fixed text: bytes into the part in front of a hole, or behind the last. */
typedef struct place {
    uint16_t part, offset;
} place;

/* A value that is part of the fixed text, or the object that the arguments are. */
typedef struct fixed {
    uint8_t slot, type;
    bool escaped;
    place start, end;
    hb_seen_text known;
} fixed;

typedef struct layout {
    char *text; /* the fixed parts, one behind the other */
    uint32_t head;
    uint16_t next; /* of those in the same bucket; 0: none */
    uint16_t tail; /* bytes behind the last hole */
    uint8_t num_holes, num_fixed, num_values;
    uint64_t present, strings; /* as in hb_raw_event; the latter of fixed values only */
    hole *holes;
    fixed *fixed;
    remembered (*values)[2]; /* the last one first */
    bool decides_row;        /* none of the holes does */
    hb_seen_row row;
    hb_repeat *repeats[REPEATS]; /* of the last events that differed in more than numbers */
    hb_varying varying;
    uint8_t oldest; /* of the repeats */
} layout;

struct hb_layouts {
    uint32_t trace;   /* the number of the trace that is being read */
    uint32_t history; /* of the last four layouts */
    uint32_t recent;  /* ... and of their repeats */
    uint32_t count;   /* layouts[0] is none */
    size_t remembered_bytes;
    layout *matched;                /* by the last event, when hb_layouts_match() took it */
    hb_event_part parts[MAX_HOLES]; /* ... and what stood in its holes */
    uint16_t buckets[BUCKETS];
    uint16_t guesses[1 << GUESS_BITS]; /* by history: which one came then, */
    uint16_t again[1 << GUESS_BITS];   /* by recent: which repeat, layout * REPEATS + its number */
    uint16_t *noted;                   /* where the repeat of the matched event is to stand */
    layout layouts[MAX_LAYOUTS];
};

/* Of a number without an exponent; NULL: none. */
static inline const char *match_number(const char *p, hb_value *value)
{
    bool has_point;
    const char *end = hb_behind_number(p, &has_point);
    if (!end) return NULL;
    *value = (hb_value){p, (size_t)(end - p), has_point ? HB_JSON_FLOAT : HB_JSON_INT, false};
    return end;
}

/* ---- values that are no numbers ---- */

static void swap(remembered *pair)
{
    remembered last = pair[0];
    pair[0] = pair[1];
    pair[1] = last;
}

/* Keeps a value and the character behind it, in place of the older one; what is then known of its
 * text. NULL: it is not kept. */
static hb_seen_text *remember(hb_layouts *l, remembered *pair, const char *p, const hb_value *value,
                              const char *end)
{
    size_t size = (size_t)(end - p) + 1;
    swap(pair);
    remembered *r = &pair[0];
    r->size = 0;
    if (size > MAX_VALUE) return NULL;
    if (size + PADDING > r->capacity) {
        size_t capacity = size + size / 2 + PADDING;
        if (l->remembered_bytes + capacity > MAX_REMEMBERED) return NULL;
        char *text = realloc(r->text, capacity);
        if (!text) return NULL;
        l->remembered_bytes += capacity - r->capacity;
        memset(text, 0, capacity);
        r->text = text;
        r->capacity = (uint32_t)capacity;
    }
    memcpy(r->text, p, size);
    r->size = (uint32_t)size;
    r->type = value->type;
    r->escaped = value->escaped;
    r->known = (hb_seen_text){0};
    return &r->known;
}

static inline bool is_again(const remembered *r, const char *p)
{
    return r->size && hb_same_text(p, r->text, r->size);
}

/* Notes that something in a value is odd, which then must not be remembered. */
typedef struct watched_defects {
    void (*defect)(void *context, hb_json_defect defect, const char *at);
    void *context;
    bool any;
} watched_defects;

static void watch_defect(void *context, hb_json_defect defect, const char *at)
{
    watched_defects *w = context;
    w->any = true;
    w->defect(w->context, defect, at);
}

static HB_COLD const char *scan_new_value(hb_layouts *l, hb_scan *scan, const char *p,
                                          remembered *pair, hb_value *value, hb_seen_text **known)
{
    watched_defects watched = {scan->defect, scan->context, false};
    scan->defect = watch_defect;
    scan->context = &watched;
    const char *end = hb_scan_value(scan, p, value);
    scan->defect = watched.defect;
    scan->context = watched.context;
    bool plain = end && !watched.any && end < scan->end;
    *known = plain ? remember(l, pair, p, value, end) : NULL;
    return end;
}

/* *known: what is known of its text, NULL when it is not remembered. */
static inline const char *match_value(hb_layouts *l, hb_scan *scan, const char *p, remembered *pair,
                                      hb_value *value, hb_seen_text **known)
{
    if (HB_UNLIKELY(!is_again(&pair[0], p))) {
        if (!is_again(&pair[1], p)) return scan_new_value(l, scan, p, pair, value, known);
        swap(pair);
    }
    remembered *r = &pair[0];
    size_t quote = r->type == HB_JSON_STRING && *p == '"';
    *value = (hb_value){p + quote, r->size - 1 - 2 * quote, r->type, r->escaped};
    *known = &r->known;
    return p + r->size - 1;
}

/* ---- an event ---- */

static inline void set_slot(hb_raw_event *raw, unsigned slot, const hb_value *value,
                            hb_seen_text *known)
{
    raw->slots[slot] = *value;
    raw->strings |= (uint64_t)(value->type == HB_JSON_STRING) << slot;
    raw->known[slot] = known;
}

static const char *match_layout(hb_layouts *l, layout *t, hb_scan *scan, const char *p,
                                hb_raw_event *raw)
{
    const char *starts[MAX_HOLES + 1], *text = t->text;
    raw->strings = t->strings;
    for (unsigned i = 0; i < t->num_holes; i++) {
        const hole *h = &t->holes[i];
        hb_seen_text *known = NULL;
        hb_value value;
        if (!hb_same_text(p, text, h->before)) return NULL;
        starts[i] = p;
        p += h->before;
        text += h->before;
        l->parts[i].start = p;
        p = h->value == NUMBER ? match_number(p, &value)
                               : match_value(l, scan, p, t->values[h->value], &value, &known);
        if (!p) return NULL;
        l->parts[i].end = p;
        if (h->slot != NO_SLOT) set_slot(raw, h->slot, &value, known);
    }
    if (!hb_same_text(p, text, t->tail)) return NULL;
    starts[t->num_holes] = p;
    for (unsigned i = 0; i < t->num_fixed; i++) {
        fixed *f = &t->fixed[i];
        const char *start = starts[f->start.part] + f->start.offset;
        const char *end = starts[f->end.part] + f->end.offset;
        raw->slots[f->slot] = (hb_value){start, (size_t)(end - start), f->type, f->escaped};
        raw->known[f->slot] = &f->known;
    }
    raw->present = t->present;
    raw->num_repaired = 0;
    raw->trace = l->trace;
    raw->row = t->decides_row ? &t->row : NULL;
    return p + t->tail;
}

/* ---- which one ---- */

/* Of the text up to the first number, which is fixed in most layouts. */
static uint32_t head_of(const char *p)
{
    enum { MAX_HEAD = 512 };
    uint32_t hash = 2166136261u;
    for (int i = 0; i < MAX_HEAD && p[i]; i++) {
        bool begins = p[i] == ' ' || p[i] == ':';
        if (begins && ((unsigned char)(p[i + 1] - '0') < 10 || p[i + 1] == '-')) break;
        hash = (hash ^ (unsigned char)p[i]) * 16777619u;
    }
    return hash ^ hash >> 15;
}

static uint32_t slot_of(uint32_t history)
{
    return history * 0x9e3779b1u >> (32 - GUESS_BITS);
}

static uint16_t *guess_of(hb_layouts *l)
{
    return &l->guesses[slot_of(l->history)];
}

/* Events of one layout take turns, as calls with other shapes do: so which repeat comes is told by
 * the repeats before. */
static void follow(hb_layouts *l, uint32_t index, uint32_t repeat)
{
    l->history = l->history << 8 ^ index;
    l->recent = l->recent << 8 ^ (index * REPEATS + repeat);
}

static HB_COLD const char *match_other(hb_layouts *l, hb_scan *scan, const char *p,
                                       hb_raw_event *raw, uint16_t *guess)
{
    uint32_t head = head_of(p);
    for (uint16_t i = l->buckets[head % BUCKETS]; i; i = l->layouts[i].next) {
        if (i == *guess || l->layouts[i].head != head) continue;
        const char *end = match_layout(l, &l->layouts[i], scan, p, raw);
        if (!end) continue;
        *guess = i;
        return end;
    }
    return NULL;
}

const char *hb_layouts_match(hb_layouts *l, hb_scan *scan, const char *p, hb_raw_event *raw)
{
    if (HB_UNLIKELY(!l)) return NULL;
    uint16_t *guess = guess_of(l);
    const char *end = *guess ? match_layout(l, &l->layouts[*guess], scan, p, raw) : NULL;
    if (HB_UNLIKELY(!end)) end = match_other(l, scan, p, raw, guess);
    l->matched = end ? &l->layouts[*guess] : NULL;
    l->noted = &l->again[slot_of(l->recent)];
    if (HB_LIKELY(end != NULL)) follow(l, *guess, 0);
    return end;
}

/* ---- events that are others again ---- */

static const char *match_repeat(hb_layouts *l, uint32_t index, const char *p, hb_read_row *again)
{
    layout *t = &l->layouts[index / REPEATS];
    return hb_repeat_match(t->repeats[index % REPEATS], p, l->trace, again);
}

const char *hb_layouts_repeat(hb_layouts *l, const char *p, hb_read_row *again)
{
    if (HB_UNLIKELY(!l)) return NULL;
    uint32_t slot = slot_of(l->recent), index = l->again[slot], guess = index;
    const char *end = match_repeat(l, index, p, again);
    for (unsigned i = 0; !end && i < REPEATS; i++) {
        index = *guess_of(l) * (uint32_t)REPEATS + i;
        if (index != guess) end = match_repeat(l, index, p, again);
    }
    if (!end) return NULL;
    l->again[slot] = (uint16_t)index;
    follow(l, index / REPEATS, index % REPEATS);
    return end;
}

/* One that is of no use any more, or the oldest one. */
static unsigned place_for_repeat(layout *t, uint32_t trace)
{
    for (unsigned i = 0; i < REPEATS; i++)
        if (hb_repeat_is_stale(t->repeats[i], trace)) return i;
    return t->oldest++ % REPEATS;
}

void hb_layouts_note_row(hb_layouts *l, const char *p, const char *end, const hb_trace *trace)
{
    layout *t = l ? l->matched : NULL;
    if (!t || !t->decides_row) return;
    for (unsigned i = 0; i < t->num_holes; i++) {
        l->parts[i].slot = t->holes[i].slot;
        l->parts[i].is_number = t->holes[i].value == NUMBER;
    }
    const hb_event_text event = {p, end, l->parts, t->num_holes};
    unsigned number = place_for_repeat(t, l->trace);
    hb_repeat_learn(&t->repeats[number], &t->varying, &event, trace, l->trace);
    *l->noted = (uint16_t)((unsigned)(t - l->layouts) * REPEATS + number);
}

/* ---- learning ---- */

typedef struct learning {
    hb_scan *scan;
    bool names_vary;
    const char *part; /* where the fixed text behind the last hole begins */
    uint64_t present, strings;
    size_t text_size;
    unsigned num_holes, num_fixed, num_values;
    hole holes[MAX_HOLES];
    fixed fixed[MAX_FIXED];
    struct {
        const char *start, *end;
        hb_value value;
    } values[MAX_HOLES];
    char text[MAX_TEXT + PADDING];
} learning;

static bool take_text(learning *g, const char *end)
{
    size_t size = (size_t)(end - g->part);
    if (size > MAX_TEXT - g->text_size) return false;
    memcpy(g->text + g->text_size, g->part, size);
    g->text_size += size;
    return true;
}

/* Of a kernel, numbers mostly; what is known of their texts is worth more than how they change. */
static bool is_kept_as_text(unsigned slot)
{
    return slot == HB_SLOT_REGISTERS || slot == HB_SLOT_SHARED;
}

static bool add_hole(learning *g, unsigned slot, const char *p, const hb_value *value,
                     const char *end)
{
    hb_value number;
    if (g->num_holes == MAX_HOLES || !take_text(g, p)) return false;
    hole *h = &g->holes[g->num_holes++];
    *h = (hole){.before = (uint16_t)(p - g->part), .slot = (uint8_t)slot, .value = NUMBER};
    if (is_kept_as_text(slot) || match_number(p, &number) != end) {
        h->value = (uint8_t)g->num_values;
        g->values[g->num_values].start = p;
        g->values[g->num_values].end = end;
        g->values[g->num_values++].value = *value;
    }
    g->part = end;
    return true;
}

static place place_of(const learning *g, const char *p)
{
    return (place){(uint16_t)g->num_holes, (uint16_t)(p - g->part)};
}

static bool add_fixed(learning *g, unsigned slot, const hb_value *value)
{
    if (g->num_fixed == MAX_FIXED || value->s + value->size - g->part > MAX_TEXT) return false;
    g->fixed[g->num_fixed++] = (fixed){.slot = (uint8_t)slot,
                                       .type = value->type,
                                       .escaped = value->escaped,
                                       .start = place_of(g, value->s),
                                       .end = place_of(g, value->s + value->size)};
    g->strings |= (uint64_t)(value->type == HB_JSON_STRING) << slot;
    return true;
}

static const char *learn_members(learning *g, const char *p, bool args);

/* The arguments: an object whose members are looked at, too. */
static const char *learn_args(learning *g, const char *p)
{
    if (g->num_fixed == MAX_FIXED) return NULL;
    fixed *f = &g->fixed[g->num_fixed++];
    *f = (fixed){.slot = HB_SLOT_ARGS, .type = HB_JSON_OBJECT, .start = place_of(g, p)};
    const char *end = learn_members(g, p + 1, true);
    if (end) f->end = place_of(g, end);
    return end;
}

/* Whether a member is of the fixed text: strings as ph, cat and name. */
static bool is_fixed(const learning *g, const hb_value *value, int slot, bool args)
{
    if (args || value->type != HB_JSON_STRING) return false;
    if (slot == HB_SLOT_PH || slot == HB_SLOT_CAT) return true;
    return !g->names_vary && (slot < 0 || slot == HB_SLOT_NAME);
}

static const char *learn_member(learning *g, const char *p, int slot, bool args)
{
    hb_value value;
    if (slot >= 0 && g->present >> slot & 1) return NULL; /* the last one counts */
    if (slot >= 0) g->present |= UINT64_C(1) << slot;
    /* What is no object now may be one in the next event, into which nobody would look. */
    if (slot == HB_SLOT_ARGS) return *p == '{' ? learn_args(g, p) : NULL;
    const char *end = hb_scan_value(g->scan, p, &value);
    if (!end) return NULL;
    bool taken = !is_fixed(g, &value, slot, args)
                     ? add_hole(g, slot < 0 ? NO_SLOT : (unsigned)slot, p, &value, end)
                     : slot < 0 || add_fixed(g, (unsigned)slot, &value);
    return taken ? end : NULL;
}

/* As parse_members() of json_event.c; what that took is well-formed. */
static const char *learn_members(learning *g, const char *p, bool args)
{
    hb_value key;
    p = hb_scan_space(p);
    while (*p != '}') {
        p = hb_scan_string(g->scan, p + 1, &key);
        if (!p) return NULL;
        p = hb_scan_space(hb_scan_space(p) + 1);
        p = learn_member(g, p, hb_event_slot(&key, args), args);
        if (!p) return NULL;
        p = hb_scan_space(p);
        if (*p == ',') p = hb_scan_space(p + 1);
    }
    return p + 1;
}

/* Whether what decides about the row is the same in all events. */
static bool decides_row(const learning *g)
{
    for (unsigned i = 0; i < g->num_holes; i++) {
        unsigned slot = g->holes[i].slot;
        if (slot == HB_SLOT_PH || slot == HB_SLOT_CAT || slot == HB_SLOT_NAME ||
            slot == HB_SLOT_ARGS)
            return false;
    }
    return true;
}

static bool copy_out(layout *t, const learning *g)
{
    t->text = malloc(g->text_size + PADDING);
    t->holes = malloc(HB_MAX(g->num_holes, 1) * sizeof *t->holes);
    t->fixed = malloc(HB_MAX(g->num_fixed, 1) * sizeof *t->fixed);
    t->values = calloc(HB_MAX(g->num_values, 1), sizeof *t->values);
    if (!t->text || !t->holes || !t->fixed || !t->values) return false;
    memcpy(t->text, g->text, g->text_size + PADDING);
    memcpy(t->holes, g->holes, g->num_holes * sizeof *t->holes);
    memcpy(t->fixed, g->fixed, g->num_fixed * sizeof *t->fixed);
    t->num_holes = (uint8_t)g->num_holes;
    t->num_fixed = (uint8_t)g->num_fixed;
    t->present = g->present;
    t->strings = g->strings;
    t->decides_row = decides_row(g);
    return true;
}

static void free_layout(layout *t)
{
    for (unsigned i = 0; i < t->num_values; i++) {
        free(t->values[i][0].text);
        free(t->values[i][1].text);
    }
    free(t->text);
    free(t->holes);
    free(t->fixed);
    free(t->values);
    for (unsigned i = 0; i < REPEATS; i++)
        hb_repeat_free(t->repeats[i]);
    *t = (layout){0};
}

static unsigned count_heads(const hb_layouts *l, uint32_t head)
{
    unsigned count = 0;
    for (uint16_t i = l->buckets[head % BUCKETS]; i; i = l->layouts[i].next)
        count += l->layouts[i].head == head;
    return count;
}

void hb_layouts_learn(hb_layouts *l, hb_scan *scan, const char *p, const char *end)
{
    if (!l || l->count == MAX_LAYOUTS - 1) return;
    learning g;
    uint32_t head = head_of(p);
    unsigned alike = count_heads(l, head);
    if (alike >= MOST_SAME_HEADS) return;
    g.names_vary = alike >= SAME_HEADS;
    g.scan = scan;
    g.part = p;
    g.present = g.strings = 0;
    g.text_size = g.num_holes = g.num_fixed = g.num_values = 0;
    if (learn_members(&g, p + 1, false) != end || !take_text(&g, end)) return;
    memset(g.text + g.text_size, 0, PADDING);
    uint32_t index = l->count + 1;
    layout *t = &l->layouts[index];
    if (!copy_out(t, &g)) {
        free_layout(t);
        return;
    }
    t->tail = (uint16_t)(end - g.part);
    t->num_values = (uint8_t)g.num_values;
    for (unsigned i = 0; i < g.num_values; i++)
        remember(l, t->values[i], g.values[i].start, &g.values[i].value, g.values[i].end);
    t->head = head;
    t->next = l->buckets[t->head % BUCKETS];
    l->buckets[t->head % BUCKETS] = (uint16_t)index;
    l->count = index;
    *guess_of(l) = (uint16_t)index;
    follow(l, index, 0);
}

/* ---- the whole ---- */

hb_layouts *hb_layouts_new(void)
{
    hb_layouts *l = calloc(1, sizeof *l);
    if (l) l->trace = 1;
    return l;
}

void hb_layouts_free(hb_layouts *l)
{
    for (uint32_t i = 1; l && i <= l->count; i++)
        free_layout(&l->layouts[i]);
    free(l);
}

void hb_layouts_begin_trace(hb_layouts *l)
{
    if (l) l->trace++;
}
