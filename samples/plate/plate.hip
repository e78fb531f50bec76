// SPDX-License-Identifier: MIT
//
// How warm is a metal plate in the end whose edges are held at given temperatures? A HIP program as
// there are many: it knows nothing of hipboard, and `hipboard record -- plate` shows what it does.
//
//     plate [SIDE]       points along an edge, 32 by default
//
// By Jacobi's method every point becomes the mean of its four neighbours, again and again, until
// nothing changes. With x y at the edges the answer is x y everywhere, which is how it is checked.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

constexpr int block_side = 16;
constexpr int sweeps_between_looks = 50, most_sweeps = 100000;
constexpr float settled = 1e-6f, tolerance = 1e-3f;

#define OK(call)                                                                    \
    do {                                                                            \
        hipError_t error = (call);                                                  \
        if (error != hipSuccess) {                                                  \
            std::fprintf(stderr, "plate: %s: %s\n", #call, hipGetErrorName(error)); \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

template <typename T> __global__ void relax(T *next, const T *now, int side)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= side - 1 || y >= side - 1) return;
    int i = y * side + x;
    next[i] = (now[i - 1] + now[i + 1] + now[i - side] + now[i + side]) / 4;
}

// Differences are not negative, and such floats are in the order of their bits.
__global__ void largest_change(unsigned *largest, const float *a, const float *b, int count)
{
    __shared__ float changes[block_side * block_side];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    changes[t] = i < count ? fabsf(a[i] - b[i]) : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) changes[t] = fmaxf(changes[t], changes[t + half]);
        __syncthreads();
    }
    if (t == 0) atomicMax(largest, __float_as_uint(changes[0]));
}

static float answer(int x, int y, int side)
{
    return float(x) / float(side - 1) * float(y) / float(side - 1);
}

// The edges as they are held, and the inside cold.
static std::vector<float> cold_plate(int side)
{
    std::vector<float> plate(size_t(side) * side, 0.0f);
    for (int y = 0; y < side; y++) {
        for (int x = 0; x < side; x++) {
            if (x == 0 || y == 0 || x == side - 1 || y == side - 1)
                plate[y * side + x] = answer(x, y, side);
        }
    }
    return plate;
}

class Solver {
  public:
    explicit Solver(int side) : side(side), count(side * side), host(cold_plate(side))
    {
        size_t bytes = host.size() * sizeof(float);
        OK(hipStreamCreate(&stream));
        OK(hipMalloc(&now, bytes));
        OK(hipMalloc(&next, bytes));
        OK(hipMalloc(&largest, sizeof *largest));
        OK(hipHostMalloc(&host_largest, sizeof *host_largest, hipHostMallocDefault));
        OK(hipMemcpyAsync(now, host.data(), bytes, hipMemcpyHostToDevice, stream));
        OK(hipMemcpyAsync(next, now, bytes, hipMemcpyDeviceToDevice, stream));
    }

    ~Solver()
    {
        OK(hipHostFree(host_largest));
        OK(hipFree(largest));
        OK(hipFree(next));
        OK(hipFree(now));
        OK(hipStreamDestroy(stream));
    }

    // The number of sweeps that it took.
    int solve()
    {
        int sweeps = 0;
        do {
            for (int i = 0; i < sweeps_between_looks; i++)
                sweep();
            sweeps += sweeps_between_looks;
        } while (change() > settled && sweeps < most_sweeps);
        return sweeps;
    }

    float largest_error()
    {
        float error = 0;
        OK(hipMemcpy(host.data(), now, host.size() * sizeof(float), hipMemcpyDeviceToHost));
        for (int i = 0; i < count; i++)
            error = std::fmax(error, std::fabs(host[i] - answer(i % side, i / side, side)));
        return error;
    }

  private:
    void sweep()
    {
        int blocks = (side + block_side - 1) / block_side;
        relax<float>
            <<<dim3(blocks, blocks), dim3(block_side, block_side), 0, stream>>>(next, now, side);
        OK(hipGetLastError());
        std::swap(now, next);
    }

    // Of any point, by the last sweep.
    float change()
    {
        constexpr int threads = block_side * block_side;
        OK(hipMemsetAsync(largest, 0, sizeof *largest, stream));
        largest_change<<<(count + threads - 1) / threads, threads, 0, stream>>>(largest, now, next,
                                                                                count);
        OK(hipGetLastError());
        OK(hipMemcpyAsync(host_largest, largest, sizeof *largest, hipMemcpyDeviceToHost, stream));
        OK(hipStreamSynchronize(stream));
        float value;
        std::memcpy(&value, host_largest, sizeof value);
        return value;
    }

    int side, count;
    std::vector<float> host;
    hipStream_t stream;
    float *now, *next;
    unsigned *largest, *host_largest;
};

int main(int argc, char **argv)
{
    int side = argc > 1 ? std::atoi(argv[1]) : 32;
    if (side < 3 || side > 1024) {
        std::fprintf(stderr, "usage: plate [SIDE], a number from 3 to 1024\n");
        return 2;
    }
    Solver solver(side);
    int sweeps = solver.solve();
    float error = solver.largest_error();
    std::printf("%d sweeps over %d x %d points; largest error %.1e\n", sweeps, side, side, error);
    return error < tolerance ? 0 : 1;
}
