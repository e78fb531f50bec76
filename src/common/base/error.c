/* SPDX-License-Identifier: MIT
 *
 * The error that a thread saw last. One for all of hipboard's libraries: this file is the
 * recorder's alone, and the analysis asks it.
 */
#include <stdio.h>
#include <string.h>

#include "base/base.h"

/* What a thread has of its own is little: programs that load this late, Python beside torch, have
 * no room for more. */
static __thread char last_error[640];

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
