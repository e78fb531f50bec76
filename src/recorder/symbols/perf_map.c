/* SPDX-License-Identifier: MIT
 *
 * A line is "START SIZE NAME", both numbers hexadecimal. Memory is used again, so of two lines for
 * one address the later one holds.
 */
#include "symbols/perf_map.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/files.h"

enum { MOST_BYTES = 1 << 28 };

typedef struct entry {
    uint64_t start, end;
    uint32_t line;
    hb_str name;
} entry;

struct hb_perf_map {
    hb_buf text;
    entry *entries; /* by start */
    size_t count;
    uint64_t longest;
};

/* Anybody may write to /tmp. */
static int open_own(void)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    int fd = hb_open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) return fd;
    close(fd);
    return -1;
}

static bool read_text(hb_buf *text)
{
    int fd = open_own();
    ssize_t got = fd >= 0;
    while (got > 0) {
        char *room = hb_buf_reserve(text, 65536);
        got = room ? read(fd, room, 65536) : 0;
        if (got > 0) text->size += (size_t)got;
    }
    if (fd >= 0) close(fd);
    return fd >= 0 && got == 0 && !text->failed;
}

static const char *take_hex(const char *at, const char *end, uint64_t *value)
{
    const char *from = at;
    *value = 0;
    if (end - at > 2 && at[0] == '0' && at[1] == 'x') from = at += 2;
    for (; at < end; at++) {
        int digit = *at >= '0' && *at <= '9'   ? *at - '0'
                    : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10
                    : *at >= 'A' && *at <= 'F' ? *at - 'A' + 10
                                               : -1;
        if (digit < 0) break;
        *value = *value << 4 | (uint64_t)digit;
    }
    return at > from && at < end && *at == ' ' ? at + 1 : NULL;
}

/* False: no such line, as the last one may be that is just being written. */
static bool take_line(const char *at, const char *end, entry *e)
{
    uint64_t size = 0;
    at = take_hex(at, end, &e->start);
    if (at) at = take_hex(at, end, &size);
    if (!at || at == end) return false;
    e->end = e->start + size;
    e->name = (hb_str){at, (uint32_t)HB_MIN(end - at, 4096)};
    return true;
}

static size_t count_lines(const hb_buf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->size; i++)
        n += text->data[i] == '\n';
    return n;
}

static void take_lines(hb_perf_map *map)
{
    const char *at = map->text.data, *end = at + map->text.size, *newline;
    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        entry *e = &map->entries[map->count];
        e->line = (uint32_t)map->count;
        if (take_line(at, newline, e)) {
            map->longest = HB_MAX(map->longest, e->end - e->start);
            map->count++;
        }
        at = newline + 1;
    }
}

static int by_start(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

hb_perf_map *hb_perf_map_read(void)
{
    hb_perf_map *map = calloc(1, sizeof *map);
    if (!map) return NULL;
    hb_buf_init(&map->text, MOST_BYTES);
    if (read_text(&map->text) && map->text.size)
        map->entries = calloc(count_lines(&map->text) + 1, sizeof *map->entries);
    if (!map->entries) {
        hb_perf_map_free(map);
        return NULL;
    }
    take_lines(map);
    if (map->count) qsort(map->entries, map->count, sizeof *map->entries, by_start);
    return map;
}

void hb_perf_map_free(hb_perf_map *map)
{
    if (!map) return;
    hb_buf_free(&map->text);
    free(map->entries);
    free(map);
}

/* "py::NAME:FILE". */
static hb_perf_name name_of(hb_str text)
{
    if (!hb_str_begins(text, "py::")) return (hb_perf_name){.function = text};
    hb_str rest = {text.s + 4, text.len - 4};
    const char *colon = memchr(rest.s, ':', rest.len);
    if (!colon) return (hb_perf_name){.function = rest};
    uint32_t length = (uint32_t)(colon - rest.s);
    return (hb_perf_name){.function = {rest.s, length}, .file = {colon + 1, rest.len - length - 1}};
}

hb_perf_name hb_perf_map_find(const hb_perf_map *map, uint64_t pc)
{
    const entry *best = NULL;
    size_t low = 0, high = map ? map->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->entries[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low > 0 && pc - map->entries[low - 1].start < map->longest; low--) {
        const entry *e = &map->entries[low - 1];
        if (pc < e->end && (!best || e->line > best->line)) best = e;
    }
    return best ? name_of(best->name) : (hb_perf_name){0};
}
