/* SPDX-License-Identifier: MIT */
#include "read/json_chunks.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/thread_start.h"

enum {
    CHUNK_SIZE = 1 << 20,    /* what is made of one stays in the cache until it is taken */
    MAX_READERS = 4,         /* more would wait for memory, and for the one that joins the chunks */
    SLOTS = 2 * MAX_READERS, /* chunks under way or waiting to be taken: what memory they cost */
};

typedef struct chunk {
    bool used;           /* the trace is there, of an earlier chunk */
    bool read, whole;    /* done; events went on to the chunk's end */
    uint64_t start, end; /* of its events in the text; equal when none was found */
    hb_result result;
    hb_trace trace;
    hb_read_report report;
} chunk;

/* What a thread reads with. */
typedef struct chunk_reader {
    hb_text text;
    hb_layouts *layouts;
} chunk_reader;

/* Chunk i lies in slot i % SLOTS while taken <= i < claimed. */
typedef struct pool {
    const hb_reader *whole;
    uint64_t begin; /* of chunk 0 */
    uint32_t chunk_size;
    uint32_t num_chunks;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t claimed, taken;
    bool stop;
    unsigned num_threads;
    pthread_t threads[MAX_READERS];
    chunk slots[SLOTS];
} pool;

static uint64_t begin_of(const pool *p, uint32_t i)
{
    return p->begin + (uint64_t)i * p->chunk_size;
}

/* ---- one chunk ---- */

static bool open_part(chunk_reader *with, const pool *p)
{
    with->layouts = hb_layouts_new();
    if (hb_text_open_part(&with->text, p->whole->text)) return true;
    hb_layouts_free(with->layouts);
    return false;
}

static void close_part(chunk_reader *with)
{
    hb_text_close(&with->text);
    hb_layouts_free(with->layouts);
}

static void read_chunk(const pool *p, uint32_t i, chunk_reader *with, chunk *c)
{
    hb_reader r;
    bool ready = c->used || hb_trace_init(&c->trace);
    if (c->used) hb_trace_restart(&c->trace);
    if (!ready) hb_trace_free(&c->trace);
    c->used = ready;
    c->result = ready ? HB_OK : HB_ERROR_NO_MEMORY;
    c->start = c->end = 0;
    c->whole = false;
    c->report = (hb_read_report){0};
    if (c->result != HB_OK) return;
    hb_reader_init(&r, &with->text, &c->trace, with->layouts, p->whole->options, &c->report);
    hb_reader_seek(&r, begin_of(p, i));
    if (hb_find_event(&r, begin_of(p, i), begin_of(p, i + 1))) {
        c->start = hb_reader_offset(&r);
        c->whole = hb_read_plain_events(&r, begin_of(p, i + 1), &c->result);
        c->end = hb_reader_offset(&r);
    }
    hb_reader_free(&r);
}

/* ---- the threads ---- */

/* The next chunk that nobody reads; false when there is none or no slot for it. Under the lock. */
static bool claim(pool *p, uint32_t *i)
{
    if (p->stop || p->claimed == p->num_chunks || p->claimed - p->taken == SLOTS) return false;
    *i = p->claimed++;
    p->slots[*i % SLOTS].read = false;
    return true;
}

/* Under the lock, which is free meanwhile. */
static void read_claimed(pool *p, uint32_t i, chunk_reader *with)
{
    chunk *c = &p->slots[i % SLOTS];
    pthread_mutex_unlock(&p->lock);
    read_chunk(p, i, with, c);
    pthread_mutex_lock(&p->lock);
    c->read = true;
    pthread_cond_broadcast(&p->changed);
}

static void *run(void *arg)
{
    pool *p = arg;
    chunk_reader with;
    uint32_t i;
    if (!open_part(&with, p)) return NULL;
    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->claimed < p->num_chunks) {
        if (claim(p, &i))
            read_claimed(p, i, &with);
        else
            pthread_cond_wait(&p->changed, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    close_part(&with);
    return NULL;
}

/* Waits for chunk i, reading others meanwhile. */
static void await(pool *p, uint32_t i, chunk_reader *with)
{
    uint32_t other;
    pthread_mutex_lock(&p->lock);
    while (p->claimed <= i || !p->slots[i % SLOTS].read) {
        if (claim(p, &other))
            read_claimed(p, other, with);
        else
            pthread_cond_wait(&p->changed, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
}

/* Its slot is for another one. */
static void let_go(pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->taken++;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void stop(pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->num_threads; i++)
        pthread_join(p->threads[i], NULL);
    for (unsigned i = 0; i < SLOTS; i++)
        if (p->slots[i].used) hb_trace_free(&p->slots[i].trace);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
}

/* ---- taking them in order ---- */

static void take_notes(hb_reader *r, const hb_read_report *from)
{
    for (int defect = 0; defect < HB_JSON_DEFECT_COUNT; defect++)
        r->report->counts[defect] += from->counts[defect];
    for (uint32_t i = 0; i < from->num_notes && r->report->num_notes < HB_READ_MAX_NOTES; i++)
        r->report->notes[r->report->num_notes++] = from->notes[i];
}

/* Takes chunk i, whose events begin at r's place or are read again from there. False at an event
 * that needs a decision. */
static bool take_chunk(pool *p, uint32_t i, hb_reader *r, hb_result *result)
{
    chunk *c = &p->slots[i % SLOTS];
    if (c->result == HB_OK && c->start == hb_reader_offset(r)) {
        if (!hb_trace_append(r->trace, &c->trace)) *result = hb_no_memory();
        take_notes(r, &c->report);
        r->num_events += c->trace.rows.count;
        hb_reader_seek(r, c->end);
        return *result == HB_OK && c->whole;
    }
    hb_reader_seek(r, hb_reader_offset(r));
    return hb_reader_peek(r) && hb_read_plain_events(r, begin_of(p, i + 1), result);
}

static hb_result take_all(pool *p, hb_reader *r)
{
    chunk_reader with;
    hb_result result = HB_OK;
    if (!open_part(&with, p)) return hb_no_memory();
    bool more = true;
    for (uint32_t i = 0; more && i < p->num_chunks; i++) {
        await(p, i, &with);
        more = take_chunk(p, i, r, &result);
        let_go(p);
        if (result == HB_OK) result = hb_reader_check_bounds(r);
        more &= result == HB_OK;
    }
    close_part(&with);
    return result;
}

static unsigned count_processors(void)
{
    cpu_set_t cpus;
    bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0; /* not with over 1024 of them */
    return known ? (unsigned)CPU_COUNT(&cpus) : MAX_READERS;
}

static hb_result read_together(pool *p, hb_reader *r, unsigned num_readers)
{
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    while (p->num_threads + 1 < num_readers &&
           hb_background_thread(&p->threads[p->num_threads], "reader", run, p) == 0)
        p->num_threads++;
    hb_result result = take_all(p, r);
    stop(p);
    return result;
}

hb_result hb_read_chunks(hb_reader *r)
{
    const hb_read_options *o = r->options;
    uint64_t begin = hb_reader_offset(r);
    if (!r->text->seekable || o->event || r->text->total < begin) return HB_OK;
    uint32_t chunk_size = o->chunk_size ? o->chunk_size : CHUNK_SIZE;
    uint64_t num_chunks = HB_MIN((r->text->total - begin) / chunk_size, (uint64_t)UINT32_MAX);
    unsigned num_readers = o->num_readers ? o->num_readers : count_processors();
    num_readers = (unsigned)HB_MIN(HB_MIN(num_readers, (unsigned)MAX_READERS), num_chunks);
    if (num_readers < 2) return HB_OK;
    pool *p = calloc(1, sizeof *p);
    if (!p) return hb_no_memory();
    p->whole = r;
    p->begin = begin;
    p->chunk_size = chunk_size;
    p->num_chunks = (uint32_t)num_chunks;
    hb_result result = read_together(p, r, num_readers);
    free(p);
    if (result == HB_OK) hb_reader_peek(r);
    return result;
}
