/* SPDX-License-Identifier: MIT
 *
 * What the coder of events makes of texts, to the byte: a choice that is made otherwise shows here.
 * Whoever changes the coder stores what it makes now, and says why where that is more. That all
 * comes back is test_gzip's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "coded_trace.h"

static size_t size_of(const char *text, size_t size)
{
    coder = HB_GZIP_EVENTS;
    compress_parts(text, size, 70001, NULL);
    return compressed.buf.size;
}

static void recordings(void **state)
{
    static const struct {
        const char *file;
        size_t made;
    } files[] = {{"torch-2.13-cpu.pt.trace.json", 6555}, {"triton_example.json.gz", 2383}};
    enum { MOST = 2 << 20 };
    char *text = malloc(MOST), path[512];
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "%s/%s", TEST_DATA, files[i].file);
        gzFile file = gzopen(path, "r");
        assert_non_null(file);
        int n = gzread(file, text, MOST);
        gzclose(file);
        assert_int_equal(size_of(text, (size_t)n), files[i].made);
    }
    free(text);
}

/* From one name of events to no two the same; and lists of arguments. */
static void made_traces(void **state)
{
    static const struct {
        unsigned names;
        size_t made;
    } traces[] = {{1, 56351}, {3, 58854}, {1 << 20, 82727}};
    size_t size;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(traces); i++) {
        char *trace = make_trace(4000, traces[i].names, &size);
        assert_int_equal(size_of(trace, size), traces[i].made);
        free(trace);
    }
    char *operators = make_operators(3000, &size);
    assert_int_equal(size_of(operators, size), 50018);
    free(operators);
}

/* Noise, few letters, braces and lines, numbers without an end. */
static void other_texts(void **state)
{
    enum { SIZE = 100000 };
    static const struct {
        const char *letters;
        size_t made;
    } texts[] = {{NULL, 100269},         {"a", 133},        {"ab", 22446}, {"{\n  ", 27261},
                 {"0123456789.", 45436}, {"\n{ \"1", 35517}};
    char *text = malloc(SIZE);
    uint64_t random = 7;
    (void)state;
    for (size_t kind = 0; kind < HB_ARRAY_LEN(texts); kind++) {
        const char *letters = texts[kind].letters;
        for (size_t i = 0; i < SIZE; i++)
            text[i] = letters ? letters[next_random(&random) % strlen(letters)]
                              : (char)next_random(&random);
        assert_int_equal(size_of(text, SIZE), texts[kind].made);
    }
    free(text);
}

/* Behind a trace's beginning, which the coder of events makes smaller, comes what zlib does: so
 * much longer it is left to the one at work as it has saved before, and not beyond. With one zlib
 * to the byte; another one's own sizes differ a little. */
static void what_was_saved_may_be_spent(void **state)
{
    enum { LENGTH = 14 << 20, MADE = 6219671 };
    hb_buf text;
    size_t size;
    uint64_t random = 5;
    char *trace = make_trace(16000, 3, &size);
    (void)state;
    hb_buf_init(&text, 1 << 28);
    hb_buf_append(&text, trace, size);
    free(trace);
    for (int i = 1; FEWER == 1 && text.size < size + LENGTH; i++) {
        uint64_t x = next_random(&random);
        hb_buf_printf(&text, "%d,%d,%llu\n", i, (int)(x % 5), (unsigned long long)(x % 100000));
    }
    coder = HB_GZIP_SMALLER;
    compress_parts(text.data, text.size, 70001, NULL);
    if (FEWER == 1) assert_in_range(compressed.buf.size, MADE - MADE / 1000, MADE + MADE / 1000);
    hb_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordings),
        cmocka_unit_test(made_traces),
        cmocka_unit_test(other_texts),
        cmocka_unit_test(what_was_saved_may_be_spent),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hb_memory_sink_free(&compressed);
    return failed;
}
