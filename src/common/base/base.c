/* SPDX-License-Identifier: MIT */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/pipes.h"

/* What a newer caller knows of beyond `size`, and has not set. */
static bool is_all_zero(const char *from, size_t size, size_t given)
{
    for (size_t i = size; i < given; i++)
        if (from[i]) return false;
    return true;
}

hb_result hb_options_take(const void *from, void *to, size_t size, const char *init)
{
    size_t given;
    if (!from) return HB_OK;
    memcpy(&given, from, sizeof given);
    if (given < sizeof given || given > 4096)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "options.struct_size is %zu: begin with %s",
                       given, init);
    if (!is_all_zero(from, size, given))
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "an option is set that this hipboard, %s, does not know: update it, or "
                       "leave out what came after its release",
                       hb_version());
    memcpy(to, from, HB_MIN(given, size));
    return HB_OK;
}

bool hb_parse_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    char *end;
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    char letter = (char)(*end & ~0x20); /* upper case; a blank becomes the end of a text */
    const char *unit = letter ? strchr(units, letter) : NULL;
    unsigned shift = unit ? 10 * ((unsigned)(unit - units) + 1) : 0;
    if (unit) end++;
    if (*end || errno || n == 0 || n > UINT64_MAX >> shift) return false;
    *bytes = n << shift;
    return true;
}

uint64_t hb_random_bits(void)
{
    static atomic_uint count; /* tells calls within one tick of the clock apart; orders nothing */
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == sizeof bits) return bits;
    bits = (uint64_t)hb_clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)getpid() << 40;
    return bits ^ (uint64_t)atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) << 20;
}

/* A full pipe or a stopped terminal would make the program wait for whoever reads it. The
 * descriptor's own flags are shared with other processes, so it is opened anew; where that is not
 * allowed (a pipe of another user's), room is asked for first. */
static ssize_t write_now(const char *line, size_t n)
{
    struct stat st;
    if (fstat(STDERR_FILENO, &st) != 0) return -1;
    if (S_ISSOCK(st.st_mode)) return send(STDERR_FILENO, line, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)) return write(STDERR_FILENO, line, n);
    int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t written = write(fd, line, n);
        int error = errno;
        close(fd);
        errno = error;
        return written;
    }
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&room, 1, 0) == 1) return write(STDERR_FILENO, line, n);
    errno = EAGAIN;
    return -1;
}

/* One write, so that lines of several ranks on one terminal stay whole. */
bool hb_tell_now(const char *line, size_t n)
{
    hb_pipe_guard guard = hb_pipe_guard_begin();
    bool written = write_now(line, n) >= 0;
    hb_pipe_guard_end(&guard, !written);
    return written;
}

static atomic_uint unwritten; /* lines for which there was no room; a count, orders nothing */

void hb_warn(const char *format, ...)
{
    char line[1500] = "hipboard: ";
    size_t n = strlen(line), end = sizeof line - 60;
    int error = errno;
    unsigned before = atomic_exchange_explicit(&unwritten, 0, memory_order_relaxed);
    va_list args;
    va_start(args, format);
    vsnprintf(line + n, end - n, format, args);
    va_end(args);
    n = strlen(line);
    if (before)
        n += (size_t)snprintf(line + n, sizeof line - n - 1, " (before that %u lines went unread)",
                              before);
    line[n++] = '\n';
    if (!hb_tell_now(line, n))
        atomic_fetch_add_explicit(&unwritten, before + 1, memory_order_relaxed);
    errno = error;
}

uint64_t hb_affordable(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
    return HB_MIN(bytes, (uint64_t)limit.rlim_cur / 16);
}

void hb_use_huge_pages(void *memory, size_t size)
{
    const uintptr_t page = (uintptr_t)2 << 20;
    uintptr_t start = ((uintptr_t)memory + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)memory + size) & ~(page - 1);
    if (start < end)
        madvise((char *)memory + (start - (uintptr_t)memory), end - start, MADV_HUGEPAGE);
}
