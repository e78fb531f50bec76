// SPDX-License-Identifier: MIT
//
// The kernels on the GPU. One thread makes one element of the result, but for gemm and sums, where
// the threads of a block work together through shared memory.
//
// This file is read by two compilers. hipcc makes code objects of it (build_kernels.sh). The C
// compiler makes of the same text what a simulated GPU runs (../simulated/kernels.c): there a block's
// threads are a loop. So it keeps to what C and HIP have in common, and threads that wait for each
// other are written as loops that follow each other:
//
//     EACH_THREAD(t) { ... }    once for each thread t of the block; all have done it when it ends
//     EACH_ITEM(i, n) { ... }   once for each i < n, spread over all blocks, one a thread
//     PER_THREAD                 the size of an array that holds a number a thread from one loop to
//                                the next, and
//     OWN(t)                     its place there
#include "kernels.h"

#ifndef DIGITS_ON_HOST
#include <hip/hip_runtime.h>

#define KERNEL(name) \
    extern "C" __global__ void __launch_bounds__(KERNEL_BLOCK) name(struct name##_args a)
#define EACH_THREAD(t) for (int t = threadIdx.x, left = 1; left; left = 0, __syncthreads())
#define EACH_ITEM(i, n) \
    for (int i = blockIdx.x * KERNEL_BLOCK + threadIdx.x, left = 1; left && i < (n); left = 0)
#define PER_THREAD 1
#define OWN(t)     0
#endif

KERNEL(fill)
{
    EACH_ITEM(i, a.n)
        a.x[i] = a.value;
}

KERNEL(scale)
{
    EACH_ITEM(i, a.n)
        a.x[i] *= a.factor;
}

KERNEL(add_scaled)
{
    EACH_ITEM(i, a.n)
        a.y[i] += a.factor * a.x[i];
}

// A block makes one tile of c. Along k it goes tile by tile: its threads load one of each factor
// together, and each then takes a row of one and a column of the other. One column more than a tile
// has keeps threads of a column off each other's memory bank.
KERNEL(gemm)
{
    __shared__ float tile_a[KERNEL_TILE][KERNEL_TILE + 1], tile_b[KERNEL_TILE][KERNEL_TILE + 1];
    float sum[PER_THREAD];
    int row0 = blockIdx.y * KERNEL_TILE, column0 = blockIdx.x * KERNEL_TILE;
    int first = a.sum_batches ? 0 : blockIdx.z, last = a.sum_batches ? a.batches - 1 : first;
    float *c = a.c + (int64_t)first * a.c_batch;

    EACH_THREAD(t)
        sum[OWN(t)] = 0;
    for (int batch = first; batch <= last; batch++) {
        const float *from_a = a.a + (int64_t)batch * a.a_batch;
        const float *from_b = a.b + (int64_t)batch * a.b_batch;
        for (int k0 = 0; k0 < a.k; k0 += KERNEL_TILE) {
            EACH_THREAD(t) {
                int y = t / KERNEL_TILE, x = t % KERNEL_TILE;
                int row = row0 + y, column = column0 + x;
                tile_a[y][x] =
                    row < a.m && k0 + x < a.k ? from_a[row * a.a_row + (k0 + x) * a.a_column] : 0;
                tile_b[y][x] = k0 + y < a.k && column < a.n
                                   ? from_b[(k0 + y) * a.b_row + column * a.b_column]
                                   : 0;
            }
            EACH_THREAD(t) {
                for (int p = 0; p < KERNEL_TILE; p++)
                    sum[OWN(t)] += tile_a[t / KERNEL_TILE][p] * tile_b[p][t % KERNEL_TILE];
            }
        }
    }
    EACH_THREAD(t) {
        int row = row0 + t / KERNEL_TILE, column = column0 + t % KERNEL_TILE;
        if (row < a.m && column < a.n) {
            float *out = &c[row * a.n + column];
            *out = (a.accumulate ? *out : 0) + sum[OWN(t)];
        }
    }
}

KERNEL(broadcast_rows)
{
    EACH_ITEM(i, a.m * a.n)
        a.y[i] = a.row[i % a.n];
}

KERNEL(im2col)
{
    int area = a.height * a.width, taps = a.side * a.side, half = a.side / 2;
    EACH_ITEM(i, a.planes * taps * area) {
        int plane = i / (taps * area), tap = i / area % taps;
        int y = i % area / a.width + tap / a.side - half, x = i % a.width + tap % a.side - half;
        int inside = y >= 0 && y < a.height && x >= 0 && x < a.width;
        a.columns[i] = inside ? a.image[plane * area + y * a.width + x] : 0;
    }
}

// Each pixel gathers what was made of it, so that no two threads add to the same one.
KERNEL(col2im)
{
    int area = a.height * a.width, taps = a.side * a.side, half = a.side / 2;
    EACH_ITEM(i, a.planes * area) {
        int plane = i / area, y = i % area / a.width, x = i % a.width;
        float sum = 0;
        for (int tap = 0; tap < taps; tap++) {
            int from_y = y - (tap / a.side - half), from_x = x - (tap % a.side - half);
            if (from_y >= 0 && from_y < a.height && from_x >= 0 && from_x < a.width)
                sum += a.columns[(plane * taps + tap) * area + from_y * a.width + from_x];
        }
        a.image[i] = sum;
    }
}

KERNEL(add_channel_bias)
{
    EACH_ITEM(i, a.images * a.channels * a.area)
        a.y[i] += a.b[i / a.area % a.channels];
}

// Each thread sums up some numbers of the block's channel; then, time and again, one half of the
// threads adds what the other half has.
KERNEL(sum_channels)
{
    __shared__ float sums[KERNEL_BLOCK];
    EACH_THREAD(t) {
        sums[t] = 0;
        for (int i = t; i < a.images * a.area; i += KERNEL_BLOCK)
            sums[t] += a.y[(i / a.area * a.channels + (int)blockIdx.x) * a.area + i % a.area];
    }
    for (int half = KERNEL_BLOCK / 2; half > 0; half /= 2) {
        EACH_THREAD(t) {
            if (t < half) sums[t] += sums[t + half];
        }
    }
    EACH_THREAD(t) {
        if (t == 0) a.b[blockIdx.x] += sums[0];
    }
}

KERNEL(relu)
{
    EACH_ITEM(i, a.n)
        a.y[i] = a.x[i] > 0 ? a.x[i] : 0;
}

KERNEL(relu_backward)
{
    EACH_ITEM(i, a.n)
        a.dx[i] = a.x[i] > 0 ? a.dy[i] : 0;
}

KERNEL(max_pool)
{
    int rows = a.height / 2, columns = a.width / 2;
    EACH_ITEM(i, a.planes * rows * columns) {
        const float *x = a.x + i / (rows * columns) * a.height * a.width;
        int corner = i / columns % rows * 2 * a.width + i % columns * 2, best = corner;
        if (x[corner + 1] > x[best]) best = corner + 1;
        if (x[corner + a.width] > x[best]) best = corner + a.width;
        if (x[corner + a.width + 1] > x[best]) best = corner + a.width + 1;
        a.y[i] = x[best];
        a.chosen[i] = best;
    }
}

// Windows do not overlap, so no two threads write the same element.
KERNEL(max_pool_backward)
{
    EACH_ITEM(i, a.planes * a.area_out)
        a.dx[i / a.area_out * a.area_in + a.chosen[i]] = a.dy[i];
}

KERNEL(log_softmax)
{
    EACH_ITEM(i, a.m) {
        const float *x = a.x + i * a.n;
        float highest = x[0], sum = 0;
        for (int j = 1; j < a.n; j++)
            highest = fmaxf(highest, x[j]);
        for (int j = 0; j < a.n; j++)
            sum += expf(x[j] - highest);
        for (int j = 0; j < a.n; j++)
            a.y[i * a.n + j] = x[j] - highest - logf(sum);
    }
}

KERNEL(log_softmax_backward)
{
    EACH_ITEM(i, a.m) {
        float sum = 0;
        for (int j = 0; j < a.n; j++)
            sum += a.dy[i * a.n + j];
        for (int j = 0; j < a.n; j++)
            a.dx[i * a.n + j] = a.dy[i * a.n + j] - expf(a.y[i * a.n + j]) * sum;
    }
}

KERNEL(nll_loss)
{
    __shared__ float sums[KERNEL_BLOCK];
    EACH_THREAD(t) {
        sums[t] = 0;
        for (int i = t; i < a.m; i += KERNEL_BLOCK)
            sums[t] -= a.log_p[i * a.n + (int)a.labels[i]];
    }
    for (int half = KERNEL_BLOCK / 2; half > 0; half /= 2) {
        EACH_THREAD(t) {
            if (t < half) sums[t] += sums[t + half];
        }
    }
    EACH_THREAD(t) {
        if (t == 0) *a.loss = sums[0] / (float)a.m;
    }
}

KERNEL(nll_loss_backward)
{
    EACH_ITEM(i, a.m * a.n)
        a.dlog_p[i] = i % a.n == a.labels[i / a.n] ? -1.0f / (float)a.m : 0;
}

KERNEL(argmax)
{
    EACH_ITEM(i, a.m) {
        int best = 0;
        for (int j = 1; j < a.n; j++) {
            if (a.x[i * a.n + j] > a.x[i * a.n + best]) best = j;
        }
        a.best[i] = best;
    }
}
