/* SPDX-License-Identifier: MIT
 *
 * Kokkos' own names, as annotations, and the host's memory by their names: it loads what
 * KOKKOS_TOOLS_LIBS names and calls these functions around its parallel regions, fences and copies.
 * Nothing is rebuilt.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "capture.h"

#define EXPORT __attribute__((visibility("default")))

/* Kokkos' interface, by value where it passes them so. */
typedef struct tool_settings {
    bool requires_global_fencing, padding[255];
} tool_settings;

typedef struct memory_space {
    char name[64];
} memory_space;

enum { ANNOTATED = 1 };

/* Kokkos tells of fences that are there for tools only. */
static bool is_of_tools(const char *name)
{
    static const char prefix[] = "Kokkos::Tools::";
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

static void begin(const char *name, uint64_t *id)
{
    bool annotated = name && !is_of_tools(name);
    if (annotated) hb_range_push(name);
    if (id) *id = annotated ? ANNOTATED : 0;
}

static void end(uint64_t id)
{
    if (id == ANNOTATED) hb_range_pop();
}

EXPORT void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, void *info);
EXPORT void kokkosp_finalize_library(void);
EXPORT void kokkosp_request_tool_settings(uint32_t actions, tool_settings *settings);

void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, void *info)
{
    (void)sequence, (void)version, (void)devices, (void)info;
}

void kokkosp_finalize_library(void) {}

/* Else it waits for the device before and after each call of these. */
void kokkosp_request_tool_settings(uint32_t actions, tool_settings *settings)
{
    (void)actions;
    if (settings) settings->requires_global_fencing = false;
}

#define REGION(kind)                                                                   \
    EXPORT void kokkosp_begin_##kind(const char *name, uint32_t device, uint64_t *id); \
    EXPORT void kokkosp_end_##kind(uint64_t id);                                       \
    void kokkosp_begin_##kind(const char *name, uint32_t device, uint64_t *id)         \
    {                                                                                  \
        (void)device;                                                                  \
        begin(name, id);                                                               \
    }                                                                                  \
    void kokkosp_end_##kind(uint64_t id)                                               \
    {                                                                                  \
        end(id);                                                                       \
    }
REGION(parallel_for)
REGION(parallel_reduce)
REGION(parallel_scan)
REGION(fence)

EXPORT void kokkosp_push_profile_region(const char *name);
EXPORT void kokkosp_pop_profile_region(void);

void kokkosp_push_profile_region(const char *name)
{
    hb_range_push(name ? name : "");
}

void kokkosp_pop_profile_region(void)
{
    hb_range_pop();
}

EXPORT void kokkosp_begin_deep_copy(memory_space to, const char *to_name, const void *to_ptr,
                                    memory_space from, const char *from_name, const void *from_ptr,
                                    uint64_t bytes);
EXPORT void kokkosp_end_deep_copy(void);

void kokkosp_begin_deep_copy(memory_space to, const char *to_name, const void *to_ptr,
                             memory_space from, const char *from_name, const void *from_ptr,
                             uint64_t bytes)
{
    char text[320];
    (void)to_ptr, (void)from_ptr, (void)bytes;
    snprintf(text, sizeof text, "deep_copy %.80s (%.63s) <- %.80s (%.63s)", to_name ? to_name : "",
             to.name, from_name ? from_name : "", from.name);
    hb_range_push(text);
}

void kokkosp_end_deep_copy(void)
{
    hb_range_pop();
}

/* ---- memory ---- */

EXPORT void kokkosp_allocate_data(memory_space space, const char *label, const void *at,
                                  uint64_t bytes);
EXPORT void kokkosp_deallocate_data(memory_space space, const char *label, const void *at,
                                    uint64_t bytes);

/* What is a GPU's is told by HIP. */
static bool is_of_host(const memory_space *space)
{
    return strncmp(space->name, "Host", sizeof space->name) == 0;
}

static void push_data(const char *what, const memory_space *space, const char *label)
{
    char text[200];
    snprintf(text, sizeof text, "%s %.100s (%.63s)", what, label ? label : "", space->name);
    hb_range_push(text);
}

void kokkosp_allocate_data(memory_space space, const char *label, const void *at, uint64_t bytes)
{
    push_data("allocate", &space, label);
    if (is_of_host(&space)) hb_memory_alloc(HB_DEVICE_CPU, -1, at, bytes);
    hb_range_pop();
}

void kokkosp_deallocate_data(memory_space space, const char *label, const void *at, uint64_t bytes)
{
    push_data("deallocate", &space, label);
    if (is_of_host(&space)) hb_memory_free(HB_DEVICE_CPU, -1, at, bytes);
    hb_range_pop();
}
