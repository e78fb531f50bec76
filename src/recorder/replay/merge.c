/* SPDX-License-Identifier: MIT */
#include "replay/merge.h"

#include <stdlib.h>

/* The thread's next record of a wanted type. */
static bool advance(const hb_merge *m, hb_merge_thread *t)
{
    while ((t->record = hb_cursor_next(&t->cursor, &t->id)))
        if (m->types & (1u << t->record->type)) break;
    if (!t->record) return false;
    t->floor = t->record->start = HB_MAX(t->record->start, t->floor);
    return true;
}

static bool before(const hb_merge *m, uint32_t a, uint32_t b)
{
    uint64_t x = m->threads[a].record->start, y = m->threads[b].record->start;
    return x != y ? x < y : a < b;
}

static void sift_down(hb_merge *m, uint32_t i)
{
    for (;;) {
        uint32_t least = i;
        for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->heap_size; child++)
            if (before(m, m->heap[child], m->heap[least])) least = child;
        if (least == i) return;
        uint32_t t = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = t;
        i = least;
    }
}

hb_result hb_merge_open(hb_merge *m, const hb_spool_view *view, const hb_session *session,
                        uint32_t types)
{
    const hb_records *records = view->records(view, session);
    *m = (hb_merge){.types = types, .num_threads = records->threads.count};
    m->threads = calloc((size_t)m->num_threads + 1, sizeof *m->threads);
    m->heap = calloc((size_t)m->num_threads + 1, sizeof *m->heap);
    if (!m->threads || !m->heap) {
        hb_result result = hb_fail(HB_ERROR_NO_MEMORY, "no memory for %u threads", m->num_threads);
        hb_merge_close(m);
        return result;
    }
    for (uint32_t i = 0; i < m->num_threads; i++) {
        hb_merge_thread *t = &m->threads[i];
        const hb_thread_records *of = hb_records_nth(records, i);
        t->cursor = hb_cursor_open(view, records, of, types);
        t->tid = of->tid;
        t->index = i;
        if (advance(m, t)) m->heap[m->heap_size++] = i;
    }
    for (uint32_t i = m->heap_size / 2; i-- > 0;)
        sift_down(m, i);
    return HB_OK;
}

void hb_merge_close(hb_merge *m)
{
    for (uint32_t i = 0; m->threads && i < m->num_threads; i++)
        hb_cursor_close(&m->threads[i].cursor);
    free(m->threads);
    free(m->heap);
    *m = (hb_merge){0};
}

hb_merge_thread *hb_merge_next(hb_merge *m)
{
    /* The thread given out last has stayed at the top until the caller was done with its record. */
    if (m->started && m->heap_size) {
        if (!advance(m, &m->threads[m->heap[0]])) m->heap[0] = m->heap[--m->heap_size];
        if (m->heap_size > 1) sift_down(m, 0);
    }
    m->started = true;
    return m->heap_size ? &m->threads[m->heap[0]] : NULL;
}
