/* SPDX-License-Identifier: MIT
 *
 * Chunks that are ready to be recorded into: how many there are, which come first, and that none is
 * two threads' at once.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/pool.h"

/* The machine's setting, as a test has it. */
static struct {
    bool is_played;
    char text[4]; /* "": the file is not there */
} overcommit;

FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

FILE *__wrap_fopen64(const char *path, const char *mode)
{
    if (!overcommit.is_played || strcmp(path, "/proc/sys/vm/overcommit_memory") != 0)
        return __real_fopen64(path, mode);
    return overcommit.text[0] ? fmemopen(overcommit.text, strlen(overcommit.text), "r") : NULL;
}

static void open_pool(hb_chunk_pool *pool, uint32_t max_chunks, uint32_t most_in_file)
{
    assert_int_equal(hb_pool_open(pool, max_chunks, most_in_file), HB_OK);
}

/* So many chunks of a file, which need not be one. */
static void add_in_file(hb_chunk_pool *pool, uint32_t count)
{
    uint32_t from = atomic_load(&pool->in_file) + 1;
    assert_int_equal(
        mprotect(hb_pool_chunk(pool, from), (size_t)count * HB_CHUNK_BYTES, PROT_READ | PROT_WRITE),
        0);
    hb_pool_add_in_file(pool, count);
}

/* Whether a byte can be read: the kernel says so, where the program would die. */
static bool is_readable(const char *at)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    bool is = write(ends[1], at, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return is;
}

static void assert_counts(const hb_chunk_pool *pool, uint32_t ready_in_file, uint32_t in_memory)
{
    assert_int_equal(atomic_load(&pool->ready_in_file), ready_in_file);
    assert_int_equal(atomic_load(&pool->in_memory), in_memory);
}

/* ---- how large it is ---- */

/* There is no chunk 0, so that there is one more; and half of them stay for memory. */
static void a_pool_has_as_many_chunks_as_are_asked_for(void **state)
{
    (void)state;
    static const struct {
        uint32_t asked, asked_in_file, chunks, in_file;
    } sizes[] = {
        {100, 20, 100, 20}, {100, 0, 100, 0}, {100, 50, 100, 50}, {100, 80, 100, 50},
        {17, 1, 17, 1},     {16, 9, 16, 8},   {15, 2, 16, 2},     {0, 0, 16, 0},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++) {
        hb_chunk_pool pool;
        open_pool(&pool, sizes[i].asked, sizes[i].asked_in_file);
        assert_int_equal(pool.max_chunks, sizes[i].chunks + 1);
        assert_int_equal(pool.first_in_memory, sizes[i].in_file + 1);
        assert_int_equal(hb_pool_end(&pool), sizes[i].in_file + 1);
        assert_int_equal(atomic_load(&pool.in_file), 0);
        assert_counts(&pool, 0, 0);
        hb_pool_close(&pool);
        assert_null(pool.base);
        assert_null(pool.lists);
    }
}

static void only_chunks_in_memory_are_there_at_once(void **state)
{
    (void)state;
    hb_chunk_pool pool;
    open_pool(&pool, 40, 10);
    for (uint32_t i = 0; i < pool.max_chunks; i++) {
        char *chunk = (char *)hb_pool_chunk(&pool, i);
        assert_int_equal(is_readable(chunk), i > 10);
        assert_int_equal(is_readable(chunk + HB_CHUNK_BYTES - 1), i > 10);
        if (i <= 10) continue;
        chunk[0] = chunk[HB_CHUNK_BYTES - 1] = 1;
    }
    hb_pool_close(&pool);
}

/* Wherever the kernel has room: each next time a page lower. */
static void chunks_lie_at_multiples_of_their_size(void **state)
{
    (void)state;
    enum { PLACES = 17 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *pages[PLACES];
    for (int i = 0; i < PLACES; i++) {
        hb_chunk_pool pool;
        open_pool(&pool, 20, 0); /* larger ones are laid at multiples of 2 MiB by newer kernels */
        assert_int_equal((uintptr_t)pool.base % HB_CHUNK_BYTES, 0);
        for (uint32_t chunk = 1; chunk < pool.max_chunks; chunk++)
            memset(hb_pool_chunk(&pool, chunk), 1, HB_CHUNK_BYTES);
        hb_pool_close(&pool);
        pages[i] = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(pages[i] != MAP_FAILED);
    }
    for (int i = 0; i < PLACES; i++)
        munmap(pages[i], page);
}

static int next_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

static void opening_leaves_no_descriptor(void **state)
{
    (void)state;
    hb_chunk_pool pool;
    int before = next_descriptor();
    open_pool(&pool, 20, 0);
    assert_int_equal(next_descriptor(), before);
    hb_pool_close(&pool);
}

/* Each chunk has its own entry in each list: were they shared, one would change another's. */
static void every_chunk_has_lists_entries_of_its_own(void **state)
{
    (void)state;
    enum { CHUNKS = 1000 };
    hb_chunk_pool pool;
    open_pool(&pool, CHUNKS, 0);
    for (uint32_t i = 0; i <= CHUNKS; i++) {
        atomic_store(&pool.next[i], i);
        atomic_store(&pool.state[i], CHUNKS + i);
        atomic_store(&pool.uses[i], (uint16_t)(3 * i));
    }
    for (uint32_t i = 0; i <= CHUNKS; i++) {
        assert_int_equal(atomic_load(&pool.next[i]), i);
        assert_int_equal(atomic_load(&pool.state[i]), CHUNKS + i);
        assert_int_equal(atomic_load(&pool.uses[i]), (uint16_t)(3 * i));
    }
    hb_pool_close(&pool);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static uint64_t address_space(void)
{
    unsigned long long pages = 0;
    FILE *f = __real_fopen64("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%llu", &pages), 1);
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What was mapped to begin where a chunk can goes at once, and all else at the end. */
static void a_pool_takes_the_address_space_of_its_chunks_and_gives_it_back(void **state)
{
    (void)state;
    enum { CHUNKS = 50 };
    uint64_t before = 0;
    for (int round = 0; round < 3; round++) {
        hb_chunk_pool pool;
        if (round) assert_int_equal(address_space(), before);
        before = address_space();
        open_pool(&pool, CHUNKS, 10);
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        assert_int_equal(pool.mapped, (CHUNKS + 1) * HB_CHUNK_BYTES);
        assert_int_equal(pool.lists_bytes, (CHUNKS + 1) * 10);
        if (round)
            assert_int_equal(address_space() - before,
                             pool.mapped + (pool.lists_bytes + page - 1) / page * page);
        hb_pool_close(&pool);
    }
}

/* In a child, whose limits are its own: the largest that fits, halved as often as it has to be. */
static void open_in_little_space(void)
{
    enum { ROOM = 48 << 20, ASKED = (64 << 20) / HB_CHUNK_BYTES };
    hb_chunk_pool pool;
    uint64_t now = address_space();
    if (setrlimit(RLIMIT_AS, &(struct rlimit){now + ROOM, now + ROOM}) != 0) _exit(1);
    if (hb_pool_open(&pool, ASKED, ASKED / 3) != HB_OK) _exit(2);
    if (pool.max_chunks != ASKED / 2 + 1 || pool.first_in_memory != ASKED / 4 + 1) _exit(3);
    hb_chunk_pool other; /* there is room for some of the rest */
    if (hb_pool_open(&other, ASKED, 0) != HB_OK || other.max_chunks != ASKED / 8 + 1) _exit(4);
    hb_pool_close(&other);
    hb_pool_close(&pool);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){now + (1 << 20), now + (1 << 20)}) != 0) _exit(5);
    if (hb_pool_open(&pool, ASKED, 0) != HB_ERROR_NO_MEMORY || pool.base) _exit(6);
    if (!strstr(hb_last_error(), "no memory for records: Cannot allocate memory")) _exit(7);
    _exit(0);
}

/* There is room for the chunks, but not for the lists. */
static void open_without_room_for_lists(void)
{
    enum { ASKED = 10000 };
    hb_chunk_pool pool;
    uint64_t most = address_space() + (ASKED + 2) * (uint64_t)HB_CHUNK_BYTES + (16 << 10);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) != 0) _exit(1);
    if (hb_pool_open(&pool, ASKED, 0) != HB_OK) _exit(2);
    if (pool.max_chunks != ASKED / 2 + 1 || hb_pool_take(&pool) != 1) _exit(3);
    _exit(0);
}

static void assert_exits(void (*program)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) program();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void where_there_is_less_it_is_smaller(void **state)
{
    (void)state;
    assert_exits(open_in_little_space);
    assert_exits(open_without_room_for_lists);
}
#endif

static void where_all_memory_is_committed_it_takes_little(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        uint32_t asked, chunks;
    } machines[] = {
        {"0\n", 5000, 5000}, {"1\n", 5000, 5000}, {"2\n", 5000, 1024},
        {"2\n", 1000, 1000}, {"", 5000, 5000},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(machines); i++) {
        hb_chunk_pool pool;
        overcommit.is_played = true;
        snprintf(overcommit.text, sizeof overcommit.text, "%s", machines[i].mode);
        open_pool(&pool, machines[i].asked, 0);
        overcommit.is_played = false;
        assert_int_equal(pool.max_chunks, machines[i].chunks + 1);
        hb_pool_close(&pool);
    }
}

/* ---- taking and giving ---- */

static void chunks_of_the_file_come_first_in_their_order(void **state)
{
    (void)state;
    hb_chunk_pool pool;
    open_pool(&pool, 40, 10);
    assert_int_equal(hb_pool_take_in_file(&pool), 0);
    add_in_file(&pool, 3);
    assert_int_equal(atomic_load(&pool.in_file), 3);
    assert_counts(&pool, 3, 0);
    assert_int_equal(hb_pool_take(&pool), 1);
    assert_int_equal(hb_pool_take_in_file(&pool), 2);
    assert_counts(&pool, 1, 0);
    assert_int_equal(hb_pool_take(&pool), 3);
    assert_int_equal(hb_pool_take_in_file(&pool), 0);
    assert_counts(&pool, 0, 0);
    assert_int_equal(hb_pool_take(&pool), 11); /* the first in memory */
    assert_int_equal(hb_pool_take(&pool), 12);
    assert_int_equal(hb_pool_end(&pool), 13);
    assert_counts(&pool, 0, 2);
    add_in_file(&pool, 2); /* behind the others */
    assert_int_equal(atomic_load(&pool.in_file), 5);
    assert_counts(&pool, 2, 2);
    assert_int_equal(hb_pool_take(&pool), 4);
    assert_int_equal(hb_pool_take(&pool), 5);
    assert_int_equal(hb_pool_take(&pool), 13);
    hb_pool_close(&pool);
}

/* Each goes where it came from, and the last one comes first. */
static void what_is_given_back_is_taken_again(void **state)
{
    (void)state;
    hb_chunk_pool pool;
    open_pool(&pool, 40, 10);
    add_in_file(&pool, 10);
    for (uint32_t i = 1; i <= 13; i++)
        assert_int_equal(hb_pool_take(&pool), i);
    assert_counts(&pool, 0, 3);
    hb_pool_give(&pool, 11);
    assert_counts(&pool, 0, 2);
    hb_pool_give(&pool, 13);
    hb_pool_give(&pool, 1);
    hb_pool_give(&pool, 10); /* the last of the file */
    assert_counts(&pool, 2, 1);
    assert_int_equal(hb_pool_take_in_file(&pool), 10);
    assert_counts(&pool, 1, 1);
    assert_int_equal(hb_pool_take(&pool), 1);
    assert_int_equal(hb_pool_take_in_file(&pool), 0);
    assert_counts(&pool, 0, 1);
    assert_int_equal(hb_pool_take(&pool), 13);
    assert_int_equal(hb_pool_take(&pool), 11);
    assert_int_equal(hb_pool_take(&pool), 14);
    assert_counts(&pool, 0, 4);
    hb_pool_close(&pool);
}

/* Which its state, its kind and the number of its uses tell. */
static void a_chunk_says_that_it_is_taken_and_that_it_is_ready(void **state)
{
    (void)state;
    hb_chunk_pool pool;
    uint32_t states[2];
    open_pool(&pool, 40, 1);
    add_in_file(&pool, 1);
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 1; i <= 2; i++) {                 /* of the file, and in memory */
            hb_pool_chunk(&pool, i)->kind = HB_CHUNK_NAMES; /* as it was left */
            assert_int_equal(
                round == 3 && i == 1 ? hb_pool_take_in_file(&pool) : hb_pool_take(&pool), i);
            assert_int_equal(hb_pool_chunk(&pool, i)->kind, HB_CHUNK_FREE);
            assert_int_equal(atomic_load(&pool.uses[i]), round + 1);
            states[i - 1] = atomic_load(&pool.state[i]);
            assert_true(states[i - 1] >= HB_CHUNK_TAKEN);
            hb_pool_chunk(&pool, i)->kind = HB_CHUNK_EVENTS;
        }
        assert_int_not_equal(states[0], states[1]);
        for (uint32_t i = 1; i <= 2; i++) {
            hb_pool_give(&pool, i);
            assert_int_equal(hb_pool_chunk(&pool, i)->kind, HB_CHUNK_FREE);
            assert_int_equal(atomic_load(&pool.state[i]), HB_CHUNK_READY);
            assert_int_equal(atomic_load(&pool.uses[i]), round + 1);
        }
    }
    assert_int_equal(hb_pool_take(&pool), 1);
    assert_true(atomic_load(&pool.state[1]) > HB_MAX(states[0], states[1]));
    hb_pool_close(&pool);
}

/* So that who was interrupted between looking at a stack and changing it sees that others did. */
static void each_change_of_a_stack_is_counted(void **state)
{
    (void)state;
    hb_chunk_pool pool;
    open_pool(&pool, 40, 2);
    assert_int_equal(hb_pool_take_in_file(&pool), 0);
    assert_true(atomic_load(&pool.file_stack) == 0); /* of an empty one nothing was taken */
    add_in_file(&pool, 2);
    const uint64_t begin = atomic_load(&pool.file_stack);
    assert_int_equal((uint32_t)begin, 1);
    assert_int_equal(begin >> 32, 2);
    assert_int_equal(hb_pool_take(&pool), 1);
    assert_true(atomic_load(&pool.file_stack) == (UINT64_C(3) << 32 | 2));
    hb_pool_give(&pool, 1);
    assert_true(atomic_load(&pool.file_stack) == (UINT64_C(4) << 32 | 1));
    assert_true(atomic_load(&pool.memory_stack) == 0);
    hb_pool_close(&pool);
}

/* ---- limits ---- */

/* What the file and the log have of the limit is not taken of memory; refusals are not counted. */
static void no_more_memory_is_taken_than_the_limit_leaves(void **state)
{
    (void)state;
    hb_chunk_pool pool;
    open_pool(&pool, 40, 10);
    add_in_file(&pool, 4);
    atomic_store(&pool.elsewhere, 20);
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(hb_pool_take(&pool), i);
    for (uint32_t i = 0; i < 40 - 20 - 4; i++)
        assert_int_equal(hb_pool_take(&pool), 11 + i);
    for (int tries = 0; tries < 3; tries++) {
        assert_int_equal(hb_pool_take(&pool), 0);
        assert_counts(&pool, 0, 16);
    }
    atomic_store(&pool.elsewhere, 19);
    assert_int_equal(hb_pool_take(&pool), 27);
    assert_int_equal(hb_pool_take(&pool), 0);
    hb_pool_give(&pool, 12);
    assert_int_equal(hb_pool_take(&pool), 12);
    assert_int_equal(hb_pool_take(&pool), 0);
    assert_counts(&pool, 0, 17);
    hb_pool_close(&pool);
}

static void what_there_is_not_is_not_taken(void **state)
{
    (void)state;
    hb_chunk_pool pool;
    open_pool(&pool, 16, 8);
    for (uint32_t i = 9; i <= 16; i++)
        assert_int_equal(hb_pool_take(&pool), i);
    for (int tries = 0; tries < 3; tries++) {
        assert_int_equal(hb_pool_take(&pool), 0);
        assert_counts(&pool, 0, 8);
    }
    assert_int_equal(hb_pool_end(&pool), 17);
    hb_pool_close(&pool);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 3000, HELD = 6 };

static struct {
    hb_chunk_pool pool;
    _Atomic uint32_t owner[64]; /* of each chunk; 0: none */
    _Atomic uint32_t shared;    /* chunks that two threads had at once */
} many;

static void *take_and_give(void *arg)
{
    uint32_t me = *(const uint32_t *)arg, held[HELD] = {0};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t *at = &held[i * me % HELD];
        if (*at) {
            if (atomic_exchange(&many.owner[*at], 0) != me) atomic_fetch_add(&many.shared, 1);
            hb_pool_give(&many.pool, *at);
        }
        *at = i % 3 ? hb_pool_take(&many.pool) : hb_pool_take_in_file(&many.pool);
        if (*at && atomic_exchange(&many.owner[*at], me)) atomic_fetch_add(&many.shared, 1);
    }
    for (int i = 0; i < HELD; i++) {
        if (!held[i]) continue;
        atomic_store(&many.owner[held[i]], 0);
        hb_pool_give(&many.pool, held[i]);
    }
    return NULL;
}

static void no_chunk_is_two_threads_at_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    static uint32_t numbers[THREADS];
    open_pool(&many.pool, 40, 10);
    add_in_file(&many.pool, 10);
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &numbers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&many.shared), 0);
    assert_counts(&many.pool, 10, 0); /* all are back */
    for (uint32_t i = 0; i < 40; i++)
        assert_int_not_equal(hb_pool_take(&many.pool), 0);
    assert_int_equal(hb_pool_take(&many.pool), 0);
    hb_pool_close(&many.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_has_as_many_chunks_as_are_asked_for),
        cmocka_unit_test(only_chunks_in_memory_are_there_at_once),
        cmocka_unit_test(chunks_lie_at_multiples_of_their_size),
        cmocka_unit_test(opening_leaves_no_descriptor),
        cmocka_unit_test(every_chunk_has_lists_entries_of_its_own),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(a_pool_takes_the_address_space_of_its_chunks_and_gives_it_back),
        cmocka_unit_test(where_there_is_less_it_is_smaller),
#endif
        cmocka_unit_test(where_all_memory_is_committed_it_takes_little),
        cmocka_unit_test(chunks_of_the_file_come_first_in_their_order),
        cmocka_unit_test(what_is_given_back_is_taken_again),
        cmocka_unit_test(a_chunk_says_that_it_is_taken_and_that_it_is_ready),
        cmocka_unit_test(each_change_of_a_stack_is_counted),
        cmocka_unit_test(no_more_memory_is_taken_than_the_limit_leaves),
        cmocka_unit_test(what_there_is_not_is_not_taken),
        cmocka_unit_test(no_chunk_is_two_threads_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
