/* SPDX-License-Identifier: MIT
 *
 * What mutators are made of: libFuzzer's functions, and numbers that its seed decides.
 */
#ifndef HB_FUZZ_MUTATE_H
#define HB_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t most, unsigned int seed);

/** The next one, below `below`; 0 where that is 0. */
static inline uint32_t fuzz_random(uint64_t *state, size_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return below ? (uint32_t)((*state >> 33) % below) : 0;
}

#endif
