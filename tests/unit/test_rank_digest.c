/* SPDX-License-Identifier: MIT
 *
 * A rank's part in a job, from events to bytes and back.
 */
#include "digest/rank_digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ranks/rank_file.h"

#define BASE 1000000

static const hb_rank_origin origin = {.host = "node",
                                      .worker = "w",
                                      .file = "w.pt.trace.json",
                                      .backend = "mpi",
                                      .rank = 3,
                                      .world = 8,
                                      .pid = 77,
                                      .base_ns = BASE,
                                      .lost = 5,
                                      .clock_method = HB_RANK_CLOCK_MEASURED,
                                      .clock_offset_ns = -12,
                                      .clock_bound_ns = 34};

static hb_rank_maker *maker;
static hb_buf bytes;
static hb_arena arena;
static hb_rank_digest digest;

static int begin(void **state)
{
    (void)state;
    maker = hb_rank_maker_new();
    hb_buf_init(&bytes, SIZE_MAX / 2);
    arena = (hb_arena){0};
    return maker ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    hb_rank_maker_free(maker);
    hb_buf_free(&bytes);
    hb_arena_free(&arena);
    return 0;
}

static hb_str str(const char *text)
{
    return (hb_str){text, (uint32_t)strlen(text)};
}

static void check_text(hb_str text, const char *expected)
{
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.s, expected, text.len);
}

static void add(hb_role role, uint32_t track, const char *name, int64_t from, int64_t to)
{
    const hb_rank_event e = {
        .role = role, .track = track, .name = str(name), .start = from, .end = to};
    assert_true(hb_rank_maker_add(maker, &e));
}

static hb_rank_comm collective(const char *operation, const char *group, int64_t sequence)
{
    return (hb_rank_comm){.operation = str(operation),
                          .group = str(group),
                          .description = str("of all"),
                          .members = str("[0, 1]"),
                          .sequence = sequence,
                          .in = 4,
                          .out = 4,
                          .bytes = 16 * sequence,
                          .group_size = 2,
                          .source = -1,
                          .dest = -1,
                          .tag = -1};
}

static hb_rank_comm message(int64_t source, int64_t dest, int64_t tag, int64_t size)
{
    return (hb_rank_comm){.operation = str(dest >= 0 ? "send" : "recv"),
                          .group = str("0"),
                          .in = -1,
                          .out = -1,
                          .bytes = size,
                          .source = source,
                          .dest = dest,
                          .tag = tag};
}

static void communicate(hb_rank_witness witness, hb_rank_comm comm, int64_t from, int64_t to)
{
    const hb_rank_event e = {.role = HB_ROLE_COMMUNICATION,
                             .witness = witness,
                             .track = 1,
                             .name = comm.operation,
                             .start = from,
                             .end = to,
                             .comm = &comm};
    assert_true(hb_rank_maker_add(maker, &e));
}

static void decode(void)
{
    assert_int_equal(hb_rank_maker_write(maker, &origin, &bytes), HB_OK);
    if (hb_arena_try(&arena))
        hb_rank_decode(&arena, (hb_str){bytes.data, (uint32_t)bytes.size}, "made", &digest);
    assert_int_equal(hb_arena_outcome(&arena), HB_OK);
}

static void who_it_was_and_its_steps(void **state)
{
    (void)state;
    add(HB_ROLE_TOTAL, 1, "ProfilerStep#8", 200, 290);
    add(HB_ROLE_TOTAL, 1, "ProfilerStep#7", 100, 200);
    add(HB_ROLE_OTHER, 1, "backwards", 50, 40); /* is passed over */
    decode();
    check_text(digest.host, "node");
    check_text(digest.worker, "w");
    check_text(digest.file, "w.pt.trace.json");
    check_text(digest.backend, "mpi");
    assert_true(digest.rank == 3 && digest.world == 8 && digest.pid == 77 && digest.lost == 5);
    assert_int_equal(digest.clock_method, HB_RANK_CLOCK_MEASURED);
    assert_true(digest.clock_offset == -12 && digest.clock_bound == 34);
    assert_int_equal(digest.num_steps, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(digest.steps[i].number, 7 + i);
        assert_int_equal(digest.steps[i].start, BASE + 100 + 100 * i);
        assert_int_equal(digest.steps[i].end, BASE + (i ? 290 : 200));
    }
}

/* Of two groups; in the order of their numbers, in whatever order they came. */
static void collectives_come_back(void **state)
{
    hb_rank_entry entry;
    (void)state;
    add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 1000);
    communicate(HB_RANK_CALL, collective("allreduce", "0", 2), 300, 340);
    communicate(HB_RANK_CALL, collective("allreduce", "0", 1), 100, 120);
    communicate(HB_RANK_CALL, collective("broadcast", "pair", 1), 500, 501);
    communicate(HB_RANK_CALL, collective("barrier", "0", 3), 400, 400);
    decode();
    assert_int_equal(digest.num_groups, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const hb_rank_group *g = &digest.groups[i];
        bool pair = g->name.len == 4;
        check_text(g->name, pair ? "pair" : "0");
        check_text(g->description, "of all");
        check_text(g->members, "[0, 1]");
        assert_true(g->size == 2 && g->numbered && g->count == (pair ? 1u : 3u));
        hb_rank_walk walk = hb_rank_walk_group(&digest, g);
        for (int k = 0; k < (pair ? 1 : 3); k++) {
            static const char *const names[] = {"allreduce", "allreduce", "barrier"};
            static const int64_t from[] = {100, 300, 400}, to[] = {120, 340, 400};
            assert_true(hb_rank_next(&walk, &entry));
            check_text(entry.operation, pair ? "broadcast" : names[k]);
            assert_int_equal(entry.sequence, k + 1);
            assert_int_equal(entry.bytes, 16 * (k + 1));
            assert_int_equal(entry.start, BASE + (pair ? 500 : from[k]));
            assert_int_equal(entry.end, BASE + (pair ? 501 : to[k]));
            assert_false(entry.async);
        }
        assert_false(hb_rank_next(&walk, &entry));
    }
}

/* By who it goes to or comes from, and by tag. */
static void messages_come_back(void **state)
{
    static const struct {
        int64_t source, dest, tag;
    } channels[] = {{-1, 1, 7}, {-1, 2, 7}, {-1, 1, 8}, {1, -1, 7}};
    hb_rank_message m;
    uint32_t seen = 0;
    (void)state;
    add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 1000);
    for (int64_t turn = 0; turn < 2; turn++)
        for (int64_t i = 0; i < 4; i++)
            communicate(
                HB_RANK_CALL,
                message(channels[i].source, channels[i].dest, channels[i].tag, 64 + i + 10 * turn),
                100 + 10 * i + 100 * turn, 105 + 10 * i + 100 * turn);
    decode();
    assert_int_equal(digest.num_groups, 0);
    assert_int_equal(digest.num_channels, 4);
    for (uint32_t k = 0; k < 4; k++) {
        const hb_rank_channel *c = &digest.channels[k];
        int64_t i = !c->sends ? 3 : c->peer == 2 ? 1 : c->tag == 8 ? 2 : 0;
        assert_true(c->peer == (c->sends ? channels[i].dest : channels[i].source));
        assert_true(c->tag == channels[i].tag && c->count == 2);
        seen |= 1u << i;
        hb_rank_walk walk = hb_rank_walk_channel(&digest, c);
        for (int64_t turn = 0; turn < 2; turn++) {
            assert_true(hb_rank_next_message(&walk, &m));
            assert_int_equal(m.bytes, 64 + i + 10 * turn);
            assert_int_equal(m.start, BASE + 100 + 10 * i + 100 * turn);
            assert_int_equal(m.end, BASE + 105 + 10 * i + 100 * turn);
        }
        assert_false(hb_rank_next_message(&walk, &m));
    }
    assert_int_equal(seen, 15);
}

/* Whatever its call is named, a message has an end elsewhere; rank 0 is one. Without it none is
 * matched. */
static void what_is_a_message(void **state)
{
    static const struct {
        const char *operation;
        int64_t source, dest;
        uint32_t channels, unmatched;
    } rows[] = {
        {"other", -1, 0, 1, 0}, {"other", 0, -1, 1, 0},   {"sendrecv", 0, 0, 2, 0},
        {"send", -1, -1, 0, 1}, {"recv", -1, -1, 0, 1},   {"allreduce", -1, -1, 0, 0},
        {"other", -1, 5, 1, 0}, {"sendrecv", 2, 1, 2, 0},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        if (i) begin(state);
        add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 1000);
        hb_rank_comm comm = message(rows[i].source, rows[i].dest, 7, 64);
        comm.operation = str(rows[i].operation);
        communicate(HB_RANK_CALL, comm, 100, 110);
        decode();
        assert_int_equal(digest.num_channels, rows[i].channels);
        assert_int_equal(digest.unmatched, rows[i].unmatched);
        assert_int_equal(digest.num_groups, strcmp(rows[i].operation, "allreduce") == 0);
        if (i + 1 < HB_ARRAY_LEN(rows)) end(state);
    }
}

static void the_best_witness_is_believed(void **state)
{
    enum { ANNOTATION = 1, CALL = 2, ENQUEUE = 4, KERNEL = 8 };
    static const struct {
        int seen, counted;
    } rows[] = {
        {ANNOTATION, ANNOTATION},         {ANNOTATION | CALL, CALL},
        {ANNOTATION | ENQUEUE, ENQUEUE},  {ANNOTATION | KERNEL, KERNEL},
        {ENQUEUE | KERNEL, KERNEL},       {CALL | KERNEL, CALL | KERNEL},
        {CALL | ENQUEUE, CALL | ENQUEUE}, {ANNOTATION | CALL | ENQUEUE | KERNEL, CALL | KERNEL},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_rank_entry entry;
        int counted = 0;
        if (i) begin(state);
        add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 1000);
        for (int w = 0; w < 4; w++) /* told apart by their sizes */
            if (rows[i].seen >> w & 1) {
                hb_rank_comm comm = collective("allreduce", "0", 0);
                comm.bytes = 1 << w;
                communicate((hb_rank_witness)(HB_RANK_ANNOTATION + w), comm, 100 + 10 * w,
                            105 + 10 * w);
            }
        decode();
        assert_int_equal(digest.num_groups, 1);
        assert_false(digest.groups[0].numbered);
        hb_rank_walk walk = hb_rank_walk_group(&digest, &digest.groups[0]);
        for (int64_t place = 1; hb_rank_next(&walk, &entry); place++) {
            assert_int_equal(entry.sequence, place);
            counted |= (int)entry.bytes;
        }
        assert_int_equal(counted, rows[i].counted);
        if (i + 1 < HB_ARRAY_LEN(rows)) end(state);
    }
}

static void what_it_was_in_at_the_end(void **state)
{
    const hb_rank_comm comm = collective("allreduce", "0", 4);
    hb_rank_event e = {.role = HB_ROLE_OTHER, .open = true, .track = 1, .name = str("outer")};
    (void)state;
    add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 1000);
    e.start = 600;
    e.end = 1000;
    assert_true(hb_rank_maker_add(maker, &e));
    e = (hb_rank_event){.role = HB_ROLE_COMMUNICATION,
                        .witness = HB_RANK_CALL,
                        .open = true,
                        .track = 1,
                        .name = str("all"),
                        .start = 700,
                        .end = 1000,
                        .comm = &comm};
    assert_true(hb_rank_maker_add(maker, &e));
    decode();
    assert_int_equal(digest.num_inside, 2);
    check_text(digest.inside[0].name, "outer");
    check_text(digest.inside[1].group, "0");
    assert_true(digest.inside[0].sequence == 0 && digest.inside[1].sequence == 4);
    assert_true(digest.inside[0].start == BASE + 600 && digest.inside[1].start == BASE + 700);
    assert_int_equal(digest.num_groups, 0); /* it has no end */
}

/* The damaged one is passed over, what is cut off is told. */
static void files_hold_several(void **state)
{
    hb_buf file;
    hb_rank_records records;
    hb_rank_stamp stamp;
    hb_str found;
    (void)state;
    hb_buf_init(&file, SIZE_MAX / 2);
    hb_rank_file_head(&file);
    assert_int_equal(file.size, HB_RANK_FILE_HEAD);
    size_t second = 0;
    for (uint64_t i = 0; i < 3; i++) {
        if (i == 1) second = file.size;
        hb_rank_file_record(&file, (hb_rank_stamp){10 + i, 20 + (int64_t)i}, "digest", 6);
    }
    for (int how = 0; how < 3; how++) {
        hb_str whole = {file.data, (uint32_t)(file.size - (how == 2))};
        if (how == 1) file.data[second + HB_RANK_RECORD_HEAD + HB_RANK_STAMP] ^= 1;
        assert_int_equal(hb_rank_records_open(&records, "made", whole), HB_OK);
        uint64_t sum = 0;
        while (hb_rank_records_next(&records, &stamp, &found)) {
            check_text(found, "digest");
            assert_true(stamp.changed_ns == (int64_t)stamp.size + 10);
            sum = 100 * sum + stamp.size;
        }
        assert_int_equal(sum, how == 0 ? 101112 : how == 1 ? 1012 : 10);
        assert_int_equal(records.damaged, how > 0);
        assert_int_equal(records.cut, how == 2);
    }
    file.data[0] ^= 1;
    assert_int_equal(
        hb_rank_records_open(&records, "made", (hb_str){file.data, (uint32_t)file.size}),
        HB_ERROR_FORMAT);
    hb_buf_free(&file);
}

/* ---- sums, against what one finds who looks at each nanosecond ---- */

enum { SPAN = 300, TRACKS = 3 };

static uint32_t chance = 12345;

static int64_t below(int64_t limit)
{
    chance = chance * 1664525u + 1013904223u;
    return (int64_t)((chance >> 8) % (uint64_t)limit);
}

static void check_roles(const int64_t *found, const uint8_t *roles, int64_t from, int64_t to)
{
    int64_t expected[HB_ROLE_PARTS] = {0};
    for (int64_t at = from; at < to; at++)
        expected[roles[at]]++;
    for (int role = 0; role < HB_ROLE_PARTS; role++)
        assert_int_equal(found[role], expected[role]);
}

/* Of what is active at once the role that stands first counts; steps end where the next one begins.
 */
static void time_goes_to_roles(void **state)
{
    for (int turn = 0; turn < 60; turn++) {
        uint8_t roles[SPAN];
        int64_t starts[3] = {10 + below(40), 80 + below(40), 150 + below(40)}, ends[3];
        int steps = turn % 4, spans = (int)below(14);
        memset(roles, HB_ROLE_OTHER, sizeof roles);
        if (turn) begin(state);
        add(HB_ROLE_OTHER, 1, "whole", 0, SPAN);
        for (int i = 0; i < spans; i++) {
            int64_t from = below(SPAN - 60), to = from + below(60);
            hb_role role = (hb_role)below(HB_ROLE_PARTS);
            add(role, 1 + (uint32_t)below(TRACKS), "x", from, to);
            for (int64_t at = from; at < to; at++)
                roles[at] = (uint8_t)HB_MIN(roles[at], role);
        }
        for (int i = steps - 1; i >= 0; i--) {
            ends[i] = starts[i] + 20 + below(60);
            add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", starts[i], ends[i]);
            if (i + 1 < steps) ends[i] = HB_MIN(ends[i], starts[i + 1]);
        }
        decode();
        assert_int_equal(digest.num_steps, steps);
        int64_t sum[HB_ROLE_PARTS] = {0};
        for (int i = 0; i < steps; i++) {
            assert_int_equal(digest.steps[i].start, BASE + starts[i]);
            assert_int_equal(digest.steps[i].end, BASE + ends[i]);
            check_roles(digest.steps[i].role, roles, starts[i], ends[i]);
            for (int role = 0; role < HB_ROLE_PARTS; role++)
                sum[role] += digest.steps[i].role[role];
        }
        if (steps)
            assert_memory_equal(digest.whole, sum, sizeof sum);
        else
            check_roles(digest.whole, roles, 0, SPAN);
        if (turn + 1 < 60) end(state);
    }
}

/* What MPI needs to begin and to end is none of the job's time, where there are no steps. */
static void mpi_begins_and_ends_outside(void **state)
{
    for (int steps = 0; steps < 2; steps++) {
        if (steps) begin(state);
        add(HB_ROLE_CPU, 1, "before", 0, 50);
        add(HB_ROLE_COMMUNICATION, 1, "MPI_Init_thread", 100, 300);
        add(HB_ROLE_COMMUNICATION, 2, "MPI_Init", 100, 200);
        add(HB_ROLE_COMMUNICATION, 1, "MPI_Barrier", 400, 450);
        add(HB_ROLE_CPU, 1, "work", 500, 600);
        add(HB_ROLE_COMMUNICATION, 2, "MPI_Finalize", 850, 900);
        add(HB_ROLE_COMMUNICATION, 1, "MPI_Finalize", 800, 900);
        if (steps) add(HB_ROLE_TOTAL, 1, "ProfilerStep#4", 20, 880);
        decode();
        assert_int_equal(digest.start, BASE + (steps ? 0 : 300));
        assert_int_equal(digest.end, BASE + (steps ? 900 : 800));
        assert_int_equal(digest.whole[HB_ROLE_COMMUNICATION], steps ? 200 + 50 + 80 : 50);
        assert_int_equal(digest.whole[HB_ROLE_CPU], steps ? 30 + 100 : 100);
        assert_int_equal(digest.whole[HB_ROLE_OTHER], steps ? 860 - 330 - 130 : 350);
        if (!steps) end(state);
    }
}

static const hb_rank_cost *cost_of(const char *name, bool device)
{
    const hb_rank_cost *found = NULL;
    for (uint32_t i = 0; i < digest.num_costs; i++)
        if (hb_str_is(digest.costs[i].name, name) && digest.costs[i].device == device) {
            assert_null(found);
            found = &digest.costs[i];
        }
    return found;
}

static void check_cost(const char *name, bool device, uint64_t calls, int64_t self, int64_t total)
{
    const hb_rank_cost *cost = cost_of(name, device);
    assert_non_null(cost);
    assert_true(cost->calls == calls && cost->self == self && cost->total == total);
}

static void add_device(hb_role role, uint32_t stream, const char *name, int64_t from, int64_t to)
{
    const hb_rank_event e = {
        .role = role, .device = true, .track = stream, .name = str(name), .start = from, .end = to};
    assert_true(hb_rank_maker_add(maker, &e));
}

/* Self times leave out what runs within, on the same thread, communications too; of the device
 * kernels count, and have none within. */
static void operators_cost_their_own_time(void **state)
{
    (void)state;
    add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 1000);
    add(HB_ROLE_CPU, 1, "inner", 150, 190); /* in whatever order they come */
    add(HB_ROLE_CPU, 1, "outer", 100, 400);
    add(HB_ROLE_CPU, 1, "innermost", 160, 165);
    add(HB_ROLE_CPU, 1, "inner", 200, 230);
    communicate(HB_RANK_CALL, collective("allreduce", "0", 1), 300, 350);
    add(HB_ROLE_CPU, 1, "within it", 310, 320);
    add(HB_ROLE_CPU, 1, "crosses", 390, 420);
    add(HB_ROLE_CPU, 1, "behind", 420, 450);
    add(HB_ROLE_CPU, 2, "elsewhere", 110, 390);
    add(HB_ROLE_CPU, 2, "same", 500, 520);
    add(HB_ROLE_CPU, 2, "same's", 500, 510);
    add_device(HB_ROLE_KERNEL, 1, "gemm", 500, 600);
    add_device(HB_ROLE_KERNEL, 2, "gemm", 550, 570);
    add_device(HB_ROLE_KERNEL, 1, "inner", 700, 707);
    add_device(HB_ROLE_MEMCPY, 1, "copy", 800, 900);
    decode();
    check_cost("outer", false, 1, 300 - 40 - 30 - 50 - 10, 300);
    check_cost("inner", false, 2, 40 - 5 + 30, 70);
    check_cost("innermost", false, 1, 5, 5);
    check_cost("within it", false, 1, 10, 10);
    check_cost("crosses", false, 1, 30, 30);
    check_cost("behind", false, 1, 30, 30);
    check_cost("elsewhere", false, 1, 280, 280);
    check_cost("same", false, 1, 10, 20);
    check_cost("same's", false, 1, 10, 10);
    check_cost("gemm", true, 2, 120, 120);
    check_cost("inner", true, 1, 7, 7);
    assert_int_equal(digest.num_costs, 11);
    for (uint32_t i = 0; i + 1 < digest.num_costs; i++) {
        const hb_rank_cost *a = &digest.costs[i], *b = &digest.costs[i + 1];
        int order = memcmp(a->name.s, b->name.s, HB_MIN(a->name.len, b->name.len));
        assert_true(a->self > b->self ||
                    (a->self == b->self && (order < 0 || (!order && a->name.len < b->name.len))));
    }
}

/* Of many operators a digest keeps the 24 that cost most. */
static void the_dearest_operators_are_kept(void **state)
{
    char name[16];
    (void)state;
    add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 10000);
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "op%d", i);
        add(HB_ROLE_CPU, 1, name, 100 * i, 100 * i + 10 + i);
    }
    decode();
    assert_int_equal(digest.num_costs, 24);
    for (int i = 0; i < 24; i++)
        assert_int_equal(digest.costs[i].self, 39 - i);
}

static void wait_on(uint32_t track, int64_t from, int64_t to)
{
    const hb_rank_event e = {.role = HB_ROLE_COMMUNICATION,
                             .waits = true,
                             .track = track,
                             .name = str("MPI_Wait"),
                             .start = from,
                             .end = to};
    assert_true(hb_rank_maker_add(maker, &e));
}

/* A message that was begun was complete in the call that its arrow ends in; without an arrow, or
 * with one that leads to no call that waits, in its own. */
static void arrows_lead_to_where_it_was_complete(void **state)
{
    static const struct {
        int64_t peer, from, to;
    } waited[] = {{1, 500, 560}, {2, 600, 650}, {3, 130, 135}, {4, 140, 145}};
    hb_rank_message m;
    (void)state;
    add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 1000);
    add(HB_ROLE_CPU, 1, "around", 90, 990);
    for (int64_t i = 0; i < 4; i++) {
        hb_rank_comm comm = message(-1, i + 1, 7, 64);
        comm.async = i < 2;
        communicate(HB_RANK_CALL, comm, 110 + 10 * i, 115 + 10 * i);
    }
    wait_on(1, 500, 560);
    wait_on(2, 500, 580); /* another thread's */
    wait_on(2, 600, 650);
    assert_true(hb_rank_maker_flow(maker, 1, 560, 77, false)); /* in whatever order */
    assert_true(hb_rank_maker_flow(maker, 1, 110, 77, true));
    assert_true(hb_rank_maker_flow(maker, 1, 125, 78, true));
    assert_true(hb_rank_maker_flow(maker, 2, 600, 78, false));
    assert_true(hb_rank_maker_flow(maker, 1, 130, 79, true));
    assert_true(hb_rank_maker_flow(maker, 1, 570, 79, false)); /* behind what waits there */
    assert_true(hb_rank_maker_flow(maker, 1, 550, 80, false)); /* never begun */
    assert_true(hb_rank_maker_flow(maker, 1, 139, 81, true));  /* between calls */
    assert_true(hb_rank_maker_flow(maker, 1, 550, 81, false));
    decode();
    assert_int_equal(digest.num_channels, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const hb_rank_channel *c = &digest.channels[i];
        hb_rank_walk walk = hb_rank_walk_channel(&digest, c);
        assert_true(hb_rank_next_message(&walk, &m));
        assert_int_equal(c->peer, waited[i].peer);
        assert_int_equal(m.wait_start, BASE + waited[i].from);
        assert_int_equal(m.wait_end, BASE + waited[i].to);
        assert_int_equal(m.start, BASE + 110 + 10 * i);
        assert_int_equal(m.end, BASE + 115 + 10 * i);
        assert_true(m.async == (i < 2));
    }
}

/* Of collectives too it is kept that they go on behind their call; what comes in one group without
 * numbers, with some, or with the same twice, has the order of its times. */
static void collectives_without_numbers(void **state)
{
    static const int64_t numbers[][3] = {{0, 0, 0}, {2, 0, 1}, {0, 1, 2}, {5, 5, 5}};
    for (size_t row = 0; row < HB_ARRAY_LEN(numbers); row++) {
        hb_rank_entry entry;
        if (row) begin(state);
        add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 1000);
        for (int64_t i = 2; i >= 0; i--) {
            hb_rank_comm comm = collective("allreduce", "0", numbers[row][i]);
            comm.async = i == 1;
            comm.bytes = 100 - 10 * i;
            communicate(HB_RANK_CALL, comm, 100 + 100 * i, 150 + 100 * i);
        }
        decode();
        assert_int_equal(digest.num_groups, 1);
        assert_true(digest.groups[0].numbered == (row == 3));
        hb_rank_walk walk = hb_rank_walk_group(&digest, &digest.groups[0]);
        for (int64_t i = 0; i < 3; i++) {
            assert_true(hb_rank_next(&walk, &entry));
            assert_int_equal(entry.sequence, row == 3 ? 5 : i + 1);
            assert_int_equal(entry.bytes, 100 - 10 * i);
            assert_true(entry.async == (i == 1));
            assert_int_equal(entry.start, BASE + 100 + 100 * i);
            assert_int_equal(entry.end, BASE + 150 + 100 * i);
        }
        if (row + 1 < HB_ARRAY_LEN(numbers)) end(state);
    }
}

/* One call that does both is a message in each direction, with one size and one time. */
static void sendrecv_is_two_messages(void **state)
{
    hb_rank_message m;
    (void)state;
    add(HB_ROLE_TOTAL, 1, "ProfilerStep#1", 0, 1000);
    hb_rank_comm comm = message(2, 5, 9, 48);
    communicate(HB_RANK_CALL, comm, 100, 130);
    decode();
    assert_int_equal(digest.num_channels, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const hb_rank_channel *c = &digest.channels[i];
        assert_true(c->peer == (c->sends ? 5 : 2) && c->tag == 9 && c->count == 1);
        check_text(c->group, "0");
        hb_rank_walk walk = hb_rank_walk_channel(&digest, c);
        assert_true(hb_rank_next_message(&walk, &m));
        assert_true(m.bytes == 48 && m.start == BASE + 100 && m.end == BASE + 130);
    }
    assert_true(digest.channels[0].sends != digest.channels[1].sends);
}

/* Of a digest without anything nothing comes back, and its times are its base. */
static void an_empty_one(void **state)
{
    (void)state;
    decode();
    assert_true(digest.start == BASE && digest.end == BASE);
    assert_true(!digest.num_steps && !digest.num_costs && !digest.num_groups);
    assert_true(!digest.num_channels && !digest.num_inside && !digest.unmatched);
    for (int role = 0; role < HB_ROLE_PARTS; role++)
        assert_int_equal(digest.whole[role], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_it_was_and_its_steps),
        TEST(collectives_come_back),
        TEST(messages_come_back),
        TEST(what_is_a_message),
        TEST(the_best_witness_is_believed),
        TEST(what_it_was_in_at_the_end),
        TEST(files_hold_several),
        TEST(time_goes_to_roles),
        TEST(mpi_begins_and_ends_outside),
        TEST(operators_cost_their_own_time),
        TEST(the_dearest_operators_are_kept),
        TEST(arrows_lead_to_where_it_was_complete),
        TEST(collectives_without_numbers),
        TEST(sendrecv_is_two_messages),
        TEST(an_empty_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
