/* SPDX-License-Identifier: MIT
 *
 * Whatever bytes are compressed, by whichever coder, in whatever parts: zlib inflates them to the
 * same, in one member that is all there is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "io/gzip.h"

enum { MAX_TEXT = 300000 }; /* more than a coder holds at once */

/* The input again and again, with other digits each time, as a trace's events are alike. */
static void repeat(const uint8_t *data, size_t size, unsigned times, hb_buf *text)
{
    for (unsigned i = 0; i < times && text->size + size < MAX_TEXT; i++) {
        char *p = hb_buf_reserve(text, size + 1);
        if (!p) return;
        for (size_t k = 0; k < size; k++) {
            bool digit = data[k] >= '0' && data[k] <= '9';
            p[k] = digit ? (char)('0' + (data[k] - '0' + i * (k % 7)) % 10u) : (char)data[k];
        }
        text->size += size;
    }
}

static void compress_text(const hb_buf *text, hb_gzip_coder coder, size_t part, hb_sink *to)
{
    hb_gzip gzip;
    bool ok = hb_gzip_open(&gzip, to, NULL, 0, coder) == HB_OK;
    for (size_t at = 0; ok && at < text->size; at += part)
        ok = gzip.sink.write(&gzip.sink, text->data + at, HB_MIN(part, text->size - at)) == HB_OK;
    CHECK(ok && hb_gzip_finish(&gzip) == HB_OK);
    hb_gzip_free(&gzip);
}

static void check(const hb_buf *text, const hb_buf *made)
{
    z_stream z = {.next_in = (const Bytef *)made->data, .avail_in = (uInt)made->size};
    Bytef *out = malloc(text->size + 1);
    CHECK(out && inflateInit2(&z, 15 + 16) == Z_OK);
    z.next_out = out;
    z.avail_out = (uInt)text->size + 1;
    CHECK(inflate(&z, Z_FINISH) == Z_STREAM_END && !z.avail_in && z.total_out == text->size);
    CHECK(!text->size || memcmp(out, text->data, text->size) == 0);
    inflateEnd(&z);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) return 0;
    hb_buf text;
    hb_memory_sink made;
    hb_buf_init(&text, MAX_TEXT + 1);
    hb_memory_sink_init(&made, 4 * MAX_TEXT);
    repeat(data + 3, size - 3, 1 + data[1] * (data[1] > 250 ? 100u : 1u), &text);
    hb_gzip_coder coder = data[0] % 4 ? HB_GZIP_EVENTS : HB_GZIP_SMALLER;
    compress_text(&text, coder, 1 + (size_t)data[2] * data[2] * 4, &made.sink);
    check(&text, &made.buf);
    hb_memory_sink_free(&made);
    hb_buf_free(&text);
    return 0;
}
