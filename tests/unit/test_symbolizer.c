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
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "symbols/loaded_code.h"
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

static void what_others_may_write_to_is_not_started(void **state)
{
    (void)state;
    use_script("echo ready; cat", 0757);
    assert_refused("is not there");
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

static void one_that_is_silent_is_given_up(void **state)
{
    (void)state;
    use_script("echo ready; exec sleep 5", 0755);
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

/* Each digit at its place, in both cases. */
static void addresses_in_such_a_map_are_hexadecimal(void **state)
{
    char path[64];
    char *wanted = (char *)(uintptr_t)0x1fabcde09000; /* gcc's thread checks have it for themselves */
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
        WITH_SCRIPT(what_others_may_write_to_is_not_started),
        WITH_SCRIPT(an_empty_setting_means_none),
        WITH_SCRIPT(one_that_ends_leaves_addresses),
        WITH_SCRIPT(one_that_is_silent_is_given_up),
        cmocka_unit_test(what_a_process_had_mapped_is_enough),
        cmocka_unit_test(a_file_that_was_built_anew_says_nothing),
        cmocka_unit_test(names_of_made_code_come_from_its_map),
        cmocka_unit_test(addresses_in_such_a_map_are_hexadecimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
