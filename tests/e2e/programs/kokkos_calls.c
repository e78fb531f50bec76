/* SPDX-License-Identifier: MIT
 *
 * Does what Kokkos does with the libraries that KOKKOS_TOOLS_LIBS names: loads the last one and
 * calls what it has around regions. Prints whether that one wants Kokkos to wait for the device.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tool_settings {
    bool requires_global_fencing, padding[255];
} tool_settings;

typedef struct memory_space {
    char name[64];
} memory_space;

static const char *const kinds[] = {"parallel_for", "parallel_reduce", "parallel_scan", "fence"};
enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

static void *library;

static void find(const char *name, void *function)
{
    void *address = dlsym(library, name);
    if (!address) {
        printf("no %s\n", name);
        exit(1);
    }
    memcpy(function, &address, sizeof address);
}

/* A region of each kind, one without a name, and memory of three places. */
static void use_all(void)
{
    void (*begin)(const char *, uint32_t, uint64_t *), (*end)(uint64_t);
    void (*data)(memory_space, const char *, const void *, uint64_t);
    static const memory_space spaces[] = {{"Host"}, {"HIP"}, {"HostPinned"}};
    static const char *const memory[] = {"kokkosp_allocate_data", "kokkosp_deallocate_data"};
    char name[64], at[3];
    uint64_t region;
    for (int i = 0; i < NUM_KINDS; i++) {
        snprintf(name, sizeof name, "kokkosp_begin_%s", kinds[i]);
        find(name, &begin);
        snprintf(name, sizeof name, "kokkosp_end_%s", kinds[i]);
        find(name, &end);
        snprintf(name, sizeof name, "my %s", kinds[i]);
        begin(name, 0, &region);
        printf("%d", region != 0);
        end(region);
        begin(NULL, 0, &region);
        printf("%d ", region != 0);
        end(region);
    }
    puts("");
    for (int i = 0; i < 2; i++) {
        find(memory[i], &data);
        for (int k = 0; k < 3; k++)
            data(spaces[k], k < 2 ? "field" : NULL, &at[k], 1000 + (uint64_t)k);
    }
}

int main(void)
{
    void (*init)(int, uint64_t, uint32_t, void *);
    void (*settle)(uint32_t, tool_settings *);
    void (*begin)(const char *, uint32_t, uint64_t *),
        (*begin_fence)(const char *, uint32_t, uint64_t *);
    void (*end)(uint64_t), (*end_fence)(uint64_t);
    void (*push)(const char *), (*pop)(void), (*copied)(void), (*finish)(void);
    void (*copy)(memory_space, const char *, const void *, memory_space, const char *, const void *,
                 uint64_t);
    const char *list = getenv("KOKKOS_TOOLS_LIBS");
    const char *last = list ? strrchr(list, ';') : NULL;
    library = dlopen(last ? last + 1 : list ? list : "", RTLD_NOW);
    if (!library) {
        printf("no tool: %s\n", list ? list : "");
        return 1;
    }
    printf("%s\n", last ? "others before it" : "alone");
    find("kokkosp_init_library", &init);
    find("kokkosp_request_tool_settings", &settle);
    find("kokkosp_begin_parallel_for", &begin);
    find("kokkosp_end_parallel_for", &end);
    find("kokkosp_begin_fence", &begin_fence);
    find("kokkosp_end_fence", &end_fence);
    find("kokkosp_push_profile_region", &push);
    find("kokkosp_pop_profile_region", &pop);
    find("kokkosp_begin_deep_copy", &copy);
    find("kokkosp_end_deep_copy", &copied);
    find("kokkosp_finalize_library", &finish);
    tool_settings settings = {.requires_global_fencing = true};
    uint64_t region, fence;
    memory_space host = {"Host"}, hip = {"HIP"};
    init(0, 20211015, 0, NULL);
    settle(1, &settings);
    printf("%s\n", settings.requires_global_fencing ? "waits" : "does not wait");
    for (int i = 0; i < 3; i++) {
        push("timestep");
        copy(hip, "pressure", NULL, host, "velocity", NULL, 64);
        copied();
        begin("advect", 0, &region);
        begin_fence("Kokkos::Tools::invoke_kokkosp_callback: Kokkos Profile Tool Fence", 0, &fence);
        end_fence(fence);
        end(region);
        pop();
    }
    use_all();
    finish();
    return 0;
}
