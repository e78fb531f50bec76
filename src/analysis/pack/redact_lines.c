/* SPDX-License-Identifier: MIT */
#include "pack/redact_files.h"

static hb_result take_line(hb_redactor *redactor, const char *line, size_t size, hb_buf *out,
                           hb_sink *to)
{
    out->size = 0;
    hb_redact_text(redactor, (hb_str){"", 0}, (hb_str){line, (uint32_t)size}, out);
    return redactor->learning || !out->size ? HB_OK : to->write(to, out->data, out->size);
}

/* Where the line ends, or the private key that it begins; NULL: behind what is there. Keys are of
 * some kilobytes. */
static const char *line_end(const char *line, size_t size)
{
    enum { LONGEST_KEY = 64 << 10 };
    const char *end = memchr(line, '\n', size);
    if (!end || !hb_opens_private_key((hb_str){line, (uint32_t)(end - line)})) return end;
    size_t rest = HB_MIN(size - (size_t)(end - line), (size_t)LONGEST_KEY);
    const char *tail = memmem(end, rest, "-----END", 8);
    if (tail) return memchr(tail, '\n', (size_t)(line + size - tail));
    return rest < LONGEST_KEY ? NULL : memrchr(end, '\n', rest);
}

hb_result hb_redact_lines(hb_redactor *redactor, const char *path, hb_sink *to)
{
    hb_text text;
    hb_buf out;
    HB_TRY(hb_redactable_open(&text, path));
    hb_buf_init(&out, SIZE_MAX / 4);
    hb_result result = HB_OK;
    size_t at = 0;
    for (bool got = true; got && result == HB_OK;) {
        const char *line = text.data + at, *end = line_end(line, text.size - at);
        if (end) {
            result = take_line(redactor, line, (size_t)(end + 1 - line), &out, to);
            at += (size_t)(end + 1 - line);
            continue;
        }
        uint64_t offset = text.offset;
        got = hb_text_more(&text, at);
        at -= (size_t)(text.offset - offset);
    }
    if (result == HB_OK) result = take_line(redactor, text.data + at, text.size - at, &out, to);
    if (result == HB_OK && text.result != HB_OK)
        result = hb_fail(text.result, "%s: %s", path, text.error);
    redactor->failed |= out.failed;
    hb_buf_free(&out);
    hb_text_close(&text);
    return result == HB_OK && redactor->failed ? hb_no_memory() : result;
}
