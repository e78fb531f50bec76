/* SPDX-License-Identifier: MIT */
#include "device/hook_versions.h"

#include <dlfcn.h>

static const hb_hook_version versions[] = {
    {502, 832, 334, true},
    {507, 840, 364, false},
    {604, 1520, 419, false},
    {701, 1520, 445, false},
};

/* Both stand on the same hooks, which have one holder each. */
static const char *other_client(void)
{
    static const char *const libraries[] = {"libroctracer64.so.4", "libroctracer64.so"};
    for (size_t i = 0; i < HB_ARRAY_LEN(libraries); i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue;
        dlclose(library);
        return libraries[i];
    }
    return NULL;
}

static void list_releases(hb_buf *why)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(versions); i++)
        hb_buf_printf(why, "%s%d.%d", i ? ", " : "", versions[i].release / 100,
                      versions[i].release % 100);
}

const hb_hook_version *hb_hook_version_of(const hb_hip *hip, hb_buf *why)
{
    const char *other = other_client();
    if (other) {
        hb_buf_printf(why, "%s is loaded in this process and takes the hooks for itself", other);
        return NULL;
    }
    for (size_t i = 0; i < HB_ARRAY_LEN(versions); i++)
        if (versions[i].release == hb_hip_release(hip)) return &versions[i];
    hb_buf_printf(why, "HIP %d.%d is not one of the releases whose hooks hipboard knows (",
                  hb_hip_release(hip) / 100, hb_hip_release(hip) % 100);
    list_releases(why);
    hb_buf_str(why, ")");
    return NULL;
}
