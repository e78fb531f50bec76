/* SPDX-License-Identifier: MIT */
#include "pack/pack_report.h"

#include <stdio.h>
#include <stdlib.h>

hb_report_builder *hb_report_new(void)
{
    hb_report_builder *b = calloc(1, sizeof *b);
    if (b && hb_texts_init(&b->texts)) return b;
    free(b);
    return NULL;
}

static const char *keep(hb_report_builder *b, const char *text, size_t size)
{
    hb_string_id id = text ? hb_texts_add(&b->texts, text, size) : 0;
    b->failed |= text && !id;
    return id ? hb_texts_get(&b->texts, id).s : NULL;
}

static const char *keep_text(hb_report_builder *b, const char *text)
{
    return keep(b, text, text ? strlen(text) : 0);
}

void hb_report_add(hb_report_builder *b, const hb_pack_member *member)
{
    hb_pack_member *m = HB_APPEND(&b->members);
    if (!m) {
        b->failed = true;
        return;
    }
    *m = *member;
    m->path = keep_text(b, m->path);
    m->name = keep_text(b, m->name);
    m->left_out = keep_text(b, m->left_out);
}

/* Of what is secret so much as tells its owner which one it is. */
static const char *shown(hb_report_builder *b, hb_redaction_kind kind, hb_str found)
{
    enum { SHOWN = 4, LEAST = 12 };
    char text[64];
    if (kind != HB_REDACTED_SECRET && kind != HB_REDACTED_ENVIRONMENT)
        return keep(b, found.s, found.len);
    int n = found.len >= LEAST ? SHOWN : 0;
    n = snprintf(text, sizeof text, "%.*s... (%u bytes)", n, found.s, found.len);
    return keep(b, text, (size_t)n);
}

/* By kind, then by number. */
static int by_kind(const void *x, const void *y)
{
    const hb_redaction *a = x, *b = y;
    int order = strcmp(a->kind, b->kind);
    if (order) return order;
    return strverscmp(a->replacement, b->replacement);
}

void hb_report_add_redactions(hb_report_builder *b, const hb_redactor *r)
{
    size_t n = 0;
    b->redactions = calloc(r->texts.count, sizeof *b->redactions);
    b->failed |= !b->redactions;
    for (hb_string_id id = 1; b->redactions && id < r->texts.count; id++) {
        const hb_redaction_found *f = &r->findings.items[id];
        char replacement[32];
        hb_str found;
        hb_redaction_kind kind = hb_redaction_kind_of(r, id, &found);
        if (!f->count) continue; /* learnt from a file's name, and nowhere else */
        hb_redaction_text(r, id, replacement);
        b->redactions[n++] =
            (hb_redaction){.kind = hb_redaction_name(kind),
                           .found = shown(b, kind, found),
                           .replacement = keep_text(b, replacement),
                           .count = f->count,
                           .files = f->files,
                           .first_file = keep_text(b, hb_texts_get(&r->places, f->place).s)};
    }
    if (n && !b->failed) qsort(b->redactions, n, sizeof *b->redactions, by_kind);
    b->public.num_redactions = n;
}

void hb_pack_report_free(hb_pack_report *report)
{
    hb_report_builder *b = (hb_report_builder *)report;
    if (!b) return;
    hb_texts_free(&b->texts);
    free(b->members.items);
    free(b->redactions);
    free(b);
}

hb_result hb_report_end(hb_report_builder *b, hb_result result, hb_pack_report **out)
{
    if (out) *out = NULL;
    if (result == HB_OK && b->failed) result = hb_no_memory();
    b->public.members = b->members.items;
    b->public.num_members = b->members.count;
    b->public.redactions = b->redactions;
    if (result == HB_OK && out)
        *out = &b->public;
    else
        hb_pack_report_free(&b->public);
    return result;
}
