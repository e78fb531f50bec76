/* SPDX-License-Identifier: MIT */
#include "arch.h"

#include <stddef.h>
#include <string.h>

/* CU counts, LDS and memory: ROCm's table of GPU hardware specifications, for the product in the
 * last column (one GCD where a board has two, as HIP counts devices). Waves per CU: LLVM's limits.
 */
static const sim_arch archs[] = {
    /* name, features, CUs, wave, SIMDs, waves, LDS, GiB, bus, MHz, MHz, SEs, L2, chip */
    {"gfx900", ":xnack-", 64, 64, 4, 40, 64, 16, 2048, 1500, 945, 4, 4096, 0x6860}, /* MI25 */
    {"gfx906", ":sramecc+:xnack-", 60, 64, 4, 40, 64, 32, 4096, 1725, 1000, 4, 4096,
     0x66a1}, /* MI50 */
    {"gfx908", ":sramecc+:xnack-", 120, 64, 4, 40, 64, 32, 4096, 1502, 1200, 8, 8192,
     0x738c}, /* MI100 */
    {"gfx90a", ":sramecc+:xnack-", 110, 64, 4, 32, 64, 64, 4096, 1700, 1600, 8, 8192,
     0x7408}, /* MI250X */
    {"gfx942", ":sramecc+:xnack-", 304, 64, 4, 32, 64, 192, 8192, 2100, 1300, 32, 4096,
     0x74a1}, /* MI300X */
    {"gfx950", ":sramecc+:xnack-", 256, 64, 4, 32, 160, 288, 8192, 2400, 2000, 32, 4096,
     0x75a0},                                                                 /* MI355X */
    {"gfx1030", "", 80, 32, 2, 32, 64, 16, 256, 2250, 1000, 4, 4096, 0x73bf}, /* RX 6900 XT */
    {"gfx1031", "", 40, 32, 2, 32, 64, 12, 192, 2581, 1000, 2, 3072, 0x73df}, /* RX 6700 XT */
    {"gfx1032", "", 32, 32, 2, 32, 64, 8, 128, 2491, 1000, 2, 2048, 0x73ff},  /* RX 6600 XT */
    {"gfx1100", "", 96, 32, 2, 32, 64, 24, 384, 2500, 1250, 6, 6144, 0x744c}, /* RX 7900 XTX */
    {"gfx1101", "", 60, 32, 2, 32, 64, 16, 256, 2430, 1219, 3, 4096, 0x747e}, /* RX 7800 XT */
    {"gfx1102", "", 32, 32, 2, 32, 64, 8, 128, 2655, 1125, 2, 2048, 0x7480},  /* RX 7600 */
    {"gfx1201", "", 64, 32, 2, 32, 64, 16, 256, 2970, 1258, 4, 8192, 0x7550}, /* RX 9070 XT */
};

const sim_arch *sim_arch_find(const char *name)
{
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++)
        if (strcmp(archs[i].name, name) == 0) return &archs[i];
    return NULL;
}

const sim_arch *sim_arch_at(unsigned i)
{
    return i < sizeof archs / sizeof archs[0] ? &archs[i] : NULL;
}
