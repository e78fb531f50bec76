/* SPDX-License-Identifier: MIT
 *
 * The preloaded kind: FAIL_CALL=n fails the n-th call, FAIL_CALLS=n each from that on; at the end
 * the count and the call's name go into the file FAIL_CALLS_SAY, if that is given. Processes that
 * the program makes begin anew.
 */
#include <dlfcn.h>
#include <link.h>

#define OURS       from_hipboard(__builtin_return_address(0))
#define NAME(name) preloaded_##name
#define REAL(name) ((__typeof__(&preloaded_##name))real(#name))
#define DECLARE(name)
#define LABEL(name) __asm__(#name) __attribute__((visibility("default")))

static struct {
    uintptr_t begin, end;
} ranges[8];
static int num_ranges;

static int add_range(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!strstr(info->dlpi_name, "/libhipboard")) return 0;
    for (int i = 0; i < info->dlpi_phnum && num_ranges < 8; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        ranges[num_ranges].begin = info->dlpi_addr + p->p_vaddr;
        ranges[num_ranges++].end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    return 0;
}

static bool from_hipboard(const void *caller)
{
    for (int i = 0; i < num_ranges; i++)
        if ((uintptr_t)caller >= ranges[i].begin && (uintptr_t)caller < ranges[i].end) return true;
    return false;
}

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t m);
extern void *__libc_realloc(void *p, size_t n);

/* dlsym() allocates. */
static void *real(const char *name)
{
    if (strcmp(name, "malloc") == 0) return (void *)__libc_malloc;
    if (strcmp(name, "calloc") == 0) return (void *)__libc_calloc;
    if (strcmp(name, "realloc") == 0) return (void *)__libc_realloc;
    return dlsym(RTLD_NEXT, name);
}

static void say(void)
{
    const char *path = getenv("FAIL_CALLS_SAY"), *failed = failing_calls_failed();
    failing_calls_end();
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%d %ld %s\n", (int)getpid(), failing_calls_count(), failed ? failed : "-");
    fclose(file);
}

static void begin(void)
{
    const char *one = getenv("FAIL_CALL"), *all = getenv("FAIL_CALLS");
    failing_calls_begin(one ? atol(one) : all ? atol(all) : 0, !one);
}

__attribute__((constructor)) static void start(void)
{
    dl_iterate_phdr(add_range, NULL);
    begin();
    atexit(say);
    pthread_atfork(NULL, NULL, begin);
}
