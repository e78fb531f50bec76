/* SPDX-License-Identifier: MIT
 *
 * Linked into everything of a build with -fsanitize-coverage=trace-pc: marks which blocks a program
 * executes. A byte an address, in a file that all processes share, so that what a killed or forked
 * process did is known too, and no process has anything to do when it ends. Without the folder of
 * these files nothing is marked.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static unsigned char *marks;
static size_t size;

__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void)
{
    const char *caller = __builtin_return_address(0);
    size_t at = (size_t)(caller - __ehdr_start);
    if (marks && at < size)
        marks[at] = 1;
}

/* The file that this code was loaded from; a program may call itself what it likes. */
static const char *own_file(char *buffer, size_t room)
{
    if (((getauxval(AT_PHDR) ^ (unsigned long)__ehdr_start) & ~4095ul) == 0) {
        ssize_t length = readlink("/proc/self/exe", buffer, room - 1);
        if (length <= 0)
            return NULL;
        buffer[length] = 0;
        return buffer;
    }
    Dl_info info;
    return dladdr(__ehdr_start, &info) ? info.dli_fname : NULL;
}

__attribute__((constructor(101))) static void begin(void)
{
    int before = errno;
    char buffer[4096], path[4096];
    const char *name = own_file(buffer, sizeof buffer);
    if (name) {
        const char *slash = strrchr(name, '/');
        snprintf(path, sizeof path, "%s/%.255s", MARKS_DIR, slash ? slash + 1 : name);
        size = (size_t)(etext - __ehdr_start);
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd >= 0 && ftruncate(fd, (off_t)size) == 0) {
            void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (mapped != MAP_FAILED)
                marks = mapped;
        }
        if (fd >= 0)
            close(fd);
    }
    errno = before;
}
