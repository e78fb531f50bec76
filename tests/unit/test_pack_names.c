/* SPDX-License-Identifier: MIT
 *
 * What of several files and directories is packed, and under which names.
 */
#include <sys/stat.h>

#include <hipboard/pack.h>

#include "read/zip_index.h"
#include "test_dir.h"

static char told[600];

static void make_file(const char *name)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(name, file);
    fclose(file);
}

static int make_files(void **state)
{
    static const char *const files[] = {"run/a.txt",  "run/deep/b.txt", "run/.hidden",
                                        "run/.git/c", "other/a.txt",    "top.txt"};
    if (make_dir(state) != 0 || chdir(dir) != 0) return -1;
    mkdir("run", 0700);
    mkdir("run/deep", 0700);
    mkdir("run/.git", 0700);
    mkdir("other", 0700);
    mkdir("empty", 0700);
    mkdir(".dot", 0700);
    make_file(".dot/d.txt");
    for (size_t i = 0; i < HB_ARRAY_LEN(files); i++)
        make_file(files[i]);
    return 0;
}

static int leave_files(void **state)
{
    return chdir("/") == 0 ? remove_dir(state) : -1;
}

/* "NAME NAME ..." of the members. */
static const char *names_of(const char *pack)
{
    hb_zip_index index;
    size_t n = 0;
    told[0] = '\0';
    assert_int_equal(hb_zip_index_open(&index, pack), HB_OK);
    for (size_t i = 0; i < index.count; i++)
        n += (size_t)snprintf(told + n, sizeof told - n, "%s%s", i ? " " : "",
                              index.members[i].name);
    hb_zip_index_close(&index);
    return told;
}

typedef struct packed {
    const char *paths[4];
    const char *names; /* NULL: is refused */
    const char *why;
} packed;

static size_t count_paths(const packed *p)
{
    size_t count = 0;
    while (count < HB_ARRAY_LEN(p->paths) && p->paths[count])
        count++;
    return count;
}

static void several_have_names_of_their_own(void **state)
{
    static const packed rows[] = {
        {{"run"}, "a.txt deep/b.txt", NULL},
        {{"run/"}, "a.txt deep/b.txt", NULL},
        {{"./run//"}, "a.txt deep/b.txt", NULL},
        {{"run/deep"}, "b.txt", NULL},
        {{"top.txt"}, "top.txt", NULL},
        {{"run/a.txt"}, "a.txt", NULL},
        {{".dot"}, "d.txt", NULL},          /* that was named */
        {{"run/.hidden"}, ".hidden", NULL}, /* and this */
        {{"run", "other"}, "other/a.txt run/a.txt run/deep/b.txt", NULL},
        {{"run//", "./other/"}, "other/a.txt run/a.txt run/deep/b.txt", NULL},
        {{"run/deep", "other/a.txt", "top.txt"}, "a.txt deep/b.txt top.txt", NULL},
        {{"run", "empty"}, "run/a.txt run/deep/b.txt", NULL},
        {{"run/a.txt", "other/a.txt"}, NULL, "would have one name"},
        {{"run", "run"}, NULL, "would have one name"},
        {{"empty"}, NULL, "no file to pack"},
        {{"none"}, NULL, "none"},
        {{"run", "none"}, NULL, "none"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_pack_options options = HB_PACK_OPTIONS_INIT;
        options.replace = true;
        hb_result result =
            hb_pack(rows[i].paths, count_paths(&rows[i]), "p.hbpack", &options, NULL);
        if ((result == HB_OK) != (rows[i].names != NULL)) fail_msg("row %zu: %d", i, result);
        if (rows[i].names) assert_string_equal(names_of("p.hbpack"), rows[i].names);
        if (rows[i].why && !strstr(hb_last_error(), rows[i].why))
            fail_msg("row %zu: %s", i, hb_last_error());
    }
}

/* Also where it is there already, under another name. */
static void a_pack_is_not_in_itself(void **state)
{
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    const char *run = "run";
    (void)state;
    options.replace = true;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(hb_pack(&run, 1, "run/p.hbpack", &options, NULL), HB_OK);
        assert_string_equal(names_of("run/p.hbpack"), "a.txt deep/b.txt");
    }
    assert_int_equal(symlink("p.hbpack", "run/z.txt"), 0);
    assert_int_equal(hb_pack(&run, 1, "run/p.hbpack", &options, NULL), HB_OK);
    assert_string_equal(names_of("run/p.hbpack"), "a.txt deep/b.txt");
    assert_int_equal(hb_pack(&run, 1, "q.hbpack", &options, NULL), HB_OK);
    assert_string_equal(names_of("q.hbpack"), "a.txt deep/b.txt p.hbpack z.txt");
}

/* What was replaced: how often, in how many files, and where it was first. */
static void a_report_counts_what_was_replaced(void **state)
{
    static const char *const texts[] = {"/home/alice/x.py of alice, /home/alice/y.py\n",
                                        "10.1.2.3 and 10.1.2.3, 10.1.2.4\n", "alice\n",
                                        "--password 12letters... --token 11letters..\n"};
    static const struct {
        const char *kind, *found, *replacement;
        uint64_t count;
        uint32_t files;
        const char *first;
    } expected[] = {{"user", "alice", "user-1", 2, 2, "a.txt"},
                    {"dir", "/home/alice", "dir-1", 2, 1, "a.txt"},
                    {"address", "10.1.2.3", "address-1", 2, 1, "b.txt"},
                    {"address", "10.1.2.4", "address-2", 1, 1, "b.txt"},
                    /* of secrets as much as tells their owner which ones they are */
                    {"secret", "12le... (12 bytes)", "secret-1", 1, 1, "d.txt"},
                    {"secret", "... (11 bytes)", "secret-2", 1, 1, "d.txt"}};
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    hb_pack_report *report;
    const char *red = "red";
    (void)state;
    mkdir("red", 0700);
    for (size_t i = 0; i < HB_ARRAY_LEN(texts); i++) {
        char name[20];
        snprintf(name, sizeof name, "red/%c.txt", (char)('a' + i));
        FILE *file = fopen(name, "w");
        fputs(texts[i], file);
        fclose(file);
    }
    options.redact = true;
    assert_int_equal(hb_pack(&red, 1, "r.hbpack", &options, &report), HB_OK);
    assert_int_equal(report->num_members, 4);
    assert_int_equal(report->num_redactions, HB_ARRAY_LEN(expected));
    for (size_t i = 0; i < HB_ARRAY_LEN(expected); i++) {
        const hb_redaction *r = NULL;
        for (size_t k = 0; k < report->num_redactions; k++)
            if (strcmp(report->redactions[k].replacement, expected[i].replacement) == 0)
                r = &report->redactions[k];
        assert_non_null(r);
        assert_string_equal(r->kind, expected[i].kind);
        assert_string_equal(r->found, expected[i].found);
        assert_string_equal(r->first_file, expected[i].first);
        assert_int_equal(r->count, expected[i].count);
        assert_int_equal(r->files, expected[i].files);
    }
    hb_pack_report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(several_have_names_of_their_own, make_files, leave_files),
        cmocka_unit_test_setup_teardown(a_pack_is_not_in_itself, make_files, leave_files),
        cmocka_unit_test_setup_teardown(a_report_counts_what_was_replaced, make_files, leave_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
