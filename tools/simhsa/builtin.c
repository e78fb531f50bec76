/* SPDX-License-Identifier: MIT
 *
 * The HIP runtime's own kernels for copies, fills and stream memory operations, on the CPU.
 *
 * Their arguments changed between HIP 5 and 6 under the same names. The layouts below were read off
 * the OpenCL prototypes in ROCclr's blitcl.cpp; which of two a launch has is told from the values.
 */
#include "heap.h"
#include "kernel.h"

#include <string.h>
#include <time.h>

typedef struct rect4 {
    uint64_t v[4];
} rect4;

/* HIP 5.2 fills far too much when asked for fewer bytes than there are up to the next multiple of
 * eight, and programs make mistakes. A real GPU would report a fault; here the kernel does nothing.
 */
static bool may_write(const char *kernel, const void *to, uint64_t bytes)
{
    if (sim_memory_holds(to, bytes)) return true;
    sim_warn("%s would leave its allocation, with %llu bytes at %p: not done", kernel,
             (unsigned long long)bytes, to);
    return false;
}

/* memmove, so that a program's overlapping copy is no undefined behaviour here. */
static uint64_t move(void *to, const void *from, uint64_t bytes)
{
    memmove(to, from, bytes);
    return bytes;
}

static uint64_t checked_move(const simhsa_dispatch *d, void *to, const void *from, uint64_t bytes)
{
    return may_write(d->name, to, bytes) ? move(to, from, bytes) : 0;
}

/* HIP 5: `words` counts the full 32-bit words plus one; but with 8 as the rest it counts bytes. */
static uint64_t copy_buffer(const simhsa_dispatch *d)
{
    const struct {
        const char *from;
        char *to;
        uint64_t from_offset, to_offset, words;
        uint32_t rest;
    } *v5 = d->kernarg;
    const struct {
        const char *from;
        char *to;
        uint64_t bytes;
        uint32_t rest, unit;
        uint64_t end;
    } *v6 = d->kernarg;
    /* HIP 5 has a count of words where HIP 6 has an address near the destination. */
    uint64_t to = (uint64_t)(uintptr_t)v6->to;
    if (v6->end >= to && v6->end - to <= v6->bytes)
        return checked_move(d, v6->to, v6->from, v6->bytes);
    uint64_t bytes = v5->rest == 8 ? v5->words : (v5->words - 1) * 4 + v5->rest;
    return checked_move(d, v5->to + v5->to_offset, v5->from + v5->from_offset, bytes);
}

static uint64_t copy_buffer_aligned(const simhsa_dispatch *d)
{
    const struct {
        const char *from;
        char *to;
        uint64_t from_offset, to_offset, count;
        uint32_t unit;
    } *a = d->kernarg;
    return checked_move(d, a->to + a->to_offset * a->unit, a->from + a->from_offset * a->unit,
                        a->count * a->unit);
}

/* Rectangles are {row pitch, slice pitch, start}, the size is {x, y, z, unit}; all but y and z in
 * units of the last. */
static uint64_t copy_rect(const simhsa_dispatch *d, bool in_units)
{
    const struct {
        const char *from;
        char *to;
        uint64_t padding[2]; /* vectors of four are aligned to their size */
        rect4 from_rect, to_rect, size;
    } *a = d->kernarg;
    uint64_t unit = in_units ? a->size.v[3] : 1, row = a->size.v[0] * unit;
    for (uint64_t z = 0; z < a->size.v[2]; z++) {
        for (uint64_t y = 0; y < a->size.v[1]; y++) {
            const uint64_t *f = a->from_rect.v, *t = a->to_rect.v;
            move(a->to + (t[2] + y * t[0] + z * t[1]) * unit,
                 a->from + (f[2] + y * f[0] + z * f[1]) * unit, row);
        }
    }
    return row * a->size.v[1] * a->size.v[2];
}

static uint64_t copy_buffer_rect(const simhsa_dispatch *d)
{
    return copy_rect(d, false);
}

static uint64_t copy_buffer_rect_aligned(const simhsa_dispatch *d)
{
    return copy_rect(d, true);
}

/* HIP 5 passes the buffer as one of four arguments, by the width of the elements. */
static char *fill_target(const uint64_t buffers[4], uint64_t *width)
{
    for (unsigned i = 0; i < 4; i++) {
        *width = (uint64_t)1 << i;
        if (buffers[i]) return (char *)(uintptr_t)buffers[i];
    }
    return NULL;
}

/* What is written is the source of the next, twice as long, piece. */
static uint64_t fill_to(char *to, const char *pattern, uint64_t width, uint64_t end)
{
    uint64_t bytes = end - (uint64_t)(uintptr_t)to, done = width < bytes ? width : bytes;
    memcpy(to, pattern, done);
    while (done < bytes) {
        uint64_t piece = done < bytes - done ? done : bytes - done;
        memcpy(to + done, to, piece);
        done += piece;
    }
    return bytes;
}

static uint64_t fill_buffer(const simhsa_dispatch *d)
{
    const struct {
        uint64_t buffers[4];
        const char *pattern;
        uint32_t elements; /* of the pattern */
        uint64_t offset, count;
    } *v5 = d->kernarg;
    const struct {
        char *to;
        const char *pattern;
        uint32_t elements, width;
        uint64_t end;
    } *v6 = d->kernarg;
    /* HIP 5 sets only one of the first two words. */
    if (v5->buffers[0] && v5->buffers[1])
        return fill_to(v6->to, v6->pattern, (uint64_t)v6->elements * v6->width, v6->end);

    uint64_t width, bytes;
    char *to = fill_target(v5->buffers, &width);
    if (!to) return 0;
    to += v5->offset * width;
    width *= v5->elements;
    if (__builtin_mul_overflow(v5->count, width, &bytes)) bytes = UINT64_MAX;
    return may_write(d->name, to, bytes)
               ? fill_to(to, v5->pattern, width, (uint64_t)(uintptr_t)to + bytes)
               : 0;
}

/* One work-item writes one pattern; rows and columns beyond the grid have none. */
static uint64_t fill_buffer_2d(const simhsa_dispatch *d)
{
    const struct {
        uint64_t buffers[4];
        const char *pattern;
        uint32_t elements;
        uint64_t origin, width, height, pitch;
    } *a = d->kernarg;
    uint64_t width, written = 0;
    char *to = fill_target(a->buffers, &width);
    uint64_t columns = a->width < d->grid[0] ? a->width : d->grid[0];
    uint64_t rows = a->height < d->grid[1] ? a->height : d->grid[1];
    for (uint64_t y = 0; to && y < rows; y++)
        for (uint64_t x = 0; x < columns; x++)
            written +=
                move(to + (a->origin + y * a->pitch + x) * width, a->pattern, a->elements * width);
    return written;
}

/* ---- stream memory operations: 32 bits through the first pointer, else 64 through the second ----
 */

static uint64_t stream_write(const simhsa_dispatch *d)
{
    const struct {
        uint32_t *word;
        uint64_t *dword;
        uint64_t value;
    } *a = d->kernarg;
    if (a->word)
        __atomic_store_n(a->word, (uint32_t)a->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n(a->dword, a->value, __ATOMIC_RELEASE);
    return a->word ? 4 : 8;
}

static bool stream_value_meets(uint64_t value, uint64_t wanted, uint64_t comparison, uint64_t mask)
{
    switch (comparison) {
    case 0: return (value & mask) >= wanted;
    case 1: return (value & mask) == wanted;
    case 2: return (value & mask & wanted) != 0;
    default: return ((value | wanted) & mask) != mask;
    }
}

static uint64_t stream_wait(const simhsa_dispatch *d)
{
    const struct {
        const uint32_t *word;
        const uint64_t *dword;
        uint64_t value, comparison, mask;
    } *a = d->kernarg;
    uint64_t mask = a->word ? a->mask & UINT32_MAX : a->mask;
    for (;;) {
        uint64_t value = a->word ? __atomic_load_n(a->word, __ATOMIC_ACQUIRE)
                                 : __atomic_load_n(a->dword, __ATOMIC_ACQUIRE);
        if (stream_value_meets(value, a->value, a->comparison, mask)) return 0;
        nanosleep(&(struct timespec){0, 20000}, NULL);
    }
}

sim_builtin_fn sim_builtin_find(const char *name)
{
    static const struct {
        const char *name;
        sim_builtin_fn fn;
    } builtins[] = {
        {"__amd_rocclr_copyBuffer", copy_buffer},
        {"__amd_rocclr_copyBufferAligned", copy_buffer_aligned},
        {"__amd_rocclr_copyBufferRect", copy_buffer_rect},
        {"__amd_rocclr_copyBufferRectAligned", copy_buffer_rect_aligned},
        {"__amd_rocclr_fillBufferAligned", fill_buffer},
        {"__amd_rocclr_fillBufferAligned2D", fill_buffer_2d},
        {"__amd_rocclr_streamOpsWrite", stream_write},
        {"__amd_rocclr_streamOpsWait", stream_wait},
    };
    for (size_t i = 0; i < SIM_ARRAY_LEN(builtins); i++)
        if (strcmp(builtins[i].name, name) == 0) return builtins[i].fn;
    return NULL;
}
