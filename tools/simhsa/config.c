/* SPDX-License-Identifier: MIT */
#include "arch.h"
#include "fault.h"
#include "kernel.h"
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_ARCH        "gfx90a"
#define DEFAULT_KERNEL_NS   20000
#define DEFAULT_COPY_NS     2000
/* PCIe 4.0 x16 as measured by rocm_bandwidth_test on MI200 boards, and half of HBM2e's peak: a copy
 * within the device reads and writes. */
#define DEFAULT_COPY_GBPS   25
#define DEFAULT_DEVICE_GBPS 800

sim_settings sim_config;

void sim_warn(const char *format, ...)
{
    char *text = NULL, *line = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) return;
    int size = asprintf(&line, "simhsa: %s\n", text);
    free(text);
    if (size < 0) return;
    /* One write, so that lines of several threads and processes do not mix. */
    ssize_t written = write(STDERR_FILENO, line, (size_t)size);
    (void)written;
    free(line);
}

/* A whole number within [low, high], with K, M, G or T (2^10 steps) when `suffixes`. */
static bool parse_integer(const char *text, uint64_t low, uint64_t high, bool suffixes,
                          uint64_t *value)
{
    static const char letters[] = "KMGT";
    char *end;
    if (*text < '0' || *text > '9') return false;
    uint64_t number = strtoull(text, &end, 10);
    const char *letter = suffixes && *end ? strchr(letters, *end) : NULL;
    if (letter) {
        unsigned shift = 10 * (unsigned)(letter - letters + 1);
        if (number > UINT64_MAX >> shift) return false;
        number <<= shift;
        end++;
    }
    if (*end != '\0' || number < low || number > high) return false;
    *value = number;
    return true;
}

static bool read_integer(const char *name, uint64_t low, uint64_t high, bool suffixes,
                         uint64_t *value)
{
    const char *text = getenv(name);
    if (!text || parse_integer(text, low, high, suffixes, value)) return true;
    sim_warn("%s=%s: not a number from %llu to %llu", name, text, (unsigned long long)low,
             (unsigned long long)high);
    return false;
}

static bool read_gbps(const char *name, double *value)
{
    const char *text = getenv(name);
    if (!text) return true;
    char *end;
    *value = strtod(text, &end);
    if (end != text && *end == '\0' && *value > 0 && *value < 1e9) return true;
    sim_warn("%s=%s: not a bandwidth in GB/s", name, text);
    return false;
}

static bool read_arch(void)
{
    const char *name = getenv("SIMHSA_ARCH");
    sim_config.arch = sim_arch_find(name ? name : DEFAULT_ARCH);
    if (sim_config.arch) return true;
    char known[256] = "";
    for (unsigned i = 0; sim_arch_at(i); i++) {
        strncat(known, " ", sizeof known - strlen(known) - 1);
        strncat(known, sim_arch_at(i)->name, sizeof known - strlen(known) - 1);
    }
    sim_warn("SIMHSA_ARCH=%s: not one of%s", name, known);
    return false;
}

bool sim_config_load(void)
{
    uint64_t gpus = 1, trace = 0;
    sim_config = (sim_settings){
        .copy_ns = DEFAULT_COPY_NS,
        .copy_gbps = DEFAULT_COPY_GBPS,
        .device_gbps = DEFAULT_DEVICE_GBPS,
    };
    if (!read_integer("SIMHSA_TRACE", 0, 1, false, &trace)) return false;
    sim_config.trace = trace != 0;
    if (!read_integer("SIMHSA_GPUS", 0, SIM_MAX_GPUS, false, &gpus) || !read_arch()) return false;
    sim_config.gpus = (unsigned)gpus;
    sim_config.memory_bytes = (uint64_t)sim_config.arch->memory_gib << 30;
    if (!read_integer("SIMHSA_MEMORY", (uint64_t)64 << 20, (uint64_t)1 << 44, true,
                      &sim_config.memory_bytes))
        return false;
    if (!read_integer("SIMHSA_COPY_NS", 0, UINT32_MAX, false, &sim_config.copy_ns) ||
        !read_gbps("SIMHSA_COPY_GBPS", &sim_config.copy_gbps) ||
        !read_gbps("SIMHSA_DEVICE_GBPS", &sim_config.device_gbps))
        return false;
    sim_config.kernel_ns = DEFAULT_KERNEL_NS;
    return sim_kernel_plan(getenv("SIMHSA_KERNEL_NS")) && sim_fault_plan(getenv("SIMHSA_FAULTS"));
}
