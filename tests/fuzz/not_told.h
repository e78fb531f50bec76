/* SPDX-License-Identifier: MIT
 *
 * For targets that read texts and tables, or check what was written letter by letter: libFuzzer is
 * not told of comparisons, which took two fifths of the time. These are linked in place of its own
 * (--wrap, meson.build); those of memcmp() and strcmp() stay, and are what tells it words.
 */
#ifndef HB_FUZZ_NOT_TOLD_H
#define HB_FUZZ_NOT_TOLD_H

#include <stdint.h>

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#define NOT_TOLD(name, type)            \
    void __wrap_##name(type a, type b); \
    void __wrap_##name(type a, type b)  \
    {                                   \
        (void)a;                        \
        (void)b;                        \
    }
NOT_TOLD(__sanitizer_cov_trace_cmp1, uint8_t)
NOT_TOLD(__sanitizer_cov_trace_cmp2, uint16_t)
NOT_TOLD(__sanitizer_cov_trace_cmp4, uint32_t)
NOT_TOLD(__sanitizer_cov_trace_cmp8, uint64_t)
NOT_TOLD(__sanitizer_cov_trace_const_cmp1, uint8_t)
NOT_TOLD(__sanitizer_cov_trace_const_cmp2, uint16_t)
NOT_TOLD(__sanitizer_cov_trace_const_cmp4, uint32_t)
NOT_TOLD(__sanitizer_cov_trace_const_cmp8, uint64_t)

#endif

#endif
