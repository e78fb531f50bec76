/* SPDX-License-Identifier: MIT
 *
 * Two coders write into one stream of deflate, one after the other: matches may point to whatever
 * stands before, whoever coded it, and where the coder changes the stream stands at a whole byte.
 * A trial lets the other one code what comes, too, for its size only, which is compared once it has
 * seen as much as it remembers.
 */
#include "io/gzip.h"

#include <stdlib.h>

#include "io/crc32.h"

enum {
    BLOCK = 128 * 1024,
    WARM_UP = 128 << 10,      /* bytes of input that the other coder sees first */
    TRIAL = 256 << 10,        /* bytes of input whose sizes are compared */
    FIRST_INTERVAL = 4 << 20, /* from the first trial, which is at the beginning, to the next */
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
    int state;
    do {
        g->z.next_out = g->block;
        g->z.avail_out = BLOCK;
        state = deflate(&g->z, flush);
        if (state == Z_STREAM_ERROR) return hb_fail(HB_ERROR_STATE, "deflate lost its state");
        size_t made = BLOCK - g->z.avail_out;
        if (made) HB_TRY(to->write(to, g->block, made));
    } while (g->z.avail_out == 0 || (flush == Z_FINISH && state != Z_STREAM_END));
    return HB_OK;
}

static hb_result flush_zlib(hb_gzip *g, hb_sink *to, int flush)
{
    g->z.avail_in = 0;
    return pump(g, to, flush);
}

/* ---- either ---- */

static hb_result put(hb_gzip *g, bool by_events, hb_sink *to, const unsigned char *data, size_t n)
{
    if (by_events) return hb_event_deflate_write(g->events, data, n);
    g->z.next_in = data;
    g->z.avail_in = (uInt)n;
    return pump(g, to, Z_NO_FLUSH);
}

/* Up to a whole byte. */
static hb_result flush(hb_gzip *g, bool by_events, hb_sink *to)
{
    return by_events ? hb_event_deflate_flush(g->events) : flush_zlib(g, to, Z_SYNC_FLUSH);
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

static void add_saved(hb_gzip *g)
{
    if (g->by_events) g->saved += (double)(g->out.bytes - g->before) * g->rate;
    g->before = g->out.bytes;
}

/* Without memory for it there is none. */
static hb_result begin_trial(hb_gzip *g)
{
    if (g->size) HB_TRY(flush(g, g->by_events, &g->out.sink));
    add_saved(g);
    g->in_trial = open_other(g);
    g->is_warm = false;
    g->left = g->in_trial ? WARM_UP : g->interval;
    return HB_OK;
}

/* Both are counted from here on. */
static hb_result end_warm_up(hb_gzip *g)
{
    HB_TRY(flush(g, g->by_events, &g->out.sink));
    HB_TRY(flush(g, !g->by_events, &g->trial.sink));
    add_saved(g);
    g->trial.bytes = 0;
    g->is_warm = true;
    g->left = TRIAL;
    return HB_OK;
}

/* For how many bytes of input the events' own, several times as fast, goes on: it may spend what it
 * saved before. */
static uint64_t length_by_events(const hb_gzip *g, uint64_t own, uint64_t zlib)
{
    if (own <= zlib) return g->interval;
    double affordable = g->saved / (double)(own - zlib) * TRIAL;
    return affordable < LEAST ? 0 : (uint64_t)HB_MIN(affordable, (double)g->interval);
}

static void choose(hb_gzip *g, uint64_t own, uint64_t zlib)
{
    g->left = length_by_events(g, own, zlib);
    g->rate = ((double)zlib - (double)own) / (double)own;
    add_saved(g);
    if (g->left && !g->by_events) hb_event_deflate_redirect(g->events, &g->out.sink);
    g->by_events = g->left > 0;
    if (!g->left) g->left = g->interval;
    g->interval = HB_MIN(g->interval * 4, (uint64_t)MAX_INTERVAL);
}

static hb_result end_trial(hb_gzip *g)
{
    HB_TRY(flush(g, g->by_events, &g->out.sink));
    HB_TRY(flush(g, !g->by_events, &g->trial.sink));
    uint64_t mine = g->out.bytes - g->before, other = g->trial.bytes;
    if (g->by_events)
        choose(g, mine, other);
    else
        choose(g, other, mine);
    g->in_trial = false;
    return HB_OK;
}

/* What was to be written so has been. */
static hb_result go_on(hb_gzip *g)
{
    if (!g->in_trial) return begin_trial(g);
    return g->is_warm ? end_trial(g) : end_warm_up(g);
}

static hb_result code(hb_gzip *g, const unsigned char *data, size_t n)
{
    HB_TRY(put(g, g->by_events, &g->out.sink, data, n));
    if (g->in_trial) HB_TRY(put(g, !g->by_events, &g->trial.sink, data, n));
    return HB_OK;
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

hb_result hb_gzip_open(hb_gzip *g, hb_sink *below, const char *name, int64_t mtime,
                       hb_gzip_coder coder)
{
    *g = (hb_gzip){.sink.write = gzip_write,
                   .out = {{count_and_pass}, below, 0},
                   .choice = coder,
                   .by_events = coder == HB_GZIP_EVENTS,
                   .left = coder == HB_GZIP_SMALLER ? 0 : UINT64_MAX,
                   .interval = FIRST_INTERVAL};
    if (g->by_events) g->events = hb_event_deflate_new(&g->out.sink);
    if (g->by_events ? !g->events : !open_zlib(g))
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for compression");
    make_header(g, name, mtime);
    return HB_OK;
}

hb_result hb_gzip_finish(hb_gzip *g)
{
    unsigned char trailer[8];
    if (g->finished) return hb_fail(HB_ERROR_STATE, "gzip stream already finished");
    g->finished = true;
    HB_TRY(write_header(g));
    HB_TRY(g->by_events ? hb_event_deflate_finish(g->events)
                        : flush_zlib(g, &g->out.sink, Z_FINISH));
    put32(put32(trailer, g->crc), g->size);
    return g->out.sink.write(&g->out.sink, trailer, sizeof trailer);
}

void hb_gzip_free(hb_gzip *g)
{
    if (g->block) deflateEnd(&g->z);
    free(g->block);
    hb_event_deflate_free(g->events);
    g->block = NULL;
    g->events = NULL;
}
