/* SPDX-License-Identifier: MIT */
#include "read/inflate.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/thread_start.h"
#include "io/crc32.h"

enum { BLOCKS = 4, BLOCK_SIZE = 1 << 20, INPUT_SIZE = 256 * 1024 };

struct hb_inflater {
    hb_inflate_from from;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *blocks[BLOCKS];
    size_t sizes[BLOCKS];
    unsigned written, read; /* blocks, ever */
    bool done, stop;
    hb_result result;
    const char *error;

    size_t read_at; /* reader's: position in its block */
    /* thread's: */
    unsigned char *input;
    uint64_t at;   /* in the file, of a member's next bytes */
    uint64_t size; /* inflated so far */
    uint32_t crc;
    char unread[80]; /* why the file can't be read on, or "" */
};

static bool wait_for_room(hb_inflater *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->stop && f->written - f->read == BLOCKS)
        pthread_cond_wait(&f->changed, &f->lock);
    bool go_on = !f->stop;
    pthread_mutex_unlock(&f->lock);
    return go_on;
}

static void publish(hb_inflater *f, size_t size)
{
    pthread_mutex_lock(&f->lock);
    f->sizes[f->written % BLOCKS] = size;
    f->written++;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void finish(hb_inflater *f, hb_result result, const char *error)
{
    pthread_mutex_lock(&f->lock);
    f->done = true;
    f->result = result;
    f->error = error;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static ssize_t read_input(hb_inflater *f)
{
    const hb_inflate_from *from = &f->from;
    if (!from->is_member) return read(from->fd, f->input, INPUT_SIZE);
    size_t size = (size_t)HB_MIN((uint64_t)INPUT_SIZE, from->end - f->at);
    ssize_t n = pread(from->fd, f->input, size, (off_t)f->at);
    if (n > 0) f->at += (uint64_t)n;
    return n;
}

/* More of the file into f->input; 0 at its end, and where it can't be read. */
static size_t read_more(hb_inflater *f)
{
    ssize_t n;
    do
        n = read_input(f);
    while (n < 0 && errno == EINTR);
    if (n < 0) snprintf(f->unread, sizeof f->unread, "%s", strerror(errno));
    return n > 0 ? (size_t)n : 0;
}

static bool refill(hb_inflater *f, z_stream *z)
{
    z->next_in = f->input;
    z->avail_in = (uInt)read_more(f);
    return z->avail_in > 0;
}

/* Between members: true when another one follows. gzip allows zeros as padding at the end. */
static bool next_member(hb_inflater *f, z_stream *z, bool *garbage)
{
    for (;;) {
        while (z->avail_in && *z->next_in == 0) {
            z->next_in++;
            z->avail_in--;
        }
        if (z->avail_in) break;
        if (!refill(f, z)) return false;
    }
    *garbage = *z->next_in != 0x1f;
    return !*garbage && inflateReset(z) == Z_OK;
}

/* A member of a pack has its size and CRC there, not behind it as gzip. */
static const char *check_raw(const hb_inflater *f)
{
    bool right = f->size == f->from.size && f->crc == f->from.crc;
    return right ? NULL : "the pack is damaged: a member's CRC differs";
}

static void count(hb_inflater *f, const char *block, size_t size)
{
    f->size += size;
    f->crc = hb_crc32(f->crc, block, size);
}

static const char *inflate_all(hb_inflater *f, z_stream *z)
{
    bool more = true;
    while (more) {
        if (!wait_for_room(f)) return NULL;
        z->next_out = (Bytef *)f->blocks[f->written % BLOCKS];
        z->avail_out = BLOCK_SIZE;
        const char *error = NULL;
        while (z->avail_out && more && !error) {
            if (!z->avail_in && !refill(f, z)) {
                error = f->from.raw ? "the pack is cut off" : "the gzip stream is cut off";
                break;
            }
            int rc = inflate(z, Z_NO_FLUSH);
            bool garbage = false;
            if (rc == Z_STREAM_END)
                more = !f->from.raw && next_member(f, z, &garbage);
            else if (rc != Z_OK && rc != Z_BUF_ERROR)
                error = z->msg ? z->msg : "damaged gzip stream";
            if (garbage) error = "garbage after the gzip stream";
        }
        size_t size = BLOCK_SIZE - z->avail_out;
        if (f->from.raw) count(f, f->blocks[f->written % BLOCKS], size);
        publish(f, size);
        if (error) return error;
    }
    return f->from.raw ? check_raw(f) : NULL;
}

/* One block; `full`: there may be more of what was read already. */
static const char *expand_block(hb_inflater *f, hb_zstd_in *in, hb_zstd_out *out, bool *whole,
                                bool *full)
{
    while (out->at < out->size) {
        if (in->at == in->size && !*full) {
            *in = (hb_zstd_in){f->input, read_more(f), 0};
            if (!in->size) return *whole ? NULL : "the zstd stream is cut off";
        }
        const char *error = hb_zstd_step(f->from.zstd, in, out, whole);
        if (error) return error;
        *full = out->at == out->size && !*whole;
    }
    return NULL;
}

static const char *expand_all(hb_inflater *f)
{
    hb_zstd_in in = {f->input, f->from.head_size, 0};
    bool whole = false, full = false;
    for (;;) {
        if (!wait_for_room(f)) return NULL;
        hb_zstd_out out = {f->blocks[f->written % BLOCKS], BLOCK_SIZE, 0};
        const char *error = expand_block(f, &in, &out, &whole, &full);
        publish(f, out.at);
        if (error || out.at < out.size) return error;
    }
}

/* What can't be read is neither cut off nor whole. */
static void end(hb_inflater *f, const char *error)
{
    if (f->unread[0])
        finish(f, HB_ERROR_IO, f->unread);
    else
        finish(f, error ? HB_ERROR_FORMAT : HB_OK, error ? error : "");
}

static void *run_zstd(void *arg)
{
    hb_inflater *f = arg;
    end(f, expand_all(f));
    return NULL;
}

static void *run(void *arg)
{
    hb_inflater *f = arg;
    z_stream z = {.next_in = f->input, .avail_in = (uInt)f->from.head_size};
    if (inflateInit2(&z, f->from.raw ? -15 : 15 + 16) != Z_OK) {
        finish(f, HB_ERROR_NO_MEMORY, "out of memory");
        return NULL;
    }
    const char *error = inflate_all(f, &z);
    inflateEnd(&z);
    end(f, error);
    return NULL;
}

static void free_all(hb_inflater *f)
{
    for (int i = 0; i < BLOCKS; i++)
        free(f->blocks[i]);
    hb_zstd_close(f->from.zstd);
    free(f->input);
    free(f);
}

hb_inflater *hb_inflater_start(const hb_inflate_from *from)
{
    hb_inflater *f = calloc(1, sizeof *f);
    if (!f) hb_zstd_close(from->zstd);
    if (!f) return NULL;
    f->from = *from;
    f->at = from->begin;
    bool ok = (f->input = malloc(INPUT_SIZE)) != NULL && from->head_size <= INPUT_SIZE;
    for (int i = 0; ok && i < BLOCKS; i++)
        ok = (f->blocks[i] = malloc(BLOCK_SIZE)) != NULL;
    if (ok) {
        if (from->head_size) memcpy(f->input, from->head, from->head_size);
        pthread_mutex_init(&f->lock, NULL);
        pthread_cond_init(&f->changed, NULL);
        ok = hb_background_thread(&f->thread, "inflate", from->zstd ? run_zstd : run, f) == 0;
    }
    if (ok) return f;
    free_all(f);
    return NULL;
}

/* True when the block at f->read is there. */
static bool wait_for_block(hb_inflater *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->written == f->read && !f->done)
        pthread_cond_wait(&f->changed, &f->lock);
    bool there = f->written != f->read;
    pthread_mutex_unlock(&f->lock);
    return there;
}

static void give_back(hb_inflater *f)
{
    pthread_mutex_lock(&f->lock);
    f->read++;
    f->read_at = 0;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

size_t hb_inflater_read(hb_inflater *f, char *to, size_t size)
{
    while (wait_for_block(f)) {
        unsigned i = f->read % BLOCKS;
        size_t n = HB_MIN(size, f->sizes[i] - f->read_at);
        memcpy(to, f->blocks[i] + f->read_at, n);
        f->read_at += n;
        if (f->read_at == f->sizes[i]) give_back(f);
        if (n) return n;
    }
    return 0;
}

hb_result hb_inflater_result(const hb_inflater *f, const char **error)
{
    *error = f->error;
    return f->result;
}

void hb_inflater_stop(hb_inflater *f)
{
    if (!f) return;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
    free_all(f);
}
