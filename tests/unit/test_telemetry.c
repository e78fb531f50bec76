/* SPDX-License-Identifier: MIT
 *
 * Sensors of GPUs, in a tree of files that is made as amdgpu makes it, and lies as it may.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "array_source.h"
#include "base/base.h"
#include "hip/known_devices.h"
#include "recorded.h"
#include "telemetry/gpu_sysfs.h"
#include "telemetry/telemetry.h"
#include "written_trace.h"

static char root[64];

static void put(const char *name, const void *bytes, size_t size)
{
    char path[300], command[400];
    snprintf(path, sizeof path, "%s/%s", root, name);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", path);
    assert_int_equal(system(command), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

#define CARD "class/drm/card1/device/"

static int make_tree(void **state)
{
    (void)state;
    strcpy(root, "/tmp/hipboard-test-XXXXXX");
    if (!mkdtemp(root)) return 1;
    put_text("class/drm/card0/device/uevent", "DRIVER=ast\nPCI_SLOT_NAME=0000:03:00.0\n");
    put_text("class/drm/card1-DP-1/status", "connected\n");
    put_text(CARD "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:C1:00.0\n");
    put_text(CARD "mem_info_vram_used", "1048576\n");
    put_text(CARD "hwmon/hwmon3/power1_average", "123000000\n");
    put_text(CARD "hwmon/hwmon3/temp2_input", "65000\n");
    put_text(CARD "hwmon/hwmon3/freq1_input", "1700000000\n");
    return 0;
}

static int remove_tree(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

/* ---- tables ---- */

typedef struct table {
    unsigned char bytes[4096];
    size_t size;
} table;

static void set(table *t, size_t at, uint64_t value, size_t bytes)
{
    memcpy(t->bytes + at, &value, bytes);
}

/* All that is not set is not available. */
static table new_table(unsigned format, unsigned content, uint16_t size)
{
    table t = {.size = size};
    memset(t.bytes, 0xff, sizeof t.bytes);
    set(&t, 0, size, 2);
    t.bytes[2] = (unsigned char)format;
    t.bytes[3] = (unsigned char)content;
    return t;
}

static void of_rdna(table *t)
{
    *t = new_table(1, 3, 120);
    set(t, 6, 71, 2);
    set(t, 22, 301, 2);
    set(t, 24, 65536 * 100, 8);
    set(t, 54, 2100, 2);
    set(t, 112, 1, 8); /* package power */
}

static void of_mi300(table *t)
{
    *t = new_table(1, 4, 288);
    set(t, 4, 60, 2);
    set(t, 10, 550, 2);
    set(t, 24, 65536 * 7, 8);
    set(t, 40, 0, 4);
    set(t, 240, 2000, 2);
    set(t, 242, 1000, 2);
}

static void versions_have_layouts_of_their_own(void **state)
{
    (void)state;
    table t;
    hb_gpu_metrics m;
    char version[16];
    of_rdna(&t);
    assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
    assert_true(m.power_w == 301 && m.hotspot_c == 71 && m.gfx_mhz == 2100);
    assert_true(isnan(m.memory_c) && isnan(m.busy_percent));
    assert_true(m.has_energy && m.energy == 6553600);
    assert_true(m.has_throttle && m.throttle == HB_THROTTLE_POWER);
    set(&t, 112, (uint64_t)1 << 36, 8); /* hot spot */
    hb_gpu_metrics_read(t.bytes, t.size, &m, version);
    assert_int_equal(m.throttle, HB_THROTTLE_HEAT);
    of_mi300(&t);
    assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
    assert_true(m.power_w == 550 && m.hotspot_c == 60 && m.gfx_mhz == 1500);
    assert_true(m.energy == 65536 * 7 && m.has_throttle && m.throttle == 0);
    static const struct {
        unsigned content;
        uint16_t size, energy, clock, power;
    } newer[] = {{5, 360, 88, 312, 10},
                 {6, 1664, 16, 264, 10},
                 {7, 2208, 24, 296, 10},
                 {8, 3360, 24, 296, 10}};
    for (size_t i = 0; i < HB_ARRAY_LEN(newer); i++) {
        t = new_table(1, newer[i].content, newer[i].size);
        set(&t, newer[i].energy, 5, 8);
        set(&t, newer[i].clock, 1234, 2);
        set(&t, newer[i].power, 99, 2);
        assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
        assert_true(m.energy == 5 && m.gfx_mhz == 1234 && m.power_w == 99);
    }
    t = new_table(3, 0, 264);
    set(&t, 112, 15500, 4);
    assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
    assert_true(m.power_w == 15.5);
}

static void residencies_tell_why(void **state)
{
    (void)state;
    hb_gpu_metrics m;
    char version[16];
    table t = new_table(1, 7, 2208);
    for (size_t i = 0; i < 5; i++)
        set(&t, 44 + 4 * i, 10 * (i + 1), 4);
    assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
    assert_true(m.has_residencies && !m.has_throttle);
    assert_int_equal(m.by_power, 20);
    assert_int_equal(m.by_heat, 10 + 30 + 40 + 50);
}

static void what_is_not_known_is_said(void **state)
{
    (void)state;
    hb_gpu_metrics m;
    char version[16];
    table t;
    of_mi300(&t);
    assert_false(hb_gpu_metrics_read(t.bytes, 200, &m, version)); /* cut off */
    assert_true(isnan(m.power_w) && !m.has_energy);
    t = new_table(1, 9, 400);
    assert_false(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
    assert_string_equal(version, "1.9");
    assert_false(hb_gpu_metrics_read("", 1, &m, version));
    assert_string_equal(version, "");
}

/* Each version's fields, one at a time: the field is read from its place, and no other is taken for
 * told. By amdgpu's headers (kgd_pp_interface.h). */
static void each_field_is_read_from_its_place(void **state)
{
    enum { HOTSPOT, MEMORY_HEAT, POWER, BUSY, ENERGY, CLOCK, MEMORY_CLOCK, MILLIWATTS, FIELDS };
    static const struct {
        unsigned format, content;
        uint16_t size, at[FIELDS]; /* 0: it has none */
        uint16_t clocks;
    } rows[] = {
        {1, 1, 96, {6, 8, 22, 16, 24, 54, 58}, 1},
        {1, 2, 104, {6, 8, 22, 16, 24, 54, 58}, 1},
        {1, 3, 120, {6, 8, 22, 16, 24, 54, 58}, 1},
        {1, 4, 288, {4, 6, 10, 12, 24, 240, 280}, 8},
        {1, 5, 360, {4, 6, 10, 12, 88, 312, 352}, 8},
        {1, 6, 1664, {4, 6, 10, 12, 16, 264, 304}, 8},
        {1, 7, 2208, {4, 6, 10, 12, 24, 296, 336}, 8},
        {1, 8, 3360, {4, 6, 10, 12, 24, 296, 336}, 8},
        {2, 1, 120, {0, 0, 0, 0, 0, 76, 80}, 1},
        {2, 2, 128, {0, 0, 0, 0, 0, 76, 80}, 1},
        {2, 3, 152, {0, 0, 0, 0, 0, 76, 80}, 1},
        {2, 4, 164, {0, 0, 0, 0, 0, 76, 80}, 1},
        {3, 0, 260, {0, 0, 0, 0, 0, 174, 186, 112}, 1},
    };
    (void)state;
    for (size_t row = 0; row < HB_ARRAY_LEN(rows); row++)
        for (int field = 0; field < FIELDS; field++)
            for (uint16_t part = 0; part < (field == CLOCK ? rows[row].clocks : 1); part++) {
                hb_gpu_metrics m;
                char version[16];
                uint16_t at = rows[row].at[field];
                table t = new_table(rows[row].format, rows[row].content, rows[row].size);
                if (at)
                    set(&t, (size_t)(at + 2 * part), 1234 + (uint64_t)field,
                        field == ENERGY       ? 8
                        : field == MILLIWATTS ? 4
                                              : 2);
                assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
                const double found[] = {m.hotspot_c,
                                        m.memory_c,
                                        m.power_w,
                                        m.busy_percent,
                                        m.has_energy ? (double)m.energy : NAN,
                                        m.gfx_mhz,
                                        m.memory_mhz};
                for (int i = 0; i < MILLIWATTS; i++)
                    if (at && i == field)
                        assert_true(found[i] == 1234 + field);
                    else if (at && field == MILLIWATTS && i == POWER)
                        assert_true(fabs(found[i] - 1.241) < 1e-9);
                    else
                        assert_true(isnan(found[i]));
                assert_false(hb_gpu_metrics_read(t.bytes, t.size - 1, &m, version));
                set(&t, 0, (uint64_t)t.size - 1, 2); /* by its own word */
                assert_false(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
                assert_true(isnan(m.gfx_mhz) && !m.has_energy && !m.has_throttle);
            }
}

/* Why it is slower: of each version that tells, by the bits whose meaning is known. */
static void each_cause_has_its_bits(void **state)
{
    static const struct {
        unsigned format, content;
        uint16_t size, at, bytes;
    } rows[] = {{1, 1, 96, 68, 4},   {1, 2, 104, 68, 4},  {1, 3, 120, 112, 8},
                {1, 4, 288, 40, 4},  {1, 5, 360, 104, 4}, {2, 1, 120, 108, 4},
                {2, 2, 128, 120, 8}, {2, 3, 152, 120, 8}, {2, 4, 164, 120, 8}};
    (void)state;
    for (size_t row = 0; row < HB_ARRAY_LEN(rows); row++)
        for (unsigned bit = 0; bit <= 8u * rows[row].bytes; bit++) {
            hb_gpu_metrics m;
            char version[16];
            bool none = bit == 8u * rows[row].bytes;
            unsigned expected = none                    ? 0
                                : rows[row].bytes == 4  ? HB_THROTTLE_OTHER
                                : bit < 8               ? HB_THROTTLE_POWER
                                : bit >= 16 && bit < 24 ? HB_THROTTLE_CURRENT
                                : bit >= 32 && bit < 48 ? HB_THROTTLE_HEAT
                                                        : HB_THROTTLE_OTHER;
            table t = new_table(rows[row].format, rows[row].content, rows[row].size);
            set(&t, rows[row].at, none ? 0 : (uint64_t)1 << bit, rows[row].bytes);
            assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
            assert_true(m.has_throttle && !m.has_residencies);
            assert_int_equal(m.throttle, expected);
        }
    static const struct {
        unsigned content;
        uint16_t size, at;
    } counted[] = {{6, 1664, 36}, {7, 2208, 44}, {8, 3360, 44}};
    for (size_t row = 0; row < HB_ARRAY_LEN(counted); row++)
        for (size_t kind = 0; kind < 5; kind++) {
            hb_gpu_metrics m;
            char version[16];
            table t = new_table(1, counted[row].content, counted[row].size);
            set(&t, counted[row].at + 4u, 0, 4);
            set(&t, counted[row].at + 4 * kind, 70 + kind, 4);
            assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
            assert_true(m.has_residencies && !m.has_throttle);
            assert_int_equal(m.by_power, kind == 1 ? 71 : 0);
            assert_int_equal(m.by_heat, kind == 1 ? 0 : 70 + kind);
            set(&t, counted[row].at + 4u, UINT32_MAX, 4);
            assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
            assert_false(m.has_residencies);
        }
}

/* Parts that are off, or do not tell, have no part in the mean. */
static void clocks_are_the_mean_of_the_parts_that_run(void **state)
{
    hb_gpu_metrics m;
    char version[16];
    table t = new_table(1, 4, 288);
    (void)state;
    set(&t, 240, 1000, 2);
    set(&t, 242, 0, 2);
    set(&t, 254, 2000, 2);
    set(&t, 256, 9, 2); /* is no part's */
    assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
    assert_true(m.gfx_mhz == 1500);
    set(&t, 240, 0, 2);
    set(&t, 254, 0, 2);
    assert_true(hb_gpu_metrics_read(t.bytes, t.size, &m, version));
    assert_true(isnan(m.gfx_mhz));
}

/* ---- files ---- */

static bool find(hb_gpu_sysfs *gpu, const char *pci, char why[400])
{
    return hb_gpu_sysfs_find(gpu, root, pci, why, 400);
}

static void a_card_is_found_by_its_address(void **state)
{
    (void)state;
    hb_gpu_sysfs gpu;
    hb_gpu_reading r;
    char why[400];
    assert_true(find(&gpu, "0000:c1:00.0", why));
    assert_true(hb_gpu_sysfs_read(&gpu, &r));
    assert_true(fabs(r.metrics.power_w - 123) < 1e-9 && r.metrics.hotspot_c == 65);
    assert_true(r.metrics.gfx_mhz == 1700 && r.vram_bytes == 1048576);
    assert_true(find(&gpu, "0000:c1:00.3", why)); /* a part of it */
    assert_false(find(&gpu, "0000:c1:01.0", why));
    assert_non_null(strstr(why, "no card at PCI address 0000:c1:01.0"));
    assert_false(find(&gpu, "0000:c1", why));
    assert_false(hb_gpu_sysfs_find(&gpu, "/nowhere", "0000:c1:00.0", why, sizeof why));
    assert_non_null(strstr(why, "containers"));
}

static void tables_go_before_hwmon(void **state)
{
    (void)state;
    hb_gpu_sysfs gpu;
    hb_gpu_reading r;
    char why[400];
    table t;
    of_rdna(&t);
    put(CARD "gpu_metrics", t.bytes, t.size);
    assert_true(find(&gpu, "0000:c1:00.0", why));
    assert_string_equal(why, "");
    assert_true(hb_gpu_sysfs_read(&gpu, &r));
    assert_true(r.metrics.power_w == 301 && r.metrics.has_energy);
    set(&t, 22, 65000, 2); /* no GPU takes 65 kW */
    put(CARD "gpu_metrics", t.bytes, t.size);
    assert_true(hb_gpu_sysfs_read(&gpu, &r));
    assert_true(fabs(r.metrics.power_w - 123) < 1e-9);
    put(CARD "gpu_metrics", t.bytes, 50); /* cut off while it is read */
    assert_true(hb_gpu_sysfs_read(&gpu, &r));
    assert_true(r.metrics.hotspot_c == 65 && !r.metrics.has_energy);
}

static void an_unknown_version_is_said_and_hwmon_read(void **state)
{
    (void)state;
    hb_gpu_sysfs gpu;
    hb_gpu_reading r;
    char why[400];
    table t = new_table(1, 9, 400);
    put(CARD "gpu_metrics", t.bytes, t.size);
    assert_true(find(&gpu, "0000:c1:00.0", why));
    assert_non_null(strstr(why, "version 1.9"));
    assert_true(hb_gpu_sysfs_read(&gpu, &r));
    assert_true(r.metrics.gfx_mhz == 1700);
}

static void a_gpu_that_sleeps_is_left_alone(void **state)
{
    (void)state;
    hb_gpu_sysfs gpu;
    hb_gpu_reading r;
    char why[400];
    put_text(CARD "power/runtime_status", "suspended\n");
    assert_true(find(&gpu, "0000:c1:00.0", why));
    assert_true(hb_gpu_sysfs_read(&gpu, &r));
    assert_true(r.sleeps && isnan(r.metrics.power_w) && isnan(r.vram_bytes));
    put_text(CARD "power/runtime_status", "active\n");
    assert_true(hb_gpu_sysfs_read(&gpu, &r));
    assert_true(!r.sleeps && r.metrics.hotspot_c == 65);
}

static void a_card_may_vanish_and_files_hold_nonsense(void **state)
{
    (void)state;
    hb_gpu_sysfs gpu;
    hb_gpu_reading r;
    char why[400], from[200], to[200];
    put_text(CARD "hwmon/hwmon3/power1_average", "no number\n");
    put_text(CARD "mem_info_vram_used", "-5\n");
    assert_true(find(&gpu, "0000:c1:00.0", why));
    assert_true(hb_gpu_sysfs_read(&gpu, &r));
    assert_true(isnan(r.metrics.power_w) && isnan(r.vram_bytes));
    snprintf(from, sizeof from, "%s/class/drm/card1", root);
    snprintf(to, sizeof to, "%s/gone", root);
    assert_int_equal(rename(from, to), 0);
    assert_false(hb_gpu_sysfs_read(&gpu, &r));
}

/* Of files that tell the same the first one that is there. */
static void each_file_is_a_sensor(void **state)
{
    static const struct {
        const char *file, *text;
        size_t field;
        double value;
    } rows[] = {
        {"hwmon/hwmon3/power1_input", "77000000", offsetof(hb_gpu_metrics, power_w), 77},
        {"hwmon/hwmon3/power1_average", "78000000", offsetof(hb_gpu_metrics, power_w), 78},
        {"hwmon/hwmon3/temp1_input", "41000", offsetof(hb_gpu_metrics, hotspot_c), 41},
        {"hwmon/hwmon3/temp2_input", "42000", offsetof(hb_gpu_metrics, hotspot_c), 42},
        {"hwmon/hwmon3/temp3_input", "43000", offsetof(hb_gpu_metrics, memory_c), 43},
        {"hwmon/hwmon3/freq1_input", "1600000000", offsetof(hb_gpu_metrics, gfx_mhz), 1600},
        {"hwmon/hwmon3/freq2_input", "900000000", offsetof(hb_gpu_metrics, memory_mhz), 900},
        {"gpu_busy_percent", "37", offsetof(hb_gpu_metrics, busy_percent), 37},
    };
    hb_gpu_sysfs gpu;
    hb_gpu_reading r;
    char why[400], name[100];
    (void)state;
    snprintf(name, sizeof name, "%s/%s", root, CARD "hwmon/hwmon3");
    char command[200];
    snprintf(command, sizeof command, "rm '%s'/*", name);
    assert_int_equal(system(command), 0);
    assert_true(find(&gpu, "0000:c1:00.0", why));
    assert_true(hb_gpu_sysfs_read(&gpu, &r));
    for (size_t row = 0; row < HB_ARRAY_LEN(rows); row++) {
        double *value = (double *)(void *)((char *)&r.metrics + rows[row].field);
        assert_true(row && rows[row].field == rows[row - 1].field ? !isnan(*value) : isnan(*value));
        snprintf(name, sizeof name, "%s%s", CARD, rows[row].file);
        put_text(name, rows[row].text);
        assert_true(hb_gpu_sysfs_read(&gpu, &r));
        assert_true(fabs(*value - rows[row].value) < 1e-9 * rows[row].value);
    }
}

/* What no GPU has is a sensor that lies: just so much is possible. */
static void tables_may_lie(void **state)
{
    hb_gpu_sysfs gpu;
    hb_gpu_reading r;
    char why[400];
    table t;
    (void)state;
    of_rdna(&t);
    for (int beyond = 0; beyond < 2; beyond++) {
        set(&t, 22, (uint64_t)(10000 + beyond), 2);
        set(&t, 6, (uint64_t)(200 + beyond), 2);
        put(CARD "gpu_metrics", t.bytes, t.size);
        assert_true(find(&gpu, "0000:c1:00.0", why));
        assert_true(hb_gpu_sysfs_read(&gpu, &r));
        assert_true(fabs(r.metrics.power_w - (beyond ? 123 : 10000)) < 1e-9);
        assert_true(fabs(r.metrics.hotspot_c - (beyond ? 65 : 200)) < 1e-9);
    }
}

/* Names that look like a card's, or its address, and are none. */
static void what_is_no_card_is_passed_over(void **state)
{
    hb_gpu_sysfs gpu;
    char why[400];
    (void)state;
    static const char *const others[] = {"card", "cardx", "card2-DP-1", "renderD128", "xcard1"};
    for (size_t i = 0; i < HB_ARRAY_LEN(others); i++) {
        char name[100];
        snprintf(name, sizeof name, "class/drm/%s/device/uevent", others[i]);
        put_text(name, "PCI_SLOT_NAME=0000:05:00.0\n");
    }
    assert_false(find(&gpu, "0000:05:00.0", why));
    put_text("class/drm/card12/device/uevent", "PCI_SLOT_NAME=0000:05:00.0\n");
    assert_true(find(&gpu, "0000:05:00.0", why));
    assert_non_null(strstr(gpu.device, "card12/device"));
    assert_string_equal(gpu.hwmon, "");
    put_text("class/drm/card12/device/hwmon/other/x", "");
    put_text("class/drm/card12/device/hwmon/hwmon11/x", "");
    assert_true(find(&gpu, "0000:05:00", why));
    assert_non_null(strstr(gpu.hwmon, "hwmon/hwmon11"));
    assert_false(find(&gpu, "0000:05:0", why));
    assert_false(find(&gpu, "", why));
}

/* ---- steps ---- */

enum { STEPS = 12, MS = 1000000 };
#define AT(ms) (INT64_C(1795256296000000000) + (int64_t)(ms) * MS)

static hb_trace_event curve(const char *name, int ms, double value)
{
    return (hb_trace_event){.kind = HB_EVENT_COUNTER,
                            .name = {name, (uint32_t)strlen(name)},
                            .start_ns = AT(ms),
                            .counter.value = value};
}

/* 200 W; from step 7 to 9 slower, and throttled. */
static size_t make_steps(hb_trace_event *e, char names[STEPS][32], double throttle)
{
    size_t n = 0;
    for (int i = 0; i < STEPS; i++) {
        bool slow = i >= 7 && i <= 9;
        int length = snprintf(names[i], 32, "ProfilerStep#%d", i);
        e[n++] = (hb_trace_event){.kind = HB_EVENT_USER_ANNOTATION,
                                  .name = {names[i], (uint32_t)length},
                                  .start_ns = AT(i * 100),
                                  .end_ns = AT(i * 100 + 100)};
        for (int k = 0; k < 100; k += 25) {
            e[n++] = curve("GPU 0 power", i * 100 + k, 200);
            e[n++] = curve("GPU 0 energy", i * 100 + k, 0.2 * (i * 100 + k));
            e[n++] = curve("GPU 0 clock", i * 100 + k, slow ? 1500 : 2100);
            e[n++] = curve("GPU 0 throttled", i * 100 + k, slow ? throttle : 0);
        }
    }
    return n;
}

static const char *metadata_of(const hb_source *source, const char *key)
{
    for (size_t i = 0; i < source->info->num_metadata; i++)
        if (strcmp(source->info->metadata[i].key, key) == 0) return source->info->metadata[i].json;
    return "";
}

static hb_source *summed(array_source *array, double throttle)
{
    static hb_trace_event events[STEPS * 20];
    static char names[STEPS][32];
    array_source_init(array, events, make_steps(events, names, throttle));
    hb_source *source = &array->source;
    assert_int_equal(hb_telemetry_sum_up(&source), HB_OK);
    return source;
}

static void steps_have_their_energy(void **state)
{
    (void)state;
    array_source array;
    hb_source *source = summed(&array, 1);
    const char *steps = metadata_of(source, "hipboard_gpu_steps");
    assert_non_null(strstr(steps, "{\"gpu\": 0, \"step\": 3, \"joules\": 20, \"watts\": 200, "
                                  "\"mhz\": 2100, \"least_mhz\": 2100, \"throttled\": 0}"));
    assert_string_equal(metadata_of(source, "hipboard_gpu_notes"),
                        "[\"GPU 0: clock fell from 2100 to 1500 MHz in steps 7-9: power\"]");
    source->close(source);
}

/* As GPUs do that have nothing to do; what is no set of bits tells of no throttling either. */
static void a_clock_that_falls_by_itself_is_no_news(void **state)
{
    static const double none[] = {0, -1, 1e300, INFINITY, -INFINITY, NAN};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        array_source array;
        hb_source *source = summed(&array, none[i]);
        assert_string_equal(metadata_of(source, "hipboard_gpu_notes"), "");
        source->close(source);
    }
}

/* What is noted of a GPU whose clock falls from 2100 MHz in steps `from` to `to`. */
static void check_note(int from, int to, int mhz, double throttle, double busy,
                       const char *expected)
{
    static hb_trace_event events[STEPS * 4];
    static char names[STEPS][32];
    size_t n = 0;
    array_source array;
    for (int i = 0; i < STEPS; i++) {
        bool slow = i >= from && i <= to;
        int length = snprintf(names[i], sizeof names[i], "ProfilerStep#%d", i);
        events[n++] = (hb_trace_event){.kind = HB_EVENT_USER_ANNOTATION,
                                       .name = {names[i], (uint32_t)length},
                                       .start_ns = AT(i * 100),
                                       .end_ns = AT(i * 100 + 100)};
        events[n++] = curve("GPU 3 clock", i * 100, slow ? mhz : 2100);
        if (throttle >= 0) events[n++] = curve("GPU 3 throttled", i * 100, slow ? throttle : 0);
        if (busy >= 0) events[n++] = curve("GPU 3 busy", i * 100, busy);
    }
    array_source_init(&array, events, n);
    hb_source *source = &array.source;
    assert_int_equal(hb_telemetry_sum_up(&source), HB_OK);
    assert_string_equal(metadata_of(source, "hipboard_gpu_notes"), expected);
    assert_non_null(strstr(metadata_of(source, "hipboard_gpu_steps"), "\"gpu\": 3, \"step\": 11"));
    source->close(source);
}

#define FELL(to, when, why) "[\"GPU 3: clock fell from 2100 to " to " MHz in " when ": " why "\"]"

static void a_clock_that_is_made_to_fall_is_said_with_the_cause(void **state)
{
    (void)state;
    const double none = -1;
    check_note(7, 9, 1500, HB_THROTTLE_POWER, none, FELL("1500", "steps 7-9", "power"));
    check_note(7, 9, 1500, HB_THROTTLE_HEAT, none, FELL("1500", "steps 7-9", "heat"));
    check_note(7, 9, 1500, HB_THROTTLE_CURRENT, none, FELL("1500", "steps 7-9", "current"));
    check_note(7, 9, 1500, HB_THROTTLE_OTHER, none,
               FELL("1500", "steps 7-9", "the cause is not told"));
    check_note(4, 4, 900, HB_THROTTLE_HEAT, 0, FELL("900", "step 4", "heat"));
    check_note(10, 11, 900, HB_THROTTLE_HEAT, 0, FELL("900", "steps 10-11", "heat"));
    check_note(7, 9, 1500, 0, 100, ""); /* it says that nothing forced it */
    check_note(7, 9, 2095, HB_THROTTLE_POWER, 100, "");
}

/* Where the GPU does not tell, one that is busy for half of its time was. */
static void where_no_cause_is_told_a_busy_gpu_was_made_to_fall(void **state)
{
    (void)state;
    check_note(7, 9, 1500, -1, 100, FELL("1500", "steps 7-9", "the cause is not told"));
    check_note(7, 9, 1500, -1, 50, FELL("1500", "steps 7-9", "the cause is not told"));
    check_note(7, 9, 1500, -1, 49, "");
    check_note(7, 9, 1500, -1, -1, "");
}

/* ---- steps, against who looks at each sample ---- */

enum { MANY = 40 };

/* In milliseconds; between two the line between them. */
static double value_at(const int at[], const double value[], int n, double ms)
{
    if (ms <= at[0]) return value[0];
    for (int i = 1; i < n; i++)
        if (ms <= at[i])
            return value[i - 1] +
                   (value[i] - value[i - 1]) * (ms - at[i - 1]) / (at[i] - at[i - 1]);
    return value[n - 1];
}

static void check_close(const char *step, const char *key, double expected)
{
    char text[40];
    snprintf(text, sizeof text, "\"%s\": ", key);
    const char *end = strchr(step, '}'), *found = strstr(step, text);
    if (isnan(expected)) {
        assert_true(!found || found > end);
        return;
    }
    assert_true(found && found < end);
    assert_true(fabs(strtod(found + strlen(text), NULL) - expected) <= 1e-5 * fabs(expected));
}

/* Steps of any length, samples at any times: some steps have none. Of GPUs 1 and 63, beside what is
 * no curve of theirs. */
static void steps_have_what_lies_in_them(void **state)
{
    static const char *const curves[] = {"power", "temperature", "clock", "energy"};
    static const int gpus[] = {1, 63};
    (void)state;
    srand(7);
    for (int turn = 0; turn < 40; turn++) {
        static hb_trace_event events[2 * 4 * MANY + STEPS + 8];
        static char names[STEPS][32], labels[2][4][32];
        int at[2][4][MANY], start[STEPS + 1] = {50}, counts[2][4];
        double value[2][4][MANY];
        size_t n = 0;
        for (int i = 0; i < STEPS; i++) {
            int length = snprintf(names[i], 32, "ProfilerStep#%d", 100 + i);
            start[i + 1] = start[i] + 2 * (1 + rand() % 60);
            events[n++] = (hb_trace_event){.kind = HB_EVENT_USER_ANNOTATION,
                                           .name = {names[i], (uint32_t)length},
                                           .start_ns = AT(start[i]),
                                           .end_ns = AT(start[i + 1])};
        }
        for (int g = 0; g < 2; g++)
            for (int c = 0; c < 4; c++) {
                counts[g][c] = c == 3 && turn % 2 ? 0 : 1 + rand() % (MANY - 1);
                snprintf(labels[g][c], 32, "GPU %d %s", gpus[g], curves[c]);
                for (int i = 0, ms = rand() % 100; i < counts[g][c]; i++, ms += 1 + rand() % 50) {
                    at[g][c][i] = ms;
                    value[g][c][i] = 100 + rand() % 1000;
                }
                for (int i = counts[g][c] - 1; i >= 0; i--) /* in whatever order */
                    events[n++] = curve(labels[g][c], at[g][c][i], value[g][c][i]);
            }
        events[n++] = curve("GPU 64 power", 100, 5);
        events[n++] = curve("GPU -1 power", 100, 5);
        events[n++] = curve("GPU 1 powers", 100, 5);
        events[n++] = curve("power", 100, 5);
        events[n++] = curve("GPU 2 another", 100, 5);
        array_source array;
        array_source_init(&array, events, n);
        hb_source *source = &array.source;
        assert_int_equal(hb_telemetry_sum_up(&source), HB_OK);
        const char *text = metadata_of(source, "hipboard_gpu_steps");
        for (int g = 0; g < 2; g++)
            for (int i = 0; i < STEPS; i++) {
                char head[60];
                double watts = NAN;
                snprintf(head, sizeof head, "{\"gpu\": %d, \"step\": %d", gpus[g], 100 + i);
                text = strstr(text, head);
                assert_non_null(text);
                for (int c = 0; c < 3; c++) {
                    double sum = 0, least = INFINITY, most = -INFINITY;
                    int inside = 0;
                    for (int k = 0; k < counts[g][c]; k++) {
                        if (at[g][c][k] < start[i] || at[g][c][k] >= start[i + 1]) continue;
                        sum += value[g][c][k];
                        least = fmin(least, value[g][c][k]);
                        most = fmax(most, value[g][c][k]);
                        inside++;
                    }
                    double middle = value_at(at[g][c], value[g][c], counts[g][c],
                                             (start[i] + start[i + 1]) / 2.0);
                    double mean = inside ? sum / inside : middle;
                    if (c == 0) check_close(text, "watts", watts = mean);
                    if (c == 1) check_close(text, "degrees", inside ? most : middle);
                    if (c == 2) check_close(text, "mhz", mean);
                    if (c == 2) check_close(text, "least_mhz", inside ? least : middle);
                }
                double joules = watts * (start[i + 1] - start[i]) / 1000;
                if (counts[g][3])
                    joules = value_at(at[g][3], value[g][3], counts[g][3], start[i + 1]) -
                             value_at(at[g][3], value[g][3], counts[g][3], start[i]);
                if (fabs(joules) > 1e-3) check_close(text, "joules", joules);
                check_close(text, "throttled", NAN);
            }
        assert_null(strstr(text, "\"gpu\": 64"));
        assert_null(strstr(metadata_of(source, "hipboard_gpu_steps"), "\"gpu\": 2,"));
        source->close(source);
    }
}

/* Several falls of several GPUs, each of its own; what others put into the metadata stays. */
static void each_fall_is_told(void **state)
{
    static hb_trace_event events[STEPS * 8];
    static char names[STEPS][32];
    static const hb_metadata before = {"before", "17"};
    size_t n = 0;
    array_source array;
    (void)state;
    for (int i = 0; i < STEPS; i++) {
        int length = snprintf(names[i], sizeof names[i], "ProfilerStep#%d", i);
        events[n++] = (hb_trace_event){.kind = HB_EVENT_USER_ANNOTATION,
                                       .name = {names[i], (uint32_t)length},
                                       .start_ns = AT(i * 100),
                                       .end_ns = AT(i * 100 + 100)};
        for (int gpu = 0; gpu < 2; gpu++) {
            bool slow = gpu ? i == 4 : i == 2 || i == 6;
            events[n++] = curve(gpu ? "GPU 1 clock" : "GPU 0 clock", i * 100, slow ? 1000 : 2000);
            events[n++] = curve(gpu ? "GPU 1 throttled" : "GPU 0 throttled", i * 100 + 99,
                                slow ? HB_THROTTLE_HEAT : 0);
        }
    }
    array_source_init(&array, events, n);
    array.info.metadata = &before;
    array.info.num_metadata = 1;
    hb_source *source = &array.source;
    assert_int_equal(hb_telemetry_sum_up(&source), HB_OK);
    assert_string_equal(metadata_of(source, "hipboard_gpu_notes"),
                        "[\"GPU 0: clock fell from 2000 to 1000 MHz in step 2: heat\", "
                        "\"GPU 0: clock fell from 2000 to 1000 MHz in step 6: heat\", "
                        "\"GPU 1: clock fell from 2000 to 1000 MHz in step 4: heat\"]");
    assert_string_equal(metadata_of(source, "before"), "17");
    source->close(source);
}

/* Nine tenths of what it has in most steps is no fall yet. */
static void a_small_fall_is_none(void **state)
{
    (void)state;
    check_note(7, 9, 1890, HB_THROTTLE_POWER, 100, "");
    check_note(7, 9, 1889, HB_THROTTLE_POWER, 100, FELL("1889", "steps 7-9", "power"));
}

static void without_curves_a_source_stays_as_it_is(void **state)
{
    array_source array;
    hb_trace_event e = curve("loss", 0, 1);
    (void)state;
    array_source_init(&array, &e, 1);
    hb_source *source = &array.source;
    assert_int_equal(hb_telemetry_sum_up(&source), HB_OK);
    assert_ptr_equal(source, &array.source);
}

/* ---- what a process reads of its GPUs ---- */

static int get_count(int *count)
{
    *count = 3;
    return 0;
}

static int get_name(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "GPU %d", device);
    return 0;
}

static int get_memory(size_t *bytes, int device)
{
    *bytes = (size_t)device + 1;
    return 0;
}

static int get_attribute(int *value, int attribute, int device)
{
    *value = attribute + device;
    return 0;
}

/* The third one is not told. */
static int get_pci(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "0000:c%d:00.0", device + 1);
    return device == 2;
}

/* What curve stands in the cycle, "1 2 3". */
static void check_curve(hb_profiler *prof, const char *name, const char *unit, const char *expected)
{
    char path[100], text[400] = "";
    size_t n = 0;
    snprintf(path, sizeof path, "%s/t.json", root);
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    cJSON *trace = load_trace(path);
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(text_of(e, "ph"), "C") || strcmp(text_of(e, "name"), name)) continue;
        const cJSON *value = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "args"), unit);
        assert_non_null(value);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%g", n ? " " : "", value->valuedouble);
    }
    assert_string_equal(text, expected);
    cJSON_Delete(trace);
}

static void check_said(hb_profiler *prof, int gpu, const char *expected)
{
    char path[100], key[40];
    snprintf(path, sizeof path, "%s/t.json", root);
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    cJSON *trace = load_trace(path);
    snprintf(key, sizeof key, "hipboard_gpu_%d_sensors", gpu);
    assert_non_null(strstr(text_of(trace, key), expected));
    assert_true(*expected || !cJSON_GetObjectItem(trace, key));
    cJSON_Delete(trace);
}

static void read_with(table *t, uint64_t watts, uint64_t energy)
{
    set(t, 22, watts, 2);
    set(t, 24, energy, 8);
    put(CARD "gpu_metrics", t->bytes, t->size);
    hb_gpu_telemetry();
}

/* Energy counts from the first reading on; what goes back, or is more than any GPU takes, adds
 * nothing. Residencies tell why since the reading before. */
static void a_process_reads_its_gpus(void **state)
{
    static const hb_hip hip = {.get_device_count = get_count,
                               .device_get_name = get_name,
                               .device_total_mem = get_memory,
                               .device_get_attribute = get_attribute,
                               .device_get_pci_bus_id = get_pci};
    hb_profiler *prof = record_all();
    table t;
    (void)state;
    of_rdna(&t);
    setenv("HIPBOARD_SYSFS", root, 1);
    read_with(&t, 1, 5); /* before anybody knows of a GPU */
    hb_known_devices_look(&hip);
    put_text("class/drm/card2/device/uevent", "PCI_SLOT_NAME=0000:c2:00.0\n");
    table residencies = new_table(1, 7, 2208);
    for (uint32_t i = 0; i < 4; i++) {
        set(&residencies, 48, i / 2, 4);
        set(&residencies, 44, i == 3, 4);
        put("class/drm/card2/device/gpu_metrics", residencies.bytes, residencies.size);
        read_with(&t, 300 + i, i == 2 ? (uint64_t)1 << 60 : i == 3 ? 7 : 1000 + 4 * i);
    }
    put_text(CARD "power/runtime_status", "suspended\n");
    read_with(&t, 333, 2000);
    put_text(CARD "power/runtime_status", "active\n");
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    read_with(&t, 444, 2000); /* no session */
    check_curve(prof, "GPU 0 power", "W", "300 301 302 303");
    check_curve(prof, "GPU 0 energy", "J", "0 6.10352e-05 6.10352e-05 6.10352e-05");
    check_curve(prof, "GPU 0 clock", "MHz", "2100 2100 2100 2100");
    check_curve(prof, "GPU 0 temperature", "°C", "71 71 71 71");
    check_curve(prof, "GPU 0 VRAM", "bytes", "1.04858e+06 1.04858e+06 1.04858e+06 1.04858e+06");
    check_curve(prof, "GPU 0 throttled", "1 power, 2 heat, 4 current, 8 other", "1 1 1 1");
    check_curve(prof, "GPU 1 throttled", "1 power, 2 heat, 4 current, 8 other", "0 0 1 2 0");
    check_said(prof, 0, "");
    check_said(prof, 1, "");
    check_said(prof, 2, "HIP does not tell its PCI address");
    char from[200], to[200];
    snprintf(from, sizeof from, "%s/class/drm/card2", root);
    snprintf(to, sizeof to, "%s/gone", root);
    for (int session = 0; session < 2; session++) {
        assert_int_equal(hb_profiler_start(prof), HB_OK);
        read_with(&t, 500, 3000);
        if (!session) assert_int_equal(rename(from, to), 0);
        read_with(&t, 501, 3000);
        assert_int_equal(hb_profiler_stop(prof), HB_OK);
        check_curve(prof, "GPU 0 power", "W", "500 501");
        check_said(prof, 1, "card2/device is gone: what it told stands before");
        check_said(prof, 2, "HIP does not tell its PCI address");
    }
    unsetenv("HIPBOARD_SYSFS");
    hb_profiler_destroy(prof);
}

#define IN_TREE(name) cmocka_unit_test_setup_teardown(name, make_tree, remove_tree)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_have_layouts_of_their_own),
        cmocka_unit_test(residencies_tell_why),
        cmocka_unit_test(what_is_not_known_is_said),
        IN_TREE(a_card_is_found_by_its_address),
        IN_TREE(tables_go_before_hwmon),
        IN_TREE(an_unknown_version_is_said_and_hwmon_read),
        IN_TREE(a_gpu_that_sleeps_is_left_alone),
        IN_TREE(a_card_may_vanish_and_files_hold_nonsense),
        cmocka_unit_test(steps_have_their_energy),
        cmocka_unit_test(a_clock_that_falls_by_itself_is_no_news),
        cmocka_unit_test(a_clock_that_is_made_to_fall_is_said_with_the_cause),
        cmocka_unit_test(where_no_cause_is_told_a_busy_gpu_was_made_to_fall),
        cmocka_unit_test(each_field_is_read_from_its_place),
        cmocka_unit_test(each_cause_has_its_bits),
        cmocka_unit_test(clocks_are_the_mean_of_the_parts_that_run),
        IN_TREE(each_file_is_a_sensor),
        IN_TREE(tables_may_lie),
        IN_TREE(what_is_no_card_is_passed_over),
        cmocka_unit_test(steps_have_what_lies_in_them),
        cmocka_unit_test(each_fall_is_told),
        cmocka_unit_test(a_small_fall_is_none),
        cmocka_unit_test(without_curves_a_source_stays_as_it_is),
        IN_TREE(a_process_reads_its_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
