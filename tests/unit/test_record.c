/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <hipboard/comm.h>

#include "forks_with_threads.h"
#include "record/record.h"
#include "record/strings.h"
#include "recorded.h"

/* A forked child profiles too, which ThreadSanitizer has to be told of. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

static recorded stop_and_read(hb_profiler *prof)
{
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    return recorded_of(prof);
}

static const hb_event *must_find(const recorded *r, const char *name)
{
    const hb_event *e = recorded_find(r, name);
    if (!e) fail_msg("no event \"%s\" among %zu", name, r->n);
    return e;
}

static bool within(const hb_event *inner, const hb_event *outer)
{
    return inner->start_ns >= outer->start_ns && inner->end_ns <= outer->end_ns;
}

static hb_lost lost_of(hb_profiler *prof)
{
    hb_lost lost = {.struct_size = sizeof lost};
    assert_int_equal(hb_profiler_lost(prof, &lost), HB_OK);
    return lost;
}

/* ---- scopes ---- */

static int leaves_by_return(int i)
{
    HB_RECORD_FUNCTION("returned from") {
        return i;
    }
    return -1;
}

static void scopes_close_on_every_way_out(void **state)
{
    (void)state;
    hb_profiler *prof = record_all();
    assert_int_equal(leaves_by_return(7), 7);
    HB_RECORD_FUNCTION("broken out of") {
        break;
    }
    HB_RECORD_FUNCTION("left by goto") {
        goto out;
    }
out:
    HB_RECORD_FUNCTION("run through") {
    }
    recorded r = stop_and_read(prof);
    const char *names[] = {"returned from", "broken out of", "left by goto", "run through"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(recorded_count(&r, names[i]), 1);
        assert_false(must_find(&r, names[i])->unfinished);
    }
    assert_int_equal(lost_of(prof).unbalanced, 0);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static int guarded_function(int i)
{
    HB_FUNCTION_GUARD();
    HB_OP_GUARD("guarded op", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 1, 2)), .flops = 3);
    if (i > 0) return i;
    return -1;
}

static void guards_change_no_loop_and_end_with_their_block(void **state)
{
    (void)state;
    int rounds = 0;
    hb_profiler *prof = record_all();
    for (int i = 0; i < 5; i++) {
        HB_SCOPE("round");
        HB_SCOPE_NAMED("by name");
        if (i < 3) continue;
        rounds++;
        break;
    }
    HB_SCOPE("open until the end");
    assert_int_equal(guarded_function(7), 7);
    assert_int_equal(rounds, 1);
    recorded r = stop_and_read(prof);
    assert_int_equal(recorded_count(&r, "round"), 4);
    assert_int_equal(recorded_count(&r, "by name"), 4);
    assert_true(within(must_find(&r, "by name"), must_find(&r, "round")));
    assert_true(within(must_find(&r, "guarded op"), must_find(&r, "guarded_function")));
    assert_false(must_find(&r, "guarded_function")->unfinished);
    assert_true(must_find(&r, "open until the end")->unfinished);
    assert_int_equal(lost_of(prof).unbalanced, 0);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void a_scope_body_runs_once_with_and_without_profiler(void **state)
{
    (void)state;
    int runs = 0;
    HB_RECORD_FUNCTION("off") {
        runs++;
    }
    HB_OP("off", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 1, 2))) {
        runs++;
    }
    assert_int_equal(runs, 2);
    hb_profiler *prof = record_all();
    HB_RECORD_FUNCTION("on") {
        runs++;
    }
    HB_OP("on", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 1, 2))) {
        runs++;
    }
    assert_int_equal(runs, 4);
    hb_profiler_destroy(prof);
}

static void nested_scopes_lie_inside_each_other(void **state)
{
    (void)state;
    hb_profiler *prof = record_all();
    HB_RECORD_FUNCTION("outer") {
        HB_RECORD_FUNCTION("first") {
        }
        HB_OP("second") {
        }
    }
    recorded r = stop_and_read(prof);
    const hb_event *outer = must_find(&r, "outer"), *first = must_find(&r, "first"),
                   *second = must_find(&r, "second");
    assert_true(within(first, outer) && within(second, outer));
    assert_true(first->end_ns <= second->start_ns);
    assert_int_equal(outer->kind, HB_EVENT_USER_ANNOTATION);
    assert_int_equal(second->kind, HB_EVENT_OP);
    assert_true(outer->external_id && first->external_id > outer->external_id &&
                second->external_id > first->external_id);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void times_are_unix_times(void **state)
{
    (void)state;
    struct timespec before, after, nap = {0, 20000000};
    hb_profiler *prof = record_all();
    clock_gettime(CLOCK_REALTIME, &before);
    HB_RECORD_FUNCTION("nap") {
        nanosleep(&nap, NULL);
    }
    clock_gettime(CLOCK_REALTIME, &after);
    recorded r = stop_and_read(prof);
    const hb_event *e = must_find(&r, "nap");
    int64_t from = (int64_t)before.tv_sec * 1000000000 + before.tv_nsec;
    int64_t to = (int64_t)after.tv_sec * 1000000000 + after.tv_nsec;
    assert_in_range(e->start_ns, from - 100000, to);
    assert_in_range(e->end_ns, from, to + 100000);
    assert_true(e->end_ns - e->start_ns >= 20000000);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void hostile_names_are_kept_as_they_are(void **state)
{
    (void)state;
    size_t big_size = 1 << 20;
    char *big = malloc(big_size + 1);
    memset(big, 'x', big_size);
    big[big_size] = '\0';
    hb_profiler *prof = record_all();
    const char *names[] = {"quote \" backslash \\", "tab\tand\nnewline", "\xff\xfe", "\xc3\xa9",
                           big};
    for (size_t i = 0; i < 5; i++) {
        hb_scope s = hb_record_function(names[i]);
        hb_scope_end(&s);
    }
    hb_scope null = hb_record_function(NULL), empty = hb_op("", NULL);
    hb_scope_end(&null);
    hb_scope_end(&empty);
    recorded r = stop_and_read(prof);
    for (size_t i = 0; i < 4; i++)
        must_find(&r, names[i]);
    assert_int_equal(r.events[4].e.name_size, big_size);
    assert_int_equal(recorded_count(&r, "(unnamed)"), 2);
    recorded_free(&r);
    hb_profiler_destroy(prof);
    free(big);
}

/* However often the table of names grows, a name keeps its number, and no other has it. */
static void names_keep_their_numbers(void **state)
{
    enum { NAMES = 500000 };
    uint32_t *ids = calloc(NAMES, sizeof *ids);
    char name[32];
    (void)state;
    assert_non_null(ids);
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < NAMES; i++) {
            int size = snprintf(name, sizeof name, "number %d", i);
            uint32_t id = hb_strings_intern(name, (size_t)size);
            if (!again) ids[i] = id;
            assert_int_equal(id, ids[i]);
            assert_true(i == 0 || again || id > ids[i - 1]);
        }
    free(ids);
}

/* Of names that are handed on in parts of at most so many bytes. */
static void names_are_handed_on_whole(void **state)
{
    (void)state;
    uint64_t from, first, both, end;
    hb_strings_table(&from);
    hb_strings_intern("a name that nobody has given yet", 32);
    hb_strings_table(&first);
    hb_strings_intern("and another one, which is a little longer", 41);
    hb_strings_table(&both);
    hb_strings_intern("third", 5);
    hb_strings_table(&end);
    first -= from;
    both -= from;
    assert_int_equal(hb_strings_whole(from, end, 1), first); /* one, however long */
    assert_int_equal(hb_strings_whole(from, end, both - 1), first);
    assert_int_equal(hb_strings_whole(from, end, both), both);
    assert_int_equal(hb_strings_whole(from, from + both, UINT64_MAX), both);
    assert_int_equal(hb_strings_whole(from, end, UINT64_MAX), end - from);
    assert_int_equal(hb_strings_whole(end, end, 1), 0);
}

/* ---- unbalanced use ---- */

static void an_outer_end_closes_what_is_open_inside(void **state)
{
    (void)state;
    hb_profiler *prof = record_all();
    hb_scope outer = hb_record_function("outer"), inner = hb_record_function("inner");
    hb_scope_end(&outer);
    hb_scope_end(&inner); /* too late: does nothing */
    recorded r = stop_and_read(prof);
    assert_false(must_find(&r, "inner")->unfinished);
    assert_int_equal(must_find(&r, "inner")->end_ns, must_find(&r, "outer")->end_ns);
    assert_int_equal(lost_of(prof).unbalanced, 1);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void ending_twice_or_nothing_is_harmless(void **state)
{
    (void)state;
    hb_scope none = {0};
    hb_scope_end(NULL);
    hb_scope_end(&none);
    hb_range_pop();
    hb_profiler *prof = record_all();
    hb_range_pop();
    hb_scope s = hb_record_function("once"), copy = s;
    hb_scope_end(&s);
    hb_scope_end(&s);
    hb_scope_end(&copy);
    recorded r = stop_and_read(prof);
    assert_int_equal(r.n, 1);
    assert_int_equal(lost_of(prof).unbalanced, 0);
    hb_scope_end(&copy); /* after the profiler */
    recorded_free(&r);
    hb_profiler_destroy(prof);
    hb_scope_end(&copy);
}

static hb_site a_scopes_site = {"scope", 0, 0}, an_operators_site = {"scope", 0, 0},
               another_site = {"scope", 0, 0}, a_calls_site = {"scope", 0, 0};

/* Each way there is, and each way of an operator that has a path of its own. */
static hb_scope begin_in_way(int way)
{
    static const hb_input input = {.kind = HB_INPUT_TENSOR, .dtype = HB_FLOAT32};
    static const hb_scope_info described = {.struct_size = sizeof described, .category = "io"};
    hb_op_info info = {0};
    switch (way) {
    case 0: return hb_record_function("scope");
    case 1: return hb_record_function_site(&a_scopes_site);
    case 2: return hb_record_annotation(hb_strings_intern("scope", 5));
    case 3: return hb_scope_begin("scope", &described);
    case 4: return hb_scope_begin_site(&another_site, &described);
    case 5: return hb_op("scope", NULL);
    case 6: return hb_op_site(&an_operators_site, &info);
    case 7: info.sequence_number = 1; return hb_op("scope", &info);
    case 8: info.flops = 1; return hb_op("scope", &info);
    case 9:
        info.inputs = &input;
        info.num_inputs = 1;
        return hb_op("scope", &info);
    case 10: return hb_comm_begin("scope", NULL);
    case 11: return hb_comm_begin_site(&a_calls_site, NULL);
    default: return (hb_scope){0};
    }
}

enum { WAYS = 12 };

static const hb_event *nth_of(const recorded *r, const char *name, int n)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->events[i].name, name) == 0 && n-- == 0) return &r->events[i].e;
    fail_msg("there are fewer \"%s\"", name);
    return NULL;
}

static hb_profiler *with_everything(bool with_stack)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.record_shapes = o.with_flops = true;
    o.with_stack = with_stack;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

/* Each way twice, since later ones may be quicker. */
static void ranges_pop_only_ranges(void **state)
{
    (void)state;
    for (int with_stack = 0; with_stack < 2; with_stack++) {
        hb_profiler *prof = with_everything(with_stack);
        for (int i = 0; i < 2 * WAYS; i++) {
            hb_range_push("range");
            hb_scope s = begin_in_way(i / 2);
            hb_range_pop(); /* the innermost is no range */
            HB_RECORD_FUNCTION("within both") {
            }
            hb_scope_end(&s);
            HB_RECORD_FUNCTION("within the range") {
            }
            hb_range_pop();
        }
        recorded r = stop_and_read(prof);
        for (int i = 0; i < 2 * WAYS; i++) {
            const hb_event *scope = nth_of(&r, "scope", i), *range = nth_of(&r, "range", i);
            const hb_event *after = nth_of(&r, "within the range", i);
            assert_true(within(nth_of(&r, "within both", i), scope));
            assert_true(within(scope, range) && within(after, range) && !within(after, scope));
        }
        assert_int_equal(lost_of(prof).unbalanced, 0);
        recorded_free(&r);
        hb_profiler_destroy(prof);
    }
}

static void *end_it(void *arg)
{
    hb_scope_end(arg);
    return NULL;
}

static void another_thread_may_end_a_scope(void **state)
{
    (void)state;
    pthread_t t;
    hb_profiler *prof = record_all();
    hb_scope outer = hb_record_function("outer"), handed = hb_record_function("handed over");
    pthread_create(&t, NULL, end_it, &handed);
    pthread_join(t, NULL);
    hb_scope_end(&outer);
    recorded r = stop_and_read(prof);
    const hb_event *e = must_find(&r, "handed over");
    assert_true(e->async && !e->unfinished && within(e, must_find(&r, "outer")));
    assert_int_equal(lost_of(prof).unbalanced, 0);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void *die_inside(void *arg)
{
    hb_record_function("died inside");
    *(bool *)arg = true;
    return NULL;
}

static void a_dying_threads_scopes_end_with_it(void **state)
{
    (void)state;
    pthread_t t;
    bool began = false;
    hb_profiler *prof = record_all();
    pthread_create(&t, NULL, die_inside, &began);
    pthread_join(t, NULL);
    hb_scope after = hb_record_function("after");
    hb_scope_end(&after);
    recorded r = stop_and_read(prof);
    assert_false(must_find(&r, "died inside")->unfinished);
    assert_true(must_find(&r, "died inside")->end_ns <= must_find(&r, "after")->start_ns);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void a_scope_open_at_stop_is_unfinished(void **state)
{
    (void)state;
    hb_profiler *prof = record_all();
    hb_scope open = hb_record_function("open");
    recorded r = stop_and_read(prof);
    assert_true(must_find(&r, "open")->unfinished);
    assert_true(must_find(&r, "open")->end_ns >= must_find(&r, "open")->start_ns);
    recorded_free(&r);
    hb_profiler_destroy(prof);
    hb_scope_end(&open);
}

static void scopes_deeper_than_we_track_are_kept(void **state)
{
    (void)state;
    enum { DEPTH = 2000 };
    static hb_scope scopes[DEPTH];
    hb_profiler *prof = record_all();
    for (int i = 0; i < DEPTH; i++)
        scopes[i] = hb_record_function("deep");
    for (int i = DEPTH - 1; i >= 0; i--)
        hb_scope_end(&scopes[i]);
    recorded r = stop_and_read(prof);
    assert_int_equal(r.n, DEPTH);
    for (size_t i = 0; i < r.n; i++)
        assert_false(r.events[i].e.unfinished || r.events[i].e.async);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

/* ---- operators, modules, memory, numbers ---- */

static void malformed_inputs_are_left_out_and_counted(void **state)
{
    (void)state;
    hb_profiler *prof = record_all();
    const hb_input no_dims = {.kind = HB_INPUT_TENSOR, .count = 4};
    const hb_input too_long = {
        .kind = HB_INPUT_INT_LIST, .count = 1u << 30, .dims = (int64_t[]){0}};
    const hb_input odd = {.kind = (hb_input_kind)99};
    const hb_input no_ints = {.kind = HB_INPUT_INT_LIST, .count = 1};
    const hb_input no_floats = {.kind = HB_INPUT_FLOAT_LIST, .count = 1};
    const hb_input no_list = {.kind = HB_INPUT_TENSOR_LIST, .count = 1};
    const hb_input number = {.kind = HB_INPUT_INT}, none_of_it = {.kind = HB_INPUT_TENSOR_LIST};
    const hb_input no_tensor = {.kind = HB_INPUT_TENSOR_LIST, .count = 1, .list = &number};
    const hb_input lists = {.kind = HB_INPUT_TENSOR_LIST, .count = 1, .list = &none_of_it};
    const hb_input *wrong[] = {&no_dims,   &too_long, &odd,       &no_ints,
                               &no_floats, &no_list,  &no_tensor, &lists};
    const size_t num_wrong = sizeof wrong / sizeof *wrong;
    for (size_t i = 0; i < num_wrong; i++) {
        hb_scope s = hb_op("op", &(hb_op_info){.inputs = wrong[i], .num_inputs = 1});
        hb_scope_end(&s);
    }
    recorded r = stop_and_read(prof);
    assert_int_equal(recorded_count(&r, "op"), num_wrong);
    assert_int_equal(lost_of(prof).too_big, num_wrong);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

/* Values of 8 bytes each, about as many as a record of 32 KiB has room for: either all are there,
 * or they are left out and counted; the operator is there in any case. */
static void inputs_that_fill_a_record_are_whole_or_left_out(void **state)
{
    enum { MOST = 4096, AROUND = 40 };
    static int64_t values[MOST + AROUND];
    (void)state;
    hb_profiler *prof = record_all();
    for (int i = -AROUND; i <= AROUND; i++) {
        const hb_input input = {
            .kind = HB_INPUT_INT_LIST, .count = (uint32_t)(MOST + i), .dims = values};
        hb_scope s = hb_op("op", &(hb_op_info){.inputs = &input, .num_inputs = 1, .flops = 2});
        hb_scope_end(&s);
    }
    recorded r = stop_and_read(prof);
    assert_int_equal(recorded_count(&r, "op"), 2 * AROUND + 1);
    for (size_t i = 0; i < r.n; i++)
        assert_true(r.events[i].e.flops == 2);
    assert_in_range(lost_of(prof).too_big, AROUND, AROUND + 20);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void flops_are_torchs(void **state)
{
    (void)state;
    const int64_t in[4] = {2, 4, 8, 8}, weight[4] = {6, 2, 3, 3}, two[2] = {2, 2}, one[2] = {1, 1},
                  none[2] = {0, 0};
    assert_true(hb_flops_mm(4, 5, 6) == 240);
    assert_true(hb_flops_addmm(4, 5, 6) == 240);
    assert_true(hb_flops_bmm(3, 4, 5, 6) == 720);
    assert_true(hb_flops_baddbmm(3, 4, 5, 6) == 720);
    assert_true(hb_flops_conv2d(in, weight, two, one, one, 2) == 6912);
    assert_true(hb_flops_conv2d(in, weight, none, one, one, 2) == 0);
    assert_true(hb_flops_conv2d(in, weight, two, one, one, 0) == 0);
    assert_true(hb_flops_add(in, 4) == 512);
    assert_true(hb_flops_mul(in, 2) == 8);
    assert_true(hb_flops_mul(NULL, 2) == 0);
    assert_true(hb_flops_mm(-1, 5, 6) == 0);
}

static void flops_and_numbers_come_back(void **state)
{
    (void)state;
    hb_profiler *prof = record_all();
    HB_OP("aten::mm", .flops = hb_flops_mm(4, 5, 6)) {
    }
    hb_scalar("loss", 0.25);
    hb_memory_alloc(HB_DEVICE_CPU, 0, &prof, 4096);
    recorded r = stop_and_read(prof);
    assert_true(must_find(&r, "aten::mm")->flops == 240);
    assert_true(must_find(&r, "loss")->value == 0.25);
    assert_int_equal(must_find(&r, "loss")->kind, HB_EVENT_SCALAR);
    assert_int_equal(must_find(&r, "[memory]")->bytes, 4096);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void modules_count_within_their_class(void **state)
{
    (void)state;
    hb_module a = hb_module_create("TestConv"), b = hb_module_create("TestConv");
    assert_true(a && b && a != b);
    assert_int_equal(hb_module_create(""), 0);
    assert_int_equal(hb_module_create(NULL), 0);
    hb_profiler *prof = record_all();
    HB_MODULE(a) {
        HB_MODULE(b) {
        }
    }
    HB_MODULE(0) {
    }
    HB_MODULE(4000000) {
    }
    recorded r = stop_and_read(prof);
    assert_int_equal(r.n, 2);
    assert_true(
        within(must_find(&r, "nn.Module: TestConv_1"), must_find(&r, "nn.Module: TestConv_0")));
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void what_is_not_asked_for_is_not_kept(void **state)
{
    (void)state;
    hb_module m = hb_module_create("Unwanted");
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    HB_MODULE(m) {
        HB_OP("op", .flops = 5) {
        }
        hb_memory_alloc(HB_DEVICE_CPU, 0, &o, 1);
    }
    recorded r = stop_and_read(prof);
    assert_int_equal(r.n, 1);
    assert_true(r.events[0].e.flops == 0);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

/* ---- many threads ---- */

enum { THREADS = 8, SCOPES = 20000 };

static void *record_many(void *arg)
{
    char name[32];
    snprintf(name, sizeof name, "thread %d", *(int *)arg);
    hb_thread_name(name);
    for (int i = 0; i < SCOPES; i++) {
        HB_RECORD_FUNCTION("outer") {
            HB_OP("inner", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 2, 3))) {
            }
        }
    }
    return NULL;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = ((const recorded_event *)a)->e.external_id;
    uint64_t y = ((const recorded_event *)b)->e.external_id;
    return x < y ? -1 : x > y;
}

static void every_threads_scopes_are_all_there(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int numbers[THREADS];
    hb_profiler *prof = record_all();
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, record_many, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    recorded r = stop_and_read(prof);
    assert_int_equal(r.n, 2 * THREADS * SCOPES);
    assert_int_equal(recorded_count(&r, "inner"), THREADS * SCOPES);
    qsort(r.events, r.n, sizeof *r.events, compare_ids);
    for (size_t i = 1; i < r.n; i++)
        assert_true(r.events[i].e.external_id > r.events[i - 1].e.external_id);
    assert_int_equal(lost_of(prof).buffer_full, 0);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static _Atomic bool go_on;

static void *record_until_told(void *arg)
{
    (void)arg;
    while (go_on) {
        HB_RECORD_FUNCTION("outer") {
            HB_OP("inner") {
            }
            hb_memory_alloc(HB_DEVICE_CPU, 0, NULL, 1);
        }
    }
    return NULL;
}

static bool ends_after_start(const hb_event *event, void *arg)
{
    (*(size_t *)arg)++;
    return event->end_ns >= event->start_ns;
}

static void cycles_may_end_while_threads_record(void **state)
{
    (void)state;
    pthread_t threads[4];
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    o.profile_memory = true;
    hb_profiler *prof = hb_profiler_create(&o);
    go_on = true;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, record_until_told, NULL);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int i = 0; i < 200; i++) {
        struct timespec nap = {0, 200000};
        nanosleep(&nap, NULL);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    go_on = false;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    size_t n = 0;
    assert_int_equal(hb_profiler_events(prof, ends_after_start, &n), HB_OK);
    assert_true(n > 0);
    hb_profiler_destroy(prof);
}

/* ---- limits and faults ---- */

static void over_the_cap_is_dropped_and_counted(void **state)
{
    (void)state;
    enum { WANTED = 3000000 };
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.max_record_bytes = 2 << 20;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int i = 0; i < WANTED; i++)
        HB_RECORD_FUNCTION("scope") {
        }
    recorded r = stop_and_read(prof);
    assert_int_equal(r.n + lost_of(prof).buffer_full, WANTED);
    assert_true(lost_of(prof).buffer_full > 0 && r.n > 50000);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

/* On stderr once, with the first cycle that has some; in what the trace says, each time. */
static void what_is_lost_is_said_once(void **state)
{
    enum { CYCLES = 3, EACH = 20000 };
    const hb_input odd = {.kind = (hb_input_kind)99};
    char said[4000];
    int kept = dup(2), ends[2];
    (void)state;
    assert_true(kept >= 0 && pipe(ends) == 0);
    fflush(stderr);
    dup2(ends[1], 2);
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.max_record_bytes = 1 << 20;
    o.record_shapes = true;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    for (int cycle = 0; prof && cycle < CYCLES; cycle++) {
        hb_profiler_start(prof);
        if (cycle) { /* the first one loses nothing but an end, which is no record */
            hb_scope left = hb_record_function("left"), in = hb_record_function("in it");
            hb_scope_end(&left);
            (void)in;
            hb_scope s = hb_op("op", &(hb_op_info){.inputs = &odd, .num_inputs = 1});
            hb_scope_end(&s);
            for (int i = 0; i < 40 * EACH; i++) /* each takes 4 to 8 bytes */
                HB_RECORD_FUNCTION("scope") {
                }
        }
        hb_profiler_stop(prof);
    }
    fflush(stderr);
    dup2(kept, 2);
    close(kept);
    close(ends[1]);
    ssize_t size = read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    assert_non_null(prof);
    assert_in_range(size, 1, sizeof said - 1);
    said[size] = '\0';
    const char *colon = strstr(said, ": cycle 1: ");
    assert_non_null(colon);
    assert_null(strstr(colon + 3, ": cycle ")); /* nor was it said of another */
    if (!strstr(said, "; 1 records have lost what did not fit")) fail_msg("%s", said);
    assert_non_null(strstr(said, " records did not fit into max_record_bytes and are missing; "));
    assert_true(strtoull(colon + 11, NULL, 10) >= EACH);
    assert_null(strstr(said, "left open"));
    const char *end = "; the trace's metadata counts them (said once)\n";
    assert_string_equal(said + size - strlen(end), end);
    hb_profiler_destroy(prof);
}

static timer_t signals;

/* In 20 us from now: whoever takes long over a signal does not get the next one meanwhile. */
static void next_signal(void)
{
    const struct itimerspec soon = {{0, 0}, {0, 20000}};
    timer_settime(signals, 0, &soon, NULL);
}

static void start_signals(void (*handler)(int), struct sigaction *old)
{
    struct sigaction act = {.sa_handler = handler};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    sigaction(SIGALRM, &act, old);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &signals), 0);
    next_signal();
}

static void stop_signals(const struct sigaction *old)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, &before);
    timer_delete(signals);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGALRM, old, NULL);
}

static void record_in_handler(int signal)
{
    (void)signal;
    HB_RECORD_FUNCTION("in a signal handler") {
    }
    next_signal();
}

static void signal_handlers_may_record(void **state)
{
    (void)state;
    struct sigaction old;
    hb_profiler *prof = record_all();
    start_signals(record_in_handler, &old);
    for (int i = 0; i < 300000; i++)
        HB_RECORD_FUNCTION("scope") {
        }
    stop_signals(&old);
    recorded r = stop_and_read(prof);
    assert_int_equal(recorded_count(&r, "scope"), 300000);
    assert_true(recorded_count(&r, "in a signal handler") > 0);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static volatile unsigned names_of_handler;

static void record_new_name(int signal)
{
    char name[] = "handler 00000000";
    unsigned number = names_of_handler++;
    (void)signal;
    for (char *digit = name + sizeof name - 2; number; number /= 10)
        *digit-- = (char)('0' + number % 10);
    HB_RECORD_FUNCTION_NAMED(name) {
    }
    next_signal();
}

/* Both take in names that were never seen: the handler must not wait for what it interrupted. */
static void signal_handlers_may_bring_new_names(void **state)
{
    (void)state;
    struct sigaction old;
    char name[32];
    hb_profiler *prof = record_all();
    start_signals(record_new_name, &old);
    for (int i = 0; i < 50000; i++) {
        snprintf(name, sizeof name, "scope %d", i);
        HB_RECORD_FUNCTION_NAMED(name) {
        }
    }
    stop_signals(&old);
    recorded r = stop_and_read(prof);
    assert_int_equal(recorded_count(&r, "scope 0"), 1);
    assert_int_equal(recorded_count(&r, "scope 49999"), 1);
    assert_true(r.n >= 50000);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void a_forked_child_records_nothing_of_its_parents(void **state)
{
    (void)state;
    hb_profiler *prof = record_all();
    HB_RECORD_FUNCTION("parent") {
    }
    pid_t pid = fork();
    if (pid == 0) {
        HB_RECORD_FUNCTION("child") {
        }
        bool refused = hb_profiler_step(prof) == HB_ERROR_STATE;
        hb_profiler_destroy(prof);
        hb_profiler *own = record_all(); /* it may profile by itself */
        HB_RECORD_FUNCTION("child's own") {
        }
        recorded r = stop_and_read(own);
        bool kept = r.n == 1;
        _exit(refused && kept ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    recorded r = stop_and_read(prof);
    assert_int_equal(r.n, 1);
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

/* What a scope costs, as summaries say it: some nanoseconds, whatever else the machine does. */
static void what_a_scope_costs_is_known(void **state)
{
    (void)state;
    double ns = hb_record_scope_ns();
    assert_true(ns > 1 && ns < 50000);
    assert_true(hb_record_scope_ns() == ns); /* measured once */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scopes_close_on_every_way_out),
        cmocka_unit_test(what_a_scope_costs_is_known),
        cmocka_unit_test(guards_change_no_loop_and_end_with_their_block),
        cmocka_unit_test(a_scope_body_runs_once_with_and_without_profiler),
        cmocka_unit_test(nested_scopes_lie_inside_each_other),
        cmocka_unit_test(times_are_unix_times),
        cmocka_unit_test(hostile_names_are_kept_as_they_are),
        cmocka_unit_test(names_keep_their_numbers),
        cmocka_unit_test(names_are_handed_on_whole),
        cmocka_unit_test(an_outer_end_closes_what_is_open_inside),
        cmocka_unit_test(ending_twice_or_nothing_is_harmless),
        cmocka_unit_test(ranges_pop_only_ranges),
        cmocka_unit_test(another_thread_may_end_a_scope),
        cmocka_unit_test(a_dying_threads_scopes_end_with_it),
        cmocka_unit_test(a_scope_open_at_stop_is_unfinished),
        cmocka_unit_test(scopes_deeper_than_we_track_are_kept),
        cmocka_unit_test(malformed_inputs_are_left_out_and_counted),
        cmocka_unit_test(inputs_that_fill_a_record_are_whole_or_left_out),
        cmocka_unit_test(flops_are_torchs),
        cmocka_unit_test(flops_and_numbers_come_back),
        cmocka_unit_test(modules_count_within_their_class),
        cmocka_unit_test(what_is_not_asked_for_is_not_kept),
        cmocka_unit_test(every_threads_scopes_are_all_there),
        cmocka_unit_test(cycles_may_end_while_threads_record),
        cmocka_unit_test(over_the_cap_is_dropped_and_counted),
        cmocka_unit_test(what_is_lost_is_said_once),
        cmocka_unit_test(signal_handlers_may_record),
        cmocka_unit_test(signal_handlers_may_bring_new_names),
        cmocka_unit_test(a_forked_child_records_nothing_of_its_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
