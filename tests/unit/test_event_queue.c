/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tfevents/event_queue.h"

#define QUEUE_BYTES 65536

typedef struct item {
    uint32_t producer, number;
    char filler[]; /* `number` % 50 bytes of value `number` */
} item;

static size_t item_size(uint32_t number)
{
    return sizeof(item) + number % 50;
}

static bool put(hb_event_queue *queue, uint32_t producer, uint32_t number)
{
    uint64_t pending;
    item *to = hb_event_queue_claim(queue, item_size(number), &pending);
    if (!to) return false;
    assert_true((char *)to > (char *)queue->ring);
    assert_true((char *)to + item_size(number) <= (char *)(queue->ring + queue->units));
    *to = (item){producer, number};
    memset(to->filler, (int)(number & 0xff), number % 50);
    hb_event_queue_publish(to, item_size(number), 7);
    return true;
}

/* What a consumer got: the next number of each producer, and whether all were whole. */
typedef struct seen {
    uint32_t next[8];
    uint32_t total;
    bool broken;
} seen;

static void take(void *arg, uint16_t kind, void *record)
{
    seen *got = arg;
    item *it = record;
    bool whole = kind == 7 && it->producer < 8 && it->number == got->next[it->producer];
    for (uint32_t i = 0; whole && i < it->number % 50; i++)
        whole = (unsigned char)it->filler[i] == (it->number & 0xff);
    if (!whole)
        got->broken = true;
    else
        got->next[it->producer]++;
    got->total++;
}

static void keeps_the_order_over_many_turns_of_the_ring(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    for (uint32_t n = 0; n < 20000; n++) {
        assert_true(put(&queue, 0, n));
        if (n % 701 == 700) hb_event_queue_drain(&queue, take, &got);
    }
    hb_event_queue_drain(&queue, take, &got);
    assert_false(got.broken);
    assert_int_equal(got.next[0], 20000);
    hb_event_queue_free(&queue);
}

static void refuses_when_full_and_has_room_again_after_a_drain(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    assert_int_equal(hb_event_queue_init(&queue, 1), HB_OK); /* rounded up */
    uint32_t n = 0;
    for (int round = 0; round < 5; round++) {
        uint32_t before = n;
        while (put(&queue, 0, n))
            n++;
        assert_true(n - before > 800);
        hb_event_queue_drain(&queue, take, &got);
        assert_int_equal(got.next[0], n);
    }
    assert_false(got.broken);
    hb_event_queue_free(&queue);
}

static void refuses_what_never_fits(void **state)
{
    (void)state;
    hb_event_queue queue;
    uint64_t pending;
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    assert_null(hb_event_queue_claim(&queue, QUEUE_BYTES, &pending));
    assert_null(hb_event_queue_claim(&queue, SIZE_MAX, &pending));
    assert_non_null(hb_event_queue_claim(&queue, QUEUE_BYTES / 2, &pending));
    assert_int_equal(pending, QUEUE_BYTES / 2 + 8);
    hb_event_queue_free(&queue);
}

static void starts_again_at_the_beginning_whenever_it_is_empty(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    for (uint32_t n = 0; n < 1000; n++) {
        assert_int_equal(queue.ring[0], 0);
        assert_true(put(&queue, 0, n));
        assert_int_not_equal(queue.ring[0], 0);
        hb_event_queue_drain(&queue, take, &got);
    }
    assert_int_equal(got.next[0], 1000);
    hb_event_queue_free(&queue);
}

static void reset_forgets_all(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    for (uint32_t n = 0; n < 100; n++)
        assert_true(put(&queue, 0, n));
    hb_event_queue_reset(&queue);
    hb_event_queue_drain(&queue, take, &got);
    assert_int_equal(got.total, 0);
    assert_true(put(&queue, 0, 0));
    hb_event_queue_drain(&queue, take, &got);
    assert_int_equal(got.next[0], 1);
    hb_event_queue_free(&queue);
}

#define PRODUCERS    4
#define PER_PRODUCER 50000

typedef struct producer {
    hb_event_queue *queue;
    uint32_t id;
    uint32_t *finished;
} producer;

static void *produce(void *arg)
{
    producer *self = arg;
    for (uint32_t n = 0; n < PER_PRODUCER;)
        n += put(self->queue, self->id, n);
    __atomic_fetch_add(self->finished, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void loses_nothing_between_threads(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    uint32_t finished = 0;
    pthread_t threads[PRODUCERS];
    producer producers[PRODUCERS];
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer){&queue, i, &finished};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < PRODUCERS)
        hb_event_queue_drain(&queue, take, &got);
    hb_event_queue_drain(&queue, take, &got);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(got.next[i], PER_PRODUCER);
    }
    assert_false(got.broken);
    hb_event_queue_free(&queue);
}

/* ---- records that nobody fills ---- */

static void *claim_and_end(void *queue)
{
    uint64_t pending;
    assert_non_null(hb_event_queue_claim(queue, 40, &pending));
    return NULL; /* as pthread_cancel() ends a thread */
}

static void a_thread_that_ended_amid_a_record_keeps_nothing_behind_it(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    pthread_t thread;
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    assert_true(put(&queue, 0, 0));
    assert_int_equal(pthread_create(&thread, NULL, claim_and_end, &queue), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (uint32_t n = 1; n < 100; n++)
        assert_true(put(&queue, 0, n));
    assert_int_equal(hb_event_queue_drain(&queue, take, &got), 1);
    assert_int_equal(got.next[0], 100);
    assert_false(got.broken);
    assert_int_equal(hb_event_queue_pending(&queue), 0);
    hb_event_queue_free(&queue);
}

static __attribute__((noinline)) void claim_and_leave(hb_event_queue *queue, jmp_buf to)
{
    uint64_t pending;
    assert_non_null(hb_event_queue_claim(queue, 40, &pending));
    longjmp(to, 1); /* as a signal handler does */
}

static void a_call_that_was_left_keeps_nothing_behind_it_either(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    jmp_buf back;
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    if (setjmp(back) == 0) claim_and_leave(&queue, back);
    for (uint32_t n = 0; n < 100; n++)
        assert_true(put(&queue, 0, n));
    assert_int_equal(hb_event_queue_drain(&queue, take, &got), 1);
    assert_int_equal(got.next[0], 100);
    hb_event_queue_free(&queue);
}

/* Until all is there; in vain when it takes more drains than are patient. */
static uint64_t drain_patiently(hb_event_queue *queue, seen *got)
{
    uint64_t lost = 0;
    for (int i = 0; i < 12 && hb_event_queue_pending(queue); i++)
        lost += hb_event_queue_drain(queue, take, got);
    return lost;
}

static void go_round(hb_event_queue *queue, seen *got)
{
    uint32_t first = got->next[0];
    for (uint32_t n = first; n < first + 20000; n++) {
        assert_true(put(queue, 0, n));
        if (n % 97 == 96) assert_int_equal(hb_event_queue_drain(queue, take, got), 0);
    }
    assert_int_equal(hb_event_queue_drain(queue, take, got), 0);
    assert_int_equal(got->next[0], first + 20000);
    assert_false(got->broken);
}

typedef struct holder {
    hb_event_queue *queue;
    pthread_barrier_t claimed, over;
    void *record;
} holder;

/* Left the call by siglongjmp(), and logs nothing any more; or was stopped for very long. */
static void *claim_and_stay(void *arg)
{
    holder *h = arg;
    uint64_t pending;
    h->record = hb_event_queue_claim(h->queue, 200, &pending);
    pthread_barrier_wait(&h->claimed);
    pthread_barrier_wait(&h->over);
    memset(h->record, 0x55, 200);
    hb_event_queue_publish(h->record, 200, 7);
    pthread_barrier_wait(&h->over);
    return NULL;
}

static void what_a_living_thread_does_not_fill_is_passed_over_in_time(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    pthread_t thread;
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    holder h = {.queue = &queue};
    pthread_barrier_init(&h.claimed, NULL, 2);
    pthread_barrier_init(&h.over, NULL, 2);
    assert_true(put(&queue, 0, 0));
    assert_int_equal(pthread_create(&thread, NULL, claim_and_stay, &h), 0);
    pthread_barrier_wait(&h.claimed);
    for (uint32_t n = 1; n < 100; n++)
        assert_true(put(&queue, 0, n));
    assert_int_equal(drain_patiently(&queue, &got), 1);
    assert_int_equal(got.next[0], 100);
    go_round(&queue, &got);
    /* It comes back: what it writes harms nobody. */
    put(&queue, 0, got.next[0]);
    pthread_barrier_wait(&h.over);
    pthread_barrier_wait(&h.over);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(hb_event_queue_drain(&queue, take, &got), 0);
    go_round(&queue, &got);
    hb_event_queue_free(&queue);
}

/* What a thread leaves that ends between its claim and its mark on it. */
static void claim_unmarked(hb_event_queue *queue, uint32_t units)
{
    __atomic_fetch_add(&queue->state, units, __ATOMIC_RELAXED);
}

static void a_claim_without_a_mark_is_passed_over_in_time(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    assert_true(put(&queue, 0, 0));
    claim_unmarked(&queue, 9);
    for (uint32_t n = 1; n < 100; n++)
        assert_true(put(&queue, 0, n));
    claim_unmarked(&queue, 5); /* and one with nothing behind it */
    assert_int_equal(drain_patiently(&queue, &got), 1);
    assert_int_equal(got.next[0], 100);
    assert_int_equal(drain_patiently(&queue, &got), 1);
    assert_int_equal(hb_event_queue_pending(&queue), 0);
    go_round(&queue, &got);
    hb_event_queue_free(&queue);
}

static hb_event_queue *interrupted;

static void put_from_a_handler(int signal)
{
    (void)signal;
    for (uint32_t n = 0; n < 3; n++)
        (void)put(interrupted, 1, n);
}

static void a_call_that_a_handler_interrupts_goes_on(void **state)
{
    (void)state;
    hb_event_queue queue;
    seen got = {0};
    uint64_t pending;
    assert_int_equal(hb_event_queue_init(&queue, QUEUE_BYTES), HB_OK);
    interrupted = &queue;
    signal(SIGUSR1, put_from_a_handler);
    item *to = hb_event_queue_claim(&queue, item_size(0), &pending);
    assert_non_null(to);
    raise(SIGUSR1);
    *to = (item){0, 0};
    hb_event_queue_publish(to, item_size(0), 7);
    assert_int_equal(hb_event_queue_drain(&queue, take, &got), 0);
    assert_int_equal(got.next[0], 1);
    assert_int_equal(got.next[1], 3);
    hb_event_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order_over_many_turns_of_the_ring),
        cmocka_unit_test(refuses_when_full_and_has_room_again_after_a_drain),
        cmocka_unit_test(refuses_what_never_fits),
        cmocka_unit_test(starts_again_at_the_beginning_whenever_it_is_empty),
        cmocka_unit_test(reset_forgets_all),
        cmocka_unit_test(loses_nothing_between_threads),
        cmocka_unit_test(a_thread_that_ended_amid_a_record_keeps_nothing_behind_it),
        cmocka_unit_test(a_call_that_was_left_keeps_nothing_behind_it_either),
        cmocka_unit_test(what_a_living_thread_does_not_fill_is_passed_over_in_time),
        cmocka_unit_test(a_claim_without_a_mark_is_passed_over_in_time),
        cmocka_unit_test(a_call_that_a_handler_interrupts_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
