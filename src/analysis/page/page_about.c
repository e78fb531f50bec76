/* SPDX-License-Identifier: MIT
 *
 * What there is to ask about.
 */
#include "page/page_views.h"

static void put_trace(hb_emitter *out, const hb_page_trace *t)
{
    const char *slash = strrchr(t->path, '/');
    hb_buf stamp;
    hb_buf_init(&stamp, 128);
    hb_buf_printf(&stamp, "%llx-%llx-%llx-%llx", (unsigned long long)t->stamp.inode,
                  (unsigned long long)t->stamp.size, (unsigned long long)t->stamp.seconds,
                  (unsigned long long)t->stamp.ns);
    hb_emit_open(out, '{');
    hb_emit_pair(out, "id", t->id);
    hb_emit_pair(out, "run", t->run);
    hb_emit_pair(out, "worker", t->worker);
    hb_emit_pair(out, "span", t->span);
    hb_emit_pair(out, "file", slash ? slash + 1 : t->path);
    if (t->page->live) hb_emit_pair(out, "stamp", hb_buf_text(&stamp));
    if (t->error) hb_emit_pair(out, "error", t->error);
    hb_emit_close(out, '}');
    hb_buf_free(&stamp);
}

hb_result hb_page_about(hb_page *page, hb_emitter *out)
{
    HB_TRY(hb_page_refresh(page));
    hb_emit_pair(out, "version", hb_version());
    hb_emit_bool(out, "live", page->live);
    pthread_mutex_lock(&page->lock);
    hb_emit_member(out, "generation", (double)page->generation);
    hb_emit_open_key(out, "traces", '[');
    for (size_t i = 0; i < page->num_traces; i++)
        put_trace(out, page->traces[i]);
    pthread_mutex_unlock(&page->lock);
    hb_emit_close(out, ']');
    return HB_OK;
}

hb_result hb_page_changes(hb_page *page, hb_emitter *out)
{
    HB_TRY(hb_page_refresh(page));
    pthread_mutex_lock(&page->lock);
    hb_emit_member(out, "generation", (double)page->generation);
    pthread_mutex_unlock(&page->lock);
    return HB_OK;
}

hb_result hb_page_progress(hb_page *page, const char *trace, hb_emitter *out)
{
    uint64_t done = 0, size = 0;
    pthread_mutex_lock(&page->lock);
    for (size_t i = 0; trace && i < page->num_traces; i++) {
        if (strcmp(page->traces[i]->id, trace) != 0) continue;
        done = atomic_load_explicit(&page->traces[i]->done, memory_order_relaxed);
        size = atomic_load_explicit(&page->traces[i]->size, memory_order_relaxed);
    }
    pthread_mutex_unlock(&page->lock);
    hb_emit_member(out, "done", (double)done);
    hb_emit_member(out, "size", (double)size);
    return HB_OK;
}
