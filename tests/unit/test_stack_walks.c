/* SPDX-License-Identifier: MIT
 *
 * Where stacks are walked, and which of their frames are the program's: on alternate stacks with
 * room for it or without, on fibers, beyond libraries that are passed over.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
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

static int told = -100; /* frames; below -1: as many as there are */
static int told_by_libc;

int backtrace(void **frames, int most)
{
    int (*libc)(void **, int) = NULL;
    *(void **)&libc = dlsym(RTLD_NEXT, "backtrace");
    told_by_libc++;
    int n = libc(frames, most);
    return told < -1 ? n : told;
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

static void a_walk_that_finds_nothing_has_no_frames(void **state)
{
    (void)state;
    for (told = -1; told < 2; told++)
        assert_int_equal(walk(), told == 1);
    told = -100;
    assert_true(walk() > 1);
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

/* ---- frames that are left out ---- */

static __attribute__((noinline)) uint32_t walk_from(unsigned depth)
{
    uint32_t n = depth ? walk_from(depth - 1) : walk();
    __asm__ volatile("");
    return n;
}

static void the_innermost_frames_of_a_deep_stack_are_told(void **state)
{
    (void)state;
    uint32_t n = walk_from(3);
    assert_in_range(n, 5, HB_STACK_MAX - 1);
    assert_int_equal(walk_from(4), n + 1);
    assert_int_equal(walk_from(100), HB_STACK_MAX);
}

enum { ROUNDS = 3 };

static uint64_t stacks[ROUNDS][HB_STACK_MAX];
static uint32_t frames[ROUNDS];

static void leave_out_none(void)
{
    hb_stack_leave_out(NULL);
}

static void leave_out_the_third(void)
{
    hb_stack_leave_out((const void *)(uintptr_t)stacks[0][2]);
}

/* Called from one place, so that all frames are the same. */
static __attribute__((noinline)) void walk_after_each(void (*const *deeds)(void),
                                                      volatile int count)
{
    for (int i = 0; i < count; i++) {
        deeds[i]();
        frames[i] = walk_from(3);
        memcpy(stacks[i], pcs, sizeof pcs);
    }
}

/* As those do through which a library's calls were taken over. */
static void a_return_address_is_left_out_wherever_it_stands(void **state)
{
    (void)state;
    void (*const deeds[ROUNDS])(void) = {leave_out_none, leave_out_the_third, leave_out_none};
    uint32_t kept = 0;
    walk_after_each(deeds, ROUNDS);
    for (uint32_t i = 0; i < frames[0]; i++)
        if (stacks[0][i] != stacks[0][2]) assert_int_equal(stacks[1][kept++], stacks[0][i]);
    assert_in_range(kept, 3, frames[0] - 1);
    assert_int_equal(frames[1], kept);
    assert_int_equal(frames[2], frames[0]);
    assert_memory_equal(stacks[2], stacks[0], frames[0] * sizeof stacks[0][0]);
}

/* ---- libraries that are passed over ---- */

typedef struct segment {
    uint64_t start, end;
} segment;

enum { MOST = 64 };

static segment code[MOST];
static uint32_t num_code;

static int note_code(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && num_code < MOST)
            code[num_code++] = (segment){start, start + p->p_memsz};
    }
    return 0;
}

/* The code that an address lies in, which is taken from the list. */
static segment take_code_of(uint64_t address)
{
    num_code = num_code ? num_code : (dl_iterate_phdr(note_code, NULL), num_code);
    for (uint32_t i = 0; i < num_code; i++) {
        segment found = code[i];
        if (address < found.start || address >= found.end) continue;
        code[i] = code[--num_code];
        return found;
    }
    CHECK(!"found");
    return (segment){0, 0};
}

static segment own_code(void)
{
    uint64_t address;
    uint32_t (*here)(void) = walk;
    memcpy(&address, &here, sizeof address);
    return take_code_of(address);
}

static bool is_in(segment s, uint64_t pc)
{
    return pc >= s.start && pc < s.end;
}

static void pass_over(uint64_t address)
{
    hb_stack_pass_over((const void *)(uintptr_t)address);
}

/* Under a sanitizer the innermost frame may be its library's; how many that takes. */
static uint32_t pass_over_checks(segment own)
{
    CHECK(walk() > 0);
    if (is_in(own, pcs[0])) return 0;
    (void)take_code_of(pcs[0]);
    pass_over(pcs[0]);
    return 1;
}

/* Whether the program's frames begin with those of this code. */
static bool begins_in(segment s)
{
    uint32_t n = hb_stack_capture_outside(pcs);
    CHECK(n > 0);
    return is_in(s, pcs[0]);
}

static int passed_over_by_its_first_byte(void)
{
    segment s = own_code();
    pass_over_checks(s);
    CHECK(begins_in(s));
    pass_over(s.start);
    CHECK(!begins_in(s));
    return 0;
}

static int passed_over_by_its_last_byte(void)
{
    segment s = own_code();
    pass_over_checks(s);
    pass_over(s.end - 1);
    CHECK(!begins_in(s));
    return 0;
}

/* Nor by where its data lie, or nothing at all. */
static int not_passed_over_from_outside(void)
{
    static int data = 1;
    segment s = own_code();
    uint32_t checks = pass_over_checks(s);
    pass_over(s.start - 1);
    pass_over(s.end);
    pass_over((uint64_t)(uintptr_t)&data);
    pass_over(1);
    CHECK(begins_in(s));
    CHECK(hb_stack_capture_outside(pcs) + checks == walk() - 1);
    return 0;
}

/* So many others are, and then it. */
static bool is_passed_over_after(uint32_t others)
{
    static const char *const more[] = {"libgcc_s.so.1", "libresolv.so.2", "libutil.so.1",
                                       "librt.so.1",    "libanl.so.1",    "libBrokenLocale.so.1",
                                       "libdl.so.2",    "libm.so.6",      "libthread_db.so.1"};
    for (size_t i = 0; i < HB_ARRAY_LEN(more); i++)
        (void)dlopen(more[i], RTLD_NOW);
    segment s = own_code();
    (void)take_code_of((uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "__libc_start_main"));
    others -= pass_over_checks(s);
    CHECK(num_code >= others);
    for (uint32_t i = 0; i < others; i++)
        for (int again = 0; again < 3; again++) /* which takes no more than once does */
            pass_over(again < 2 ? code[i].start : code[i].end - 1);
    pass_over(s.start);
    return !begins_in(s);
}

static int the_eighth_is_passed_over(void)
{
    CHECK(is_passed_over_after(7));
    return 0;
}

static int the_ninth_is_not(void)
{
    CHECK(!is_passed_over_after(8));
    return 0;
}

/* Where there is one; but for thread checks, which its cache of a thread outlives. */
static bool is_walked_by_libunwind(void)
{
#ifdef __SANITIZE_THREAD__
    return false;
#else
    return dlopen("libunwind.so.8", RTLD_NOW) != NULL;
#endif
}

/* The library is linked into this program. */
static int prepared_it_passes_itself_over(void)
{
    segment s = own_code();
    pass_over_checks(s);
    CHECK(begins_in(s));
    hb_stack_prepare();
    int before = told_by_libc;
    CHECK(!begins_in(s));
    CHECK((told_by_libc == before) == is_walked_by_libunwind());
    hb_stack_prepare();
    CHECK(!begins_in(s));
    CHECK(walk() > 1 && (is_in(s, pcs[0]) ||
                         is_in(s, pcs[1]))); /* where a call is told, nothing is passed over */
    return 0;
}

static void code_is_passed_over_by_any_address_in_it(void **state)
{
    (void)state;
    assert_int_equal(run_program(passed_over_by_its_first_byte), 0);
    assert_int_equal(run_program(passed_over_by_its_last_byte), 0);
    assert_int_equal(run_program(not_passed_over_from_outside), 0);
}

static void eight_are_passed_over(void **state)
{
    (void)state;
    assert_int_equal(run_program(the_eighth_is_passed_over), 0);
    assert_int_equal(run_program(the_ninth_is_not), 0);
}

static void the_library_itself_is_passed_over(void **state)
{
    (void)state;
    assert_int_equal(run_program(prepared_it_passes_itself_over), 0);
}

int main(int argc, char **argv)
{
    static const program programs[] = {
        PROGRAM(passed_over_by_its_first_byte),
        PROGRAM(passed_over_by_its_last_byte),
        PROGRAM(not_passed_over_from_outside),
        PROGRAM(the_eighth_is_passed_over),
        PROGRAM(the_ninth_is_not),
        PROGRAM(prepared_it_passes_itself_over),
    };
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_asked_once_where_it_runs),
        cmocka_unit_test(a_walk_that_finds_nothing_has_no_frames),
        cmocka_unit_test(a_stack_is_walked_where_the_kernel_does_not_tell),
        cmocka_unit_test(an_alternate_stack_is_walked_where_there_is_room),
        cmocka_unit_test(what_lies_between_two_fibers_is_neithers),
        cmocka_unit_test(the_innermost_frames_of_a_deep_stack_are_told),
        cmocka_unit_test(a_return_address_is_left_out_wherever_it_stands),
        IN_DIR(code_is_passed_over_by_any_address_in_it),
        IN_DIR(eight_are_passed_over),
        IN_DIR(the_library_itself_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
