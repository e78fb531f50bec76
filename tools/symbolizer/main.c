/* SPDX-License-Identifier: MIT
 *
 * hipboard-symbolizer: names the code addresses of another process, out of the files that it has
 * mapped. libhipboard starts it, so that what reads debug information, and may stumble over it,
 * does not run in the recorded program.
 *
 *   hipboard-symbolizer VERSION
 *
 * On standard input: what the process has mapped, as /proc/PID/maps has it, with lines
 * "build-id ADDRESS ID" (hexadecimal) for modules that have one; an empty line; then lines of one
 * address each. It says "ready", then answers each at once with one line: the frames at that
 * address, the innermost inlined function first, each as file, line, function's name in the object
 * file and name as in its source, all followed by a tab. What is not known is empty. An address
 * that nothing is known of gives an empty line.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "debug_info.h"

/* For hb_part_path(). */
__attribute__((used)) static const char part_of[] = HB_PART;

enum { MOST_CPU_S = 600 };

static void put_text(const char *text)
{
    for (; text && *text; text++)
        putchar(*text == '\t' || *text == '\n' ? ' ' : *text);
    putchar('\t');
}

/* libstdc++'s, where there is one. */
typedef char *demangler(const char *, char *, size_t *, int *);
static demangler *demangle;

static void put_frame(const char *file, int line, const char *function)
{
    int status = -1;
    char *plain = function && demangle ? demangle(function, NULL, NULL, &status) : NULL;
    put_text(file);
    printf("%d\t", line);
    put_text(function);
    put_text(plain ? plain : function);
    free(plain);
}

/* Up to the empty line. */
static debug_info *read_modules(void)
{
    char *line = NULL, *maps = NULL;
    size_t capacity = 0, size = 0;
    ssize_t n;
    FILE *to = open_memstream(&maps, &size);
    debug_info *info = debug_info_new();
    if (!to || !info) return NULL;
    while ((n = getline(&line, &capacity, stdin)) > 0 && *line != '\n') {
        unsigned long long start;
        int id;
        if (sscanf(line, "build-id %llx %n", &start, &id) == 1) {
            line[strcspn(line, "\n")] = '\0';
            if (!debug_info_expect(info, start, line + id)) return NULL;
        } else {
            fwrite(line, 1, (size_t)n, to);
        }
    }
    free(line);
    if (fclose(to) != 0 || n <= 0) return NULL;
    bool ok = debug_info_open(info, maps, size);
    free(maps);
    return ok ? info : NULL;
}

int main(int argc, char **argv)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setrlimit(RLIMIT_CPU, &(struct rlimit){MOST_CPU_S, MOST_CPU_S}); /* whatever it stumbles over */
    if (argc != 2 || strcmp(argv[1], HB_VERSION) != 0) {
        printf("this is hipboard-symbolizer %s, a part of libhipboard %s\n", HB_VERSION,
               HB_VERSION);
        return 2;
    }
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library) *(void **)&demangle = dlsym(library, "__cxa_demangle");
    debug_info *info = read_modules();
    if (!info) return 1;
    puts("ready");
    fflush(stdout);
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        debug_info_frames(info, strtoull(line, NULL, 16), put_frame);
        putchar('\n');
        if (fflush(stdout) != 0) break;
    }
    free(line);
    debug_info_free(info);
    return 0;
}
