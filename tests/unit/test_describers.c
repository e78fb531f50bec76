/* SPDX-License-Identifier: MIT
 *
 * What libraries say of their opaque descriptors, by answers of the test's own: each type, number
 * of dimensions and kind, and answers that make no sense.
 */
#include "operators/describers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "operators/plans.h"

static hb_op_tensor described(hb_describers *d, enum hb_op_describer who, uint64_t handle)
{
    hb_op_tensor t = {.hidden = true};
    hb_describe_outside(d, who, handle, &t);
    assert_true(t.hidden); /* stays what the table says */
    return t;
}

/* ---- MIOpen ---- */

static struct {
    int fails, dims, type;
} miopen;

static int miopen_size(uint64_t descriptor, int *dims)
{
    *dims = miopen.dims;
    return miopen.fails == 1 || descriptor != 77;
}

static int miopen_tensor(uint64_t descriptor, int *type, int *dims, int *strides)
{
    assert_int_equal(descriptor, 77);
    *type = miopen.type;
    for (int i = 0; i < miopen.dims && i < HB_OP_MAX_DIMS; i++) {
        dims[i] = 10 + i;
        strides[i] = 100 - i;
    }
    return miopen.fails == 2;
}

static void tensors_of_miopen(void **state)
{
    static const hb_dtype types[] = {
        HB_FLOAT16, HB_FLOAT32,         HB_INT32,           HB_INT8, HB_INT8, HB_BFLOAT16,
        HB_FLOAT64, HB_FLOAT8_E4M3FNUZ, HB_FLOAT8_E5M2FNUZ, HB_INT64};
    hb_describers d = {.tensor_size = miopen_size, .tensor = miopen_tensor}, part = d;
    (void)state;
    for (int fails = 0; fails < 3; fails++)
        for (int type = -1; type <= (int)HB_ARRAY_LEN(types); type++)
            for (int dims = 0; dims <= HB_OP_MAX_DIMS + 1; dims++) {
                miopen.fails = fails;
                miopen.type = type;
                miopen.dims = dims;
                hb_op_tensor t = described(&d, HB_OP_BY_MIOPEN, 77);
                bool known = !fails && type >= 0 && type < (int)HB_ARRAY_LEN(types) && dims >= 1 &&
                             dims <= HB_OP_MAX_DIMS;
                assert_true(t.known == known && t.has_strides == known);
                if (!known) continue;
                assert_true(t.type == types[type] && t.num_dims == dims);
                for (int i = 0; i < dims; i++)
                    assert_true(t.dims[i] == 10 + i && t.strides[i] == 100 - i);
            }
    miopen.fails = miopen.type = 0;
    miopen.dims = 2;
    assert_true(described(&d, HB_OP_BY_MIOPEN, 77).known);
    assert_false(described(&d, HB_OP_BY_MIOPEN, 0).known);
    part.tensor = NULL;
    assert_false(described(&part, HB_OP_BY_MIOPEN, 77).known);
    part = d;
    part.tensor_size = NULL;
    assert_false(described(&part, HB_OP_BY_MIOPEN, 77).known);
}

/* ---- plans and hipBLASLt's layouts ---- */

static int batches, batch_error;

static int layout_attribute(uint64_t layout, int which, void *to, size_t size, size_t *got)
{
    assert_true(layout == 0x1000 && which == 0 && size == 4);
    memcpy(to, &batches, size);
    *got = size;
    return batch_error;
}

static void layouts_have_batches(void **state)
{
    hb_describers d = {.layout_attribute = layout_attribute}, none = {0};
    hb_op_description made = {
        .num_tensors = 1,
        .tensors = {{.known = true, .num_dims = 2, .type = HB_FLOAT16, .dims = {3, 4}}}};
    (void)state;
    assert_false(described(&d, HB_OP_BY_HIPBLASLT, 0x1000).known);
    assert_false(described(&d, HB_OP_BY_PLAN, 0x1000).known);
    hb_plan_remember(0x1000, &made);
    for (batch_error = 0; batch_error < 2; batch_error++)
        for (batches = -1; batches < 4; batches++) {
            hb_op_tensor t = described(&d, HB_OP_BY_HIPBLASLT, 0x1000);
            bool batched = batches > 1 && !batch_error;
            assert_true(t.known && t.type == HB_FLOAT16 && t.num_dims == 2 + batched);
            assert_true(!batched || t.dims[0] == batches);
            assert_true(t.dims[batched] == 3 && t.dims[batched + 1] == 4);
        }
    batches = 5;
    batch_error = 0;
    assert_int_equal(described(&none, HB_OP_BY_HIPBLASLT, 0x1000).num_dims, 2);
    assert_int_equal(described(&d, HB_OP_BY_PLAN, 0x1000).num_dims, 2);
    assert_false(described(&d, HB_OP_BY_TABLE, 0x1000).known);
    for (uint8_t dims = HB_OP_MAX_DIMS - 1; dims <= HB_OP_MAX_DIMS; dims++) {
        made.tensors[0].num_dims = dims;
        hb_plan_remember(0x1000, &made);
        assert_int_equal(described(&d, HB_OP_BY_HIPBLASLT, 0x1000).num_dims, HB_OP_MAX_DIMS);
    }
    made.num_tensors = 0;
    hb_plan_remember(0x1000, &made);
    assert_false(described(&d, HB_OP_BY_HIPBLASLT, 0x1000).known);
    assert_false(described(&d, HB_OP_BY_PLAN, 0x1000).known);
    hb_plan_forget(0x1000);
}

/* ---- oneDNN ---- */

/* A memory as oneDNN 2 gives it away; what oneDNN 3 answers. */
typedef struct memory {
    int32_t num_dims;
    int64_t dims[12];
    int32_t type;
} memory;

static struct {
    memory of[5]; /* source, its gradient, weights, theirs, destination; no dims: NULL */
    int kind, fails;
} dnnl;

static int primitive_desc(uint64_t primitive, const void **desc)
{
    *desc = &dnnl;
    return dnnl.fails == 1 || primitive != 7;
}

static const void *query_md(const void *desc, int what, int index)
{
    assert_true(desc == &dnnl && index == 0);
    int at = what == 129 ? 0 : what == 130 ? 1 : what == 131 ? 2 : what == 132 ? 3 : 4;
    assert_true(what >= 129 && what <= 134);
    return what < 134 && dnnl.of[at].num_dims ? &dnnl.of[at] : NULL;
}

static int query(const void *desc, int what, int index, void *to)
{
    assert_true(desc == &dnnl && what == 2 && index == 0);
    memcpy(to, &dnnl.kind, sizeof dnnl.kind);
    return dnnl.fails == 2;
}

static int query_of_md(const void *md, int what, void *to)
{
    const memory *m = md;
    const int64_t *dims = m->dims;
    if (what == 256) memcpy(to, &m->num_dims, sizeof m->num_dims);
    if (what == 257) memcpy(to, &dims, sizeof dims);
    if (what == 258) memcpy(to, &m->type, sizeof m->type);
    return dnnl.fails == what;
}

static hb_describers dnnl_of(int version)
{
    return (hb_describers){.primitive_desc = primitive_desc,
                           .query_md = query_md,
                           .query = query,
                           .query_of_md = version == 3 ? query_of_md : NULL};
}

static memory memory_of(int32_t type, int32_t num_dims, const int64_t *dims)
{
    memory m = {.num_dims = num_dims, .type = type};
    memcpy(m.dims, dims, (size_t)num_dims * sizeof *dims);
    return m;
}

static void memories_of_onednn(void **state)
{
    static const enum hb_op_describer who[] = {HB_OP_BY_DNNL_SOURCE, HB_OP_BY_DNNL_WEIGHTS,
                                               HB_OP_BY_DNNL_DESTINATION};
    static const hb_dtype types[] = {0,        HB_FLOAT16, HB_BFLOAT16, HB_FLOAT32,
                                     HB_INT32, HB_INT8,    HB_UINT8,    HB_FLOAT64};
    static const int64_t dims[] = {2, 3, 4, 5, 6, 7, 8, 9, 10};
    (void)state;
    for (int version = 2; version <= 3; version++) {
        hb_describers d = dnnl_of(version), part;
        for (int place = 0; place < 5; place++) /* of which only one is told */
            for (int type = -1; type <= 8; type++)
                for (int n = 1; n <= HB_OP_MAX_DIMS + 1; n++) {
                    memset(&dnnl, 0, sizeof dnnl);
                    dnnl.of[place] = memory_of(type, n, dims);
                    for (int w = 0; w < 3; w++) {
                        hb_op_tensor t = described(&d, who[w], 7);
                        bool known =
                            type >= 1 && type <= 7 && n <= HB_OP_MAX_DIMS && place / 2 == w;
                        assert_int_equal(t.known, known);
                        if (!known) continue;
                        assert_true(t.type == types[type] && t.num_dims == n && !t.has_strides);
                        assert_memory_equal(t.dims, dims, (size_t)n * sizeof *dims);
                    }
                }
        dnnl.of[0] = memory_of(3, 2, dims);
        assert_true(described(&d, HB_OP_BY_DNNL_SOURCE, 7).known);
        assert_false(described(&d, HB_OP_BY_DNNL_SOURCE, 0).known);
        assert_false(described(&d, HB_OP_BY_DNNL_SOURCE, 8).known);
        part = d;
        part.query_md = NULL;
        assert_false(described(&part, HB_OP_BY_DNNL_SOURCE, 7).known);
        part = d;
        part.primitive_desc = NULL;
        assert_false(described(&part, HB_OP_BY_DNNL_SOURCE, 7).known);
        for (int i = 0; i < 4; i++) {
            static const int fails[] = {1, 256, 257, 258};
            dnnl.fails = fails[i];
            assert_true(described(&d, HB_OP_BY_DNNL_SOURCE, 7).known == (version == 2 && i > 0));
        }
    }
}

/* By the library's numbers, which are others since 3. */
static void kinds_of_onednn(void **state)
{
    static const char *const names[2][32] = {{NULL,
                                              "reorder",
                                              "shuffle",
                                              "concat",
                                              "sum",
                                              "convolution",
                                              "deconvolution",
                                              "eltwise",
                                              "softmax",
                                              "pooling",
                                              "lrn",
                                              "batch_normalization",
                                              "layer_normalization",
                                              "inner_product",
                                              "rnn",
                                              "gemm",
                                              "binary",
                                              "logsoftmax",
                                              "matmul",
                                              "resampling",
                                              "pooling",
                                              "reduction",
                                              "prelu",
                                              "softmax"},
                                             {NULL,
                                              "reorder",
                                              "shuffle",
                                              "concat",
                                              "sum",
                                              "convolution",
                                              "deconvolution",
                                              "eltwise",
                                              "lrn",
                                              "batch_normalization",
                                              "inner_product",
                                              "rnn",
                                              "gemm",
                                              "binary",
                                              "matmul",
                                              "resampling",
                                              "pooling",
                                              "reduction",
                                              "prelu",
                                              "softmax",
                                              "layer_normalization",
                                              "group_normalization"}};
    (void)state;
    memset(&dnnl, 0, sizeof dnnl);
    for (int version = 2; version <= 3; version++) {
        hb_describers d = dnnl_of(version), part = d;
        for (dnnl.kind = -1; dnnl.kind <= 32; dnnl.kind++) {
            const char *name =
                dnnl.kind > 0 && dnnl.kind < 32 ? names[version - 2][dnnl.kind] : NULL;
            assert_int_equal(hb_dnnl_kind(&d, 7), name ? dnnl.kind : 0);
            if (!name) continue;
            assert_memory_equal(hb_dnnl_kind_name(&d, dnnl.kind), "dnnl_", 5);
            assert_string_equal(hb_dnnl_kind_name(&d, dnnl.kind) + 5, name);
        }
        dnnl.kind = 1;
        part.query = NULL;
        assert_int_equal(hb_dnnl_kind(&part, 7), 0);
        dnnl.fails = 2;
        assert_int_equal(hb_dnnl_kind(&d, 7), 0);
        dnnl.fails = 0;
    }
}

/* Two for each multiply-add, counted one by one. */
static void work_of_onednn(void **state)
{
    static const struct {
        int v2, v3, n[3];
        int64_t from[5], weights[6], to[5];
        double flops;
    } rows[] = {
        {5,
         5,
         {4, 4, 4},
         {2, 3, 8, 9},
         {5, 3, 2, 2},
         {2, 5, 7, 8},
         2.0 * (2 * 5 * 7 * 8) * (3 * 2 * 2)},
        {5,
         5,
         {4, 5, 4},
         {2, 6, 8, 9},
         {3, 4, 2, 2, 2},
         {2, 12, 7, 8},
         2.0 * (2 * 12 * 7 * 8) * (2 * 2 * 2)}, /* in 3 groups */
        {6,
         6,
         {4, 4, 4},
         {2, 3, 4, 4},
         {5, 3, 2, 2},
         {2, 5, 5, 5},
         2.0 * (2 * 3 * 4 * 4) * (5 * 2 * 2)},
        {6,
         6,
         {4, 5, 4},
         {2, 6, 4, 4},
         {3, 4, 2, 2, 2},
         {2, 12, 5, 5},
         2.0 * (2 * 6 * 4 * 4) * (4 * 2 * 2)},
        {13, 10, {2, 2, 2}, {4, 6}, {5, 6}, {4, 5}, 2.0 * 4 * 5 * 6},
        {18, 14, {2, 2, 2}, {4, 6}, {6, 5}, {4, 5}, 2.0 * 4 * 5 * 6},
        {18, 14, {3, 3, 3}, {7, 4, 6}, {7, 6, 5}, {7, 4, 5}, 2.0 * 7 * 4 * 5 * 6},
        {7, 7, {2, 2, 2}, {4, 6}, {6, 5}, {4, 5}, 0},
        {5, 5, {2, 1, 2}, {4, 6}, {6}, {4, 5}, 0},
        {5, 5, {4, 4, 4}, {2, 3, 8, 9}, {0, 3, 2, 2}, {2, 0, 7, 8}, 0},
        {6, 6, {4, 4, 4}, {2, 0, 8, 9}, {5, 0, 2, 2}, {2, 5, 7, 8}, 0},
    };
    (void)state;
    for (int version = 2; version <= 3; version++)
        for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++)
            for (int missing = -1; missing < 3; missing++) {
                hb_describers d = dnnl_of(version);
                memset(&dnnl, 0, sizeof dnnl);
                dnnl.kind = version == 2 ? rows[i].v2 : rows[i].v3;
                dnnl.of[0] = memory_of(3, rows[i].n[0], rows[i].from);
                dnnl.of[2] = memory_of(3, rows[i].n[1], rows[i].weights);
                dnnl.of[4] = memory_of(3, rows[i].n[2], rows[i].to);
                if (missing >= 0) dnnl.of[2 * missing].num_dims = 0;
                assert_true(hb_describe_work(&d, 7) == (missing < 0 ? rows[i].flops : 0));
                assert_true(hb_describe_work(&d, 8) == 0);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_of_miopen),  cmocka_unit_test(layouts_have_batches),
        cmocka_unit_test(memories_of_onednn), cmocka_unit_test(kinds_of_onednn),
        cmocka_unit_test(work_of_onednn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
