/* SPDX-License-Identifier: MIT
 *
 * Texts that are like traces, and their .gz.
 */
#ifndef HB_TEST_CODED_TRACE_H
#define HB_TEST_CODED_TRACE_H

#include "io/gzip.h"

static hb_memory_sink compressed;
static hb_gzip_coder coder;

static inline void compress_parts(const char *data, size_t size, size_t part, const char *name)
{
    hb_gzip gzip;
    hb_memory_sink_free(&compressed);
    hb_memory_sink_init(&compressed, 1 << 28);
    assert_int_equal(hb_gzip_open(&gzip, &compressed.sink, name, 1700000000, coder), HB_OK);
    for (size_t at = 0; at < size; at += part)
        assert_int_equal(gzip.sink.write(&gzip.sink, data + at, HB_MIN(part, size - at)), HB_OK);
    assert_int_equal(hb_gzip_finish(&gzip), HB_OK);
    hb_gzip_free(&gzip);
}

static inline uint64_t next_random(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

/* What a trace is like: lines of fixed text with ever changing digits. */
static inline char *make_trace(unsigned events, unsigned names, size_t *size)
{
    hb_buf buf;
    uint64_t random = 1, ts = 4399270153421318;
    hb_buf_init(&buf, 1 << 28);
    for (unsigned i = 0; i < events; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        ts += (random >> 33) % 20000;
        hb_buf_printf(&buf,
                      "\n  {\n    \"ph\": \"X\",\n    \"cat\": \"cpu_op\",\n    \"name\": "
                      "\"aten::op%u\",\n    \"pid\": 4057,\n    \"tid\": 4057,\n    \"ts\": "
                      "%llu.%03d,\n    \"dur\": %d.%03d\n    ,\n    \"args\": {\n      "
                      "\"External id\": %u,\"Record function id\": 0, \"Ev Idx\": %u\n    }\n  },",
                      (unsigned)(random >> 40) % names * 0x9e3779b1u, (unsigned long long)ts / 1000,
                      (int)(ts % 1000), (int)(random >> 40) % 300, (int)(random >> 50) % 1000,
                      i + 1, i);
    }
    *size = buf.size;
    return buf.data;
}

/* Operators of few names, each with several lists of arguments, in an order that does not repeat.
 */
static inline char *make_operators(unsigned events, size_t *size)
{
    static const char *const ops[] = {"addmm", "copy_", "as_strided"};
    hb_buf buf;
    uint64_t random = 5, ts = 4399270153421318;
    hb_buf_init(&buf, 1 << 28);
    for (unsigned i = 0; i < events; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned which = (unsigned)(random >> 60), rows = 1 + which % 3, columns = 4 << which % 5;
        ts += (random >> 33) % 20000;
        hb_buf_printf(
            &buf,
            "\n  {\n    \"ph\": \"X\",\n    \"cat\": \"cpu_op\",\n    \"name\": "
            "\"aten::%s\",\n    \"pid\": 4057,\n    \"tid\": 4057,\n    \"ts\": "
            "%llu.%03d,\n    \"dur\": %d.%03d\n    ,\n    \"args\": {\n      "
            "\"External id\": %u,\"Record function id\": 0, \"Concrete Inputs\": "
            "[\"\", \"[%u, %u]\", \"False\"], \"Input type\": [\"float\", \"ScalarList\", "
            "\"Scalar\"], \"Input Strides\": [[%u, 1], [], []], \"Input Dims\": "
            "[[%u, %u], [], []], \"Ev Idx\": %u\n    }\n  },",
            ops[which % 3], (unsigned long long)ts / 1000, (int)(ts % 1000),
            (int)(random >> 40) % 30, (int)(random >> 50) % 1000, i + 1, rows, columns, columns,
            rows, columns, i);
    }
    *size = buf.size;
    return buf.data;
}

#endif
