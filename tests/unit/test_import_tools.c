/* SPDX-License-Identifier: MIT
 *
 * What importers read with: ids to numbers, fields of protobuf, JSON by a cursor, names of kernels,
 * sums of counters.
 */
#include "import/demangle.h"
#include "import/id_index.h"
#include "import/json_cursor.h"
#include "import/rows_shared.h"
#include "import/sum_counters.h"
#include "import/wire.h"
#include "imported.h"

/* ---- ids ---- */

/* Near ones and far ones, in any order: what was far is found when it is near. */
static void ids_near_and_far(void **state)
{
    enum { IDS = 30000 };
    static const uint64_t far[] = {70000, 1u << 20, UINT64_MAX, UINT64_C(1) << 32, 140000};
    hb_arena arena = {0};
    hb_id_index index = {0};
    (void)state;
    assert_int_equal(hb_id_index_get(&index, 0), 0);
    assert_int_equal(hb_id_index_get(&index, UINT64_MAX), 0);
    for (size_t i = 0; i < HB_ARRAY_LEN(far); i++)
        hb_id_index_set(&arena, &index, far[i], 1000000 + (uint32_t)i);
    assert_int_equal(index.size, 0);
    for (uint32_t i = 0; i < IDS; i++)
        hb_id_index_set(&arena, &index, 3 * (uint64_t)i, i + 1);
    assert_in_range(index.size, 3 * IDS - 2, 8 * IDS + 70000);
    for (uint32_t i = 0; i < 3 * IDS; i++)
        if (i != 70000)
            assert_int_equal(hb_id_index_get(&index, i), i % 3 ? 0 : i / 3 + 1);
    for (size_t i = 0; i < HB_ARRAY_LEN(far); i++)
        assert_int_equal(hb_id_index_get(&index, far[i]), 1000000 + i);
    hb_id_index_set(&arena, &index, 70000, 7); /* anew */
    hb_id_index_set(&arena, &index, UINT64_MAX, 8);
    assert_int_equal(hb_id_index_get(&index, 70000), 7);
    assert_int_equal(hb_id_index_get(&index, UINT64_MAX), 8);
    hb_id_index_free(&arena, &index);
    assert_int_equal(hb_id_index_get(&index, 3), 0);
    hb_arena_free(&arena);
}

/* ---- protobuf ---- */

static void fields_as_they_are_written(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *fields;
        bool broken;
    } rows[] = {
#define BYTES(text) text, sizeof text - 1
        {BYTES(""), "", false},
        {BYTES("\x08\x05"), "1:0:5 ", false},
        {BYTES("\x08\xac\x02\x10\x01"), "1:0:300 2:0:1 ", false},
        {BYTES("\xa0\x06\x01"), "100:0:1 ", false},
        {BYTES("\x0a\x02xy\x08\x01"), "1:2:2 1:0:1 ", false},
        {BYTES("\x09\x01\x02\x00\x00\x00\x00\x00\x00"), "1:1:513 ", false},
        {BYTES("\x0d\x01\x02\x00\x80\x08\x01"), "1:5:2147484161 1:0:1 ", false},
        {BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "1:0:18446744073709551615 ", false},
        {BYTES("\x08"), "", true},
        {BYTES("\x08\x80"), "", true},
        {BYTES("\x80"), "", true},
        {BYTES("\x0a\x03xy"), "", true},
        {BYTES("\x0a\x00"), "1:2:0 ", false},
        {BYTES("\x09\x01\x02\x00\x00\x00\x00\x00"), "", true},
        {BYTES("\x0d\x01\x02\x00"), "", true},
        {BYTES("\x08\x01\x0b\x08\x01"), "1:0:1 ", true}, /* groups are none of theirs */
        {BYTES("\x0c"), "", true},
        {BYTES("\x0e"), "", true},
        {BYTES("\x0f"), "", true},
#undef BYTES
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char found[200] = "";
        hb_wire_field f;
        hb_wire w = hb_wire_of(rows[i].bytes, rows[i].size);
        while (hb_wire_next(&w, &f))
            snprintf(found + strlen(found), sizeof found - strlen(found), "%u:%u:%llu ", f.number,
                     f.type, (unsigned long long)f.value);
        assert_string_equal(found, rows[i].fields);
        assert_int_equal(w.broken, rows[i].broken);
        assert_false(hb_wire_next(&w, &f));
    }
}

static void values_of_fields(void **state)
{
    const double half = 0.5;
    char bytes[9] = "\x09";
    hb_wire_field f;
    (void)state;
    memcpy(bytes + 1, &half, 8);
    hb_wire w = hb_wire_of(bytes, sizeof bytes);
    assert_true(hb_wire_next(&w, &f));
    assert_true(hb_wire_double(&f) == 0.5);
    assert_int_equal(hb_wire_text(&f).len, 0);
    assert_true(hb_wire_inside(&f).at == hb_wire_inside(&f).end);
    w = hb_wire_of("\x0a\x02\x08\x07", 4);
    assert_true(hb_wire_next(&w, &f));
    assert_true(hb_wire_double(&f) == 0);
    assert_int_equal(hb_wire_text(&f).len, 2);
    w = hb_wire_inside(&f);
    assert_true(hb_wire_next(&w, &f));
    assert_int_equal(f.value, 7);
}

/* ---- JSON ---- */

static hb_json_cursor cursor_at(hb_arena *arena, const char *text)
{
    static char padded[1000];
    memset(padded, 0, sizeof padded);
    snprintf(padded, sizeof padded / 2, "%s", text);
    return hb_json_cursor_at(padded, strlen(text), arena, "FILE");
}

static void numbers_however_they_are_written(void **state)
{
    static const struct {
        const char *text;
        int64_t number;
    } rows[] = {
        {"0,", 0},
        {"7}", 7},
        {"12]", 12},
        {"12 ,", 12},
        {"999999999999999999,", 999999999999999999},
        {"1000000000000000000,", -1}, /* more digits than are read */
        {"-5,", -5},
        {"1.5,", -1},
        {"'12',", 12},
        {"'0x1f',", 31},
        {"'0X1F',", 31},
        {"'18446744073709551615',", -1},
        {"'0x8000000000000000',", INT64_MIN},
        {"'12x',", -1},
        {"'',", -1},
        {"'000000000000000000012',", -1}, /* too long */
        {"'00000000000000000012',", 10},  /* octal, as C has it */
        {"null,", -1},
        {"true,", -1},
        {"[1],", -1},
        {"{},", -1},
    };
    (void)state;
    static size_t i; /* in memory: what leaves by the arena jumps */
    for (i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char text[60];
        hb_arena arena = {0};
        static int64_t found;
        snprintf(text, sizeof text, "%s", rows[i].text);
        for (char *c = text; *c; c++)
            if (*c == '\'') *c = '"';
        hb_json_cursor c = cursor_at(&arena, text);
        if (hb_arena_try(&arena)) found = hb_json_read_number(&c);
        if (arena.result != HB_OK || found != rows[i].number)
            fail_msg("%s: %lld", rows[i].text, (long long)found);
        assert_true(*c.at == text[strlen(text) - 1]); /* what is behind it is next */
        hb_arena_free(&arena);
    }
}

/* All members and elements of a text that begins so; or where it ends wrongly, and why. */
static void objects_and_lists(void **state)
{
    static const struct {
        const char *text, *found, *why;
    } rows[] = {
        {"{}", "", NULL},
        {"{'a':1,'b':[1,2],'c':{'d':3}}", "a b c ", NULL},
        {" { 'a' : 1 , 'b' : 2 } ", "a b ", NULL},
        {"{'a':1 'b':2}", NULL, "byte 7: neither a comma nor the end of an object or list"},
        {"{,'a':1}", NULL, "byte 1: neither a comma nor the end of an object or list"},
        {"{'a' 1}", NULL, "byte 5: no colon behind the name of a member"},
        {"{a:1}", NULL, "byte 1: no name of a member"},
        {"{'a':1,}", NULL, "byte 7: no name of a member"},
        {"{'a':1", NULL, "byte 6: the text ends too early: its tool was killed, or it was cut off"},
        {"{'a", NULL, "byte 3: the text ends too early: its tool was killed, or it was cut off"},
        {"{'a':", NULL, "byte 5: the text ends too early: its tool was killed, or it was cut off"},
        {"{", NULL, "byte 1: the text ends too early: its tool was killed, or it was cut off"},
        {"[]", "", NULL},
        {"[1,{},'x']", "1 {} x ", NULL},
        {"[1 2]", NULL, "byte 3: neither a comma nor the end of an object or list"},
        {"[1,", NULL, "byte 3: the text ends too early: its tool was killed, or it was cut off"},
    };
    (void)state;
    static size_t i; /* in memory: what leaves by the arena jumps */
    for (i = 0; i < HB_ARRAY_LEN(rows); i++) {
        static char text[100], found[100];
        static hb_arena arena;
        memset(&arena, 0, sizeof arena);
        found[0] = 0;
        snprintf(text, sizeof text, "%s", rows[i].text);
        for (char *c = text; *c; c++)
            if (*c == '\'') *c = '"';
        static hb_json_cursor c;
        c = cursor_at(&arena, text);
        if (hb_arena_try(&arena)) {
            hb_value v;
            bool first = true;
            if (*c.at == '{' && hb_json_enter(&c, '{'))
                while (hb_json_next_member(&c, &first, &v)) {
                    snprintf(found + strlen(found), 50, "%.*s ", (int)v.size, v.s);
                    (void)hb_json_read(&c);
                }
            else if (hb_json_enter(&c, '['))
                while (hb_json_next_element(&c, &first)) {
                    v = hb_json_read(&c);
                    snprintf(found + strlen(found), 50, "%.*s ", (int)v.size, v.s);
                }
            if (strcmp(found, rows[i].found ? rows[i].found : "-") != 0 || *c.at)
                fail_msg("%s: %s", rows[i].text, found);
        } else {
            char expected[200];
            hb_result result = hb_arena_outcome(&arena);
            assert_int_equal(result, HB_ERROR_FORMAT);
            snprintf(expected, sizeof expected, "FILE: %s", rows[i].why ? rows[i].why : "-");
            assert_string_equal(hb_last_error(), expected);
        }
        hb_arena_free(&arena);
    }
}

/* A member that should come next, and what is taken as it stands otherwise. */
static void members_that_come_next(void **state)
{
    hb_arena arena = {0};
    hb_json_cursor c = cursor_at(&arena, "{\"a\":1,\"bc\": 2,\"b\":3}");
    bool first = true;
    hb_value key;
    (void)state;
    assert_true(hb_json_enter(&c, '{'));
    assert_false(hb_json_next_is(&c, &first, HB_STR("b")));
    assert_true(first);
    assert_true(hb_json_next_is(&c, &first, HB_STR("a")));
    assert_false(first);
    assert_int_equal(hb_json_read_number(&c), 1);
    assert_false(hb_json_next_is(&c, &first, HB_STR("b")));
    assert_true(hb_json_next_is(&c, &first, HB_STR("bc")));
    assert_int_equal(hb_json_read_number(&c), 2);
    assert_true(hb_json_next_is(&c, &first, HB_STR("b")));
    assert_int_equal(hb_json_read_number(&c), 3);
    assert_false(hb_json_next_is(&c, &first, HB_STR("b")));
    assert_false(hb_json_next_member(&c, &first, &key));
    c = cursor_at(&arena, "[5]");
    assert_false(hb_json_enter(&c, '{')); /* it was passed over */
    assert_int_equal(*c.at, 0);
    hb_arena_free(&arena);
}

/* ---- names ---- */

static void names_of_kernels(void **state)
{
    static const char *const rows[][2] = {
        {"gemm", "gemm"},
        {"gemm.kd", "gemm"},
        {"gemm [clone .kd]", "gemm"},
        {"gemm.kd [clone .kd]", "gemm"},
        {"_Z4gemmPfi.kd", "gemm(float*, int)"},
        {"_Z4gemmPfi [clone .kd]", "gemm(float*, int)"},
        {"_Znot a name", "_Znot a name"},
        {"Z4gemmPfi", "Z4gemmPfi"},
        {"", "(kernel without name)"},
        {".kd", "(kernel without name)"},
        {" [clone .kd]", "(kernel without name)"},
        {"kd", "kd"},
    };
    hb_arena arena = {0};
    hb_texts texts;
    (void)state;
    assert_true(hb_texts_init(&texts));
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_str name = {rows[i][0], (uint32_t)strlen(rows[i][0])};
        hb_str found = hb_texts_get(&texts, hb_import_kernel_name(&arena, &texts, name));
        assert_string_equal(found.s, rows[i][1]);
        assert_int_equal(found.len, strlen(rows[i][1]));
    }
    static char longest[5000] = "_Z"; /* too long for any demangler */
    memset(longest + 2, 'a', sizeof longest - 3);
    hb_str name = {longest, sizeof longest - 1};
    assert_int_equal(
        hb_texts_get(&texts, hb_import_kernel_name(&arena, &texts, name)).len, name.len);
    hb_texts_free(&texts);
    hb_arena_free(&arena);
}

/* ---- counters ---- */

/* Values of one kernel lie together, whatever was added to others between them. */
static void values_of_several_kernels(void **state)
{
    hb_arena arena = {0};
    hb_texts texts;
    hb_import_rows rows;
    (void)state;
    assert_true(hb_texts_init(&texts) && hb_import_rows_init(&rows, &texts));
    hb_string_id name[3], kernel = hb_texts_add(&texts, "k", 1);
    for (int i = 0; i < 3; i++)
        name[i] = hb_texts_add(&texts, &"ABC"[i], 1);
    hb_import_work *a = hb_import_push(&arena, &rows.works);
    hb_import_work *b = hb_import_push(&arena, &rows.works);
    a->name = b->name = kernel;
    hb_import_add_value(&arena, &rows, a, name[0], 1);
    hb_import_add_value(&arena, &rows, a, name[1], 2);
    hb_import_add_value(&arena, &rows, b, name[0], 10);
    hb_import_add_value(&arena, &rows, a, name[2], 3);
    hb_import_add_value(&arena, &rows, b, name[2], -30);
    hb_import_add_value(&arena, &rows, b, name[0], 5);
    hb_import_add_value(&arena, &rows, a, name[1], 0.5);
    static const double expected[2][3] = {{1, 2.5, 3}, {15, -30}};
    const hb_import_work *const works[] = {a, b};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(works[k]->num_values, 3 - k);
        for (uint32_t i = 0; i < works[k]->num_values; i++) {
            const hb_import_value *v = hb_column_at(&rows.values, works[k]->values + i);
            assert_int_equal(v->name, name[k && i ? 2 : i]);
            assert_true(v->value == expected[k][i]);
        }
    }
    hb_buf json;
    hb_buf_init(&json, 10000);
    hb_sum_counters(&arena, &rows, &json);
    assert_string_equal(
        hb_buf_text(&json),
        "[{\"kernel\": \"k\", \"counter\": \"A\", \"kernels\": 2, \"mean\": 8, \"max\": 15}, "
        "{\"kernel\": \"k\", \"counter\": \"B\", \"kernels\": 1, \"mean\": 2.5, \"max\": 2.5}, "
        "{\"kernel\": \"k\", \"counter\": \"C\", \"kernels\": 2, \"mean\": -13.5, \"max\": 3}]");
    hb_buf_free(&json);
    hb_import_rows_free(&rows);
    hb_texts_free(&texts);
    hb_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_near_and_far),
        cmocka_unit_test(fields_as_they_are_written),
        cmocka_unit_test(values_of_fields),
        cmocka_unit_test(numbers_however_they_are_written),
        cmocka_unit_test(objects_and_lists),
        cmocka_unit_test(members_that_come_next),
        cmocka_unit_test(names_of_kernels),
        cmocka_unit_test(values_of_several_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
