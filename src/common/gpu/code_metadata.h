/* SPDX-License-Identifier: MIT
 *
 * What the compiler wrote into a code object (an ELF file for one GPU) about its kernels: the note
 * of LLVM's AMDGPU back-end, MessagePack since code object version 3.
 * https://llvm.org/docs/AMDGPUUsage.html#code-object-v3-metadata
 */
#ifndef HB_GPU_CODE_METADATA_H
#define HB_GPU_CODE_METADATA_H

#include "base/base.h"

typedef struct hb_code_kernel {
    const char *name; /* mangled; not NUL-terminated */
    uint32_t name_size;
    uint32_t vgprs, agprs;  /* per thread; AGPRs, where there are some, are in vgprs as well */
    uint32_t sgprs;         /* per wave */
    uint32_t lds_bytes;     /* static, per block */
    uint32_t scratch_bytes; /* per thread */
    bool has_agprs;
} hb_code_kernel;

/** The metadata note's bytes within the notes of a code object; NULL when it has none. */
const void *hb_code_note(const void *notes, size_t size, size_t *note_size);

/** Calls `fn` for each kernel of a metadata note. False when it is damaged; what came before it was
 * told. */
bool hb_code_kernels(const void *note, size_t size,
                     void (*fn)(void *context, const hb_code_kernel *), void *context);

#endif
