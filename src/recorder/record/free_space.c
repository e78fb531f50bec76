/* SPDX-License-Identifier: MIT */
#include "record/free_space.h"

#include <string.h>

static hb_extent *all(const hb_buf *space, size_t *count)
{
    *count = space->size / sizeof(hb_extent);
    return (hb_extent *)space->data;
}

static void remove_at(hb_buf *space, size_t at)
{
    size_t n;
    hb_extent *e = all(space, &n);
    memmove(&e[at], &e[at + 1], (n - at - 1) * sizeof *e);
    space->size -= sizeof *e;
}

/* The first that begins at `offset` or behind it. */
static size_t place_of(const hb_buf *space, uint64_t offset)
{
    size_t n;
    const hb_extent *e = all(space, &n);
    return HB_LOWER_BOUND(e, n, offset, offset);
}

static void insert_at(hb_buf *space, size_t at, hb_extent extent)
{
    size_t n;
    hb_buf_append(space, &extent, sizeof extent);
    if (space->failed) {
        space->failed = false;
        return;
    }
    hb_extent *e = all(space, &n);
    memmove(&e[at + 1], &e[at], (n - 1 - at) * sizeof *e);
    e[at] = extent;
}

void hb_free_space_add(hb_buf *space, hb_extent extent)
{
    size_t n, at = place_of(space, extent.offset);
    hb_extent *e = all(space, &n);
    bool joins_former = at > 0 && e[at - 1].offset + e[at - 1].bytes == extent.offset;
    bool joins_next = at < n && extent.offset + extent.bytes == e[at].offset;
    if (joins_former && joins_next) {
        e[at - 1].bytes += extent.bytes + e[at].bytes;
        remove_at(space, at);
    } else if (joins_former) {
        e[at - 1].bytes += extent.bytes;
    } else if (joins_next) {
        e[at].offset = extent.offset;
        e[at].bytes += extent.bytes;
    } else {
        insert_at(space, at, extent);
    }
}

bool hb_free_space_take(hb_buf *space, uint64_t bytes, uint64_t *offset)
{
    size_t n;
    hb_extent *e = all(space, &n);
    for (size_t i = 0; i < n; i++) {
        if (e[i].bytes < bytes) continue;
        *offset = e[i].offset;
        e[i].offset += bytes;
        e[i].bytes -= bytes;
        if (e[i].bytes == 0) remove_at(space, i);
        return true;
    }
    return false;
}

void hb_free_space_cut(hb_buf *space, uint64_t end)
{
    size_t n;
    hb_extent *e = all(space, &n);
    while (n && e[n - 1].offset >= end)
        n--;
    if (n) e[n - 1].bytes = HB_MIN(e[n - 1].bytes, end - e[n - 1].offset);
    space->size = n * sizeof *e;
}
