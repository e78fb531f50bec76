/* SPDX-License-Identifier: MIT */
#include "hip/backend_select.h"

#include <stdio.h>
#include <stdlib.h>

#include "record/stack.h"

const hb_device_backend *const hb_backends[] = {
    &hb_rocprofiler_sdk, &hb_hooks_by_tracer, &hb_hooks_by_record, &hb_interposition, NULL,
};

const char *hb_backend_forced(void)
{
    const char *name = secure_getenv(HB_BACKEND_VARIABLE);
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

/* Those that follow each other and have the same reason share it. */
typedef struct refusal {
    char names[128], why[1024];
} refusal;

static void tell(const refusal *r, hb_buf *text)
{
    if (*r->names) hb_buf_printf(text, "%s%s: %s", text->size ? "; " : "", r->names, r->why);
}

static void refuse(refusal *r, const char *name, const char *why, hb_buf *text)
{
    size_t n = strlen(r->names);
    if (n && strcmp(r->why, why) == 0) {
        snprintf(r->names + n, sizeof r->names - n, ", %s", name);
        return;
    }
    tell(r, text);
    snprintf(r->names, sizeof r->names, "%s", name);
    snprintf(r->why, sizeof r->why, "%s", why);
}

static bool attach(const hb_device_backend *backend, const hb_hip *hip, refusal *r, hb_buf *text)
{
    hb_buf why;
    hb_buf_init(&why, sizeof r->why - 1);
    bool attached = hb_backend_usable(backend, hip, &why) && backend->attach(hip, &why);
    if (!attached) refuse(r, backend->name, hb_buf_text(&why), text);
    hb_buf_free(&why);
    return attached;
}

const hb_device_backend *hb_backend_attach(const hb_hip *hip, hb_buf *refusals)
{
    refusal last = {"", ""};
    const hb_device_backend *attached = NULL;
    const void *runtime;
    memcpy(&runtime, &hip->get_device_count, sizeof runtime);
    hb_stack_pass_over(runtime);
    hb_backend_check_forced(refusals);
    if (refusals->size) return NULL;
    for (size_t i = 0; hb_backends[i] && !attached; i++)
        if (attach(hb_backends[i], hip, &last, refusals)) attached = hb_backends[i];
    tell(&last, refusals);
    return attached;
}
