/* SPDX-License-Identifier: MIT
 *
 * The helper process that names frames: the program does not notice it, and whatever it does,
 * stacks have at least addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "symbols/loaded_code.h"
#include "symbols/own_parts.h"
#include "symbols/perf_map.h"
#include "symbols/symbolizer.h"
#include "symbols/symbolizer_process.h"
#include "test_dir.h"

static __attribute__((noinline)) uint64_t here(void)
{
    __asm__ volatile("");
    return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* A return address in this function, and one in it again, as a recursive function has them. */
static __attribute__((noinline)) void named_function(uint64_t pcs[3])
{
    pcs[0] = here();
    pcs[1] = pcs[0];
    pcs[2] = 0;
    __asm__ volatile("");
}

static char *stack_text(hb_str code)
{
    uint64_t pcs[3];
    named_function(pcs);
    hb_symbolizer *s = hb_symbolizer_new(code);
    assert_non_null(s);
    hb_str text = hb_symbolizer_stack(s, pcs, 3);
    char *copy = strndup(text.s, text.len);
    hb_symbolizer_free(s);
    return copy;
}

static bool is_named(const char *text)
{
    const char *first = strstr(text, "test_symbolizer.c(");
    const char *second = first ? strstr(first + 1, "test_symbolizer.c(") : NULL;
    return second && strstr(second, "): named_function;");
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static int open_descriptors(void)
{
    DIR *fds = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(fds))
        n++;
    closedir(fds);
    return n;
}

static void the_program_notices_no_process(void **state)
{
    (void)state;
    uint64_t pcs[3];
    int before = open_descriptors();
    signal(SIGCHLD, count_signal);
    named_function(pcs);
    hb_symbolizer *s = hb_symbolizer_new((hb_str){0});
    (void)hb_symbolizer_stack(s, pcs, 3);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
    hb_symbolizer_free(s);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(signals, 0);
    assert_int_equal(open_descriptors(), before);
    signal(SIGCHLD, SIG_DFL);
}

static void *wait_for_end(void *end)
{
    while (sem_wait(end) != 0)
        continue;
    return NULL;
}

static void *no_work(void *arg)
{
    return arg;
}

/* ThreadSanitizer refuses it after what it takes for a fork. */
static void threads_may_be_started_before_and_after(void **state)
{
    (void)state;
    pthread_t first, second;
    sem_t end;
    sem_init(&end, 0, 0);
    assert_int_equal(pthread_create(&first, NULL, wait_for_end, &end), 0);
    char *text = stack_text((hb_str){0});
    assert_true(is_named(text));
    free(text);
    assert_int_equal(pthread_create(&second, NULL, no_work, NULL), 0);
    pthread_join(second, NULL);
    sem_post(&end);
    pthread_join(first, NULL);
}

/* A libelf that is none would end whoever loads it. */
static void its_environment_is_not_the_programs(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/libdw.so.1", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("no library", file);
    fclose(file);
    setenv("LD_LIBRARY_PATH", dir, 1);
    char *text = stack_text((hb_str){0});
    unsetenv("LD_LIBRARY_PATH");
    if (!is_named(text)) fail_msg("%s", text);
    free(text);
}

static void standard_descriptors_may_be_closed(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        close(0);
        close(1);
        close(2);
        char *text = stack_text((hb_str){0});
        _exit(is_named(text) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- helpers that do not do what they should ---- */

static char script[300];

static void use_script(const char *text, mode_t mode)
{
    snprintf(script, sizeof script, "%s/helper", dir);
    FILE *file = fopen(script, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    fclose(file);
    assert_int_equal(chmod(script, mode), 0);
    setenv("HIPBOARD_SYMBOLIZER", script, 1);
}

static int no_script(void **state)
{
    unsetenv("HIPBOARD_SYMBOLIZER");
    return remove_dir(state);
}

/* By the dynamic linker, or as addresses; as many as there are. */
static void assert_poor_stack(void)
{
    char *text = stack_text((hb_str){0});
    int frames = 0;
    for (const char *at = text; (at = strstr(at, "(0): ")); at++)
        frames++;
    if (frames != 2) fail_msg("%s", text);
    free(text);
}

static void assert_refused(const char *why)
{
    hb_symbolizer_process p;
    assert_false(hb_symbolizer_start(&p, HB_STR("")));
    if (!strstr(p.reason, why)) fail_msg("%s", p.reason);
    assert_false(hb_symbolizer_is_running(&p));
    assert_poor_stack();
}

static void one_of_another_version_is_refused(void **state)
{
    (void)state;
    use_script("echo this is hipboard-symbolizer 0.0.9", 0755);
    assert_refused("this is hipboard-symbolizer 0.0.9");
}

static void one_that_is_no_program_is_refused(void **state)
{
    (void)state;
    use_script("", 0755);
    FILE *file = fopen(script, "w");
    fputs("nothing that can be run", file);
    fclose(file);
    assert_refused("cannot start");
}

static void one_that_may_not_be_run_is_refused(void **state)
{
    (void)state;
    use_script("echo ready; cat", 0644);
    assert_refused("helper cannot be run: Permission denied");
}

static void interrupt(int signal_number)
{
    (void)signal_number;
}

/* Of the program's, as its timers send. */
static void signals_do_not_end_the_wait_for_it(void **state)
{
    (void)state;
    hb_symbolizer_process p;
    struct sigaction before, ours = {.sa_handler = interrupt}; /* no call goes on by itself */
    struct itimerval each_10_ms = {{0, 10000}, {0, 10000}}, none = {{0, 0}, {0, 0}};
    use_script("while read -r line && [ -n \"$line\" ]; do :; done; sleep 0.3; echo ready; cat",
               0755);
    assert_int_equal(sigaction(SIGALRM, &ours, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &each_10_ms, NULL), 0);
    bool started = hb_symbolizer_start(&p, HB_STR(""));
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    if (!started) fail_msg("%s", p.reason);
    hb_symbolizer_end(&p);
}

static void what_others_may_write_to_is_not_started(void **state)
{
    (void)state;
    use_script("echo ready; cat", 0757);
    assert_refused("/helper may be written to by everybody (mode 0757): chmod o-w it, or install "
                   "elsewhere");
}

/* Run are files of root's, of one's own, and of who installed the library, as far as no other may
 * write to them. Who may not be others sees of it what there is. */
static void files_of_others_are_not_run(void **state)
{
    enum { ME = 1234, INSTALLER = 2345, OTHER = 3456 };
    static const struct {
        uid_t owner, installer;
        mode_t mode;
        bool may;
    } rows[] = {
        {0, 0, 0755, true},
        {ME, 0, 0755, true},
        {OTHER, 0, 0755, false},
        {OTHER, INSTALLER, 0755, false},
        {INSTALLER, INSTALLER, 0755, true},
        {INSTALLER, 0, 0755, false},
        {0, INSTALLER, 0755, true},
        {ME, INSTALLER, 0755, true},
        {0, 0, 0757, false},
        {ME, 0, 0757, false},
        {INSTALLER, INSTALLER, 0757, false},
        {0, 0, 0775, true},
        {0, 0, 0700, false},
        {ME, 0, 0400, true},
        {ME, 0, 0000, false},
    };
    char path[PATH_MAX];
    (void)state;
    snprintf(path, sizeof path, "%s/part", dir);
    fclose(fopen(path, "w"));
    assert_int_equal(hb_part_check(dir, 0), HB_ERROR_NOT_FOUND); /* no file */
    assert_int_equal(hb_part_check("/bin/sh", 12345), HB_OK);
    assert_int_equal(hb_part_check(path, 12345), HB_OK);
    if (geteuid() == 0) {
        chmod(dir, 0755);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            int status;
            assert_int_equal(chown(path, rows[i].owner, 0), 0);
            assert_int_equal(chmod(path, rows[i].mode), 0);
            pid_t pid = fork();
            if (pid == 0) {
                if (setgroups(0, NULL) != 0 || setgid(ME) != 0 || setuid(ME) != 0) _exit(9);
                _exit(hb_part_check(path, rows[i].installer) == HB_OK);
            }
            assert_int_equal(waitpid(pid, &status, 0), pid);
            assert_int_equal(WEXITSTATUS(status), rows[i].may);
        }
    }
    unlink(path);
}

/* Parts are named without directories, and are told whole or not at all. */
static void parts_are_found_by_their_names(void **state)
{
    char path[PATH_MAX];
    (void)state;
    const char *none[] = {NULL, "", "a/b", "/etc/passwd"};
    for (size_t i = 0; i < HB_ARRAY_LEN(none); i++)
        assert_int_equal(hb_part_path(none[i], path, sizeof path), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_part_path(HB_PART_SYMBOLIZER, NULL, 0), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_part_path("no-such-part", path, sizeof path), HB_ERROR_NOT_FOUND);
    assert_non_null(strstr(hb_last_error(), "no-such-part is neither in /"));
    assert_int_equal(hb_part_path(HB_PART_SYMBOLIZER, path, sizeof path), HB_OK);
    size_t size = strlen(path) + 1;
    assert_int_equal(hb_part_path(HB_PART_SYMBOLIZER, path, size), HB_OK);
    assert_int_equal(hb_part_path(HB_PART_SYMBOLIZER, path, size - 1), HB_ERROR_NOT_FOUND);
}

/* On shares where all may do everything. Told is what is wrong, not that there is nothing. */
static void parts_that_are_refused_are_told(void **state)
{
    char own[PATH_MAX], part[PATH_MAX + 5], path[PATH_MAX], expected[PATH_MAX + 100];
    (void)state;
    assert_non_null(realpath("/proc/self/exe", own));
    snprintf(part, sizeof part, "%s-part", own);
    const char *name = strrchr(part, '/') + 1;
    fclose(fopen(part, "w"));
    assert_int_equal(chmod(part, 0777), 0);
    assert_int_equal(hb_part_path(name, path, sizeof path), HB_ERROR_UNSUPPORTED);
    snprintf(expected, sizeof expected,
             "%s may be written to by everybody (mode 0777): chmod o-w it, or install elsewhere",
             part);
    assert_string_equal(hb_last_error(), expected);
    assert_int_equal(chmod(part, 0755), 0);
    assert_int_equal(hb_part_path(name, path, sizeof path), HB_ERROR_UNSUPPORTED);
    assert_non_null(strstr(hb_last_error(), "is a part of hipboard of another release"));
    if (geteuid() == 0) {
        assert_int_equal(chown(part, 3456, 0), 0);
        assert_int_equal(hb_part_path(name, path, sizeof path), HB_ERROR_UNSUPPORTED);
        assert_non_null(strstr(hb_last_error(), "belongs to user 3456"));
    }
    unlink(part);
}

static void without_descriptors_none_is_started(void **state)
{
    (void)state;
    use_script("echo ready; cat", 0755);
    pid_t pid = fork();
    if (pid == 0) {
        hb_symbolizer_process p;
        struct rlimit none = {3, 3};
        if (setrlimit(RLIMIT_NOFILE, &none) != 0) _exit(1);
        while (dup(0) >= 0)
            continue;
        if (hb_symbolizer_start(&p, HB_STR(""))) _exit(2);
        _exit(strstr(p.reason, "no pipe to /") ? 0 : 3);
    }
    wait_for_success(pid);
}

static void an_empty_setting_means_none(void **state)
{
    (void)state;
    setenv("HIPBOARD_SYMBOLIZER", "", 1);
    assert_refused("is not there");
}

static void one_that_ends_leaves_addresses(void **state)
{
    (void)state;
    use_script("while read -r line && [ -n \"$line\" ]; do :; done; echo ready; read -r line",
               0755);
    assert_poor_stack();
}

/* Who asks one that has ended is told so at once, not when patience ends. */
static void one_that_has_ended_is_not_waited_for(void **state)
{
    (void)state;
    use_script("while read -r line && [ -n \"$line\" ]; do :; done; echo ready", 0755);
    hb_symbolizer_process p;
    assert_true(hb_symbolizer_start(&p, HB_STR("")));
    p.patience_ms = 100000;
    int64_t began = hb_clock_ns(CLOCK_MONOTONIC);
    assert_null(hb_symbolizer_answer(&p).s); /* when its end is closed */
    assert_false(hb_symbolizer_send(&p, "10\n", 3));
    assert_true(hb_clock_ns(CLOCK_MONOTONIC) - began < INT64_C(100000000000));
    hb_symbolizer_end(&p);
}

/* However many recordings have stacks, the reason that they are poor is told once. */
static void the_reason_is_told_once(void **state)
{
    char log[300], text[4000], *at = text;
    int told = 0;
    (void)state;
    snprintf(log, sizeof log, "%s/log", dir);
    fflush(stderr);
    int kept = dup(2), fd = open(log, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(kept >= 0 && fd >= 0 && dup2(fd, 2) == 2);
    use_script("echo no version", 0755);
    for (int i = 0; i < 3; i++)
        hb_symbolizer_free(hb_symbolizer_new((hb_str){0}));
    dup2(kept, 2);
    text[pread(fd, text, sizeof text - 1, 0)] = '\0';
    close(kept);
    close(fd);
    for (; (at = strstr(at, "call stacks without lines")); at++)
        told++;
    assert_in_range(told, 0, 1); /* 0: another test was told before */
}

static void one_that_is_silent_is_given_up(void **state)
{
    (void)state;
    use_script("echo ready; exec sleep 60", 0755);
    hb_symbolizer_process p;
    assert_true(hb_symbolizer_start(&p, HB_STR("")));
    p.patience_ms = 50;
    assert_true(hb_symbolizer_send(&p, "10\n", 3));
    assert_null(hb_symbolizer_answer(&p).s);
    hb_symbolizer_end(&p);
    assert_false(hb_symbolizer_is_running(&p));
}

/* ---- code of another process ---- */

static void what_a_process_had_mapped_is_enough(void **state)
{
    (void)state;
    hb_buf code;
    hb_buf_init(&code, 16u << 20);
    hb_put_loaded_code(&code);
    char *text = stack_text((hb_str){code.data, (uint32_t)code.size});
    if (!is_named(text)) fail_msg("%s", text);
    free(text);
    hb_buf_free(&code);
}

static void a_file_that_was_built_anew_says_nothing(void **state)
{
    (void)state;
    hb_buf code;
    hb_buf_init(&code, 16u << 20);
    hb_put_loaded_code(&code);
    char *id = strstr((char *)(uintptr_t)hb_buf_text(&code), "build-id ");
    if (!id) fail_msg("no build id: %s", hb_buf_text(&code));
    char *digit = strchr(strchr(id, ' ') + 1, ' ') + 1; /* of the first module: this program */
    *digit = *digit == '0' ? '1' : '0';
    char *text = stack_text((hb_str){code.data, (uint32_t)code.size});
    if (strncmp(text, "?(0): 0x", 8) != 0) fail_msg("%s", text);
    free(text);
    hb_buf_free(&code);
}

/* ---- code that no file holds ---- */

static char *text_at(uint64_t pc)
{
    const uint64_t pcs[] = {pc, 0};
    hb_symbolizer *s = hb_symbolizer_new((hb_str){0});
    assert_non_null(s);
    hb_str text = hb_symbolizer_stack(s, pcs, 2);
    char *copy = strndup(text.s, text.len);
    hb_symbolizer_free(s);
    return copy;
}

static void assert_text_at(uint64_t pc, const char *wanted)
{
    char *text = text_at(pc);
    assert_string_equal(text, wanted);
    free(text);
}

/* As Python writes with PYTHONPERFSUPPORT=1, and other compilers in a process. */
static void names_of_made_code_come_from_its_map(void **state)
{
    char path[64];
    char *page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t at = (uint64_t)(uintptr_t)page;
    (void)state;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    assert_non_null(map);
    fprintf(map, "%llx 40 py::train_step:/home/me/train.py\n", (unsigned long long)at);
    fprintf(map, "%llx 40 before\n0x%llx 0x40 made; later\n", (unsigned long long)at + 64,
            (unsigned long long)at + 64);
    fprintf(map, "no line\n%llx 0 nothing\n%llx 1000 cut", (unsigned long long)at,
            (unsigned long long)at);
    fclose(map);
    assert_text_at(at + 10, "/home/me/train.py(0): train_step;");
    assert_text_at(at + 70, "?(0): made, later;");
    char *unknown = text_at(at + 4096);
    assert_non_null(strstr(unknown, "(0): 0x"));
    free(unknown);
    unlink(path);
    if (symlink("/etc/passwd", path) == 0) {
        unknown = text_at(at + 10);
        assert_non_null(strstr(unknown, "(0): 0x"));
        free(unknown);
        unlink(path);
    }
    munmap(page, 8192);
}

/* Memory for a map is bounded. */
static void a_map_of_more_than_256_MB_is_passed_over(void **state)
{
    static const long long sizes[] = {255LL << 20, 257LL << 20};
    char path[64];
    char *page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t at = (uint64_t)(uintptr_t)page;
    (void)state;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    for (int i = 0; i < 2; i++) {
        FILE *map = fopen(path, "w");
        assert_non_null(map);
        fprintf(map, "%llx 40 made\n", (unsigned long long)at);
        assert_int_equal(fflush(map) + ftruncate(fileno(map), sizes[i]), 0);
        fclose(map);
        char *text = text_at(at + 10);
        unlink(path);
        assert_true((strstr(text, "made") != NULL) == (i == 0));
        free(text);
    }
    munmap(page, 8192);
}

/* Each digit at its place, in both cases. */
static void addresses_in_such_a_map_are_hexadecimal(void **state)
{
    char path[64];
    char *wanted =
        (char *)(uintptr_t)0x1fabcde09000; /* gcc's thread checks have it for themselves */
    char *page = mmap(wanted, 0x4000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    if (page != wanted) skip();
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    assert_non_null(map);
    fputs("1FABCDE09000 f first\n0x1FabcDe0900f F second\n1fabcde09a00 A0 third\n"
          "1fabcde0a000 00fF wide\n1fabcde0ag00 10 none\n1fabcde0b000 1g none\n"
          "1fabcde0b000  none\n1fabcde0b000 10\n 1fabcde0b000 10 none\n",
          map);
    fclose(map);
    static const struct {
        uint32_t at;
        const char *text;
    } rows[] = {
        {0x000, "?(0): first;"},  {0x00e, "?(0): first;"}, {0x00f, "?(0): second;"},
        {0x01d, "?(0): second;"}, {0x01e, NULL},           {0xa00, "?(0): third;"},
        {0xa9f, "?(0): third;"},  {0xaa0, NULL},           {0x10fe, "?(0): wide;"},
        {0x10ff, NULL},           {0x1a00, NULL},          {0x2000, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = text_at((uint64_t)(uintptr_t)page + rows[i].at + 1); /* of who returns there */
        if (rows[i].text)
            assert_string_equal(text, rows[i].text);
        else
            assert_non_null(strstr(text, "(0): 0x"));
        free(text);
    }
    unlink(path);
    munmap(page, 0x4000);
}

/* ---- what is asked, and made of the answers ---- */

/* Each address once, whatever stacks it is in, and none is taken for another. */
static void an_address_is_asked_for_once(void **state)
{
    enum { STACKS = 60, DEPTH = 50, STEP = 37 };
    static char expected[DEPTH * 64], asked[STACKS * DEPTH * 16];
    char log[300], command[700];
    (void)state;
    snprintf(log, sizeof log, "%s/asked", dir);
    snprintf(command, sizeof command,
             "while read -r line && [ -n \"$line\" ]; do :; done; echo ready\n"
             "while read -r pc; do echo $pc >>'%s'; printf 'f%%s.c\\t7\\t_Z1f\\tf_%%s\\t\\n' $pc "
             "$pc; done",
             log);
    use_script(command, 0755);
    hb_symbolizer *s = hb_symbolizer_new((hb_str){0});
    assert_non_null(s);
    for (uint64_t stack = 0; stack < STACKS; stack++) {
        uint64_t pcs[DEPTH + 2] = {0};
        size_t n = 0;
        for (uint64_t i = 0; i < DEPTH; i++) { /* each has a part of the one before it */
            pcs[i] = 0x10001 + stack * STEP + i;
            n += (size_t)snprintf(expected + n, sizeof expected - n, "f%lx.c(7): f_%lx;",
                                  (long)pcs[i] - 1, (long)pcs[i] - 1);
        }
        pcs[DEPTH + 1] = 5; /* behind the zero */
        hb_str text = hb_symbolizer_stack(s, pcs, DEPTH + 2);
        assert_int_equal(text.len, n);
        assert_memory_equal(text.s, expected, n);
        text = hb_symbolizer_stack(s, pcs, 1); /* up to the count */
        assert_int_equal(text.len, strchr(expected, ';') + 1 - expected);
    }
    hb_symbolizer_free(s);
    FILE *file = fopen(log, "r");
    assert_non_null(file);
    asked[fread(asked, 1, sizeof asked - 1, file)] = '\0';
    fclose(file);
    const char *at = asked;
    for (uint64_t i = 0; i < (STACKS - 1) * STEP + DEPTH; i++) {
        char *end;
        assert_int_equal(strtoull(at, &end, 16), 0x10000 + i);
        assert_int_equal(*end, '\n');
        at = end + 1;
    }
    assert_string_equal(at, "");
}

static void check_answer(const char *answer, const char *expected)
{
    char command[400];
    snprintf(command, sizeof command,
             "while read -r line && [ -n \"$line\" ]; do :; done; echo ready\n"
             "while read -r pc; do printf '%s\\n'; done",
             answer);
    use_script(command, 0755);
    assert_text_at(0x1235, expected);
}

static void answers_have_fields(void **state)
{
    (void)state;
    check_answer("a.c\\t12\\tlink\\tname\\t", "a.c(12): name;");
    check_answer("a.c\\t12\\tlink\\ta;b\\t", "a.c(12): a,b;");
    check_answer("\\t0\\tlink\\tname\\t", "?(0): name;");
    check_answer("a.c\\t12\\t\\t\\t", "a.c(12): 0x1234;");
    check_answer("in.h\\t3\\tx\\tinlined\\ta.c\\t12\\ty\\tname\\t",
                 "in.h(3): inlined;a.c(12): name;");
    /* hipboard's own calls are none of the program's */
    check_answer("hipboard.hpp\\t3\\t_ZN8hipboard5ScopeC1Ev\\tScope\\ta.c\\t12\\ty\\tname\\t",
                 "a.c(12): name;");
    check_answer("a.c\\t3\\t_ZN7hipboarE\\thipboar\\t", "a.c(3): hipboar;");
    check_answer("a.c", "a.c(): 0x1234;");
}

/* ---- maps of made code, line by line ---- */

/* Lines lie over each other in any way: of those that have an address the last one holds. */
static void later_lines_of_a_map_hold(void **state)
{
    enum { LINES = 80, ROOM = 400 };
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    srand(11);
    for (int turn = 0; turn < 20; turn++) {
        int begin[LINES], size[LINES];
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (int i = 0; i < LINES; i++) {
            begin[i] = rand() % ROOM;
            size[i] = 1 + rand() % (i % 10 ? 12 : 150);
            fprintf(file, "%x %x f%d\n", 0x1000 + begin[i], size[i], i);
        }
        fclose(file);
        hb_perf_map *map = hb_perf_map_read();
        assert_non_null(map);
        for (int at = 0; at < ROOM + 200; at++) {
            char expected[16] = "";
            for (int i = 0; i < LINES; i++)
                if (begin[i] <= at && at < begin[i] + size[i])
                    snprintf(expected, sizeof expected, "f%d", i);
            hb_perf_name found = hb_perf_map_find(map, 0x1000 + (uint64_t)at);
            assert_int_equal(found.function.len, strlen(expected));
            assert_memory_equal(found.function.s ? found.function.s : "", expected,
                                strlen(expected));
            assert_int_equal(found.file.len, 0);
        }
        assert_int_equal(hb_perf_map_find(map, 0xfff).function.len, 0);
        hb_perf_map_free(map);
    }
    unlink(path);
    assert_null(hb_perf_map_read());
    assert_int_equal(hb_perf_map_find(NULL, 0x1000).function.len, 0);
}

static hb_perf_name name_in_map(const char *line, hb_perf_map **map)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
    fclose(file);
    *map = hb_perf_map_read();
    assert_non_null(*map);
    unlink(path);
    return hb_perf_map_find(*map, 0x1000);
}

static void pythons_names_have_their_files(void **state)
{
    static const struct {
        const char *line, *function, *file;
    } rows[] = {
        {"1000 10 py::f:/a/b.py", "f", "/a/b.py"},
        {"1000 10 py::f:a:b", "f", "a:b"},
        {"1000 10 py::f", "f", ""},
        {"1000 10 py:f:x", "py:f:x", ""},
        {"1000 10 py::", "", ""},
        {"1000 10 py::f:", "f", ""},
        {"1000 10  f g ", " f g ", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hb_perf_map *map;
        hb_perf_name name = name_in_map(rows[i].line, &map);
        assert_int_equal(name.function.len, strlen(rows[i].function));
        assert_memory_equal(name.function.s, rows[i].function, name.function.len);
        assert_int_equal(name.file.len, strlen(rows[i].file));
        if (name.file.len) assert_memory_equal(name.file.s, rows[i].file, name.file.len);
        hb_perf_map_free(map);
    }
}

/* What everybody may have put there is nobody's map. */
static void other_peoples_maps_are_not_read(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(hb_perf_map_read()); /* and nobody waits */
    unlink(path);
    if (geteuid() != 0) return;
    hb_perf_map *map;
    assert_int_equal(name_in_map("1000 10 f", &map).function.len, 1);
    hb_perf_map_free(map);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("1000 10 f\n", file);
    fclose(file);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_null(hb_perf_map_read());
    unlink(path);
}

/* ---- what is mapped ---- */

/* The files with code, with all of their mappings that stand together, and no others. */
static void files_with_code_are_listed(void **state)
{
    static char maps[1 << 18], line[5000];
    char data[300];
    hb_buf code;
    (void)state;
    snprintf(data, sizeof data, "%s/data", dir);
    FILE *file = fopen(data, "w");
    assert_non_null(file);
    for (int i = 0; i < 8192; i++)
        fputc(i, file);
    fclose(file);
    int fd = open(data, O_RDONLY);
    void *mapped = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(mapped != MAP_FAILED);
    hb_buf_init(&code, 16u << 20);
    hb_put_loaded_code(&code);
    FILE *own = fopen("/proc/self/maps", "r");
    assert_non_null(own);
    size_t size = fread(maps, 1, sizeof maps - 1, own);
    maps[size] = '\0';
    fclose(own);
    const char *text = hb_buf_text(&code);
    assert_null(strstr(text, data));
    int listed = 0, with_code = 0, ids = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
        size_t n = (size_t)(strchr(at, '\n') + 1 - at);
        assert_true(n < sizeof line);
        memcpy(line, at, n);
        line[n] = '\0';
        if (strncmp(line, "build-id ", 9) == 0) {
            ids++;
            continue;
        }
        assert_non_null(strstr(maps, line));
        assert_non_null(strchr(line, '/'));
        listed++;
        with_code += strstr(line, "r-xp") != NULL;
    }
    int expected = 0;
    for (const char *at = maps; (at = strstr(at, " r-xp ")); at++) {
        const char *slash = strchr(at, '/'), *end = strchr(at, '\n');
        expected += slash && slash < end;
    }
    assert_int_equal(with_code, expected);
    assert_true(listed > 2 * with_code && ids >= 2 && ids <= with_code);
    /* an id stands behind the beginning of the mapping that it is of */
    for (const char *at = text; (at = strstr(at, "build-id ")); at++) {
        const char *before = at - 1;
        while (before > text && before[-1] != '\n')
            before--;
        assert_int_equal(strtoull(at + 9, NULL, 16), strtoull(before, NULL, 16));
        assert_int_equal(strspn(strchr(at + 9, ' ') + 1, "0123456789abcdef"), 40); /* SHA-1 */
    }
    hb_buf_free(&code);
    munmap(mapped, 8192);
    close(fd);
}

static void a_files_path_is_told_by_what_is_mapped(void **state)
{
    char own[PATH_MAX], path[PATH_MAX];
    (void)state;
    assert_non_null(realpath("/proc/self/exe", own));
    assert_true(hb_mapped_path((void *)(uintptr_t)&here, path));
    assert_string_equal(path, own);
    assert_false(hb_mapped_path(&own, path)); /* of no file */
    assert_false(hb_mapped_path(NULL, path));
}

/* Of a copy of this program with code, whether its build id is told. */
static bool copy_has_id(const char *head, size_t size)
{
    char path[300];
    hb_buf code;
    snprintf(path, sizeof path, "%s/copy", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
    assert_true(fd >= 0 && write(fd, head, size) == (ssize_t)size);
    void *at = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_true(at != MAP_FAILED);
    hb_buf_init(&code, 16u << 20);
    hb_put_loaded_code(&code);
    char *line = strstr((char *)(uintptr_t)hb_buf_text(&code), path);
    assert_non_null(line);
    char wanted[60];
    snprintf(wanted, sizeof wanted, "\nbuild-id %llx ", (unsigned long long)(uintptr_t)at);
    bool found = strncmp(strchr(line, '\n'), wanted, strlen(wanted)) == 0;
    hb_buf_free(&code);
    munmap(at, size);
    close(fd);
    return found;
}

/* What looks like a program and is none, or is damaged, has no id, and harms nobody. */
static void only_programs_have_ids(void **state)
{
    enum { SIZE = 1 << 16 };
    static char whole[SIZE], head[SIZE];
    (void)state;
    int fd = open("/proc/self/exe", O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, whole, SIZE), SIZE);
    close(fd);
    assert_true(copy_has_id(whole, SIZE));
    for (int damage = 0; damage < 11; damage++) {
        memcpy(head, whole, SIZE);
        ElfW(Ehdr) *e = (ElfW(Ehdr) *)(void *)head;
        ElfW(Phdr) *p = (ElfW(Phdr) *)(void *)(head + e->e_phoff);
        ElfW(Phdr) *notes = NULL;
        ElfW(Nhdr) *id = NULL;
        for (int i = 0; i < e->e_phnum; i++)
            for (size_t at = 0; p[i].p_type == PT_NOTE && !id && at < p[i].p_filesz; at += 4) {
                ElfW(Nhdr) *n = (ElfW(Nhdr) *)(void *)(head + p[i].p_offset + at);
                if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
                    memcmp(n + 1, "GNU", 4) == 0) {
                    id = n;
                    notes = &p[i];
                }
            }
        assert_non_null(id);
        if (damage == 0) e->e_ident[0] = 'x';
        if (damage == 1) e->e_ident[3] = 'x';
        if (damage == 2) e->e_phentsize++;
        if (damage == 3) e->e_phnum = 65;
        if (damage == 4) e->e_phoff = (ElfW(Off))1 << 40;
        if (damage == 5) id->n_type++;
        if (damage == 6) id->n_namesz = 5;
        if (damage == 7) memcpy(id + 1, "GNX", 4);
        if (damage == 8) id->n_descsz = 1 << 20;
        if (damage == 9) notes->p_filesz = 30000;
        if (damage == 10) memcpy(id + 1, "GNUX", 4);
        assert_false(copy_has_id(head, SIZE));
    }
}

#define WITH_SCRIPT(name) cmocka_unit_test_setup_teardown(name, make_dir, no_script)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_notices_no_process),
        cmocka_unit_test(threads_may_be_started_before_and_after),
        IN_DIR(its_environment_is_not_the_programs),
        cmocka_unit_test(standard_descriptors_may_be_closed),
        WITH_SCRIPT(one_of_another_version_is_refused),
        WITH_SCRIPT(one_that_is_no_program_is_refused),
        WITH_SCRIPT(one_that_may_not_be_run_is_refused),
        WITH_SCRIPT(signals_do_not_end_the_wait_for_it),
        WITH_SCRIPT(what_others_may_write_to_is_not_started),
        IN_DIR(files_of_others_are_not_run),
        cmocka_unit_test(parts_are_found_by_their_names),
        cmocka_unit_test(parts_that_are_refused_are_told),
        WITH_SCRIPT(without_descriptors_none_is_started),
        WITH_SCRIPT(an_empty_setting_means_none),
        WITH_SCRIPT(one_that_ends_leaves_addresses),
        WITH_SCRIPT(one_that_is_silent_is_given_up),
        WITH_SCRIPT(the_reason_is_told_once),
        WITH_SCRIPT(one_that_has_ended_is_not_waited_for),
        cmocka_unit_test(what_a_process_had_mapped_is_enough),
        cmocka_unit_test(a_file_that_was_built_anew_says_nothing),
        cmocka_unit_test(names_of_made_code_come_from_its_map),
        cmocka_unit_test(a_map_of_more_than_256_MB_is_passed_over),
        cmocka_unit_test(addresses_in_such_a_map_are_hexadecimal),
        WITH_SCRIPT(an_address_is_asked_for_once),
        WITH_SCRIPT(answers_have_fields),
        cmocka_unit_test(later_lines_of_a_map_hold),
        cmocka_unit_test(pythons_names_have_their_files),
        cmocka_unit_test(other_peoples_maps_are_not_read),
        IN_DIR(files_with_code_are_listed),
        cmocka_unit_test(a_files_path_is_told_by_what_is_mapped),
        IN_DIR(only_programs_have_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
