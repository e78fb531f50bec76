/* SPDX-License-Identifier: MIT
 *
 * What is recorded of a communication, field by field, and the groups that are known by a number.
 */
#include "raw_records.h"

#include <stdio.h>

#include <hipboard/comm.h>

#include "record/communication.h"

static hb_comm_info collective(hb_comm_group group)
{
    return (hb_comm_info){.struct_size = sizeof(hb_comm_info),
                          .group = group,
                          .type = HB_FLOAT32,
                          .in = 7,
                          .out = 9,
                          .bytes = -1,
                          .source = -1,
                          .dest = -1,
                          .tag = HB_COMM_NO_TAG};
}

/* Behind its head. */
static hb_record_comm comm_of(size_t n)
{
    hb_record_comm comm;
    const raw_record *r = raw_nth(HB_RECORD_OP, n);
    assert_int_equal(r->head.flags, HB_RECORD_COMM);
    assert_int_equal(r->head.units * 8, sizeof r->head + sizeof comm);
    memcpy(&comm, r->bytes + sizeof r->head, sizeof comm);
    return comm;
}

/* As it is recorded, of a session of its own. */
static hb_record_comm recorded(const hb_comm_info *info)
{
    hb_session *session = raw_begin(0);
    hb_scope scope = hb_comm_begin("it", info);
    hb_comm_end(&scope, NULL);
    raw_end(session);
    return comm_of(0);
}

/* ---- groups ---- */

static hb_comm_group group_named(const char *name)
{
    const hb_process_group group = {.name = name, .num_ranks = 2};
    return hb_comm_group_make(&group);
}

static void expect_group(hb_comm_group group, const char *text)
{
    hb_comm_info info = collective(group);
    raw_expect_text(recorded(&info).group, text);
}

static void groups_have_the_texts_that_they_were_made_of(void **state)
{
    static const int64_t ranks[] = {5, 0, INT64_C(1) << 40};
    hb_process_group group = {
        .name = "a\tb\nc \x1f\x7f\xc3\xa9", .description = "\x01of it", .num_ranks = 3};
    (void)state;
    expect_group(hb_comm_group_make(&group), "a b c  \x7f\xc3\xa9\t of it\t3\t");
    group.ranks = ranks;
    group.name = group.description = NULL;
    expect_group(hb_comm_group_make(&group), "\t\t3\t[5, 0, 1099511627776]");
    group.num_ranks = 0;
    group.name = "none";
    expect_group(hb_comm_group_make(&group), "none\t\t0\t[]");
}

static void all_ranks_and_some_have_no_text(void **state)
{
    (void)state;
    hb_comm_info info = collective(HB_COMM_WORLD);
    assert_int_equal(recorded(&info).group, HB_STRING_UNNAMED);
    info.group = HB_COMM_UNKNOWN;
    assert_int_equal(recorded(&info).group, HB_STRING_DROPPED);
    info.group = 65535; /* nobody made it so far */
    assert_int_equal(recorded(&info).group, HB_STRING_DROPPED);
    info.group = 65536;
    assert_int_equal(recorded(&info).group, HB_STRING_DROPPED);
}

static void torch_s_number_of_ranks_is_named(void **state)
{
    static const int64_t ranks[40] = {1, 2, 3};
    (void)state;
    for (size_t n = 29; n <= 32; n++) {
        char expected[200] = "[1, 2, 3";
        for (size_t i = 3; i < n && i < 30; i++)
            strcat(expected, ", 0");
        strcat(expected, n > 30 ? ", ...]" : "]");
        hb_buf text;
        hb_buf_init(&text, 1000);
        hb_comm_put_ranks(&text, ranks, n);
        assert_int_equal(text.size, strlen(expected));
        assert_memory_equal(text.data, expected, text.size);
        hb_buf_free(&text);
    }
}

static void a_group_s_text_is_read_in_its_parts(void **state)
{
    static const char text[] = "a name\tsome words\t31\t[1, 2]\tand more";
    hb_comm_group_words words;
    (void)state;
    assert_true(hb_comm_group_read((hb_str){text, sizeof text - 1}, &words));
    assert_true(hb_str_is(words.name, "a name"));
    assert_true(hb_str_is(words.description, "some words"));
    assert_true(hb_str_is(words.ranks, "[1, 2]\tand more"));
    assert_int_equal(words.size, 31);
    assert_true(hb_comm_group_read((hb_str){text, 19}, &words)); /* no further than it goes */
    assert_int_equal(words.size, 3);
    assert_int_equal(words.ranks.len, 0);
}

/* Numbers from the first on, one after the other, each with its own text; last of all tests. */
static void there_are_65535_groups(void **state)
{
    char name[32], text[48];
    (void)state;
    hb_comm_group first = group_named("first"), last = first;
    for (hb_comm_group next = first + 1; next <= 65535; next++) {
        snprintf(name, sizeof name, "number %u", next);
        last = group_named(name);
        assert_int_equal(last, next);
    }
    assert_int_equal(last, 65535);
    for (int i = 0; i < 3; i++)
        assert_true(group_named("one more") == HB_COMM_UNKNOWN);
    static const hb_comm_group some[] = {255, 256, 257, 511, 512, 40000, 65534, 65535};
    for (size_t i = 0; i < HB_ARRAY_LEN(some); i++) {
        snprintf(text, sizeof text, "number %u\t\t2\t", some[i]);
        expect_group(some[i], text);
    }
    expect_group(first, "first\t\t2\t");
    hb_comm_info info = collective(65536);
    assert_int_equal(recorded(&info).group, HB_STRING_DROPPED);
}

/* ---- what it moves ---- */

static void fields_are_as_they_were_given(void **state)
{
    (void)state;
    hb_comm_info info = {.struct_size = sizeof info,
                         .group = HB_COMM_WORLD,
                         .type = HB_INT16,
                         .in = 3,
                         .out = 5,
                         .bytes = 1234,
                         .source = 0,
                         .dest = INT32_MAX,
                         .tag = -7,
                         .async = true,
                         .sequence = 99};
    hb_record_comm c = recorded(&info);
    assert_true(c.dtype == HB_INT16 && c.async == 1 && c.in_group == 0);
    assert_true(c.source == 0 && c.dest == INT32_MAX && c.tag == -7);
    assert_true(c.in == 3 && c.out == 5 && c.bytes == 1234 && c.sequence == 99);
    assert_true(c.unused == 0 && c.reserved == 0);
    info.async = false;
    info.source = (int64_t)INT32_MAX + 1; /* which no rank is */
    info.dest = -1;
    info.tag = HB_COMM_NO_TAG;
    info.in = info.out = info.bytes = -1;
    info.sequence = HB_COMM_UNCOUNTED;
    c = recorded(&info);
    assert_true(c.async == 0 && c.source == -1 && c.dest == -1 && c.tag == INT32_MIN);
    assert_true(c.in == -1 && c.out == -1 && c.bytes == -1 && c.sequence == 0);
    info.type = HB_FLOAT8_E5M2FNUZ; /* the last one */
    assert_int_equal(recorded(&info).dtype, HB_FLOAT8_E5M2FNUZ);
    info.type = HB_FLOAT8_E5M2FNUZ + 1;
    assert_int_equal(recorded(&info).dtype, HB_NONE);
}

static void one_that_begins_with_others_says_so(void **state)
{
    (void)state;
    hb_comm_info info = collective(HB_COMM_WORLD);
    hb_session *session = raw_begin(0);
    for (int i = 0; i < 2; i++) {
        hb_scope scope = hb_comm_record(raw_id("it"), &info, i, __builtin_frame_address(0),
                                        __builtin_return_address(0));
        hb_comm_end(&scope, NULL);
    }
    raw_end(session);
    assert_int_equal(comm_of(0).in_group, 0);
    assert_int_equal(comm_of(1).in_group, 1);
    assert_int_equal(comm_of(1).async, 0);
    assert_int_equal(comm_of(1).dtype, HB_FLOAT32);
}

static int64_t bytes_of(hb_dtype type, int64_t in, int64_t out, int64_t bytes)
{
    const hb_comm_info info = {.type = type, .in = in, .out = out, .bytes = bytes};
    return hb_comm_bytes(&info);
}

static void bytes_are_those_of_its_elements_where_it_does_not_say(void **state)
{
    const int64_t most = INT64_MAX / 16;
    (void)state;
    assert_true(bytes_of(HB_FLOAT64, 5, 6, 7) == 7);
    assert_true(bytes_of(HB_FLOAT64, 5, 6, 0) == 0);
    assert_true(bytes_of(HB_FLOAT64, 5, 6, -1) == 48);
    assert_true(bytes_of(HB_FLOAT64, 6, 5, -1) == 48);
    assert_true(bytes_of(HB_FLOAT64, 0, -1, -1) == 0);
    assert_true(bytes_of(HB_FLOAT64, -1, -1, -1) == -1);
    assert_true(bytes_of(HB_NONE, 5, 6, -1) == 6);
    assert_true(bytes_of(HB_FLOAT8_E5M2FNUZ, 5, 6, -1) == 6);
    assert_true(bytes_of((hb_dtype)1000, 5, 6, -1) == 6); /* a newer program's */
    assert_true(bytes_of(HB_COMPLEX128, most, 0, -1) == most * 16);
    assert_true(bytes_of(HB_COMPLEX128, most + 1, 0, -1) == INT64_MAX);
}

/* ---- which one of its group it is ---- */

static void who_does_not_count_is_counted_by_group(void **state)
{
    (void)state;
    hb_comm_info a = collective(group_named("counted")), b = collective(group_named("other")),
                 unknown = collective(HB_COMM_UNKNOWN);
    assert_int_equal(recorded(&a).sequence, 1);
    assert_int_equal(recorded(&a).sequence, 2);
    assert_int_equal(recorded(&b).sequence, 1);
    a.sequence = 77; /* it knows better, and is not counted */
    assert_int_equal(recorded(&a).sequence, 77);
    a.sequence = 0;
    a.source = 0; /* a message */
    assert_int_equal(recorded(&a).sequence, 0);
    a.source = -1;
    a.dest = 0;
    assert_int_equal(recorded(&a).sequence, 0);
    a.dest = -1;
    assert_int_equal(recorded(&a).sequence, 3);
    assert_int_equal(recorded(&b).sequence, 2);
    uint64_t before = recorded(&unknown).sequence;
    assert_int_equal(recorded(&unknown).sequence, before + 1);
}

/* ---- at its end ---- */

static hb_record_comm ended_with(const hb_comm_info *begun, const hb_comm_info *ended)
{
    hb_session *session = raw_begin(0);
    hb_scope scope = hb_comm_begin("it", begun);
    hb_comm_end(&scope, ended);
    raw_end(session);
    assert_true(raw_nth(HB_RECORD_OP, 0)->head.end != 0);
    return comm_of(0);
}

static void what_is_known_at_its_end_takes_the_place_of_what_was(void **state)
{
    (void)state;
    hb_comm_info begun = collective(HB_COMM_WORLD), ended = begun;
    begun.sequence = 5;
    ended.in = 70;
    ended.source = 3;
    ended.async = true;
    hb_record_comm c = ended_with(&begun, &ended);
    assert_true(c.in == 70 && c.out == 9 && c.bytes == 280 && c.source == 3 && c.async == 1);
    assert_int_equal(c.sequence, 5); /* it does not count */
    assert_int_equal(c.in_group, 0);
    ended.sequence = 6;
    assert_int_equal(ended_with(&begun, &ended).sequence, 6);
    ended.sequence = HB_COMM_UNCOUNTED;
    assert_int_equal(ended_with(&begun, &ended).sequence, 0);
    ended.struct_size = offsetof(hb_comm_info, flow); /* an older program's */
    assert_true(ended_with(&begun, &ended).in == 70);
    ended.struct_size--; /* nobody's */
    assert_true(ended_with(&begun, &ended).in == 7);
}

/* ---- of older programs, and without a session ---- */

static void infos_without_an_arrow_have_none(void **state)
{
    (void)state;
    hb_comm_info info = collective(HB_COMM_WORLD);
    info.flow = 12;
    assert_true(recorded(&info).in == 7);
    assert_int_equal(raw_count_of(HB_RECORD_FLOW), 1);
    assert_int_equal(raw_nth(HB_RECORD_FLOW, 0)->flow.id, 12);
    info.struct_size = offsetof(hb_comm_info, flow);
    assert_true(recorded(&info).in == 7);
    assert_int_equal(raw_count_of(HB_RECORD_FLOW), 0);
    info.struct_size = sizeof info + 8; /* a newer program's */
    assert_true(recorded(&info).in == 7);
    assert_int_equal(raw_count_of(HB_RECORD_FLOW), 1);
    info.struct_size = offsetof(hb_comm_info, flow) - 1;
    for (int i = 0; i < 2; i++) {
        hb_record_comm c = recorded(i ? NULL : &info);
        assert_true(c.in == -1 && c.out == -1 && c.bytes == -1 && c.tag == INT32_MIN);
        assert_true(c.source == -1 && c.dest == -1 && c.dtype == HB_NONE && c.async == 0);
        assert_int_equal(c.group, HB_STRING_UNNAMED);
        assert_true(c.sequence > 0);
        assert_int_equal(raw_count_of(HB_RECORD_FLOW), 0);
    }
}

static void sites_give_their_names(void **state)
{
    static hb_site site = {.name = "a site's"};
    (void)state;
    hb_comm_info info = collective(HB_COMM_WORLD);
    hb_scope none = hb_comm_begin_site(&site, &info); /* no session */
    assert_null(none.record);
    none = hb_comm_begin("it", &info);
    assert_null(none.record);
    hb_session *session = raw_begin(0);
    none = hb_comm_begin_site(NULL, &info);
    assert_null(none.record);
    hb_comm_end(&none, &info);
    hb_scope scope = hb_comm_begin_site(&site, &info);
    assert_non_null(scope.record);
    hb_comm_end(&scope, NULL);
    raw_end(session);
    assert_int_equal(raw_count, 1);
    raw_expect_text(raw_nth(HB_RECORD_OP, 0)->head.name, "a site's");
    assert_int_equal(comm_of(0).in_group, 0);
}

/* ---- stacks ---- */

static uint64_t returns_to;

__attribute__((noinline)) static void begin_in_here(hb_site *site)
{
    returns_to = (uint64_t)(uintptr_t)__builtin_return_address(0);
    hb_scope scope = site ? hb_comm_begin_site(site, NULL) : hb_comm_begin("it", NULL);
    hb_comm_end(&scope, NULL);
    __asm__ volatile("");
}

static void stacks_begin_where_it_was_called(void **state)
{
    static hb_site site = {.name = "a site's"};
    (void)state;
    for (int by_site = 0; by_site < 2; by_site++) {
        uint64_t stack[3]; /* how many frames there are, and the innermost ones */
        hb_session *session = raw_begin(HB_SESSION_STACK);
        begin_in_here(by_site ? &site : NULL);
        raw_end(session);
        const raw_record *r = raw_nth(HB_RECORD_OP, 0);
        assert_int_equal(r->head.flags, HB_RECORD_COMM | HB_RECORD_STACK);
        memcpy(stack, r->bytes + sizeof r->head, sizeof stack);
        assert_true(stack[0] >= 2);
        assert_true(stack[1] != returns_to && stack[2] == returns_to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_have_the_texts_that_they_were_made_of),
        cmocka_unit_test(all_ranks_and_some_have_no_text),
        cmocka_unit_test(torch_s_number_of_ranks_is_named),
        cmocka_unit_test(a_group_s_text_is_read_in_its_parts),
        cmocka_unit_test(fields_are_as_they_were_given),
        cmocka_unit_test(one_that_begins_with_others_says_so),
        cmocka_unit_test(bytes_are_those_of_its_elements_where_it_does_not_say),
        cmocka_unit_test(who_does_not_count_is_counted_by_group),
        cmocka_unit_test(what_is_known_at_its_end_takes_the_place_of_what_was),
        cmocka_unit_test(infos_without_an_arrow_have_none),
        cmocka_unit_test(sites_give_their_names),
        cmocka_unit_test(stacks_begin_where_it_was_called),
        cmocka_unit_test(there_are_65535_groups),
    };
    return cmocka_run_group_tests(tests, NULL, raw_close);
}
