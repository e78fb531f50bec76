/* SPDX-License-Identifier: MIT
 *
 * What is known of communicators by their handles, which libraries use again, and write at a moment
 * of their own.
 */
#include "operators/communicators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/base.h"

/* ---- a library that answers ---- */

static struct {
    int size, rank, size_fails, rank_fails, asked;
} answers;

static int comm_size(uint64_t handle, int *size)
{
    (void)handle;
    answers.asked++;
    *size = answers.size;
    return answers.size_fails;
}

static int comm_rank(uint64_t handle, int *rank)
{
    (void)handle;
    *rank = answers.rank;
    return answers.rank_fails;
}

static hb_describers library = {.comm_size = comm_size, .comm_rank = comm_rank};

/* ---- by handle ---- */

static void a_handle_that_nobody_told_of_is_made_known(void **state)
{
    (void)state;
    for (uint64_t none = 0; none < 2; none++)
        assert_null(hb_communicator_of(none));
    hb_communicator *c = hb_communicator_of(2);
    assert_non_null(c);
    assert_ptr_equal(hb_communicator_of(2), c);
    assert_ptr_not_equal(hb_communicator_of(3), c);
    assert_true(c->id == 0 && c->size == -1 && c->rank == -1);
    assert_string_equal(c->name, "");
    assert_true(hb_communicator_group(c) == HB_COMM_UNKNOWN); /* nobody else calls it so */
}

static void is_new(const hb_communicator *c, uint64_t id, const char *name)
{
    assert_true(c->id == id && c->size == -1 && c->rank == -1 && !c->has_group && !c->is_whole);
    assert_true(c->collectives == 0 && c->children == 0 && c->told_of == 0);
    assert_true(c->group == HB_COMM_UNKNOWN);
    assert_string_equal(c->name, name);
}

/* As when one is destroyed and another gets its memory; the library need not say that it went. */
static void a_handle_that_is_used_again_begins_anew(void **state)
{
    enum { HANDLE = 0x5000 };
    uint64_t handle = HANDLE;
    (void)state;
    for (int forgotten = 0; forgotten < 2; forgotten++) {
        hb_communicator_joined((uint64_t)(uintptr_t)&handle, 77, "first");
        hb_communicator *c = hb_communicator_of(HANDLE);
        is_new(c, 77, "first");
        answers.size = 4;
        answers.rank = 2;
        hb_communicator_ask(c, &library);
        assert_true(c->size == 4 && c->rank == 2);
        assert_true(hb_communicator_group(c) != HB_COMM_UNKNOWN);
        assert_true(hb_communicator_group(c) == hb_communicator_group(c));
        c->collectives = 5;
        c->children = 3;
        c->told_of = 6;
        if (forgotten) hb_communicator_forget(HANDLE);
        hb_communicator_joined((uint64_t)(uintptr_t)&handle, 78, "second");
        is_new(hb_communicator_of(HANDLE), 78, "second");
        hb_communicator_forget(HANDLE);
    }
    handle = 0;
}

static void what_is_forgotten_is_nobodys(void **state)
{
    uint64_t handle = 0x6000;
    (void)state;
    hb_communicator_joined((uint64_t)(uintptr_t)&handle, 79, "known");
    handle = 0;
    assert_int_equal(hb_communicator_of(0x6000)->id, 79);
    hb_communicator_forget(0x6000);
    assert_int_equal(hb_communicator_of(0x6000)->id, 0);
    hb_communicator_forget(0); /* nothing */
    hb_communicator_forget(1);
    hb_communicator_forget(0x7000);
}

/* ---- in groups ---- */

/* The handle comes behind the call; of 256 that were joined the last is found as is the first. */
static void a_handle_that_comes_later_is_known(void **state)
{
    enum { AT_ONCE = 256 };
    static uint64_t handles[AT_ONCE];
    char name[48];
    (void)state;
    for (uint64_t i = 0; i < AT_ONCE; i++) {
        snprintf(name, sizeof name, "part %d", (int)i);
        hb_communicator_joined((uint64_t)(uintptr_t)&handles[i], 1000 + i, name);
    }
    for (uint64_t i = 0; i < AT_ONCE; i++)
        handles[i] = 0x10000 + 64 * i;
    for (uint64_t i = 0; i < AT_ONCE; i++) {
        snprintf(name, sizeof name, "part %d", (int)i);
        is_new(hb_communicator_of(handles[i]), 1000 + i, name);
    }
    memset(handles, 0, sizeof handles);
}

static void memory_that_is_gone_is_not_looked_at(void **state)
{
    (void)state;
    uint64_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    *page = 0x8000;
    hb_communicator_joined((uint64_t)(uintptr_t)page, 80, "gone");
    hb_communicator_forget(0x8000);
    munmap(page, 4096);
    assert_int_equal(hb_communicator_of(0x8000)->id, 0);
    hb_communicator_joined((uint64_t)(uintptr_t)page, 81, "never there");
    assert_int_equal(hb_communicator_of(0x9000)->id, 0);
}

/* ---- its ranks ---- */

static void job_of(const char *size, const char *rank)
{
    setenv("WORLD_SIZE", size, 1);
    setenv("RANK", rank, 1);
}

/* Where it is the job, its ranks are the job's; without a job nobody knows better. */
static void ranks_are_the_jobs_where_it_has_all(void **state)
{
    static const struct {
        const char *job, *own;
        int size, rank;
        bool whole;
    } cases[] = {
        {"4", "2", 4, 2, true},  {"4", "2", 2, 2, false}, {"4", "2", 8, 2, false},
        {"4", "2", 4, 1, false}, {"", "", 3, 1, true},
    };
    uint64_t handle = 0xa000;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        job_of(cases[i].job, cases[i].own);
        answers.size = cases[i].size;
        answers.rank = cases[i].rank;
        hb_communicator_joined((uint64_t)(uintptr_t)&handle, 82, "job");
        hb_communicator *c = hb_communicator_of(handle);
        hb_communicator_ask(c, &library);
        int64_t last = cases[i].size - 1;
        assert_true(c->size == cases[i].size && c->rank == cases[i].rank);
        assert_int_equal(hb_communicator_rank(c, 0), cases[i].whole ? 0 : -1);
        assert_int_equal(hb_communicator_rank(c, last), cases[i].whole ? last : -1);
        assert_int_equal(hb_communicator_rank(c, last + 1), -1);
        assert_int_equal(hb_communicator_rank(c, -1), -1);
    }
    job_of("", "");
    handle = 0;
}

static void a_library_is_asked_until_it_knows(void **state)
{
    hb_communicator *c = hb_communicator_of(0xb000);
    hb_describers without[] = {{.comm_size = comm_size}, {.comm_rank = comm_rank}};
    (void)state;
    answers.asked = 0;
    for (size_t i = 0; i < HB_ARRAY_LEN(without); i++)
        hb_communicator_ask(c, &without[i]);
    assert_int_equal(answers.asked, 0);
    answers.size = 3;
    answers.rank = 1;
    answers.size_fails = 1;
    assert_true(hb_communicator_ranks(&library, 0xb000) == 0);
    answers.size_fails = 0;
    answers.rank_fails = 1;
    assert_true(hb_communicator_ranks(&library, 0xb000) == 0);
    answers.rank_fails = 0;
    answers.size = 0;
    assert_true(hb_communicator_ranks(&library, 0xb000) == 0);
    answers.size = 3;
    assert_true(hb_communicator_ranks(&library, 0xb000) == 3);
    answers.size = 9;
    assert_true(hb_communicator_ranks(&library, 0xb000) == 3); /* it does not change */
    assert_int_equal(answers.asked, 4);
    assert_true(hb_communicator_ranks(&library, 0) == 0);
}

static void hashes_go_on(void **state)
{
    (void)state;
    uint64_t whole = hb_communicator_hash(0, "abcd", 4);
    /* FNV-1a of 64 bits, as published: "a" and "foobar" */
    assert_true(hb_communicator_hash(0, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hb_communicator_hash(0, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    assert_true(hb_communicator_hash(hb_communicator_hash(0, "ab", 2), "cd", 2) == whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_that_nobody_told_of_is_made_known),
        cmocka_unit_test(a_handle_that_is_used_again_begins_anew),
        cmocka_unit_test(what_is_forgotten_is_nobodys),
        cmocka_unit_test(a_handle_that_comes_later_is_known),
        cmocka_unit_test(memory_that_is_gone_is_not_looked_at),
        cmocka_unit_test(ranks_are_the_jobs_where_it_has_all),
        cmocka_unit_test(a_library_is_asked_until_it_knows),
        cmocka_unit_test(hashes_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
