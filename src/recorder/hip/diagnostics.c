/* SPDX-License-Identifier: MIT */
#include "hip/diagnostics.h"

#include <stdio.h>

#include "hip/capture.h"
#include "record/record.h"
#include "record/strings.h"

#define MAX_NOTES (1 << 16) /* bytes */

static hb_buf notes; /* a JSON array's entries */

void hb_diagnostics_clear(void)
{
    hb_buf_free(&notes);
    hb_buf_init(&notes, MAX_NOTES);
}

/* Whether it was said before; a process that says too much different falls silent. */
static bool first_time(const char *text)
{
    static char said[4096];
    size_t used = strlen(said), size = strlen(text);
    if (strstr(said, text) || used + size + 2 > sizeof said) return false;
    memcpy(said + used, text, size);
    said[used + size] = '\n';
    return true;
}

/* Another thread of the parent may have been writing: its memory is given up. */
void hb_diagnostics_after_fork(void)
{
    hb_buf_init(&notes, MAX_NOTES);
}

void hb_diagnostics_add(bool loud, const char *format, ...)
{
    char text[1280];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hb_buf_str(&notes, notes.size ? ", " : "");
    hb_buf_json_string(&notes, text, strlen(text));
    if (loud && first_time(text)) hb_warn("%s", text);
}

static void put(const char *key, const char *json)
{
    hb_record_metadata_entry(hb_strings_intern(key, strlen(key)),
                             hb_strings_intern(json, strlen(json)));
}

void hb_put_text(const char *key, const char *text)
{
    hb_buf json;
    hb_buf_init(&json, 1 << 16);
    hb_buf_json_string(&json, text, strlen(text));
    if (!json.failed) put(key, hb_buf_text(&json));
    hb_buf_free(&json);
}

void hb_put_number(const char *key, int64_t value)
{
    char json[24];
    if (value == 0) return;
    snprintf(json, sizeof json, "%lld", (long long)value);
    put(key, json);
}

void hb_diagnostics_put(void)
{
    hb_buf json;
    if (notes.failed) {
        put(HB_METADATA_HIP_NOTES, "[\"there was no memory for what is to be said here\"]");
        return;
    }
    if (notes.size == 0) return;
    hb_buf_init(&json, MAX_NOTES + 16);
    hb_buf_printf(&json, "[%s]", hb_buf_text(&notes));
    if (!json.failed) put(HB_METADATA_HIP_NOTES, hb_buf_text(&json));
    hb_buf_free(&json);
}

void hb_diagnostics_sampling(uint32_t each, const char *untimed_by)
{
    if (each <= 1) return;
    if (untimed_by) {
        hb_diagnostics_add(
            true, "kernel_sampling %u: not possible by %s, which takes the times of all launches",
            each, untimed_by);
        return;
    }
    hb_put_number(HB_METADATA_KERNEL_SAMPLING, each);
    hb_diagnostics_add(
        false,
        "kernels were timed in one of %u launches: sums over kernels are of those, about a %uth "
        "of all; the calls are complete",
        each, each);
}
