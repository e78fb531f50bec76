/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "forks_with_threads.h"
#include "io/out.h"
#include "io/sink_thread.h"

enum { LINES = 100000 / FEWER }; /* several megabytes, so that the thread begins */

/* Counts, and compares with what is written below. */
typedef struct checking_sink {
    hb_sink sink;
    uint64_t bytes, room;
    bool same, elsewhere; /* elsewhere: some came on another thread */
    pthread_t caller;
} checking_sink;

static char byte_at(uint64_t i)
{
    return (char)('a' + i % 23 + (i >> 16) % 3);
}

static hb_result check(hb_sink *sink, const void *data, size_t size)
{
    checking_sink *c = (checking_sink *)sink;
    const char *bytes = data;
    if (c->bytes + size > c->room) return hb_fail(HB_ERROR_IO, "no room for byte %d", 7);
    for (size_t i = 0; i < size; i++)
        c->same = c->same && bytes[i] == byte_at(c->bytes + i);
    c->bytes += size;
    c->elsewhere = c->elsewhere || !pthread_equal(c->caller, pthread_self());
    return HB_OK;
}

static checking_sink checking(uint64_t room)
{
    return (checking_sink){
        .sink = {.write = check}, .room = room, .same = true, .caller = pthread_self()};
}

static uint64_t put_bytes(hb_out *out, uint64_t from, size_t size)
{
    char *bytes = malloc(size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_at(from + i);
    hb_out_bytes(out, bytes, size);
    free(bytes);
    return from + size;
}

/* Also pieces that are longer than a block, which go past it. */
static hb_result write_lines(hb_sink *below, unsigned lines, uint64_t *size)
{
    hb_sink_thread thread;
    hb_out out;
    hb_sink_thread_open(&thread, below);
    assert_int_equal(hb_out_open(&out, &thread.sink), HB_OK);
    *size = 0;
    for (unsigned i = 0; i < lines; i++)
        *size = put_bytes(&out, *size, i % 10000 == 9999 ? 3 * HB_OUT_BLOCK : 100 + i % 50);
    hb_result result = hb_out_finish(&out);
    assert_true(result != HB_OK || out.bytes == *size);
    hb_result passed = hb_sink_thread_close(&thread);
    assert_true(result == HB_OK || passed == result);
    hb_out_free(&out);
    return passed;
}

static void all_comes_in_its_order_by_another_thread(void **state)
{
    (void)state;
    uint64_t size;
    checking_sink sink = checking(UINT64_MAX);
    assert_int_equal(write_lines(&sink.sink, LINES, &size), HB_OK);
    assert_true(sink.same && sink.elsewhere);
    assert_int_equal(sink.bytes, size);
}

static void little_needs_no_thread(void **state)
{
    (void)state;
    uint64_t size;
    checking_sink sink = checking(UINT64_MAX);
    assert_int_equal(write_lines(&sink.sink, 5000, &size), HB_OK);
    assert_true(sink.same && !sink.elsewhere);
    assert_int_equal(sink.bytes, size);
}

/* Wherever it happens, on the caller's thread or the other one, at the end or before. */
static void a_failure_is_told_with_its_text(void **state)
{
    (void)state;
    uint64_t size, all;
    checking_sink whole = checking(UINT64_MAX);
    assert_int_equal(write_lines(&whole.sink, LINES, &all), HB_OK);
    const uint64_t rooms[] = {0, 100000, 1500000, all / 2, all - 1};
    for (size_t i = 0; i < HB_ARRAY_LEN(rooms); i++) {
        checking_sink sink = checking(rooms[i]);
        hb_sink_thread thread;
        hb_out out;
        hb_sink_thread_open(&thread, &sink.sink);
        assert_int_equal(hb_out_open(&out, &thread.sink), HB_OK);
        for (size = 0; size < all;)
            size = put_bytes(&out, size, (size_t)HB_MIN(all - size, (uint64_t)50000));
        hb_result result = hb_out_finish(&out);
        hb_result passed = hb_sink_thread_close(&thread);
        assert_int_equal(result == HB_OK ? passed : result, HB_ERROR_IO);
        assert_string_equal(hb_last_error(), "no room for byte 7");
        assert_true(sink.same && sink.bytes <= rooms[i]);
        hb_out_free(&out);
    }
}

/* As a signal handler may fork amid it: the child has no thread to wait for. */
static void a_forked_child_is_told_and_does_not_wait(void **state)
{
    (void)state;
    uint64_t size = 0;
    checking_sink sink = checking(UINT64_MAX);
    hb_sink_thread thread;
    hb_out out;
    hb_sink_thread_open(&thread, &sink.sink);
    assert_int_equal(hb_out_open(&out, &thread.sink), HB_OK);
    while (size < 3 << 20)
        size = put_bytes(&out, size, 1000);
    pid_t child = fork();
    if (child == 0) {
        hb_out_bytes(&out, "x", 1);
        bool told = hb_out_finish(&out) == HB_ERROR_STATE &&
                    hb_sink_thread_close(&thread) == HB_ERROR_STATE;
        _exit(told ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(hb_out_finish(&out), HB_OK);
    assert_int_equal(hb_sink_thread_close(&thread), HB_OK);
    assert_true(sink.same && sink.bytes == size);
    hb_out_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_comes_in_its_order_by_another_thread),
        cmocka_unit_test(little_needs_no_thread),
        cmocka_unit_test(a_failure_is_told_with_its_text),
        cmocka_unit_test(a_forked_child_is_told_and_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
