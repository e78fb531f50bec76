/* SPDX-License-Identifier: MIT
 *
 * A small random number generator (splitmix64). Every use makes its own from the program's seed and
 * a stream number, so what is drawn never depends on which thread draws first.
 */
#ifndef DIGITS_RNG_H
#define DIGITS_RNG_H

#include <math.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline struct rng rng_make(uint64_t seed, uint64_t stream)
{
    struct rng rng = {seed};
    rng.state = rng_next(&rng) ^ (stream * 0xd1342543de82ef95u);
    return rng;
}

/* Uniform in [low, high). */
static inline float rng_uniform(struct rng *rng, float low, float high)
{
    return low + (high - low) * (float)(rng_next(rng) >> 40) * 0x1p-24f;
}

/* Uniform in [0, n). The bias of the remainder is below n / 2^64. */
static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
    return rng_next(rng) % n;
}

#endif
