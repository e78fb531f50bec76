/* SPDX-License-Identifier: MIT */
#include "import/import_set.h"

static bool is_any_of(hb_str name, const char *const *names)
{
    for (; *names; names++)
        if (hb_str_is(name, *names)) return true;
    return false;
}

static void add(hb_import *import, hb_import_rows *rows, const hb_import_host *call,
                const hb_import_call_args *args, bool frees)
{
    hb_import_memory *m = hb_import_push(&import->arena, &rows->memory);
    /* At its end, and still in it. */
    m->time = frees ? call->start : HB_MAX(call->end - 1, call->start);
    m->address = args->ptr;
    m->bytes = frees ? 0 : (int64_t)HB_MIN(args->bytes, (uint64_t)INT64_MAX);
    m->thread = call->thread;
    m->frees = frees;
}

static bool uses_one_gpu(const hb_import_rows *rows)
{
    for (uint32_t i = 1; i < rows->lanes.items.count; i++)
        if (((const hb_import_lane *)hb_column_at(&rows->lanes.items, i))->device > 0) return false;
    return true;
}

void hb_import_memory_of_calls(hb_import *import, hb_import_process *process)
{
    static const char *const allocating[] = {"hipMalloc", "hipMallocAsync", "hipExtMallocWithFlags",
                                             "hipMallocManaged", NULL};
    static const char *const freeing[] = {"hipFree", "hipFreeAsync", NULL};
    hb_import_rows *rows = &process->rows;
    if (rows->memory.count || !uses_one_gpu(rows) || import->dropped & HB_IMPORT_MEMORY) return;
    for (uint32_t i = 0; i < rows->calls.count; i++) {
        const hb_import_host *call = hb_column_at(&rows->calls, i);
        if (!call->args) continue;
        hb_str name = hb_texts_get(rows->texts, call->name);
        const hb_import_call_args *args = hb_column_at(&rows->call_args.items, call->args);
        bool frees = is_any_of(name, freeing);
        if (!args->ptr || !(frees || (args->bytes && is_any_of(name, allocating)))) continue;
        add(import, rows, call, args, frees);
    }
}
