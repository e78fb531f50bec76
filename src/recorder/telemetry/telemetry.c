/* SPDX-License-Identifier: MIT */
#include "telemetry/telemetry.h"

#include <hipboard/hipboard.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "hip/diagnostics.h"
#include "hip/known_devices.h"
#include "record/record.h"
#include "telemetry/gpu_sysfs.h"

#define MOST_WATTS    10000.0
#define JOULES_A_TICK (1.0 / 65536)

typedef struct gpu {
    hb_gpu_sysfs sysfs;
    bool looked_for;
    uint32_t told; /* the session that has `why` */
    char why[400]; /* not all is known; "" : all is */
    /* of the last reading */
    bool has_energy, has_residencies;
    uint64_t energy;
    uint32_t by_power, by_heat;
    double joules, at; /* since the first reading; seconds */
} gpu;

/* The process in which a thread reads, or 0. Who finds its own leaves the reading to the other one;
 * a forked child finds its parent's, who has no thread here. Acquire and release: `gpus` is theirs
 * who has it. */
static _Atomic pid_t taken_in;
static gpu gpus[HB_HIP_MAX_DEVICES];

static bool take(void)
{
    pid_t own = getpid(), found = atomic_load_explicit(&taken_in, memory_order_relaxed);
    return found != own && atomic_compare_exchange_strong_explicit(
                               &taken_in, &found, own, memory_order_acquire, memory_order_relaxed);
}

static void give(void)
{
    atomic_store_explicit(&taken_in, 0, memory_order_release);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void put(int id, const char *what, const char *unit, double value)
{
    char name[64];
    if (isnan(value)) return;
    snprintf(name, sizeof name, "GPU %d %s", id, what);
    hb_counter(name, unit, value);
}

/* A counter that went back has begun anew, or lies; and no GPU takes that much. */
static void add_energy(gpu *g, const hb_gpu_metrics *m, double now)
{
    double joules = (double)(m->energy - g->energy) * JOULES_A_TICK;
    bool goes_on = g->has_energy && m->energy >= g->energy && joules <= MOST_WATTS * (now - g->at);
    if (goes_on) g->joules += joules;
    g->has_energy = true;
    g->energy = m->energy;
    g->at = now;
}

/* Residencies count on; what has grown was so since the last reading. */
static double throttled(gpu *g, const hb_gpu_metrics *m)
{
    if (m->has_throttle) return m->throttle;
    if (!m->has_residencies) return NAN;
    unsigned now = 0;
    if (g->has_residencies && m->by_power != g->by_power) now |= HB_THROTTLE_POWER;
    if (g->has_residencies && m->by_heat != g->by_heat) now |= HB_THROTTLE_HEAT;
    g->has_residencies = true;
    g->by_power = m->by_power;
    g->by_heat = m->by_heat;
    return now;
}

static void put_all(int id, gpu *g, const hb_gpu_reading *r)
{
    const hb_gpu_metrics *m = &r->metrics;
    put(id, HB_TELEMETRY_POWER, "W", m->power_w);
    if (m->has_energy) {
        add_energy(g, m, seconds());
        put(id, HB_TELEMETRY_ENERGY, "J", g->joules);
    }
    put(id, HB_TELEMETRY_CLOCK, "MHz", m->gfx_mhz);
    put(id, HB_TELEMETRY_MEMORY, "MHz", m->memory_mhz);
    put(id, HB_TELEMETRY_HEAT, "°C", m->hotspot_c);
    put(id, HB_TELEMETRY_MEMORY_HEAT, "°C", m->memory_c);
    put(id, HB_TELEMETRY_BUSY, "%", m->busy_percent);
    put(id, HB_TELEMETRY_VRAM, "bytes", r->vram_bytes);
    put(id, HB_TELEMETRY_THROTTLED, "1 power, 2 heat, 4 current, 8 other", throttled(g, m));
}

static void look_for(gpu *g, const char *pci)
{
    const char *root = secure_getenv("HIPBOARD_SYSFS");
    g->looked_for = true;
    snprintf(g->why, sizeof g->why, "HIP does not tell its PCI address");
    if (*pci)
        hb_gpu_sysfs_find(&g->sysfs, root && *root ? root : "/sys", pci, g->why, sizeof g->why);
}

/* In each session's trace, once. */
static void tell(int id, gpu *g, uint32_t session)
{
    char key[48];
    if (g->told == session || !*g->why) return;
    g->told = session;
    snprintf(key, sizeof key, "hipboard_gpu_%d_sensors", id);
    hb_put_text(key, g->why);
}

static void read_one(int id, gpu *g, const char *pci, uint32_t session)
{
    hb_gpu_reading r;
    if (!g->looked_for) look_for(g, pci);
    if (g->sysfs.found && !hb_gpu_sysfs_read(&g->sysfs, &r)) {
        char device[sizeof g->sysfs.device]; /* gcc -O1 takes the two members for one */
        memcpy(device, g->sysfs.device, sizeof device);
        g->sysfs.found = false;
        g->told = 0;
        snprintf(g->why, sizeof g->why, "%s is gone: what it told stands before", device);
    }
    tell(id, g, session);
    if (g->sysfs.found && !r.sleeps) put_all(id, g, &r);
}

void hb_gpu_telemetry(void)
{
    int count;
    const hb_hip_device *devices = hb_known_devices(&count);
    uint32_t session = __atomic_load_n(&hb_enabled_epoch, __ATOMIC_ACQUIRE);
    if (!session || !count || !take()) return;
    for (int id = 0; id < count; id++)
        read_one(id, &gpus[id], devices[id].pci, session);
    give();
}
