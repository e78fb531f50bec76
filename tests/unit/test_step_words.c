/* SPDX-License-Identifier: MIT
 *
 * The words that steps are found in: what a program asked its devices for.
 */
#include "steps/step_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"

static hb_trace_event events[64];
static size_t count;
static hb_arena arena;
static hb_texts texts;
static hb_step_words words;

static int begin(void **state)
{
    (void)state;
    count = 0;
    memset(events, 0, sizeof events);
    arena = (hb_arena){0};
    words = (hb_step_words){.arena = &arena, .texts = &texts, .most = 1000};
    return hb_texts_init(&texts) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    hb_arena_free(&arena);
    hb_texts_free(&texts);
    return 0;
}

static hb_str str(const char *text)
{
    return (hb_str){text, (uint32_t)strlen(text)};
}

static hb_trace_event *add(hb_event_kind kind, const char *name, int64_t tid, int64_t from,
                           int64_t to)
{
    hb_trace_event *e = &events[count++];
    *e = (hb_trace_event){
        .kind = kind, .name = str(name), .tid = tid, .device = -1, .start_ns = from, .end_ns = to};
    return e;
}

static hb_trace_event *call(int64_t tid, int64_t from, uint64_t correlation)
{
    hb_trace_event *e = add(HB_EVENT_RUNTIME, "launch", tid, from, from + 5);
    e->correlation = correlation;
    e->runtime.launches = true;
    return e;
}

static hb_trace_event *work(hb_event_kind kind, const char *name, uint64_t correlation, int64_t ns)
{
    hb_trace_event *e = add(kind, name, 7, 10000, 10000 + ns);
    e->correlation = correlation;
    return e;
}

static void collect(void)
{
    array_source source;
    array_source_init(&source, events, count);
    if (hb_arena_try(&arena)) hb_step_words_collect(&words, &source.source);
    assert_int_equal(hb_arena_outcome(&arena), HB_OK);
}

static void check_text(hb_string_id id, const char *expected)
{
    assert_string_equal(hb_texts_get(&texts, id).s, expected);
}

static void check_word(uint32_t i, int64_t tid, int64_t start, const char *name, int64_t ns)
{
    const hb_step_word *w = &words.items.items[i];
    assert_int_equal(w->tid, tid);
    assert_int_equal(w->start_ns, start);
    check_text(w->name, name);
    assert_int_equal(w->work_ns, ns);
}

/* A graph of twelve kernels, known by its first; a copy from the device; a kernel behind a wait and
 * a loader; one of another thread; and calls that launch nothing, or of which nothing is known. */
static void launches_are_words(void **state)
{
    (void)state;
    hb_trace_event *graph = call(100, 100, 1);
    graph->runtime.stack = str("inner(2): g;outer(1): f;");
    for (int i = 0; i < 12; i++)
        work(HB_EVENT_KERNEL, i ? "later" : "first", 1, 10 + i);
    call(100, 200, 2);
    work(HB_EVENT_MEMCPY, "copy", 2, 7)->copy.kind = "DtoH";
    add(HB_EVENT_SYNC, "wait", 100, 250, 260);
    add(HB_EVENT_USER_ANNOTATION, "enumerate(DataLoader)#L.__next__", 100, 280, 290);
    hb_trace_event *last = call(100, 300, 3);
    last->runtime.stack = str("outer(1): f");
    hb_trace_event *k = work(HB_EVENT_KERNEL, "sized", 3, 30);
    k->kernel.has_grid = true;
    k->kernel.grid[0] = 4;
    call(100, 400, 4);
    work(HB_EVENT_MEMSET, "fill", 4, 3);
    call(50, 350, 5);
    work(HB_EVENT_KERNEL, "sized", 5, 20);
    add(HB_EVENT_SYNC, "wait of another thread", 20, 10, 20);
    add(HB_EVENT_SYNC, "and of one behind it", 70, 10, 20);
    call(100, 500, 6);                           /* of which nothing is known */
    call(100, 600, 3)->runtime.launches = false; /* another call of that number */
    collect();
    assert_true(words.are_launches);
    assert_int_equal(words.items.count, 5);
    check_word(0, 50, 350, "sized", 20);
    check_word(1, 100, 100, "first", 12 * 10 + 66);
    check_word(2, 100, 200, "copy", 7);
    check_word(3, 100, 300, "sized", 30);
    check_word(4, 100, 400, "fill", 3);
    assert_int_equal(words.work_ns, 20 + 186 + 7 + 30 + 3);
    const hb_step_word *w = words.items.items;
    assert_true(w[3].exact != w[3].name && w[0].exact == w[0].name && w[0].name == w[3].name);
    static const bool copies[] = {false, false, true, false, true};
    static const bool waits[] = {false, false, true, true, false};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(w[i].is_copy, copies[i]);
        assert_int_equal(w[i].host_waits, waits[i]);
        assert_int_equal(w[i].loads, i == 3);
        assert_int_equal(w[i].num_frames, i == 1 ? 2 : i == 3 ? 1 : 0);
    }
    check_text((hb_string_id)words.frames.items[w[1].frames], "outer(1): f");
    check_text((hb_string_id)words.frames.items[w[1].frames + 1], "inner(2): g");
    assert_int_equal(words.frames.items[w[3].frames], words.frames.items[w[1].frames]);
    check_text(w[1].stack, "inner(2): g;outer(1): f;");
    hb_word_range busiest = hb_step_words_busiest(&words);
    assert_true(busiest.first == 1 && busiest.end == 5);
    assert_int_equal(hb_step_words_work(&words, (hb_word_range){2, 4}), 37);
}

/* With a kernel less there are too few: the outermost operators, with their shapes. */
static void without_devices_operators_are(void **state)
{
    static const int64_t dims[] = {3, 4};
    static const hb_input input = {.kind = HB_INPUT_TENSOR, .count = 2, .dims = dims};
    (void)state;
    for (int i = 0; i < 11; i++) {
        call(1, 100 + i, (uint64_t)i + 1);
        work(HB_EVENT_KERNEL, "k", (uint64_t)i + 1, 10);
    }
    hb_trace_event *outer = add(HB_EVENT_OP, "outer", 1, 0, 50);
    outer->op.inputs = &input;
    outer->op.num_inputs = 1;
    add(HB_EVENT_OP, "inner", 1, 10, 20);
    add(HB_EVENT_OP, "next", 1, 50, 60)->flags = HB_TEV_COMMUNICATION;
    add(HB_EVENT_USER_ANNOTATION, "range", 1, 61, 69);
    add(HB_EVENT_OP, "last", 1, 70, 75);
    add(HB_EVENT_OP, "other", 2, 20, 30);
    collect();
    assert_false(words.are_launches);
    assert_int_equal(words.items.count, 4);
    check_word(0, 1, 0, "outer", 50);
    check_word(1, 1, 50, "next", 10);
    check_word(2, 1, 70, "last", 5);
    check_word(3, 2, 20, "other", 10);
    check_text(words.items.items[0].exact, "outer 3x4");
    check_text(words.items.items[1].exact, "next");
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(words.items.items[i].host_waits, i == 2);
    hb_word_range busiest = hb_step_words_busiest(&words);
    assert_true(busiest.first == 0 && busiest.end == 3);
}

/* So many kernels, of so many launches. */
static void launch(int kernels, int launches)
{
    for (int i = 0; i < kernels; i++) {
        if (i < launches) call(100, 100 + 10 * i, (uint64_t)i + 1);
        work(HB_EVENT_KERNEL, "k", (uint64_t)(i % launches) + 1, 10);
    }
}

/* A graph's kernels are one word, however many there are. */
static void as_many_words_are_looked_at_as_may_be(void **state)
{
    (void)state;
    words.most = 13;
    launch(40, 13);
    collect();
    assert_false(words.too_many);
    assert_int_equal(words.items.count, 13);
    check_word(0, 100, 100, "k", 40);
    check_word(12, 100, 220, "k", 30);
}

static void more_words_are_told_of(void **state)
{
    (void)state;
    words.most = 13;
    launch(14, 14);
    collect();
    assert_true(words.too_many);
}

/* Calls of one number, which recordings of several processes may have. */
static void more_calls_than_works_are_told_of(void **state)
{
    (void)state;
    words.most = 13;
    launch(13, 13);
    call(200, 100, 13);
    collect();
    assert_true(words.too_many);
}

static void more_operators_are_told_of(void **state)
{
    (void)state;
    words.most = 3;
    for (int i = 0; i < 4; i++) {
        assert_false(words.too_many);
        words.items.count = 0;
        add(HB_EVENT_OP, "op", 1, 100 * i, 100 * i + 50);
        collect();
    }
    assert_true(words.too_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(launches_are_words, begin, end),
        cmocka_unit_test_setup_teardown(without_devices_operators_are, begin, end),
        cmocka_unit_test_setup_teardown(as_many_words_are_looked_at_as_may_be, begin, end),
        cmocka_unit_test_setup_teardown(more_words_are_told_of, begin, end),
        cmocka_unit_test_setup_teardown(more_calls_than_works_are_told_of, begin, end),
        cmocka_unit_test_setup_teardown(more_operators_are_told_of, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
