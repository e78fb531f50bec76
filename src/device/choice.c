/* SPDX-License-Identifier: MIT */
#include "device/choice.h"

#include <stdlib.h>

const hb_device_backend *const hb_backends[] = {
    &hb_rocprofiler_sdk, &hb_hooks_by_tracer, &hb_hooks_by_record, &hb_interposition, NULL,
};

const char *hb_backend_forced(void)
{
    const char *name = getenv(HB_BACKEND_VARIABLE);
    return name ? name : "";
}

void hb_backend_check_forced(hb_buf *why)
{
    const char *forced = hb_backend_forced();
    if (!*forced) return;
    for (size_t i = 0; hb_backends[i]; i++)
        if (strcmp(hb_backends[i]->name, forced) == 0) return;
    hb_buf_printf(why, "%s is '%s', which is no back-end; there are", HB_BACKEND_VARIABLE, forced);
    for (size_t i = 0; hb_backends[i]; i++)
        hb_buf_printf(why, "%s %s", i ? "," : "", hb_backends[i]->name);
}

bool hb_backend_usable(const hb_device_backend *backend, const hb_hip *hip, hb_buf *why)
{
    const char *forced = hb_backend_forced();
    if (*forced && strcmp(backend->name, forced) != 0) {
        hb_buf_printf(why, "%s names another (%s)", HB_BACKEND_VARIABLE, forced);
        return false;
    }
    return backend->probe(hip, why);
}

void hb_backends_prepare(const hb_hip *hip)
{
    const char *forced = hb_backend_forced();
    for (size_t i = 0; hb_backends[i]; i++)
        if (hb_backends[i]->prepare && (!*forced || strcmp(hb_backends[i]->name, forced) == 0))
            hb_backends[i]->prepare(hip);
}

static bool attach(const hb_device_backend *backend, const hb_hip *hip, hb_buf *refusals)
{
    hb_buf why;
    hb_buf_init(&why, 1024);
    bool attached = hb_backend_usable(backend, hip, &why) && backend->attach(hip, &why);
    if (!attached)
        hb_buf_printf(refusals, "%s%s: %s", refusals->size ? "; " : "", backend->name,
                      hb_buf_text(&why));
    hb_buf_free(&why);
    return attached;
}

const hb_device_backend *hb_backend_attach(const hb_hip *hip, hb_buf *refusals)
{
    hb_backend_check_forced(refusals);
    if (refusals->size) return NULL;
    for (size_t i = 0; hb_backends[i]; i++)
        if (attach(hb_backends[i], hip, refusals)) return hb_backends[i];
    return NULL;
}
