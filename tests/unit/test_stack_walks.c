/* SPDX-License-Identifier: MIT
 *
 * Which frames of a stack are told: as many as there is room for, without those that are left out,
 * from behind the libraries that are passed over.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include "forks_with_threads.h"
#include "program.h"
#include "record/stack.h"
#include "still_spool.h"

static uint64_t pcs[HB_STACK_MAX];
static int told = -100; /* frames; below -1: as many as there are */
static int told_by_libc;

/* In place of the C library's, also for hipboard. */
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

/* ---- frames that are left out ---- */

static void a_walk_that_finds_nothing_has_no_frames(void **state)
{
    (void)state;
    for (told = -1; told < 2; told++)
        assert_int_equal(walk(), told == 1);
    told = -100;
    assert_true(walk() > 1);
}

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

static int prepared_by_a_session(void)
{
    segment s = own_code();
    hb_spool *spool = still_spool(NULL, 1 << 20);
    pass_over_checks(s);
    end_in_spool(spool, begin_in(spool, 0));
    CHECK(begins_in(s));
    end_in_spool(spool, begin_in(spool, HB_SESSION_STACK));
    CHECK(!begins_in(s));
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
    assert_int_equal(run_program(prepared_by_a_session), 0);
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
        PROGRAM(prepared_by_a_session),
    };
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_that_finds_nothing_has_no_frames),
        cmocka_unit_test(the_innermost_frames_of_a_deep_stack_are_told),
        cmocka_unit_test(a_return_address_is_left_out_wherever_it_stands),
        IN_DIR(code_is_passed_over_by_any_address_in_it),
        IN_DIR(eight_are_passed_over),
        IN_DIR(the_library_itself_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
