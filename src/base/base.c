/* SPDX-License-Identifier: MIT */
#include "base/base.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static __thread char last_error[1024];

const char *hb_last_error(void)
{
    return last_error;
}

const char *hb_result_text(hb_result result)
{
    switch (result) {
#define HB_RESULT_CASE(name, value, text) \
    case HB_##name: return text;
        HB_RESULT_MAP(HB_RESULT_CASE)
#undef HB_RESULT_CASE
    }
    return "unknown result";
}

const char *hb_version(void)
{
#define HB_TEXT_(x) #x
#define HB_TEXT(x)  HB_TEXT_(x)
    return HB_TEXT(HB_VERSION_MAJOR) "." HB_TEXT(HB_VERSION_MINOR) "." HB_TEXT(HB_VERSION_PATCH);
}

/* Arguments may point into last_error itself, hence the copy. */
HB_PRINTF(1, 0) static void set_last_error(const char *format, va_list args, const char *reason)
{
    char text[sizeof last_error];
    int n = vsnprintf(text, sizeof text, format, args);
    if (reason && n >= 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, ": %s", reason);
    memcpy(last_error, text, sizeof text);
}

hb_result hb_fail(hb_result result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_last_error(format, args, NULL);
    va_end(args);
    return result;
}

hb_result hb_no_memory(void)
{
    return hb_fail(HB_ERROR_NO_MEMORY, "out of memory");
}

hb_result hb_options_take(const void *from, void *to, size_t size, const char *init)
{
    size_t given;
    if (!from) return HB_OK;
    memcpy(&given, from, sizeof given);
    if (given < sizeof given || given > 4096)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "options.struct_size is %zu: begin with %s",
                       given, init);
    memcpy(to, from, HB_MIN(given, size));
    return HB_OK;
}

hb_result hb_fail_errno(hb_result result, int error_number, const char *format, ...)
{
    char reason[128];
    const char *text = strerror_r(error_number, reason, sizeof reason);
    va_list args;
    va_start(args, format);
    set_last_error(format, args, text);
    va_end(args);
    return result;
}

/* One write, so that lines of several ranks on one terminal stay whole. When nobody reads them the
 * signal of that would end the program: it is taken back. */
static void write_quietly(const char *line, size_t n)
{
    sigset_t pipe, pending, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    if (write(STDERR_FILENO, line, n) < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void hb_warn(const char *format, ...)
{
    char line[1400] = "hipboard: ";
    size_t n = strlen(line);
    va_list args;
    va_start(args, format);
    vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    n = strlen(line);
    line[n++] = '\n';
    write_quietly(line, n);
}

uint64_t hb_affordable(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
    return HB_MIN(bytes, (uint64_t)limit.rlim_cur / 8);
}

void hb_use_huge_pages(void *memory, size_t size)
{
    const uintptr_t page = (uintptr_t)2 << 20;
    uintptr_t start = ((uintptr_t)memory + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)memory + size) & ~(page - 1);
    if (start < end)
        madvise((char *)memory + (start - (uintptr_t)memory), end - start, MADV_HUGEPAGE);
}

void hb_buf_init(hb_buf *buf, size_t max)
{
    *buf = (hb_buf){.max = max};
}

void hb_buf_free(hb_buf *buf)
{
    free(buf->data);
    *buf = (hb_buf){.max = buf->max};
}

char *hb_buf_reserve(hb_buf *buf, size_t size)
{
    if (size <= buf->capacity - buf->size) return buf->data + buf->size;
    if (buf->failed || size > buf->max || buf->size > buf->max - size) {
        buf->failed = true;
        return NULL;
    }
    size_t capacity = HB_MAX(buf->capacity * 2, HB_MAX(buf->size + size, (size_t)256));
    char *data = realloc(buf->data, HB_MIN(capacity, buf->max));
    if (!data) {
        buf->failed = true;
        return NULL;
    }
    buf->data = data;
    buf->capacity = HB_MIN(capacity, buf->max);
    return buf->data + buf->size;
}

void hb_buf_append(hb_buf *buf, const void *data, size_t size)
{
    if (size == 0) return;
    char *to = hb_buf_reserve(buf, size);
    if (!to) return;
    memcpy(to, data, size);
    buf->size += size;
}

void hb_buf_str(hb_buf *buf, const char *text)
{
    hb_buf_append(buf, text, strlen(text));
}

void hb_buf_printf(hb_buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *to = n < 0 ? NULL : hb_buf_reserve(buf, (size_t)n + 1);
    if (to) {
        vsnprintf(to, (size_t)n + 1, format, again);
        buf->size += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

const char *hb_buf_text(hb_buf *buf)
{
    char *end = hb_buf_reserve(buf, 1);
    if (!end || buf->failed) return "";
    *end = '\0';
    return buf->data;
}
