/* SPDX-License-Identifier: MIT
 *
 * Whose the work of graphs is: what was captured, made and run, and the operators around it.
 */
#include "replay/graph_replays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "record/format.h"

enum { GRAPH = 0x1000, EXEC = 0x2000, K1 = 1, K2 = 2 };

static hb_graph_replays graphs;

static int begin(void **state)
{
    (void)state;
    hb_graph_replays_init(&graphs);
    hb_graph_replays_begin_thread(&graphs);
    return 0;
}

static int end(void **state)
{
    (void)state;
    hb_graph_replays_free(&graphs);
    return 0;
}

static void launch_on(uint64_t stream, uint64_t scope, uint32_t kernel)
{
    hb_record_launch l = {.call = {.head = {.type = HB_RECORD_LAUNCH, .units = sizeof l / 8},
                                   .external_id = scope,
                                   .stream = stream},
                          .kernel = kernel};
    hb_graph_replays_add_launch(&graphs, &l.call);
}

static void launch(uint64_t scope, uint32_t kernel)
{
    launch_on(0, scope, kernel);
}

static void deed(int what, uint64_t start, uint64_t graph, uint64_t exec, uint64_t correlation)
{
    hb_record_graph r = {.head = {.start = start, .flags = (uint8_t)what},
                         .graph = graph,
                         .exec = exec,
                         .correlation = correlation};
    hb_graph_replays_add(&graphs, &r);
}

static hb_trace_event scope(hb_event_kind kind, uint64_t id, int64_t from, int64_t to, double flops)
{
    hb_trace_event e = {.kind = kind, .external_id = id, .tid = 1, .start_ns = from, .end_ns = to};
    e.name_key = (uint32_t)id;
    if (kind == HB_EVENT_OP) e.op.flops = flops;
    return e;
}

static hb_trace_event operator(uint64_t id, int64_t from, int64_t to, double flops)
{
    return scope(HB_EVENT_OP, id, from, to, flops);
}

static void finish(const hb_trace_event *events, size_t count)
{
    array_source host;
    array_source_init(&host, events, count);
    assert_int_equal(hb_graph_replays_finish(&graphs, &host.source), HB_OK);
}

static hb_str name_of(const void *context, uint32_t id)
{
    static char text[32];
    snprintf(text, sizeof text, "%s%u", (const char *)context, id);
    return (hb_str){text, strlen(text)};
}

static void check_run(uint64_t correlation, double flops, const char *operators)
{
    hb_graph_run run = {-1, ""};
    assert_true(hb_graph_replays_run(&graphs, correlation, name_of, "op", &run));
    assert_true(run.flops == flops);
    assert_string_equal(run.operators, operators);
}

static void check_no_run(uint64_t correlation)
{
    hb_graph_run run;
    assert_false(hb_graph_replays_run(&graphs, correlation, name_of, "op", &run));
}

static uint32_t owner(uint64_t correlation, uint32_t kernel)
{
    return hb_graph_replays_operator(&graphs, correlation, 0, kernel);
}

static void kernels_are_given_out_in_the_order_of_the_capture(void **state)
{
    const hb_trace_event events[] =
        {operator(11, 0, 10, 100), operator(12, 10, 20, 7), operator(13, 20, 30, 100)};
    (void)state;
    launch(11, K1);
    launch(12, K1);
    launch(12, K2);
    launch(13, K1);
    deed(HB_GRAPH_CAPTURED, 40, GRAPH, 0, 0);
    deed(HB_GRAPH_MADE, 50, GRAPH, EXEC, 0);
    deed(HB_GRAPH_RUN, 60, 0, EXEC, 71);
    deed(HB_GRAPH_RUN, 70, 0, EXEC, 72);
    finish(events, 3);
    for (int pass = 0; pass < 2; pass++) {
        for (int round = 0; round < 2; round++) { /* as often as it is asked for */
            assert_int_equal(owner(71, K1), 11);
            assert_int_equal(owner(71, K1), 12);
            assert_int_equal(owner(71, K1), 13);
        }
        assert_int_equal(owner(72, K2), 12); /* each run by itself */
        assert_int_equal(owner(72, K1), 13); /* the next behind it */
        assert_int_equal(owner(72, K1), 11);
        assert_int_equal(owner(72, 9), 0);
        assert_int_equal(owner(72, K1), 12);
        assert_int_equal(owner(73, K1), 0);
        assert_int_equal(owner(71, K1), 11);
        hb_graph_replays_rewind(&graphs);
    }
    /* where it is known which launch it was, no order counts */
    assert_int_equal(hb_graph_replays_operator(&graphs, 71, 13, K1), 13);
    assert_int_equal(hb_graph_replays_operator(&graphs, 0, 12, 0), 12);
    assert_int_equal(hb_graph_replays_operator(&graphs, 71, 99, K1), 11);
    check_run(71, 207, "op11, op12, op13");
    check_run(72, 207, "op11, op12, op13");
    assert_int_equal(graphs.unknown, 0);
}

/* Where nobody tells which kernel it was: of one stream they run as they were captured. */
static void kernels_without_names_have_those_of_one_stream(void **state)
{
    (void)state;
    launch_on(5, 11, K1);
    launch_on(5, 11, K2);
    launch_on(5, 11, K1);
    deed(HB_GRAPH_CAPTURED, 40, GRAPH, 0, 0);
    deed(HB_GRAPH_MADE, 50, GRAPH, EXEC, 0);
    deed(HB_GRAPH_RUN, 60, 0, EXEC, 71);
    launch_on(5, 12, K1);
    launch_on(6, 12, K2);
    deed(HB_GRAPH_CAPTURED, 80, GRAPH + 1, 0, 0);
    deed(HB_GRAPH_MADE, 90, GRAPH + 1, EXEC + 1, 0);
    deed(HB_GRAPH_RUN, 100, 0, EXEC + 1, 72);
    finish((hb_trace_event[]){operator(11, 0, 10, 0), operator(12, 70, 80, 0)}, 2);
    for (int pass = 0; pass < 2; pass++) {
        static const uint32_t expected[] = {K1, K2, K1, 0};
        for (int i = 0; i < 4; i++)
            assert_int_equal(hb_graph_replays_kernel(&graphs, 71), expected[i]);
        assert_int_equal(hb_graph_replays_kernel(&graphs, 72), 0);
        assert_int_equal(hb_graph_replays_kernel(&graphs, 73), 0);
        hb_graph_replays_rewind(&graphs);
    }
}

/* An annotation with operators that count nothing, in it; one that counts all within it, also the
 * launches of another, of an annotation and of an operator with FLOPs of its own; the same again on
 * another thread, and one that begins where it ends. */
static void the_outermost_operator_with_flops_counts_them(void **state)
{
    hb_trace_event events[] = {
        scope(HB_EVENT_USER_ANNOTATION, 20, 0, 100, 0),
        operator(21, 10, 20, 0),
        operator(22, 20, 90, 1000),
        operator(23, 20, 50, 5),
        scope(HB_EVENT_USER_ANNOTATION, 24, 50, 60, 0),
        operator(25, 90, 95, 30),
        operator(26, 30, 40, 4),
    };
    (void)state;
    events[6].tid = 2;
    for (uint64_t id = 20; id <= 26; id++) {
        launch(id, K1);
        launch(id, K1);
    }
    launch(0, K1);
    deed(HB_GRAPH_CAPTURED, 200, GRAPH, 0, 0);
    deed(HB_GRAPH_MADE, 210, GRAPH, EXEC, 0);
    deed(HB_GRAPH_RUN, 220, 0, EXEC, 1);
    finish(events, 7);
    check_run(1, 1034, "op21, op22, op25, op26");
    static const uint32_t expected[] = {0, 21, 22, 22, 22, 25, 26};
    for (uint64_t id = 20; id <= 26; id++) {
        assert_int_equal(hb_graph_replays_operator(&graphs, 1, id, K1), expected[id - 20]);
        bool counts = id == 22 || id == 25 || id == 26;
        assert_int_equal(hb_graph_replays_holds(&graphs, id), counts);
    }
    assert_false(hb_graph_replays_holds(&graphs, 0));
}

static void many_names_are_told_shortly(void **state)
{
    hb_trace_event events[24];
    (void)state;
    for (int i = 0; i < 24; i++) {
        events[i] = operator((uint64_t)(100 + i), 10 * i, 10 * i + 10, 0);
        events[i].name_key = (uint32_t)(i < 12 ? i % 4 : i % 10);
        launch((uint64_t)(100 + i), K1);
        if (i == 11) deed(HB_GRAPH_CAPTURED, 500, GRAPH, 0, 0);
    }
    events[0].name_key = 0; /* unnamed */
    deed(HB_GRAPH_CAPTURED, 500, GRAPH + 1, 0, 0);
    for (uint64_t i = 0; i < 2; i++) {
        deed(HB_GRAPH_MADE, 600, GRAPH + i, EXEC + i, 0);
        deed(HB_GRAPH_RUN, 700, 0, EXEC + i, 1 + i);
    }
    finish(events, 24);
    check_run(1, 0, "op1 x3, op2 x3, op3 x3");
    /* 2 3 4 5 6 7 8 9 0 1 2 3 by their keys, of which 0 is none */
    check_run(2, 0, "op2 x2, op3 x2, op4, op5, op6, op7, op8, op9 and 1 others");
    check_run(1, 0, "op1 x3, op2 x3, op3 x3");
}

static void an_address_means_what_it_was_given_for_last(void **state)
{
    const hb_trace_event events[] =
        {operator(1, 0, 10, 10), operator(2, 10, 20, 200), operator(3, 20, 30, 3000)};
    (void)state;
    launch(1, K1);
    deed(HB_GRAPH_CAPTURED, 100, GRAPH, 0, 0);
    deed(HB_GRAPH_MADE, 110, GRAPH, EXEC, 0);
    deed(HB_GRAPH_RUN, 109, 0, EXEC, 1); /* not made yet */
    deed(HB_GRAPH_RUN, 120, 0, EXEC, 2);
    launch(2, K1);
    deed(HB_GRAPH_CAPTURED, 130, GRAPH, 0, 0);
    deed(HB_GRAPH_RUN, 140, 0, EXEC, 3); /* of what the graph was when it was made */
    deed(HB_GRAPH_MADE, 150, GRAPH, EXEC + 1, 0);
    deed(HB_GRAPH_RUN, 160, 0, EXEC + 1, 4);
    launch(3, K1);
    deed(HB_GRAPH_CAPTURED, 170, GRAPH + 1, 0, 0);
    deed(HB_GRAPH_MADE, 180, GRAPH + 1, EXEC, 0); /* updated */
    deed(HB_GRAPH_RUN, 190, 0, EXEC, 5);
    deed(HB_GRAPH_RUN, 180, 0, EXEC, 6); /* at that very moment */
    deed(HB_GRAPH_RUN, 190, 0, EXEC + 2, 7);
    deed(99, 200, GRAPH, EXEC, 8);
    finish(events, 3);
    check_no_run(1);
    check_run(2, 10, "op1");
    check_run(3, 10, "op1");
    check_run(4, 200, "op2");
    check_run(5, 3000, "op3");
    check_run(6, 3000, "op3");
    check_no_run(7);
    check_no_run(8);
    assert_int_equal(graphs.unknown, 2);
}

/* Launches of a capture that another thread ended, or that nobody did, are no graph's of this one;
 * and what is no launch is none. */
static void graphs_are_made_of_their_threads_launches(void **state)
{
    const hb_trace_event events[] = {operator(1, 0, 10, 10), operator(2, 10, 20, 200)};
    (void)state;
    assert_false(hb_graph_replays_any(&graphs));
    launch(1, K1);
    assert_true(hb_graph_replays_any(&graphs));
    hb_graph_replays_begin_thread(&graphs);
    launch(2, K1);
    const hb_record_call copy = {.head = {.type = HB_RECORD_COPY, .units = sizeof copy / 8},
                                 .external_id = 1};
    hb_graph_replays_add_launch(&graphs, &copy);
    const hb_record_call unnamed = {.head = {.type = HB_RECORD_LAUNCH, .units = sizeof unnamed / 8},
                                    .external_id = 2};
    hb_graph_replays_add_launch(&graphs, &unnamed);
    deed(HB_GRAPH_CAPTURED, 100, GRAPH, 0, 0);
    deed(HB_GRAPH_MADE, 110, GRAPH, EXEC, 0);
    deed(HB_GRAPH_RUN, 120, 0, EXEC, 1);
    finish(events, 2);
    check_run(1, 200, "op2");
    assert_int_equal(owner(1, 0), 2);
    assert_int_equal(owner(1, K2), 0);
}

static void reported(uint64_t correlation, int times)
{
    for (int i = 0; i < times; i++)
        hb_graph_replays_reported(&graphs, correlation);
}

/* Runs of one graph do the same; of one that is known others count what is missing, and what an
 * address that was given anew meant before, nobody knows. */
static void what_some_runs_of_an_unknown_graph_lack_is_counted(void **state)
{
    const hb_trace_event events[] = {operator(1, 0, 10, 10)};
    (void)state;
    launch(1, K1);
    deed(HB_GRAPH_CAPTURED, 100, GRAPH, 0, 0);
    deed(HB_GRAPH_MADE, 110, GRAPH, EXEC, 0);
    deed(HB_GRAPH_RUN, 120, 0, EXEC, 1);
    deed(HB_GRAPH_RUN, 130, 0, EXEC, 2);
    for (uint64_t i = 0; i < 4; i++) {
        deed(HB_GRAPH_RUN, 140, 0, EXEC + 1, 10 + i);
        deed(HB_GRAPH_RUN, 140, 0, EXEC + 2, 20 + i);
    }
    deed(HB_GRAPH_RUN, 150, 0, EXEC + 3, 30);
    deed(HB_GRAPH_MADE, 160, GRAPH + 9, EXEC + 3, 0);
    deed(HB_GRAPH_RUN, 170, 0, EXEC + 3, 31);
    finish(events, 1);
    assert_int_equal(graphs.unknown, 10);
    assert_int_equal(hb_graph_replays_missing(&graphs), 0); /* none did anything */
    reported(2, 1);
    reported(31, 3);
    reported(99, 1);
    for (uint64_t i = 0; i < 4; i++)
        reported(20 + i, 2);
    assert_int_equal(hb_graph_replays_missing(&graphs), 0);
    reported(10, 5);
    reported(11, 5);
    reported(12, 3);
    assert_int_equal(hb_graph_replays_missing(&graphs), 7);
    reported(22, 1);
    assert_int_equal(hb_graph_replays_missing(&graphs), 10);
}

static void without_graphs_nothing_is_asked(void **state)
{
    const hb_trace_event events[] = {operator(1, 0, 10, 10)};
    (void)state;
    finish(events, 1);
    check_no_run(1);
    assert_int_equal(owner(1, K1), 0);
    assert_false(hb_graph_replays_holds(&graphs, 1));
    hb_graph_replays_rewind(&graphs);
    deed(HB_GRAPH_RUN, 10, 0, EXEC, 1); /* of a graph that was made before */
    finish(events, 1);
    check_no_run(1);
    assert_int_equal(graphs.unknown, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kernels_are_given_out_in_the_order_of_the_capture, begin,
                                        end),
        cmocka_unit_test_setup_teardown(kernels_without_names_have_those_of_one_stream, begin, end),
        cmocka_unit_test_setup_teardown(the_outermost_operator_with_flops_counts_them, begin, end),
        cmocka_unit_test_setup_teardown(many_names_are_told_shortly, begin, end),
        cmocka_unit_test_setup_teardown(an_address_means_what_it_was_given_for_last, begin, end),
        cmocka_unit_test_setup_teardown(graphs_are_made_of_their_threads_launches, begin, end),
        cmocka_unit_test_setup_teardown(what_some_runs_of_an_unknown_graph_lack_is_counted, begin,
                                        end),
        cmocka_unit_test_setup_teardown(without_graphs_nothing_is_asked, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
