/* SPDX-License-Identifier: MIT
 *
 * Two coders write into one stream of deflate, one after the other: matches may point to whatever
 * stands before, whoever coded it, and where the coder changes the stream stands at a whole byte.
 * What comes first both code, into memory, and the smaller one is written: a stream that is over by
 * then is never larger than zlib's. Later trials let the other one code what comes, too, for its
 * size only, which is compared once it has seen as much as it remembers. What zlib would make of
 * what it has seen a copy of it says, so that a trial which it wins leaves no trace.
 */
#include "io/gzip.h"

#include <stdlib.h>

#include "io/crc32.h"

enum {
    BLOCK = 128 * 1024,
    HELD = 512 << 10,              /* bytes of input that both code before one is chosen */
    USUALLY_HELD = HELD / 16 * 17, /* that each makes of them at most, but of odd input */
    WARM_UP = 128 << 10,           /* bytes of input that the other coder sees first */
    TRIAL = 256 << 10,             /* bytes of input whose sizes are compared */
    FIRST_INTERVAL = 4 << 20,      /* from the first choice to the next */
    MAX_INTERVAL = 256 << 20,
    LEAST = 2 << 20,  /* input for which the coder is changed */
    OS_UNKNOWN = 255, /* as Python writes it */
    /* Measured on traces of PyTorch and our own: 4 to 13 % larger than level 9 at four to five
     * times its speed. Short chance matches cost more than literals, and Z_FILTERED skips them;
     * lazy matching (level 4 up) is worth a quarter of the size; chains longer than 48 are worth
     * half a percent and a tenth of the time. */
    LEVEL = 6,
    STRATEGY = Z_FILTERED,
    RAW_WINDOW = -15,
    MEMORY_LEVEL = 9,
    GOOD_LENGTH = 8,
    MAX_LAZY = 16,
    NICE_LENGTH = 128,
    MAX_CHAIN = 48,
};

static hb_result count_and_pass(hb_sink *sink, const void *data, size_t size)
{
    hb_gzip_output *o = (hb_gzip_output *)sink;
    o->bytes += size;
    return o->below ? o->below->write(o->below, data, size) : HB_OK;
}

/* ---- zlib ---- */

static bool open_zlib(hb_gzip *g)
{
    if (g->block) return deflateReset(&g->z) == Z_OK;
    g->block = malloc(BLOCK);
    bool open = g->block &&
                deflateInit2(&g->z, LEVEL, Z_DEFLATED, RAW_WINDOW, MEMORY_LEVEL, STRATEGY) == Z_OK;
    if (open) {
        deflateTune(&g->z, GOOD_LENGTH, MAX_LAZY, NICE_LENGTH, MAX_CHAIN);
    } else {
        free(g->block);
        g->block = NULL;
    }
    return open;
}

static hb_result pump(hb_gzip *g, hb_sink *to, int flush)
{
    do {
        g->z.next_out = g->block;
        g->z.avail_out = BLOCK;
        if (deflate(&g->z, flush) == Z_STREAM_ERROR)
            return hb_fail(HB_ERROR_STATE, "deflate lost its state");
        size_t made = BLOCK - g->z.avail_out;
        if (made) HB_TRY(to->write(to, g->block, made));
    } while (g->z.avail_out == 0);
    return HB_OK;
}

static hb_result flush_zlib(hb_gzip *g, hb_sink *to, int flush)
{
    g->z.avail_in = 0;
    return pump(g, to, flush);
}

/* Bytes that it would still write of what it has seen. Without memory for the copy it writes them.
 */
static hb_result size_in_zlib(hb_gzip *g, hb_sink *to, uint64_t *size)
{
    z_stream copy;
    *size = 0;
    if (deflateCopy(&copy, &g->z) != Z_OK) return flush_zlib(g, to, Z_SYNC_FLUSH);
    copy.avail_in = 0;
    do {
        copy.next_out = g->block;
        copy.avail_out = BLOCK;
        (void)deflate(&copy, Z_SYNC_FLUSH);
        *size += BLOCK - copy.avail_out;
    } while (copy.avail_out == 0);
    deflateEnd(&copy);
    return HB_OK;
}

/* ---- either ---- */

static bool are_both_at_work(const hb_gzip *g)
{
    return g->stage != HB_GZIP_ALONE;
}

/* Where a coder writes to. */
static hb_sink *sink_of(hb_gzip *g, bool by_events)
{
    if (g->stage == HB_GZIP_HELD) return &g->held[by_events].sink;
    return by_events == g->by_events ? &g->out.sink : &g->trial.sink;
}

static hb_result put(hb_gzip *g, bool by_events, const unsigned char *data, size_t n)
{
    if (by_events) return hb_event_deflate_write(g->events, data, n);
    g->z.next_in = data;
    g->z.avail_in = (uInt)n;
    return pump(g, sink_of(g, false), Z_NO_FLUSH);
}

/* Up to a whole byte. */
static hb_result flush(hb_gzip *g, bool by_events)
{
    return by_events ? hb_event_deflate_flush(g->events)
                     : flush_zlib(g, sink_of(g, false), Z_SYNC_FLUSH);
}

static hb_result finish(hb_gzip *g, bool by_events)
{
    return by_events ? hb_event_deflate_finish(g->events)
                     : flush_zlib(g, sink_of(g, false), Z_FINISH);
}

/* Bytes that a coder has made of all that it has seen. */
static hb_result size_made(hb_gzip *g, bool by_events, uint64_t *size)
{
    uint64_t inside = 0;
    HB_TRY(by_events ? hb_event_deflate_flush(g->events)
                     : size_in_zlib(g, sink_of(g, false), &inside));
    if (g->stage == HB_GZIP_HELD)
        *size = g->held[by_events].buf.size + inside;
    else
        *size = (by_events == g->by_events ? g->out.bytes : g->trial.bytes) + inside;
    return HB_OK;
}

/* ---- the choice ---- */

/* For how many bytes of input the events' own, several times as fast, goes on: it may spend what it
 * saved before. */
static uint64_t length_by_events(const hb_gzip *g, uint64_t own, uint64_t zlib)
{
    if (own <= zlib) return g->interval;
    double affordable = g->saved / (double)(own - zlib) * TRIAL;
    return affordable < LEAST ? 0 : (uint64_t)HB_MIN(affordable, (double)g->interval);
}

/* Where the coder changes the stream stands at a whole byte. */
static hb_result choose(hb_gzip *g, uint64_t own, uint64_t zlib)
{
    uint64_t length = length_by_events(g, own, zlib);
    bool by_events = length > 0;
    if (by_events != g->by_events) {
        HB_TRY(flush(g, false));
        if (by_events) hb_event_deflate_redirect(g->events, &g->out.sink);
    }
    g->rate = ((double)zlib - (double)own) / (double)own;
    g->by_events = by_events;
    g->stage = HB_GZIP_ALONE;
    g->left = length ? length : g->interval;
    g->interval = HB_MIN(g->interval * 4, (uint64_t)MAX_INTERVAL);
    return HB_OK;
}

/* ---- what both coded from the beginning ---- */

static void free_held(hb_gzip *g)
{
    hb_memory_sink_free(&g->held[false]);
    hb_memory_sink_free(&g->held[true]);
}

static hb_result write_held(hb_gzip *g, bool by_events)
{
    const hb_buf *made = &g->held[by_events].buf;
    hb_result result = made->size ? g->out.sink.write(&g->out.sink, made->data, made->size) : HB_OK;
    free_held(g);
    return result;
}

static hb_result end_held(hb_gzip *g)
{
    uint64_t own, zlib;
    HB_TRY(size_made(g, true, &own));
    HB_TRY(size_made(g, false, &zlib));
    bool by_events = own <= zlib;
    g->saved = by_events ? (double)(zlib - own) : 0;
    HB_TRY(write_held(g, by_events));
    g->by_events = by_events;
    g->before = g->out.bytes;
    if (by_events) hb_event_deflate_redirect(g->events, &g->out.sink);
    return choose(g, own, zlib);
}

static hb_result finish_held(hb_gzip *g)
{
    HB_TRY(finish(g, true));
    HB_TRY(finish(g, false));
    return write_held(g, g->held[true].buf.size < g->held[false].buf.size);
}

/* ---- trials ---- */

static bool open_other(hb_gzip *g)
{
    g->trial = (hb_gzip_output){.sink.write = count_and_pass};
    if (g->by_events) return open_zlib(g);
    hb_event_deflate_free(g->events);
    g->events = hb_event_deflate_new(&g->trial.sink);
    return g->events != NULL;
}

/* How many bytes the coder at work has made since it was asked last. */
static hb_result made_meanwhile(hb_gzip *g, uint64_t *made)
{
    uint64_t now;
    HB_TRY(size_made(g, g->by_events, &now));
    *made = now - g->before;
    if (g->by_events) g->saved += (double)*made * g->rate;
    g->before = now;
    return HB_OK;
}

/* Without memory for it there is none. */
static hb_result begin_trial(hb_gzip *g)
{
    uint64_t made;
    HB_TRY(made_meanwhile(g, &made));
    bool open = open_other(g);
    g->stage = open ? HB_GZIP_WARM_UP : HB_GZIP_ALONE;
    g->left = open ? WARM_UP : g->interval;
    return HB_OK;
}

/* Both are counted from here on. */
static hb_result end_warm_up(hb_gzip *g)
{
    uint64_t made;
    HB_TRY(made_meanwhile(g, &made));
    HB_TRY(size_made(g, !g->by_events, &g->other));
    g->stage = HB_GZIP_TRIAL;
    g->left = TRIAL;
    return HB_OK;
}

static hb_result end_trial(hb_gzip *g)
{
    uint64_t mine, other;
    HB_TRY(made_meanwhile(g, &mine));
    HB_TRY(size_made(g, !g->by_events, &other));
    other -= g->other;
    return g->by_events ? choose(g, mine, other) : choose(g, other, mine);
}

/* What was to be written so has been. */
static hb_result go_on(hb_gzip *g)
{
    switch (g->stage) {
    case HB_GZIP_HELD: return end_held(g);
    case HB_GZIP_ALONE: return begin_trial(g);
    case HB_GZIP_WARM_UP: return end_warm_up(g);
    default: return end_trial(g);
    }
}

static hb_result code(hb_gzip *g, const unsigned char *data, size_t n)
{
    HB_TRY(put(g, g->by_events, data, n));
    return are_both_at_work(g) ? put(g, !g->by_events, data, n) : HB_OK;
}

static hb_result write_header(hb_gzip *g)
{
    uint32_t size = g->header_size;
    g->header_size = 0;
    return size ? g->out.sink.write(&g->out.sink, g->header, size) : HB_OK;
}

static hb_result gzip_write(hb_sink *sink, const void *data, size_t size)
{
    hb_gzip *g = (hb_gzip *)sink;
    const unsigned char *at = data;
    if (g->finished) return hb_fail(HB_ERROR_STATE, "gzip stream already finished");
    HB_TRY(write_header(g));
    while (size) {
        if (!g->left) HB_TRY(go_on(g));
        size_t part = HB_MIN(size, (size_t)1 << 30); /* zlib counts in 32 bits */
        if (part > g->left) part = (size_t)g->left;
        g->crc = hb_crc32(g->crc, at, part);
        HB_TRY(code(g, at, part));
        g->size += (uint32_t)part;
        g->left -= g->choice == HB_GZIP_SMALLER ? part : 0;
        at += part;
        size -= part;
    }
    return HB_OK;
}

/* ---- the member ---- */

static unsigned char *put32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        *p++ = (unsigned char)(v >> 8 * i);
    return p;
}

/* The header's name is Latin-1 by definition; only ASCII means the same to everyone. */
static bool is_ascii(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name >= 0x80) return false;
    return true;
}

static void make_header(hb_gzip *g, const char *name, int64_t mtime)
{
    enum { HAS_NAME = 8 };
    unsigned char *p = g->header + 4;
    size_t n = name && is_ascii(name) ? strlen(name) + 1 : 0;
    if (n > 256) n = 0;
    memcpy(g->header, (unsigned char[]){0x1f, 0x8b, Z_DEFLATED, n ? HAS_NAME : 0}, 4);
    p = put32(p, (uint32_t)mtime);
    *p++ = 0;
    *p++ = OS_UNKNOWN;
    if (n) memcpy(p, name, n);
    g->header_size = (uint32_t)(p - g->header) + (uint32_t)n;
}

/* Without memory for both one is at work, and the first trial is a later one. */
static void hold(hb_gzip *g)
{
    hb_memory_sink_init(&g->held[false], SIZE_MAX / 2);
    hb_memory_sink_init(&g->held[true], SIZE_MAX / 2);
    g->events = hb_event_deflate_new(&g->held[true].sink);
    bool both = g->events && hb_buf_reserve(&g->held[false].buf, USUALLY_HELD) &&
                hb_buf_reserve(&g->held[true].buf, USUALLY_HELD);
    if (!both) free_held(g);
    g->stage = both ? HB_GZIP_HELD : HB_GZIP_ALONE;
    g->left = both ? HELD : g->interval;
}

hb_result hb_gzip_open(hb_gzip *g, hb_sink *below, const char *name, int64_t mtime,
                       hb_gzip_coder coder)
{
    *g = (hb_gzip){.sink.write = gzip_write,
                   .out = {{.write = count_and_pass}, below, 0},
                   .choice = coder,
                   .by_events = coder == HB_GZIP_EVENTS,
                   .left = UINT64_MAX,
                   .interval = FIRST_INTERVAL};
    if (g->by_events) g->events = hb_event_deflate_new(&g->out.sink);
    if (g->by_events ? !g->events : !open_zlib(g))
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for compression");
    if (coder == HB_GZIP_SMALLER) hold(g);
    make_header(g, name, mtime);
    return HB_OK;
}

hb_result hb_gzip_finish(hb_gzip *g)
{
    unsigned char trailer[8];
    if (g->finished) return hb_fail(HB_ERROR_STATE, "gzip stream already finished");
    g->finished = true;
    HB_TRY(write_header(g));
    HB_TRY(g->stage == HB_GZIP_HELD ? finish_held(g) : finish(g, g->by_events));
    put32(put32(trailer, g->crc), g->size);
    return g->out.sink.write(&g->out.sink, trailer, sizeof trailer);
}

void hb_gzip_free(hb_gzip *g)
{
    if (g->block) deflateEnd(&g->z);
    free(g->block);
    hb_event_deflate_free(g->events);
    free_held(g);
    g->block = NULL;
    g->events = NULL;
}
