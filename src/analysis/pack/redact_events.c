/* SPDX-License-Identifier: MIT
 *
 * TensorBoard's event files: records, each a length, its CRC, a message and its CRC. Messages are
 * copied field by field; those with texts are known here, as plugin_format has them.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/utf8.h"
#include "pack/redact_files.h"
#include "read/text_window.h"

/* ---- what has texts ---- */

typedef struct text_field {
    uint8_t number;
    const struct text_field *message; /* NULL: a text */
} text_field;

#define END_OF_FIELDS \
    {                 \
        0, NULL       \
    }

static const text_field hparam_value[] = {{3, NULL}, END_OF_FIELDS};
static const text_field hparam_entry[] = {{1, NULL}, {2, hparam_value}, END_OF_FIELDS};
static const text_field session_start[] = {
    {1, hparam_entry}, {2, NULL}, {3, NULL}, {4, NULL}, END_OF_FIELDS};
static const text_field hparam_domain_value[] = {{3, NULL}, END_OF_FIELDS};
static const text_field hparam_domain[] = {{1, hparam_domain_value}, END_OF_FIELDS};
static const text_field hparam_info[] = {
    {1, NULL}, {2, NULL}, {3, NULL}, {5, hparam_domain}, END_OF_FIELDS};
static const text_field metric_name[] = {{1, NULL}, {2, NULL}, END_OF_FIELDS};
static const text_field metric_info[] = {{1, metric_name}, {3, NULL}, {4, NULL}, END_OF_FIELDS};
static const text_field experiment[] = {{1, NULL},        {2, NULL}, {3, NULL},    {4, hparam_info},
                                        {5, metric_info}, {6, NULL}, END_OF_FIELDS};
static const text_field hparams[] = {{2, experiment}, {3, session_start}, END_OF_FIELDS};

static const text_field plugin_data[] = {{2, hparams}, END_OF_FIELDS}; /* of the plugin "hparams" */
static const text_field metadata[] = {{1, plugin_data}, {2, NULL}, {3, NULL}, END_OF_FIELDS};
static const text_field tensor[] = {{8, NULL}, END_OF_FIELDS};
static const text_field value[] = {{1, NULL}, {7, NULL}, {8, tensor}, {9, metadata}, END_OF_FIELDS};
static const text_field summary[] = {{1, value}, END_OF_FIELDS};
static const text_field log_message[] = {{2, NULL}, END_OF_FIELDS};
static const text_field event[] = {{5, summary}, {6, log_message}, END_OF_FIELDS};

/* ---- messages ---- */

typedef struct message {
    const unsigned char *at, *end;
} message;

static const text_field *find_field(const text_field *fields, uint64_t number)
{
    for (; fields->number; fields++)
        if (fields->number == number) return fields;
    return NULL;
}

/* An image, a sound: no text has zeros and is no UTF-8. Logs have colours, and other encodings. */
static bool is_binary(hb_str s)
{
    return memchr(s.s, 0, s.len) && hb_utf8_valid_prefix(s.s, s.len) != s.len;
}

static bool redact_message(hb_redactor *redactor, message m, const text_field *fields, hb_buf *out);

/* The content of a plugin is its own message. */
static bool is_of_hparams(message m)
{
    uint64_t tag, size;
    return hb_varint_get(&m.at, m.end, &tag) && tag == (1 << 3 | 2) &&
           hb_varint_get(&m.at, m.end, &size) && size == 7 && m.end - m.at >= 7 &&
           memcmp(m.at, "hparams", 7) == 0;
}

/* What it becomes is appended behind its length. */
static bool redact_bytes(hb_redactor *redactor, message m, const text_field *field, hb_buf *out)
{
    hb_buf inner;
    hb_str text = {(const char *)m.at, (uint32_t)(m.end - m.at)};
    hb_buf_init(&inner, SIZE_MAX / 4);
    bool right = true;
    if (field->message && (field->message != plugin_data || is_of_hparams(m)))
        right = redact_message(redactor, m, field->message, &inner);
    else if (!field->message && !is_binary(text))
        hb_redact_text(redactor, (hb_str){"", 0}, text, &inner);
    else
        hb_buf_append(&inner, m.at, (size_t)(m.end - m.at));
    hb_buf_varint(out, inner.size);
    hb_buf_append(out, inner.data, inner.size);
    out->failed |= inner.failed;
    hb_buf_free(&inner);
    return right;
}

/* False when it is no message. */
static bool redact_message(hb_redactor *redactor, message m, const text_field *fields, hb_buf *out)
{
    enum wire { VARINT, FIXED64, BYTES, FIXED32 = 5 };
    while (m.at < m.end) {
        const unsigned char *begin = m.at;
        uint64_t tag, size = 0;
        if (!hb_varint_get(&m.at, m.end, &tag)) return false;
        unsigned wire = tag & 7;
        if (wire == VARINT && !hb_varint_get(&m.at, m.end, &size)) return false;
        const text_field *field = wire == BYTES ? find_field(fields, tag >> 3) : NULL;
        if (field) hb_buf_append(out, begin, (size_t)(m.at - begin));
        if (wire == BYTES && !hb_varint_get(&m.at, m.end, &size)) return false;
        if (wire == VARINT) size = 0;
        if (wire == FIXED64) size = 8;
        if (wire == FIXED32) size = 4;
        if ((wire != BYTES && wire != VARINT && wire != FIXED64 && wire != FIXED32) ||
            size > (uint64_t)(m.end - m.at))
            return false;
        message inner = {m.at, m.at + size};
        m.at = inner.end;
        if (!field)
            hb_buf_append(out, begin, (size_t)(m.at - begin));
        else if (!redact_bytes(redactor, inner, field, out))
            return false;
    }
    return true;
}

/* ---- records ---- */

enum { HEAD = 8 + 4, TAIL = 4 };

/* As it is read back: the head's CRC is over the length, the tail's over the message. */
static hb_result write_record(const hb_buf *data, hb_buf *frame, hb_sink *to)
{
    frame->size = 0;
    hb_buf_u32(frame, (uint32_t)data->size);
    hb_buf_u32(frame, (uint32_t)((uint64_t)data->size >> 32));
    hb_buf_u32(frame, hb_crc32c_masked(frame->data, 8));
    hb_buf_append(frame, data->data, data->size);
    hb_buf_u32(frame, hb_crc32c_masked(data->data, data->size));
    return frame->failed ? hb_no_memory() : to->write(to, frame->data, frame->size);
}

/* Has the window hold so many bytes from `*at` on; false at the end of the file. */
static bool have(hb_text *text, size_t *at, uint64_t size)
{
    while (text->size - *at < size) {
        if (!hb_text_more(text, *at)) return false;
        *at = 0;
    }
    return true;
}

/* The size of the record's message, or UINT64_MAX: it is cut off or damaged. */
static uint64_t next_record(hb_text *text, size_t *at)
{
    if (!have(text, at, HEAD)) return UINT64_MAX;
    const char *head = text->data + *at;
    uint64_t size = hb_u32_get(head) | (uint64_t)hb_u32_get(head + 4) << 32;
    if (hb_crc32c_masked(head, 8) != hb_u32_get(head + 8) || size > UINT32_MAX ||
        !have(text, at, HEAD + size + TAIL))
        return UINT64_MAX;
    const char *data = text->data + *at + HEAD;
    return hb_crc32c_masked(data, size) == hb_u32_get(data + size) ? size : UINT64_MAX;
}

hb_result hb_redact_events(hb_redactor *redactor, const char *path, hb_sink *to, bool *cut)
{
    hb_text text;
    hb_buf out, frame;
    HB_TRY(hb_text_open(&text, path, HB_TEXT_PLAIN));
    hb_buf_init(&out, SIZE_MAX / 4);
    hb_buf_init(&frame, SIZE_MAX / 4);
    hb_result result = HB_OK;
    size_t at = 0;
    *cut = false;
    while (result == HB_OK && have(&text, &at, 1)) {
        uint64_t size = next_record(&text, &at);
        const unsigned char *data = (const unsigned char *)text.data + at + HEAD;
        out.size = 0;
        *cut = size == UINT64_MAX ||
               !redact_message(redactor, (message){data, data + size}, event, &out);
        if (*cut) break;
        if (out.failed) result = hb_no_memory();
        if (result == HB_OK && !redactor->learning) result = write_record(&out, &frame, to);
        at += HEAD + size + TAIL;
    }
    if (result == HB_OK && text.result != HB_OK)
        result = hb_fail(text.result, "%s: %s", path, text.error);
    hb_buf_free(&out);
    hb_buf_free(&frame);
    hb_text_close(&text);
    return result == HB_OK && redactor->failed ? hb_no_memory() : result;
}
