/* SPDX-License-Identifier: MIT
 *
 * OpenMP's regions and waits, with a runtime of the test's own: whatever order, depth and half of
 * its calls comes, what was recorded is what the runtime told.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "openmp/ompt_abi.h"
#include "record/clock.h"
#include "recorded.h"

hb_ompt_tool *ompt_start_tool(unsigned version, const char *runtime);

/* ---- the runtime ---- */

static struct {
    void (*thread)(int type, hb_ompt_data *thread);
    void (*region)(hb_ompt_data *task, const void *frame, hb_ompt_data *parallel, unsigned threads,
                   int flags, const void *address);
    void (*region_end)(hb_ompt_data *parallel, hb_ompt_data *task, int flags, const void *address);
    void (*part)(int endpoint, hb_ompt_data *parallel, hb_ompt_data *task, unsigned threads,
                 unsigned index, int flags);
    void (*sync)(int sync, int endpoint, hb_ompt_data *parallel, hb_ompt_data *task,
                 const void *address);
    int num_set;
} tool;

static int set_callback(int which, hb_ompt_callback callback)
{
    tool.num_set++;
    switch (which) {
    case 1: tool.thread = (void (*)(int, hb_ompt_data *))callback; break;
    case 3:
        tool.region = (void (*)(hb_ompt_data *, const void *, hb_ompt_data *, unsigned, int,
                                const void *))callback;
        break;
    case 4:
        tool.region_end = (void (*)(hb_ompt_data *, hb_ompt_data *, int, const void *))callback;
        break;
    case 7:
        tool.part =
            (void (*)(int, hb_ompt_data *, hb_ompt_data *, unsigned, unsigned, int))callback;
        break;
    case 23:
        tool.sync = (void (*)(int, int, hb_ompt_data *, hb_ompt_data *, const void *))callback;
        break;
    default: fail_msg("asked for %d", which);
    }
    return 5; /* always */
}

static hb_ompt_callback look_up(const char *name)
{
    return strcmp(name, "ompt_set_callback") == 0 ? (hb_ompt_callback)set_callback : NULL;
}

static hb_ompt_callback look_up_nothing(const char *name)
{
    (void)name;
    return NULL;
}

static int begin_tool(void **state)
{
    (void)state;
    hb_ompt_tool *given = ompt_start_tool(201811, "a runtime");
    tool.num_set = 0;
    return !given || !given->begin || !given->end || given->begin(look_up, 0, &given->tool) != 1 ||
           tool.num_set != 5;
}

/* So that what follows begins later. */
static void pass(void)
{
    for (uint64_t from = hb_ticks(); hb_ticks() <= from + 4000;)
        continue;
}

static const char *const place = "in this program";
static hb_ompt_data parallel;

static void region(unsigned threads)
{
    tool.region(NULL, NULL, &parallel, threads, 0, place);
    pass();
}

static void region_end(void)
{
    tool.region_end(&parallel, NULL, 0, NULL);
    pass();
}

static void part(int endpoint, unsigned threads, unsigned index, int flags)
{
    tool.part(endpoint, endpoint == HB_OMPT_BEGIN ? &parallel : NULL, NULL, threads, index, flags);
    pass();
}

static void sync_at(int sync, int endpoint, const void *address)
{
    tool.sync(sync, endpoint, &parallel, NULL, address);
    pass();
}

static void wait_for(int sync)
{
    sync_at(sync, HB_OMPT_BEGIN, NULL);
    sync_at(sync, HB_OMPT_END, NULL);
}

/* ---- what was recorded ---- */

static hb_profiler *prof;
static char text[4096];
static int64_t open_until[64];
static int depth;
static char last_place[200];

static const hb_arg *arg_of(const hb_event *e, const char *key)
{
    for (size_t i = 0; i < e->num_args; i++)
        if (strcmp(e->args[i].key, key) == 0) return &e->args[i];
    return NULL;
}

/* "region 3@ { barrier { } }": with how many threads, and @ where its place is told. */
static bool note(const hb_event *e, void *arg)
{
    size_t *n = arg;
    bool is_region = strcmp(e->name, "omp parallel") == 0;
    const hb_arg *threads = arg_of(e, "threads"), *at = arg_of(e, "place");
    if (!is_region && strcmp(e->name, "omp barrier") != 0) return true;
    assert_true(e->kind == HB_EVENT_OP);
    for (; depth && open_until[depth - 1] <= e->start_ns; depth--)
        *n += (size_t)snprintf(text + *n, sizeof text - *n, "} ");
    *n += (size_t)snprintf(text + *n, sizeof text - *n, "%s", is_region ? "region" : "barrier");
    if (threads)
        *n += (size_t)snprintf(text + *n, sizeof text - *n, " %lld", (long long)threads->i);
    if (at) snprintf(last_place, sizeof last_place, "%s", at->s);
    *n += (size_t)snprintf(text + *n, sizeof text - *n, "%s { ", at ? "@" : "");
    open_until[depth++] = e->end_ns;
    return true;
}

static void check(const char *expected)
{
    size_t n = 0;
    text[0] = '\0';
    depth = 0;
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(hb_profiler_events(prof, note, &n), HB_OK);
    for (; depth; depth--)
        n += (size_t)snprintf(text + n, sizeof text - n, "} ");
    assert_string_equal(text, expected);
    hb_profiler_destroy(prof);
}

/* ---- the tests ---- */

static void without_callbacks_it_does_nothing(void **state)
{
    (void)state;
    hb_ompt_tool *given = ompt_start_tool(201811, "a runtime");
    assert_int_equal(given->begin(look_up_nothing, 0, &given->tool), 0);
}

static void regions_have_their_waits(void **state)
{
    (void)state;
    prof = record_all();
    region(3);
    wait_for(HB_OMPT_BARRIER_EXPLICIT);
    wait_for(HB_OMPT_BARRIER_OF_REGION);
    region_end();
    region(2);
    region_end();
    check("region 3@ { barrier { } barrier { } } region 2@ { } ");
}

/* Each kind of barrier is one; other waits, as for tasks, are none. */
static void which_waits_are_barriers(void **state)
{
    static const bool is_barrier[12] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0};
    (void)state;
    for (int sync = 0; sync < 12; sync++) {
        prof = record_all();
        region(3);
        wait_for(sync);
        region_end();
        check(is_barrier[sync] ? "region 3@ { barrier { } } " : "region 3@ { } ");
    }
}

static void places_are_for_addr2line(void **state)
{
    char expected[200];
    Dl_info info;
    (void)state;
    assert_true(dladdr(place, &info));
    snprintf(expected, sizeof expected, "test_ompt+0x%zx",
             (size_t)(place - (const char *)info.dli_fbase));
    prof = record_all();
    region(3);
    sync_at(HB_OMPT_BARRIER_EXPLICIT, HB_OMPT_BEGIN, place);
    sync_at(HB_OMPT_BARRIER_EXPLICIT, HB_OMPT_END, place);
    sync_at(HB_OMPT_BARRIER_EXPLICIT, HB_OMPT_BEGIN, (const void *)8); /* in no file */
    sync_at(HB_OMPT_BARRIER_EXPLICIT, HB_OMPT_END, NULL);
    region_end();
    check("region 3@ { barrier@ { } barrier { } } ");
    assert_string_equal(last_place, expected);
}

/* The first thread of a region is in it already, as the program is in itself. */
static void workers_have_parts(void **state)
{
    (void)state;
    prof = record_all();
    region(3);
    part(HB_OMPT_BEGIN, 3, 0, 0);
    part(HB_OMPT_END, 3, 0, 0);
    region_end();
    part(HB_OMPT_BEGIN, 3, 1, HB_OMPT_INITIAL_TASK);
    part(HB_OMPT_END, 3, 1, HB_OMPT_INITIAL_TASK);
    part(HB_OMPT_BEGIN, 3, 1, 0);
    part(HB_OMPT_END, 0, 1, 0);
    part(HB_OMPT_BEGIN, 3, 2, 2);
    part(HB_OMPT_END, 0, 2, 2);
    check("region 3@ { } region 3@ { } region 3@ { } ");
}

/* A worker waits at its region's end for the next one: its part ends there. Older runtimes tell
 * only behind a barrier that it was not the last: then the part goes on. */
static void a_workers_last_wait_is_none(void **state)
{
    (void)state;
    prof = record_all();
    part(HB_OMPT_BEGIN, 2, 1, 0);
    wait_for(HB_OMPT_BARRIER_EXPLICIT);
    sync_at(HB_OMPT_BARRIER_OF_REGION, HB_OMPT_BEGIN, NULL);
    sync_at(HB_OMPT_BARRIER_OF_REGION, HB_OMPT_END, NULL);
    part(HB_OMPT_END, 0, 1, 0);
    check("region 2@ { barrier { } } ");
    prof = record_all();
    part(HB_OMPT_BEGIN, 2, 1, 0);
    sync_at(HB_OMPT_BARRIER_IMPLICIT, HB_OMPT_BEGIN, NULL);
    sync_at(HB_OMPT_BARRIER_IMPLICIT, HB_OMPT_END, NULL);
    wait_for(HB_OMPT_BARRIER_EXPLICIT);
    sync_at(HB_OMPT_BARRIER_IMPLICIT, HB_OMPT_BEGIN, NULL);
    tool.sync(HB_OMPT_BARRIER_IMPLICIT, HB_OMPT_END, NULL, NULL, NULL); /* it was */
    part(HB_OMPT_END, 0, 1, 0);
    wait_for(HB_OMPT_BARRIER_IMPLICIT); /* in no region: a wait like others */
    check("region 2@ { } region@ { barrier { } } barrier { } ");
}

/* Regions within a worker's part are its own, with their waits. */
static void nested_regions_wait_for_themselves(void **state)
{
    (void)state;
    prof = record_all();
    part(HB_OMPT_BEGIN, 2, 1, 0);
    region(4);
    wait_for(HB_OMPT_BARRIER_OF_REGION);
    region_end();
    wait_for(HB_OMPT_BARRIER_OF_REGION);
    part(HB_OMPT_END, 0, 1, 0);
    check("region 2@ { region 4@ { barrier { } } } ");
}

/* As after a longjmp() of the program: what was left in a region ends with it, what was never begun
 * ends nothing. */
static void ends_may_be_missing(void **state)
{
    (void)state;
    prof = record_all();
    region_end();
    sync_at(HB_OMPT_BARRIER_EXPLICIT, HB_OMPT_END, NULL);
    region(3);
    sync_at(HB_OMPT_BARRIER_EXPLICIT, HB_OMPT_BEGIN, NULL);
    region_end();
    sync_at(HB_OMPT_BARRIER_EXPLICIT, HB_OMPT_END, NULL);
    region(2);
    sync_at(HB_OMPT_BARRIER_EXPLICIT, 3, NULL); /* neither begin nor end */
    region_end();
    check("region 3@ { barrier { } } region 2@ { } ");
}

/* 16 are recorded, deeper ones are counted. */
static void the_deepest_are_counted_only(void **state)
{
    char expected[1000] = "";
    size_t n = 0;
    (void)state;
    for (int i = 0; i < 16; i++)
        n += (size_t)snprintf(expected + n, sizeof expected - n, "region %d@ { ", i + 1);
    for (int i = 0; i < 16; i++)
        n += (size_t)snprintf(expected + n, sizeof expected - n, "} ");
    snprintf(expected + n, sizeof expected - n, "region 30@ { } ");
    prof = record_all();
    for (unsigned i = 0; i < 20; i++)
        region(i + 1);
    for (unsigned i = 0; i < 20; i++)
        region_end();
    region(30);
    region_end();
    check(expected);
}

/* A recording begins within a region, and ends within one. */
static void recordings_begin_and_end_anywhere(void **state)
{
    (void)state;
    region(9);
    prof = record_all();
    wait_for(HB_OMPT_BARRIER_EXPLICIT);
    region_end();
    region(3);
    check("barrier { } region 3@ { } ");
    region_end();
    prof = record_all();
    region(4);
    region_end();
    check("region 4@ { } ");
}

static void *work(void *type)
{
    hb_ompt_data data = {0};
    tool.thread(*(int *)type, &data);
    HB_SCOPE("work");
    pass();
    return NULL;
}

static bool has_name(const char *json, const char *name)
{
    char wanted[60];
    snprintf(wanted, sizeof wanted, "(%s)", name);
    return strstr(json, wanted);
}

/* Workers are numbered as they come, others keep their names. */
static void workers_have_names(void **state)
{
    static int types[] = {1, 2, 3, 2};
    char path[] = "/tmp/hipboard-test-XXXXXX", file[60], json[8192];
    (void)state;
    assert_non_null(mkdtemp(path));
    prof = record_all();
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, work, &types[i]), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    snprintf(file, sizeof file, "%s/t.json", path);
    assert_int_equal(hb_export_chrome_trace(prof, file, 0), HB_OK);
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    json[fread(json, 1, sizeof json - 1, f)] = '\0';
    fclose(f);
    assert_true(has_name(json, "OpenMP 1") && has_name(json, "OpenMP 2"));
    assert_false(has_name(json, "OpenMP 0") || has_name(json, "OpenMP 3"));
    remove(file);
    rmdir(path);
    hb_profiler_destroy(prof);
}

#define TEST(name) cmocka_unit_test_setup(name, begin_tool)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_callbacks_it_does_nothing),
        TEST(regions_have_their_waits),
        TEST(which_waits_are_barriers),
        TEST(places_are_for_addr2line),
        TEST(workers_have_parts),
        TEST(a_workers_last_wait_is_none),
        TEST(nested_regions_wait_for_themselves),
        TEST(ends_may_be_missing),
        TEST(the_deepest_are_counted_only),
        TEST(recordings_begin_and_end_anywhere),
        TEST(workers_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
