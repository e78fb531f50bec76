/* SPDX-License-Identifier: MIT */
#include "io/sink_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/thread_start.h"

enum {
    WORTH_A_THREAD = 1 << 20,  /* bytes: what is less is written before one begins */
    HALF = HB_SINK_BLOCKS / 2, /* who sleeps is woken for so many blocks: waking takes as long as
                                  writing one */
};

/* ---- the thread ---- */

/* Under the lock, which is not held meanwhile. */
static void pass_on_block(hb_sink_thread *t)
{
    unsigned i = t->written % HB_SINK_BLOCKS;
    hb_result result = t->result;
    hb_lock_give(&t->lock);
    if (result == HB_OK) result = t->below->write(t->below, t->blocks[i], t->sizes[i]);
    hb_lock_take(&t->lock);
    if (result != HB_OK && t->result == HB_OK) {
        t->result = result;
        snprintf(t->error, sizeof t->error, "%s", hb_last_error());
    }
    uint64_t left = t->given - ++t->written;
    if (left == HALF || left == 0) hb_news_tell(&t->news);
}

static void *pass_on(void *arg)
{
    hb_sink_thread *t = arg;
    hb_lock_take(&t->lock);
    for (;;) {
        while (t->written < t->given)
            pass_on_block(t);
        if (t->ends) break;
        hb_news_wait(&t->news, &t->lock, HB_FOR_EVER);
    }
    hb_lock_give(&t->lock);
    return NULL;
}

static void free_blocks(hb_sink_thread *t)
{
    for (int i = 0; i < HB_SINK_BLOCKS; i++)
        free(t->blocks[i]);
    memset(t->blocks, 0, sizeof t->blocks);
}

static void begin(hb_sink_thread *t)
{
    bool enough = true;
    for (int i = 0; i < HB_SINK_BLOCKS; i++)
        enough = (t->blocks[i] = malloc(HB_OUT_BLOCK)) != NULL && enough;
    t->process = getpid();
    t->runs = enough && hb_background_thread(&t->thread, "file", pass_on, t) == 0;
    if (!t->runs) free_blocks(t);
    t->passed = 0; /* to be tried again later */
}

/* ---- the caller ---- */

/* In a child that a signal handler made amid all this there is no thread to wait for. */
static bool is_orphaned(const hb_sink_thread *t)
{
    return t->runs && t->process != getpid();
}

/* Until at most so many blocks are under way. */
static hb_result wait_for(hb_sink_thread *t, uint64_t blocks)
{
    if (is_orphaned(t)) return hb_fail(HB_ERROR_STATE, "forked while a file was being written");
    hb_lock_take(&t->lock);
    if (t->given - t->written > blocks) hb_news_tell(&t->news);
    while (t->given - t->written > blocks)
        hb_news_wait(&t->news, &t->lock, HB_FOR_EVER);
    hb_result result = t->result;
    hb_lock_give(&t->lock);
    return result == HB_OK ? HB_OK : hb_fail(result, "%s", t->error);
}

static hb_result write_now(hb_sink *sink, const void *data, size_t size)
{
    hb_sink_thread *t = (hb_sink_thread *)sink;
    if (t->runs) HB_TRY(wait_for(t, 0));
    return t->below->write(t->below, data, size);
}

static hb_result take_block(hb_sink *sink, char **block, size_t size)
{
    hb_sink_thread *t = (hb_sink_thread *)sink;
    if (!t->runs && (t->passed += size) > WORTH_A_THREAD) begin(t);
    if (!t->runs) return t->below->write(t->below, *block, size);
    HB_TRY(wait_for(t, HB_SINK_BLOCKS - 1));
    hb_lock_take(&t->lock);
    unsigned i = t->given % HB_SINK_BLOCKS;
    char *empty = t->blocks[i];
    t->blocks[i] = *block;
    t->sizes[i] = size;
    bool much = ++t->given - t->written >= HALF;
    hb_lock_give(&t->lock);
    if (much) hb_news_tell(&t->news);
    *block = empty;
    return HB_OK;
}

void hb_sink_thread_open(hb_sink_thread *t, hb_sink *below)
{
    *t = (hb_sink_thread){.sink = {write_now, take_block}, .below = below};
    hb_lock_init(&t->lock, HB_LOCK_FILE_BLOCKS);
}

hb_result hb_sink_thread_close(hb_sink_thread *t)
{
    if (!t->runs) return HB_OK;
    hb_result result = wait_for(t, 0);
    if (is_orphaned(t)) return result;
    hb_lock_take(&t->lock);
    t->ends = true;
    hb_lock_give(&t->lock);
    hb_news_tell(&t->news);
    pthread_join(t->thread, NULL);
    t->runs = false;
    free_blocks(t);
    return result;
}
