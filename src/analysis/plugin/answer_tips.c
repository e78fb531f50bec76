/* SPDX-License-Identifier: MIT
 *
 * The plugin's explanations, word for word: they are a part of its answers.
 */
#include "plugin/answer_bodies.h"

#define OCCUPANCY                                                                             \
    "Est. Achieved Occupancy:\n"                                                              \
    "For most cases such as memory bandwidth bounded kernels, the higher the better. "        \
    "Occupancy is the ratio of active warps on an SM to the maximum number of active warps "  \
    "supported by the SM. The theoretical occupancy of a kernel is upper limit occupancy of " \
    "this kernel, limited by multiple factors such as kernel shape, kernel used resource, "   \
    "and the GPU compute capability.\n"                                                       \
    "Est. Achieved Occupancy of a kernel, OCC_K = min(threads of the kernel / SM number / "   \
    "max threads per SM, theoretical occupancy of the kernel). "

const char hb_tip_gpu_head[] =
    "The GPU usage metrics:\n\nGPU Utilization:\n"
    "GPU busy time / All steps time. The higher, the better. GPU busy time is the time during "
    "which there is at least one GPU kernel running on it. All steps time is the total time of "
    "all profiler steps(or called as iterations).\n";
const char hb_tip_sm[] =
    "\nEst. SM Efficiency:\n"
    "Estimated Stream Multiprocessor Efficiency. The higher, the better. This metric of a kernel, "
    "SM_Eff_K = min(blocks of this kernel / SM number of this GPU, 100%). This overall number is "
    "the sum of all kernels' SM_Eff_K weighted by kernel's execution duration, divided by all "
    "steps time.\n";
const char hb_tip_occupancy[] =
    "\n" OCCUPANCY "This overall number is the weighted average of all kernels' OCC_K "
    "using kernel's execution duration as weight. It shows fine-grained low-level GPU "
    "utilization.\n";
const char hb_tip_tc[] =
    "\nKernel using Tensor Cores:\n"
    "Total GPU Time for Tensor Core kernels / Total GPU Time for all kernels.\n";
const char hb_tip_occupancy_table[] =
    OCCUPANCY "This \"Mean\" number is the weighted average of all calls' OCC_K of the kernel, "
              "using each call's execution duration as weight. It shows fine-grained low-level GPU "
              "utilization.";
const char hb_tip_blocks[] =
    "Blocks Per SM = blocks of this kernel / SM number of this GPU.\n"
    "If this number is less than 1, it indicates the GPU multiprocessors are not fully utilized.\n"
    "\"Mean Blocks per SM\" is the weighted average of all calls of this kernel, using each call's "
    "execution duration as weight.";
const char hb_tip_op_tc_eligible[] = "Whether this operator is eligible to use Tensor Cores.";
const char hb_tip_op_tc_self[] = "Time of self-kernels with Tensor Cores / Time of self-kernels.";
const char hb_tip_op_tc_total[] = "Time of kernels with Tensor Cores / Time of kernels.";
const char hb_tip_kernel_tc[] = "Whether this kernel uses Tensor Cores.";
const char hb_tip_kernel_op_tc[] =
    "Whether the operator launched this kernel is eligible to use Tensor Cores.";
