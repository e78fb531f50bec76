/* SPDX-License-Identifier: MIT
 *
 * A signal handler that records, at every instruction of a recording call: the processor stops
 * after each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <alloca.h>
#include <cmocka.h>
#include <signal.h>
#include <ucontext.h>

#include "recorded.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#define TRAP 0x100

static long step, first, second;
static hb_site site = {.name = "interrupted"};

/* The deeper the frame, the further away from that of the call that was interrupted. */
static __attribute__((noinline)) void record_deeper(size_t bytes)
{
    volatile char *room = alloca(bytes);
    room[0] = 1;
    hb_range_push("in a handler");
    hb_range_pop();
    room[bytes - 1] = 1;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    long now = step++;
    if (now == first) record_deeper(4096);
    if (now == second) record_deeper(16);
}

static inline void set_trap(void)
{
    __asm__ volatile("sub $128, %%rsp; pushfq; orl %0, (%%rsp); popfq; add $128, %%rsp" ::"i"(TRAP)
                     : "memory", "cc");
}

static inline void clear_trap(void)
{
    __asm__ volatile(
        "sub $128, %%rsp; pushfq; andl %0, (%%rsp); popfq; add $128, %%rsp" ::"i"(~TRAP)
        : "memory", "cc");
}

/* With a handler's call after `a` instructions and a shallower one's after `b`; how many there are.
 */
static long run(long a, long b)
{
    step = 0;
    first = a;
    second = b;
    set_trap();
    hb_scope scope = hb_record_function_site(&site);
    hb_scope_end(&scope);
    clear_trap();
    return step;
}

static void no_call_is_taken_for_gone_that_goes_on(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    hb_profiler *prof = record_all();
    hb_scope known = hb_record_function_site(&site); /* new names take a lock */
    hb_scope_end(&known);
    record_deeper(16);
    long steps = run(-1, -1), runs = 0;
    print_message("%ld instructions\n", steps);
    assert_true(steps > 20);
    for (long a = 0; a < steps; a++)
        for (long b = a + 1; b < a + 8 && b < steps; b++, runs++)
            (void)run(a, b);
    hb_profiler_stop(prof);
    hb_lost lost = {.struct_size = sizeof lost};
    assert_int_equal(hb_profiler_lost(prof, &lost), HB_OK);
    assert_int_equal(lost.interrupted, 0);
    recorded r = recorded_of(prof);
    assert_int_equal(recorded_count(&r, "interrupted"), runs + 2);
    assert_true(recorded_count(&r, "in a handler") > (size_t)runs); /* between calls */
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

#else

static void no_call_is_taken_for_gone_that_goes_on(void **state)
{
    (void)state;
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_is_taken_for_gone_that_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
