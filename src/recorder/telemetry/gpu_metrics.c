/* SPDX-License-Identifier: MIT */
#include "telemetry/gpu_metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

/* Where things are; 0: the version does not have it. Temperatures in degrees, powers in W. */
typedef struct layout {
    uint8_t format, content;
    uint16_t size; /* at least */
    uint16_t hotspot, memory_heat, power, busy, energy, clock, clocks, memory_clock;
    uint16_t throttle;    /* 32 bits whose meaning is the chip's own */
    uint16_t causes;      /* 64 bits whose meaning is known */
    uint16_t residencies; /* of PROCHOT, power, and three kinds of heat, 32 bits each */
    uint16_t milliwatts;  /* power, 32 bits */
} layout;

static const layout layouts[] = {
    {1, 1, 96, 6, 8, 22, 16, 24, 54, 1, 58, .throttle = 68},
    {1, 2, 104, 6, 8, 22, 16, 24, 54, 1, 58, .throttle = 68},
    {1, 3, 120, 6, 8, 22, 16, 24, 54, 1, 58, .causes = 112},
    {1, 4, 288, 4, 6, 10, 12, 24, 240, 8, 280, .throttle = 40},
    {1, 5, 360, 4, 6, 10, 12, 88, 312, 8, 352, .throttle = 104},
    {1, 6, 1664, 4, 6, 10, 12, 16, 264, 8, 304, .residencies = 36},
    {1, 7, 2208, 4, 6, 10, 12, 24, 296, 8, 336, .residencies = 44},
    {1, 8, 3360, 4, 6, 10, 12, 24, 296, 8, 336, .residencies = 44},
    /* GPUs in processors: what has no one unit in all of them is left to hwmon. */
    {2, 1, 120, .clock = 76, .clocks = 1, .memory_clock = 80, .throttle = 108},
    {2, 2, 128, .clock = 76, .clocks = 1, .memory_clock = 80, .causes = 120},
    {2, 3, 152, .clock = 76, .clocks = 1, .memory_clock = 80, .causes = 120},
    {2, 4, 164, .clock = 76, .clocks = 1, .memory_clock = 80, .causes = 120},
    {3, 0, 260, .clock = 174, .clocks = 1, .memory_clock = 186, .milliwatts = 112},
};

/* What is not available is all ones. */
static uint64_t word(const char *table, uint16_t at, size_t bytes, bool *there)
{
    uint64_t value = 0;
    if (at) memcpy(&value, table + at, bytes); /* little-endian, as the GPU's hosts are */
    uint64_t ones = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * bytes) - 1;
    *there = at && value != ones;
    return value;
}

static double number(const char *table, uint16_t at)
{
    bool there;
    uint64_t value = word(table, at, 2, &there);
    return there ? (double)value : NAN;
}

/* Of several parts of a GPU, the mean of those that tell. */
static double mean_clock(const char *table, const layout *l)
{
    double sum = 0;
    unsigned n = 0;
    for (uint16_t i = 0; l->clock && i < l->clocks; i++) {
        double mhz = number(table, (uint16_t)(l->clock + 2 * i));
        if (isnan(mhz) || mhz == 0) continue;
        sum += mhz;
        n++;
    }
    return n ? sum / n : NAN;
}

static unsigned causes_of(uint64_t bits)
{
    const uint64_t power = 0xff, current = (uint64_t)0xff << 16, heat = (uint64_t)0xffff << 32;
    return (bits & power ? HB_THROTTLE_POWER : 0u) | (bits & current ? HB_THROTTLE_CURRENT : 0u) |
           (bits & heat ? HB_THROTTLE_HEAT : 0u) |
           (bits & ~(power | current | heat) ? HB_THROTTLE_OTHER : 0u);
}

static void read_throttling(const char *table, const layout *l, hb_gpu_metrics *m)
{
    bool there, more;
    uint64_t bits = word(table, l->causes, 8, &there);
    m->has_throttle = there;
    if (there) m->throttle = causes_of(bits);
    bits = word(table, l->throttle, 4, &there);
    if (there) {
        m->has_throttle = true;
        m->throttle = bits ? HB_THROTTLE_OTHER : 0;
    }
    if (!l->residencies) return;
    uint16_t at = l->residencies;
    m->by_power = (uint32_t)word(table, (uint16_t)(at + 4), 4, &m->has_residencies);
    m->by_heat = 0;
    for (uint16_t i = 0; i < 5; i++) {
        uint64_t value = word(table, (uint16_t)(at + 4 * i), 4, &more);
        if (i != 1 && more) m->by_heat += (uint32_t)value;
    }
}

void hb_gpu_metrics_clear(hb_gpu_metrics *m)
{
    *m = (hb_gpu_metrics){.power_w = NAN,
                          .gfx_mhz = NAN,
                          .memory_mhz = NAN,
                          .hotspot_c = NAN,
                          .memory_c = NAN,
                          .busy_percent = NAN};
}

bool hb_gpu_metrics_read(const void *data, size_t size, hb_gpu_metrics *m, char version[16])
{
    const char *table = data;
    const layout *l = NULL;
    uint16_t told = 0;
    bool there;
    hb_gpu_metrics_clear(m);
    version[0] = '\0';
    if (size < 4) return false;
    memcpy(&told, table, 2);
    snprintf(version, 16, "%u.%u", (unsigned char)table[2], (unsigned char)table[3]);
    for (size_t i = 0; i < HB_ARRAY_LEN(layouts) && !l; i++)
        if (layouts[i].format == (unsigned char)table[2] &&
            layouts[i].content == (unsigned char)table[3])
            l = &layouts[i];
    if (!l || told < l->size || size < l->size) return false;
    m->power_w = number(table, l->power);
    uint64_t milliwatts = word(table, l->milliwatts, 4, &there);
    if (there) m->power_w = (double)milliwatts / 1000;
    m->hotspot_c = number(table, l->hotspot);
    m->memory_c = number(table, l->memory_heat);
    m->busy_percent = number(table, l->busy);
    m->gfx_mhz = mean_clock(table, l);
    m->memory_mhz = number(table, l->memory_clock);
    m->energy = word(table, l->energy, 8, &m->has_energy);
    read_throttling(table, l, m);
    return true;
}
