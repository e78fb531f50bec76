/* SPDX-License-Identifier: MIT
 *
 * AMD GPU code objects (ELF files) laid out in device memory.
 */
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include "heap.h"

/** A kernel or a variable of a loaded code object. */
typedef struct sim_symbol {
    const char *name; /* kernels: with ".kd" */
    uint64_t address; /* kernels: of the descriptor */
    uint64_t size;
    bool is_kernel;
} sim_symbol;

typedef struct sim_image {
    char *base;
    size_t size; /* bytes from there */
    char *names;
    sim_symbol *symbols;
    size_t symbol_count;
} sim_image;

/** The address of a symbol that the code object leaves undefined; 0 when it is nowhere. */
typedef uint64_t (*sim_resolve_fn)(void *context, const char *name);

/** Loads the ELF file of `size` bytes, which may be freed afterwards, into `pool`. */
hsa_status_t sim_image_load(const void *file, size_t size, sim_pool *pool, sim_resolve_fn resolve,
                            void *context, sim_image *image);
void sim_image_unload(sim_image *image);

#endif
