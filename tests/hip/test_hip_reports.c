/* SPDX-License-Identifier: MIT
 *
 * What HIP's hooks and rocprofiler-sdk report of device work, and what hipboard makes of it: which
 * reports it believes, what they become, and how long it waits for those that do not come.
 */
#include "captured.h"

#include <semaphore.h>
#include <time.h>

#include "gpu/occupancy.h"
#include "hip/busy_streams.h"
#include "hip/calls.h"
#include "hip/diagnostics.h"
#include "hip/graphs.h"
#include "hip/hook_records.h"
#include "hip/late_reports.h"
#include "hip/reports_wait.h"
#include "hip/rocprofiler_agents.h"
#include "hip/rocprofiler_kernels.h"
#include "hip/rocprofiler_records.h"
#include "hip/synchronize.h"
#include "record/strings.h"

#include "../unit/said.h"

#define SECOND 1000000000ull

enum { NOT_READY = 600, UNKNOWN_VALUE = 1 }; /* errors of HIP */
enum { DISPATCH = 0, COPY = 1, BARRIER = 2 };
enum { DTOH = 0x11f3, HTOD = 0x11f4, DTOD = 0x11f5, A_MARKER = 0x11fe };

/* ---- the hooks' reports ---- */

static uint64_t boottime(void)
{
    return (uint64_t)hb_clock_ns(CLOCK_BOOTTIME);
}

/* Each is another's. */
static hb_hook_activity activity(uint32_t op, uint32_t kind)
{
    static uint64_t id;
    uint64_t now = boottime();
    return (hb_hook_activity){.domain = 2,
                              .kind = kind,
                              .op = op,
                              .id = ++id,
                              .begin_ns = now - 2000,
                              .end_ns = now - 1000,
                              .device = 1,
                              .queue = 5,
                              .bytes = 64};
}

static bool is_sound(const hb_hook_activity *a)
{
    return hb_hook_activity_is_sound(a, a->op);
}

static hb_profiler *prof;

static int begin_session(void **state)
{
    (void)state;
    prof = capture_start(0);
    hb_hook_activities_start();
    return 0;
}

static void assert_noted(const char *note)
{
    hb_hook_activities_note(&(hb_hip){.release = 8887});
    cJSON *trace = capture_stop(prof);
    char *notes = cJSON_PrintUnformatted(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    if (note ? !notes || !strstr(notes, note) : notes != NULL)
        fail_msg("'%s' is not '%s'", notes ? notes : "", note ? note : "");
    cJSON_free(notes);
    cJSON_Delete(trace);
}

static void reports_that_make_no_sense_are_left_out_and_counted(void **state)
{
    (void)state;
    hb_hook_activity a = activity(DISPATCH, HB_HOOK_KERNEL);
    assert_true(is_sound(&a));
    a = activity(DISPATCH, HB_HOOK_KERNEL);
    a.domain = 3;
    assert_false(is_sound(&a));
    a = activity(DISPATCH, HB_HOOK_KERNEL);
    assert_false(hb_hook_activity_is_sound(&a, COPY));
    a.op = BARRIER + 1;
    assert_false(is_sound(&a));
    a.op = BARRIER;
    assert_true(is_sound(&a));
    assert_noted("3 records of device work from HIP 88.87 made no sense and were left out");
}

static void work_began_within_an_hour_and_has_ended(void **state)
{
    (void)state;
    hb_hook_activity a = activity(DISPATCH, HB_HOOK_KERNEL);
    uint64_t now = boottime();
    a.begin_ns = now - 3590 * SECOND;
    assert_true(is_sound(&a));
    a.begin_ns = now - 3610 * SECOND;
    assert_false(is_sound(&a));
    a = activity(DISPATCH, HB_HOOK_KERNEL);
    a.end_ns = boottime() + SECOND / 2; /* the clocks of host and device differ */
    assert_true(is_sound(&a));
    a = activity(DISPATCH, HB_HOOK_KERNEL);
    a.end_ns = boottime() + 60 * SECOND;
    assert_false(is_sound(&a));
    a = activity(DISPATCH, HB_HOOK_KERNEL);
    a.begin_ns = boottime() + 60 * SECOND;
    assert_false(is_sound(&a));
    assert_noted("3 records of device work from HIP 88.87 made no sense and were left out");
}

static void one_that_makes_no_sense_is_one(void **state)
{
    (void)state;
    hb_hook_activity a = activity(DISPATCH, HB_HOOK_KERNEL);
    a.domain = 1;
    assert_false(is_sound(&a));
    assert_noted("1 record of device work from HIP 88.87 made no sense and was left out");
}

static void what_is_told_twice_is_there_once(void **state)
{
    (void)state;
    hb_hook_activity a = activity(COPY, HTOD), other[7];
    for (int i = 0; i < 7; i++)
        other[i] = a;
    other[0].id += 1000;
    other[1].begin_ns++;
    other[2].end_ns++;
    other[3].kind = DTOH;
    other[4].bytes++;
    other[5].device++;
    other[6].queue++;
    assert_true(is_sound(&a));
    assert_false(is_sound(&a));
    for (int i = 0; i < 7; i++)
        assert_true(is_sound(&other[i]));
    a.end_ns = a.begin_ns; /* takes no time */
    assert_true(is_sound(&a) && is_sound(&a));
    a = activity(BARRIER, A_MARKER);
    assert_true(is_sound(&a) && is_sound(&a));
    assert_noted("1 record of device work came a second time from HIP 88.87: shown once");
}

static int64_t lasts(uint32_t op, uint32_t kind, int64_t ns)
{
    hb_hook_activity a = activity(op, kind);
    a.end_ns = a.begin_ns + (uint64_t)ns;
    hb_record_work w = hb_hook_work(&a, 1);
    return w.end_ns - w.begin_ns;
}

static void a_session_without_odd_reports_has_no_note(void **state)
{
    (void)state;
    hb_hook_activity a = activity(COPY, HTOD);
    a.domain = 1;
    assert_false(is_sound(&a));
    a.domain = 2;
    assert_true(is_sound(&a));
    assert_false(is_sound(&a));
    assert_int_equal(lasts(DISPATCH, HB_HOOK_KERNEL, -10), 0);
    hb_hook_activities_start(); /* that was another's */
    a = activity(COPY, HTOD);
    assert_true(is_sound(&a));
    assert_noted(NULL);
}

static void reports_become_work_of_their_command(void **state)
{
    (void)state;
    static const struct {
        uint32_t op, kind;
        uint64_t bytes;
        uint32_t work;
    } cases[] = {
        {DISPATCH, 0x11f0, 64, HB_WORK_KERNEL},
        {DISPATCH, 0x11f1, 64, HB_WORK_KERNEL},
        {COPY, 0x11f3, 64, HB_WORK_DTOH},
        {COPY, 0x1201, 64, HB_WORK_DTOH},
        {COPY, 0x11f4, 64, HB_WORK_HTOD},
        {COPY, 0x1202, 64, HB_WORK_HTOD},
        {COPY, 0x11f5, 64, HB_WORK_DTOD},
        {COPY, 0x1203, 64, HB_WORK_DTOD},
        {COPY, 0x1207, 64, HB_WORK_FILL},
        {COPY, 0x11fe, 64, 0},
        {COPY, 0x4000, 64, HB_WORK_DTOD},
        {COPY, 0x4000, 0, 0},
        {DISPATCH, 0x4000, 64, 0},
        {BARRIER, 0x11f0, 64, 0},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_hook_activity a = activity(cases[i].op, cases[i].kind);
        a.bytes = cases[i].bytes;
        hb_record_work w = hb_hook_work(&a, 77);
        if (w.kind != cases[i].work) fail_msg("case %zu is %u", i, w.kind);
        assert_int_equal(w.work, 77);
        assert_int_equal(w.bytes, cases[i].op == COPY ? cases[i].bytes : 0);
        assert_int_equal(w.device, 1);
        assert_int_equal(w.queue, 5);
        assert_int_equal(w.begin_ns, a.begin_ns);
        assert_int_equal(w.end_ns, a.end_ns);
        assert_int_equal(w.head.name, HB_STRING_UNNAMED);
    }
}

static void work_that_ended_before_it_began_has_no_duration(void **state)
{
    (void)state;
    assert_int_equal(lasts(DISPATCH, HB_HOOK_KERNEL, -10), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(lasts(DISPATCH, HB_HOOK_KERNEL, 0), 0); /* which is possible */
    assert_int_equal(lasts(DISPATCH, HB_HOOK_KERNEL, 1), 1);
    assert_int_equal(lasts(COPY, HTOD, 0), 0); /* and this is not */
    assert_int_equal(lasts(COPY, HTOD, 1), 1);
    assert_int_equal(lasts(COPY, HTOD, 5), 5);
    assert_int_equal(lasts(BARRIER, A_MARKER, -10), -10); /* not shown */
    assert_noted("HIP 88.87 told of 2 pieces of device work that ended before they began: shown "
                 "without duration");
}

static void one_that_ended_before_it_began_is_one(void **state)
{
    (void)state;
    assert_int_equal(lasts(COPY, DTOD, -1), 0);
    assert_noted("HIP 88.87 told of 1 piece of device work that ended before it began: shown "
                 "without duration");
}

/* ---- rocprofiler-sdk's agents ---- */

enum { MANY_AGENTS = 130, MOST_AGENTS = 128, A_CPU = 1, A_GPU = 2 };

static hb_rocp_agent agents[MANY_AGENTS];
static size_t num_agents;

static int tell_agents(uint32_t version,
                       int (*each)(uint32_t version, const void **agents, size_t count, void *arg),
                       size_t size, void *arg)
{
    const void *all[MANY_AGENTS];
    assert_int_equal(version, 1);
    assert_int_equal(size, sizeof *agents);
    for (size_t i = 0; i < num_agents; i++)
        all[i] = &agents[i];
    return each(version, all, num_agents, arg);
}

static void add_agent(uint32_t type, uint32_t domain, uint32_t location)
{
    size_t i = num_agents++;
    agents[i] = (hb_rocp_agent){.size = sizeof *agents,
                                .id = {500 + i},
                                .type = type,
                                .domain = domain,
                                .location = location,
                                .node = (uint32_t)(10 + i)};
}

static void find_agents(void)
{
    hb_rocp_agents_find(&(hb_rocp){.query_agents = tell_agents});
}

static const char *places[8];
static int place_error;

static int tell_place(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "%s", places[device]);
    return place_error;
}

static void agents_have_their_nodes(void **state)
{
    (void)state;
    num_agents = 0;
    for (int i = 0; i < MANY_AGENTS; i++)
        add_agent(A_GPU, 0, 0);
    agents[1].size--; /* of a version that is not known */
    find_agents();
    assert_int_equal(hb_rocp_agent_node((hb_rocp_id){500}), 10);
    assert_int_equal(hb_rocp_agent_node((hb_rocp_id){501}), -1);
    assert_int_equal(hb_rocp_agent_node((hb_rocp_id){502}), 12);
    assert_int_equal(hb_rocp_agent_node((hb_rocp_id){500 + MOST_AGENTS}), 10 + MOST_AGENTS);
    assert_int_equal(hb_rocp_agent_node((hb_rocp_id){501 + MOST_AGENTS}), -1); /* no room */
    num_agents = 1;
    find_agents(); /* anew */
    assert_int_equal(hb_rocp_agent_node((hb_rocp_id){502}), -1);
}

/* The partitions of a card share its place. */
static void hips_devices_are_found_by_their_place(void **state)
{
    (void)state;
    hb_hip hip = {.device_get_pci_bus_id = tell_place};
    num_agents = 0;
    add_agent(A_GPU, 0, 0x10 << 8);
    add_agent(A_CPU, 0, 0x75 << 8);
    add_agent(A_GPU, 0, 0x75 << 8);
    add_agent(A_GPU, 0, 0x75 << 8 | 3 << 3 | 1);
    add_agent(A_GPU, 0, 0x75 << 8 | 3 << 3 | 2);
    add_agent(A_GPU, 2, 0x75 << 8);
    find_agents();
    places[0] = "0000:75:03.0";
    places[1] = "0002:75:00.0";
    places[2] = "0000:75:03.0";
    places[3] = "0000:75:00.0";
    places[4] = "0000:76:00.0";
    places[5] = "nowhere";
    places[6] = "0000:75:03.0"; /* one more than there are */
    places[7] = "0000:10:00.0";
    assert_int_equal(hb_rocp_node_of_device(&hip, 0), 13);
    assert_int_equal(hb_rocp_node_of_device(&hip, 1), 15);
    assert_int_equal(hb_rocp_node_of_device(&hip, 2), 14);
    assert_int_equal(hb_rocp_node_of_device(&hip, 3), 12);
    assert_int_equal(hb_rocp_node_of_device(&hip, 4), -1);
    assert_int_equal(hb_rocp_node_of_device(&hip, 5), -1);
    assert_int_equal(hb_rocp_node_of_device(&hip, 6), -1);
    assert_int_equal(hb_rocp_node_of_device(&hip, 7), 10);
    place_error = UNKNOWN_VALUE;
    assert_int_equal(hb_rocp_node_of_device(&hip, 0), -1);
    place_error = 0;
    hip.device_get_pci_bus_id = NULL;
    assert_int_equal(hb_rocp_node_of_device(&hip, 0), -1);
}

/* ---- its kernels ---- */

static const hb_rocp no_demangler;

static void announce(uint64_t id, const char *name, uint32_t vgprs)
{
    hb_rocp_kernel_symbol s = {.size = sizeof s - 4,
                               .kernel_id = id,
                               .name = name,
                               .sgprs = vgprs + 1,
                               .arch_vgprs = vgprs,
                               .accum_vgprs = vgprs + 2};
    hb_rocp_kernel_add(&no_demangler, &s);
}

static void assert_kernel(uint64_t id, const char *name, uint32_t vgprs, bool blit)
{
    hb_rocp_kernel k = hb_rocp_kernel_of(id);
    if (name)
        assert_string_equal(hb_strings_get(k.name).s, name);
    else
        assert_int_equal(k.name, HB_STRING_UNNAMED);
    assert_int_equal(k.vgprs, vgprs);
    assert_int_equal(k.blit, blit);
}

static void announced_kernels_are_known_by_their_number(void **state)
{
    (void)state;
    enum { MOST_KERNELS = 4096 * 1024 };
    announce(1, "first.kd", 10);
    announce(1, "again.kd", 20); /* numbers are not used again */
    announce(2, ".kd", 10);
    announce(3, "__amd_rocclr_copyBuffer.kd", 10);
    announce(4, NULL, 10);
    announce(5, "k.kd", 10);
    announce(1024, "of_another_page", 10);
    announce(MOST_KERNELS - 1, "last.kd", 10);
    announce(MOST_KERNELS, "beyond.kd", 10);
    assert_kernel(1, "first", 10, false);
    assert_int_equal(hb_rocp_kernel_of(1).sgprs, 11);
    assert_int_equal(hb_rocp_kernel_of(1).agprs, 12);
    assert_kernel(2, ".kd", 10, false);
    assert_kernel(3, "__amd_rocclr_copyBuffer", 10, true);
    assert_kernel(4, NULL, 10, false);
    assert_kernel(5, "k", 10, false);
    assert_kernel(1024, "of_another_page", 10, false);
    assert_kernel(MOST_KERNELS - 1, "last", 10, false);
    assert_kernel(MOST_KERNELS, NULL, HB_REGISTERS_UNKNOWN, false);
}

static void what_was_not_announced_of_a_kernel_is_unknown(void **state)
{
    (void)state;
    hb_rocp_kernel_symbol s = {
        .size = offsetof(hb_rocp_kernel_symbol, padding) - 1, .kernel_id = 11, .name = "short.kd"};
    hb_rocp_kernel_add(&no_demangler, &s);
    announce(12, "many.kd", HB_REGISTERS_UNKNOWN + 3);
    assert_kernel(11, NULL, HB_REGISTERS_UNKNOWN, false);
    assert_kernel(12, "many", HB_REGISTERS_UNKNOWN, false);
    assert_int_equal(hb_rocp_kernel_of(12).sgprs, HB_REGISTERS_UNKNOWN);
    assert_kernel((uint64_t)1 << 40, NULL, HB_REGISTERS_UNKNOWN, false);
    assert_int_equal(hb_rocp_kernel_of(13).sgprs, HB_REGISTERS_UNKNOWN);
    assert_int_equal(hb_rocp_kernel_of(13).agprs, HB_REGISTERS_UNKNOWN);
}

/* ---- its records ---- */

/* One that has ended and waits for these reports; never looked into. */
static char place_of_session;

static const hb_session *session(void)
{
    return (const hb_session *)(const void *)&place_of_session;
}

static int await_work(void **state)
{
    (void)state;
    num_agents = 0;
    add_agent(A_CPU, 0, 0);
    add_agent(A_GPU, 0, 0);
    add_agent(A_GPU, 0, 8);
    find_agents();
    hb_late_wants wants = {.first_work = 1, .last_work = 100, .missing = 5, .expected = 5};
    return !hb_late_open(session(), &wants);
}

static int forget_work(void **state)
{
    (void)state;
    hb_late_forget(session());
    return 0;
}

static size_t reported(void *to, size_t size)
{
    size_t bytes;
    uint64_t missing;
    const char *records = hb_late_records(session(), &bytes, &missing);
    if (bytes) memcpy(to, records, bytes < size ? bytes : size);
    return bytes;
}

static void assert_awaited(uint64_t missing, uint64_t expected)
{
    hb_late_wants wants;
    uint64_t progress;
    assert_true(hb_late_awaits(session(), &wants, &progress));
    assert_int_equal(wants.missing, missing);
    assert_int_equal(wants.expected, expected);
}

static hb_rocp_dispatch dispatch_of(uint64_t kernel)
{
    return (hb_rocp_dispatch){.work = {.size = sizeof(hb_rocp_dispatch),
                                       .correlation = 7,
                                       .begin_ns = 1000,
                                       .end_ns = 3000},
                              .agent = {502},
                              .queue = {44},
                              .kernel_id = kernel,
                              .private_bytes = 16,
                              .group_bytes = 512,
                              .workgroup = {256, 2, 0},
                              .grid = {1000, 2, 9}};
}

static void tell(uint32_t category, uint32_t kind, void *payload)
{
    hb_rocp_header h = {category, kind, payload};
    hb_rocp_record(&h, 50);
}

static void a_dispatch_is_a_kernel_in_whole_blocks(void **state)
{
    (void)state;
    hb_record_dispatch r;
    hb_rocp_dispatch d = dispatch_of(21);
    announce(21, "told.kd", 24);
    tell(1, 11, &d);
    assert_int_equal(reported(&r, sizeof r), sizeof r);
    assert_int_equal(r.work.kind, HB_WORK_KERNEL);
    assert_int_equal(r.work.work, 7);
    assert_int_equal(r.work.begin_ns, 1050);
    assert_int_equal(r.work.end_ns, 3050);
    assert_int_equal(r.work.device, 12);
    assert_int_equal(r.work.queue, 44);
    assert_int_equal(r.work.lds_bytes, 512);
    assert_int_equal(r.work.scratch_bytes, 16);
    assert_int_equal(r.work.head.flags, HB_RECORD_NODE);
    assert_string_equal(hb_strings_get(r.work.head.name).s, "told");
    assert_int_equal(r.vgprs, 24);
    assert_int_equal(r.sgprs, 25);
    assert_int_equal(r.agprs, 26);
    assert_int_equal(r.grid[0], 4); /* the last of them a part */
    assert_int_equal(r.grid[1], 1);
    assert_int_equal(r.grid[2], 9); /* of blocks of none */
    assert_int_equal(r.block[0], 256);
    assert_int_equal(r.block[1], 2);
    assert_int_equal(r.block[2], 0);
    assert_awaited(4, 5);
}

static void a_kernel_of_the_runtimes_own_was_not_promised(void **state)
{
    (void)state;
    hb_record_dispatch r;
    hb_rocp_dispatch d = dispatch_of(22);
    announce(22, "__amd_rocclr_fillBufferAligned.kd", 8);
    d.workgroup.x = 70000;
    d.grid.x = UINT32_MAX;
    tell(1, 11, &d);
    assert_int_equal(reported(&r, sizeof r), sizeof r);
    assert_int_equal(r.work.head.flags, HB_RECORD_NODE | HB_RECORD_BLIT);
    assert_int_equal(r.block[0], UINT16_MAX);
    assert_int_equal(r.grid[0], UINT32_MAX / 70000 + 1);
    assert_awaited(5, 4);
}

static void a_copy_is_on_the_device_that_it_is_from_or_to(void **state)
{
    (void)state;
    static const struct {
        uint32_t operation;
        uint64_t to, from;
        uint32_t kind;
        int32_t device;
    } cases[] = {{2, 501, 500, HB_WORK_HTOD, 11},
                 {3, 500, 502, HB_WORK_DTOH, 12},
                 {4, 501, 502, HB_WORK_DTOD, 12}};
    hb_record_work r[3];
    for (int i = 0; i < 3; i++) {
        hb_rocp_memory_copy c = {
            .work = {.size = sizeof c, .operation = cases[i].operation, .correlation = 8},
            .to = {cases[i].to},
            .from = {cases[i].from},
            .bytes = 100};
        tell(1, 10, &c);
    }
    assert_int_equal(reported(r, sizeof r), sizeof r);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r[i].kind, cases[i].kind);
        assert_int_equal(r[i].device, cases[i].device);
        assert_int_equal(r[i].bytes, 100);
        assert_int_equal(r[i].head.flags, HB_RECORD_NODE);
    }
    assert_awaited(5, 2);
}

static void other_records_are_nothing(void **state)
{
    (void)state;
    hb_rocp_dispatch d = dispatch_of(21);
    hb_rocp_memory_copy c = {.work = {.size = sizeof c, .operation = 1, .correlation = 8}};
    tell(1, 10, &c); /* from host to host */
    c.work.operation = 2;
    tell(2, 10, &c);
    tell(2, 11, &d);
    tell(1, 12, &d);
    c.work.size--;
    tell(1, 10, &c);
    d.work.size--;
    tell(1, 11, &d);
    assert_int_equal(reported(NULL, 0), 0);
    assert_awaited(5, 5);
}

/* ---- graphs ---- */

static void an_executable_graph_has_the_kernels_of_its_graph(void **state)
{
    (void)state;
    hb_graphs_begin();
    assert_int_equal(hb_graphs_kernels(0x1000), 0);
    hb_graphs_captured(0x1000, 3);
    hb_graphs_made(0x1000, 0x2000);
    hb_graphs_made(0x1234, 0x3000); /* of one that was not captured */
    assert_int_equal(hb_graphs_kernels(0x2000), 3);
    assert_int_equal(hb_graphs_kernels(0x3000), 0);
    hb_graphs_captured(0x1000, 4);
    assert_int_equal(hb_graphs_kernels(0x2000), 3);
    hb_graphs_after_fork();
    assert_int_equal(hb_graphs_kernels(0x2000), 0);
    hb_graphs_captured(0x1000, 4);
    hb_graphs_begin();
    assert_int_equal(hb_graphs_kernels(0x1000), 0);
}

/* ---- waiting ---- */

static said_text said;

static void begin_to_hear(void)
{
    said_begin(&said);
}

static bool was_said(const char *what)
{
    const char *text = said_end(&said);
    fputs(text, stderr);
    return strstr(text, what) != NULL;
}

static void set_patience(const char *text)
{
    setenv("HIPBOARD_GPU_PATIENCE", text, 1);
    hb_synchronize_prepare();
}

static void patience_is_set_in_seconds(void **state)
{
    (void)state;
    static const char *const wrong[] = {"-1", "3x", "1a", "long"};
    assert_int_equal(hb_synchronize_setting_ms(), 30000);
    set_patience("3");
    assert_int_equal(hb_synchronize_setting_ms(), 3000);
    set_patience("");
    assert_int_equal(hb_synchronize_setting_ms(), 3000);
    set_patience("0");
    assert_int_equal(hb_synchronize_setting_ms(), 0);
    set_patience("100001");
    assert_int_equal(hb_synchronize_setting_ms(), 100000000);
    for (size_t i = 0; i < HB_ARRAY_LEN(wrong); i++) {
        char expected[128];
        snprintf(expected, sizeof expected,
                 "HIPBOARD_GPU_PATIENCE is '%s', not a number of seconds: 30 is taken", wrong[i]);
        set_patience("7");
        begin_to_hear();
        set_patience(wrong[i]);
        assert_true(was_said(expected));
        assert_int_equal(hb_synchronize_setting_ms(), 30000);
    }
    begin_to_hear();
    set_patience("7");
    assert_false(was_said("HIPBOARD_GPU_PATIENCE"));
}

static bool waits(const hb_late_wants *wants, int idle_ms)
{
    int ms = idle_ms;
    bool more = hb_reports_wait(wants, &ms);
    assert_int_equal(ms, more ? idle_ms + 1 : idle_ms);
    return more;
}

/* The devices have nothing to do: what is missing may be late, the rest hardly. */
static void idle_devices_are_waited_for_by_what_may_come(void **state)
{
    (void)state;
    static const hb_late_wants none, missing = {.missing = 1}, expected = {.expected = 1},
                                     replays = {.replays = true}, both = {1, 2, 0, 1, true};
    assert_false(hb_reports_awaited(&none));
    assert_true(hb_reports_awaited(&missing) && hb_reports_awaited(&expected));
    assert_true(hb_reports_awaited(&replays));
    set_patience("30");
    assert_false(waits(&none, 0));
    assert_true(waits(&replays, 9));
    assert_false(waits(&replays, 10));
    assert_true(waits(&both, 49));
    assert_false(waits(&both, 50));
    assert_false(waits(&expected, 50));
    assert_true(waits(&missing, 4999));
    set_patience("1");
    assert_true(waits(&missing, 999));
    set_patience("0");
    assert_true(waits(&missing, 299));
    set_patience("30");
    assert_false(waits(&missing, 5000));
    assert_true(waits(&missing, 299)); /* once it was in vain */
    assert_false(waits(&missing, 300));
}

static _Atomic int answer, times_synchronized, chosen_device, device_error;

static int query(void *stream)
{
    (void)stream;
    return atomic_load(&answer);
}

static int synchronize_device(void)
{
    atomic_fetch_add(&times_synchronized, 1);
    return 0;
}

static int choose_device(int device)
{
    atomic_store(&chosen_device, device);
    return atomic_load(&device_error);
}

static const hb_hip with_streams = {.release = 602,
                                    .stream_query = query,
                                    .device_synchronize = synchronize_device,
                                    .set_device = choose_device};

/* Its thread has come to its end. */
static void await_end(void)
{
    hb_synchronize_part(60000);
    assert_int_equal(hb_synchronize_patience_ms(), 0);
}

static void busy_devices_are_waited_for_as_long_as_is_set(void **state)
{
    (void)state;
    static const hb_late_wants none, missing = {.missing = 1};
    set_patience("1000");
    hb_busy_streams_forget();
    hb_synchronize_begin(&with_streams);
    assert_int_equal(hb_synchronize_patience_ms(), 0); /* no stream has work */
    atomic_store(&answer, NOT_READY);
    hb_busy_streams_add(0x100, 2);
    hb_busy_streams_add_unknown(6); /* for which its turn does not come */
    hb_synchronize_begin(&with_streams);
    assert_int_equal(hb_synchronize_patience_ms(), 1000000);
    assert_false(waits(&none, 0));
    begin_to_hear();
    assert_true(waits(&missing, 1999));
    assert_false(was_said("waiting for GPUs"));
    begin_to_hear();
    assert_true(waits(&missing, 2000));
    assert_true(
        was_said("waiting for GPUs: 1 piece of their work is not reported yet; at most 1000 s "
                 "after each report (HIPBOARD_GPU_PATIENCE; said once)"));
    begin_to_hear();
    assert_true(waits(&missing, 2000));
    assert_false(was_said("waiting for GPUs"));
    assert_true(waits(&missing, 999999));
    assert_int_equal(hb_synchronize_patience_ms(), 1000000);
    assert_false(waits(&missing, 1000000));
    assert_int_equal(hb_synchronize_patience_ms(), 0); /* given up */
    await_end();
    assert_int_equal(atomic_load(&times_synchronized), 0);
}

static void devices_are_waited_for_anew_after_one_was_given_up(void **state)
{
    (void)state;
    set_patience("7");
    hb_busy_streams_forget();
    atomic_store(&answer, NOT_READY);
    hb_busy_streams_add(0x100, 2);
    hb_synchronize_begin(&with_streams);
    hb_synchronize_begin(&with_streams); /* goes on */
    assert_int_equal(hb_synchronize_patience_ms(), 7000);
    hb_synchronize_give_up();
    await_end();
    hb_synchronize_give_up(); /* there is nothing */
    hb_synchronize_begin(&with_streams);
    assert_int_equal(hb_synchronize_patience_ms(), 7000);
    atomic_store(&answer, 0);
    await_end();
    hb_synchronize_after_fork();
    assert_int_equal(hb_synchronize_patience_ms(), 0);
}

static _Atomic int streams_synchronized;

static int synchronize_stream(void *stream)
{
    assert_ptr_equal(stream, (void *)0x100);
    atomic_fetch_add(&streams_synchronized, 1);
    return 0;
}

/* It reports work to who waits for it. */
static void since_hip_7_streams_that_are_done_are_waited_for(void **state)
{
    (void)state;
    static hb_hip hip;
    hip = with_streams;
    hip.release = 700;
    hip.stream_synchronize = synchronize_stream;
    hb_busy_streams_forget();
    atomic_store(&answer, 0);
    hb_busy_streams_add(0x100, 2);
    hb_synchronize_begin(&hip);
    await_end();
    assert_int_equal(atomic_load(&streams_synchronized), 1);
}

static void devices_whose_streams_are_not_known_are_waited_for_whole(void **state)
{
    (void)state;
    set_patience("7");
    hb_busy_streams_forget();
    atomic_store(&times_synchronized, 0);
    hb_busy_streams_add_unknown(3);
    hb_synchronize_begin(&with_streams);
    await_end();
    assert_int_equal(atomic_load(&times_synchronized), 1);
    assert_int_equal(atomic_load(&chosen_device), 3);
    hb_busy_streams_add_unknown(1);
    hb_busy_streams_add_unknown(4);
    hb_synchronize_begin(&with_streams);
    await_end();
    assert_int_equal(atomic_load(&times_synchronized), 3);
    assert_int_equal(atomic_load(&chosen_device), 4);
    atomic_store(&device_error, UNKNOWN_VALUE);
    hb_busy_streams_add_unknown(5);
    hb_synchronize_begin(&with_streams);
    await_end();
    assert_int_equal(atomic_load(&times_synchronized), 3);
    atomic_store(&device_error, 0);
}

/* ---- while streams are captured into graphs ---- */

enum { GLOBAL_MODE = 0, RELAXED_MODE = 2, CAPTURE_ACTIVE = 1, REFUSED = 900, IMPLICIT = 906 };

static __thread int capture_mode; /* of a thread, GLOBAL_MODE where it has set none */
static _Atomic int times_queried, queries_in_global_mode, capture_status, capture_error;

static int exchange_mode(int *mode)
{
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return 0;
}

static int query_and_note(void *stream)
{
    atomic_fetch_add(&times_queried, 1);
    atomic_fetch_add(&queries_in_global_mode, capture_mode == GLOBAL_MODE);
    return query(stream);
}

static int tell_capture(void *stream, int *status)
{
    (void)stream;
    *status = atomic_load(&capture_status);
    return atomic_load(&capture_error);
}

static const hb_hip with_captures = {.release = 702,
                                     .stream_query = query_and_note,
                                     .stream_synchronize = synchronize_stream,
                                     .stream_is_capturing = tell_capture,
                                     .exchange_capture_mode = exchange_mode,
                                     .device_synchronize = synchronize_device,
                                     .set_device = choose_device};

static int forget_captures(void **state)
{
    (void)state;
    set_patience("1000");
    hb_busy_streams_forget();
    atomic_store(&answer, 0);
    atomic_store(&times_queried, 0);
    atomic_store(&queries_in_global_mode, 0);
    atomic_store(&capture_status, 0);
    atomic_store(&capture_error, 0);
    atomic_store(&streams_synchronized, 0);
    return 0;
}

static void await_times(const _Atomic int *times, int wanted)
{
    while (atomic_load(times) < wanted)
        hb_synchronize_part(1);
}

static void it_waits_still(void)
{
    hb_synchronize_part(50);
    assert_int_equal(hb_synchronize_patience_ms(), 1000000);
}

/* In the other one what it asks would break the captures of all threads. */
static void streams_are_asked_about_in_relaxed_mode(void **state)
{
    (void)state;
    hb_busy_streams_add(0x100, 2);
    hb_synchronize_begin(&with_captures);
    await_end();
    assert_int_equal(atomic_load(&times_queried), 2); /* once more before it is waited for */
    assert_int_equal(atomic_load(&queries_in_global_mode), 0);
    assert_int_equal(capture_mode, GLOBAL_MODE); /* this thread's */
}

static void a_stream_that_is_captured_is_asked_about_when_it_no_longer_is(void **state)
{
    (void)state;
    atomic_store(&capture_status, CAPTURE_ACTIVE);
    hb_busy_streams_add(0x100, 2);
    hb_synchronize_begin(&with_captures);
    it_waits_still();
    assert_int_equal(atomic_load(&times_queried), 0);
    atomic_store(&capture_status, 0);
    await_end();
    assert_int_equal(atomic_load(&times_queried), 2);
    assert_int_equal(atomic_load(&streams_synchronized), 1);
}

/* The one without a handle, where another one's capture forbids to ask. */
static void a_stream_that_can_not_be_told_of_is_not_asked_about(void **state)
{
    (void)state;
    atomic_store(&capture_error, IMPLICIT);
    hb_busy_streams_add(0, 2);
    hb_synchronize_begin(&with_captures);
    it_waits_still();
    assert_int_equal(atomic_load(&times_queried), 0);
    atomic_store(&answer, UNKNOWN_VALUE);
    atomic_store(&capture_error, UNKNOWN_VALUE); /* it is gone */
    await_end();
    assert_int_equal(atomic_load(&times_queried), 2);
}

/* Up to HIP 6.0, by any capture. */
static void a_stream_that_is_not_answered_for_is_not_done(void **state)
{
    (void)state;
    atomic_store(&answer, REFUSED);
    hb_busy_streams_add(0x100, 2);
    hb_synchronize_begin(&with_captures);
    await_times(&times_queried, 2);
    it_waits_still();
    atomic_store(&answer, 0);
    await_end();
}

static const char *name_of(uint32_t cid)
{
    static const char *const names[] = {"hipStreamBeginCapture", "hipStreamEndCapture"};
    return names[cid];
}

enum { BEGIN_CAPTURE, END_CAPTURE };

static const char no_args[64];

static hb_frame *begin_call(uint32_t cid)
{
    hb_frame *f = hb_calls_push(cid, HB_FRAME);
    assert_non_null(f);
    hb_call_begin(f, no_args);
    return f;
}

static void end_call(hb_frame *f, int error)
{
    hb_call_end(f, no_args, error);
}

static int begin_session_of_calls(void **state)
{
    static const hb_calls_source calls = {
        .num_functions = 2, .name_of = name_of, .interposed = true};
    return forget_captures(state) || begin_session(state) || !hb_calls_init(&with_captures, &calls);
}

static sem_t is_synchronizing, may_synchronize;

static int synchronize_when_told(void)
{
    sem_post(&is_synchronizing);
    sem_wait(&may_synchronize);
    return synchronize_device();
}

/* The captures of all threads would be broken, whatever the mode. The wait for the device before
 * may have lasted. */
static void no_device_is_waited_for_whole_while_a_stream_is_captured(void **state)
{
    (void)state;
    static hb_hip hip;
    hip = with_captures;
    hip.device_synchronize = synchronize_when_told;
    atomic_store(&times_synchronized, 0);
    sem_init(&is_synchronizing, 0, 0);
    sem_init(&may_synchronize, 0, 0);
    hb_busy_streams_add_unknown(3);
    hb_busy_streams_add_unknown(5);
    hb_synchronize_begin(&hip);
    sem_wait(&is_synchronizing);
    hb_frame *f = begin_call(BEGIN_CAPTURE);
    sem_post(&may_synchronize);
    sem_post(&may_synchronize);
    await_times(&times_synchronized, 1);
    it_waits_still(); /* from the call's begin on, */
    assert_int_equal(atomic_load(&times_synchronized), 1);
    end_call(f, 0);
    it_waits_still();
    assert_int_equal(atomic_load(&times_synchronized), 1);
    end_call(begin_call(END_CAPTURE), 0);
    await_end();
    assert_int_equal(atomic_load(&times_synchronized), 2);
    end_call(begin_call(BEGIN_CAPTURE), UNKNOWN_VALUE);
    assert_int_equal(hb_calls_count().capturing, 0);
    cJSON_Delete(capture_stop(prof));
}

static void a_runtime_that_can_not_be_asked_is_not_waited_for(void **state)
{
    (void)state;
    atomic_store(&answer, NOT_READY);
    hb_busy_streams_add(0x100, 2);
    for (int i = 0; i < 3; i++) {
        hb_hip hip = with_streams;
        if (i == 0) hip.stream_query = NULL;
        if (i == 1) hip.device_synchronize = NULL;
        if (i == 2) hip.set_device = NULL;
        hb_synchronize_begin(&hip);
        assert_int_equal(hb_synchronize_patience_ms(), 0);
    }
    hb_busy_streams_forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reports_that_make_no_sense_are_left_out_and_counted, begin_session),
        cmocka_unit_test_setup(work_began_within_an_hour_and_has_ended, begin_session),
        cmocka_unit_test_setup(one_that_makes_no_sense_is_one, begin_session),
        cmocka_unit_test_setup(what_is_told_twice_is_there_once, begin_session),
        cmocka_unit_test_setup(a_session_without_odd_reports_has_no_note, begin_session),
        cmocka_unit_test(reports_become_work_of_their_command),
        cmocka_unit_test_setup(work_that_ended_before_it_began_has_no_duration, begin_session),
        cmocka_unit_test_setup(one_that_ended_before_it_began_is_one, begin_session),
        cmocka_unit_test(agents_have_their_nodes),
        cmocka_unit_test(hips_devices_are_found_by_their_place),
        cmocka_unit_test(announced_kernels_are_known_by_their_number),
        cmocka_unit_test(what_was_not_announced_of_a_kernel_is_unknown),
        cmocka_unit_test_setup_teardown(a_dispatch_is_a_kernel_in_whole_blocks, await_work,
                                        forget_work),
        cmocka_unit_test_setup_teardown(a_kernel_of_the_runtimes_own_was_not_promised, await_work,
                                        forget_work),
        cmocka_unit_test_setup_teardown(a_copy_is_on_the_device_that_it_is_from_or_to, await_work,
                                        forget_work),
        cmocka_unit_test_setup_teardown(other_records_are_nothing, await_work, forget_work),
        cmocka_unit_test(an_executable_graph_has_the_kernels_of_its_graph),
        cmocka_unit_test(patience_is_set_in_seconds),
        cmocka_unit_test(idle_devices_are_waited_for_by_what_may_come),
        cmocka_unit_test(busy_devices_are_waited_for_as_long_as_is_set),
        cmocka_unit_test(devices_are_waited_for_anew_after_one_was_given_up),
        cmocka_unit_test(since_hip_7_streams_that_are_done_are_waited_for),
        cmocka_unit_test(devices_whose_streams_are_not_known_are_waited_for_whole),
        cmocka_unit_test_setup(streams_are_asked_about_in_relaxed_mode, forget_captures),
        cmocka_unit_test_setup(a_stream_that_is_captured_is_asked_about_when_it_no_longer_is,
                               forget_captures),
        cmocka_unit_test_setup(a_stream_that_can_not_be_told_of_is_not_asked_about,
                               forget_captures),
        cmocka_unit_test_setup(a_stream_that_is_not_answered_for_is_not_done, forget_captures),
        cmocka_unit_test_setup(no_device_is_waited_for_whole_while_a_stream_is_captured,
                               begin_session_of_calls),
        cmocka_unit_test(a_runtime_that_can_not_be_asked_is_not_waited_for),
    };
    hb_record_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
