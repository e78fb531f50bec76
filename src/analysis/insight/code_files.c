/* SPDX-License-Identifier: MIT */
#include "insight/code_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

static hb_result map_file(const char *path, const void **data, size_t *size)
{
    struct stat st;
    int fd;
    HB_TRY(hb_open_to_read(path, &fd, &st));
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return hb_fail_errno(HB_ERROR_IO, EINVAL, "cannot read code of '%s'", path);
    }
    void *map = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    if (map == MAP_FAILED) return hb_fail_errno(HB_ERROR_IO, errno, "cannot map '%s'", path);
    *data = map;
    *size = (size_t)st.st_size;
    return HB_OK;
}

/* Of the C++ library: this one is written in C. It stays loaded, as it would be for C++ programs.
 */
static void find_demangler(hb_insight_inputs *inputs)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *address = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&inputs->demangle, &address, sizeof address);
}

hb_result hb_code_files_map(hb_insight_inputs *inputs, const char *const *paths, size_t count)
{
    if (!count) return HB_OK;
    inputs->codes = calloc(count, sizeof *inputs->codes);
    if (!inputs->codes) return hb_no_memory();
    find_demangler(inputs);
    for (; inputs->num_codes < count; inputs->num_codes++)
        HB_TRY(map_file(paths[inputs->num_codes], &inputs->codes[inputs->num_codes].data,
                        &inputs->codes[inputs->num_codes].size));
    return HB_OK;
}

void hb_code_files_unmap(hb_insight_inputs *inputs)
{
    for (size_t i = 0; i < inputs->num_codes; i++)
        if (inputs->codes[i].size)
            munmap((void *)(uintptr_t)inputs->codes[i].data, inputs->codes[i].size);
    free(inputs->codes);
    inputs->codes = NULL;
    inputs->num_codes = 0;
}
