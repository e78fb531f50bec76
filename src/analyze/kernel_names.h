/* SPDX-License-Identifier: MIT
 *
 * The built-in rules: word, patterns. The order tells apart what more than one would match: fused
 * kernels of torch.compile carry the names of all their operators, and norms contain reductions.
 *
 * Sources of the names: Tensile and hipBLASLt ("Cijk_..._MI16x16x1_", where MI is the shape of the
 * matrix instruction), composable_kernel ("xdl" is MFMA, ck_tile always uses matrix instructions),
 * MIOpen ("igemm_*_gtcx*" is MFMA, "miopenSp3AsmConv" Winograd), AITER, rocPRIM, RCCL, PyTorch,
 * Triton's inductor, cuBLAS and cuDNN, FBGEMM, DeepEP. What a kernel takes in brackets is no part
 * of its name here.
 */
#ifndef HB_ANALYZE_KERNEL_NAMES_H
#define HB_ANALYZE_KERNEL_NAMES_H

static const struct {
    const char *word;
    const char *patterns[40];
} built_in[] = {
    {"communication",
     {"nccl", "rccl", "mscclpp", "|msccl|", "oneccl", "cross_device_reduce", "allreduce_",
      "all_reduce", "allgather", "all_gather", "reducescatter", "reduce_scatter", "all_to_all",
      "alltoall", "quickreduce", "nvshmem", "rocshmem", "symm_mem",
      "|ep::internode", "|ep::intranode"}},
    {"elementwise", {"^triton_poi_"}},
    {"norm", {"cudnn*bn_fw", "cudnn*bn_bw", "cudnn*norm"}},
    {"softmax", {"^triton_red_*softmax", "^triton_per_*softmax"}},
    {"norm", {"^triton_red_*norm", "^triton_per_*norm"}},
    {"reduction", {"^triton_red_", "^triton_per_"}},
    {"attention", {"fmha", "flash", "|attn", "attention", "|mha|", "|mla_", "sdpa"}},
    {"convolution",
     {"igemm_fwd_",
      "igemm_bwd_",
      "igemm_wrw_",
      "miopenSp3AsmConv",
      "miopenGcnAsmConv",
      "gcnAsmConv",
      "MIOpenConv",
      "MIOpenCvD3x3",
      "winograd",
      "convolution",
      "|conv|",
      "conv1d",
      "conv2d",
      "conv3d",
      "conv_fwd",
      "conv_bwd",
      "grouped_conv",
      "naive_conv",
      "conv_depthwise",
      "implicit_gemm",
      "implicit_convolve",
      "dgrad",
      "wgrad",
      "fprop",
      "im2col",
      "im2d2col",
      "col2im",
      "cudnn",
      "convolve",
      "fft2d"}},
    {"gemm",
     {"Cijk_", "~bgemm", "gemv", "matmul", "|mm|", "|bmm|", "nvjet", "cutlass", "splitKreduce",
      "triton_tem_", "fused_moe", "|fmoe", "wvSplitK", "LLMM1", "|cublas", "hipblaslt",
      "rocblas_dot"}},
    {"softmax", {"softmax"}},
    {"loss", {"nll_loss", "cross_entropy", "_loss_", "|mse_", "smooth_l1", "bce_"}},
    {"optimizer", {"multi_tensor_apply", "|adam", "|sgd|", "|lamb|", "FusedOptimizer"}},
    {"norm",
     {"layer_norm", "layernorm", "rms_norm", "rmsnorm", "batch_norm", "batchnorm", "group_norm",
      "groupnorm", "instance_norm", "instancenorm", "RowwiseMoments", "GammaBeta",
      "ComputeFusedParams", "ComputeInternalGradients", "bn_fw_", "bn_bw_", "cuComputeGradInput",
      "cuApplyLayerNorm", "compute_grad_weight_bias"}},
    {"pooling", {"pool", "upsample", "interpolate", "grid_sampl"}},
    {"random",
     {"distribution_", "dropout", "masked_scale", "philox", "curand", "rocrand", "hiprand",
      "bernoulli", "randperm"}},
    {"sort",
     {"sort", "topk", "radix", "onesweep", "merge_path", "mergepath", "lookback_scan", "|scan|",
      "scan_kernel", "cumsum", "partition_kernel", "histogram", "unique"}},
    {"index",
     {"embedding", "index_", "indexSelect", "indexFunc", "indexing", "gather", "scatter", "|take|",
      "masked_select", "masked_scatter"}},
    {"copy",
     {"direct_copy", "copy_kernel", "CatArrayBatchedCopy", "copyBuffer", "fillBuffer",
      "FillFunctor", "memcpy", "memset", "transpose", "permute", "|copy", "copy_device", "pad_"}},
    {"reduction",
     {"reduce", "reduction", "lpnorm_cleanup", "lpmax_cleanup", "|sum|", "|mean|", "|argmax|",
      "|argmin|", "compute_grad_weight"}},
    {"elementwise", {"elementwise", "pointwise",  "unrolled",
                     "relu",        "gelu",       "silu",
                     "swiglu",      "sigmoid",    "|tanh",
                     "act_and_mul", "activation", "OpTensor",
                     "Op1dTensor",  "Op2dTensor", "Op3dTensor",
                     "Op4dTensor",  "Op5dTensor", "SubTensorOp",
                     "rotary",      "|rope",      "|add|",
                     "|mul|",       "|sub|",      "|div|",
                     "|axpy",       "|scal|",     "transform_kernel",
                     "|cast",       "quantize"}},
};

/* Single precision without matrix instructions, as NVIDIA's libraries call it. Looked at first:
 * "xmma" stands before such, too. */
static const char *const uses_none[] = {"_sgemm_", "_scudnn_", "_simt_", "_ffma_"};

static const char *const uses_matrix[] = {
    /* AMD */
    "Cijk_*_MI#x#x",
    "mfma",
    "smfmac",
    "wmma",
    "xdlops",
    "|xdl|",
    "_xdl_",
    "ck_tile*fmha",
    "ck_tile*gemm",
    "igemm_fwd_gtcx",
    "igemm_bwd_gtcx",
    "igemm_wrw_gtcx",
    "aiter::fmha_",
    "aiter::*gemm",
    "aiter::fmoe",
    /* NVIDIA */
    "h884",
    "s884",
    "h1688",
    "s1688",
    "c1688",
    "i8816",
    "16816",
    "hmma",
    "imma",
    "wgmma",
    "|tensorop",
    "nvjet",
    "xmma_gemm",
    "xmma_implicit_gemm",
    "xmma_fprop",
    "xmma_dgrad",
    "xmma_wgrad",
    "xmma_sparse",
};

#endif
