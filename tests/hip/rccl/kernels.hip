// SPDX-License-Identifier: MIT
//
// A kernel of a name as RCCL's have. kernels_gfx90a.co is made from this file, so that the tests need
// no HIP compiler; by tests/hip/build_kernels.sh gfx90a rccl.
#include <hip/hip_runtime.h>

extern "C" __global__ void ncclDevKernel_Generic_1()
{
}
