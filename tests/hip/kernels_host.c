/* SPDX-License-Identifier: MIT
 *
 * The kernels of kernels.hip, for the simulated GPU; C++ names are those of samples that hipcc
 * builds.
 */
#include "simhsa.h"

#include <stddef.h>
#include <string.h>

static void vadd(const simhsa_dispatch *d)
{
    const struct {
        const float *a, *b;
        float *c;
        int n;
    } *x = d->kernarg;
    for (int i = 0; i < x->n && i < (int)d->grid[0]; i++)
        x->c[i] = x->a[i] + x->b[i];
}

static void scale(const simhsa_dispatch *d)
{
    const struct {
        float *a, s;
        int n;
    } *x = d->kernarg;
    for (int i = 0; i < x->n && i < (int)d->grid[0]; i++)
        x->a[i] *= x->s;
}

static void reverse(const simhsa_dispatch *d)
{
    int *a = *(int *const *)d->kernarg, tile[1024];
    memcpy(tile, a, d->block[0] * sizeof *a);
    for (int i = 0; i < d->block[0]; i++)
        a[i] = tile[d->block[0] - 1 - i];
}

const simhsa_kernel simhsa_kernels[] = {
    {"vadd", vadd, 50000},
    {"scale", scale, 30000},
    {"reverse", reverse, SIMHSA_DEFAULT_DURATION},
    {"_Z4vaddPKfS0_Pfi", vadd, 50000},
    {"_Z5scaleIfEvPT_S0_i", scale, 30000},
    {NULL, NULL, 0},
};
