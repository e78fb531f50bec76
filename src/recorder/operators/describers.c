/* SPDX-License-Identifier: MIT */
#include "operators/describers.h"

#include <dlfcn.h>

#include "operators/plans.h"

/* ---- whom to ask ---- */

bool hb_describers_wanted(const hb_op_entry *row)
{
    for (int i = 0; i < row->num_inputs; i++)
        if (row->inputs[i].describer > HB_OP_BY_PLAN) return true;
    return hb_op_communicates(row);
}

void hb_describers_find(hb_describers *d, const void *function)
{
    const struct {
        const char *name;
        void *to;
    } wanted[] = {
        {"hipblasLtMatrixLayoutGetAttribute", &d->layout_attribute},
        {"miopenGetTensorDescriptorSize", &d->tensor_size},
        {"miopenGetTensorDescriptor", &d->tensor},
        {"dnnl_primitive_get_primitive_desc", &d->primitive_desc},
        {"dnnl_primitive_desc_query_md", &d->query_md},
        {"dnnl_primitive_desc_query", &d->query},
        {"dnnl_memory_desc_query", &d->query_of_md},
        {"ncclCommCount", &d->comm_size},
        {"ncclCommUserRank", &d->comm_rank},
        {"ncclGetErrorString", &d->comm_error},
        {"ncclGetVersion", &d->comm_version},
    };
    Dl_info info;
    *d = (hb_describers){0};
    void *library =
        dladdr(function, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!library) return;
    for (size_t i = 0; i < HB_ARRAY_LEN(wanted); i++) {
        void *found = dlsym(library, wanted[i].name);
        memcpy(wanted[i].to, &found, sizeof found);
    }
    dlclose(library);
}

/* ---- hipBLASLt: dimensions and type are known since the layout was made ---- */

static void describe_layout(const hb_describers *d, uint64_t layout, hb_op_tensor *t)
{
    enum { BATCH_COUNT = 0 };
    hb_op_description made;
    int32_t batch = 1;
    size_t got = 0;
    bool hidden = t->hidden;
    if (!hb_plan_recall(layout, &made) || made.num_tensors == 0) return;
    *t = made.tensors[0];
    t->hidden = hidden;
    if (!d->layout_attribute || !t->known || t->num_dims >= HB_OP_MAX_DIMS) return;
    if (d->layout_attribute(layout, BATCH_COUNT, &batch, sizeof batch, &got) || batch <= 1) return;
    memmove(t->dims + 1, t->dims, t->num_dims * sizeof *t->dims);
    t->dims[0] = batch;
    t->num_dims++;
}

/* ---- MIOpen ---- */

static void describe_miopen(const hb_describers *d, uint64_t descriptor, hb_op_tensor *t)
{
    static const hb_dtype types[] = {
        HB_FLOAT16, HB_FLOAT32,         HB_INT32,           HB_INT8, HB_INT8, HB_BFLOAT16,
        HB_FLOAT64, HB_FLOAT8_E4M3FNUZ, HB_FLOAT8_E5M2FNUZ, HB_INT64};
    int n = 0, type = 0, dims[HB_OP_MAX_DIMS] = {0}, strides[HB_OP_MAX_DIMS] = {0};
    if (!d->tensor || !d->tensor_size || !descriptor) return;
    if (d->tensor_size(descriptor, &n) || n < 1 || n > HB_OP_MAX_DIMS) return;
    if (d->tensor(descriptor, &type, dims, strides)) return;
    if (type < 0 || type >= (int)HB_ARRAY_LEN(types)) return;
    t->type = types[type];
    for (int i = 0; i < n; i++) {
        t->dims[i] = dims[i];
        t->strides[i] = strides[i];
    }
    t->num_dims = (uint8_t)n;
    t->known = t->has_strides = true;
}

/* ---- oneDNN: 2 gives its structure of a memory away, 3 answers for it ---- */

enum { QUERY_KIND = 2, QUERY_SOURCE = 129, QUERY_WEIGHTS = 131, QUERY_DESTINATION = 133 };
enum { QUERY_MD_DIMS_COUNT = 256, QUERY_MD_DIMS = 257, QUERY_MD_TYPE = 258 };

/* How a dnnl_memory_desc_t of oneDNN 2 begins. */
typedef struct md_v2 {
    int32_t num_dims;
    int64_t dims[12];
    int32_t type;
} md_v2;

static const void *primitive_desc(const hb_describers *d, uint64_t primitive)
{
    const void *desc = NULL;
    if (!d->primitive_desc || !primitive || d->primitive_desc(primitive, &desc)) return NULL;
    return desc;
}

static bool read_md(const hb_describers *d, const void *md, int32_t *n, const int64_t **dims,
                    int32_t *type)
{
    const md_v2 *old = md;
    if (d->query_of_md)
        return !d->query_of_md(md, QUERY_MD_DIMS_COUNT, n) &&
               !d->query_of_md(md, QUERY_MD_DIMS, dims) && !d->query_of_md(md, QUERY_MD_TYPE, type);
    *n = old->num_dims;
    *dims = old->dims;
    *type = old->type;
    return true;
}

static void describe_md(const hb_describers *d, const void *desc, int what, hb_op_tensor *t)
{
    static const hb_dtype types[] = {0,        HB_FLOAT16, HB_BFLOAT16, HB_FLOAT32,
                                     HB_INT32, HB_INT8,    HB_UINT8,    HB_FLOAT64};
    const void *md = d->query_md(desc, what, 0);
    const int64_t *dims = NULL;
    int32_t n = 0, type = 0;
    if (!md || !read_md(d, md, &n, &dims, &type)) return;
    if (n < 1 || n > HB_OP_MAX_DIMS || !dims || type < 1 || type >= (int)HB_ARRAY_LEN(types))
        return;
    memcpy(t->dims, dims, (size_t)n * sizeof *dims);
    t->num_dims = (uint8_t)n;
    t->type = types[type];
    t->known = true;
}

/* What a backward pass has not, its gradient stands for, which has the next number. */
static void describe_dnnl(const hb_describers *d, uint64_t primitive, int what, hb_op_tensor *t)
{
    const void *desc = primitive_desc(d, primitive);
    if (!desc || !d->query_md) return;
    describe_md(d, desc, what, t);
    if (!t->known) describe_md(d, desc, what + 1, t);
}

enum dnnl_kind { OTHER, CONVOLUTION, DECONVOLUTION, INNER_PRODUCT, MATMUL };

typedef struct kind_name {
    const char *name;
    enum dnnl_kind kind;
} kind_name;

/* By dnnl_primitive_kind_t. */
static const kind_name kinds_v2[HB_DNNL_KINDS] = {
    {NULL, OTHER},
    {"dnnl_reorder", OTHER},
    {"dnnl_shuffle", OTHER},
    {"dnnl_concat", OTHER},
    {"dnnl_sum", OTHER},
    {"dnnl_convolution", CONVOLUTION},
    {"dnnl_deconvolution", DECONVOLUTION},
    {"dnnl_eltwise", OTHER},
    {"dnnl_softmax", OTHER},
    {"dnnl_pooling", OTHER},
    {"dnnl_lrn", OTHER},
    {"dnnl_batch_normalization", OTHER},
    {"dnnl_layer_normalization", OTHER},
    {"dnnl_inner_product", INNER_PRODUCT},
    {"dnnl_rnn", OTHER},
    {"dnnl_gemm", OTHER},
    {"dnnl_binary", OTHER},
    {"dnnl_logsoftmax", OTHER},
    {"dnnl_matmul", MATMUL},
    {"dnnl_resampling", OTHER},
    {"dnnl_pooling", OTHER},
    {"dnnl_reduction", OTHER},
    {"dnnl_prelu", OTHER},
    {"dnnl_softmax", OTHER},
};
static const kind_name kinds_v3[HB_DNNL_KINDS] = {
    {NULL, OTHER},
    {"dnnl_reorder", OTHER},
    {"dnnl_shuffle", OTHER},
    {"dnnl_concat", OTHER},
    {"dnnl_sum", OTHER},
    {"dnnl_convolution", CONVOLUTION},
    {"dnnl_deconvolution", DECONVOLUTION},
    {"dnnl_eltwise", OTHER},
    {"dnnl_lrn", OTHER},
    {"dnnl_batch_normalization", OTHER},
    {"dnnl_inner_product", INNER_PRODUCT},
    {"dnnl_rnn", OTHER},
    {"dnnl_gemm", OTHER},
    {"dnnl_binary", OTHER},
    {"dnnl_matmul", MATMUL},
    {"dnnl_resampling", OTHER},
    {"dnnl_pooling", OTHER},
    {"dnnl_reduction", OTHER},
    {"dnnl_prelu", OTHER},
    {"dnnl_softmax", OTHER},
    {"dnnl_layer_normalization", OTHER},
    {"dnnl_group_normalization", OTHER},
};

static const kind_name *kinds_of(const hb_describers *d)
{
    return d->query_of_md ? kinds_v3 : kinds_v2;
}

int hb_dnnl_kind(const hb_describers *d, uint64_t primitive)
{
    const void *desc = primitive_desc(d, primitive);
    int32_t kind = 0;
    if (!desc || !d->query || d->query(desc, QUERY_KIND, 0, &kind)) return 0;
    return kind > 0 && kind < HB_DNNL_KINDS && kinds_of(d)[kind].name ? kind : 0;
}

const char *hb_dnnl_kind_name(const hb_describers *d, int kind)
{
    return kinds_of(d)[kind].name;
}

static double elements(const hb_op_tensor *t)
{
    double n = t->known ? 1 : 0;
    for (int i = 0; i < t->num_dims && t->known; i++)
        n *= (double)t->dims[i];
    return n;
}

static hb_op_tensor memory_of(const hb_describers *d, uint64_t primitive, int what)
{
    hb_op_tensor t = {0};
    describe_dnnl(d, primitive, what, &t);
    return t;
}

/* Two for each multiply-add. With groups, weights have one dimension more than images. */
double hb_describe_work(void *context, uint64_t primitive)
{
    const hb_describers *d = context;
    int kind = hb_dnnl_kind(d, primitive);
    if (!kind || kinds_of(d)[kind].kind == OTHER) return 0;
    hb_op_tensor from = memory_of(d, primitive, QUERY_SOURCE);
    hb_op_tensor weights = memory_of(d, primitive, QUERY_WEIGHTS);
    hb_op_tensor to = memory_of(d, primitive, QUERY_DESTINATION);
    if (!from.known || !weights.known || !to.known || weights.num_dims < 2) return 0;
    bool grouped = weights.num_dims > from.num_dims;
    double groups = grouped ? (double)weights.dims[0] : 1;
    double outputs = groups * (double)weights.dims[grouped];
    double inputs = groups * (double)weights.dims[grouped + 1];
    switch (kinds_of(d)[kind].kind) {
    case MATMUL: return 2 * elements(&to) * (double)from.dims[from.num_dims - 1];
    case DECONVOLUTION: return inputs > 0 ? 2 * elements(&from) * elements(&weights) / inputs : 0;
    default: return outputs > 0 ? 2 * elements(&to) * elements(&weights) / outputs : 0;
    }
}

/* ---- all of them ---- */

void hb_describe_outside(void *context, enum hb_op_describer who, uint64_t handle,
                         hb_op_tensor *tensor)
{
    const hb_describers *d = context;
    hb_op_description made;
    bool hidden = tensor->hidden;
    switch (who) {
    case HB_OP_BY_PLAN:
        if (!hb_plan_recall(handle, &made) || made.num_tensors == 0) return;
        *tensor = made.tensors[0];
        tensor->hidden = hidden;
        return;
    case HB_OP_BY_HIPBLASLT: describe_layout(d, handle, tensor); return;
    case HB_OP_BY_MIOPEN: describe_miopen(d, handle, tensor); return;
    case HB_OP_BY_DNNL_SOURCE: describe_dnnl(d, handle, QUERY_SOURCE, tensor); return;
    case HB_OP_BY_DNNL_WEIGHTS: describe_dnnl(d, handle, QUERY_WEIGHTS, tensor); return;
    case HB_OP_BY_DNNL_DESTINATION: describe_dnnl(d, handle, QUERY_DESTINATION, tensor); return;
    default: return;
    }
}
