/* SPDX-License-Identifier: MIT
 *
 * Two kinds of lists, both pushed to and taken whole without a lock: one per signal, of handlers
 * whose condition did not hold when last looked at, and one of handlers that are due.
 */
#include "handler.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct sim_handler {
    struct sim_handler *next;
    sim_signal *signal;
    hsa_signal_condition_t condition;
    hsa_signal_value_t compare;
    hsa_signal_value_t value; /* what made it due */
    hsa_amd_signal_handler call;
    void *argument;
} sim_handler;

static sim_handler *due; /* newest first */
static sim_event due_event;
static pthread_mutex_t thread_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static bool running; /* changed under thread_lock */
static bool stopping;
static bool calling; /* by the thread: it has taken handlers that it has not called yet */

static void push(sim_handler **list, sim_handler *handler)
{
    handler->next = __atomic_load_n(list, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(list, &handler->next, handler, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
}

static sim_handler *take_all(sim_handler **list)
{
    return __atomic_exchange_n(list, NULL, __ATOMIC_SEQ_CST);
}

/* Lists are taken newest first, but handlers are called in the order in which they came. */
static sim_handler *reversed(sim_handler *list)
{
    sim_handler *result = NULL;
    while (list) {
        sim_handler *next = list->next;
        list->next = result;
        result = list;
        list = next;
    }
    return result;
}

/* Who has taken the list sees to all of it: while it is away, another thread that changes the value
 * finds it empty and goes on. Hence the second look after the rest was put back. */
void sim_handlers_fire_slowly(sim_signal *signal)
{
    for (;;) {
        sim_handler *list = reversed(take_all(&signal->handlers));
        hsa_signal_value_t value = sim_signal_load(signal);
        bool fired = false, rest = false;
        while (list) {
            sim_handler *handler = list;
            list = handler->next;
            if (sim_condition_holds(value, handler->condition, handler->compare)) {
                handler->value = value;
                push(&due, handler);
                fired = true;
            } else {
                push(&signal->handlers, handler);
                rest = true;
            }
        }
        if (fired) sim_event_notify(&due_event);
        if (!rest || sim_signal_load(signal) == value) return;
    }
}

void sim_handlers_drop(sim_signal *signal)
{
    sim_handler *list = take_all(&signal->handlers);
    while (list) {
        sim_handler *handler = list;
        list = handler->next;
        free(handler);
    }
}

static void wait_for_signal(sim_handler *handler)
{
    sim_signal *signal = handler->signal;
    push(&signal->handlers, handler);
    sim_handlers_fire(signal);
}

/* As in ROCr, none is called any more once the thread is to end. */
static void call_due(void)
{
    __atomic_store_n(&calling, true, __ATOMIC_SEQ_CST);
    sim_handler *list = reversed(take_all(&due));
    while (list) {
        sim_handler *handler = list;
        list = handler->next;
        bool again = !__atomic_load_n(&stopping, __ATOMIC_SEQ_CST) &&
                     handler->call(handler->value, handler->argument);
        if (again)
            wait_for_signal(handler);
        else
            free(handler);
    }
    __atomic_store_n(&calling, false, __ATOMIC_SEQ_CST);
}

/* At exit, before the destructors of whoever set the handlers take away what those use. */
static void let_handlers_finish(void)
{
    enum { MOST_MS = 500 };
    for (int ms = 0; ms < MOST_MS; ms++) {
        if (!__atomic_load_n(&due, __ATOMIC_SEQ_CST) &&
            !__atomic_load_n(&calling, __ATOMIC_SEQ_CST))
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void *handler_main(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "simhsa-handlers");
    for (;;) {
        uint32_t seen = sim_event_prepare(&due_event);
        bool stop = __atomic_load_n(&stopping, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&due, __ATOMIC_SEQ_CST))
            call_due();
        else if (stop)
            break;
        else
            sim_event_sleep(&due_event, seen, SIM_FOREVER);
    }
    return NULL;
}

static bool start_thread(void)
{
    static bool told;
    if (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) return true;
    pthread_mutex_lock(&thread_lock);
    if (!told) told = atexit(let_handlers_finish) == 0;
    if (!running) {
        __atomic_store_n(&stopping, false, __ATOMIC_SEQ_CST);
        bool created = pthread_create(&thread, NULL, handler_main, NULL) == 0;
        __atomic_store_n(&running, created, __ATOMIC_RELEASE);
    }
    bool ok = running;
    pthread_mutex_unlock(&thread_lock);
    return ok;
}

void sim_handlers_stop(void)
{
    pthread_mutex_lock(&thread_lock);
    if (running) {
        __atomic_store_n(&stopping, true, __ATOMIC_SEQ_CST);
        sim_event_wake_all(&due_event);
        if (sim_has_threads()) pthread_join(thread, NULL);
        __atomic_store_n(&running, false, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&thread_lock);
}

hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t signal, hsa_signal_condition_t condition,
                                          hsa_signal_value_t compare, hsa_amd_signal_handler call,
                                          void *argument)
{
    SIM_REQUIRE_INIT();
    SIM_REQUIRE(signal.handle, HSA_STATUS_ERROR_INVALID_SIGNAL);
    SIM_REQUIRE(call, HSA_STATUS_ERROR_INVALID_ARGUMENT);
    sim_handler *handler = malloc(sizeof *handler);
    if (!handler || !start_thread()) {
        free(handler);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    *handler = (sim_handler){.signal = sim_signal_of(signal),
                             .condition = condition,
                             .compare = compare,
                             .call = call,
                             .argument = argument};
    wait_for_signal(handler);
    return HSA_STATUS_SUCCESS;
}
