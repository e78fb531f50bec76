/* SPDX-License-Identifier: MIT */
#include "import/import_rows.h"

#include <stdlib.h>

bool hb_import_rows_init(hb_import_rows *r, hb_texts *texts)
{
    *r = (hb_import_rows){
        .texts = texts,
        .calls.item_size = sizeof(hb_import_host),
        .scopes.item_size = sizeof(hb_import_host),
        .works.item_size = sizeof(hb_import_work),
        .memory.item_size = sizeof(hb_import_memory),
        .samples.item_size = sizeof(hb_import_sample),
        .values.item_size = sizeof(hb_import_value),
    };
    return hb_distinct_init(&r->call_args, sizeof(hb_import_call_args)) &&
           hb_distinct_init(&r->launches, sizeof(hb_import_launch)) &&
           hb_distinct_init(&r->lanes, sizeof(hb_import_lane)) &&
           hb_distinct_init(&r->threads, sizeof(hb_import_thread));
}

void hb_import_rows_free(hb_import_rows *r)
{
    hb_column_free(&r->calls);
    hb_column_free(&r->scopes);
    hb_column_free(&r->works);
    hb_column_free(&r->memory);
    hb_column_free(&r->samples);
    hb_column_free(&r->values);
    hb_distinct_free(&r->call_args);
    hb_distinct_free(&r->launches);
    hb_distinct_free(&r->lanes);
    hb_distinct_free(&r->threads);
    free(r->calls_order);
    free(r->scopes_order);
    free(r->works_order);
    free(r->memory_order);
    free(r->samples_order);
    free(r->estimates);
    *r = (hb_import_rows){0};
}

_Noreturn static void leave(hb_arena *arena)
{
    hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
}

void *hb_import_push(hb_arena *arena, hb_column *column)
{
    void *item = hb_column_push(column);
    if (!item) leave(arena);
    return item;
}

uint32_t hb_import_distinct(hb_arena *arena, hb_distinct *distinct, const void *item)
{
    uint32_t index = hb_distinct_add(distinct, item);
    if (index == UINT32_MAX) leave(arena);
    return index;
}

hb_string_id hb_import_text(hb_arena *arena, hb_import_rows *rows, hb_str text)
{
    hb_string_id id = hb_texts_add(rows->texts, text.s ? text.s : "", text.len);
    if (!id) leave(arena);
    return id;
}

uint32_t hb_import_thread_of(hb_arena *arena, hb_import_rows *rows, int64_t tid, hb_string_id name)
{
    hb_import_thread thread = {tid, name, 0};
    return hb_import_distinct(arena, &rows->threads, &thread);
}

bool hb_import_times(hb_import_rows *rows, int64_t start, int64_t *end)
{
    if (start < 0 || start > HB_IMPORT_LATEST || *end > HB_IMPORT_LATEST) {
        rows->notes[HB_IMPORT_BAD_TIMES]++;
        return false;
    }
    if (*end < start) *end = start;
    return true;
}
