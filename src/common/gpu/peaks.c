/* SPDX-License-Identifier: MIT
 *
 * Operations of a compute unit a cycle, a multiply and add as two. Times units and clock they give
 * AMD's published figures: MI100 184.6 TFLOP/s in f16, a GCD of an MI250X (110 of its CUs) 191.5,
 * MI300X 1307, MI355X 2517, RX 6900 XT 23.0 in f32, RX 7900 XTX 122.9 in f16, RX 9070 XT 194.6.
 *
 * HIP's clock of the memory is that of its commands. How many bits a line moves in a cycle of it is
 * the memory's: HBM2 two, HBM3 four, GDDR6 sixteen (1.23, 1.64, 5.3, 8.2 TB/s; 512, 960, 644 GB/s).
 */
#include "gpu/peaks.h"

typedef struct rates {
    const char *arch; /* the longest that fits counts */
    uint16_t vector[HB_PEAK_TYPES], matrix[HB_PEAK_TYPES];
    uint8_t bits_a_cycle;
} rates;

/*           f64  f32  f16  bf16  f8   i8 */
static const rates known[] = {
    {"gfx900", {8, 128, 256, 0, 0, 0}, {0}, 2},
    {"gfx906", {64, 128, 256, 0, 0, 512}, {0}, 2},
    {"gfx908", {64, 128, 0, 0, 0, 0}, {0, 256, 1024, 512, 0, 1024}, 2},
    {"gfx90a", {128, 256, 0, 0, 0, 0}, {256, 256, 1024, 1024, 0, 1024}, 2},
    {"gfx942", {128, 256, 0, 0, 0, 0}, {256, 256, 2048, 2048, 4096, 4096}, 4},
    {"gfx950", {128, 256, 0, 0, 0, 0}, {128, 256, 4096, 4096, 8192, 8192}, 4},
    {"gfx103", {8, 128, 256, 0, 0, 512}, {0}, 16},
    {"gfx1100", {8, 256, 512, 0, 0, 0}, {0, 0, 512, 512, 0, 512}, 16},
    {"gfx1101", {8, 256, 512, 0, 0, 0}, {0, 0, 512, 512, 0, 512}, 16},
    {"gfx1102", {8, 256, 512, 0, 0, 0}, {0, 0, 512, 512, 0, 512}, 16},
    {"gfx120", {4, 256, 512, 0, 0, 0}, {0, 0, 1024, 1024, 2048, 2048}, 16},
};

/* ---- types ---- */

const char *hb_peak_type_name(hb_peak_type type)
{
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "f8", "i8"};
    return type < HB_PEAK_TYPES ? names[type] : "";
}

hb_peak_type hb_peak_type_of_dtype(hb_dtype type)
{
    switch (type) {
    case HB_FLOAT64:
    case HB_COMPLEX128: return HB_PEAK_F64;
    case HB_FLOAT32:
    case HB_COMPLEX64: return HB_PEAK_F32;
    case HB_FLOAT16: return HB_PEAK_F16;
    case HB_BFLOAT16: return HB_PEAK_BF16;
    case HB_FLOAT8_E4M3FN:
    case HB_FLOAT8_E5M2:
    case HB_FLOAT8_E4M3FNUZ:
    case HB_FLOAT8_E5M2FNUZ: return HB_PEAK_F8;
    case HB_INT8:
    case HB_UINT8: return HB_PEAK_I8;
    default: return HB_PEAK_NONE;
    }
}

hb_peak_type hb_peak_type_of(hb_str dtype, uint32_t *bytes)
{
#define NAMED(id, text, size) {text, HB_##id, size},
    static const struct {
        const char *name;
        hb_dtype type;
        uint32_t size;
    } types[] = {HB_DTYPE_MAP(NAMED)};
#undef NAMED
    *bytes = 0;
    for (size_t i = 1; i < HB_ARRAY_LEN(types); i++)
        if (strlen(types[i].name) == dtype.len && memcmp(types[i].name, dtype.s, dtype.len) == 0) {
            *bytes = types[i].size;
            return hb_peak_type_of_dtype(types[i].type);
        }
    return HB_PEAK_NONE;
}

/* ---- peaks ---- */

static const rates *find(hb_str arch)
{
    const rates *found = NULL;
    for (size_t i = 0; i < HB_ARRAY_LEN(known); i++) {
        size_t len = strlen(known[i].arch);
        if (len > arch.len || memcmp(arch.s, known[i].arch, len) != 0) continue;
        if (!found || len > strlen(found->arch)) found = &known[i];
    }
    return found;
}

int32_t hb_cus_of_one(hb_str arch)
{
    return hb_str_begins(arch, "gfx1") ? 2 : 1;
}

hb_peaks hb_peaks_of(const hb_peak_query *q)
{
    hb_peaks peaks = {0};
    const rates *r = find(q->arch);
    if (!r) return peaks;
    double cycles = q->clock_khz * 1e3 * hb_cus_of_one(q->arch) * HB_MAX(q->num_cus, 0);
    for (int i = 0; i < HB_PEAK_TYPES; i++) {
        peaks.vector[i] = r->vector[i] * cycles;
        peaks.matrix[i] = r->matrix[i] * cycles;
    }
    peaks.bytes = q->memory_khz * 1e3 * r->bits_a_cycle * HB_MAX(q->memory_bus_bits, 0) / 8;
    return peaks;
}
