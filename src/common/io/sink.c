/* SPDX-License-Identifier: MIT */
#include "io/sink.h"

static hb_result memory_write(hb_sink *sink, const void *data, size_t size)
{
    hb_memory_sink *memory = (hb_memory_sink *)sink;
    hb_buf_append(&memory->buf, data, size);
    if (memory->buf.failed)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for %zu more bytes of output", size);
    return HB_OK;
}

void hb_memory_sink_init(hb_memory_sink *memory, size_t max)
{
    memory->sink = (hb_sink){.write = memory_write};
    hb_buf_init(&memory->buf, max);
}

void hb_memory_sink_free(hb_memory_sink *memory)
{
    hb_buf_free(&memory->buf);
}
