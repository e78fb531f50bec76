/* SPDX-License-Identifier: MIT
 *
 * The HSA interface of the simulated GPU, used directly: what the HIP runtime does rarely or never,
 * what is concurrent, what is broken. Needs no HIP runtime.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simhsa.h"

hsa_status_t hsa_init(void);
hsa_status_t hsa_shut_down(void);

#define OK(call) assert_int_equal((call), HSA_STATUS_SUCCESS)

static hsa_agent_t cpu, gpu;
static hsa_amd_memory_pool_t device_pool, host_pool;

/* ---- set-up ---- */

static hsa_status_t find_agents(hsa_agent_t agent, void *data)
{
    (void)data;
    hsa_device_type_t type;
    OK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_CPU)
        cpu = agent;
    else if (!gpu.handle)
        gpu = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t first_pool(hsa_amd_memory_pool_t pool, void *result)
{
    *(hsa_amd_memory_pool_t *)result = pool;
    return HSA_STATUS_INFO_BREAK;
}

static int set_up(void **state)
{
    (void)state;
    setenv("SIMHSA_MEMORY", "128M", 1);
    setenv("SIMHSA_KERNEL_NS", "0", 1);
    cpu.handle = gpu.handle = 0;
    OK(hsa_init());
    OK(hsa_iterate_agents(find_agents, NULL));
    (void)hsa_amd_agent_iterate_memory_pools(gpu, first_pool, &device_pool);
    (void)hsa_amd_agent_iterate_memory_pools(cpu, first_pool, &host_pool);
    return !cpu.handle || !gpu.handle || !device_pool.handle || !host_pool.handle;
}

static int tear_down(void **state)
{
    (void)state;
    return hsa_shut_down();
}

static hsa_signal_t make_signal(hsa_signal_value_t value)
{
    hsa_signal_t signal;
    OK(hsa_signal_create(value, 0, NULL, &signal));
    return signal;
}

static hsa_signal_value_t wait_zero(hsa_signal_t signal)
{
    return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                     HSA_WAIT_STATE_BLOCKED);
}

/* ---- life ---- */

static void life_is_counted(void **state)
{
    (void)state;
    uint64_t now;
    OK(hsa_init());
    OK(hsa_shut_down());
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
    assert_true(now > 0);
    OK(hsa_shut_down());
    assert_int_equal(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now),
                     HSA_STATUS_ERROR_NOT_INITIALIZED);
    assert_int_equal(set_up(NULL), 0); /* and may begin again */
}

static void invalid_handles_are_refused(void **state)
{
    (void)state;
    uint64_t value;
    void *p;
    assert_int_equal(hsa_agent_get_info((hsa_agent_t){12345}, HSA_AGENT_INFO_NAME, &value),
                     HSA_STATUS_ERROR_INVALID_AGENT);
    assert_int_equal(hsa_agent_get_info(gpu, (hsa_agent_info_t)0x7fff, &value),
                     HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){1}, 4096, 0, &p),
                     HSA_STATUS_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hsa_amd_memory_pool_free(&value), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    hsa_queue_t *queue;
    assert_int_equal(hsa_queue_create(gpu, 100, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue),
                     HSA_STATUS_ERROR_INVALID_ARGUMENT);
    const char *text;
    OK(hsa_status_string(HSA_STATUS_ERROR_OUT_OF_RESOURCES, &text));
    assert_non_null(strstr(text, "OUT_OF_RESOURCES"));
}

/* ---- memory ---- */

static void addresses_are_known(void **state)
{
    (void)state;
    char *a, *b, *locked, mine[8192];
    hsa_amd_pointer_info_t info = {.size = sizeof info};
    OK(hsa_amd_memory_pool_allocate(device_pool, 10000, 0, (void **)&a));
    OK(hsa_amd_memory_pool_allocate(host_pool, 10000, 0, (void **)&b));
    OK(hsa_amd_pointer_info(a + 9999, &info, NULL, NULL, NULL));
    assert_int_equal(info.type, HSA_EXT_POINTER_TYPE_HSA);
    assert_ptr_equal(info.agentBaseAddress, a);
    assert_int_equal(info.agentOwner.handle, gpu.handle);
    OK(hsa_amd_pointer_info(b, &info, NULL, NULL, NULL));
    assert_int_equal(info.agentOwner.handle, cpu.handle);

    /* What is locked lies elsewhere on the device. */
    OK(hsa_amd_memory_lock_to_pool(mine, sizeof mine, NULL, 0, host_pool, 0, (void **)&locked));
    assert_ptr_not_equal(locked, mine);
    OK(hsa_amd_pointer_info(locked + 100, &info, NULL, NULL, NULL));
    assert_int_equal(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
    assert_ptr_equal(info.hostBaseAddress, mine);
    OK(hsa_amd_memory_unlock(mine));
    OK(hsa_amd_pointer_info(mine, &info, NULL, NULL, NULL));
    assert_int_equal(info.type, HSA_EXT_POINTER_TYPE_UNKNOWN);

    OK(hsa_amd_memory_pool_free(a));
    OK(hsa_amd_memory_pool_free(b));
    OK(hsa_amd_pointer_info(a, &info, NULL, NULL, NULL));
    assert_int_equal(info.type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

static void the_limit_is_kept(void **state)
{
    (void)state;
    void *pieces[40];
    unsigned n = 0;
    while (n < 40 &&
           hsa_amd_memory_pool_allocate(device_pool, 10 << 20, 0, &pieces[n]) == HSA_STATUS_SUCCESS)
        n++;
    assert_int_equal(n, 12); /* 128 MiB */
    while (n)
        OK(hsa_amd_memory_pool_free(pieces[--n]));
    OK(hsa_amd_memory_pool_allocate(device_pool, 100 << 20, 0, &pieces[0]));
    OK(hsa_amd_memory_pool_free(pieces[0]));
}

static char failure; /* its address, from a thread, says that the thread failed */

static void *allocate_and_free(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        void *p;
        hsa_amd_pointer_info_t info = {.size = sizeof info};
        if (hsa_amd_memory_pool_allocate(i % 2 ? device_pool : host_pool, 4096, 0, &p) ||
            hsa_amd_pointer_info(p, &info, NULL, NULL, NULL) || info.agentBaseAddress != p ||
            hsa_amd_memory_pool_free(p))
            return &failure;
    }
    return NULL;
}

static void run_threads(unsigned count, void *(*body)(void *), void *argument)
{
    pthread_t threads[8];
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, argument), 0);
    for (unsigned i = 0; i < count; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

static void threads_allocate(void **state)
{
    (void)state;
    run_threads(4, allocate_and_free, NULL);
}

/* ---- signals and handlers ---- */

static void waits_time_out(void **state)
{
    (void)state;
    hsa_signal_t signal = make_signal(3);
    uint64_t before, after;
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
    assert_int_equal(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 0, 5000000,
                                               HSA_WAIT_STATE_BLOCKED),
                     3);
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
    assert_true(after - before >= 5000000);
    OK(hsa_signal_destroy(signal));
}

/* Two signals go to and fro between two threads: a lost wake-up would hang. */
typedef struct pair {
    hsa_signal_t ping, pong;
} pair;

enum { ROUNDS = 3000 };

static void *answer(void *argument)
{
    const pair *p = argument;
    for (int i = 1; i <= ROUNDS; i++) {
        hsa_signal_wait_scacquire(p->ping, HSA_SIGNAL_CONDITION_EQ, i, UINT64_MAX,
                                  HSA_WAIT_STATE_BLOCKED);
        hsa_signal_store_screlease(p->pong, i);
    }
    return NULL;
}

static void no_wake_up_is_lost(void **state)
{
    (void)state;
    pair p = {make_signal(0), make_signal(0)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer, &p), 0);
    for (int i = 1; i <= ROUNDS; i++) {
        hsa_signal_add_relaxed(p.ping, 1);
        hsa_signal_wait_scacquire(p.pong, HSA_SIGNAL_CONDITION_GTE, i, UINT64_MAX,
                                  HSA_WAIT_STATE_BLOCKED);
    }
    pthread_join(thread, NULL);
    OK(hsa_signal_destroy(p.ping));
    OK(hsa_signal_destroy(p.pong));
}

/* Each handler is called once; every second one asks for a second call. */
enum { HANDLERS = 2000 };
static hsa_signal_t called;

static bool count_call(hsa_signal_value_t value, void *again)
{
    bool *flag = again;
    bool repeat = *flag && value == 0;
    *flag = false;
    hsa_signal_subtract_relaxed(called, 1);
    return repeat;
}

static bool repeats[4][HANDLERS];
static unsigned next_repeats;

static void *register_and_fire(void *unused)
{
    (void)unused;
    bool *mine = repeats[__atomic_fetch_add(&next_repeats, 1, __ATOMIC_RELAXED)];
    for (int i = 0; i < HANDLERS; i++) {
        hsa_signal_t signal;
        mine[i] = i % 2;
        if (hsa_signal_create(1, 0, NULL, &signal) ||
            hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, count_call, &mine[i]))
            return &failure;
        hsa_signal_subtract_relaxed(signal, 1);
    }
    return NULL;
}

static void handlers_are_called_as_often_as_asked_for(void **state)
{
    (void)state;
    called = make_signal(4 * HANDLERS * 3 / 2);
    next_repeats = 0;
    run_threads(4, register_and_fire, NULL);
    assert_int_equal(wait_zero(called), 0);
    OK(hsa_signal_destroy(called));
}

/* ---- queues ---- */

static void *slot_at(hsa_queue_t *queue, uint64_t index)
{
    return (char *)queue->base_address + (index & (queue->size - 1)) * 64;
}

/* Takes a slot, waits until it is free, copies the packet and, last, its header. */
static void submit(hsa_queue_t *queue, const void *packet)
{
    uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
        sched_yield();
    char *slot = slot_at(queue, index);
    memcpy(slot + 4, (const char *)packet + 4, 60);
    __atomic_store_n((uint32_t *)(void *)slot, *(const uint32_t *)packet, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static hsa_queue_t *make_queue(uint32_t size)
{
    hsa_queue_t *queue;
    OK(hsa_queue_create(gpu, size, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
    return queue;
}

static hsa_barrier_and_packet_t barrier(uint16_t type, hsa_signal_t done)
{
    return (hsa_barrier_and_packet_t){.header = type, .completion_signal = done};
}

static void barriers_wait_for_all_or_any(void **state)
{
    (void)state;
    hsa_queue_t *queue = make_queue(64);
    hsa_signal_t a = make_signal(1), b = make_signal(1), any = make_signal(1), all = make_signal(1);
    hsa_barrier_and_packet_t packet = barrier(HSA_PACKET_TYPE_BARRIER_OR, any);
    packet.dep_signal[0] = a;
    packet.dep_signal[3] = b;
    submit(queue, &packet);
    packet.header = HSA_PACKET_TYPE_BARRIER_AND;
    packet.completion_signal = all;
    submit(queue, &packet);
    assert_int_equal(
        hsa_signal_wait_scacquire(any, HSA_SIGNAL_CONDITION_EQ, 0, 2000000, HSA_WAIT_STATE_BLOCKED),
        1);
    hsa_signal_store_relaxed(b, 0);
    assert_int_equal(wait_zero(any), 0);
    assert_int_equal(
        hsa_signal_wait_scacquire(all, HSA_SIGNAL_CONDITION_EQ, 0, 2000000, HSA_WAIT_STATE_BLOCKED),
        1);
    hsa_signal_store_relaxed(a, 0);
    assert_int_equal(wait_zero(all), 0);
    OK(hsa_queue_destroy(queue));
    OK(hsa_signal_destroy(a));
    OK(hsa_signal_destroy(b));
    OK(hsa_signal_destroy(any));
    OK(hsa_signal_destroy(all));
}

static void a_queue_is_destroyed_while_it_waits(void **state)
{
    (void)state;
    hsa_queue_t *queue = make_queue(64);
    hsa_signal_t never = make_signal(1), done = make_signal(1);
    hsa_barrier_and_packet_t packet = barrier(HSA_PACKET_TYPE_BARRIER_AND, done);
    packet.dep_signal[0] = never;
    submit(queue, &packet);
    OK(hsa_queue_destroy(queue));
    assert_int_equal(hsa_signal_load_relaxed(done), 1);
    OK(hsa_signal_destroy(never));
    OK(hsa_signal_destroy(done));
}

/* Producers share a ring that is much smaller than what they submit. */
typedef struct shared_queue {
    hsa_queue_t *queue;
    hsa_signal_t done;
} shared_queue;

enum { PACKETS = 5000 };

static void *produce(void *argument)
{
    const shared_queue *s = argument;
    hsa_barrier_and_packet_t packet = barrier(HSA_PACKET_TYPE_BARRIER_AND, s->done);
    for (int i = 0; i < PACKETS; i++)
        submit(s->queue, &packet);
    return NULL;
}

static void producers_share_a_queue(void **state)
{
    (void)state;
    shared_queue s = {make_queue(64), make_signal(4 * PACKETS)};
    run_threads(4, produce, &s);
    assert_int_equal(wait_zero(s.done), 0);
    OK(hsa_queue_destroy(s.queue));
    OK(hsa_signal_destroy(s.done));
}

static void store_status(hsa_status_t status, hsa_queue_t *queue, void *signal)
{
    (void)queue;
    hsa_signal_store_relaxed(*(hsa_signal_t *)signal, (hsa_signal_value_t)status);
}

static void broken_packets_are_queue_errors(void **state)
{
    (void)state;
    hsa_queue_t *queue;
    hsa_signal_t status = make_signal(0);
    const hsa_kernel_dispatch_packet_t packet = {.header = HSA_PACKET_TYPE_KERNEL_DISPATCH,
                                                 .kernel_object = 64};
    OK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, store_status, &status, 0, 0, &queue));
    submit(queue, &packet);
    assert_int_equal(hsa_signal_wait_scacquire(status, HSA_SIGNAL_CONDITION_NE, 0, UINT64_MAX,
                                               HSA_WAIT_STATE_BLOCKED),
                     HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    OK(hsa_queue_destroy(queue));
    OK(hsa_signal_destroy(status));
}

/* ---- copies ---- */

static void copies_wait_for_their_dependencies(void **state)
{
    (void)state;
    char *device, host[5000], back[5000] = {0};
    hsa_signal_t go = make_signal(1), there = make_signal(1), done = make_signal(1);
    hsa_amd_profiling_async_copy_time_t to, from;
    memset(host, 42, sizeof host);
    OK(hsa_amd_memory_pool_allocate(device_pool, sizeof host, 0, (void **)&device));
    OK(hsa_amd_memory_async_copy(back, cpu, device, gpu, sizeof host, 1, &there, done));
    OK(hsa_amd_memory_async_copy(device, gpu, host, cpu, sizeof host, 1, &go, there));
    assert_int_equal(hsa_signal_load_relaxed(there), 1);
    hsa_signal_store_relaxed(go, 0);
    assert_int_equal(wait_zero(done), 0);
    assert_memory_equal(host, back, sizeof host);
    OK(hsa_amd_profiling_get_async_copy_time(there, &to));
    OK(hsa_amd_profiling_get_async_copy_time(done, &from));
    assert_true(to.start < to.end && to.end <= from.start && from.start < from.end);
    OK(hsa_amd_memory_pool_free(device));
    OK(hsa_signal_destroy(go));
    OK(hsa_signal_destroy(there));
    OK(hsa_signal_destroy(done));
}

/* ---- code objects ---- */

static size_t read_kernels(unsigned char *bytes, size_t capacity)
{
    FILE *file = fopen(TEST_KERNELS, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    assert_in_range(size, 1000, capacity - 1);
    return size;
}

/* Loads, looks at all symbols, unloads. */
static hsa_status_t look_at_symbol(hsa_executable_t executable, hsa_executable_symbol_t symbol,
                                   void *count)
{
    (void)executable;
    uint32_t length;
    hsa_symbol_kind_t kind;
    OK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length));
    OK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
    ++*(unsigned *)count;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_executable_iterate_symbols(
    hsa_executable_t, hsa_status_t (*)(hsa_executable_t, hsa_executable_symbol_t, void *), void *);

static hsa_status_t load(const void *bytes, size_t size, unsigned *symbols)
{
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    OK(hsa_code_object_reader_create_from_memory(bytes, size, &reader));
    OK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                 &executable));
    hsa_status_t status =
        hsa_executable_load_agent_code_object(executable, gpu, reader, NULL, NULL);
    OK(hsa_executable_iterate_symbols(executable, look_at_symbol, symbols));
    OK(hsa_executable_destroy(executable));
    OK(hsa_code_object_reader_destroy(reader));
    return status;
}

static void code_objects_are_loaded_from_any_address(void **state)
{
    (void)state;
    static unsigned char bytes[65536];
    size_t size = read_kernels(bytes, sizeof bytes);
    unsigned symbols = 0, shifted = 0;
    OK(load(bytes, size, &symbols));
    assert_true(symbols >= 6); /* five kernels and a variable */
    memmove(bytes + 3, bytes, size);
    OK(load(bytes + 3, size, &shifted));
    assert_int_equal(shifted, symbols);
}

/* Whatever a file says, loading it ends with a status. Each size is tried in a block of its own,
 * whose end a sanitizer watches. */
static void broken_code_objects_do_no_harm(void **state)
{
    (void)state;
    static unsigned char whole[65536];
    size_t size = read_kernels(whole, sizeof whole);
    uint32_t random = 1;
    unsigned symbols = 0, refused = 0;
    for (size_t cut = 1; cut < size; cut += 97) {
        unsigned char *part = malloc(cut);
        memcpy(part, whole, cut);
        refused += load(part, cut, &symbols) != HSA_STATUS_SUCCESS;
        free(part);
    }
    for (int round = 0; round < 2000; round++) {
        unsigned char *copy = malloc(size);
        memcpy(copy, whole, size);
        for (int i = 0; i < 4; i++) {
            random = random * 1664525 + 1013904223;
            /* the headers at the beginning, the section headers at the end, and the rest */
            size_t at = round % 3 == 0   ? random % 1024
                        : round % 3 == 1 ? size - 1 - random % 1024
                                         : random % size;
            copy[at] = (unsigned char)(random >> 24);
        }
        refused += load(copy, size, &symbols) != HSA_STATUS_SUCCESS;
        free(copy);
    }
    assert_true(refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(life_is_counted),
        cmocka_unit_test(invalid_handles_are_refused),
        cmocka_unit_test(addresses_are_known),
        cmocka_unit_test(the_limit_is_kept),
        cmocka_unit_test(threads_allocate),
        cmocka_unit_test(waits_time_out),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(handlers_are_called_as_often_as_asked_for),
        cmocka_unit_test(barriers_wait_for_all_or_any),
        cmocka_unit_test(a_queue_is_destroyed_while_it_waits),
        cmocka_unit_test(producers_share_a_queue),
        cmocka_unit_test(broken_packets_are_queue_errors),
        cmocka_unit_test(copies_wait_for_their_dependencies),
        cmocka_unit_test(code_objects_are_loaded_from_any_address),
        cmocka_unit_test(broken_code_objects_do_no_harm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
