/* SPDX-License-Identifier: MIT
 *
 * What every room may use: results, growable bytes, small helpers. Includes no sibling.
 */
#ifndef HB_BASE_BASE_H
#define HB_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <hipboard/hipboard.h>

#if defined(__SANITIZE_THREAD__)
#define HB_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HB_TSAN 1
#endif
#endif

#define HB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define HB_COLD              __attribute__((cold, noinline))
#define HB_ARRAY_LEN(a)      (sizeof(a) / sizeof((a)[0]))
/** `n` up to a multiple of `to`; unsigned. */
#define HB_ROUND_UP(n, to)   (((n) + (to)-1) / (to) * (to))
#define HB_MIN(a, b)         ((a) < (b) ? (a) : (b))
#define HB_MAX(a, b)         ((a) > (b) ? (a) : (b))

/** What libhipboard gives to libhipboard-analysis, and to nobody else. */
#define HB_PRIVATE __attribute__((visibility("default")))

/** What hot code of one library reads: without it, by way of a table of addresses. */
#define HB_OWN __attribute__((visibility("hidden")))

/** Sets hb_last_error() and returns `result`, so that a failing check is one line. */
HB_PRIVATE HB_COLD HB_PRINTF(2, 3) hb_result hb_fail(hb_result result, const char *format, ...);

/** The same of HB_ERROR_NO_MEMORY. */
HB_PRIVATE HB_COLD hb_result hb_no_memory(void);

/** As hb_fail() with ": " and the text of `error_number` appended. */
HB_PRIVATE HB_COLD HB_PRINTF(3, 4) hb_result
    hb_fail_errno(hb_result result, int error_number, const char *format, ...);

/** Copies a caller's options, of whatever age, over the defaults in `to`; `init` is the macro that
 * fills in struct_size, the first member. NULL is fine. What a newer caller knows of beyond `size`
 * must be zero. */
hb_result hb_options_take(const void *from, void *to, size_t size, const char *init);

#define HB_TRY(expression)                                 \
    do {                                                   \
        hb_result hb_try_ = (expression);                  \
        if (HB_UNLIKELY(hb_try_ != HB_OK)) return hb_try_; \
    } while (0)

/** One line on stderr, "hipboard: ..." and a newline. For news that must not stay silent. Never
 * waits: a line for which a pipe has no room is left out, and counted in the next. */
HB_COLD HB_PRINTF(1, 2) void hb_warn(const char *format, ...);

/** "500M", "2G", "1T", "64K" or bytes; false for anything else, and for 0. */
bool hb_parse_size(const char *text, uint64_t *bytes);

/** 64 bits by chance, for names. */
uint64_t hb_random_bits(void);

/** Writes a text to stderr as it is, or not at all where that would mean to wait. */
bool hb_tell_now(const char *text, size_t size);

/** What one of the system's clocks shows, in ns; 0 of one that is not there. */
static inline int64_t hb_clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/** `bytes`, or less where the process is limited (RLIMIT_AS): address space that is only set aside
 * must not be what the program lacks. */
uint64_t hb_affordable(uint64_t bytes);

/** Asks for huge pages behind memory that will be filled from end to end: a tenth of the page
 * faults. No effect below a few MiB, or where the system has none. */
void hb_use_huge_pages(void *memory, size_t size);

/** Where `key` is or belongs among `count` elements in ascending order of `member`: the index of
 * the first that is not less. */
#define HB_LOWER_BOUND(items, count, member, key)                   \
    __extension__({                                                 \
        size_t hb_low_ = 0, hb_high_ = (count);                     \
        while (hb_low_ < hb_high_) {                                \
            size_t hb_middle_ = hb_low_ + (hb_high_ - hb_low_) / 2; \
            if ((items)[hb_middle_].member < (key))                 \
                hb_low_ = hb_middle_ + 1;                           \
            else                                                    \
                hb_high_ = hb_middle_;                              \
        }                                                           \
        hb_low_;                                                    \
    })

/* ---- growable bytes ---- */

/** A buffer that grows up to `max` bytes. After a failed append it stays as it was and `failed` is
 * set, so that a run of appends is checked once, at its end. */
typedef struct hb_buf {
    char *data;
    size_t size, capacity, max;
    bool failed;
} hb_buf;

void hb_buf_init(hb_buf *buf, size_t max);
void hb_buf_free(hb_buf *buf);
/** Room for `size` more bytes at the end; NULL when over `max` or out of memory. */
char *hb_buf_reserve(hb_buf *buf, size_t size);
void hb_buf_append(hb_buf *buf, const void *data, size_t size);
void hb_buf_str(hb_buf *buf, const char *text);
HB_PRINTF(2, 3) void hb_buf_printf(hb_buf *buf, const char *format, ...);
/** As "base/bytes.h" has them. */
void hb_buf_varint(hb_buf *buf, uint64_t value);
void hb_buf_u32(hb_buf *buf, uint32_t value);
/** NUL-terminates without counting the NUL; "" when the buffer failed. */
const char *hb_buf_text(hb_buf *buf);

/** Hands the bytes, with a NUL behind them, over to the caller, who frees them with hb_free(); when
 * `result` is an error they are freed here. `size` may be NULL. */
hb_result hb_buf_hand_out(hb_buf *buf, hb_result result, char **text, size_t *size);

/** Appends `text` as a JSON string with its quotes: valid UTF-8 is kept, invalid bytes become
 * U+FFFD, control characters are escaped. */
void hb_buf_json_string(hb_buf *buf, const char *text, size_t size);

/** U+FFFD for each byte in it that is no UTF-8: names of traces may be anything, and only JSON has
 * escapes for that. False: no memory. */
bool hb_buf_mend_utf8(hb_buf *buf);

#endif
