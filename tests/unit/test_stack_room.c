/* SPDX-License-Identifier: MIT
 *
 * Where stacks are walked: on those of threads and fibers, and on alternate ones that have room for
 * it.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "forks_with_threads.h"
#include "program.h"
#include "record/stack.h"
#include "record/thread.h"

enum { MIB = 1 << 20, ROOM = 8192, A_FEW = 3000 };

static uint64_t pcs[HB_STACK_MAX];
static int asked; /* how often the kernel was asked for the alternate stack */
static bool refused;

/* In place of the C library's, also for hipboard, and for checks of threads as they begin. */
__attribute__((no_sanitize("thread"))) int sigaltstack(const stack_t *new, stack_t *old)
{
    asked += new == NULL;
    return refused ? -1 : (int)syscall(SYS_sigaltstack, new, old);
}

static __attribute__((noinline)) uint32_t walk(void)
{
    uint32_t n = hb_stack_capture(pcs, NULL);
    __asm__ volatile("");
    return n;
}

static bool walks(void)
{
    return walk() > 0;
}

static __attribute__((noinline)) bool walks_deeper(size_t bytes)
{
    volatile char *room = alloca(bytes);
    room[0] = 1;
    bool does = walks();
    room[bytes - 1] = 1;
    return does;
}

static uint64_t too_big(void)
{
    return hb_threads_take_lost(HB_LOST_TOO_BIG);
}

/* ---- where a thread runs ---- */

/* At a place in a page of its own. */
static __attribute__((noinline)) bool walks_at(size_t in_page)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), page = here / 4096 * 4096 - 8192;
    volatile char *room = alloca((size_t)(here - page - in_page));
    room[0] = 1;
    return walks();
}

static void *walk_downwards(void *arg)
{
    int before = asked;
    CHECK(walks_at(3900) && asked == before + 1);
    CHECK(walks_at(2500) && asked == before + 1); /* of pages it is asked */
    before = asked;
    CHECK(walks() && asked == before + 1);
    CHECK(walks() && asked == before + 1);
    CHECK(walks_deeper(MIB) && asked == before + 2);
    CHECK(walks_deeper(MIB / 2) && walks() && asked == before + 2);
    CHECK(walks_deeper(2 * MIB) && asked == before + 3);
    CHECK(walks_deeper(MIB / 2 * 3) && asked == before + 3);
    return arg;
}

static void *walk_upwards(void *arg)
{
    int before = asked;
    CHECK(walks_deeper(2 * MIB) && asked == before + 1);
    CHECK(walks_deeper(MIB) && asked == before + 2);
    CHECK(walks_deeper(MIB / 2 * 3) && asked == before + 2);
    CHECK(walks() && asked == before + 3);
    CHECK(walks_deeper(MIB / 2) && walks_deeper(2 * MIB) && asked == before + 3);
    return arg;
}

/* All between the places where it was seen is its stack. */
static void a_thread_is_asked_once_where_it_runs(void **state)
{
    (void)state;
    void *(*const ways[])(void *) = {walk_downwards, walk_upwards};
    for (size_t i = 0; i < HB_ARRAY_LEN(ways); i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, ways[i], NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(too_big(), 0);
}

static void *walk_without_an_answer(void *arg)
{
    refused = true;
    CHECK(walks());
    refused = false;
    return arg;
}

static void a_stack_is_walked_where_the_kernel_does_not_tell(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, walk_without_an_answer, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(too_big(), 0);
}

/* ---- alternate stacks ---- */

static char *alternate; /* its lower end; below it is room for what comes too far */
static int left_over;   /* bytes beyond what a walk needs */
static uint32_t walked;

static __attribute__((noinline)) void walk_with_room(int more)
{
    const char *here = __builtin_frame_address(0);
    volatile char *room = alloca((size_t)(here - alternate - ROOM - more));
    room[0] = 1;
    walked = walk();
}

static void on_signal(int number)
{
    (void)number;
    walk_with_room(left_over);
}

static void use_alternate(char *at, size_t size)
{
    const stack_t stack = {.ss_sp = at, .ss_size = size};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    alternate = at;
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void use_none(void)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&none, NULL), 0);
    assert_true(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
}

static bool is_walked_with(int more)
{
    left_over = more;
    raise(SIGUSR1);
    return walked > 0;
}

static char *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

/* It is never taken for the thread's own. */
static void an_alternate_stack_is_walked_where_there_is_room(void **state)
{
    (void)state;
    char *memory = map(4 * MIB);
    (void)too_big();
    use_alternate(memory + MIB, MIB);
    for (int i = 0; i < 2; i++) {
        int before = asked;
        assert_true(is_walked_with(A_FEW));
        assert_int_equal(asked, before + 1);
        assert_int_equal(too_big(), 0);
        assert_false(is_walked_with(-A_FEW));
        assert_int_equal(asked, before + 2);
        assert_int_equal(too_big(), 1);
    }
    use_none();
    munmap(memory, 4 * MIB);
}

/* ---- fibers ---- */

enum { FIBER = MIB, BETWEEN = 10 * MIB, FAR_AWAY = 20 * MIB, REGION = 24 * MIB };

static ucontext_t outside, fibers[2];
static bool walks_on_fiber, walks_between;

static void be_on_a_fiber(void)
{
    walks_on_fiber = walks();
    walks_between = is_walked_with(-A_FEW);
}

static void run_fiber(int i, char *stack)
{
    assert_int_equal(getcontext(&fibers[i]), 0);
    fibers[i].uc_stack = (stack_t){.ss_sp = stack, .ss_size = FIBER};
    fibers[i].uc_link = &outside;
    makecontext(&fibers[i], be_on_a_fiber, 0);
    assert_int_equal(swapcontext(&outside, &fibers[i]), 0);
}

/* Which may lie between those of fibers. */
static void what_lies_between_two_fibers_is_neithers(void **state)
{
    (void)state;
    char *region = map(REGION);
    use_alternate(region + BETWEEN, MIB);
    for (int i = 0; i < 4; i++) {
        (void)too_big();
        run_fiber(i % 2, region + (i % 2 ? FAR_AWAY : 0));
        assert_true(walks_on_fiber);
        assert_false(walks_between);
        assert_int_equal(too_big(), 1);
    }
    use_none();
    munmap(region, REGION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_asked_once_where_it_runs),
        cmocka_unit_test(a_stack_is_walked_where_the_kernel_does_not_tell),
        cmocka_unit_test(an_alternate_stack_is_walked_where_there_is_room),
        cmocka_unit_test(what_lies_between_two_fibers_is_neithers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
