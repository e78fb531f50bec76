/* SPDX-License-Identifier: MIT */
#include "telemetry/gpu_sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/base.h"

enum { TABLE_MOST = 8192, NAME_MOST = 40 };

static ssize_t read_file(const char *directory, const char *name, void *to, size_t size)
{
    char path[400];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path) return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = read(fd, to, size);
    close(fd);
    return n;
}

static bool read_text(const char *directory, const char *name, char *text, size_t size)
{
    ssize_t n = read_file(directory, name, text, size - 1);
    if (n < 0) return false;
    text[n] = '\0';
    return true;
}

/* NaN: not there, or no number. */
static double read_number(const char *directory, const char *name, double unit)
{
    char text[32], *end;
    if (!read_text(directory, name, text, sizeof text)) return NAN;
    double value = strtod(text, &end);
    return end > text && value >= 0 && value < 1e18 ? value * unit : NAN;
}

/* ---- which one it is ---- */

/* Domain, bus and device. */
static bool is_at(const char *device, const char *pci)
{
    static const char key[] = "PCI_SLOT_NAME=";
    char text[1024];
    const char *dot = strrchr(pci, '.');
    size_t n = dot ? (size_t)(dot - pci) : strlen(pci);
    if (!read_text(device, "uevent", text, sizeof text)) return false;
    const char *slot = strstr(text, key);
    return slot && n && strncasecmp(slot + sizeof key - 1, pci, n) == 0 &&
           strchr(".\n", slot[sizeof key - 1 + n]);
}

static bool is_card(const char *name)
{
    return strncmp(name, "card", 4) == 0 && name[4] && strlen(name) < NAME_MOST &&
           strspn(name + 4, "0123456789") == strlen(name + 4);
}

/* Of a directory that is listed, the entry that is asked for by `is`. */
static bool find_card(hb_gpu_sysfs *gpu, const char *drm, const char *pci)
{
    DIR *list = opendir(drm);
    bool found = false;
    for (struct dirent *e; list && !found && (e = readdir(list));) {
        if (!is_card(e->d_name)) continue;
        int n = snprintf(gpu->device, sizeof gpu->device, "%s/%.40s/device", drm, e->d_name);
        found = n < (int)sizeof gpu->device && is_at(gpu->device, pci);
    }
    if (list) closedir(list);
    return found;
}

static void find_hwmon(hb_gpu_sysfs *gpu)
{
    char path[300];
    snprintf(path, sizeof path, "%s/hwmon", gpu->device);
    DIR *list = opendir(path);
    gpu->hwmon[0] = '\0';
    for (struct dirent *e; list && !*gpu->hwmon && (e = readdir(list));)
        if (strncmp(e->d_name, "hwmon", 5) == 0 && strlen(e->d_name) < 16)
            snprintf(gpu->hwmon, sizeof gpu->hwmon, "%s/%.16s", path, e->d_name);
    if (list) closedir(list);
}

/* A look at a GPU that sleeps would wake it, and it would tell of seconds of work that it did not
 * do. */
static bool sleeps(const hb_gpu_sysfs *gpu)
{
    char status[32];
    return read_text(gpu->device, "power/runtime_status", status, sizeof status) &&
           strncmp(status, "suspend", 7) == 0;
}

/* ---- reading ---- */

static bool read_table(const hb_gpu_sysfs *gpu, hb_gpu_metrics *m, char version[16])
{
    char table[TABLE_MOST];
    ssize_t n = read_file(gpu->device, "gpu_metrics", table, sizeof table);
    hb_gpu_metrics_clear(m);
    version[0] = '\0';
    return n > 0 && hb_gpu_metrics_read(table, (size_t)n, m, version);
}

static void fill(double *value, const char *directory, const char *name, double unit)
{
    if (isnan(*value) && *directory) *value = read_number(directory, name, unit);
}

/* What the table does not tell. Beyond all GPUs: a sensor that lies. */
static void read_hwmon(const hb_gpu_sysfs *gpu, hb_gpu_metrics *m)
{
    if (m->power_w > 10000) m->power_w = NAN;
    if (m->hotspot_c > 200) m->hotspot_c = NAN;
    fill(&m->power_w, gpu->hwmon, "power1_average", 1e-6);
    fill(&m->power_w, gpu->hwmon, "power1_input", 1e-6);
    fill(&m->hotspot_c, gpu->hwmon, "temp2_input", 1e-3);
    fill(&m->hotspot_c, gpu->hwmon, "temp1_input", 1e-3);
    fill(&m->memory_c, gpu->hwmon, "temp3_input", 1e-3);
    fill(&m->gfx_mhz, gpu->hwmon, "freq1_input", 1e-6);
    fill(&m->memory_mhz, gpu->hwmon, "freq2_input", 1e-6);
    fill(&m->busy_percent, gpu->device, "gpu_busy_percent", 1);
}

bool hb_gpu_sysfs_read(hb_gpu_sysfs *gpu, hb_gpu_reading *r)
{
    char version[16];
    hb_gpu_metrics_clear(&r->metrics);
    r->vram_bytes = NAN;
    r->sleeps = sleeps(gpu);
    if (r->sleeps) return true;
    if (access(gpu->device, F_OK) != 0) return false;
    if (gpu->reads_table) read_table(gpu, &r->metrics, version);
    read_hwmon(gpu, &r->metrics);
    r->vram_bytes = read_number(gpu->device, "mem_info_vram_used", 1);
    return true;
}

bool hb_gpu_sysfs_find(hb_gpu_sysfs *gpu, const char *root, const char *pci, char *why, size_t size)
{
    char drm[160], version[16];
    hb_gpu_metrics m;
    *gpu = (hb_gpu_sysfs){0};
    snprintf(drm, sizeof drm, "%.128s/class/drm", root);
    if (!find_card(gpu, drm, pci)) {
        bool hidden = access(drm, R_OK) != 0;
        snprintf(why, size,
                 hidden ? "%s can't be read (containers often hide it)"
                        : "%s has no card at PCI address %s",
                 drm, pci);
        return false;
    }
    why[0] = '\0';
    find_hwmon(gpu);
    gpu->found = true;
    if (sleeps(gpu)) return gpu->reads_table = true;
    gpu->reads_table = read_table(gpu, &m, version);
    if (!gpu->reads_table && *version)
        snprintf(why, size,
                 "its gpu_metrics has version %s, which is not known: no energy and no "
                 "throttling",
                 version);
    return true;
}
