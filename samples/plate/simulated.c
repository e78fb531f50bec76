/* SPDX-License-Identifier: MIT
 *
 * The kernels of plate.hip for the simulated GPU of tools/simhsa, where SIMHSA_KERNELS names this
 * library. The program itself is the same on real and simulated GPUs.
 */
#include "simhsa.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static void relax(const simhsa_dispatch *d)
{
    const struct {
        float *next;
        const float *now;
        int side;
    } *a = d->kernarg;
    for (int y = 1; y < a->side - 1; y++) {
        for (int i = y * a->side + 1; i < (y + 1) * a->side - 1; i++)
            a->next[i] =
                (a->now[i - 1] + a->now[i + 1] + a->now[i - a->side] + a->now[i + a->side]) / 4;
    }
}

static void largest_change(const simhsa_dispatch *d)
{
    const struct {
        unsigned *largest;
        const float *a, *b;
        int count;
    } *a = d->kernarg;
    float largest = 0;
    for (int i = 0; i < a->count; i++)
        largest = fmaxf(largest, fabsf(a->a[i] - a->b[i]));
    memcpy(a->largest, &largest, sizeof largest);
}

const simhsa_kernel simhsa_kernels[] = {
    {"_Z5relaxIfEvPT_PKS0_i", relax, 10000},
    {"_Z14largest_changePjPKfS1_i", largest_change, 15000},
    {NULL, NULL, 0},
};
