/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/bytes.h"

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
    if (buf->data && size <= buf->capacity - buf->size) return buf->data + buf->size;
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

void hb_buf_varint(hb_buf *buf, uint64_t value)
{
    unsigned char bytes[HB_MAX_VARINT];
    if (buf->capacity - buf->size >= HB_MAX_VARINT) {
        unsigned char *to = (unsigned char *)buf->data + buf->size;
        buf->size += (size_t)(hb_varint_put(to, value) - to);
        return;
    }
    hb_buf_append(buf, bytes, (size_t)(hb_varint_put(bytes, value) - bytes));
}

void hb_buf_u32(hb_buf *buf, uint32_t value)
{
    unsigned char bytes[4];
    hb_u32_put(bytes, value);
    hb_buf_append(buf, bytes, sizeof bytes);
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

hb_result hb_buf_hand_out(hb_buf *buf, hb_result result, char **text, size_t *size)
{
    if (result == HB_OK) hb_buf_append(buf, "", 1);
    if (result == HB_OK && buf->failed) result = hb_no_memory();
    if (result != HB_OK) {
        hb_buf_free(buf);
        return result;
    }
    *text = buf->data;
    if (size) *size = buf->size - 1;
    return HB_OK;
}
