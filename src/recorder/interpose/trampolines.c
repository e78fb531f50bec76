/* SPDX-License-Identifier: MIT */
#include "interpose/trampolines.h"

#include <stdatomic.h>

hb_thunk_fn hb_thunk_real[HB_THUNKS];
_Atomic uint32_t hb_thunks_on;

/* n is an octal number with a leading 0. */
#define THUNK(n)                                                         \
    static uint64_t thunk_##n(HB_THUNK_PARAMETERS)                       \
    {                                                                    \
        if (!atomic_load_explicit(&hb_thunks_on, memory_order_relaxed))  \
            return hb_thunk_real[n](HB_THUNK_ARGUMENTS);                 \
        return hb_thunk_call(n, (const uint64_t[]){HB_THUNK_ARGUMENTS}); \
    }
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define SIXTY_FOUR(X, n) \
    EIGHT(X, n##0)       \
    EIGHT(X, n##1)       \
    EIGHT(X, n##2) EIGHT(X, n##3) EIGHT(X, n##4) EIGHT(X, n##5) EIGHT(X, n##6) EIGHT(X, n##7)
#define ALL(X)        \
    SIXTY_FOUR(X, 00) \
    SIXTY_FOUR(X, 01) \
    SIXTY_FOUR(X, 02) \
    SIXTY_FOUR(X, 03) \
    SIXTY_FOUR(X, 04) SIXTY_FOUR(X, 05) SIXTY_FOUR(X, 06) SIXTY_FOUR(X, 07)

ALL(THUNK)

#define ADDRESS(n) thunk_##n,
const hb_thunk_fn hb_thunks[HB_THUNKS] = {ALL(ADDRESS)};
