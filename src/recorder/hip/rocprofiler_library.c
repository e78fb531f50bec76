/* SPDX-License-Identifier: MIT */
#include "hip/rocprofiler_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

static hb_rocp rocp;

static const char *const names[] = {
    "librocprofiler-sdk.so.1",
    "librocprofiler-sdk.so.0",
    "librocprofiler-sdk.so",
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"rocprofiler_get_version", offsetof(hb_rocp, get_version)},
    {"rocprofiler_get_timestamp", offsetof(hb_rocp, get_timestamp)},
    {"rocprofiler_get_status_string", offsetof(hb_rocp, get_status_string)},
    {"rocprofiler_is_initialized", offsetof(hb_rocp, is_initialized)},
    {"rocprofiler_force_configure", offsetof(hb_rocp, force_configure)},
    {"rocprofiler_create_context", offsetof(hb_rocp, create_context)},
    {"rocprofiler_start_context", offsetof(hb_rocp, start_context)},
    {"rocprofiler_stop_context", offsetof(hb_rocp, stop_context)},
    {"rocprofiler_create_buffer", offsetof(hb_rocp, create_buffer)},
    {"rocprofiler_flush_buffer", offsetof(hb_rocp, flush_buffer)},
    {"rocprofiler_configure_buffer_tracing_service", offsetof(hb_rocp, configure_buffer)},
    {"rocprofiler_configure_callback_tracing_service", offsetof(hb_rocp, configure_callback)},
    {"rocprofiler_iterate_callback_tracing_kind_operations", offsetof(hb_rocp, iterate_operations)},
    {"rocprofiler_query_callback_tracing_kind_operation_name", offsetof(hb_rocp, operation_name)},
    {"rocprofiler_query_available_agents", offsetof(hb_rocp, query_agents)},
};

/* ---- where it is ---- */

static void *open_loaded(void)
{
    void *library = NULL;
    for (size_t i = 0; !library && i < HB_ARRAY_LEN(names); i++)
        library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    return library;
}

/* ROCm's libraries lie in one folder, which the system's loader need not know. */
static void *open_beside(const hb_hip *hip)
{
    char path[PATH_MAX], full[PATH_MAX + 64];
    void *library = NULL;
    hb_hip_path(hip, path, sizeof path);
    char *slash = strrchr(path, '/');
    if (!slash) return NULL;
    *slash = '\0';
    for (size_t i = 0; !library && i < HB_ARRAY_LEN(names); i++) {
        snprintf(full, sizeof full, "%s/%s", path, names[i]);
        library = dlopen(full, RTLD_LAZY | RTLD_GLOBAL);
    }
    return library;
}

/* Global, since the runtime's libraries look for it by its symbols. */
static void *open_anywhere(void)
{
    void *library = NULL;
    for (size_t i = 0; !library && i < HB_ARRAY_LEN(names); i++)
        library = dlopen(names[i], RTLD_LAZY | RTLD_GLOBAL);
    return library;
}

/* ---- what it is ---- */

static bool find_functions(hb_buf *why)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(symbols); i++) {
        void *address = dlsym(rocp.library, symbols[i].name);
        if (!address) {
            hb_buf_printf(why, "its library has no %s()", symbols[i].name);
            return false;
        }
        memcpy((char *)&rocp + symbols[i].offset, &address, sizeof address);
    }
    void *demangle = dlsym(rocp.library, "__cxa_demangle");
    memcpy(&rocp.demangle, &demangle, sizeof demangle);
    return true;
}

/* 0.7 was never released; some of its builds have the older callbacks, some the newer. */
static bool is_known(uint32_t major, uint32_t minor)
{
    return major == 1 || (major == 0 && minor >= 4 && minor <= 6);
}

static bool check_version(hb_buf *why)
{
    rocp.get_version(&rocp.major, &rocp.minor, &rocp.patch);
    snprintf(rocp.version, sizeof rocp.version, "%u.%u.%u", rocp.major, rocp.minor, rocp.patch);
    if (is_known(rocp.major, rocp.minor)) return true;
    hb_buf_printf(why, "its version is %s; hipboard knows 0.4 to 0.6 and 1.x", rocp.version);
    return false;
}

const hb_rocp *hb_rocp_library(const hb_hip *hip, hb_buf *why)
{
    if (!rocp.library) rocp.library = open_loaded();
    if (!rocp.library && hip) rocp.library = open_beside(hip);
    if (!rocp.library) rocp.library = open_anywhere();
    if (!rocp.library) {
        hb_buf_printf(why, "%s is not installed", names[0]);
        return NULL;
    }
    return find_functions(why) && check_version(why) ? &rocp : NULL;
}
