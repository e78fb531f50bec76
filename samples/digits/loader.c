/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* SCHED_BATCH */
#include "loader.h"

#include "augment.h"
#include "die.h"
#include "report.h"

#include <pthread.h>

enum { QUEUE_BATCHES_PER_WORKER = 4 };

struct slot {
    struct batch batch;
    bool ready;
};

/* Batches are numbered through all epochs. Workers claim numbers in order; batch k waits in slot k
 * modulo `depth`, so the queue is bounded and batches are taken in order, whoever finishes first.
 */
struct loader {
    struct loader_options options;
    uint32_t *order; /* digit indices, epoch after epoch */
    int64_t batches_per_epoch, total;
    int64_t left_in_epoch;
    int64_t taken; /* by loader_next() */

    pthread_mutex_t lock; /* of all below, and of `taken` */
    pthread_cond_t can_claim, can_take;
    struct slot *slots;
    int64_t depth, claimed, made;
    bool stop;
    pthread_t *threads;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) die("out of memory for the data loader");
    return memory;
}

/* A fresh shuffle for each epoch (Fisher and Yates). */
static void shuffle(uint32_t *order, size_t count, struct rng rng)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        size_t j = rng_below(&rng, i);
        uint32_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

struct batch batch_new(struct device *device, size_t count)
{
    int64_t n = (int64_t)count;
    return (struct batch){
        .images = tensor_make(device, HB_FLOAT32, n, 1, DIGIT_SIDE, DIGIT_SIDE),
        .labels = tensor_make(device, HB_INT64, n),
    };
}

void batch_free(struct batch *batch)
{
    tensor_free(&batch->images);
    tensor_free(&batch->labels);
}

static void normalize(struct tensor *images, const struct dataset *set)
{
    int64_t n = tensor_count(images);
    float *pixel = images->data;
    HB_OP("digits::normalize", .flops = report_op("digits::normalize", 2.0 * (double)n),
          HB_INPUTS(HB_TENSOR(HB_FLOAT32, images->dims[0], 1, DIGIT_SIDE, DIGIT_SIDE))) {
        for (int64_t i = 0; i < n; i++)
            pixel[i] = (pixel[i] - set->mean) / set->deviation;
    }
}

/* What is drawn for a digit depends on the epoch and the digit only: see rng.h. */
static void augment_batch(const struct loader *loader, struct batch *batch, int64_t first,
                          int64_t epoch)
{
    const struct loader_options *o = &loader->options;
    int64_t n = batch->images.dims[0], *label = batch->labels.data;
    float *pixels = batch->images.data;
    HB_OP("digits::augment", .flops = report_op("digits::augment", 0),
          HB_INPUTS(HB_TENSOR(HB_FLOAT32, n, 1, DIGIT_SIDE, DIGIT_SIDE))) {
        for (int64_t i = 0; i < n; i++) {
            uint32_t index = loader->order[first + i];
            struct rng rng = rng_make(o->seed, 1u + (uint64_t)epoch * o->set->count + index);
            augment(pixels + i * DIGIT_PIXELS, o->set->digits[index].pixels, &rng);
            label[i] = o->set->digits[index].label;
        }
    }
}

static struct batch make_batch(const struct loader *loader, int64_t number)
{
    const struct loader_options *o = &loader->options;
    int64_t count = (int64_t)o->set->count, epoch = number / loader->batches_per_epoch;
    int64_t start = number % loader->batches_per_epoch * o->batch_size;
    int64_t size = count - start < o->batch_size ? count - start : o->batch_size;
    struct batch batch = batch_new(o->device, (size_t)size);
    augment_batch(loader, &batch, epoch * count + start, epoch);
    normalize(&batch.images, o->set);
    return batch;
}

struct batch batch_of(struct device *device, const struct dataset *set, size_t first, size_t count)
{
    struct batch batch = batch_new(device, count);
    float *pixel = batch.images.data;
    int64_t *label = batch.labels.data;
    for (size_t i = 0; i < count; i++) {
        const struct digit *digit = &set->digits[first + i];
        for (int p = 0; p < DIGIT_PIXELS; p++)
            *pixel++ = digit->pixels[p];
        label[i] = digit->label;
    }
    normalize(&batch.images, set);
    return batch;
}

/* The number of the next batch to make, or -1 when there is nothing more to do. */
static int64_t claim(struct loader *loader)
{
    int64_t number = -1;
    pthread_mutex_lock(&loader->lock);
    while (!loader->stop && loader->claimed < loader->total &&
           loader->claimed >= loader->taken + loader->depth)
        pthread_cond_wait(&loader->can_claim, &loader->lock);
    if (!loader->stop && loader->claimed < loader->total) number = loader->claimed++;
    pthread_mutex_unlock(&loader->lock);
    return number;
}

static void put(struct loader *loader, int64_t number, struct batch batch)
{
    pthread_mutex_lock(&loader->lock);
    loader->slots[number % loader->depth] = (struct slot){batch, true};
    loader->made++;
    pthread_cond_signal(&loader->can_take);
    pthread_mutex_unlock(&loader->lock);
}

/* Workers are woken when the queue is half empty, not for each batch: waking may cost the waker its
 * processor. */
static struct batch take(struct loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    struct slot *slot = &loader->slots[loader->taken % loader->depth];
    while (!slot->ready)
        pthread_cond_wait(&loader->can_take, &loader->lock);
    slot->ready = false;
    struct batch batch = slot->batch;
    loader->taken++;
    if (loader->claimed - loader->taken <= loader->depth / 2)
        pthread_cond_broadcast(&loader->can_claim);
    pthread_mutex_unlock(&loader->lock);
    return batch;
}

static void *work(void *argument)
{
    struct loader *loader = argument;
    hb_thread_name("data loader");
    /* Where processors are few: a batch thread does not push training off its own when it wakes. */
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0});
    for (int64_t number; (number = claim(loader)) >= 0;)
        put(loader, number, make_batch(loader, number));
    return NULL;
}

/* Training starts with a full queue, so that its first steps do not wait for threads to start. */
static void wait_until_full(struct loader *loader)
{
    int64_t full = loader->depth < loader->total ? loader->depth : loader->total;
    pthread_mutex_lock(&loader->lock);
    while (loader->made < full)
        pthread_cond_wait(&loader->can_take, &loader->lock);
    pthread_mutex_unlock(&loader->lock);
}

static void start_workers(struct loader *loader)
{
    int workers = loader->options.workers;
    loader->depth = (int64_t)workers * QUEUE_BATCHES_PER_WORKER;
    loader->slots = allocate((size_t)loader->depth, sizeof *loader->slots);
    loader->threads = allocate((size_t)workers, sizeof *loader->threads);
    for (int i = 0; i < workers; i++) {
        if (pthread_create(&loader->threads[i], NULL, work, loader) != 0)
            die("cannot start data loader thread %d of %d", i + 1, workers);
    }
    wait_until_full(loader);
}

struct loader *loader_create(const struct loader_options *options)
{
    struct loader *loader = allocate(1, sizeof *loader);
    size_t count = options->set->count;
    loader->options = *options;
    loader->batches_per_epoch = ((int64_t)count + options->batch_size - 1) / options->batch_size;
    loader->left_in_epoch = loader->batches_per_epoch;
    loader->total = options->epochs * loader->batches_per_epoch;
    loader->order = allocate((size_t)options->epochs * count, sizeof *loader->order);
    for (int64_t epoch = 0; epoch < options->epochs; epoch++)
        shuffle(loader->order + (size_t)epoch * count, count,
                rng_make(options->seed, UINT64_MAX - (uint64_t)epoch));
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->can_claim, NULL);
    pthread_cond_init(&loader->can_take, NULL);
    if (options->workers > 0) start_workers(loader);
    return loader;
}

bool loader_next(struct loader *loader, struct batch *batch)
{
    double start = report_clock();
    HB_DATA_LOADER("DigitsLoader") {
        if (loader->left_in_epoch == 0) {
            loader->left_in_epoch = loader->batches_per_epoch;
            *batch = (struct batch){0};
        } else {
            loader->left_in_epoch--;
            *batch =
                loader->options.workers > 0 ? take(loader) : make_batch(loader, loader->taken++);
        }
    }
    report_loader(report_clock() - start);
    return batch->images.data != NULL;
}

int64_t loader_batches(const struct loader *loader)
{
    return loader->batches_per_epoch;
}

static void stop_workers(struct loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->stop = true;
    pthread_cond_broadcast(&loader->can_claim);
    pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->options.workers; i++)
        pthread_join(loader->threads[i], NULL);
    for (int64_t i = 0; i < loader->depth; i++) {
        if (loader->slots[i].ready) batch_free(&loader->slots[i].batch);
    }
}

void loader_destroy(struct loader *loader)
{
    if (loader->options.workers > 0) stop_workers(loader);
    pthread_cond_destroy(&loader->can_take);
    pthread_cond_destroy(&loader->can_claim);
    pthread_mutex_destroy(&loader->lock);
    free(loader->threads);
    free(loader->slots);
    free(loader->order);
    free(loader);
}
