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
#include "telemetry/gpu_sysfs.h"
#include "telemetry/telemetry.h"

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

/* ---- steps ---- */

enum { STEPS = 12, MS = 1000000 };
#define AT(ms) (INT64_C(1795256296000000000) + (int64_t)(ms)*MS)

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

static void nothing_to_close(hb_source *source)
{
    (void)source;
}

static hb_source *summed(array_source *array, double throttle)
{
    static hb_trace_event events[STEPS * 20];
    static char names[STEPS][32];
    array_source_init(array, events, make_steps(events, names, throttle));
    array->source.close = nothing_to_close;
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

/* As GPUs do that have nothing to do. */
static void a_clock_that_falls_by_itself_is_no_news(void **state)
{
    (void)state;
    array_source array;
    hb_source *source = summed(&array, 0);
    assert_string_equal(metadata_of(source, "hipboard_gpu_notes"), "");
    source->close(source);
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
    array.source.close = nothing_to_close;
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
