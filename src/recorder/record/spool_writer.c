/* SPDX-License-Identifier: MIT
 *
 * The spool's background thread: takes full chunks, codes their records, writes them behind the
 * others and gives the chunks back. A chunk with open scopes is left until they have ended, for
 * ends are put in their place. It looks every few milliseconds, since recording threads do not
 * call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/address_space.h"
#include "base/crc32c.h"
#include "base/guard.h"
#include "base/thread_start.h"
#include "record/codec.h"
#include "record/record.h"
#include "record/spool.h"
#include "symbols/loaded_code.h"

#define SHORTEST_US     250  /* between two looks while there is much to do */
#define LONGEST_US      3000 /* while somebody records */
#define ASLEEP_US       1000000
#define SPARE_IN_MEMORY 32u /* chunks that keep their pages */
#define NAMES_AT_ONCE   (1u << 20)

typedef struct scratch {
    hb_segment segment; /* and its payload behind it */
    unsigned char coded[HB_CODEC_MOST(HB_CHUNK_BYTES)];
    uint64_t raw[HB_CHUNK_BYTES / 8];
    unsigned pause; /* looks until the file may grow */
    struct {
        uint32_t crc; /* of the text that is in the file */
        int64_t look_ns, pause_ns;
        uint64_t number; /* the next one's */
        hb_extent place; /* of the last one */
    } code;
    struct {
        uint16_t uses, at; /* in 8 bytes: behind the last record that has ended */
    } ended[];             /* of each chunk */
} scratch;

_Static_assert(offsetof(scratch, coded) == sizeof(hb_segment),
               "the payload stands behind its head");

static scratch *scratch_of(hb_spool *spool)
{
    return spool->scratch;
}

static size_t scratch_size(const hb_spool *spool)
{
    return sizeof(scratch) + (size_t)spool->pool.max_chunks * sizeof(((scratch *)0)->ended[0]);
}

/* ---- is it done? ---- */

/* An end by another thread counts when the scope's own thread, which still has the record among its
 * open ones, knows of it. */
static bool is_open(const hb_record *r)
{
    if (r->type >= 32 || !(HB_TYPES_WITH_END >> r->type & 1)) return false;
    uint64_t end = __atomic_load_n(&r->end, __ATOMIC_ACQUIRE);
    return end == 0 || ((end & HB_END_ELSEWHERE) && !(end & HB_END_SEEN));
}

/* Whether a session has been stopped, and what it has was listed: nothing of it ends any more. */
static bool is_over(hb_spool *spool, uint32_t session)
{
    hb_lock_take(&spool->lock);
    const hb_records *records = hb_spool_records(spool, session);
    bool over = !records || records->order;
    hb_lock_give(&spool->lock);
    return over;
}

static bool all_ended_in(hb_spool *spool, uint32_t index, const hb_chunk *chunk)
{
    scratch *s = scratch_of(spool);
    const char *base = (const char *)hb_spool_chunk(spool, index);
    uint32_t from = (uint32_t)((const char *)chunk - base);
    uint16_t uses = atomic_load_explicit(&spool->pool.uses[index], memory_order_relaxed);
    uint32_t used = HB_MIN(__atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE), HB_CHUNK_BYTES - from);
    uint32_t at = s->ended[index].uses == uses ? s->ended[index].at * 8u : 0;
    if (at < from + sizeof *chunk) at = from + (uint32_t)sizeof *chunk;
    while (at < from + used) {
        const hb_record *r = (const hb_record *)(base + at);
        if (is_open(r)) break;
        at += HB_MAX(r->units, 1u) * 8u;
    }
    s->ended[index].uses = uses;
    s->ended[index].at = (uint16_t)(at / 8);
    return at >= from + used;
}

/* Of a claimed chunk. */
static bool all_ended(hb_spool *spool, uint32_t index)
{
    const hb_chunk *c = hb_spool_events(spool, index);
    for (; c; c = hb_spool_next_events(spool, c))
        if (!is_over(spool, c->events.session) && !all_ended_in(spool, index, c)) return false;
    return true;
}

/* ---- records ---- */

/* Copies a chunk's records, and says what they are. */
static void prepass(hb_spool *spool, const hb_chunk *chunk)
{
    scratch *s = scratch_of(spool);
    uint32_t used = HB_MIN(__atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE), HB_CHUNK_BYTES);
    uint32_t bytes = used > sizeof *chunk ? used - (uint32_t)sizeof *chunk : 0;
    s->segment =
        (hb_segment){.kind = HB_SEGMENT_EVENTS, .raw_bytes = bytes, .events = chunk->events};
    hb_codec_copy_hot((char *)s->raw, (const char *)(chunk + 1), bytes);
    hb_codec_prepass((const char *)s->raw, bytes, &s->segment.events);
}

/* What prepass() has copied. */
static hb_part code(hb_spool *spool)
{
    scratch *s = scratch_of(spool);
    uint32_t bytes = s->segment.raw_bytes;
    const hb_events_info *info = &s->segment.events;
    size_t coded = hb_codec_encode((const char *)s->raw, bytes, s->coded);
    s->segment.codec = coded < bytes ? HB_CODEC_DELTA : HB_CODEC_RAW;
    if (coded >= bytes) {
        memcpy(s->coded, s->raw, bytes);
        coded = bytes;
    }
    s->segment.bytes = coded;
    return (hb_part){.sequence = info->sequence,
                     .types = info->types,
                     .raw_bytes = bytes,
                     .coded_bytes = (uint32_t)coded,
                     .first_id = info->first_id,
                     .first_tick = info->first_tick,
                     .last_tick = info->last_tick,
                     .codec = (uint8_t)s->segment.codec};
}

/* Into the file, or memory where there is none or it is full. */
static bool keep(hb_spool *spool, hb_part *part)
{
    scratch *s = scratch_of(spool);
    part->place = HB_PART_FILE;
    if (spool->path && hb_spool_append(spool, &s->segment, &part->offset)) return true;
    part->place = HB_PART_MEMORY;
    part->coded = malloc(HB_MAX(part->coded_bytes, 1u));
    if (part->coded) memcpy(part->coded, s->coded, part->coded_bytes);
    return part->coded != NULL;
}

/* Under the lock: the part takes the place of its chunk. */
static bool put_in_place(hb_records *records, const hb_events_info *info, const hb_part *part)
{
    bool had;
    /* Of a session that has ended everything was listed, or is counted as lost. */
    if (!records->order && hb_records_add(records, info, part, &had)) return true;
    const hb_thread_records *t = hb_records_find_thread(records, info->thread);
    hb_part *old = t ? hb_records_find(t, part->sequence) : NULL;
    if (!old || old->place != HB_PART_CHUNK) return false;
    /* Readers of an ended session look at the number of bytes and the first id, which stay, and at
     * the types; at what else is here only under the lock. */
    __atomic_store_n(&old->types, part->types, __ATOMIC_RELAXED);
    old->coded_bytes = part->coded_bytes;
    old->first_tick = part->first_tick;
    old->last_tick = part->last_tick;
    old->codec = part->codec;
    old->place = part->place;
    if (part->place == HB_PART_FILE)
        old->offset = part->offset;
    else
        old->coded = part->coded;
    records->bytes += part->coded_bytes;
    return true;
}

/* Chunks in memory that are not soon used again lose their pages. */
static void give(hb_spool *spool, uint32_t index)
{
    hb_chunk_pool *pool = &spool->pool;
    if (!hb_pool_is_in_file(pool, index) &&
        hb_pool_end(pool) - pool->first_in_memory > SPARE_IN_MEMORY)
        madvise(hb_spool_chunk(spool, index), HB_CHUNK_BYTES, MADV_DONTNEED);
    hb_pool_give(pool, index);
}

static bool is_within_limit(const hb_spool *spool, uint32_t index)
{
    const hb_chunk_pool *pool = &spool->pool;
    uint32_t sum =
        atomic_load(&pool->in_file) + atomic_load(&pool->in_memory) + atomic_load(&pool->elsewhere);
    return !hb_pool_is_in_file(pool, index) || sum < pool->max_chunks;
}

/* It is this chunk's turn: until release() nobody else gives it back, so that it stays what it is;
 * see give_chunk(). Else what was seen of it may be of an earlier use. */
static bool claim(hb_spool *spool, uint32_t index)
{
    hb_lock_take(&spool->lock);
    uint32_t state = atomic_load_explicit(&spool->pool.state[index], memory_order_acquire);
    bool is_done = state == HB_CHUNK_FULL || state == HB_CHUNK_BEYOND;
    if (is_done) spool->being_written = index;
    hb_lock_give(&spool->lock);
    return is_done;
}

static void release(hb_spool *spool, uint32_t index, bool done)
{
    if (done || hb_spool_is_unneeded(spool, index)) give(spool, index);
    spool->being_written = 0;
}

static bool may_be_written(hb_spool *spool, uint32_t index)
{
    return all_ended(spool, index) && is_within_limit(spool, index) &&
           !hb_spool_holds(spool, hb_spool_chunk(spool, index)->events.session);
}

/* Whether records are to be written: their session is there, and they are not yet. */
static bool is_to_be_kept(hb_spool *spool, const hb_events_info *info)
{
    hb_lock_take(&spool->lock);
    const hb_records *records = hb_spool_records(spool, info->session);
    const hb_thread_records *t = records ? hb_records_find_thread(records, info->thread) : NULL;
    const hb_part *part = t ? hb_records_find(t, info->sequence) : NULL;
    bool to_be = records && (!part || part->place == HB_PART_CHUNK);
    hb_lock_give(&spool->lock);
    return to_be;
}

/* Of a ring, when there is more than we keep up with. */
static bool is_too_old(hb_spool *spool, uint32_t index)
{
    const hb_events_info *info = &scratch_of(spool)->segment.events;
    hb_lock_take(&spool->lock);
    const hb_records *records = hb_spool_records(spool, info->session);
    bool old = records && !records->order && info->last_tick < records->kept_from &&
               !(info->types & HB_TYPES_TOLD_ONCE);
    if (old && !hb_pool_is_in_file(&spool->pool, index))
        hb_spool_no_more_in_memory(spool, info->session);
    hb_lock_give(&spool->lock);
    return old;
}

/* Under the lock: records of a claimed chunk that are kept now, or could not be. True when nobody
 * needs them there any more. */
static bool put_part(hb_spool *spool, uint32_t index, const hb_part *part, bool kept)
{
    const hb_events_info *info = &scratch_of(spool)->segment.events;
    hb_records *records = hb_spool_records(spool, info->session);
    bool placed = kept && records && put_in_place(records, info, part);
    if (placed) {
        spool->kept_bytes += part->coded_bytes;
        if (part->place == HB_PART_FILE && !hb_pool_is_in_file(&spool->pool, index))
            hb_spool_no_more_in_memory(spool, info->session);
        hb_spool_make_room(spool, records);
    }
    if (kept && !placed) hb_spool_forget_part(spool, part);
    hb_spool_account(spool);
    return placed || !records || (kept && records->order);
}

static bool write_part(hb_spool *spool, uint32_t index, const hb_chunk *chunk)
{
    if (!is_to_be_kept(spool, &chunk->events)) return true;
    prepass(spool, chunk);
    if (is_too_old(spool, index)) return true;
    hb_part part = code(spool);
    bool kept = keep(spool, &part);
    hb_lock_take(&spool->lock);
    bool done = put_part(spool, index, &part, kept);
    hb_lock_give(&spool->lock);
    return done;
}

static bool write_events(hb_spool *spool, uint32_t index)
{
    if (!claim(spool, index)) return false;
    bool done = may_be_written(spool, index);
    const hb_chunk *c = hb_spool_events(spool, index);
    for (; done && c; c = hb_spool_next_events(spool, c))
        done = write_part(spool, index, c);
    hb_lock_take(&spool->lock);
    release(spool, index, done);
    hb_lock_give(&spool->lock);
    return done;
}

/* ---- names ---- */

/* A segment that stays as long as the file, or is taken away by its writer. `number`: of names,
 * their offset in the string table; of code, how many were before. */
static bool write_lasting(hb_spool *spool, enum hb_segment_kind kind, const char *bytes,
                          uint64_t number, uint64_t size, hb_extent *place)
{
    hb_segment *segment = malloc(sizeof *segment + size + HB_SEGMENT_ALIGN);
    uint64_t at;
    if (!segment) return false;
    *segment = (hb_segment){
        .kind = kind, .raw_bytes = (uint32_t)size, .bytes = size, .string_offset = number};
    memcpy(segment + 1, bytes, size);
    bool ok = hb_spool_append(spool, segment, &at);
    free(segment);
    if (!ok) return false;
    *place =
        (hb_extent){at - sizeof *segment, sizeof *segment + HB_ROUND_UP(size, HB_SEGMENT_ALIGN)};
    spool->floor = HB_MAX(spool->floor, place->offset + place->bytes);
    return true;
}

static bool write_names(hb_spool *spool, const char *bytes, uint64_t offset, uint64_t size)
{
    hb_extent place;
    return write_lasting(spool, HB_SEGMENT_NAMES, bytes, offset, size, &place);
}

void hb_spool_write_names(hb_spool *spool)
{
    uint64_t end;
    const char *base = hb_strings_table(&end);
    while (spool->names_written < end) {
        uint64_t size = hb_strings_whole(spool->names_written, end, NAMES_AT_ONCE);
        if (!write_names(spool, base + spool->names_written, spool->names_written, size)) return;
        spool->names_written += size;
    }
}

static bool write_names_chunk(hb_spool *spool, uint32_t index)
{
    const hb_chunk *chunk = hb_spool_chunk(spool, index);
    uint64_t size = __atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE) - sizeof *chunk;
    if (!write_names(spool, (const char *)(chunk + 1), chunk->string_offset, size)) return false;
    if (spool->names_written == chunk->string_offset) spool->names_written += size;
    give(spool, index);
    return true;
}

/* ---- mapped code ---- */

/* For who recovers call stacks. Looked at after a second, and less often while nothing changes:
 * only the last one holds, and takes the place of the one before. */
static void write_code(hb_spool *spool)
{
    const int64_t second = 1000000000, longest = 32 * second;
    scratch *s = scratch_of(spool);
    int64_t now = hb_clock_ns(CLOCK_MONOTONIC);
    bool stacks = __atomic_load_n(&hb_recording_now.flags, __ATOMIC_RELAXED) & HB_SESSION_STACK;
    if (!stacks || !spool->path || now < s->code.look_ns) return;
    hb_buf text;
    hb_buf_init(&text, 16u << 20);
    hb_put_loaded_code(&text);
    uint32_t crc = hb_crc32c(text.data, text.size);
    bool is_new = text.size && !text.failed && crc != s->code.crc;
    hb_extent place;
    if (is_new &&
        write_lasting(spool, HB_SEGMENT_CODE, text.data, s->code.number, text.size, &place)) {
        if (s->code.place.bytes) hb_spool_punch(spool, s->code.place);
        s->code.place = place;
        s->code.number++;
        s->code.crc = crc;
    }
    s->code.pause_ns = is_new ? second : HB_MIN(HB_MAX(2 * s->code.pause_ns, second), longest);
    s->code.look_ns = now + s->code.pause_ns;
    hb_buf_free(&text);
}

/* ---- space ---- */

/* More hot chunks while a third is left: what goes to memory instead is lost by a kill. Not many at
 * once, since nothing is written meanwhile. After a refusal, of a disk that is nearly full, it is
 * not asked again soon. */
static void grow(hb_spool *spool)
{
    enum { PAUSE = 256, AT_ONCE = 256 };
    hb_chunk_pool *pool = &spool->pool;
    scratch *s = scratch_of(spool);
    uint32_t have = atomic_load(&pool->in_file), ready = atomic_load(&pool->ready_in_file);
    uint32_t more = have < HB_SPOOL_HOT ? HB_SPOOL_HOT - have : ready < have / 3 ? have : 0;
    more = HB_MIN(HB_MIN(more, AT_ONCE), pool->first_in_memory - 1 - have);
    if (!spool->path || more == 0) return;
    if (s->pause) {
        s->pause--;
        return;
    }
    if (!hb_spool_add_hot(spool, more)) s->pause = PAUSE;
}

/* What sessions left when they were released. */
static void free_space(hb_spool *spool)
{
    hb_lock_take(&spool->lock);
    hb_buf gone = spool->unneeded;
    bool nothing_kept = spool->kept_bytes == 0;
    hb_buf_init(&spool->unneeded, gone.max);
    hb_lock_give(&spool->lock);
    const hb_extent *all = (const hb_extent *)gone.data;
    if (spool->path && nothing_kept && spool->tail > spool->floor)
        hb_spool_cut(spool, spool->floor);
    for (size_t i = 0; spool->path && i < gone.size / sizeof *all; i++)
        if (all[i].offset < spool->tail) hb_spool_punch(spool, all[i]);
    hb_buf_free(&gone);
}

/* ---- the thread ---- */

static bool look_at(hb_spool *spool, uint32_t index)
{
    uint32_t state = atomic_load_explicit(&spool->pool.state[index], memory_order_acquire);
    if (state != HB_CHUNK_FULL && state != HB_CHUNK_BEYOND) return false;
    switch (__atomic_load_n(&hb_spool_chunk(spool, index)->kind, __ATOMIC_ACQUIRE)) {
    case HB_CHUNK_EVENTS: return write_events(spool, index);
    case HB_CHUNK_NAMES: return write_names_chunk(spool, index);
    default: return false;
    }
}

static bool look_at_all(hb_spool *spool)
{
    bool any = false;
    uint32_t in_file = atomic_load(&spool->pool.in_file), end = hb_pool_end(&spool->pool);
    /* First what a kill would take. */
    for (uint32_t i = spool->pool.first_in_memory; i < end; i++)
        any |= look_at(spool, i);
    for (uint32_t i = 1; i <= in_file; i++)
        any |= look_at(spool, i);
    if (spool->path && atomic_exchange(&spool->names_missed, false)) hb_spool_write_names(spool);
    write_code(spool);
    free_space(spool);
    grow(spool);
    return any;
}

static void *work(void *arg)
{
    hb_spool *spool = arg;
    int64_t us = SHORTEST_US;
    hb_lock_take(&spool->lock);
    while (!atomic_load(&spool->writer_ends)) {
        hb_lock_give(&spool->lock);
        bool busy = look_at_all(spool);
        hb_lock_take(&spool->lock);
        us = busy ? SHORTEST_US : HB_MIN(us * 2, LONGEST_US);
        if (!atomic_load(&spool->writer_ends))
            (void)hb_news_wait_us(&spool->changed, &spool->lock,
                                  busy || spool->recording ? us : ASLEEP_US);
    }
    hb_lock_give(&spool->lock);
    /* What a file that stays would lack. */
    while (spool->path && hb_spool_has_unsaved(spool) && look_at_all(spool)) {
    }
    hb_lock_take(&spool->lock);
    spool->writer_ended = true;
    hb_news_tell(&spool->ended);
    hb_lock_give(&spool->lock);
    return NULL;
}

hb_result hb_spool_writer_start(hb_spool *spool)
{
    void *p = hb_address_space(scratch_size(spool), PROT_READ | PROT_WRITE);
    if (!p) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for records");
    spool->scratch = p;
    int error = hb_background_thread(&spool->writer, "spool", work, spool);
    if (error) {
        munmap(p, scratch_size(spool));
        spool->scratch = NULL;
        return hb_fail_errno(HB_ERROR_NO_MEMORY, error, "no thread for writing records");
    }
    spool->writer_runs = true;
    return HB_OK;
}

void hb_spool_writer_wake(hb_spool *spool)
{
    hb_news_tell(&spool->changed);
}

bool hb_spool_writer_end(hb_spool *spool)
{
    if (!spool->writer_runs) return true;
    hb_lock_take(&spool->lock);
    atomic_store(&spool->writer_ends, true);
    hb_news_tell(&spool->changed);
    hb_lock_give(&spool->lock);
    if (!hb_patience_join(spool->writer, &spool->writer_ended, &spool->ended, &spool->lock))
        return false;
    munmap(spool->scratch, scratch_size(spool));
    spool->writer_runs = false;
    return true;
}
