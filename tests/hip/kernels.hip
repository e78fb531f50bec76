// SPDX-License-Identifier: MIT
//
// The kernels of the tests. kernels_gfx90a.co is made from this file, so that the tests need no HIP
// compiler; by tests/hip/build_kernels.sh.
#include <hip/hip_runtime.h>

extern "C" {

__device__ int table[4] = {1, 2, 3, 4};

__global__ void vadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void scale(float *a, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= s;
}

/* 4 KiB of LDS: occupancy has something to say. */
__global__ void reverse(int *a)
{
    __shared__ int tile[1024];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void sum_table(int *out)
{
    *out = table[0] + table[1] + table[2] + table[3];
}

__global__ void nop()
{
}
}
