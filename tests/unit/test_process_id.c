/* SPDX-License-Identifier: MIT
 *
 * Which process wrote a file, what it is called, and whether it lives: beside what /proc says.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "record/process_id.h"
#include "test_dir.h"

/* ---- /proc, as a test has it ---- */

static struct {
    bool is_missing;
    const char *boot_id; /* NULL: as it is */
    const char *other;   /* the stat of process OTHER */
} played;

enum { OTHER = 123456789 };

static bool is_in_proc(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0;
}

static int file_of(const char *text)
{
    int fd = (int)syscall(SYS_memfd_create, "played", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* In place of the C library's, also for hipboard. */
int open(const char *path, int flags, ...)
{
    if (played.is_missing && is_in_proc(path)) return -1;
    if (played.boot_id && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0)
        return file_of(played.boot_id);
    if (played.other && strcmp(path, "/proc/123456789/stat") == 0) return file_of(played.other);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

int stat(const char *path, struct stat *st)
{
    return played.is_missing && is_in_proc(path) ? -1 : fstatat(AT_FDCWD, path, st, 0);
}

static int next_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

/* ---- which one it is ---- */

/* The 22nd of what stands there, of which the second is the name in parentheses. */
static uint64_t start_time_of(pid_t pid)
{
    char path[64], text[1024];
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_int_equal(sscanf(strrchr(text, ')') + 1,
                            " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
                            " %*s %*s %llu",
                            &start),
                     1);
    return start;
}

static void a_process_is_known_by_when_and_where_it_began(void **state)
{
    (void)state;
    struct stat ns;
    char boot_id[64] = "";
    int before = next_descriptor();
    hb_process_id id = hb_process_id_here();
    assert_int_equal(next_descriptor(), before);
    assert_int_equal(id.pid, getpid());
    assert_int_equal(id.start_time, start_time_of(getpid()));
    assert_int_equal(fstatat(AT_FDCWD, "/proc/self/ns/pid", &ns, 0), 0);
    assert_int_equal(id.namespace, ns.st_ino);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%63s", boot_id), 1);
    fclose(f);
    assert_string_equal(id.boot_id, boot_id);
}

/* Whose name may hold anything, also what looks like the end of it, and a state. */
static void a_name_does_not_hide_when_it_began(void **state)
{
    (void)state;
    char before[16];
    static const char *const names[] = {"a ) Z 1 2 3", ") ) )", "((", " X"};
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    const hb_process_id id = hb_process_id_here();
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
        assert_int_equal(hb_process_id_here().start_time, id.start_time);
        assert_int_equal(hb_process_life_of(&id), HB_PROCESS_ALIVE);
    }
    assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

/* It has a line to itself, whose end is no part of it. */
static void of_the_boot_id_the_whole_line_counts(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"0123-abc\n", "0123-abc"},
        {"0123-abc", "0123-abc"},
        {"", ""},
        {"\n", ""},
        {"a line of forty characters, and some more", "a line of forty characters, and some mo"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(texts); i++) {
        played.boot_id = texts[i][0];
        hb_process_id id = hb_process_id_here();
        played.boot_id = NULL;
        assert_string_equal(id.boot_id, texts[i][1]);
    }
}

/* ---- whether it lives ---- */

static void a_process_lives_or_not_or_nobody_knows(void **state)
{
    (void)state;
    const hb_process_id here = hb_process_id_here();
    hb_process_id id = here;
    assert_int_equal(hb_process_life_of(&id), HB_PROCESS_ALIVE);
    id.start_time++; /* another one of its number */
    assert_int_equal(hb_process_life_of(&id), HB_PROCESS_DEAD);
    id = here;
    id.pid = 0x7fffffff;
    assert_int_equal(hb_process_life_of(&id), HB_PROCESS_DEAD);
    id = here;
    id.namespace ++; /* in another container */
    assert_int_equal(hb_process_life_of(&id), HB_PROCESS_UNKNOWN);
    /* On another machine, or before it was started again. */
    for (size_t i = 0; here.boot_id[i]; i++) {
        id = here;
        id.boot_id[i] ^= 1;
        assert_int_equal(hb_process_life_of(&id), HB_PROCESS_UNKNOWN);
    }
    id = here;
    id.start_time = 0;
    assert_int_equal(hb_process_life_of(&id), HB_PROCESS_UNKNOWN);
    id = here;
    id.namespace = 0;
    assert_int_equal(hb_process_life_of(&id), HB_PROCESS_UNKNOWN);
}

/* So that nothing is found there by chance. */
__attribute__((noinline)) static void fill_the_stack(void)
{
    volatile char filled[16384];
    for (size_t i = 0; i < sizeof filled; i++)
        filled[i] = 'x';
}

/* Also of itself, and of one that had none either. */
static void without_proc_nobody_knows(void **state)
{
    (void)state;
    char name[16] = "as before";
    const hb_process_id known = hb_process_id_here();
    played.is_missing = true;
    const hb_process_id here = hb_process_id_here();
    hb_process_id as_here = here, as_known = known;
    as_here.start_time = 7;
    as_known.namespace = 0;
    hb_process_life of_known = hb_process_life_of(&known), of_here = hb_process_life_of(&as_here),
                    of_other = hb_process_life_of(&as_known);
    fill_the_stack();
    hb_process_name(name, sizeof name);
    played.is_missing = false;
    assert_int_equal(here.pid, getpid());
    assert_int_equal(here.start_time, 0);
    assert_int_equal(here.namespace, 0);
    assert_string_equal(here.boot_id, "");
    assert_int_equal(of_known, HB_PROCESS_UNKNOWN);
    assert_int_equal(of_here, HB_PROCESS_UNKNOWN);
    assert_int_equal(of_other, HB_PROCESS_UNKNOWN);
    assert_string_equal(name, "");
}

/* A process that has ended, and whose parent has not asked for it yet, writes nothing any more. */
static void a_process_that_has_ended_is_dead(void **state)
{
    (void)state;
    siginfo_t info;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) != 0); /* until its parent closes the other end */
    }
    close(ends[0]);
    hb_process_id id = hb_process_id_here();
    id.pid = child;
    id.start_time = start_time_of(child);
    assert_int_equal(hb_process_life_of(&id), HB_PROCESS_ALIVE);
    close(ends[1]);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(hb_process_life_of(&id), HB_PROCESS_DEAD);
    wait_for_success(child);
    assert_int_equal(hb_process_life_of(&id), HB_PROCESS_DEAD);
}

/* By the 22nd of what /proc says, and its state. What is cut off says nothing. */
static void a_process_that_is_dying_is_dead(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t start;
        hb_process_life life;
    } others[] = {
        {"1 (a) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n", 22, HB_PROCESS_ALIVE},
        {"1 (a) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22", 22, HB_PROCESS_ALIVE},
        {"1 (a) D 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n", 22, HB_PROCESS_ALIVE},
        {"1 (a) X 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n", 22, HB_PROCESS_DEAD},
        {"1 (a) Z 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n", 22, HB_PROCESS_DEAD},
        {"1 (a) X 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 1 23\n", 1, HB_PROCESS_DEAD},
        {"1 (a) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n", 1, HB_PROCESS_DEAD},
        {"1 (a) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n", 21, HB_PROCESS_DEAD},
        {"1 (a)", 1, HB_PROCESS_DEAD},
        {"", 1, HB_PROCESS_DEAD},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(others); i++) {
        hb_process_id id = hb_process_id_here();
        id.pid = OTHER;
        id.start_time = others[i].start;
        played.other = others[i].text;
        hb_process_life life = hb_process_life_of(&id);
        played.other = NULL;
        assert_int_equal(life, others[i].life);
    }
}

/* Then files have the number 0. */
static void without_a_standard_input_all_is_the_same(void **state)
{
    (void)state;
    char name[64];
    const hb_process_id before = hb_process_id_here();
    int input = fcntl(0, F_DUPFD_CLOEXEC, 3);
    close(0);
    const hb_process_id id = hb_process_id_here();
    hb_process_name(name, sizeof name);
    bool is_closed = fcntl(0, F_GETFD) < 0;
    if (input >= 0) dup2(input, 0);
    if (input >= 0) close(input);
    assert_memory_equal(&id, &before, sizeof id);
    assert_string_equal(name, "test_process_id");
    assert_true(is_closed);
}

/* ---- its name ---- */

enum { LONG = 5000, LONGEST = 4095 };

/* What this program says that it is called, when it is started as that. */
static void name_as(const char *started_as, size_t room, char name[LONG])
{
    int ends[2];
    char rooms[16];
    size_t size = 0;
    assert_int_equal(pipe(ends), 0);
    snprintf(rooms, sizeof rooms, "%zu", room);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", started_as, rooms, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], name + size, LONG - 1 - size)) > 0;)
        size += (size_t)n;
    name[size] = '\0';
    close(ends[0]);
    wait_for_success(child);
}

static void a_process_is_called_as_it_was_started_without_the_directory(void **state)
{
    (void)state;
    static const struct {
        const char *started_as;
        size_t room;
        const char *name;
    } programs[] = {
        {"/usr/bin/a program", 256, "a program"},
        {"relative/to/it", 256, "it"},
        {"plain", 256, "plain"},
        {"/", 256, ""},
        {"", 256, ""},
        {"/usr/bin/program", 8, "program"},
        {"/usr/bin/program", 7, "progra"},
    };
    char name[LONG];
    for (size_t i = 0; i < HB_ARRAY_LEN(programs); i++) {
        name_as(programs[i].started_as, programs[i].room, name);
        assert_string_equal(name, programs[i].name);
    }
    char very_long[LONG];
    memset(very_long, 'x', sizeof very_long - 1);
    very_long[sizeof very_long - 1] = '\0';
    name_as(very_long, LONG, name);
    assert_int_equal(strspn(name, "x"), LONGEST);
    assert_int_equal(strlen(name), LONGEST);
}

static void a_name_leaves_no_descriptor(void **state)
{
    (void)state;
    char name[64];
    int before = next_descriptor();
    hb_process_name(name, sizeof name);
    assert_int_equal(next_descriptor(), before);
    assert_string_equal(name, "test_process_id");
}

/* With a number it only says what it is called. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_known_by_when_and_where_it_began),
        cmocka_unit_test(a_name_does_not_hide_when_it_began),
        cmocka_unit_test(of_the_boot_id_the_whole_line_counts),
        cmocka_unit_test(a_process_lives_or_not_or_nobody_knows),
        cmocka_unit_test(without_proc_nobody_knows),
        cmocka_unit_test(a_process_that_has_ended_is_dead),
        cmocka_unit_test(a_process_that_is_dying_is_dead),
        cmocka_unit_test(without_a_standard_input_all_is_the_same),
        cmocka_unit_test(a_process_is_called_as_it_was_started_without_the_directory),
        cmocka_unit_test(a_name_leaves_no_descriptor),
    };
    if (argc == 2) {
        char name[LONG];
        hb_process_name(name, strtoul(argv[1], NULL, 10));
        return printf("%s", name) < 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
