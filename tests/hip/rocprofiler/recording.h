/* SPDX-License-Identifier: MIT
 *
 * A recording of rocprofv3 (its JSON): what a real GPU's kernels were, for tests to do again.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fake.h"

typedef struct recorded_dispatch {
    fake_dispatch dispatch;
    uint64_t thread, stream;
    const fake_symbol *symbol;
    const char *plain_name;
    bool unasked;   /* of the runtime's own kernels */
    void *function; /* what fake_load() returned */
} recorded_dispatch;

typedef struct recording {
    cJSON *json;
    fake_symbol *symbols;
    const char **plain_names;
    size_t num_symbols;
    recorded_dispatch *dispatches;
    size_t num_dispatches, num_unasked;
} recording;

static inline char *read_gzip(const char *path)
{
    size_t size = 0, capacity = 1 << 20;
    char *text = malloc(capacity + 1);
    gzFile file = gzopen(path, "rb");
    if (!file) return NULL;
    for (int n; (n = gzread(file, text + size, (unsigned)(capacity - size))) > 0;) {
        size += (size_t)n;
        if (size == capacity) text = realloc(text, (capacity *= 2) + 1);
    }
    gzclose(file);
    text[size] = '\0';
    return text;
}

static inline const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static inline uint64_t whole(const cJSON *object, const char *name)
{
    const cJSON *item = member(object, name);
    const cJSON *handle = member(item, "handle");
    return (uint64_t)(handle ? handle : item)->valuedouble;
}

static inline void read_symbols(recording *r, const cJSON *list)
{
    const cJSON *s;
    r->symbols = calloc((size_t)cJSON_GetArraySize(list), sizeof *r->symbols);
    r->plain_names = calloc((size_t)cJSON_GetArraySize(list), sizeof *r->plain_names);
    cJSON_ArrayForEach(s, list)
    {
        r->plain_names[r->num_symbols] = member(s, "formatted_kernel_name")->valuestring;
        r->symbols[r->num_symbols++] = (fake_symbol){
            .kernel_id = whole(s, "kernel_id"),
            .name = member(s, "kernel_name")->valuestring,
            .group_bytes = (uint32_t)whole(s, "group_segment_size"),
            .private_bytes = (uint32_t)whole(s, "private_segment_size"),
            .sgprs = (uint32_t)whole(s, "sgpr_count"),
            .arch_vgprs = (uint32_t)whole(s, "arch_vgpr_count"),
            .accum_vgprs = (uint32_t)whole(s, "accum_vgpr_count"),
        };
    }
}

static inline void read_extent(uint32_t extent[3], const cJSON *triple)
{
    static const char *const axes[] = {"x", "y", "z"};
    for (int i = 0; i < 3; i++)
        extent[i] = (uint32_t)whole(triple, axes[i]);
}

static inline void read_dispatch(recording *r, const cJSON *json)
{
    recorded_dispatch *d = &r->dispatches[r->num_dispatches++];
    const cJSON *info = member(json, "dispatch_info");
    d->thread = whole(json, "thread_id");
    d->stream = whole(json, "stream_id");
    d->dispatch = (fake_dispatch){
        .kernel_id = whole(info, "kernel_id"),
        .agent = whole(info, "agent_id"),
        .queue = whole(info, "queue_id"),
        .begin_ns = whole(json, "start_timestamp"),
        .end_ns = whole(json, "end_timestamp"),
        .private_bytes = (uint32_t)whole(info, "private_segment_size"),
        .group_bytes = (uint32_t)whole(info, "group_segment_size"),
    };
    read_extent(d->dispatch.workgroup, member(info, "workgroup_size"));
    read_extent(d->dispatch.grid, member(info, "grid_size"));
    size_t i = 0;
    while (i < r->num_symbols && r->symbols[i].kernel_id != d->dispatch.kernel_id)
        i++;
    d->symbol = &r->symbols[i];
    d->plain_name = r->plain_names[i];
    d->unasked = strncmp(d->plain_name, "__amd_rocclr_", 13) == 0;
    r->num_unasked += d->unasked;
}

/** Without dispatches: it can't be read. */
static inline recording recording_open(const char *path)
{
    recording r = {0};
    char *text = read_gzip(path);
    r.json = text ? cJSON_Parse(text) : NULL;
    free(text);
    if (!r.json) return r;
    const cJSON *tool = cJSON_GetArrayItem(member(r.json, "rocprofiler-sdk-tool"), 0);
    const cJSON *list = member(member(tool, "buffer_records"), "kernel_dispatch"), *d;
    read_symbols(&r, member(tool, "kernel_symbols"));
    r.dispatches = calloc((size_t)cJSON_GetArraySize(list), sizeof *r.dispatches);
    cJSON_ArrayForEach(d, list) read_dispatch(&r, d);
    return r;
}

static inline void recording_close(recording *r)
{
    cJSON_Delete(r->json);
    free(r->symbols);
    free(r->plain_names);
    free(r->dispatches);
}

#endif
