/* SPDX-License-Identifier: MIT
 *
 * The table of names: what lies in it and where, who follows it, names that are cut or find no
 * room.
 */
#include "raw_records.h"

#include <sys/resource.h>

#include <hipboard/comm.h>

#include "program.h"

static uint64_t end_of_table(void)
{
    uint64_t end;
    hb_strings_table(&end);
    return end;
}

static int make_ready(void **state)
{
    (void)state;
    return hb_record_init() == HB_OK ? 0 : -1;
}

/* ---- what lies in it ---- */

static void a_string_takes_whole_words_behind_the_last_one(void **state)
{
    (void)state;
    static const char text[] = "abcdefghijklmnopqrstuvwxyz";
    for (uint32_t size = 0; size < sizeof text; size++) {
        uint64_t before = end_of_table();
        uint32_t id = hb_strings_intern(text, size);
        assert_int_equal(hb_strings_offset(id), before);
        /* length, hash, its bytes and a NUL */
        assert_int_equal(end_of_table() - before, (4 + 4 + size + 1 + 7) / 8 * 8);
        hb_str s = hb_strings_get(id);
        assert_int_equal(s.len, size);
        assert_memory_equal(s.s, text, size);
        assert_int_equal(s.s[size], 0);
        assert_int_equal(hb_strings_intern(text, size), id);
        assert_int_equal(end_of_table(), before + (4 + 4 + size + 1 + 7) / 8 * 8);
    }
}

static void two_names_have_fixed_numbers(void **state)
{
    (void)state;
    raw_expect_text(HB_STRING_UNNAMED, "(unnamed)");
    raw_expect_text(HB_STRING_DROPPED, "(name dropped)");
    assert_int_equal(raw_id("(unnamed)"), HB_STRING_UNNAMED);
    assert_int_equal(raw_id("(name dropped)"), HB_STRING_DROPPED);
}

/* Only its own bytes count, wherever it lies, and whatever is around it. */
static void a_name_is_known_wherever_it_lies(void **state)
{
    char around[100];
    (void)state;
    for (size_t size = 1; size < 40; size++) {
        uint32_t first = 0;
        for (size_t at = 16; at < 32; at++) {
            memset(around, (int)('a' + at), sizeof around);
            memset(around + at, '=', size);
            uint32_t id = hb_strings_intern(around + at, size);
            if (at == 16) first = id;
            assert_int_equal(id, first);
        }
    }
}

static uint32_t hash_of(uint32_t id)
{
    uint64_t end;
    uint32_t hash;
    memcpy(&hash, hb_strings_table(&end) + hb_strings_offset(id) + 4, sizeof hash);
    return hash;
}

/* Else those that are alike would be looked for one after the other. */
static void names_that_differ_in_any_byte_have_other_hashes(void **state)
{
    char text[40];
    (void)state;
    for (size_t size = 1; size <= sizeof text; size++) {
        memset(text, '#', sizeof text);
        uint32_t plain = hash_of(hb_strings_intern(text, size));
        assert_int_not_equal(plain, hash_of(hb_strings_intern(text, size - 1)));
        for (size_t at = 0; at < size; at++) {
            text[at] = '$';
            uint32_t id = hb_strings_intern(text, size);
            assert_int_not_equal(hash_of(id), plain);
            text[at] = '#';
        }
    }
}

/* Through each time that the table grows, from the first name to the last. */
static void names_are_found_whatever_came_after_them(void **state)
{
    enum { NAMES = 30000 };
    static uint32_t ids[NAMES];
    char name[32];
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        ids[i] = hb_strings_intern(name, (size_t)snprintf(name, sizeof name, "name %d", i));
        int some = (int)((unsigned)i * 7919u % (unsigned)(i + 1));
        uint32_t again =
            hb_strings_intern(name, (size_t)snprintf(name, sizeof name, "name %d", some));
        assert_int_equal(again, ids[some]);
    }
    uint64_t end = end_of_table();
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "name %d", i);
        raw_expect_text(ids[i], name);
        assert_int_equal(raw_id(name), ids[i]);
    }
    assert_int_equal(end_of_table(), end);
}

/* As metadata may be: each needs more room than is made at once. */
static void long_texts_have_room(void **state)
{
    enum { MOST = 5 << 20 };
    (void)state;
    char *text = malloc(MOST);
    assert_non_null(text);
    memset(text, 'm', MOST);
    for (size_t size = 900000; size <= MOST; size += 700001) {
        uint32_t id = hb_strings_intern(text, size);
        assert_int_not_equal(id, HB_STRING_DROPPED);
        assert_int_equal(hb_strings_get(id).len, size);
        assert_memory_equal(hb_strings_get(id).s, text, size);
    }
    free(text);
}

/* ---- a copy of it ---- */

static void a_string_is_read_where_it_fits(void **state)
{
    uint32_t words[] = {3, 12345, 0, 0};
    char *at = (char *)words;
    (void)state;
    memcpy(&words[2], "abc", 3);
    hb_str s = hb_strings_read(at, sizeof words);
    assert_true(s.len == 3 && memcmp(s.s, "abc", 3) == 0);
    assert_true(hb_strings_read(at, 12).s == at + 8); /* its NUL is the last byte */
    assert_null(hb_strings_read(at, 11).s);
    assert_null(hb_strings_read(at, 8).s);
    assert_null(hb_strings_read(at, 7).s);
    assert_null(hb_strings_read(at, 0).s);
    assert_null(hb_strings_read(at + 2, 14).s); /* where none begins */
    words[0] = 0;
    assert_true(hb_strings_read(at, 9).s && hb_strings_read(at, 9).len == 0);
    assert_null(hb_strings_read(at, 8).s);
    words[0] = UINT32_MAX;
    assert_null(hb_strings_read(at, sizeof words).s);
}

/* ---- who follows it ---- */

typedef struct follower {
    hb_strings_mirror mirror;
    int count;
    uint64_t offset, size;
    char text[64];
} follower;

static void follow(void *arg, const char *bytes, uint64_t offset, uint64_t size)
{
    follower *f = arg;
    hb_str s = hb_strings_read(bytes, size);
    f->count++;
    f->offset = offset;
    f->size = size;
    snprintf(f->text, sizeof f->text, "%s", s.s ? s.s : "none");
}

static void new_strings_are_told_to_all_who_follow(void **state)
{
    follower a = {.mirror = {.add = follow, .arg = &a}}, b = {.mirror = {.add = follow, .arg = &b}};
    (void)state;
    hb_strings_follow(&a.mirror);
    hb_strings_follow(&b.mirror);
    uint32_t id = raw_id("followed by both");
    assert_true(a.count == 1 && b.count == 1);
    assert_string_equal(a.text, "followed by both");
    assert_string_equal(b.text, "followed by both");
    assert_true(a.offset == hb_strings_offset(id) && a.size == 32);
    assert_int_equal(raw_id("followed by both"), id); /* which is not new */
    hb_strings_leave(&a.mirror);
    raw_id("followed by one");
    assert_true(a.count == 1 && b.count == 2);
    hb_strings_leave(&a.mirror); /* it has left */
    hb_strings_follow(&a.mirror);
    hb_strings_leave(&b.mirror);
    raw_id("followed by the other");
    assert_true(a.count == 2 && b.count == 2);
    hb_strings_leave(&a.mirror);
    raw_id("followed by nobody");
    assert_true(a.count == 2 && b.count == 2);
}

/* They are the parent's: of its spool, say. */
static void in_a_forked_child_nobody_follows(void **state)
{
    follower f = {.mirror = {.add = follow, .arg = &f}};
    (void)state;
    hb_strings_follow(&f.mirror);
    uint32_t known = raw_id("of the parent");
    assert_int_equal(f.count, 1);
    pid_t child = fork();
    if (child == 0) {
        uint32_t new = raw_id("of the child");
        bool right = f.count == 1 && raw_id("of the parent") == known &&
                     new != known &&hb_str_is(hb_strings_get(new), "of the child");
        _exit(right ? 0 : 1);
    }
    wait_for_success(child);
    raw_id("of the parent again");
    assert_int_equal(f.count, 2);
    hb_strings_leave(&f.mirror);
}

/* ---- steps ---- */

static void steps_have_names_without_the_table(void **state)
{
    char text[HB_STEP_NAME_SIZE];
    static const int64_t numbers[] = {0, 1, 1234567, INT32_MAX};
    (void)state;
    uint64_t before = end_of_table();
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers); i++) {
        char expected[64];
        uint32_t id = hb_strings_step(numbers[i]);
        assert_true(hb_string_is_step(id));
        snprintf(expected, sizeof expected, "ProfilerStep#%lld", (long long)numbers[i]);
        assert_true(hb_str_is(hb_strings_step_name(id, text), expected));
    }
    assert_int_equal(end_of_table(), before);
}

static void steps_of_other_numbers_are_in_the_table(void **state)
{
    (void)state;
    static const int64_t numbers[] = {-1, INT64_C(1) << 31, INT64_MAX};
    static const char *const names[] = {"ProfilerStep#-1", "ProfilerStep#2147483648",
                                        "ProfilerStep#9223372036854775807"};
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers); i++) {
        uint32_t id = hb_strings_step(numbers[i]);
        assert_false(hb_string_is_step(id));
        raw_expect_text(id, names[i]);
    }
}

/* ---- names that programs give ---- */

/* How long a name of `size` bytes is then, whose last ones are these; of a session of its own. */
static uint32_t kept_of(size_t size, const char *last)
{
    char *name = malloc(size + 1);
    assert_non_null(name);
    memset(name, 'x', size);
    memcpy(name + size - strlen(last), last, strlen(last) + 1);
    hb_session *session = raw_begin(0);
    hb_str s = hb_strings_get(hb_record_name(name, HB_FRAME));
    raw_end(session);
    assert_memory_equal(s.s, name, s.len);
    assert_int_equal(s.s[s.len], 0);
    free(name);
    return s.len;
}

static void long_names_are_cut_between_characters_and_counted(void **state)
{
    (void)state;
    assert_int_equal(kept_of(HB_NAME_MAX - 1, "a"), HB_NAME_MAX - 1);
    assert_int_equal(raw_lost.too_big, 0);
    assert_int_equal(kept_of(HB_NAME_MAX, "b"), HB_NAME_MAX);
    assert_int_equal(raw_lost.too_big, 0);
    assert_int_equal(kept_of(HB_NAME_MAX + 1, "c"), HB_NAME_MAX);
    assert_int_equal(raw_lost.too_big, 1);
    assert_int_equal(raw_lost.strings_full, 0);
    assert_int_equal(kept_of(HB_NAME_MAX + 9, "d"), HB_NAME_MAX);
    assert_int_equal(kept_of(HB_NAME_MAX + 1, "\xc3\xa9"), HB_NAME_MAX - 1);
    assert_int_equal(kept_of(HB_NAME_MAX + 1, "\xe2\x82\xac"), HB_NAME_MAX - 2);
    assert_int_equal(kept_of(HB_NAME_MAX + 2, "\xc3\xa9"), HB_NAME_MAX); /* just behind it */
    assert_int_equal(kept_of(HB_NAME_MAX, "\xc3\xa9"), HB_NAME_MAX);     /* just before it */
}

static void names_are_taken_in_while_something_is_recorded(void **state)
{
    (void)state;
    uint64_t before = end_of_table();
    assert_int_equal(hb_record_name("nobody's", HB_FRAME), HB_STRING_DROPPED);
    assert_int_equal(hb_record_name(NULL, HB_FRAME), HB_STRING_UNNAMED);
    assert_int_equal(hb_record_name("", HB_FRAME), HB_STRING_UNNAMED);
    assert_int_equal(end_of_table(), before);
    hb_session *session = raw_begin(0);
    raw_expect_text(hb_record_name("somebody's", HB_FRAME), "somebody's");
    assert_int_equal(hb_record_name(NULL, HB_FRAME), HB_STRING_UNNAMED);
    assert_int_equal(hb_record_name("", HB_FRAME), HB_STRING_UNNAMED);
    raw_end(session);
    assert_true(raw_lost.strings_full == 0 && raw_lost.too_big == 0);
}

/* As from a signal handler: what it interrupted may hold the lock. Known names take none. */
static void who_interrupts_a_recording_call_brings_no_new_names(void **state)
{
    (void)state;
    hb_session *session = raw_begin(0);
    uint32_t known = hb_record_name("known before it", HB_FRAME);
    hb_thread *t = hb_thread_begin_at(HB_FRAME);
    assert_non_null(t);
    uint64_t before = end_of_table();
    const char *inner = (const char *)HB_FRAME - 64; /* the handler's frame lies below */
    assert_int_equal(hb_record_name("known before it", inner), known);
    assert_int_equal(hb_record_name("unknown before it", inner), HB_STRING_DROPPED);
    assert_int_equal(end_of_table(), before);
    hb_thread_leave(t);
    assert_int_not_equal(hb_record_name("unknown before it", HB_FRAME), HB_STRING_DROPPED);
    raw_end(session);
    assert_int_equal(raw_lost.reentrant, 1);
    assert_int_equal(raw_lost.strings_full, 1);
}

/* ---- when it is full ---- */

/* Of a limited address space it has a sixteenth, if that is a power of two. What has no room there
 * is dropped, whatever is known stays, and what is smaller may still fit. */
static int full_table(void)
{
    enum { SIZE = 1001, ENTRY = 1016, ROOM = 16 << 20 };
    struct rlimit little = {16 * ROOM, 16 * ROOM};
    static char name[SIZE + 1];
    static hb_site site = {.name = "a name that is somewhat long"};
    const hb_comm_pending pending = {&site, 5};
    const hb_process_group group = {.name = "a group that nobody has so far", .num_ranks = 2};
    const hb_clock_point point = {1, 2, 3};
    const hb_clock_told clock = {.struct_size = sizeof clock, .points = &point, .num_points = 1};
    CHECK(setrlimit(RLIMIT_AS, &little) == 0 && hb_record_init() == HB_OK);
    raw_reopen((uint64_t)8 << 20);
    hb_session *session = raw_begin(0);
    memset(name, 'x', SIZE);
    uint32_t last, count = 0;
    while (snprintf(name, 10, "%08u", count), name[8] = 'x',
           (last = hb_record_name(name, HB_FRAME)) != HB_STRING_DROPPED)
        CHECK(hb_strings_get(last).len == SIZE && ++count < ROOM / ENTRY);
    uint64_t end = end_of_table();
    CHECK(end <= ROOM && end + ENTRY > ROOM);
    CHECK(raw_id("(unnamed)") == HB_STRING_UNNAMED);
    for (uint64_t left = ROOM - end; left >= 16; left -= 16, count++) {
        char small[8];
        snprintf(small, sizeof small, "%07u", count);
        CHECK(raw_id(small) != HB_STRING_DROPPED);
    }
    CHECK(end_of_table() <= ROOM && end_of_table() + 16 > ROOM);
    CHECK(hb_comm_group_make(&group) == HB_COMM_UNKNOWN);
    CHECK(hb_clock_tell(&clock) == HB_ERROR_LIMIT);
    hb_comm_start(&pending, 1);
    raw_end(session);
    CHECK(site.id == 0);
    CHECK(raw_count == 1 && raw_nth(HB_RECORD_FLOW, 0)->head.name == HB_STRING_DROPPED);
    CHECK(raw_lost.strings_full == 2 && raw_lost.too_big == 0);
    return 0;
}

static void what_finds_no_room_is_dropped_and_counted(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they need terabytes */
#endif
    assert_int_equal(run_program(full_table), 0);
}

int main(int argc, char **argv)
{
    int status;
    static const program programs[] = {PROGRAM(full_table)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_names_have_fixed_numbers),
        cmocka_unit_test(a_string_takes_whole_words_behind_the_last_one),
        cmocka_unit_test(a_name_is_known_wherever_it_lies),
        cmocka_unit_test(names_that_differ_in_any_byte_have_other_hashes),
        cmocka_unit_test(names_are_found_whatever_came_after_them),
        cmocka_unit_test(long_texts_have_room),
        cmocka_unit_test(a_string_is_read_where_it_fits),
        cmocka_unit_test(new_strings_are_told_to_all_who_follow),
        cmocka_unit_test(in_a_forked_child_nobody_follows),
        cmocka_unit_test(steps_have_names_without_the_table),
        cmocka_unit_test(steps_of_other_numbers_are_in_the_table),
        cmocka_unit_test(long_names_are_cut_between_characters_and_counted),
        cmocka_unit_test(names_are_taken_in_while_something_is_recorded),
        cmocka_unit_test(who_interrupts_a_recording_call_brings_no_new_names),
        cmocka_unit_test(what_finds_no_room_is_dropped_and_counted),
    };
    if (argc > 1 && is_program(argv, programs, HB_ARRAY_LEN(programs), &status)) return status;
    return cmocka_run_group_tests(tests, make_ready, raw_close);
}
