/* SPDX-License-Identifier: MIT
 *
 * What the plugin tells from a name.
 */
#include "rules/name_class.h"

#include "base/base.h"

static bool is_loader(hb_str name)
{
    return (hb_str_begins(name, "enumerate(DataLoader)#") && hb_str_ends(name, ".__next__")) ||
           hb_str_begins(name, "enumerate(DataPipe)#");
}

static int collective(hb_str name)
{
    static const char *const kinds[] = {"broadcast", "reduce", "all_reduce", "all_gather",
                                        "reduce_scatter"};
    int library = hb_str_begins(name, "nccl:") ? 1 : hb_str_begins(name, "gloo:") ? 2 : 0;
    if (!library) return 0;
    hb_str rest = {name.s + 5, name.len - 5};
    for (size_t i = 0; i < HB_ARRAY_LEN(kinds); i++)
        if (hb_str_is(rest, kinds[i])) return library;
    return 0;
}

static bool kernel_uses_tc(hb_str name)
{
    static const char *const parts[] = {"h884",
                                        "s884",
                                        "h1688",
                                        "s1688",
                                        "hmma",
                                        "i8816",
                                        "16816",
                                        "dgrad_1x1_stride_2x2",
                                        "first_layer_wgrad_kernel",
                                        "conv1x1",
                                        "conv2d_c1_k1",
                                        "direct_group",
                                        "xmma_implicit_gemm",
                                        "xmma_sparse_conv",
                                        "xmma_warp_specialized_implicit_gemm",
                                        "xmma_gemm",
                                        "xmma_sparse_gemm",
                                        "c1688"};
    for (size_t i = 0; i < HB_ARRAY_LEN(parts); i++)
        if (memmem(name.s, name.len, parts[i], strlen(parts[i]))) return true;
    return false;
}

/* Behind "aten::". */
static const char *const eligible_aten[] = {"_convolution",
                                            "conv1d",
                                            "conv2d",
                                            "conv3d",
                                            "conv_tbc",
                                            "conv_transpose1d",
                                            "conv_transpose2d",
                                            "conv_transpose3d",
                                            "convolution",
                                            "cudnn_convolution",
                                            "cudnn_convolution_transpose",
                                            "prelu",
                                            "addmm",
                                            "addmv",
                                            "addr",
                                            "matmul",
                                            "mm",
                                            "mv",
                                            "linear",
                                            "addbmm",
                                            "baddbmm",
                                            "bmm",
                                            "chain_matmul",
                                            "linalg_multi_dot",
                                            "_thnn_fused_lstm_cell",
                                            "_thnn_fused_gru_cell",
                                            "lstm_cell",
                                            "gru_cell",
                                            "rnn_tanh_cell",
                                            "rnn_relu_cell",
                                            "cudnn_convolution_transpose_backward",
                                            "cudnn_convolution_backward_weight",
                                            "addmm_",
                                            "cudnn_convolution_transpose_backward_weight",
                                            "cudnn_convolution_transpose_backward_input",
                                            "cudnn_convolution_backward_input",
                                            "cudnn_convolution_backward"};

static const char *const eligible_other[] = {"CudnnConvolutionBackward",
                                             "BmmBackward0",
                                             "CudnnConvolutionTransposeBackward",
                                             "MmBackward",
                                             "AddmvBackward",
                                             "MvBackward",
                                             "AddmmBackward",
                                             "AddbmmBackward"};

static bool op_tc_eligible(hb_str name)
{
    bool aten = hb_str_begins(name, "aten::");
    const char *const *list = aten ? eligible_aten : eligible_other;
    size_t n = aten ? HB_ARRAY_LEN(eligible_aten) : HB_ARRAY_LEN(eligible_other);
    hb_str rest = aten ? (hb_str){name.s + 6, name.len - 6} : name;
    for (size_t i = 0; i < n; i++)
        if (hb_str_is(rest, list[i])) return true;
    return false;
}

unsigned hb_name_bits_of(hb_str name)
{
    unsigned bits = HB_NAME_SEEN;
    int library = collective(name);
    if (hb_str_begins(name, "ProfilerStep#")) bits |= HB_NAME_STEP;
    if (library == 1) bits |= HB_NAME_NCCL;
    if (library == 2) bits |= HB_NAME_GLOO;
    if (is_loader(name)) bits |= HB_NAME_LOADER;
    if (hb_str_begins(name, "Optimizer.step")) bits |= HB_NAME_OPTIMIZER;
    if (hb_str_begins(name, "Optimizer.") || hb_str_is(name, "DataParallel.forward") ||
        hb_str_is(name, "DistributedDataParallel.forward"))
        bits |= HB_NAME_NO_OPERATOR;
    if (kernel_uses_tc(name)) bits |= HB_NAME_TC_KERNEL;
    if (op_tc_eligible(name)) bits |= HB_NAME_TC_OP;
    if (hb_str_begins(name, "autograd::engine::evaluate_function:")) bits |= HB_NAME_BACKWARD;
    return bits;
}
