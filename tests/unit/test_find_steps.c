/* SPDX-License-Identifier: MIT
 *
 * Steps of programs that mark none. The programs here are small ones that keep their own call stack
 * and launch by name; most loop as real ones do, with inner loops of any length, outputs now and
 * then, and validation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "base/base.h"
#include "steps/find_steps.h"

enum { MOST = 200000, DEEPEST = 16, START = 1000000 };

/* A program: its clock, its stack of return addresses, and what it has launched. */
static struct program {
    hb_trace_event events[2 * MOST];
    uint64_t stacks[MOST][DEEPEST];
    size_t count, launches;
    uint64_t stack[DEEPEST];
    unsigned depth, random;
    int64_t now, tid;
    bool with_stacks;
    int64_t begins[MOST]; /* where its steps do, as it says itself */
    size_t steps;
} p;

static void begin_program(bool with_stacks)
{
    p.count = p.launches = p.steps = 0;
    p.depth = 0;
    p.random = 1;
    p.now = START;
    p.tid = 100;
    p.with_stacks = with_stacks;
}

static unsigned randomly(unsigned below)
{
    p.random = p.random * 1664525u + 1013904223u;
    return (p.random >> 8) % below;
}

static hb_trace_event *new_event(void)
{
    assert_true(p.count + 2 < 2 * MOST && p.launches < MOST);
    hb_trace_event *e = &p.events[p.count++];
    *e = (hb_trace_event){.tid = p.tid, .device = -1, .start_ns = p.now, .end_ns = p.now + 2000};
    return e;
}

static void launch_as(const char *name, hb_event_kind kind, const char *copy)
{
    hb_trace_event *call = new_event(), *work = new_event();
    uint64_t *pcs = p.stacks[p.launches++];
    call->kind = HB_EVENT_RUNTIME;
    call->name = HB_STR("hipLaunchKernel");
    call->correlation = work->correlation = p.launches;
    call->runtime.launches = true;
    if (p.with_stacks) {
        for (unsigned i = 0; i < p.depth; i++)
            pcs[i] = p.stack[p.depth - 1 - i];
        call->runtime.pcs = pcs;
        call->runtime.num_pcs = p.depth;
    }
    work->kind = kind;
    work->name = (hb_str){name, (uint32_t)strlen(name)};
    work->device = 0;
    work->tid = 7;
    work->start_ns = p.now + 5000;
    work->end_ns = p.now + 15000;
    if (kind == HB_EVENT_MEMCPY) work->copy.kind = copy;
    p.now += 50000;
}

static void launch(const char *name)
{
    launch_as(name, HB_EVENT_KERNEL, NULL);
}

static void step_begins(void)
{
    p.begins[p.steps++] = p.now;
}

static void wait_for_device(void)
{
    hb_trace_event *e = new_event();
    e->kind = HB_EVENT_SYNC;
    e->name = HB_STR("hipDeviceSynchronize");
    p.now += 10000;
}

/* A call from here: its place is the line that it stands in. */
#define CALL(what)   (p.stack[p.depth++] = __LINE__, (what), p.depth--, (void)0)
#define LAUNCH(name) CALL(launch(name))
#define READ_BACK()  CALL(launch_as("Memcpy DtoH", HB_EVENT_MEMCPY, "DtoH"))

/* ---- programs ---- */

static void layer(bool back)
{
    if (back) {
        LAUNCH("dmlp");
        LAUNCH("dattention");
    } else {
        LAUNCH("qkv");
        LAUNCH("attention");
        LAUNCH("mlp");
    }
}

static void forward(int layers)
{
    LAUNCH("embedding");
    for (int i = 0; i < layers; i++)
        CALL(layer(false));
    LAUNCH("head");
}

static void backward(int layers)
{
    LAUNCH("dhead");
    for (int i = 0; i < layers; i++)
        CALL(layer(true));
}

static void load(int parts)
{
    for (int i = 0; i < parts; i++)
        LAUNCH("load");
}

static void optimizer(int parts)
{
    for (int i = 0; i < parts; i++)
        LAUNCH("adam");
}

static void conjugate_gradients(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        LAUNCH("spmv");
        LAUNCH("dot");
        READ_BACK();
        LAUNCH("axpy");
        LAUNCH("dot");
        LAUNCH("axpy");
    }
}

static void time_step(void)
{
    LAUNCH("boundary");
    LAUNCH("advect");
    CALL(conjugate_gradients(20 + (int)randomly(21)));
    LAUNCH("correct");
}

static void solver(void)
{
    CALL(load(50));
    for (int s = 0; s < 30; s++) {
        step_begins();
        CALL(time_step());
        if (s % 10 == 9) LAUNCH("output");
    }
    LAUNCH("end");
}

static void train(int steps, int layers, bool validates)
{
    for (int s = 0; s < steps; s++) {
        step_begins();
        CALL(forward(layers));
        CALL(backward(layers));
        if (randomly(3) == 0) LAUNCH("log");
        CALL(optimizer(12));
        wait_for_device();
        for (int v = 0; validates && s % 5 == 4 && v < 3; v++)
            CALL(forward(layers));
    }
}

static void training(void)
{
    CALL(load(50));
    CALL(train(20, 24, true));
    LAUNCH("end");
}

static void generate(int tokens)
{
    for (int t = 0; t < tokens; t++) {
        step_begins();
        CALL(forward(24));
        LAUNCH("argmax");
        READ_BACK();
    }
}

static void decoding(void)
{
    CALL(load(50));
    CALL(generate(40));
    LAUNCH("end");
}

static void inference(void)
{
    CALL(load(50));
    CALL(forward(24));
    LAUNCH("end");
}

/* Nothing but its layers, and no word before or after them. */
static void bare_layers(void)
{
    for (int i = 0; i < 24; i++) {
        step_begins();
        CALL(layer(false));
    }
}

/* As compilers put functions into each other. */
static void inlined_solver(void)
{
    for (int s = 0; s < 30; s++) {
        step_begins();
        LAUNCH("boundary");
        LAUNCH("advect");
        for (int i = 20 + (int)randomly(21); i > 0; i--) {
            LAUNCH("spmv");
            LAUNCH("dot");
            READ_BACK();
            LAUNCH("axpy");
        }
        LAUNCH("correct");
        if (s % 10 == 9) LAUNCH("output");
    }
}

static void inlined_output(void)
{
    for (int s = 0; s < 40; s++) {
        step_begins();
        LAUNCH("predict");
        LAUNCH("correct");
        LAUNCH("swap");
        if (s % 4 == 3) LAUNCH("output");
    }
}

static void epochs(void)
{
    for (int e = 0; e < 3; e++) {
        CALL(train(10, 4, false));
        CALL(forward(4));
    }
}

static void recursion(int depth)
{
    LAUNCH("down");
    if (depth) CALL(recursion(depth - 1));
    LAUNCH("up");
}

static void recursive(void)
{
    for (int i = 0; i < 20; i++) {
        step_begins();
        CALL(recursion(1 + i % 9));
        LAUNCH("tail");
    }
}

static void at_random(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    for (int i = 0; i < 600; i++)
        launch(names[randomly(7)]);
}

static void plain_steps(int steps, bool logs, bool shapes, int micro)
{
    for (int s = 0; s < steps; s++) {
        step_begins();
        for (int m = 0; m < micro; m++) {
            CALL(forward(12));
            CALL(backward(12));
            if (shapes) p.events[p.count - 1].kernel.has_grid = true;
            if (shapes) p.events[p.count - 1].kernel.grid[0] = 1 + randomly(100);
        }
        if (logs && randomly(10) < 3) LAUNCH("log");
        CALL(optimizer(6));
        wait_for_device();
    }
}

static void log_now_and_then(void)
{
    plain_steps(20, true, false, 1);
}

static void changing_shapes(void)
{
    plain_steps(20, false, true, 1);
}

static void micro_batches(void)
{
    plain_steps(20, false, false, 4);
}

static void without_waiting(void)
{
    for (int s = 0; s < 20; s++) {
        step_begins();
        CALL(forward(12));
        CALL(backward(12));
        CALL(optimizer(6));
    }
}

static void amid_a_step(void)
{
    CALL(optimizer(6));
    wait_for_device();
    CALL(plain_steps(12, false, false, 1));
    CALL(forward(5));
}

static void two_threads(void)
{
    for (int i = 0; i < 40; i++) {
        p.tid = 100;
        CALL(forward(4));
        wait_for_device();
        p.tid = 200;
        for (int k = 0; k < i % 3; k++)
            launch(k ? "copy" : "augment");
    }
}

static void one_kernel_again_and_again(void)
{
    for (int i = 0; i < 100; i++) {
        LAUNCH("only");
        wait_for_device();
    }
}

/* ---- what is found ---- */

static bool earlier(const hb_trace_event *a, const hb_trace_event *b)
{
    return a->start_ns < b->start_ns;
}

static hb_found_steps found_in(void (*program)(void), bool with_stacks, hb_step_wish wish)
{
    array_source source;
    hb_found_steps found;
    begin_program(with_stacks);
    program();
    assert_true(p.count && !earlier(&p.events[p.count - 1], &p.events[0]));
    array_source_init(&source, p.events, p.count);
    source.info.start_ns = START;
    source.info.stop_ns = p.now + 50000;
    assert_int_equal(hb_find_steps(&source.source, &wish, &found), HB_OK);
    return found;
}

/* Steps lie one behind the other, within the program's time. */
static void check_order(const hb_found_steps *f)
{
    for (size_t i = 0; i < f->count; i++) {
        assert_true(f->items[i].start_ns < f->items[i].end_ns);
        assert_int_equal(f->items[i].number, i);
        if (i) assert_true(f->items[i].start_ns >= f->items[i - 1].end_ns);
    }
    assert_true(f->items[0].start_ns >= START);
    assert_true(f->items[f->count - 1].end_ns <= p.now + 50000);
}

typedef struct acceptance {
    const char *name;
    void (*program)(void);
    size_t by_stacks, by_sequence; /* 1: none, so one for all */
    const char *stacks_rule, *sequence_rule;
    const char *loops; /* level, rounds, launches and first launch of each; * is of the steps */
} acceptance;

#define NOTHING "one for all: nothing tells of steps"

static const acceptance programs[] = {
    {"solver", solver, 30, 1, "30 rounds of a loop, by the call stacks of 99 % of all launches",
     NOTHING, "0 3 5709 boundary; 1 30 5706 boundary*; 2 936 5616 spmv"},
    {"training", training, 20, 1, "20 rounds of a loop, by the call stacks of 99 % of all launches",
     NOTHING,
     "0 4 3596 embedding; 1 20 3596 embedding*; 2 480 1440 qkv; 2 480 960 dmlp; 2 12 888 "
     "embedding; 3 288 864 qkv"},
    {"decoding", decoding, 40, 40,
     "40 rounds of a loop, by the call stacks of 98 % of all launches",
     "what is launched comes again and again, from 'embedding' on (agreement 1.00, 97 % of all)",
     "0 40 3040 embedding*; 1 960 2880 qkv"},
    {"inference", inference, 1, 1, NOTHING, NOTHING, "0 24 72 qkv"},
    {"bare layers", bare_layers, 24, 1,
     "24 rounds of a loop, by the call stacks of 100 % of all launches", NOTHING, "0 24 72 qkv*"},
    {"inlined solver", inlined_solver, 30, 1,
     "30 rounds of a loop, by the call stacks of 100 % of all launches", NOTHING,
     "0 30 3837 boundary*; 1 936 3835 spmv"},
    {"inlined output", inlined_output, 40, 1,
     "40 rounds of a loop, by the call stacks of 100 % of all launches", NOTHING,
     "0 10 130 predict; 1 40 130 predict*"},
    {"epochs", epochs, 30, 1, "30 rounds of a loop, by the call stacks of 96 % of all launches",
     NOTHING,
     "0 3 1102 embedding; 1 30 1060 embedding*; 2 120 360 qkv; 2 120 240 dmlp; 1 12 36 qkv"},
    {"recursive", recursive, 20, 1,
     "20 rounds of a loop, by the call stacks of 100 % of all launches", NOTHING, "0 20 246 down*"},
    {"at random", at_random, 1, 1, NOTHING, NOTHING, ""},
    {"log now and then", log_now_and_then, 20, 20,
     "20 rounds of a loop, by the call stacks of 100 % of all launches",
     "what is launched comes again and again, from 'embedding' on (agreement 0.99, 100 % of all)",
     "0 20 1384 embedding*; 1 240 720 qkv; 1 240 480 dmlp"},
    {"changing shapes", changing_shapes, 20, 20,
     "20 rounds of a loop, by the call stacks of 100 % of all launches",
     "what is launched comes again and again, from 'embedding' on (agreement 0.99, 100 % of all)",
     "0 20 1380 embedding*; 1 240 720 qkv; 1 240 480 dmlp"},
    {"micro batches", micro_batches, 20, 20,
     "20 rounds of a loop, by the call stacks of 100 % of all launches",
     "what is launched comes again and again, from 'embedding' on (agreement 1.00, 100 % of all)",
     "0 20 5160 embedding*; 1 80 5160 embedding; 2 960 2880 qkv; 2 960 1920 dmlp"},
    {"without waiting", without_waiting, 20, 1,
     "20 rounds of a loop, by the call stacks of 100 % of all launches", NOTHING,
     "0 20 1380 embedding*; 1 240 720 qkv; 1 240 480 dmlp"},
    {"amid a step", amid_a_step, 12, 12,
     "12 rounds of a loop, by the call stacks of 97 % of all launches",
     "what is launched comes again and again, from 'embedding' on (agreement 1.00, 97 % of all)",
     "0 12 828 embedding*; 1 144 432 qkv; 1 144 288 dmlp; 0 5 15 qkv"},
    {"one kernel", one_kernel_again_and_again, 1, 1, NOTHING, NOTHING, ""},
};

static void check_loops(const char *json, const char *expected)
{
    char line[1024] = "", name[64], steps[8];
    unsigned level, rounds, launches;
    for (const char *at = json; at && (at = strstr(at, "\"level\"")); at++) {
        size_t n = strlen(line);
        assert_int_equal(sscanf(at, "\"level\": %u, \"rounds\": %u, \"launches\": %u, ", &level,
                                &rounds, &launches),
                         3);
        assert_int_equal(sscanf(strstr(at, "\"steps\""), "\"steps\": %7[a-z]", steps), 1);
        assert_int_equal(sscanf(strstr(at, "\"launch\""), "\"launch\": \"%63[a-z]", name), 1);
        snprintf(line + n, sizeof line - n, "%s%u %u %u %s%s", n ? "; " : "", level, rounds,
                 launches, name, strcmp(steps, "true") == 0 ? "*" : "");
    }
    assert_string_equal(line, expected);
}

static void check(const acceptance *a, bool with_stacks)
{
    hb_found_steps f = found_in(a->program, with_stacks, (hb_step_wish){0});
    size_t expected = with_stacks ? a->by_stacks : a->by_sequence;
    printf("%-18s %-8s %3zu steps: %s\n", a->name, with_stacks ? "stacks" : "sequence", f.count,
           f.rule);
    check_order(&f);
    assert_int_equal(f.count, expected);
    for (size_t i = 0; expected > 1 && i < expected; i++) /* to the nanosecond */
        assert_int_equal(f.items[i].start_ns, p.begins[i]);
    hb_step_method method = with_stacks ? HB_STEPS_STACKS : HB_STEPS_SEQUENCE;
    assert_int_equal(f.method, expected == 1 ? HB_STEPS_ONE : method);
    assert_string_equal(f.rule, with_stacks ? a->stacks_rule : a->sequence_rule);
    check_loops(f.loops, with_stacks ? a->loops : "");
    hb_found_steps_free(&f);
}

static void loops_are_seen_in_call_stacks(void **state)
{
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(programs); i++)
        check(&programs[i], true);
}

static void periods_are_seen_in_the_sequence_or_nothing_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(programs); i++)
        check(&programs[i], false);
}

/* The loader's kernels go on beside, at their own pace. */
static void other_threads_are_passed_over(void **state)
{
    (void)state;
    hb_found_steps f = found_in(two_threads, true, (hb_step_wish){0});
    assert_int_equal(f.count, 40);
    assert_int_equal(f.tid, 100);
    hb_found_steps_free(&f);
}

static void a_loop_can_be_asked_for(void **state)
{
    (void)state;
    hb_found_steps f = found_in(solver, true, (hb_step_wish){.loop = 1});
    assert_int_equal(f.count, 3); /* from output to output */
    assert_int_equal(f.method, HB_STEPS_STACKS);
    assert_string_equal(f.rule,
                        "3 rounds of a loop, by the call stacks of 99 % of all launches, as "
                        "asked for");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(f.items[i].start_ns, p.begins[10 * i]);
    assert_string_equal(
        f.loops,
        "[{\"loop\": 1, \"level\": 0, \"rounds\": 3, \"launches\": 5709, \"coverage\": 0.9911, "
        "\"round_us\": 95102.000, \"steps\": true, \"from\": \"\", \"launch\": \"boundary\"}, "
        "{\"loop\": 2, \"level\": 1, \"rounds\": 30, \"launches\": 5706, \"coverage\": 0.9906, "
        "\"round_us\": 9462.000, \"steps\": false, \"from\": \"\", \"launch\": \"boundary\"}, "
        "{\"loop\": 3, \"level\": 2, \"rounds\": 936, \"launches\": 5616, \"coverage\": 0.9750, "
        "\"round_us\": 252.000, \"steps\": false, \"from\": \"\", \"launch\": \"spmv\"}]");
    hb_found_steps_free(&f);
    f = found_in(solver, true, (hb_step_wish){.loop = 3});
    assert_int_equal(f.count, 936); /* of conjugate gradients */
    hb_found_steps_free(&f);
}

static void a_loop_that_is_not_there_is_said(void **state)
{
    (void)state;
    array_source source;
    hb_found_steps found;
    begin_program(false);
    solver();
    array_source_init(&source, p.events, p.count);
    hb_step_wish wish = {.loop = 1};
    assert_int_equal(hb_find_steps(&source.source, &wish, &found), HB_ERROR_NOT_FOUND);
    assert_non_null(strstr(hb_last_error(), "--with-stack"));
}

static void nothing_is_guessed_where_that_is_not_wanted(void **state)
{
    (void)state;
    hb_found_steps f = found_in(decoding, false, (hb_step_wish){.no_guess = true});
    assert_int_equal(f.count, 1);
    hb_found_steps_free(&f);
}

/* Scopes as a program's libraries open them around calls: HOST events, by start. */
static hb_trace_event *open_scope(const char *name, hb_event_kind kind)
{
    hb_trace_event *e = new_event();
    e->kind = kind;
    e->name = (hb_str){name, (uint32_t)strlen(name)};
    p.now += 1000;
    return e;
}

static void close_scope(hb_trace_event *e)
{
    p.now += 1000;
    e->end_ns = p.now;
}

/* Each step fetches, copies, launches within operators, and reads back. */
static void batches(void)
{
    hb_trace_event *all = open_scope("training", HB_EVENT_USER_ANNOTATION);
    LAUNCH("load");
    for (int i = 0; i < 12; i++) {
        hb_trace_event *loader =
            open_scope("enumerate(DataLoader)#L.__next__", HB_EVENT_USER_ANNOTATION);
        close_scope(loader);
        CALL(launch_as("Memcpy HtoD", HB_EVENT_MEMCPY, "HtoD"));
        hb_trace_event *op = open_scope("hipblasSgemm", HB_EVENT_OP);
        LAUNCH("gemm");
        close_scope(op);
        LAUNCH("bias");
        READ_BACK();
        op = open_scope("hipblasSaxpy", HB_EVENT_OP);
        LAUNCH("update");
        close_scope(op);
    }
    close_scope(all);
}

/* They begin where the next batch is fetched, though there is a longer wait for the result; and cut
 * no scope. */
static void steps_begin_with_their_data(void **state)
{
    (void)state;
    hb_found_steps f = found_in(batches, false, (hb_step_wish){.operators_are_calls = true});
    assert_int_equal(f.method, HB_STEPS_SEQUENCE);
    assert_int_equal(f.count, 12);
    for (size_t i = 0, step = 0; i < p.count; i++) {
        const hb_trace_event *e = &p.events[i];
        if (!e->name.s || !strstr(e->name.s, "DataLoader")) continue;
        assert_int_equal(f.items[step].start_ns, e->start_ns);
        if (step) assert_int_equal(f.items[step - 1].end_ns, e->start_ns);
        step++;
    }
    hb_found_steps_free(&f);
}

/* An operator that makes its calls itself, without a loader: the step has all of it. */
static void sweeps(void)
{
    for (int i = 0; i < 12; i++) {
        hb_trace_event *op = open_scope("solve", HB_EVENT_OP);
        LAUNCH("residual");
        LAUNCH("smooth");
        wait_for_device();
        close_scope(op);
    }
}

static void steps_cut_no_operator(void **state)
{
    (void)state;
    for (int with_stacks = 0; with_stacks < 2; with_stacks++) {
        hb_found_steps f =
            found_in(sweeps, with_stacks, (hb_step_wish){.operators_are_calls = true});
        size_t step = 0;
        for (size_t i = 0; i < p.count; i++) {
            if (p.events[i].kind != HB_EVENT_OP) continue;
            assert_int_equal(f.items[step].start_ns, p.events[i].start_ns);
            assert_true(f.items[step].end_ns >= p.events[i].end_ns);
            step++;
        }
        assert_int_equal(f.count, step);
        hb_found_steps_free(&f);
    }
}

static void solves(void)
{
    for (int i = 0; i < 12; i++) {
        hb_trace_event *op = open_scope(i ? "solve" : "ProfilerStep#7", HB_EVENT_OP);
        LAUNCH("residual");
        wait_for_device();
        close_scope(op);
    }
}

static const char *before_number, *behind_it; /* in a range's name */
static int first_number, later;

static void named_rounds(void)
{
    static char names[6][64];
    for (int i = 0; i < 6; i++) {
        snprintf(names[i], sizeof names[i], "%s%d%s", before_number, first_number + later * i,
                 behind_it);
        hb_trace_event *range = open_scope(names[i], HB_EVENT_USER_ANNOTATION);
        LAUNCH("residual");
        wait_for_device();
        close_scope(range);
    }
}

/* A word that counts, whatever stands between it and its number, which is all the rest. */
static void ranges_whose_names_count(void **state)
{
    static const struct {
        const char *before;
        int first, later;
        bool counts;
        int64_t number; /* of the first; -1: by their places */
        const char *behind;
    } cases[] = {
        {"step ", 5, 3, true, 5, ""},
        {"Step", 0, 1, true, 0, ""},
        {"ITERATION#", 7, 1, true, 7, ""},
        {"iter_:= -", 7, 2, true, 7, ""},
        {"iter ", 9, -1, true, -1, ""}, /* backwards */
        {"iter ", 9, 0, true, -1, ""},  /* the same */
        {"step 1234567890123456", 1, 1, true, 12345678901234561, ""},
        {"step 12345678901234567", 1, 1, false, 0, ""}, /* one digit more than that */
        {"steps ", 5, 1, false, 0, ""},
        {"step ", 5, 1, false, 0, "x"},
        {"my step ", 5, 1, false, 0, ""},
        {"step.", 5, 1, false, 0, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        before_number = cases[i].before;
        behind_it = cases[i].behind;
        first_number = cases[i].first;
        later = cases[i].later;
        hb_found_steps f = found_in(named_rounds, false, (hb_step_wish){0});
        bool counted = strcmp(f.rule, "ranges whose names count steps") == 0;
        if (counted != cases[i].counts) fail_msg("%s: %s", before_number, f.rule);
        if (counted) assert_int_equal(f.count, 6);
        for (size_t k = 0; counted && k < 6; k++)
            assert_int_equal(f.items[k].number, cases[i].number < 0
                                                    ? (int64_t)k
                                                    : cases[i].number + later * (int64_t)k);
        hb_found_steps_free(&f);
    }
}

/* The writer makes it one, and the plugin takes it for one. */
static void an_operator_of_a_steps_name_is_one(void **state)
{
    (void)state;
    hb_found_steps f = found_in(solves, false, (hb_step_wish){0});
    assert_int_equal(f.method, HB_STEPS_OWN);
    assert_int_equal(f.count, 0);
    hb_found_steps_free(&f);
}

/* ---- a long recording ---- */

/* Steps of three graphs and a wait, made as they are asked for. */
enum { LONG_STEPS = 1500, GRAPHS = 3, GRAPH_KERNELS = 1000, STEP_NS = 1000000 };
enum { STEP_EVENTS = GRAPHS * (1 + GRAPH_KERNELS) + 1 };

typedef struct long_source {
    hb_source source;
    hb_trace_info info;
    int64_t at, end;
} long_source;

static hb_result long_begin(hb_source *source, hb_pass pass)
{
    long_source *s = (long_source *)source;
    s->at = 0;
    s->end = pass == HB_PASS_DEVICE ? (int64_t)LONG_STEPS * STEP_EVENTS : 0;
    return HB_OK;
}

static bool long_next(hb_source *source, hb_trace_event *e)
{
    static const char *const names[] = {"forward", "backward", "optimizer"};
    long_source *s = (long_source *)source;
    if (s->at == s->end) return false;
    int64_t step = s->at / STEP_EVENTS, in_step = s->at % STEP_EVENTS;
    int64_t graph = in_step / (1 + GRAPH_KERNELS), in_graph = in_step % (1 + GRAPH_KERNELS);
    int64_t start = START + step * STEP_NS + graph * 200000 + in_graph * 100;
    s->at++;
    *e = (hb_trace_event){.tid = 100, .device = -1, .start_ns = start, .end_ns = start + 50};
    e->kind = graph == GRAPHS ? HB_EVENT_SYNC : in_graph ? HB_EVENT_KERNEL : HB_EVENT_RUNTIME;
    if (graph == GRAPHS) return true;
    e->correlation = (uint64_t)(step * GRAPHS + graph) + 1;
    e->runtime.launches = e->kind == HB_EVENT_RUNTIME;
    e->name = (hb_str){names[graph], (uint32_t)strlen(names[graph])};
    e->name_key = (uint64_t)graph + 1;
    return true;
}

static void long_close(hb_source *source)
{
    (void)source;
}

/* More kernels than there may be launches. */
static void steps_of_graphs_reach_to_the_end(void **state)
{
    long_source s = {.source = {.begin = long_begin, .next = long_next, .close = long_close}};
    hb_found_steps f;
    (void)state;
    s.source.info = &s.info;
    s.info.start_ns = START;
    s.info.stop_ns = START + (int64_t)LONG_STEPS * STEP_NS;
    assert_int_equal(hb_find_steps(&s.source, &(hb_step_wish){0}, &f), HB_OK);
    assert_int_equal(f.method, HB_STEPS_SEQUENCE);
    assert_int_equal(f.count, LONG_STEPS);
    assert_true(f.coverage == 1);
    assert_int_equal(f.items[LONG_STEPS - 1].start_ns, s.info.stop_ns - STEP_NS);
    hb_found_steps_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_are_seen_in_call_stacks),
        cmocka_unit_test(periods_are_seen_in_the_sequence_or_nothing_is),
        cmocka_unit_test(other_threads_are_passed_over),
        cmocka_unit_test(a_loop_can_be_asked_for),
        cmocka_unit_test(a_loop_that_is_not_there_is_said),
        cmocka_unit_test(nothing_is_guessed_where_that_is_not_wanted),
        cmocka_unit_test(steps_begin_with_their_data),
        cmocka_unit_test(steps_cut_no_operator),
        cmocka_unit_test(an_operator_of_a_steps_name_is_one),
        cmocka_unit_test(ranges_whose_names_count),
        cmocka_unit_test(steps_of_graphs_reach_to_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
