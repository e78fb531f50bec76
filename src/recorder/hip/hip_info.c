/* SPDX-License-Identifier: MIT
 *
 * What a profiler would find here, for hb_hip_info_get(). Nothing of it is kept.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "hip/backend_select.h"
#include "hip/calls.h"
#include "hip/environment.h"

enum { MAX_BACKENDS = 8, MAX_SETTINGS = 8, REASON_BYTES = 1024 };

typedef struct finding {
    hb_hip_info info; /* what the caller sees, first */
    char path[PATH_MAX], reason[REASON_BYTES], gpu_reason[REASON_BYTES];
    hb_hip_backend backends[MAX_BACKENDS];
    char reasons[MAX_BACKENDS][REASON_BYTES];
    hb_hip_gpu gpus[HB_HIP_MAX_DEVICES];
    hb_hip_device devices[HB_HIP_MAX_DEVICES]; /* their texts */
    hb_hip_setting settings[MAX_SETTINGS];
    char *values[MAX_SETTINGS];
} finding;

/* ---- back-ends ---- */

static const char *fate_of(const hb_device_backend *backend, const hb_hip *hip, char *reason)
{
    hb_buf why;
    hb_buf_init(&why, REASON_BYTES - 1);
    if (!hip)
        hb_buf_str(&why, "there is no HIP runtime");
    else if (hb_backend_usable(backend, hip, &why))
        hb_buf_free(&why);
    snprintf(reason, REASON_BYTES, "%s", hb_buf_text(&why));
    hb_buf_free(&why);
    return reason;
}

static void explain_no_backend(finding *f, const hb_hip *hip)
{
    hb_buf why;
    hb_buf_init(&why, REASON_BYTES - 1);
    hb_backend_check_forced(&why);
    if (why.size) f->info.backend = "";
    if (!why.size && !*f->info.backend)
        hb_buf_str(&why, hip ? "none of the back-ends can be used"
                             : "no HIP runtime (libamdhip64) can be loaded");
    snprintf(f->reason, sizeof f->reason, "%s", hb_buf_text(&why));
    hb_buf_free(&why);
}

static void look_at_backends(finding *f, const hb_hip *hip)
{
    size_t n = 0;
    for (; hb_backends[n] && n < MAX_BACKENDS; n++) {
        hb_hip_backend *b = &f->backends[n];
        b->name = hb_backends[n]->name;
        b->summary = hb_backends[n]->summary;
        b->why_not = fate_of(hb_backends[n], hip, f->reasons[n]);
        b->usable = !*b->why_not;
        if (b->usable && !*f->info.backend) f->info.backend = b->name;
    }
    f->info.num_backends = n;
    explain_no_backend(f, hip);
}

/* ---- devices ---- */

static void add_gpu(finding *f, int id)
{
    hb_hip_device *d = &f->devices[f->info.num_gpus];
    f->gpus[f->info.num_gpus++] = (hb_hip_gpu){
        .id = id,
        .num_cus = d->num_cus,
        .memory_bytes = d->total_global_mem,
        .name = d->name,
        .arch = d->arch,
        .simulated = strstr(d->name, "(simulated)") != NULL,
    };
}

static void look_at_devices(finding *f, const hb_hip *hip)
{
    int count = 0;
    bool was = hb_calls_enter_own();
    int error = hip->get_device_count ? hip->get_device_count(&count) : 0;
    for (int id = 0; error == 0 && id < HB_MIN(count, HB_HIP_MAX_DEVICES); id++)
        if (hb_hip_device_get(hip, id, &f->devices[f->info.num_gpus])) add_gpu(f, id);
    hb_calls_leave_own(was);
    if (f->info.num_gpus == 0)
        snprintf(f->gpu_reason, sizeof f->gpu_reason, "HIP has no device (%s): %s",
                 hb_hip_error_name(hip, error), hb_why_no_device());
}

/* ---- all ---- */

static hb_result copy_setting(finding *f, const char *name)
{
    size_t i = f->info.num_settings++;
    const char *value = secure_getenv(name);
    f->values[i] = value ? strdup(value) : NULL;
    f->settings[i] = (hb_hip_setting){name, f->values[i]};
    return value && !f->values[i] ? hb_fail(HB_ERROR_NO_MEMORY, "no memory for %s", name) : HB_OK;
}

static hb_result copy_settings(finding *f)
{
    for (const char *const *name = hb_visibility_variables; *name; name++)
        HB_TRY(copy_setting(f, *name));
    return copy_setting(f, HB_BACKEND_VARIABLE);
}

static void look(finding *f, bool load)
{
    hb_hip hip;
    bool found = load ? hb_hip_load(&hip) : hb_hip_find(&hip);
    if (found) hb_backends_prepare(&hip);
    if (found && !hip.release) hb_hip_ask_versions(&hip);
    look_at_backends(f, found ? &hip : NULL);
    if (!found) {
        snprintf(f->gpu_reason, sizeof f->gpu_reason, "there is no HIP runtime to ask");
        return;
    }
    hb_hip_path(&hip, f->path, sizeof f->path);
    hb_hip_ask_versions(&hip);
    f->info.runtime_version = hip.version;
    f->info.driver_version = hip.driver_version;
    look_at_devices(f, &hip);
}

hb_result hb_hip_info_get(bool load, hb_hip_info **info)
{
    if (!info) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "hip_info_get: info is NULL");
    *info = NULL;
    finding *f = calloc(1, sizeof *f);
    if (!f) return hb_fail(HB_ERROR_NO_MEMORY, "no memory to describe HIP");
    f->info = (hb_hip_info){
        .runtime_path = f->path,
        .backend = "",
        .why_no_backend = f->reason,
        .backends = f->backends,
        .gpus = f->gpus,
        .why_no_gpu = f->gpu_reason,
        .driver_access = hb_driver_access(HB_DRIVER),
        .settings = f->settings,
    };
    hb_result result = copy_settings(f);
    if (result != HB_OK) {
        hb_hip_info_free(&f->info);
        return result;
    }
    look(f, load);
    *info = &f->info;
    return HB_OK;
}

void hb_hip_info_free(hb_hip_info *info)
{
    finding *f = (finding *)info;
    if (!f) return;
    for (size_t i = 0; i < f->info.num_settings; i++)
        free(f->values[i]);
    free(f);
}
