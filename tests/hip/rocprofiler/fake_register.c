/* SPDX-License-Identifier: MIT
 *
 * librocprofiler-register.so.0: hands a runtime's tables to rocprofiler-sdk when that is loaded, or
 * when someone in the process wants to be its client.
 */
#include "fake.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct registration_info {
    size_t size;
    const char *common_name;
    uint32_t lib_version;
    uint64_t api_table_length;
} registration_info;

static registration_info registered[8];
static int num_registered;

typedef int (*set_api_table)(const char *name, uint64_t version, uint64_t instance, void **tables,
                             uint64_t count);

static set_api_table find_sdk(void)
{
    set_api_table found;
    if (!dlsym(RTLD_DEFAULT, "rocprofiler_configure") && !getenv("ROCPROFILER_REGISTER_FORCE_LOAD"))
        return NULL;
    void *library = dlopen("librocprofiler-sdk.so.1", RTLD_LAZY | RTLD_GLOBAL);
    if (!library) abort(); /* as the real one */
    void *address = dlsym(library, "rocprofiler_set_api_table");
    memcpy(&found, &address, sizeof found);
    return found;
}

FAKE_API int rocprofiler_register_library_api_table(const char *name, void *import,
                                                    uint32_t version, void **tables, uint64_t count,
                                                    uint64_t *id)
{
    (void)import;
    *id = (uint64_t)num_registered;
    registered[num_registered++] =
        (registration_info){sizeof(registration_info), name, version, count};
    set_api_table sdk = find_sdk();
    return sdk ? sdk(name, version, 0, tables, count) : 1;
}

FAKE_API int rocprofiler_register_iterate_registration_info(int (*each)(registration_info *,
                                                                        void *),
                                                            void *arg)
{
    for (int i = 0; i < num_registered; i++) {
        registration_info info = registered[i];
        if (each(&info, arg) != 0) break;
    }
    return 0;
}
