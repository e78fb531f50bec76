/* SPDX-License-Identifier: MIT
 *
 * Tables of functions: what their lines mean, and what is said of lines that are wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "ops/op_list.h"
#include "ops/op_told.h"
#include "test_dir.h"

static char told[4096];

static void tell(void *context, const char *file, uint32_t line, uint32_t column, const char *text)
{
    size_t used = strlen(told);
    (void)context;
    snprintf(told + used, sizeof told - used, "%s:%u:%u: %s\n", file, line, column, text);
}

static hb_op_table table_of(const char *text)
{
    hb_op_table table = {0};
    told[0] = '\0';
    assert_int_equal(hb_op_table_read(&table, "t", text, strlen(text), false, tell, NULL), HB_OK);
    return table;
}

/* The only row of a table without mistakes. */
static hb_op_entry only_row(hb_op_table *table, const char *text)
{
    *table = table_of(text);
    assert_string_equal(told, "");
    assert_int_equal(table->rows.count, 1);
    return *table->rows.items[0];
}

#define DESCRIBED(text, ...)                                \
    hb_op_table table;                                      \
    hb_op_entry row = only_row(&table, text);               \
    hb_op_description d = {0};                              \
    const uint64_t words[HB_OP_MAX_PARAMS] = {__VA_ARGS__}; \
    hb_op_describe(&row, words, NULL, &d)

/* ---- what a line says of a call ---- */

static void test_a_product_of_matrices(void **state)
{
    DESCRIBED("mul | h m:i n:i k | f32[m,k] f64[k,n] !i8[m,n] | 2*m*n*k", 0,
              UINT64_C(0xffffffff00000003), 4, 5);
    (void)state;
    assert_int_equal(d.num_tensors, 3);
    assert_true(d.tensors[0].known && d.tensors[0].type == HB_FLOAT32);
    assert_int_equal(d.tensors[0].dims[0], 3); /* 32 bits of the word */
    assert_int_equal(d.tensors[1].dims[1], 4);
    assert_true(d.tensors[2].hidden && !d.tensors[1].hidden);
    assert_true(d.flops == 120);
    hb_op_table_free(&table);
}

static void test_addresses_and_arrays(void **state)
{
    int32_t n = 7, list[] = {2, 3, 4};
    int64_t wide = 9;
    DESCRIBED("f | n:I w:p list:J count:i | f32[n,w] f32[list^count] | #1*#0.1+#1.l", (uintptr_t)&n,
              (uintptr_t)&wide, (uintptr_t)list, 3);
    (void)state;
    assert_int_equal(d.tensors[0].dims[0], 7);
    assert_int_equal(d.tensors[0].dims[1], 9);
    assert_int_equal(d.tensors[1].num_dims, 3);
    assert_true(d.flops == 24 * 9 + 4);
    hb_op_table_free(&table);
}

static void test_what_can_not_be_is_unknown(void **state)
{
    DESCRIBED("f | n:i at:I list:K count:i | f32[n] f32[at] f32[list^count] | n*100", -1, 17, 3,
              40);
    (void)state;
    assert_false(d.tensors[0].known); /* a negative dimension, */
    assert_true(d.tensors[1].known && d.tensors[1].dims[0] == 0);
    assert_false(d.tensors[2].known); /* and 40 entries of nothing */
    assert_true(d.flops == 0);
    hb_op_table_free(&table);
}

static void test_an_address_that_is_none_is_read_with_care(void **state)
{
    hb_op_table table = {0};
    hb_op_description d;
    const char *text = "f | n:I | f32[n] | n";
    const uint64_t words[HB_OP_MAX_PARAMS] = {UINT64_C(0x5a5a5a5a5a5a5a5a)};
    (void)state;
    assert_int_equal(hb_op_table_read(&table, "t", text, strlen(text), true, NULL, NULL), HB_OK);
    hb_op_describe(table.rows.items[0], words, NULL, &d);
    assert_int_equal(d.tensors[0].dims[0], 0);
    hb_op_table_free(&table);
}

static void test_floating_point_takes_no_word(void **state)
{
    DESCRIBED("f | a:f m:i b:f n:i | f32[m,n]", 5, 6);
    (void)state;
    assert_int_equal(d.tensors[0].dims[0], 5);
    assert_int_equal(d.tensors[0].dims[1], 6);
    hb_op_table_free(&table);
}

/* Eight are in registers; those behind them lie on the stack, among the other values there. */
static void test_the_ninth_of_floating_point_does(void **state)
{
    static const uint64_t words[HB_OP_MAX_PARAMS] = {1, 2, 3, 4, 5, 6, 70, 80};
    static const char *const lines[] = {
        "f | a:f b:f c:f d:f e:f g:f h:f j:f p:i q:i r:i s:i t:i u:i n:i | f32[n,u]",
        "f | a:f b:f c:f d:f e:f g:f h:f j:f k:f p:i q:i r:i s:i t:i u:i n:i | f32[n,u]",
    };
    (void)state;
    for (int i = 0; i < 2; i++) {
        hb_op_table table;
        hb_op_description d;
        hb_op_entry row = only_row(&table, lines[i]);
        hb_op_describe(&row, words, NULL, &d);
        assert_int_equal(d.tensors[0].dims[0], i ? 80 : 70);
        assert_int_equal(d.tensors[0].dims[1], 6);
        hb_op_table_free(&table);
    }
}

/* As the compiler passes it. */
static void test_a_structure_lies_on_the_stack(void **state)
{
    hb_op_table table;
    hb_op_entry row = only_row(&table, "f | comm ranks:i id:S16 rank:i | | | join=comm key=id");
    (void)state;
#if defined(__aarch64__)
    const uint8_t places[] = {0, 1, 2, 3};
#else
    const uint8_t places[] = {0, 1, HB_OP_REGISTERS, 2};
#endif
    for (int i = 0; i < 4; i++)
        assert_int_equal(row.params[i].place, places[i]);
    assert_int_equal(row.params[row.key].words, 16);
    assert_true(hb_op_communicates(&row));
    hb_op_table_free(&table);
}

/* By a kind of its own; a collective is the first of those that do. */
static void test_what_communicates(void **state)
{
    static const struct {
        const char *line;
        bool does;
    } cases[] = {
        {"f | c:i | | | kind=collective", true}, {"f | c:i | | | kind=send", true},
        {"f | c:i | | | comm=c", true},          {"f | c:i | | c | kind=memory", false},
        {"f | c:i | | | kind=silent", false},    {"f | c:i", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_op_table table = table_of(cases[i].line);
        if (told[0]) fail_msg("%s", told);
        if (hb_op_communicates(table.rows.items[0]) != cases[i].does)
            fail_msg("%s: %d", cases[i].line, !cases[i].does);
        hb_op_table_free(&table);
    }
}

/* With `many` numbers kept in mind at once, all of them ones. */
static hb_op_table with_numbers_in_mind(int many, double *flops)
{
    static const uint64_t words[HB_OP_MAX_PARAMS] = {1};
    char line[200] = "f | n | | ";
    int at = (int)strlen(line), open = 0;
    for (int i = 0; i < many - 2; i += 2, open++)
        at += snprintf(line + at, sizeof line - (size_t)at, "1+n*(");
    at += snprintf(line + at, sizeof line - (size_t)at, many % 2 ? "1" : "1+1");
    while (open--)
        line[at++] = ')';
    line[at] = '\0';
    hb_op_table table = table_of(line);
    hb_op_description d = {0};
    if (table.rows.count) hb_op_describe(table.rows.items[0], words, NULL, &d);
    *flops = d.flops;
    return table;
}

static void test_a_formula_keeps_sixteen_numbers_in_mind(void **state)
{
    (void)state;
    for (int many = 2; many <= 20; many += 2) {
        double flops;
        hb_op_table table = with_numbers_in_mind(many, &flops);
        assert_int_equal(table.rows.count, many <= HB_OP_MAX_DEPTH);
        assert_true(flops == (many <= HB_OP_MAX_DEPTH ? many / 2 + 1 : 0));
        assert_true((many > HB_OP_MAX_DEPTH) == !!strstr(told, "the formula is too long"));
        hb_op_table_free(&table);
    }
}

/* 64 words: numbers, and what is done to two of them. */
static void test_the_longest_formula(void **state)
{
    (void)state;
    for (int sums = 30; sums < 34; sums++) {
        char line[200] = "f | n | | 1";
        for (int i = 0; i < sums; i++)
            strcat(line, "+1");
        bool fits = 2 * sums + 1 <= HB_OP_MAX_TOKENS;
        hb_op_table table = table_of(line);
        assert_int_equal(table.rows.count, fits);
        assert_true(fits == !strstr(told, "the formula is too long"));
        hb_op_table_free(&table);
    }
}

static double ranks_of(void *context, uint64_t handle)
{
    return handle == 77 ? *(double *)context : 0;
}

static void test_ranks_of_a_communicator(void **state)
{
    double six = 6;
    const hb_op_outside outside = {.ranks = ranks_of, .context = &six};
    hb_op_table table;
    hb_op_entry row =
        only_row(&table, "f | n comm | f32[n*ranks(comm)] | | kind=collective comm=comm");
    hb_op_description d;
    const uint64_t words[HB_OP_MAX_PARAMS] = {10, 77};
    (void)state;
    hb_op_describe(&row, words, &outside, &d);
    assert_true(d.tensors[0].known && d.tensors[0].dims[0] == 60);
    hb_op_describe(&row, words, NULL, &d); /* nobody knows */
    assert_int_equal(d.tensors[0].dims[0], 0);
    hb_op_table_free(&table);
}

static void test_formulas(void **state)
{
    static const struct {
        const char *formula;
        double value;
    } cases[] = {
        {"2+3*4", 14},
        {"(2+3)*4", 20},
        {"10-3-2", 5},
        {"12/4/3", 1},
        {"a/0", 0},
        {"1.5*a", 11},
        {"min(a,b)", 7},
        {"max(a,b)", 11},
        {"min(a,b)*max(3,2)", 21},
        {"min(fft(8,0),5)", 0},
        {"30+fft(2,8)", 30},
        {"1.25*4", 5},
        {"0.5", 1},
        {"0.25", 0},
        {"min(a/0,5)", 0},
        {"fft(8,1)", 120},
        {"fft(16,2)", 240},
        {"fft(8,8)", 0},
        {" a * ( b - 1 ) ", 70},
        {"c*a", 7},
        {"a-b", 0},
        {"turned(a,2,3)", 2},
        {"turned(t,2,3)", 3},
        {"2*turned(t,a,b+1)-1", 23},
        {"right(a,2,3)", 2},
        {"right(t,2,3)", 2},
        {"right(s,2,3)", 3},
        {"turned(s,2,3)", 2},
        {"a*right(s,a,b)", 77},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        snprintf(text, sizeof text, "f | a b t:i s:i | | %s |", cases[i].formula);
        DESCRIBED(text, 7, 11, 112, 142);
        assert_true(d.flops == cases[i].value);
        hb_op_table_free(&table);
    }
}

static void test_calls_of_little_work_are_small(void **state)
{
    hb_op_table table;
    hb_op_entry row = only_row(&table, "f | n | | 2*n | min=100");
    double flops;
    (void)state;
    assert_true(hb_op_is_small(&row, (const uint64_t[]){49}, &flops));
    assert_true(flops == 98);
    assert_false(hb_op_is_small(&row, (const uint64_t[]){50}, &flops));
    hb_op_table_free(&table);
}

/* One more than what there is room for is told of; as many are taken. */
static void test_as_many_as_there_is_room_for(void **state)
{
    char line[400] = "f |";
    (void)state;
    for (int i = 0; i <= HB_OP_MAX_PARAMS; i++) {
        snprintf(line + strlen(line), sizeof line - strlen(line), " p%d:f", i);
        hb_op_table table = table_of(line);
        bool fits = i < HB_OP_MAX_PARAMS;
        assert_int_equal(table.rows.count, fits);
        assert_string_equal(told, fits ? "" : "t:1:187: more than 32 parameters\n");
        hb_op_table_free(&table);
    }
    for (int open = 14; open < 18; open++) {
        snprintf(line, sizeof line, "f | n | | %.*s1%.*s", open, "((((((((((((((((((", open,
                 "))))))))))))))))))");
        hb_op_table table = table_of(line);
        bool fits = open < HB_OP_MAX_DEPTH;
        assert_int_equal(table.rows.count, fits);
        assert_string_equal(told, fits ? "" : "t:1:27: too many parentheses\n");
        hb_op_table_free(&table);
    }
    hb_op_table table;
    hb_op_entry row =
        only_row(&table, "f | n a:S3 b:S21 | T[n] T[n] T[n] T[n] T[n] T[n,n,n,n,n,n,n,n]");
    assert_int_equal(row.num_inputs, 6);
    assert_int_equal(row.inputs[5].num_dims, 8);
    assert_int_equal(row.params[1].words, 3);
    assert_int_equal(row.params[2].words, 21);
    hb_op_table_free(&table);
}

/* Words of formulas are parameters where there are some of that name. */
static void test_a_parameter_goes_before_a_function_of_its_name(void **state)
{
    static const char *const names[] = {"fft",   "min",  "max",   "turned",
                                        "right", "dnnl", "ranks", "c"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char line[100];
        snprintf(line, sizeof line, "zf{z} | %s | | 2*%s", names[i], names[i]);
        DESCRIBED(line, 7);
        assert_true(d.flops == 14);
        hb_op_table_free(&table);
        snprintf(line, sizeof line, "f | %s | | %s(1,2)", names[i], names[i]);
        table = table_of(line);
        assert_non_null(strstr(told, "wanted: |"));
        assert_int_equal(table.rows.count, 0);
        hb_op_table_free(&table);
    }
    DESCRIBED("f | n_9Az n0 | f32[n_9Az] | n0", 5, 6);
    assert_true(d.tensors[0].dims[0] == 5 && d.flops == 6);
    hb_op_table_free(&table);
}

/* Of functions whose names end in 64 an address is that of 64 bits. */
static void test_addresses_of_native_numbers(void **state)
{
    static const struct {
        const char *name;
        int64_t value;
    } cases[] = {
        {"f", 7}, {"f64", INT64_C(0x100000007)}, {"f64_", INT64_C(0x100000007)}, {"f64x", 7}};
    const int64_t n = INT64_C(0x100000007);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[100];
        snprintf(line, sizeof line, "%s | n:N m:n | f32[n] | m", cases[i].name);
        DESCRIBED(line, (uintptr_t)&n, (uint64_t)n);
        assert_int_equal(d.tensors[0].dims[0], cases[i].value);
        assert_true(d.flops == (double)cases[i].value);
        hb_op_table_free(&table);
    }
}

static void test_what_is_read_with_care_is_the_same(void **state)
{
    hb_op_table table = {0};
    hb_op_description d;
    const int32_t n = 0x1020304;
    const int64_t many[] = {0x102030405, 3, 0};
    const char *text = "f | n:I list:K count:i | f32[n] f32[list^count]";
    const uint64_t words[HB_OP_MAX_PARAMS] = {(uintptr_t)&n, (uintptr_t)many, 3};
    (void)state;
    assert_int_equal(hb_op_table_read(&table, "t", text, strlen(text), true, NULL, NULL), HB_OK);
    hb_op_describe(table.rows.items[0], words, NULL, &d);
    assert_true(d.tensors[0].known && d.tensors[1].known);
    assert_int_equal(d.tensors[0].dims[0], n);
    assert_int_equal(d.tensors[1].num_dims, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(d.tensors[1].dims[i], many[i]);
    hb_op_table_free(&table);
}

/* None, and eight of them; one more is no shape, and neither are fewer than none. */
static void test_arrays_of_all_lengths(void **state)
{
    const int32_t list[] = {0x1020304, 2, 3, 4, 5, 6, 7, 8, 9};
    hb_op_table table;
    hb_op_entry row =
        only_row(&table, "f | list:J count:i n:i | f32[list^count; ld=n] f32[list^count,n]");
    (void)state;
    for (int count = -1; count <= 9; count++) {
        hb_op_description d = {0};
        const uint64_t words[HB_OP_MAX_PARAMS] = {(uintptr_t)list, (uint64_t)count, 5};
        hb_op_describe(&row, words, NULL, &d);
        assert_int_equal(d.tensors[0].known, count >= 0 && count <= 8);
        assert_int_equal(d.tensors[1].known, count >= 0 && count <= 7);
        assert_int_equal(d.tensors[0].has_strides, count == 1 || count == 2);
        if (!d.tensors[0].known) continue;
        assert_int_equal(d.tensors[0].num_dims, count);
        for (int i = 0; i < count; i++)
            assert_int_equal(d.tensors[0].dims[i], list[i]);
    }
    hb_op_table_free(&table);
}

/* What is said of an input of which nothing is known, or not that: nothing. */
static void test_dimensions_that_are_none_count_nothing(void **state)
{
    DESCRIBED("f | n:i m | f32[n] f32[m,5] f32[m] | "
              "1000000*#0+100000*#0.0+10000*#0.l+#1.0*#1.1+100*#1.2+#2",
              -1, INT64_C(1) << 48);
    (void)state;
    assert_false(d.tensors[0].known);
    assert_true(d.tensors[1].known && d.tensors[2].known);
    assert_true(d.flops == 6.0 * (double)(INT64_C(1) << 48));
    hb_op_describe(&row, (const uint64_t[HB_OP_MAX_PARAMS]){3, (UINT64_C(1) << 48) + 1}, NULL, &d);
    assert_true(d.tensors[0].known && !d.tensors[1].known && !d.tensors[2].known);
    assert_true(d.flops == 3 * 1110000.0);
    hb_op_table_free(&table);
}

static double work_of(void *context, uint64_t handle)
{
    return handle == 77 ? *(double *)context : 0;
}

/* Only its library knows, so that no call is too little to be asked about. */
static void test_work_that_a_library_tells(void **state)
{
    double many = 1000, flops = -1;
    const hb_op_outside outside = {.work = work_of, .context = &many},
                        other = {.ranks = work_of, .context = &many};
    hb_op_table table;
    hb_op_entry row = only_row(&table, "f | p | | 2*dnnl(p) | min=100");
    hb_op_description d;
    const uint64_t words[HB_OP_MAX_PARAMS] = {77};
    (void)state;
    hb_op_describe(&row, words, &outside, &d);
    assert_true(d.flops == 2000);
    hb_op_describe(&row, words, &other, &d);
    assert_true(d.flops == 0);
    hb_op_describe(&row, words, NULL, &d);
    assert_true(d.flops == 0);
    assert_false(hb_op_is_small(&row, words, &flops));
    assert_true(hb_op_work(&row, words) == 0 && flops == -1);
    hb_op_table_free(&table);
    row = only_row(&table, "f | p | | 2*ranks(p) | min=100");
    hb_op_describe(&row, words, &outside, &d);
    assert_true(d.flops == 0);
    assert_true(hb_op_is_small(&row, words, &flops));
    hb_op_table_free(&table);
}

static void test_calls_of_no_least_work_are_never_small(void **state)
{
    static const struct {
        const char *line;
        bool small;
    } cases[] = {{"f | n | | n", false},
                 {"f | n | | n | min=0", false},
                 {"f | n | | n | min=1", true},
                 {"f | n | | | min=100", false},
                 {"f | n | f32[n] | #0 | min=100", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double flops;
        hb_op_table table;
        hb_op_entry row = only_row(&table, cases[i].line);
        if (hb_op_is_small(&row, (const uint64_t[]){0}, &flops) != cases[i].small)
            fail_msg("%s", cases[i].line);
        assert_true(hb_op_work(&row, (const uint64_t[]){9}) ==
                    (strchr(cases[i].line, '#') || i == 3 ? 0 : 9));
        hb_op_table_free(&table);
    }
}

static void test_strides(void **state)
{
    static const struct {
        const char *line;
        uint64_t words[6];
        int64_t strides[3];
        int dims;
    } cases[] = {
        {"f | m:i k:i ld:i t:i | f32[m,k; ld=ld t=t]", {3, 4, 10, 111}, {1, 10}, 2},
        {"f | m:i k:i ld:i t:i | f32[m,k; ld=ld t=t]", {3, 4, 10, 112}, {10, 1}, 2},
        {"f | m:i k:i ld:i t:i o:i | f32[m,k; ld=ld t=t order=o]",
         {3, 4, 10, 111, 101},
         {10, 1},
         2},
        {"f | m:i k:i ld:i t:i o:i | f32[m,k; ld=ld t=t order=o]",
         {3, 4, 10, 113, 101},
         {1, 10},
         2},
        {"f | m:i k:i ld:i t:i o:i | f32[m,k; ld=ld order=o]", {3, 4, 10, 112, 102}, {1, 10}, 2},
        {"f | b:i m:i ld:i s | f32[b,m,m; ld=ld batch=s]", {5, 3, 4, 99}, {99, 1, 4}, 3},
        {"f | n:i inc:i | f32[n; ld=inc]", {7, 2}, {2}, 1},
        {"f | m:i ld:i t | f32[m,m; ld=ld t=t]", {7, 9, (uintptr_t) "Transposed"}, {9, 1}, 2},
        {"f | m:i ld:i t | f32[m,m; ld=ld t=t]", {7, 9, (uintptr_t) "N"}, {1, 9}, 2},
        {"f | m:i ld:i t | f32[m,m; ld=ld t=t]", {7, 9, (uintptr_t) "conj"}, {9, 1}, 2},
        {"f | m:i ld:i t | f32[m,m; ld=ld t=t]", {7, 9, (uintptr_t) ""}, {1, 9}, 2},
        {"f | m:i ld:i t:i | f32[m,m; ld=ld t=t]", {7, 9, UINT64_C(0x7f0000000070)}, {9, 1}, 2},
        {"f | t m:i ld:i | f32[m,m; ld=ld t=t]", {112, 7, 9}, {9, 1}, 2},
        {"f | n:i inc:i o:i | f32[n; ld=inc order=o]", {7, 2, 101}, {2}, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_op_table table;
        hb_op_entry row = only_row(&table, cases[i].line);
        hb_op_description d;
        uint64_t words[HB_OP_MAX_PARAMS] = {0};
        memcpy(words, cases[i].words, sizeof cases[i].words);
        hb_op_describe(&row, words, NULL, &d);
        assert_true(d.tensors[0].has_strides);
        for (int k = 0; k < cases[i].dims; k++)
            assert_int_equal(d.tensors[0].strides[k], cases[i].strides[k]);
        hb_op_table_free(&table);
    }
    DESCRIBED("f | b:i m:i ld:i | f32[b,m,m; ld=ld]", 2, 3, 4);
    assert_false(d.tensors[0].has_strides); /* of a batch whose distance is not told */
    hb_op_table_free(&table);
    row = only_row(&table, "f | b:i m:i ld:i | f32[b,b,m,m; ld=ld batch=m] f32[m,m]");
    hb_op_describe(&row, words, NULL, &d);
    assert_true(d.tensors[0].known && !d.tensors[0].has_strides && !d.tensors[1].has_strides);
    hb_op_table_free(&table);
}

static void test_calls_of_little_time(void **state)
{
    hb_op_table table;
    hb_op_entry row = only_row(&table, "f | fd:i n | | n | kind=loader min=100us min=4096 file=fd");
    (void)state;
    assert_int_equal(row.least_ns, 100000);
    assert_true(row.least_flops == 4096 && row.file == 0);
    assert_true(hb_op_work(&row, (const uint64_t[]){3, 77}) == 77);
    hb_op_table_free(&table);
    row = only_row(&table, "f | | | | kind=optimizer min=2s");
    assert_true(row.least_ns == UINT64_C(2000000000));
    hb_op_table_free(&table);
}

/* Each option alone, with the least and the largest that it takes. */
static void test_options_say_what_a_call_is(void **state)
{
    static const char *const kinds[] = {
        "operator",   "scope", "step",    "module", "loader",    "optimizer", "silent",   "memory",
        "collective", "send",  "receive", "group",  "group_end", "launch",    "transfer", "wait"};
    static const struct {
        const char *option;
        uint64_t least_ns;
        double least_flops;
        int device, number;
    } cases[] = {
        {"min=0", 0, 0, -1, -1},
        {"min=1", 0, 1, -1, -1},
        {"min=9876543210", 0, 9876543210.0, -1, -1},
        {"kind=scope min=1ns", 1, 0, -1, -1},
        {"kind=scope min=90us", 90000, 0, -1, -1},
        {"kind=scope min=19ms", 19000000, 0, -1, -1},
        {"kind=scope min=1000000000s", UINT64_C(1000000000000000000), 0, -1, -1},
        {"device=cpu", 0, 0, -1, -1},
        {"device=0", 0, 0, -1, 0},
        {"device=9", 0, 0, -1, 9},
        {"device=9999", 0, 0, -1, 9999},
        {"device=n", 0, 0, 0, -1},
        {"device=d", 0, 0, 1, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char line[100];
        hb_op_table table;
        snprintf(line, sizeof line, "f | n | | n | kind=%s", kinds[i]);
        hb_op_entry row = only_row(&table, line);
        assert_int_equal(row.kind, (enum hb_op_kind)i);
        assert_int_equal(row.makes, row.kind == HB_OP_MEMORY ? HB_OP_RESULT : HB_OP_NO_PARAM);
        assert_false(row.alone);
        hb_op_table_free(&table);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[100];
        hb_op_table table;
        snprintf(line, sizeof line, "f | n d:i | | n | %s", cases[i].option);
        hb_op_entry row = only_row(&table, line);
        assert_int_equal(row.least_ns, cases[i].least_ns);
        assert_true(row.least_flops == cases[i].least_flops);
        assert_int_equal(row.device, cases[i].device);
        assert_int_equal(row.device_number, cases[i].number);
        hb_op_table_free(&table);
    }
    hb_op_table table;
    hb_op_entry row = only_row(&table, "f | a b c d e g | | | alone make=ret made=a use=b forget=c "
                                       "comm=d peer=e join=g key=a many=b error=c name=F alias=G");
    const int8_t params[] = {row.makes, row.made,  row.uses, row.forgets, row.comm,
                             row.peer,  row.joins, row.key,  row.many,    row.error};
    const int8_t wanted[] = {HB_OP_RESULT, 0, 1, 2, 3, 4, 5, 0, 1, 2};
    assert_memory_equal(params, wanted, sizeof wanted);
    assert_true(row.alone);
    assert_string_equal(row.name, "F");
    assert_string_equal(row.alias, "G");
    hb_op_table_free(&table);
}

static void test_allocators(void **state)
{
    hb_op_table table = table_of("a | n | | 2*n | kind=memory device=3\n"
                                 "b | to n d:i | | n | kind=memory make=to device=d\n"
                                 "c | p | | | kind=memory forget=p\n");
    (void)state;
    assert_string_equal(told, "");
    const hb_op_entry *a = table.rows.items[0], *b = table.rows.items[1], *c = table.rows.items[2];
    assert_int_equal(a->makes, HB_OP_RESULT);
    assert_int_equal(a->device_number, 3);
    assert_int_equal(b->makes, 0);
    assert_int_equal(b->device, 2);
    assert_int_equal(c->makes, HB_OP_NO_PARAM);
    assert_int_equal(c->device_number, -1);
    assert_false(hb_op_communicates(a));
    hb_op_table_free(&table);
}

/* ---- what libraries tell ---- */

static const char two_libraries[] =
    "rocblas_{sc}gemv | h t:i m:i n:i alpha A ld:i x inc:i | "
    "T[turned(t,m,n),turned(t,n,m); ld=ld t=t] T[turned(t,n,m)] | 2*m*n*c\n"
    "rocblas_strsm | h side:i up:i m:i n:i | T[right(side,m,n),m] | m*n*right(side,m,n)\n"
    "rocblas_sdot | h n:i x incx:i result | f32[n] | 2*n\n"
    "map types 150=f16\nrocblas_ex | h t:i n:i | @types(t)[n]\n"
    "rocblas_odd | h n:I | f32[n] | n\n"
    "miopenForward | h alpha xd x wd w cd yd y | $miopen(xd) $miopen(wd) !$miopen(yd) | "
    "2*#2*#1/#1.0\n";

static void test_calls_that_libraries_tell_of(void **state)
{
    static const struct {
        const char *text;
        int64_t rows, columns, flops; /* of the first input */
    } cases[] = {
        {"rocblas_sgemv,N,30,20,1,0x7f00,30,0x7f10,1,atomics_allowed", 30, 20, 1200},
        {"rocblas_sgemv,T,30,20,1,0x7f00,30,0x7f10,1", 20, 30, 1200},
        {"rocblas_cgemv,C,30,20,(1,-2),0x7f00,30,0x7f10,1", 20, 30, 4800},
        {"rocblas_strsm,L,U,30,20", 30, 30, 18000},
        {"rocblas_strsm,R,U,30,20", 20, 30, 12000},
        {"rocblas_sdot,77,0x7f00,1,atomics_not_allowed", 77, 0, 154},
        {"rocblas_ex,f16_r,9", 9, 0, 0},
        {"s_api = miopenForward | handle = stream: 0 | alpha = 0x7f | xDesc = {8, 16, 32, 32}, "
         "{16384, 1024, 32, 1}, packed,  | x = 0x7f | wDesc = {32, 16, 3, 3}, {}, packed,  | "
         "yDesc = {8, 32, 32, 32}, {1}, packed,  | y = 0x7f | ",
         8, 16, 75497472},
    };
    hb_op_table table = table_of(two_libraries);
    (void)state;
    assert_string_equal(told, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_op_told call;
        hb_op_description d;
        assert_true(hb_op_told_read(&table, cases[i].text, &call));
        assert_non_null(call.row);
        hb_op_told_describe(&call, &d);
        assert_true(d.tensors[0].known && d.flops == (double)cases[i].flops);
        assert_int_equal(d.tensors[0].dims[0], cases[i].rows);
        if (cases[i].columns) assert_int_equal(d.tensors[0].dims[1], cases[i].columns);
    }
    hb_op_table_free(&table);
}

/* By the numbers of rocblas-types.h, which are those of calls that are seen. */
static void test_types_that_rocblas_tells(void **state)
{
    static const struct {
        const char *name;
        int number; /* 0: not told apart */
    } types[] = {{"f16_r", 150}, {"f32_r", 151}, {"f64_r", 152}, {"f32_c", 154},  {"f64_c", 155},
                 {"i8_r", 160},  {"u8_r", 161},  {"i32_r", 162}, {"bf16_r", 168}, {"f8_r", 170},
                 {"bf8_r", 171}, {"f32", 0},     {"f32_rr", 0},  {"", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[300], call_text[60];
        hb_op_told call;
        hb_op_description d;
        snprintf(text, sizeof text, "map types %d=f64\nrocblas_ex | h t:i n:i | @types(t)[n]\n",
                 types[i].number ? types[i].number : 151);
        snprintf(call_text, sizeof call_text, "rocblas_ex,%s,9", types[i].name);
        hb_op_table table = table_of(text);
        assert_string_equal(told, "");
        assert_true(hb_op_told_read(&table, call_text, &call));
        assert_non_null(call.row);
        hb_op_told_describe(&call, &d);
        assert_int_equal(d.tensors[0].type == HB_FLOAT64, types[i].number != 0);
        hb_op_table_free(&table);
    }
}

/* A function that is not known, or was called otherwise, has its name; other ranges are others'. */
static void test_what_libraries_tell_otherwise(void **state)
{
    static const char *const calls[] = {
        "rocblas_create_handle,atomics_allowed",
        "rocblas_sgemv,N,30,20",
        "rocblas_sgemv,N,30,20,1,0x7f00,30,0x7f10,1,2,3,4,5,6,7,8,9",
        "rocblas_odd,65537",
        "s_api = miopenCreate | ",
    };
    static const char *const others[] = {
        "",
        "rocblas",
        "rocblas_sgemv",
        "rocblas_sgemv 30",
        "forward,1",
        "s_api = ",
        "s_api = forward | x",
        "s_api = miopenForward, x",
        "miopenForward | xDesc = {1}",
    };
    static const char *const descriptors[] = {
        "{", "{8", "{8,", "{8 x}", "{-1}", "{}", "{1,2,3,4,5,6,7,8,9}", "{x}"};
    hb_op_table table = table_of(two_libraries);
    hb_op_told call;
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_true(hb_op_told_read(&table, calls[i], &call) && !call.row);
        assert_true(hb_op_told_read(NULL, calls[i], &call) && !call.row);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(hb_op_told_read(&table, others[i], &call));
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++) {
        char text[100];
        hb_op_description d;
        snprintf(text, sizeof text, "s_api = miopenForward | xDesc = %s", descriptors[i]);
        assert_true(hb_op_told_read(&table, text, &call));
        hb_op_told_describe(&call, &d);
        assert_true(!d.tensors[0].known && d.flops == 0);
    }
    hb_op_table_free(&table);
}

/* ---- symbols ---- */

static void test_letters_and_optional_parts(void **state)
{
    hb_op_table table = table_of("[lib_]{dz}gemm[_64] | n:n | T[n] | c*n");
    hb_op_description d;
    const uint64_t words[HB_OP_MAX_PARAMS] = {UINT64_C(0x100000002)};
    (void)state;
    assert_string_equal(told, "");
    assert_int_equal(table.rows.count, 8);
    const hb_op_entry *plain = hb_op_table_find(&table, "dgemm");
    const hb_op_entry *other = hb_op_table_find(&table, "lib_zgemm_64");
    assert_non_null(plain);
    assert_non_null(other);
    assert_string_equal(other->name, "zgemm");
    hb_op_describe(plain, words, NULL, &d);
    assert_true(d.flops == 2 && d.tensors[0].type == HB_FLOAT64);
    hb_op_describe(other, words, NULL, &d);
    assert_true(d.flops == 4.0 * (double)words[0] && d.tensors[0].type == HB_COMPLEX128);
    assert_null(hb_op_table_find(&table, "gemm"));
    hb_op_table_free(&table);
}

/* Small and large ones alike, and others mean nothing. */
static void test_letters_say_types_and_costs(void **state)
{
    static const struct {
        char letter;
        hb_dtype type;
        int cost;
    } letters[] = {{'s', HB_FLOAT32, 1},   {'d', HB_FLOAT64, 1},    {'h', HB_FLOAT16, 1},
                   {'c', HB_COMPLEX64, 4}, {'z', HB_COMPLEX128, 4}, {'b', HB_BFLOAT16, 1},
                   {'S', HB_FLOAT32, 1},   {'D', HB_FLOAT64, 1},    {'H', HB_FLOAT16, 1},
                   {'C', HB_COMPLEX64, 4}, {'Z', HB_COMPLEX128, 4}, {'B', HB_BFLOAT16, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        char line[40];
        snprintf(line, sizeof line, "f{%c}_x | n | T[n] | c*n", letters[i].letter);
        DESCRIBED(line, 10);
        assert_int_equal(d.tensors[0].type, letters[i].type);
        assert_int_equal(row.cost, letters[i].cost);
        assert_true(d.flops == 10.0 * letters[i].cost);
        hb_op_table_free(&table);
    }
    DESCRIBED("c_x | n | T[n] | c*n", 10);
    assert_true(d.tensors[0].type == HB_FLOAT32 && d.flops == 10);
    hb_op_table_free(&table);
    assert_null(hb_op_table_find(&table, "c_x"));
}

static void test_the_last_line_of_a_function_holds(void **state)
{
    hb_op_table table = table_of("f | n | | 1\nf | n | | 2 | lib=libone\n");
    (void)state;
    const hb_op_entry *row = hb_op_table_find(&table, "f");
    assert_int_equal(row->line, 2);
    assert_string_equal(row->library, "libone");
    assert_int_equal(row->next->line, 1);
    hb_op_table_free(&table);
}

static void test_maps(void **state)
{
    DESCRIBED("map types 1=f16 2=bf16\nf | t:i | @types(t)[t] @types(t)[9]", 2);
    (void)state;
    assert_int_equal(d.tensors[0].type, HB_BFLOAT16);
    hb_op_describe(&row, (const uint64_t[HB_OP_MAX_PARAMS]){3}, NULL, &d);
    assert_false(d.tensors[0].known);
    hb_op_table_free(&table);
}

static void test_comments_and_blank_lines(void **state)
{
    hb_op_table table = table_of("# f | n\n\n  \t\nf | n | f32[n] | 2*#0 # of all\r\n#\n");
    (void)state;
    assert_string_equal(told, "");
    assert_int_equal(table.rows.count, 1);
    assert_int_equal(table.rows.items[0]->flops.count, 3);
    hb_op_table_free(&table);
}

/* ---- mistakes ---- */

static const struct {
    const char *line, *said;
} mistakes[] = {
    {"f(x) | n", "1:2: no part of a function's name"},
    {"f | a:S1x | n", "1:7: wanted: w (or nothing)"},
    {"f | a:Sx6 | n", "1:7: wanted: w (or nothing)"},
    {"f | a:S | n", "1:7: wanted: w (or nothing)"},
    {"f | a:S2 | n", "1:7: a structure in memory has 3 to"},
    {"| n", "1:1: wanted: a function's name"},
    {"{x}f | n", "1:2: wanted: letters"},
    {"{sf | n", "1:4: a bracket is not closed"},
    {"f]x | n", "1:2: this bracket was not opened"},
    {"f | 1n", "1:5: wanted: a parameter's name"},
    {"f | n n", "1:7: two parameters of one name"},
    {"f | n:z", "1:7: wanted: w (or nothing), i, n or f"},
    {"f | n:S2", "1:7: a structure in memory has 3 to 24 words"},
    {"f | n | f32[n; ld]", "1:16: wanted: ld="},
    {"f | n x:f | f32[n; ld=x]", "1:23: wanted: a parameter that is a whole number"},
    {"f | n | f32[n; t=n]", "1:20: without ld= nothing is known of strides"},
    {"f | n:S16 | f32[n]", "1:17: n is no whole number"},
    {"f | n:S16 m:S16", "1:16: more than 24 words of the stack"},
    {"f | n | f32[ranks(m)]", "1:19: wanted: a parameter that is a handle"},
    {"f | n | x[n]", "1:9: wanted: T, f32 or another type"},
    {"f | n | f32[n", "1:14: wanted: , or ]"},
    {"f | n | f32[m]", "1:13: there is no parameter m"},
    {"f | n:f | f32[n]", "1:15: n is no whole number"},
    {"f | n:f | $plan(n)", "1:17: n is no whole number"},
    {"f | n:S16 | $plan(n)", "1:19: n is no whole number"},
    {"f | n | @t(n)[n]", "1:10: no line \"map\" of that name"},
    {"f | n | $who(n)", "1:10: nobody is called so"},
    {"f | n | f32[n^n]", "1:13: n is no array"},
    {"f | n | | 2*", "1:13: wanted: a number, a parameter or ("},
    {"f | n | | #0", "1:12: no input of that number"},
    {"f | n | | turned(m,1,2)", "1:18: wanted: a parameter that says whether"},
    {"f | n | | turned(n)", "1:19: wanted: a comma and two numbers"},
    {"f | n | | turned(n,1)", "1:21: wanted: a comma and a second number"},
    {"f | n | | right(m,1,2)", "1:17: wanted: a parameter that says on which side"},
    {"f | n | | right(n)", "1:18: wanted: a comma and two numbers"},
    {"f | n | | (n", "1:13: wanted: )"},
    {"f | n | | n | hue=3", "1:15: no option"},
    {"f | n | | n | use=m", "1:19: wanted: a parameter"},
    {"f | n | | n | kind=any", "1:20: wanted: operator, scope"},
    {"f | n | | n | min=-1", "1:19: wanted: FLOPs"},
    {"f | n | | n | device=1x", "1:22: wanted: cpu, a GPU's number"},
    {"f | n | | n | device=1!", "1:22: wanted: cpu, a GPU's number"},
    {"f | n | | n | device=10000", "1:22: wanted: cpu, a GPU's number"},
    {"f | n | | n | alone | x", "1:21: nothing belongs behind the options"},
    {"map t 1=float", "1:9: no type"},
    {"map t 1", "1:7: wanted: NUMBER=TYPE"},
    {"map t =f16", "1:7: wanted: NUMBER=TYPE"},
    {"map  1=f16", "1:6: wanted: the map's name"},
    {"map\tt 1000000000=f16", "1:7: wanted: NUMBER=TYPE"},
    {"f | n | f32[n] | #0.8", "1:21: wanted: a dimension's number from 0, or l for the last"},
    {"f | n | f32[n] | #0.", "1:21: wanted: a dimension's number from 0, or l for the last"},
    {"f | n | f32[n] | #1", "1:19: no input of that number"},
    {"f | n | | (2*)", "1:14: wanted: a number, a parameter or ("},
    {"f | n | | min(2*,1)", "1:17: wanted: a number, a parameter or ("},
    {"f | n | | min(1,2*)", "1:19: wanted: a number, a parameter or ("},
    {"f | n | | min(2*", "1:17: wanted: a number, a parameter or ("},
    {"f | n | | min(1,2*", "1:19: wanted: a number, a parameter or ("},
    {"f | n | | (2*", "1:14: wanted: a number, a parameter or ("},
    {"f | n | | min(1)", "1:16: wanted: a comma and a second number"},
    {"f | n | | max(1,2,3)", "1:18: wanted: )"},
    {"f | n x:f | | turned(x,1,2)", "1:22: wanted: a parameter that says whether"},
    {"f | n x:J | | turned(x,1,2)", "1:22: wanted: a parameter that says whether"},
    {"f | n:i | | dnnl(n)", "1:18: wanted: a parameter that is a handle"},
    {"f | n | | dnnl(n", "1:17: wanted: )"},
    {"f | n | | ranks n", "1:11: there is no parameter ranks"},
    {"f | n:J | | 2*n", "1:15: n is no whole number"},
    {"f | n | $plan(m)", "1:15: there is no such parameter"},
    {"f | l:J | $plan(l)", "1:17: l is no whole number"},
    {"f | n | $plan", "1:14: wanted: (PARAMETER)"},
    {"f | n | $plan(n", "1:16: wanted: )"},
    {"f | n | T", "1:10: wanted: [dimensions]"},
    {"f | n | T[n] T[#0]", "1:18: a dimension does not depend on inputs"},
    {"f | n | T[n,n,n,n,n,n,n,n,n]", "1:27: too many dimensions"},
    {"f | l:J n:f | T[l^n]", "1:19: wanted: a parameter that is a whole number"},
    {"f | l:J n:K | T[l^n]", "1:19: wanted: a parameter that is a whole number"},
    {"f | l:J n:J | T[l^n]", "1:19: wanted: a parameter that is a whole number"},
    {"f | l:J n:f | T[l^n", "1:19: wanted: a parameter that is a whole number"},
    {"f | l:J n | T[l^m]", "1:17: wanted: a parameter that is a whole number"},
    {"f | n | T[n; ld=m]", "1:17: wanted: a parameter that is a whole number"},
    {"f | n:J m | T[m; ld=n]", "1:21: wanted: a parameter that is a whole number"},
    {"f | n | T[n; lt=n]", "1:14: wanted: ld=, t=, order= or batch=, or ]"},
    {"f | n | T[; ld=n]", "1:11: wanted: a number"},
    {"f | n | T[n] T[n] T[n] T[n] T[n] T[n] T[n]", "1:39: more than 6 inputs"},
    {"f | T", "1:5: T means something else"},
    {"f | n ret:i", "1:7: ret means something else"},
    {"f | n-m", "1:6: wanted: a blank, : or |"},
    {"f | n:i,", "1:8: wanted: a blank, : or |"},
    {"f | n:S25", "1:7: a structure in memory has 3 to 24 words, as S16"},
    {"f | n:ii", "1:7: wanted: w (or nothing)"},
    {"f | n | | n | =3", "1:15: wanted: an option"},
    {"f | n | | n | name", "1:19: wanted: name=VALUE"},
    {"f | n | | n | name= lib=x", "1:20: wanted: name=VALUE"},
    {"f | n | | n | alone=1", "1:15: no option"},
    {"f | n:f | | 1 | use=n", "1:21: wanted: a parameter that is an address or a number"},
    {"f | n | | n | make=m", "1:20: wanted: a parameter that is an address or a number, or ret"},
    {"f | n | | n | made=ret", "1:20: wanted: a parameter that is an address or a number"},
    {"f | n | | n | device=m", "1:22: wanted: a parameter"},
    {"f | n | | n | min=", "1:19: wanted: min=VALUE"},
    {"f | n | | n | min=100min", "1:22: wanted: FLOPs"},
    {"f | n | | n | min=us", "1:19: wanted: FLOPs"},
    {"f | n | | n | kind=loader min=1000000001s", "1:41: wanted: FLOPs"},
    {"f | n | | n | min=100us", "1:24: a time for min= is for kind=loader, optimizer and scope"},
    {"f | n | | n | kind=loader file=n", "1:33: file= is for kind=loader with a time"},
    {"f | n | | | kind=memory", "1:24: kind=memory that allocates wants its bytes"},
    {"f | n | T[n] | #0 | kind=memory", "1:32: kind=memory that allocates wants its bytes"},
    {"f | n | | n | | kind=step", "1:15: nothing belongs behind the options"},
    {"f{s}{d} | n", "1:5: only one choice of letters"},
    {"f{s[d]} | n", "1:4: wanted: a bracket's end"},
    {"f[s{d}] | n", "1:4: wanted: a bracket's end"},
    {"f[s} | n", "1:4: this bracket was not opened"},
    {"f{s] | n", "1:4: this bracket was not opened"},
    {"f{} | n", "1:3: wanted: letters of s, d, h, c, z, b"},
    {"[f] | n", "1:1: wanted: a function's name"},
    {"f[a | n", "1:4: a bracket is not closed"},
    {"f \t n", "1:5: wanted: |"},
};

static void test_mistakes_are_told_with_line_and_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        hb_op_table table = table_of(mistakes[i].line);
        char wanted[200];
        snprintf(wanted, sizeof wanted, "t:%s", mistakes[i].said);
        if (strncmp(told, wanted, strlen(wanted)) != 0) fail_msg("%s: %s", mistakes[i].line, told);
        assert_int_equal(table.rows.count, 0);
        hb_op_table_free(&table);
    }
}

/* Only an allocation's address may be what a call returns. */
static void test_results_are_no_parameters(void **state)
{
    static const char *const options[] = {"file", "device", "made", "use",  "forget", "comm",
                                          "peer", "join",   "key",  "many", "error"};
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char line[100], wanted[100];
        snprintf(line, sizeof line, "f | n | | n | %s=ret", options[i]);
        snprintf(wanted, sizeof wanted,
                 "t:1:%zu: wanted: a parameter that is an address or a number\n", strlen(line) - 2);
        hb_op_table table = table_of(line);
        assert_string_equal(told, wanted);
        assert_int_equal(table.rows.count, 0);
        hb_op_table_free(&table);
    }
}

/* 500 bytes, and 4 parts that may be missing. */
static void test_the_longest_names(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        char line[600];
        snprintf(line, sizeof line, "f%0*d | n", 499 + more, 0);
        hb_op_table table = table_of(line);
        assert_int_equal(table.rows.count, !more);
        assert_true(more == !!strstr(told, "t:1:1: the name is too long"));
        hb_op_table_free(&table);
        table = table_of(more ? "f[a][b][c][d][e] | n" : "f[a][b][c][d] | n");
        assert_int_equal(table.rows.count > 0, !more);
        assert_true(more ==
                    !!strstr(told, "t:1:1: the name is too long, or has too many optional parts"));
        if (!more) assert_non_null(hb_op_table_find(&table, "facd"));
        hb_op_table_free(&table);
    }
}

static void test_a_nul_byte_is_a_mistake(void **state)
{
    static const char text[] = "f | n | | | name=\0x\ng | n";
    hb_op_table table = {0};
    (void)state;
    told[0] = '\0';
    assert_int_equal(hb_op_table_read(&table, "t", text, sizeof text - 1, false, tell, NULL),
                     HB_OK);
    assert_non_null(strstr(told, "1:18: a NUL byte"));
    assert_null(hb_op_table_find(&table, "f"));
    assert_non_null(hb_op_table_find(&table, "g"));
    hb_op_table_free(&table);
}

static void test_lines_behind_a_wrong_one_hold(void **state)
{
    hb_op_table table = table_of("f | n:z\ng | n\n");
    (void)state;
    assert_null(hb_op_table_find(&table, "f"));
    assert_non_null(hb_op_table_find(&table, "g"));
    hb_op_table_free(&table);
}

/* ---- hipboard's own ---- */

static hb_op_table own_tables(void)
{
    static const char *const names[] = {"blas", "dnnl", "fft", "lapack", "rccl", "rocm"};
    hb_op_table table = {0};
    told[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[500];
        snprintf(path, sizeof path, "%s/%s.ops", SHARED_TABLES, names[i]);
        assert_int_equal(hb_op_table_read_file(&table, path, false, tell, NULL), HB_OK);
    }
    assert_string_equal(told, "");
    return table;
}

static void test_own_tables_have_no_mistakes(void **state)
{
    hb_op_table table = own_tables();
    (void)state;
    assert_true(table.rows.count > 1000);
    assert_string_equal(hb_op_table_find(&table, "scipy_cblas_dgemm64_")->name, "cblas_dgemm");
    assert_int_equal(hb_op_table_find(&table, "rocblas_zgemm")->cost, 4);
    hb_op_table_free(&table);
}

static const hb_op_param *param_of(const hb_op_entry *row, const char *name)
{
    for (int i = 0; i < row->num_params; i++)
        if (strcmp(row->params[i].name, name) == 0) return &row->params[i];
    return NULL;
}

/* As the function takes it: a number, or the address of one. */
static void pass(const hb_op_entry *row, const char *name, const int64_t *number, uint64_t *words)
{
    const hb_op_param *p = param_of(row, name);
    assert_non_null(p);
    words[p->place] = p->class > HB_OP_FLOAT ? (uintptr_t)number : (uint64_t)*number;
}

/* B is m by n; A is as large as B's columns are long, or its rows where it stands on the right. */
static void check_sides(const hb_op_entry *row)
{
    static const char left = 'L', right = 'R', small[] = "r";
    const uint64_t letters[] = {(uintptr_t)&left, (uintptr_t)&right, (uintptr_t)small};
    static const uint64_t numbers[] = {141, 142, 142};
    const int64_t m = 1000, n = 200;
    const hb_op_param *side = param_of(row, "side");
    const bool symmetric = strstr(row->symbol, "symm") != NULL;
    for (size_t i = 0; i < 3; i++) {
        const int64_t order = i ? n : m;
        uint64_t words[HB_OP_MAX_PARAMS + HB_OP_STACK_WORDS] = {0};
        hb_op_description d;
        words[side->place] = side->class == HB_OP_WORD ? letters[i] : numbers[i];
        pass(row, "m", &m, words);
        pass(row, "n", &n, words);
        hb_op_describe(row, words, NULL, &d);
        assert_true(d.tensors[0].known && d.tensors[1].known);
        assert_int_equal(d.tensors[0].dims[0], order);
        assert_int_equal(d.tensors[0].dims[1], order);
        assert_int_equal(d.tensors[1].dims[0], m);
        assert_int_equal(d.tensors[1].dims[1], n);
        assert_true(d.flops == (double)(m * n * order * row->cost * (symmetric ? 2 : 1)));
    }
}

static void test_own_tables_know_on_which_side_a_matrix_stands(void **state)
{
    hb_op_table table = own_tables();
    uint32_t rows = 0;
    (void)state;
    for (uint32_t i = 0; i < table.rows.count; i++) {
        if (!param_of(table.rows.items[i], "side")) continue;
        check_sides(table.rows.items[i]);
        rows++;
    }
    assert_true(rows >= 50);
    hb_op_table_free(&table);
}

/* ---- lists of tables ---- */

static void put_table(const char *name, mode_t mode)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "of_%.3s | n:i | f32[n] | | alias=as_%.3s\n", name, name);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

/* The names that the tables of a list have, * behind those whose addresses are read with care. */
static void check_list(const char *list, const char *names)
{
    char own[512], got[512] = "";
    hb_op_table table = {0};
    told[0] = '\0';
    snprintf(own, sizeof own, "%s/blas.ops", dir);
    assert_int_equal(hb_op_list_read(&table, list, own, tell, NULL), HB_OK);
    for (uint32_t i = 0; i < table.rows.count; i++) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%s%s", n ? " " : "", table.rows.items[i]->name,
                 table.rows.items[i]->careful ? "*" : "");
    }
    assert_string_equal(got, names);
    assert_string_equal(told, "");
    hb_op_table_free(&table);
}

static void test_a_list_names_tables(void **state)
{
    static const char *const names[] = {"blas.ops", "fft.ops", "io.ops",   "launches.ops",
                                        "rccl.ops", "xyz.op",  ".hid.ops", "own.txt"};
    char list[1024];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_table(names[i], 0644);
    put_table("wow.ops", 0666); /* which anybody may have written */
    check_list("", "");
    check_list("libraries", "of_bla of_fft of_rcc");
    check_list("communication", "of_rcc");
    check_list("loaders", "of_io.");
    check_list("launches", "of_lau");
    check_list("without=communication:libraries", "of_bla of_fft");
    check_list("libraries\nwithout=communication", "of_bla of_fft");
    check_list("without=communication:communication", "of_rcc");
    check_list("loaders::communication:\n", "of_io. of_rcc");
    check_list("names=torch:loaders:launches", "as_io. as_lau");
    snprintf(list, sizeof list, "%s/own.txt:loaders:%s/wow.ops", dir, dir);
    check_list(list, "of_own* of_io. of_wow*");
    hb_op_table table = {0};
    snprintf(list, sizeof list, "loaders:%s/none:launches", dir);
    assert_int_equal(hb_op_list_read(&table, list, "/none/blas.ops", tell, NULL), HB_ERROR_IO);
    assert_string_equal(hb_last_error(), "'/none' can't be listed");
    hb_op_table_free(&table);
}

/* The last one that was kept of a file is read, whatever the file is by then. */
static void test_files_of_a_list_are_kept(void **state)
{
    char list[1024], path[300];
    hb_op_texts texts = {0};
    hb_op_table table = {0};
    (void)state;
    put_table("kept.txt", 0644);
    put_table("also.txt", 0644);
    snprintf(path, sizeof path, "%s/kept.txt", dir);
    snprintf(list, sizeof list, "libraries:%s/also.txt:%s", dir, path);
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "kept_%d | n:i\n", i);
        fclose(file);
        assert_int_equal(hb_op_texts_keep(&texts, list), HB_OK);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(hb_op_texts_keep(&texts, list), HB_ERROR_IO);
    assert_int_equal(
        hb_op_list_read_kept(&table, list + strlen("libraries:"), "", &texts, tell, NULL), HB_OK);
    assert_int_equal(table.rows.count, 2);
    assert_non_null(hb_op_table_find(&table, "kept_1"));
    hb_op_table_free(&table);
    assert_int_equal(texts.files.count, 2);
    for (uint32_t i = 0; i < texts.files.count; i++) {
        free(texts.files.items[i].path);
        hb_buf_free(&texts.files.items[i].text);
    }
    free(texts.files.items);
}

/* Files beyond 16 MB are none that anybody wrote by hand. */
static void test_what_is_no_table_is_told_of(void **state)
{
    enum { MB = 1 << 20 };
    static const struct {
        int mb;
        hb_result result;
        const char *said;
    } cases[] = {{0, HB_OK, ""},
                 {15, HB_OK, ":1:1: a NUL byte\n"},
                 {17, HB_ERROR_LIMIT, "' is too big for a table"}};
    char path[512], wanted[600];
    (void)state;
    snprintf(path, sizeof path, "%s/big.ops", dir);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_op_table table = {0};
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(ftruncate(fd, (off_t)cases[i].mb * MB), 0);
        close(fd);
        told[0] = '\0';
        assert_int_equal(hb_op_table_read_file(&table, path, false, tell, NULL), cases[i].result);
        bool read = cases[i].result == HB_OK;
        snprintf(wanted, sizeof wanted, "%s%s%s", read ? "" : "'", read && !cases[i].mb ? "" : path,
                 cases[i].said);
        assert_string_equal(read ? told : hb_last_error(), wanted);
        assert_null(hb_op_table_find(&table, "f"));
        hb_op_table_free(&table);
    }
    hb_op_table table = {0};
    assert_int_equal(hb_op_table_read_file(&table, dir, false, tell, NULL), HB_ERROR_IO);
    snprintf(wanted, sizeof wanted, "'%s' can't be read as a table", dir);
    assert_string_equal(hb_last_error(), wanted);
    snprintf(path, sizeof path, "%s/none.ops", dir);
    assert_int_equal(hb_op_table_read_file(&table, path, false, tell, NULL), HB_ERROR_IO);
    hb_op_table_free(&table);
}

static bool owners_are_told; /* else they are the system's */
static uid_t installer, owner, myself;

int stat(const char *path, struct stat *st)
{
    if (fstatat(AT_FDCWD, path, st, 0) != 0) return -1;
    if (owners_are_told) st->st_uid = strstr(path, "/blas.ops") ? installer : owner;
    return 0;
}

uid_t geteuid(void)
{
    return myself;
}

/* Beside the first table, which is the installer's: who else may have written one. */
static void test_own_tables_are_the_installer_s_or_ours(void **state)
{
    static const struct {
        uid_t installer, owner, myself;
        bool trusted;
    } cases[] = {{0, 0, 1000, true},      {0, 1000, 1000, true},   {0, 600, 1000, false},
                 {500, 500, 1000, true},  {500, 1000, 1000, true}, {500, 0, 1000, true},
                 {500, 600, 1000, false}, {500, 600, 0, false}};
    (void)state;
    put_table("blas.ops", 0644);
    put_table("fft.ops", 0644);
    owners_are_told = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        installer = cases[i].installer;
        owner = cases[i].owner;
        myself = cases[i].myself;
        check_list("libraries", cases[i].trusted ? "of_bla of_fft" : "of_bla");
    }
    owners_are_told = false;
}

static void test_lists_may_have_own_tables(void **state)
{
    static const char *const own[] = {"libraries", "communication", "loaders", "launches"};
    char list[128];
    (void)state;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        assert_true(hb_op_list_has_own(own[i]));
        snprintf(list, sizeof list, "/a:%s", own[i]);
        assert_true(hb_op_list_has_own(list));
        snprintf(list, sizeof list, "%s\n/a", own[i]);
        assert_true(hb_op_list_has_own(list));
        snprintf(list, sizeof list, "%sx:/%s", own[i], own[i]);
        assert_false(hb_op_list_has_own(list));
    }
    assert_false(hb_op_list_has_own(""));
    assert_false(hb_op_list_has_own("without=communication:names=torch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_product_of_matrices),
        cmocka_unit_test(test_addresses_and_arrays),
        cmocka_unit_test(test_what_can_not_be_is_unknown),
        cmocka_unit_test(test_an_address_that_is_none_is_read_with_care),
        cmocka_unit_test(test_floating_point_takes_no_word),
        cmocka_unit_test(test_a_structure_lies_on_the_stack),
        cmocka_unit_test(test_ranks_of_a_communicator),
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_calls_of_little_work_are_small),
        cmocka_unit_test(test_calls_of_no_least_work_are_never_small),
        cmocka_unit_test(test_work_that_a_library_tells),
        cmocka_unit_test(test_dimensions_that_are_none_count_nothing),
        cmocka_unit_test(test_arrays_of_all_lengths),
        cmocka_unit_test(test_what_is_read_with_care_is_the_same),
        cmocka_unit_test(test_addresses_of_native_numbers),
        cmocka_unit_test(test_a_parameter_goes_before_a_function_of_its_name),
        cmocka_unit_test(test_as_many_as_there_is_room_for),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_calls_of_little_time),
        cmocka_unit_test(test_options_say_what_a_call_is),
        cmocka_unit_test(test_allocators),
        cmocka_unit_test(test_letters_and_optional_parts),
        cmocka_unit_test(test_letters_say_types_and_costs),
        cmocka_unit_test(test_the_last_line_of_a_function_holds),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_comments_and_blank_lines),
        cmocka_unit_test(test_calls_that_libraries_tell_of),
        cmocka_unit_test(test_types_that_rocblas_tells),
        cmocka_unit_test(test_what_libraries_tell_otherwise),
        cmocka_unit_test(test_mistakes_are_told_with_line_and_column),
        cmocka_unit_test(test_results_are_no_parameters),
        cmocka_unit_test(test_the_longest_names),
        cmocka_unit_test(test_a_nul_byte_is_a_mistake),
        cmocka_unit_test(test_lines_behind_a_wrong_one_hold),
        cmocka_unit_test(test_own_tables_have_no_mistakes),
        cmocka_unit_test(test_own_tables_know_on_which_side_a_matrix_stands),
        cmocka_unit_test(test_the_ninth_of_floating_point_does),
        cmocka_unit_test(test_what_communicates),
        cmocka_unit_test(test_a_formula_keeps_sixteen_numbers_in_mind),
        cmocka_unit_test(test_the_longest_formula),
        cmocka_unit_test_setup_teardown(test_a_list_names_tables, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_files_of_a_list_are_kept, make_dir, remove_dir),
        IN_DIR(test_what_is_no_table_is_told_of),
        IN_DIR(test_own_tables_are_the_installer_s_or_ours),
        cmocka_unit_test(test_lists_may_have_own_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
