/* SPDX-License-Identifier: MIT
 *
 * Conversions of small traces, each with one thing that the plugin cannot take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <hipboard/convert.h>

#include "convert/convert.h"
#include "trace_text.h"

typedef struct fixture {
    char directory[64], input[96];
    hb_convert_options options;
    hb_conversion *conversion;
    char *text; /* of the first file */
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->options = (hb_convert_options)HB_CONVERT_OPTIONS_INIT;
    f->options.replace = true;
    strcpy(f->directory, "/tmp/hipboard-convert-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    snprintf(f->input, sizeof f->input, "%s/in.json", f->directory);
    *state = f;
    return 0;
}

static void forget(fixture *f)
{
    for (size_t i = 0; f->conversion && i < f->conversion->num_paths; i++)
        unlink(f->conversion->paths[i]);
    hb_conversion_free(f->conversion);
    free(f->text);
    f->conversion = NULL;
    f->text = NULL;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    forget(f);
    unlink(f->input);
    rmdir(f->directory);
    free(f);
    return 0;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    assert_true(size > 0);
    fclose(file);
    return text;
}

static hb_result convert_text(fixture *f, const char *text)
{
    forget(f);
    FILE *file = fopen(f->input, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    hb_result result = hb_convert(f->input, f->directory, "out", &f->options, &f->conversion);
    if (result == HB_OK) f->text = read_file(f->conversion->paths[0]);
    return result;
}

#define convert(f, ...) \
    convert_text(f, TRACE_WITH("\"deviceProperties\": [{\"id\": 0, \"numSms\": 4}], ", __VA_ARGS__))

static uint64_t count(const fixture *f, const char *key)
{
    for (size_t i = 0; i < f->conversion->num_notes; i++)
        if (strcmp(f->conversion->notes[i].key, key) == 0) return f->conversion->notes[i].count;
    return 0;
}

#define assert_has(f, part)   assert_non_null(strstr((f)->text, part))
#define assert_lacks(f, part) assert_null(strstr((f)->text, part))

#define X(cat, name, tid, ts, dur, args)                                              \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":7,\"tid\":" #tid \
    ",\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" args "}}"
#define KERNEL(ts, dur, args)                                                         \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":3,\"tid\":9,\"ts\":" #ts \
    ",\"dur\":" #dur ",\"args\":{\"device\": 3, " args "}}"

static void calls_and_kernels_are_linked(void **state)
{
    fixture *f = *state;
    assert_int_equal(
        convert(f, X("cpu_op", "op", 1, 0, 9, "\"External id\": 5"),
                X("cuda_driver", "hipLaunchKernel", 1, 1, 1, "\"correlation\": 8"),
                KERNEL(4, 2, "\"grid\": [2, 3, 4], \"External id\": 5, \"correlation\": 8")),
        HB_OK);
    assert_has(f, "\"cat\":\"Runtime\"");
    assert_has(f, "{\"External id\": 5, \"correlation\": 8}");
    assert_has(f, "\"pid\":0,\"tid\":9");
    assert_has(f, "{\"blocks per SM\": 6, \"device\": 0, ");
    assert_int_equal(count(f, "runtime_category"), 1);
    assert_int_equal(count(f, "call_linked"), 1);
    assert_int_equal(count(f, "device_number"), 1);
    assert_int_equal(count(f, "no_occupancy"), 1);
    assert_int_equal(f->conversion->events, 3);
    assert_false(f->conversion->identical);
}

static void calls_outside_operators_have_no_owner(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, X("cuda_runtime", "hipFree", 1, 1, 1, "\"correlation\": 8")),
                     HB_OK);
    assert_has(f, "{\"External id\": 0, \"correlation\": 8}");
    assert_int_equal(count(f, "call_outside"), 1);
}

static void known_scopes_become_operators_and_others_do_not(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, X("user_annotation", "Optimizer.step#SGD", 1, 0, 9, ""),
                             X("user_annotation", "mine", 1, 20, 9, "")),
                     HB_OK);
    assert_has(f, "\"cat\":\"cpu_op\",\"name\":\"Optimizer.step#SGD\"");
    assert_has(f, "\"cat\":\"user_annotation\",\"name\":\"mine\"");
    assert_int_equal(count(f, "scope_category"), 1);
}

static void hip_memory_becomes_gpu_memory(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":1,\"tid\":1,\"pid\":1,"
                                "\"args\":{\"Device Type\": 6, \"Device Id\": 1, \"Bytes\": 4}}"),
                     HB_OK);
    assert_has(f, "\"Device Type\": 1, \"Device Id\": 1");
    assert_has(f, "{\"id\": 0, \"numSms\": 4}, {\"id\": 1, \"name\": \"\"}]");
    assert_int_equal(count(f, "memory_type"), 1);
    assert_int_equal(count(f, "device_properties"), 1);
}

#define ALLOCATED      "\"Total Allocated\": \"X\", "
#define FIVE_ALLOCATED ALLOCATED ALLOCATED ALLOCATED ALLOCATED ALLOCATED
#define MEMORY(...)                                                                           \
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":1,\"tid\":1,\"pid\":1,\"args\":{" __VA_ARGS__ \
    "\"Device Type\": 0, \"Device Id\": -1, \"Bytes\": 4}}"

/* Of totals that stand twice the last counts: a number in front of it is told no more either. */
static void odd_totals_of_memory_are_told_under_another_name(void **state)
{
    fixture *f = *state;
    assert_int_equal(
        convert(f, MEMORY("\"Total Allocated\": 5, " ALLOCATED "\"Total Reserved\": 2, ")), HB_OK);
    assert_has(f, "\"Total Allocated (as told)\": 5, \"Total Allocated (as told)\": \"X\"");
    assert_has(f, "\"Total Reserved\": 2");
    assert_int_equal(count(f, "odd_event"), 1);
    assert_int_equal(
        convert(f, MEMORY(ALLOCATED "\"Total Allocated\": 5, \"Total Reserved\": [], ")), HB_OK);
    assert_has(f, "\"Total Allocated\": \"X\", \"Total Allocated\": 5");
    assert_has(f, "\"Total Reserved (as told)\": []");
}

/* What would have to be changed in too many places is not written with some of them. */
static void what_is_odd_all_over_is_left_out(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, X("cpu_op", "whole", 1, 0, 1, ""),
                             MEMORY(FIVE_ALLOCATED FIVE_ALLOCATED FIVE_ALLOCATED FIVE_ALLOCATED)),
                     HB_OK);
    assert_int_equal(count(f, "event_lost"), 1);
    assert_has(f, "whole");
    assert_lacks(f, "[memory]");
}

/* Of each of these the plugin would lose the whole file. */
static void what_would_lose_the_file_is_drawn_only(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, X("cpu_op", "a", 1, 0, 9, ""), "3",
                             X("user_annotation", "ProfilerStep#", 1, 0, 9, ""),
                             X("python_function", "nccl:all_reduce", 1, 1, 5,
                               "\"Python module id\": 0, \"Python id\": 1")),
                     HB_OK);
    assert_int_equal(count(f, "odd_event"), 3);
    assert_has(f, "\"cat\":\"outside_tree\",\"name\":\"ProfilerStep#\"");
    assert_has(f, "\"cat\":\"outside_tree\",\"name\":\"nccl:all_reduce\"");
    assert_lacks(f, " 3,");
    assert_lacks(f, "\n3,");
}

/* By their order, in whatever order they come; those that are numbers already stay. */
static void numbers_of_agents_become_numbers_of_gpus(void **state)
{
#define ON(device, ts)                                                                          \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":" #device ",\"tid\":9,\"ts\":" #ts \
    ",\"dur\":1,\"args\":{\"device\": " #device "}}"
#define OF_THREE \
    "{\"deviceProperties\": [{\"id\": 0}, {\"id\": 1}, {\"id\": 2}], \"traceEvents\": ["
    static const struct {
        const char *text;
        int devices[4];
    } rows[] = {
        {OF_THREE ON(9, 1) "," ON(5, 2) "," ON(7, 3) "," ON(5, 4) "]}", {2, 0, 1, 0}},
        {OF_THREE ON(5, 1) "," ON(7, 2) "," ON(9, 3) "," ON(7, 4) "]}", {0, 1, 2, 1}},
        {OF_THREE ON(2, 1) "," ON(0, 2) "," ON(1, 3) "," ON(2, 4) "]}", {2, 0, 1, 2}},
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(convert_text(f, rows[i].text), HB_OK);
        const char *at = f->text;
        for (int k = 0; k < 4; k++) {
            at = strstr(at + 1, "\"device\":");
            assert_non_null(at);
            assert_int_equal(atoi(at + 9), rows[i].devices[k]);
        }
        assert_null(strstr(at + 1, "\"device\":"));
    }
}

static void broken_properties_are_mended(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert_text(f, "{\"deviceProperties\": [{\"na\\me\": \"x\\y\"}], "
                                     "\"traceEvents\": [" KERNEL(1, 1, "\"x\": 1") "]}"),
                     HB_OK);
    assert_has(f, "\"na\\\\me\": \"x\\\\y\"");
    for (int n = 150; n < 250; n++) { /* up to the end of whatever room they are mended in */
        char text[600];
        snprintf(text, sizeof text,
                 "{\"deviceProperties\": [{\"na\\me\": \"%0*d\", \"computeMajor\": \"9\"}], "
                 "\"traceEvents\": [" KERNEL(1, 1, "\"x\": 1") "]}",
                 n, 7);
        assert_int_equal(convert_text(f, text), HB_OK);
        assert_has(f, "07\", \"computeMajor\": 9}]");
    }
}

/* The rounding overhang is cut off; a real crossing is taken out, and its call given to the scope
 * around it. */
static void scopes_nest(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, X("cpu_op", "a", 1, 0, 100, "\"External id\": 1"),
                             X("cpu_op", "b", 1, 90, 10.5, "\"External id\": 2"),
                             X("cpu_op", "c", 1, 50, 70, "\"External id\": 3"),
                             X("Runtime", "hipLaunchKernel", 1, 60, 1,
                               "\"External id\": 3, \"correlation\": 8")),
                     HB_OK);
    assert_has(f, "\"ts\":90,\"dur\":10,");
    assert_has(f, "\"cat\":\"outside_tree\",\"name\":\"c\"");
    assert_has(f, "\"External id\": 1, \"correlation\": 8");
    assert_int_equal(count(f, "scope_trimmed"), 1);
    assert_int_equal(count(f, "scope_crossing"), 1);
}

/* The plugin merges an operator with its only child of the same name and drops its calls. */
static void calls_of_merged_operators_move_to_the_child(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, X("cpu_op", "a", 1, 0, 100, "\"External id\": 1"),
                             X("cpu_op", "a", 1, 10, 10, "\"External id\": 2"),
                             X("Runtime", "hipLaunchKernel", 1, 60, 1,
                               "\"External id\": 1, \"correlation\": 8")),
                     HB_OK);
    assert_has(f, "\"External id\": 2, \"correlation\": 8");
}

/* Of two operators with one id one is hidden, as it crosses another's end. */
static void calls_stay_with_the_operator_that_is_left_of_an_id(void **state)
{
    fixture *f = *state;
    assert_int_equal(
        convert(f, X("cpu_op", "a", 1, 0, 100, "\"External id\": 3"),
                X("cpu_op", "b", 1, 50, 70, "\"External id\": 1"),
                X("cpu_op", "c", 1, 200, 10, "\"External id\": 1"),
                X("Runtime", "hipFree", 1, 205, 1, "\"External id\": 1, \"correlation\": 4")),
        HB_OK);
    assert_int_equal(count(f, "scope_crossing"), 1);
    assert_has(f, "\"ts\":205,\"dur\":1,\"args\":{\"External id\": 1,");
}

/* Its id is its own correlation, and by accident that of an operator that merges with another. */
/* 0 is no id: calls with it are outside of all operators, whatever has it beside them. */
static void calls_without_an_id_are_not_moved(void **state)
{
    fixture *f = *state;
    assert_int_equal(
        convert(f, X("cpu_op", "a", 1, 0, 100, "\"External id\": 0"),
                X("cpu_op", "a", 1, 10, 80, "\"External id\": 78"),
                X("Runtime", "hipFree", 1, 200, 1, "\"External id\": 0, \"correlation\": 4")),
        HB_OK);
    assert_has(f, "\"ts\":200,\"dur\":1,\"args\":{\"External id\": 0,");
}

static void calls_are_linked_before_they_are_moved(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, X("cpu_op", "conv", 1, 1000, 500, "\"External id\": 84"),
                             X("cuda_runtime", "cudaLaunchKernel", 1, 1100, 20,
                               "\"External id\": 4931, \"correlation\": 4931"),
                             KERNEL(1200, 30, "\"External id\": 4931, \"correlation\": 4931"),
                             X("cpu_op", "copy_", 1, 3000, 10, "\"External id\": 4931"),
                             X("cpu_op", "copy_", 1, 3000, 9, "\"External id\": 4930")),
                     HB_OK);
    assert_has(f, "\"ts\":1100,\"dur\":20,\"args\":{\"External id\": 84, \"correlation\": 4931}");
    assert_int_equal(count(f, "no_operator"), 0);
}

/* The plugin drops work whose call has an id that it finds nowhere. */
static void calls_with_an_id_that_nobody_has_belong_to_their_thread(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, X("cpu_op", "op", 1, 0, 9, "\"External id\": 5"),
                             X("Runtime", "hipLaunchKernel", 1, 20, 1,
                               "\"External id\": 77, \"correlation\": 8"),
                             KERNEL(30, 2, "\"External id\": 77, \"correlation\": 8")),
                     HB_OK);
    assert_has(f, "{\"External id\": 0, \"correlation\": 8}");
    assert_int_equal(count(f, "call_outside"), 1);
    assert_int_equal(count(f, "no_operator"), 1);
}

static void calls_of_a_step_stay_the_steps(void **state)
{
    fixture *f = *state;
    assert_int_equal(
        convert(
            f, X("user_annotation", "ProfilerStep#1", 1, 0, 90, "\"External id\": 77"),
            X("cpu_op", "op", 1, 0, 9, "\"External id\": 5"),
            X("Runtime", "hipLaunchKernel", 1, 20, 1, "\"External id\": 77, \"correlation\": 8"),
            KERNEL(30, 2, "\"External id\": 77, \"correlation\": 8")),
        HB_OK);
    assert_has(f, "{\"External id\": 77, \"correlation\": 8}");
}

#define RANK(pid, tid, op, id, at, dur)                                                     \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" op "\",\"pid\":" pid ",\"tid\":" tid     \
    ",\"ts\":" #at ",\"dur\":9,\"args\":{\"External id\": " #id "}}",                       \
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":" pid \
        ",\"tid\":" tid ",\"ts\":" #at ",\"dur\":2,\"args\":{\"External id\": " #id         \
        ", \"correlation\": 7}}"
#define RANK_KERNEL(device, id, at, dur)                                                        \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":" #device ",\"tid\":7,\"ts\":" #at \
    ",\"dur\":" #dur ",\"args\":{\"device\": " #device ", \"External id\": " #id ", "           \
    "\"correlation\": 7}}"

/* Each process counts its ids on its own; the plugin knows one numbering only. */
static void ids_are_a_processs_own(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, RANK("100", "1", "first", 5, 10, 9), RANK_KERNEL(0, 5, 13, 4),
                             RANK("200", "2", "second", 5, 11, 9), RANK_KERNEL(1, 5, 14, 6)),
                     HB_OK);
    assert_has(f, "\"name\":\"second\",\"pid\":200,\"tid\":2,\"ts\":11,\"dur\":9,"
                  "\"args\":{\"External id\": 13}");
    assert_has(f, "\"args\":{\"External id\": 13, \"correlation\": 15}");
    assert_has(f, "\"device\": 1, \"External id\": 13, \"correlation\": 15}}");
    assert_has(f, "\"device\": 0, \"External id\": 5, \"correlation\": 7}}");
    assert_int_equal(count(f, "process_ids"), 3);
    assert_int_equal(count(f, "no_operator"), 0);
    /* What they do not share is left alone. */
    assert_int_equal(convert(f, RANK("100", "1", "first", 5, 10, 9), RANK_KERNEL(0, 5, 13, 4),
                             X("cpu_op", "third", 3, 10, 5, "\"External id\": 6")),
                     HB_OK);
    assert_int_equal(count(f, "process_ids"), 0);
}

/* Where there are operators, calls of a process that has none are of theirs. One that is not shown,
 * as it is on no thread, is none. */
static void what_is_not_shown_has_no_ids_to_share(void **state)
{
    fixture *f = *state;
    static const char calls[] =
        "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"hipFree\",\"pid\":100,\"tid\":1,\"ts\":1,"
        "\"dur\":2,\"args\":{\"External id\": 5}},"
        "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"hipFree\",\"pid\":200,\"tid\":2,\"ts\":1,"
        "\"dur\":2,\"args\":{\"External id\": 5}}";
    static const char *const scopes[] = {
        "", ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":100,\"ts\":0,\"dur\":9,"
            "\"args\":{\"External id\": 5}}"};
    for (size_t i = 0; i < HB_ARRAY_LEN(scopes); i++) {
        char text[1000];
        snprintf(text, sizeof text, "{\"traceEvents\": [%s%s]}", calls, scopes[i]);
        assert_int_equal(convert_text(f, text), HB_OK);
        assert_int_equal(count(f, "process_ids"), 1);
    }
}

/* Numbers of their own must not be others', or the next conversion gives them others again. */
static void converted_once_damaged_ids_stay(void **state)
{
    fixture *f = *state;
    assert_int_equal(
        convert(f, X("cpu_op", "a", 1, 0, 9, "\"External id\": 5"),
                X("cpu_op", "b", 2, 0, 9, "\"External id\": -1"),
                "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"pid\":8,\"tid\":3,\"ts\":1,"
                "\"dur\":3,\"args\":{\"External id\": -1}}"),
        HB_OK);
    char *once = f->text;
    f->text = NULL;
    assert_non_null(strstr(once, "\"External id\": 6"));
    assert_int_equal(convert_text(f, once), HB_OK);
    assert_string_equal(f->text, once);
    free(once);
}

/* Numbers in quotes are unquoted as those that they were taken for: else the next conversion takes
 * them for others, and finds this call in the operator. */
static void numbers_in_quotes_stay_themselves(void **state)
{
    fixture *f = *state;
    assert_int_equal(
        convert(
            f,
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":7,\"tid\":9007199254740992,"
            "\"ts\":1,\"dur\":9,\"args\":{\"External id\":7}}",
            "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"hipLaunchKernel\",\"pid\":7,\"ts\":\"2."
            "5\","
            "\"dur\":1,\"tid\":\"9007199254740993\",\"args\":{\"correlation\":8}}",
            KERNEL(3, 1, "\"correlation\": 8")),
        HB_OK);
    assert_has(f, "\"tid\":9007199254740993,");
    assert_has(f, "\"ts\":2.5,");
    assert_has(f, "{\"External id\": 0, \"correlation\":8}");
    /* To the plugin "8" is another than 8. */
    assert_int_equal(
        convert(f, X("cpu_op", "a", 1, 0, 9, "\"External id\": 5"),
                X("Runtime", "hipLaunchKernel", 1, 1, 1,
                  "\"correlation\": \"8\", \"external id\": \"5\", \"External id\": \"5\""),
                KERNEL(3, 1, "\"correlation\": 8")),
        HB_OK);
    assert_has(f, "{\"correlation\": 8, \"external id\": 5, \"External id\": 5}");
}

static void threads_are_a_processs_own(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, RANK("\"[rank0] 1\"", "1", "first", 5, 10, 9),
                             RANK("\"[rank1] 1\"", "1", "second", 5, 11, 9)),
                     HB_OK);
    assert_has(f, "\"name\":\"second\",\"pid\":\"[rank1] 1\",\"tid\":3,");
}

#define LATE_WORK(call_us)                                                                        \
    X("user_annotation", "ProfilerStep#1", 1, 0, 10, ""),                                         \
        X("Runtime", "hipLaunchKernel", 1, 2, call_us, "\"External id\": 0, \"correlation\": 8"), \
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":0,\"ts\":5,"           \
        "\"dur\":50,\"args\":{\"device\":0,\"correlation\":8}}",                                  \
        X("user_annotation", "ProfilerStep#2", 1, 20, 10, "")

static void steps_have_a_length(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f, LATE_WORK(8), X("user_annotation", "ProfilerStep#3", 1, 60, 0, ""),
                             X("gpu_user_annotation", "ProfilerStep#1", 1, 5, 50, "")),
                     HB_OK);
    assert_has(f, "\"cat\":\"outside_tree\",\"name\":\"ProfilerStep#2\"");
    assert_has(f, "\"ts\":60,\"dur\":0.001");
    assert_int_equal(count(f, "step_hidden"), 1);
    assert_int_equal(count(f, "step_lengthened"), 1);
    assert_int_equal(count(f, "gpu_step"), 1);
    /* A call that ends behind its step is in none. */
    assert_int_equal(convert(f, LATE_WORK(8.001)), HB_OK);
    assert_int_equal(count(f, "step_hidden"), 0);
    /* There is no later time. */
    assert_int_equal(
        convert(f, X("user_annotation", "ProfilerStep#1", 1, 1.7976931348623157e308, 0, "")),
        HB_OK);
    assert_has(f, "\"cat\":\"outside_tree\",\"name\":\"ProfilerStep#1\"");
    assert_has(f, "\"dur\":0,");
}

/* Older traces have steps as operators, with ids. */
static void hidden_steps_own_no_calls(void **state)
{
    fixture *f = *state;
    assert_int_equal(
        convert(f, X("user_annotation", "ProfilerStep#1", 7, 0, 900, "\"External id\": 9"),
                X("cpu_op", "a", 7, 18, 20, "\"External id\": 4"),
                X("cpu_op", "ProfilerStep#2", 7, 20, 8, "\"External id\": 1"),
                X("Runtime", "hipLaunchKernel", 7, 21, 3, "\"External id\": 1, \"correlation\": 1"),
                KERNEL(22, 6, "\"External id\": 1, \"correlation\": 1")),
        HB_OK);
    assert_int_equal(count(f, "step_hidden"), 1);
    assert_has(f, "\"ts\":21,\"dur\":3,\"args\":{\"External id\": 4,");
}

static void broken_text_is_mended(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f,
                             "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"a \"b\" c\\d\t\",\"ts\":1,"
                             "\"dur\":N/A, \"pid\":1,\"tid\":1,\"args\":null}"),
                     HB_OK);
    assert_has(f, "\"a \\\"b\\\" c\\\\d\\t\"");
    assert_has(f, "\"dur\":\"N/A\"");
    assert_has(f, "\"args\":{}");
    assert_int_equal(count(f, "text_mended"), 1);
}

/* So many texts of one event are not kept in mind. What stays is written anew, and is JSON. */
/* Also where it is no event's: then there is nothing else to change. */
static void broken_keys_and_elements_are_mended(void **state)
{
    static const char *const broken[] = {
        "{\"a\\q\": 1, \"traceEvents\": [" X("cpu_op", "a", 1, 0, 1, "") "]}",
        "{\"traceEvents\": [\"a\\q\", " X("cpu_op", "a", 1, 0, 1, "") "]}"};
    fixture *f = *state;
    for (size_t i = 0; i < HB_ARRAY_LEN(broken); i++) {
        assert_int_equal(convert_text(f, broken[i]), HB_OK);
        assert_int_equal(count(f, "text_mended"), 1);
        assert_false(f->conversion->identical);
        assert_lacks(f, "\"a\\q\"");
        assert_has(f, "\"name\":\"a\"");
    }
    assert_int_equal(convert_text(f, "{\"trace\\u0045vents\": [], \"traceEvents\": [" X(
                                         "cpu_op", "a", 1, 0, 1, "") "]}"),
                     HB_OK);
    assert_non_null(strstr(f->text, "\"traceEvents\""));
    assert_null(strstr(strstr(f->text, "\"traceEvents\"") + 1, "\"traceEvents\""));
}

static void what_is_too_broken_is_left_out(void **state)
{
#define BROKEN "\"a \"b\" c\","
    fixture *f = *state;
    assert_int_equal(
        convert_text(f, TRACE(X("cpu_op", "whole", 1, 0, 1, ""),
                              X("cpu_op", "broken", 1, 2, 1,
                                "\"a\":" BROKEN "\"b\":" BROKEN "\"c\":" BROKEN "\"d\":" BROKEN
                                "\"e\":" BROKEN "\"f\":" BROKEN "\"g\":" BROKEN "\"h\":" BROKEN
                                "\"i\":" BROKEN "\"j\":1"))),
        HB_OK);
#undef BROKEN
    assert_int_equal(count(f, "event_lost"), 1);
    assert_has(f, "whole");
    assert_lacks(f, "broken");
    assert_false(f->conversion->identical);
    assert_int_equal(convert_text(f, "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                                     "N/A\"x\\y\",\"pid\":3,\"tid\":9,\"ts\":1,\"dur\":1}]}"),
                     HB_ERROR_FORMAT);
    assert_non_null(strstr(hb_last_error(), "too broken to keep"));
}

static void a_truncated_file_keeps_what_is_whole(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert_text(f, "{\"traceEvents\": [" X("cpu_op", "a", 1, 0, 1, "") ",{\"ph"),
                     HB_OK);
    assert_int_equal(f->conversion->events, 1);
    assert_int_equal(count(f, "truncated"), 1);
}

static void kineto_tells_what_is_in_no_operator(void **state)
{
    fixture *f = *state;
    f->options.kineto = true;
    assert_int_equal(convert(f, X("cpu_op", "op", 1, 0, 9, "\"External id\": 5"),
                             X("cuda_runtime", "hipLaunchKernel", 1, 1, 1,
                               "\"External id\": 5, \"correlation\": 8"),
                             KERNEL(4, 2, "\"External id\": 5, \"correlation\": 8")),
                     HB_OK);
    assert_int_equal(count(f, "no_operator"), 0);
    assert_true(f->conversion->identical);
    assert_int_equal(convert(f, X("cpu_op", "op", 1, 0, 9, "\"External id\": 5"),
                             X("cuda_runtime", "hipLaunchKernel", 1, 20, 1,
                               "\"External id\": 6, \"correlation\": 8"),
                             KERNEL(24, 2, "\"External id\": 6, \"correlation\": 8")),
                     HB_OK);
    assert_int_equal(count(f, "no_operator"), 1);
    assert_true(f->conversion->identical);
}

static void what_needs_nothing_is_copied(void **state)
{
    static const char text[] =
        " {\"traceEvents\" :[\n" X("cpu_op", "a", 1, 0.500, 1e0, "") "] }\n\n";
    fixture *f = *state;
    assert_int_equal(convert_text(f, text), HB_OK);
    assert_string_equal(f->text, text);
    assert_true(f->conversion->identical);
}

static void kineto_gets_its_categories_back(void **state)
{
    fixture *f = *state;
    f->options.kineto = true;
    assert_int_equal(convert(f, X("Runtime", "hipFree", 1, 0, 1, ""),
                             X("outside_tree", "s", 1, 5, 1, ""), KERNEL(9, 1, "\"x\": 1")),
                     HB_OK);
    assert_has(f, "\"cat\":\"cuda_runtime\",\"name\":\"hipFree\"");
    assert_has(f, "\"cat\":\"user_annotation\",\"name\":\"s\"");
    assert_has(f, "\"device\": 3");
}

#define TWO_STEPS                                                                                \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"ts\":0,\"pid\":7,\"args\":{}}",                   \
        X("user_annotation", "ProfilerStep#1", 1, 0, 10, ""), X("cpu_op", "first", 1, 1, 2, ""), \
        X("Runtime", "hipLaunchKernel", 1, 2, 1, "\"External id\": 0, \"correlation\": 8"),      \
        X("user_annotation", "ProfilerStep#2", 1, 10, 10, ""),                                   \
        X("cpu_op", "second", 1, 11, 2, ""),                                                     \
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"late\",\"pid\":0,\"tid\":0,\"ts\":12,"      \
        "\"dur\":5,\"args\":{\"device\":0,\"correlation\":8}}"

static void steps_are_cut_out_with_their_device_work(void **state)
{
    fixture *f = *state;
    f->options.last_step = 1;
    assert_int_equal(convert(f, TWO_STEPS), HB_OK);
    assert_has(f, "process_name");
    assert_has(f, "first");
    assert_has(f, "late");
    assert_lacks(f, "second");
    f->options.first_step = f->options.last_step = 3;
    assert_int_equal(convert(f, TWO_STEPS), HB_ERROR_NOT_FOUND);
}

static void a_large_trace_is_cut_between_steps(void **state)
{
    fixture *f = *state;
    f->options.max_size = 900;
    assert_int_equal(convert(f, TWO_STEPS), HB_OK);
    assert_int_equal(f->conversion->num_paths, 2);
    assert_non_null(strstr(f->conversion->paths[1], "/out.0002.pt.trace.json"));
    assert_has(f, "late");
    assert_lacks(f, "second");
    char *second = read_file(f->conversion->paths[1]);
    assert_non_null(strstr(second, "second"));
    assert_non_null(strstr(second, "process_name"));
    assert_null(strstr(second, "first"));
    free(second);
}

static void errors_are_told(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert_text(f, "not JSON"), HB_ERROR_FORMAT);
    assert_int_equal(convert(f, ""), HB_ERROR_FORMAT);
    assert_int_equal(convert(f, TWO_STEPS), HB_OK);
    f->options.replace = false;
    hb_conversion *again;
    assert_int_equal(hb_convert(f->input, f->directory, "out", &f->options, &again),
                     HB_ERROR_STATE);
    assert_null(again);
    assert_int_equal(hb_convert("/nonexistent", f->directory, "x", NULL, &again), HB_ERROR_IO);
}

#define AROUND_A_TIME                                                             \
    X("cpu_op", "before", 1, 1000, 5, ""), X("cpu_op", "inside", 1, 1012, 5, ""), \
        X("Runtime", "call", 1, 1013, 1, "\"correlation\": 3"),                   \
        X("kernel", "late", 0, 1500, 9, "\"correlation\": 3, \"device\": 0"),     \
        X("cpu_op", "behind", 1, 1020, 5, ""),                                    \
        "{\"ph\":\"s\",\"cat\":\"forward_backward\",\"name\":\"flow\",\"id\":1,\"ts\":1013}"

static void a_time_is_cut_out_with_its_device_work(void **state)
{
    fixture *f = *state;
    f->options.start_us = 10;
    f->options.end_us = 20;
    assert_int_equal(convert(f, AROUND_A_TIME), HB_OK);
    assert_has(f, "inside");
    assert_has(f, "late");
    assert_lacks(f, "before");
    assert_lacks(f, "behind");
    assert_has(f, "fwdbwd");
    assert_int_equal(count(f, "broken_flow"), 1);
    f->options.start_us = f->options.end_us = 0;
    assert_int_equal(convert(f, AROUND_A_TIME), HB_OK);
    assert_has(f, "\"forward_backward\"");
    assert_int_equal(count(f, "broken_flow"), 0);
}

static void collectives_get_types_for_their_dims(void **state)
{
    fixture *f = *state;
    assert_int_equal(convert(f,
                             X("cpu_op", "nccl:all_reduce", 1, 0, 1, "\"Input Dims\": [[4], [2]]"),
                             X("cpu_op", "nccl:reduce", 1, 2, 1,
                               "\"Input Dims\": [[4], [2]], \"Input type\": "
                               "[\"float\"]"),
                             X("cpu_op", "gloo:broadcast", 1, 4, 1,
                               "\"Input Dims\": [[[4], [4]]], \"Input type\": [\"float\"]"),
                             X("cpu_op", "aten::cat", 1, 6, 1, "\"Input Dims\": [[[4], [4]]]")),
                     HB_OK);
    assert_int_equal(count(f, "collective_inputs"), 3);
    assert_has(f, "{\"Input type\": [\"\", \"\"], \"Input Dims\": [[4], [2]]}");
    assert_has(f, "[\"float\", \"\"]");
    assert_has(f, "\"Input Dims\": [], \"Input type\": [\"float\"]");
    assert_has(f, "{\"Input Dims\": [[[4], [4]]]}"); /* of no collective */
}

static void capabilities_become_numbers(void **state)
{
    fixture *f = *state;
    assert_int_equal(
        convert_text(f, "{\"deviceProperties\": [{\"id\": 0, \"computeMajor\": \"9\", "
                        "\"computeMinor\" : \"0\", \"name\": \"8\"}], \"traceEvents\": [" X(
                            "cpu_op", "a", 1, 0, 1, "") "]}"),
        HB_OK);
    assert_int_equal(count(f, "compute_text"), 2);
    assert_has(f, "\"computeMajor\": 9, \"computeMinor\" : 0, \"name\": \"8\"");
    /* JSON knows no naughts in front of a number. */
    assert_int_equal(
        convert_text(f, "{\"deviceProperties\": [{\"id\": 0, \"computeMajor\": \"009\", "
                        "\"computeMinor\": \"00\", \"name\": \"8\"}], \"traceEvents\": [" X(
                            "cpu_op", "a", 1, 0, 1, "") "]}"),
        HB_OK);
    assert_has(f, "\"computeMajor\": 9, \"computeMinor\": 0, \"name\": \"8\"");
}

/* ---- times of another clock ---- */

#define CLOCK(members) "\"hipboard_clock\": {" members "}, "
#define AT_2001_5      X("cpu_op", "a", 1, 2001.5, 5, "")

/* By 500 ns at 1 ms, and by a thousandth of what has gone since. */
static void what_was_added_to_times_is_taken_off(void **state)
{
    fixture *f = *state;
    const char *const told = CLOCK("\"applied\": true, \"at_ns\": 1000000, \"offset_ns\": 500, "
                                   "\"drift_ps_per_s\": 1000000000");
    char text[1000];
    f->options.undo_shift = true;
    snprintf(text, sizeof text, "{%s\"traceEvents\": [%s]}", told, AT_2001_5);
    assert_int_equal(convert_text(f, text), HB_OK);
    assert_int_equal(count(f, "times_restored"), 1);
    assert_has(f, "\"ts\":2000.000");
    assert_has(f, "\"undone\": {\"applied\": true, \"at_ns\": 1000000");
    /* and where nothing was, nothing is */
    assert_int_equal(
        convert_text(
            f, "{" CLOCK("\"applied\": false, \"at_ns\": 1000000, "
                         "\"offset_ns\": 500, \"drift_ps_per_s\": 1") "\"traceEvents\": [" AT_2001_5
                                                                      "]}"),
        HB_OK);
    assert_has(f, "\"ts\":2001.5");
    assert_int_equal(count(f, "times_restored"), 0);
}

static void what_was_added_must_be_told(void **state)
{
    static const struct {
        const char *members;
        bool fine;
    } rows[] = {
        {"\"at_ns\": 1, \"offset_ns\": 2, \"drift_ps_per_s\": 3", true},
        {"\"at_ns\": 1, \"offset_ns\": 2", false},
        {"\"at_ns\": 1, \"drift_ps_per_s\": 3", false},
        {"\"offset_ns\": 2, \"drift_ps_per_s\": 3", false},
        {"\"at_ns\": 1.5, \"offset_ns\": 2, \"drift_ps_per_s\": 3", false},
        {"\"at_ns\": 1, \"offset_ns\": 2, \"drift_ps_per_s\": -500000000000", true},
        {"\"at_ns\": 1, \"offset_ns\": 2, \"drift_ps_per_s\": -500000000001", false},
        {"\"at_ns\": 1, \"offset_ns\": 2, \"drift_ps_per_s\": 1000000000000", true},
        {"\"at_ns\": 1, \"offset_ns\": 2, \"drift_ps_per_s\": 1000000000001", false},
    };
    fixture *f = *state;
    f->options.undo_shift = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "{\"hipboard_clock\": {\"applied\": true, %s}, \"traceEvents\": [%s]}",
                 rows[i].members, AT_2001_5);
        assert_int_equal(convert_text(f, text), rows[i].fine ? HB_OK : HB_ERROR_FORMAT);
        if (!rows[i].fine) assert_non_null(strstr(hb_last_error(), "does not say what was added"));
    }
}

/* Behind one another, also instead of the one before. */
/* To the nanosecond, where a double has none. */
static void times_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } times[] = {
        {"1795256296196340.251", INT64_C(1795256296196340251)},
        {"1795256296196340.2", INT64_C(1795256296196340200)},
        {"1795256296196340", INT64_C(1795256296196340000)},
        {"-1795256296196340.251", INT64_C(-1795256296196340251)},
        {"0", 0},
        {"7.12", 7120},
        {"7.125", 7125},
        {"7.12500", 7125},
        {"-0.001", -1},
        {"1e3", 1000000},
        {"12.5e1", 125000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        int64_t ns = -7;
        size_t size = strlen(times[i].text);
        bool whole = size == strspn(times[i].text, "-0123456789");
        hb_value value = {times[i].text, size, whole ? HB_JSON_INT : HB_JSON_FLOAT, false};
        assert_true(hb_plan_time(&value, &ns));
        assert_int_equal(ns, times[i].ns);
    }
    hb_value none = {"", 0, HB_JSON_NONE, false};
    int64_t ns;
    assert_false(hb_plan_time(&none, &ns));
}

static void times_are_moved(void **state)
{
    fixture *f = *state;
    const hb_time_shift shift = {.reference_rank = 3,
                                 .at_ns = 1000500,
                                 .offset_ns = -1000,
                                 .drift_ps_per_s = 0,
                                 .bound_ns = 7};
    f->options.shift = &shift;
    assert_int_equal(convert_text(f, "{\"traceEvents\": [" AT_2001_5 "]}"), HB_OK);
    assert_has(f, "\"ts\":2000.500");
    assert_has(f, "\"reference_rank\": 3, \"applied\": true, \"at_ns\": 1000500, "
                  "\"offset_ns\": -1000, \"drift_ps_per_s\": 0, \"bound_ns\": 7}");
    const char *const shifted =
        "{" CLOCK("\"applied\": true, \"at_ns\": 1000000, \"offset_ns\": 500, "
                  "\"drift_ps_per_s\": 1000000000") "\"traceEvents\": [" AT_2001_5 "]}";
    assert_int_equal(convert_text(f, shifted), HB_OK);
    assert_has(f, "\"ts\":2000.500");
    assert_has(f, "\"at_ns\": 1000000, \"offset_ns\": -500, \"drift_ps_per_s\": 1000000000");
    f->options.undo_shift = true;
    assert_int_equal(convert_text(f, shifted), HB_OK);
    assert_has(f, "\"ts\":1999.000");
    assert_has(f, "\"at_ns\": 1000500, \"offset_ns\": -1000, \"drift_ps_per_s\": 0");
    assert_int_equal(count(f, "times_shifted"), 1);
    assert_int_equal(count(f, "times_restored"), 1);
}

static bool count_progress(void *context, const char *path, uint64_t bytes, uint64_t total)
{
    (void)path;
    assert_true(bytes <= total);
    ++*(int *)context;
    return true;
}

/* Each file of many has its own step and what is everywhere; the input is not read for each. */
static void many_parts_are_written_together(void **state)
{
    enum { STEPS = 150, EVENT = 200 };
    fixture *f = *state;
    int looks = 0;
    char *events = calloc(STEPS + 1, EVENT), *text = calloc(STEPS + 2, EVENT), name[64];
    for (int i = 0; i < STEPS; i++)
        sprintf(events + strlen(events),
                "%s" X("user_annotation", "ProfilerStep#%d", 1, % d, 9, ""), i ? ",\n" : "", i,
                i * 10);
    sprintf(text,
            "{\"schemaVersion\": 1, \"traceEvents\": [%s,\n"
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"tid\":1,"
            "\"args\":{\"name\":\"everywhere\"}}]}",
            events);
    f->options.split_steps = 1;
    f->options.progress = count_progress;
    f->options.context = &looks;
    assert_int_equal(convert_text(f, text), HB_OK);
    assert_int_equal(f->conversion->num_paths, STEPS);
    assert_int_equal(f->conversion->events, 2 * STEPS);
    for (int i = 0; i < STEPS; i++) {
        char *part = read_file(f->conversion->paths[i]);
        snprintf(name, sizeof name, "\"ProfilerStep#%d\"", i);
        assert_non_null(strstr(part, name));
        assert_non_null(strstr(part, "\"everywhere\""));
        char *step = strstr(part, "ProfilerStep#");
        assert_null(strstr(step + 1, "ProfilerStep#"));
        free(part);
    }
    assert_in_range(looks, 1, STEPS / 2);
    free(events);
    free(text);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(calls_and_kernels_are_linked),
        TEST(calls_outside_operators_have_no_owner),
        TEST(known_scopes_become_operators_and_others_do_not),
        TEST(hip_memory_becomes_gpu_memory),
        TEST(odd_totals_of_memory_are_told_under_another_name),
        TEST(what_is_odd_all_over_is_left_out),
        TEST(what_would_lose_the_file_is_drawn_only),
        TEST(numbers_of_agents_become_numbers_of_gpus),
        TEST(broken_properties_are_mended),
        TEST(hidden_steps_own_no_calls),
        TEST(scopes_nest),
        TEST(calls_of_merged_operators_move_to_the_child),
        TEST(calls_without_an_id_are_not_moved),
        TEST(calls_stay_with_the_operator_that_is_left_of_an_id),
        TEST(calls_are_linked_before_they_are_moved),
        TEST(calls_with_an_id_that_nobody_has_belong_to_their_thread),
        TEST(calls_of_a_step_stay_the_steps),
        TEST(ids_are_a_processs_own),
        TEST(what_is_not_shown_has_no_ids_to_share),
        TEST(converted_once_damaged_ids_stay),
        TEST(numbers_in_quotes_stay_themselves),
        TEST(threads_are_a_processs_own),
        TEST(kineto_tells_what_is_in_no_operator),
        TEST(steps_have_a_length),
        TEST(broken_text_is_mended),
        TEST(broken_keys_and_elements_are_mended),
        TEST(what_is_too_broken_is_left_out),
        TEST(a_truncated_file_keeps_what_is_whole),
        TEST(what_needs_nothing_is_copied),
        TEST(kineto_gets_its_categories_back),
        TEST(steps_are_cut_out_with_their_device_work),
        TEST(a_large_trace_is_cut_between_steps),
        TEST(errors_are_told),
        TEST(a_time_is_cut_out_with_its_device_work),
        TEST(collectives_get_types_for_their_dims),
        TEST(capabilities_become_numbers),
        TEST(what_was_added_to_times_is_taken_off),
        TEST(what_was_added_must_be_told),
        TEST(times_are_read_exactly),
        TEST(times_are_moved),
        TEST(many_parts_are_written_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
