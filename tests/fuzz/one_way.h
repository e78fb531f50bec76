/* SPDX-License-Identifier: MIT
 *
 * For targets that do much with an input, so that libFuzzer tries more of them: of what can be
 * asked in several ways an input is asked in one, which its bytes decide. Who replays inputs asks
 * all.
 */
#ifndef HB_FUZZ_ONE_WAY_H
#define HB_FUZZ_ONE_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fuzz.h"
#include "not_told.h"

static uint32_t input_hash;

static inline void begin_input(const uint8_t *data, size_t size)
{
    input_hash = fuzz_hash(data, size);
}

/* Whether the input is asked in this way, of so many. Choices of different questions have nothing
 * to do with each other. */
static inline bool asks_way(uint32_t question, uint32_t way, uint32_t ways)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    uint32_t hash = (input_hash ^ question * 0x9e3779b9u) * 0x85ebca6bu;
    return (hash >> 16) % ways == way;
#else
    (void)question;
    (void)way;
    (void)ways;
    return true;
#endif
}

#endif
