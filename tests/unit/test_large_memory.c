/* SPDX-License-Identifier: MIT
 *
 * Memory that lies in temporary files above a limit: it is memory like any other, also where the
 * disk is full, in forked children, and while threads use it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/large_memory.h"
#include "base/memory_share.h"
#include "program.h"
#include "trace/trace.h"

enum { NOT_HERE = 77, MIB = 1 << 20 };

static void allow(const char *limit)
{
    CHECK(setenv("HIPBOARD_MEMORY", limit, 1) == 0);
    CHECK(hb_large_use_disk() == HB_OK);
}

static void fill(uint32_t *p, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes / sizeof *p; i++)
        p[i] = seed + (uint32_t)i;
}

static bool is_filled(const uint32_t *p, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes / sizeof *p; i++)
        if (p[i] != seed + (uint32_t)i) return false;
    return true;
}

static bool is_zero(const char *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (p[i]) return false;
    return true;
}

/* Of temporary files that a process of this user has open or mapped without a name. */
static int count_mapped(void)
{
    char line[600];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "(deleted)") != NULL;
    fclose(maps);
    return count;
}

/* ---- what is over the limit ---- */

static int lay_aside(void)
{
    uint32_t *p[12];
    int before = count_mapped();
    allow("4M");
    for (uint32_t i = 0; i < HB_ARRAY_LEN(p); i++) {
        p[i] = hb_large_alloc(MIB);
        CHECK(p[i] && is_zero((char *)p[i], 0, MIB));
        CHECK(hb_large_is_in_memory(p[i], MIB) == (i < 3));
        fill(p[i], MIB, i);
    }
    CHECK(count_mapped() == before + 9);
    for (uint32_t i = 0; i < HB_ARRAY_LEN(p); i++)
        CHECK(is_filled(p[i], MIB, i));
    for (uint32_t i = 0; i < HB_ARRAY_LEN(p); i++)
        hb_large_free(p[i], MIB);
    CHECK(count_mapped() == before);
    void *again = hb_large_alloc(MIB); /* the limit counts what there is */
    CHECK(hb_large_is_in_memory(again, MIB));
    hb_large_free(again, MIB);
    return 0;
}

/* A hash table in a file would have a page mapped for each name. Of a limit that was asked for a
 * quarter is kept for it, and it is not exceeded. */
static int keep_scattered(void)
{
    allow("8M");
    void *ordinary = hb_large_alloc(6 * MIB), *scattered = hb_large_alloc_scattered(2 * MIB);
    CHECK(hb_large_is_in_memory(ordinary, 6 * MIB));
    CHECK(hb_large_is_in_memory(scattered, 2 * MIB) && is_zero(scattered, 0, 2 * MIB));
    uint32_t *aside = hb_large_alloc_scattered(MIB);
    CHECK(aside && !hb_large_is_in_memory(aside, MIB));
    fill(aside, MIB, 3);
    CHECK(is_filled(aside, MIB, 3));
    hb_large_free(aside, MIB);
    hb_large_free(ordinary, 6 * MIB);
    hb_large_free(scattered, 2 * MIB);
    scattered = hb_large_alloc_scattered(8 * MIB);
    CHECK(hb_large_is_in_memory(scattered, 8 * MIB));
    hb_large_free(scattered, 8 * MIB);
    return 0;
}

/* Nobody asked for a limit: tables may have more than is usual, and what is ordinary makes room. */
static int keep_scattered_as_usual(void)
{
    enum { MORE = 400 * MIB };
    unsetenv("HIPBOARD_MEMORY");
    CHECK(hb_large_use_disk() == HB_OK);
    if (hb_memory_share() < 2 * (size_t)MORE) return NOT_HERE;
    void *table = hb_large_alloc_scattered(MORE), *more = hb_large_alloc_scattered(MORE);
    CHECK(hb_large_is_in_memory(table, MORE) && hb_large_is_in_memory(more, MORE));
    void *ordinary = hb_large_alloc(MIB);
    CHECK(ordinary && !hb_large_is_in_memory(ordinary, MIB));
    hb_large_free(table, MORE);
    hb_large_free(more, MORE);
    hb_large_free(ordinary, MIB);
    return 0;
}

static int misspell(void)
{
    CHECK(setenv("HIPBOARD_MEMORY", "much", 1) == 0);
    CHECK(hb_large_use_disk() == HB_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(hb_last_error(), "HIPBOARD_MEMORY=much: expected bytes"));
    return 0;
}

static void a_limit_that_is_no_size_is_refused(void **state)
{
    (void)state;
    assert_int_equal(run_program(misspell), 0);
}

static void what_is_over_the_limit_lies_in_files_without_names(void **state)
{
    (void)state;
    assert_int_equal(run_program(lay_aside), 0);
}

static void tables_stay_in_memory(void **state)
{
    (void)state;
    assert_int_equal(run_program(keep_scattered), 0);
    int status = run_program(keep_scattered_as_usual);
    assert_true(status == 0 || status == NOT_HERE);
}

/* From the C library's to memory to files, and what is new is zeroed. */
static int grow_on(void)
{
    size_t size = 1000;
    allow("8M");
    uint32_t *p = hb_large_grow(NULL, 0, size);
    fill(p, size, 5);
    for (size_t larger = size * 2; larger < 40 * MIB; larger *= 2) {
        p = hb_large_grow(p, size, larger);
        CHECK(p && is_filled(p, size, 5) && is_zero((char *)p, size, larger));
        fill(p, larger, 5);
        size = larger;
    }
    CHECK(!hb_large_is_in_memory(p, size));
    hb_large_free(p, size);
    return 0;
}

static void memory_grows_into_files(void **state)
{
    (void)state;
    assert_int_equal(run_program(grow_on), 0);
}

/* ---- little of it is resident ---- */

static size_t peak_resident(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (size_t)usage.ru_maxrss * 1024;
}

/* One piece is as much as the others may be: it is the thread that lays their pages aside. */
static int read_all(void)
{
    enum { PIECES = 48, SIZE = 8 * MIB };
    uint32_t *p[PIECES];
    size_t before = peak_resident();
    allow("1M");
    for (uint32_t i = 0; i < PIECES; i++) {
        CHECK((p[i] = hb_large_alloc(SIZE)) != NULL);
        fill(p[i], SIZE, i);
    }
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < PIECES; i++)
            CHECK(is_filled(p[i], SIZE, i));
    CHECK(peak_resident() < before + PIECES * SIZE / 2);
    for (uint32_t i = 0; i < PIECES; i++)
        hb_large_free(p[i], SIZE);
    return 0;
}

static void little_of_what_lies_in_files_is_resident(void **state)
{
    (void)state;
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
    skip(); /* what they know of each byte is resident */
#endif
    /* A thread that the machine does not let run lays nothing aside: then it is tried again. */
    int tries = 1;
    while (run_program(read_all) != 0 && tries < 5)
        tries++;
    assert_in_range(tries, 1, 4);
}

/* ---- no room ---- */

static int exceed_a_limit_of_files(void)
{
    char text[256];
    struct rlimit limit = {MIB, MIB};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    allow("4M");
    void *memory = hb_large_alloc(3 * MIB);
    CHECK(memory && !hb_large_alloc(2 * MIB)); /* and no signal */
    CHECK(strstr(hb_large_refusal(text), "TMPDIR"));
    CHECK(strstr(hb_large_refusal(text), "File too large"));
    hb_arena arena = {0};
    if (hb_arena_try(&arena)) hb_arena_alloc(&arena, 2 * MIB);
    CHECK(hb_arena_outcome(&arena) == HB_ERROR_NO_MEMORY);
    CHECK(strstr(hb_last_error(), "HIPBOARD_MEMORY"));
    hb_arena_free(&arena);
    hb_large_free(memory, 3 * MIB);
    CHECK((memory = hb_large_alloc(3 * MIB)) != NULL);
    hb_large_free(memory, 3 * MIB);
    return 0;
}

/* Nobody asked for a limit: then memory is better than an error. */
static int do_without_a_disk(void)
{
    enum { PIECES = 80, SIZE = 8 * MIB };
    void *p[PIECES];
    struct rlimit limit = {MIB, MIB};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    unsetenv("HIPBOARD_MEMORY");
    CHECK(hb_large_use_disk() == HB_OK);
    for (int i = 0; i < PIECES; i++) /* none is written to */
        CHECK((p[i] = hb_large_alloc(SIZE)) != NULL);
    CHECK(hb_large_is_in_memory(p[PIECES - 1], SIZE));
    for (int i = 0; i < PIECES; i++)
        hb_large_free(p[i], SIZE);
    return 0;
}

static int fill_a_disk(void)
{
    char text[256];
    void *p[8];
    int n = 0;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/tmp", "tmpfs", 0, "size=4m") != 0 ||
        mount("none", "/var/tmp", "tmpfs", 0, "size=4m") != 0)
        return NOT_HERE;
    CHECK(setenv("TMPDIR", "/nowhere", 1) == 0);
    allow("1M");
    while (n < 8 && (p[n] = hb_large_alloc(3 * MIB)) != NULL) {
        fill(p[n], 3 * MIB, 0); /* all of it is there */
        n++;
    }
    CHECK(n == 2 && strstr(hb_large_refusal(text), "No space left on device"));
    while (n > 0)
        hb_large_free(p[--n], 3 * MIB);
    CHECK((p[0] = hb_large_alloc(3 * MIB)) != NULL); /* there is room again */
    hb_large_free(p[0], 3 * MIB);
    return 0;
}

static void what_finds_no_room_is_told_or_in_memory(void **state)
{
    (void)state;
    assert_int_equal(run_program(exceed_a_limit_of_files), 0);
    assert_int_equal(run_program(do_without_a_disk), 0);
}

static void a_full_disk_is_told_and_ends_nobody(void **state)
{
    (void)state;
    int status = run_program(fill_a_disk);
    if (status == NOT_HERE) skip();
    assert_int_equal(status, 0);
}

/* ---- forks and threads ---- */

static int child_goes_on(uint32_t *mine)
{
    bool read = is_filled(mine, 2 * MIB, 7);
    uint32_t *own = hb_large_alloc(2 * MIB);
    if (!read || !own) return 1;
    fill(own, 2 * MIB, 9);
    hb_large_free(mine, 2 * MIB);
    bool kept = is_filled(own, 2 * MIB, 9);
    hb_large_free(own, 2 * MIB);
    return kept ? 0 : 2;
}

static int fork_amid(void)
{
    int status;
    allow("1M");
    uint32_t *p = hb_large_alloc(2 * MIB);
    fill(p, 2 * MIB, 7);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0) _exit(child_goes_on(p));
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    CHECK(is_filled(p, 2 * MIB, 7)); /* what a child gives back is its own */
    hb_large_free(p, 2 * MIB);
    return 0;
}

static _Atomic bool over;

static void *come_and_go(void *arg)
{
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    while (!over) {
        uint32_t *p = hb_large_alloc(MIB);
        CHECK(p);
        fill(p, MIB, seed);
        p = hb_large_grow(p, MIB, 2 * MIB);
        CHECK(p && is_filled(p, MIB, seed));
        hb_large_free(p, 2 * MIB);
    }
    return NULL;
}

/* A child finds the lock free, whoever had it at the fork. */
static int fork_among_threads(void)
{
    pthread_t threads[3];
    int status;
    allow("1M");
    for (uintptr_t i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, come_and_go, (void *)i) == 0);
    for (int i = 0; i < 50; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            void *p = hb_large_alloc(MIB);
            hb_large_free(p, MIB);
            _exit(p == NULL);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    over = true;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}

static void forked_children_have_memory_of_their_own(void **state)
{
    (void)state;
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
    skip(); /* they stop children that start threads, or hold a lock of theirs at a fork */
#endif
    assert_int_equal(run_program(fork_amid), 0);
    assert_int_equal(run_program(fork_among_threads), 0);
}

/* ---- those who use it ---- */

static int use_containers(void)
{
    enum { N = 700000 };
    allow("1M");
    hb_arena arena = {0};
    hb_dict dict = {0};
    hb_trace trace;
    CHECK(hb_trace_init(&trace));
    if (hb_arena_try(&arena)) {
        for (uint32_t i = 0; i < N; i++)
            hb_dict_set(&arena, &dict, (uint64_t)i * 3, i);
        for (uint32_t i = 0; i < N; i++)
            CHECK(hb_dict_get(&dict, (uint64_t)i * 3)->value == i);
    }
    CHECK(hb_arena_outcome(&arena) == HB_OK && arena.in_memory < 4 * MIB);
    for (uint32_t i = 0; i < N; i++) {
        char name[16];
        int size = snprintf(name, sizeof name, "%u", i);
        hb_row *row = hb_column_push(&trace.rows);
        CHECK(row);
        row->name = hb_texts_add(&trace.strings, name, (size_t)size);
    }
    for (uint32_t i = 0; i < N; i++)
        CHECK(atoi(hb_trace_text(&trace, hb_trace_row(&trace, i)->name).s) == (int)i);
    size_t block = HB_COLUMN_BLOCK * sizeof(hb_row); /* small where memory is checked: in memory */
    size_t rows_in_memory = block < MIB ? block * trace.rows.num_blocks : 0;
    CHECK(hb_trace_memory_bytes(&trace) < 20 * MIB + rows_in_memory);
    CHECK(hb_trace_bytes(&trace) > 50 * MIB);
    hb_trace_free(&trace);
    hb_arena_free(&arena);
    return 0;
}

static void tables_of_a_trace_lie_in_files(void **state)
{
    (void)state;
    assert_int_equal(run_program(use_containers), 0);
}

static const program programs[] = {
    PROGRAM(lay_aside),
    PROGRAM(keep_scattered),
    PROGRAM(keep_scattered_as_usual),
    PROGRAM(misspell),
    PROGRAM(grow_on),
    PROGRAM(read_all),
    PROGRAM(exceed_a_limit_of_files),
    PROGRAM(do_without_a_disk),
    PROGRAM(fill_a_disk),
    PROGRAM(fork_amid),
    PROGRAM(fork_among_threads),
    PROGRAM(use_containers),
};

int main(int argc, char **argv)
{
    int status;
    if (argc > 1 && is_program(argv, programs, HB_ARRAY_LEN(programs), &status)) return status;
    const struct CMUnitTest tests[] = {
        IN_DIR(what_is_over_the_limit_lies_in_files_without_names),
        IN_DIR(tables_stay_in_memory),
        IN_DIR(a_limit_that_is_no_size_is_refused),
        IN_DIR(memory_grows_into_files),
        IN_DIR(little_of_what_lies_in_files_is_resident),
        IN_DIR(what_finds_no_room_is_told_or_in_memory),
        IN_DIR(a_full_disk_is_told_and_ends_nobody),
        IN_DIR(forked_children_have_memory_of_their_own),
        IN_DIR(tables_of_a_trace_lie_in_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
