// SPDX-License-Identifier: MIT
//
// An ordinary HIP program, as hipcc builds it. Prints what it computed: "c[0]=4 c[n-1]=4 ms=...".
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call)                                                                                    \
    do {                                                                                           \
        hipError_t error = (call);                                                                 \
        if (error != hipSuccess) {                                                                 \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorName(error));                       \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

__global__ void vadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

template <typename T> __global__ void scale(T *a, T s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= s;
}

__device__ int counter = 41;

int main()
{
    const int n = 1 << 16;
    const size_t bytes = n * sizeof(float);
    std::vector<float> host(n, 1.0f);
    float *a, *b, *c, ms;
    hipStream_t stream;
    hipEvent_t begin, end;
    OK(hipMalloc(&a, bytes));
    OK(hipMalloc(&b, bytes));
    OK(hipMalloc(&c, bytes));
    OK(hipStreamCreate(&stream));
    OK(hipEventCreate(&begin));
    OK(hipEventCreate(&end));
    OK(hipMemcpy(a, host.data(), bytes, hipMemcpyHostToDevice));
    OK(hipMemcpyAsync(b, host.data(), bytes, hipMemcpyHostToDevice, stream));
    OK(hipMemsetAsync(c, 0, bytes, stream));
    OK(hipEventRecord(begin, stream));
    vadd<<<n / 256, 256, 0, stream>>>(a, b, c, n);
    scale<float><<<n / 256, 256, 0, stream>>>(c, 2.0f, n);
    OK(hipGetLastError());
    OK(hipEventRecord(end, stream));
    OK(hipStreamSynchronize(stream));
    OK(hipEventElapsedTime(&ms, begin, end));
    OK(hipMemcpy(host.data(), c, bytes, hipMemcpyDeviceToHost));

    int value;
    OK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), sizeof value));
    value++;
    OK(hipMemcpyToSymbol(HIP_SYMBOL(counter), &value, sizeof value));
    OK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), sizeof value));
    std::printf("c[0]=%g c[n-1]=%g counter=%d ms=%g\n", host[0], host[n - 1], value, ms);
    OK(hipFree(a));
    OK(hipFree(b));
    OK(hipFree(c));
    OK(hipEventDestroy(begin));
    OK(hipEventDestroy(end));
    OK(hipStreamDestroy(stream));
    return 0;
}
