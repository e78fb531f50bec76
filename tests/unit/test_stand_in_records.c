/* SPDX-License-Identifier: MIT
 *
 * What is recorded by who stands in for a library's functions: under names that are interned
 * already, for who called them, and scopes that are worth it only when they are over.
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
#include <hipboard/comm.h>
#include <hipboard/hipboard.h>

#include "record/clock.h"
#include "record/communication.h"
#include "record/live_memory.h"
#include "record/record.h"
#include "record/strings.h"

static hb_profiler *start(bool stacks)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = "";
    o.record_shapes = true;
    o.with_stack = stacks;
    o.distributed = (hb_distributed_info){.backend = "mpi", .rank = 1, .world_size = 4};
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

static uint32_t id(const char *name)
{
    return hb_strings_intern(name, strlen(name));
}

/* "kind name" of each event, and what a test asks for beside. */
typedef struct seen {
    char text[2000];
    int64_t start[20], end[20];
    int count;
} seen;

static bool see(const hb_event *e, void *context)
{
    seen *s = context;
    const char *kind = e->kind == HB_EVENT_OP                ? "op"
                       : e->kind == HB_EVENT_USER_ANNOTATION ? "annotation"
                       : e->kind == HB_EVENT_FLOW            ? "arrow"
                                                             : "other";
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof s->text - n, "%s %s, ", kind, e->name);
    assert_true(s->count < 20);
    s->start[s->count] = e->start_ns;
    s->end[s->count++] = e->end_ns;
    return true;
}

static void expect(hb_profiler *prof, seen *s, const char *text)
{
    *s = (seen){0};
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(hb_profiler_events(prof, see, s), HB_OK);
    assert_string_equal(s->text, text);
}

/* Whether the call stacks of a trace name a function, and how often. */
static int frames_of(hb_profiler *prof, const char *function)
{
    int count = 0;
    char path[] = "/tmp/stand_in_records.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    static char line[100000];
    while (fgets(line, sizeof line, f)) {
        const char *stack = strstr(line, "\"Call stack\"");
        count += stack && strstr(stack, function);
    }
    fclose(f);
    remove(path);
    return count;
}

__attribute__((noinline)) static void a_librarys_operator(uint32_t name, const hb_op_info *info)
{
    hb_scope s =
        hb_record_operator(name, info, __builtin_frame_address(0), __builtin_return_address(0));
    hb_scope_end(&s);
    __asm__ volatile("");
}

__attribute__((noinline)) static void who_calls_it(uint32_t name, const hb_op_info *info)
{
    a_librarys_operator(name, info);
    __asm__ volatile("");
}

static void operators_are_those_of_their_callers(void **state)
{
    seen s;
    (void)state;
    const hb_input input = HB_TENSOR(HB_FLOAT32, 2, 3);
    hb_op_info info = {.inputs = &input, .num_inputs = 1};
    uint32_t name = id("library_op");
    who_calls_it(name, &info); /* without a session */
    hb_profiler *prof = start(true);
    who_calls_it(name, &info);
    who_calls_it(name, NULL);
    expect(prof, &s, "op library_op, op library_op, ");
    assert_int_equal(frames_of(prof, "who_calls_it"), 2);
    assert_int_equal(frames_of(prof, "a_librarys_operator"), 0); /* which stands in */
    hb_profiler_destroy(prof);
}

__attribute__((noinline)) static void a_librarys_message(uint32_t name, bool in_group,
                                                         uint64_t flow)
{
    hb_comm_info info = {.struct_size = sizeof info,
                         .group = HB_COMM_WORLD,
                         .type = HB_FLOAT32,
                         .in = 7,
                         .out = 7,
                         .bytes = -1,
                         .source = -1,
                         .dest = -1,
                         .tag = HB_COMM_NO_TAG,
                         .flow = flow};
    hb_scope s = hb_comm_record(name, &info, in_group, __builtin_frame_address(0),
                                __builtin_return_address(0));
    hb_scope_end(&s);
    __asm__ volatile("");
}

__attribute__((noinline)) static void who_sends_it(uint32_t name, bool in_group, uint64_t flow)
{
    a_librarys_message(name, in_group, flow);
    __asm__ volatile("");
}

static void communications_are_those_of_their_callers(void **state)
{
    seen s;
    (void)state;
    uint32_t name = id("MPI_Allreduce");
    for (int stacks = 0; stacks < 2; stacks++) {
        who_sends_it(name, false, 0); /* without a session */
        hb_profiler *prof = start(stacks);
        who_sends_it(name, false, 0);
        who_sends_it(name, false, 41);
        who_sends_it(name, true, 0); /* one of several */
        expect(prof, &s,
               "annotation gloo:all_reduce, op MPI_Allreduce, annotation gloo:all_reduce, "
               "op MPI_Allreduce, op MPI_Allreduce, arrow MPI_Allreduce, ");
        assert_true(s.start[5] == s.start[3]); /* it begins with its call */
        assert_int_equal(frames_of(prof, "who_sends_it"), stacks ? 5 : 0);
        hb_profiler_destroy(prof);
    }
}

/* ---- scopes that are over ---- */

static void a_scope_that_is_over_is_recorded_from_its_beginning(void **state)
{
    seen s;
    (void)state;
    uint32_t name = id("read");
    assert_true(hb_record_place() == 0); /* without a session */
    assert_true(hb_record_annotation_since(name, hb_ticks(), 0));
    hb_profiler *prof = start(false);
    HB_RECORD_FUNCTION("before") {
    }
    uintptr_t place = hb_record_place();
    assert_true(place != 0);
    assert_true(hb_record_place() == place); /* nothing was recorded in between */
    uint64_t start_ticks = hb_ticks();
    assert_true(hb_record_annotation_since(name, start_ticks, place));
    HB_RECORD_FUNCTION("behind") {
    }
    expect(prof, &s, "annotation before, annotation read, annotation behind, ");
    assert_true(s.start[1] >= s.end[0] && s.end[1] >= s.start[1] && s.end[1] <= s.start[2]);
    hb_profiler_destroy(prof);
}

/* They would not be in the order in which they began. */
static void what_holds_others_is_not_recorded_behind_them(void **state)
{
    seen s;
    (void)state;
    uint32_t name = id("read");
    hb_profiler *prof = start(false);
    HB_RECORD_FUNCTION("before") {
    }
    uintptr_t place = hb_record_place();
    uint64_t start_ticks = hb_ticks();
    HB_RECORD_FUNCTION("within") {
    }
    assert_true(hb_record_place() != place);
    assert_false(hb_record_annotation_since(name, start_ticks, place));
    expect(prof, &s, "annotation before, annotation within, ");
    hb_profiler_destroy(prof);
}

/* Also where nothing was recorded on the thread before. */
static void what_began_before_the_session_is_left_out(void **state)
{
    seen s;
    (void)state;
    uint32_t name = id("read");
    uint64_t early = hb_ticks();
    hb_profiler *prof = start(false);
    uintptr_t place = hb_record_place();
    assert_true(place != 0);
    assert_true(hb_record_annotation_since(name, early, place));
    assert_true(hb_record_annotation_since(name, hb_ticks(), place));
    expect(prof, &s, "annotation read, ");
    hb_profiler_destroy(prof);
}

/* ---- memory ---- */

static hb_memory_info memory_at(uintptr_t address, int64_t bytes, int device)
{
    return (hb_memory_info){.addr = (const void *)address,
                            .bytes = bytes,
                            .device_type = device < 0 ? HB_DEVICE_CPU : HB_DEVICE_HIP,
                            .device_id = device,
                            .total_allocated = -1,
                            .total_reserved = -1};
}

static void expect_held(uintptr_t address, int64_t bytes, int device)
{
    hb_memory_info found = memory_at(address, 0, 9), truth = memory_at(address, -bytes, device);
    assert_true(hb_live_memory_find(&found));
    assert_true(found.bytes == truth.bytes);
    assert_int_equal(found.device_type, truth.device_type);
    assert_int_equal(found.device_id, truth.device_id);
}

static void what_an_address_holds_is_found(void **state)
{
    (void)state;
    hb_memory_info asked = memory_at(0x5000, 0, 0);
    assert_false(hb_live_memory_find(&asked)); /* nothing is kept */
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    o.profile_memory = true;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    const struct {
        uintptr_t address;
        int64_t bytes;
        int device;
    } held[] = {{0x5000, 4096, 0}, {0x6000, 1, 3}, {0x7000, INT64_C(1) << 40, -1}};
    for (int i = 0; i < 3; i++) {
        hb_memory_info m = memory_at(held[i].address, held[i].bytes, held[i].device);
        hb_memory_report(&m);
    }
    for (int i = 0; i < 3; i++)
        expect_held(held[i].address, held[i].bytes, held[i].device);
    asked = memory_at(0x5001, 0, 0);
    assert_false(hb_live_memory_find(&asked));
    asked = memory_at(0, 0, 0);
    assert_false(hb_live_memory_find(&asked));
    hb_memory_info freed = memory_at(0x6000, -1, 3);
    hb_memory_report(&freed);
    asked = memory_at(0x6000, 0, 3);
    assert_false(hb_live_memory_find(&asked));
    expect_held(0x5000, 4096, 0);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
}

/* Names are interned by who has found a profiler there. */
static int make_ready(void **state)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    (void)state;
    hb_profiler_destroy(hb_profiler_create(&o));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_those_of_their_callers),
        cmocka_unit_test(communications_are_those_of_their_callers),
        cmocka_unit_test(a_scope_that_is_over_is_recorded_from_its_beginning),
        cmocka_unit_test(what_holds_others_is_not_recorded_behind_them),
        cmocka_unit_test(what_began_before_the_session_is_left_out),
        cmocka_unit_test(what_an_address_holds_is_found),
    };
    return cmocka_run_group_tests(tests, make_ready, NULL);
}
