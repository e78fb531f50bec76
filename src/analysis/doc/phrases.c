/* SPDX-License-Identifier: MIT */
#include "doc/phrases.h"

#include <math.h>

typedef struct scale {
    double size;
    const char *name;
} scale;

static const scale times[] = {{1, "us"}, {1e3, "ms"}, {1e6, "s"}, {0, NULL}};
static const scale sizes[] = {
    {1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}, {0, NULL}};
static const scale shares[] = {{0.01, "%"}, {0, NULL}};
static const scale points[] = {{0.01, "pp"}, {0, NULL}};
static const scale counts[] = {{1, NULL}, {0, NULL}};

/* Four digits, and none that are not there. */
static void put_number(hb_buf *buf, double value, bool sign)
{
    if (fabs(value) < 0.0005) value = 0;
    double size = fabs(value);
    int decimals = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
    if (value == floor(value) && size < 1e6) decimals = 0;
    hb_buf_printf(buf, sign && value != 0 ? "%+.*f" : "%.*f", decimals, value + 0.0);
}

static void put_scaled(hb_buf *buf, double value, const scale *scales, bool sign)
{
    while (scales[1].size > 0 && fabs(value) >= 0.99995 * scales[1].size)
        scales++;
    put_number(buf, value / scales->size, sign);
    if (scales->name) hb_buf_printf(buf, " %s", scales->name);
}

static const scale *scales_of(hb_unit unit, bool change)
{
    switch (unit) {
    case HB_UNIT_US: return times;
    case HB_UNIT_BYTES: return sizes;
    case HB_UNIT_RATIO: return change ? points : shares;
    case HB_UNIT_COUNT: break;
    }
    return counts;
}

void hb_put_quantity(hb_buf *buf, double value, hb_unit unit)
{
    put_scaled(buf, value, scales_of(unit, false), false);
}

void hb_put_change(hb_buf *buf, double change, hb_unit unit)
{
    put_scaled(buf, change, scales_of(unit, true), change != 0);
}

void hb_put_percent(hb_buf *buf, double before, double change)
{
    if (before == 0) return;
    double percent = 100 * change / fabs(before);
    hb_buf_printf(buf, fabs(percent) >= 1000 ? "%+.0f %%" : "%+.1f %%", percent + 0.0);
}

const char *hb_verdict_words(hb_verdict verdict)
{
    switch (verdict) {
    case HB_VERDICT_NOISE: return "within noise";
    case HB_VERDICT_BEYOND_NOISE: return "beyond noise";
    case HB_VERDICT_TOO_FEW: return "too few steps to tell";
    case HB_VERDICT_COUNTED: return "counted";
    case HB_VERDICT_ONLY_BASELINE: return "gone";
    case HB_VERDICT_ONLY_RUN: return "new";
    }
    return "";
}

const char *hb_verdict_key(hb_verdict verdict)
{
    static const char *const keys[] = {"within_noise", "beyond_noise",  "too_few_steps",
                                       "counted",      "only_baseline", "only_run"};
    return keys[verdict];
}

const char *hb_unit_key(hb_unit unit)
{
    static const char *const keys[] = {"us", "bytes", "count", "ratio"};
    return keys[unit];
}
