/* SPDX-License-Identifier: MIT */
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

#if defined __aarch64__
#include <sys/auxv.h>
#endif

#define POLYNOMIAL 0x82f63b78u /* bit-reversed 0x1edc6f41 */

/* table[n][b]: what byte b followed by n zero bytes adds. Eight of them take eight bytes a turn. */
static uint32_t table[8][256];

static uint32_t shift_byte(uint32_t crc)
{
    for (int bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
    return crc;
}

static void make_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = shift_byte(byte);
        for (int n = 0; n < 8; n++) {
            table[n][byte] = crc;
            crc = crc >> 8 ^ shift_byte(crc & 0xff);
        }
    }
}

static uint64_t load_little_endian_64(const unsigned char *p)
{
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--)
        word = word << 8 | p[i];
    return word;
}

uint32_t hb_crc32c_table(const void *data, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);

    const unsigned char *p = data;
    uint32_t crc = ~0u;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word = load_little_endian_64(p) ^ crc;
        crc = 0;
        for (int i = 0; i < 8; i++)
            crc ^= table[7 - i][word >> 8 * i & 0xff];
    }
    for (; size > 0; size--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

#if defined __x86_64__

__attribute__((target("sse4.2"))) static uint32_t by_instruction(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t crc = ~0u;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        crc = __builtin_ia32_crc32di(crc, word);
    }
    for (; size > 0; size--, p++)
        crc = __builtin_ia32_crc32qi((uint32_t)crc, *p);
    return ~(uint32_t)crc;
}

hb_crc32c_fn hb_crc32c_hardware(void)
{
    return __builtin_cpu_supports("sse4.2") ? by_instruction : NULL;
}

#elif defined __aarch64__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#define HWCAP_CRC32_BIT (1ul << 7) /* of <asm/hwcap.h> */

/* Inline assembly, as the intrinsics of gcc and clang have different names. */
static uint32_t by_instruction(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint32_t crc = ~0u;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
    }
    for (; size > 0; size--, p++)
        __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)*p));
    return ~crc;
}

hb_crc32c_fn hb_crc32c_hardware(void)
{
    return getauxval(AT_HWCAP) & HWCAP_CRC32_BIT ? by_instruction : NULL;
}

#else

hb_crc32c_fn hb_crc32c_hardware(void)
{
    return NULL;
}

#endif

uint32_t hb_crc32c(const void *data, size_t size)
{
    static hb_crc32c_fn chosen; /* every thread chooses the same */
    hb_crc32c_fn fn = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (!fn) {
        fn = hb_crc32c_hardware();
        if (!fn) fn = hb_crc32c_table;
        __atomic_store_n(&chosen, fn, __ATOMIC_RELAXED);
    }
    return fn(data, size);
}

uint32_t hb_crc32c_masked(const void *data, size_t size)
{
    uint32_t crc = hb_crc32c(data, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
