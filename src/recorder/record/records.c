/* SPDX-License-Identifier: MIT */
#include "record/records.h"

#include <stdlib.h>

hb_records *hb_records_new(uint32_t session)
{
    hb_records *r = calloc(1, sizeof *r);
    if (r) r->session = session;
    return r;
}

static void free_lists(hb_records *r)
{
    for (uint32_t i = 0; i < r->threads.count; i++)
        free(r->threads.items[i].parts.items);
    free(r->threads.items);
    free(r->order);
    free(r);
}

void hb_records_free(hb_records *r)
{
    if (!r) return;
    for (uint32_t i = 0; i < r->threads.count; i++)
        for (uint32_t k = 0; k < r->threads.items[i].parts.count; k++)
            if (r->threads.items[i].parts.items[k].place == HB_PART_MEMORY)
                free(r->threads.items[i].parts.items[k].coded);
    free_lists(r);
}

void hb_records_free_copy(hb_records *copy)
{
    if (copy) free_lists(copy);
}

/* The first thread of that number or a greater one. New threads have the greatest. */
static uint32_t thread_place(const hb_records *r, uint32_t number)
{
    uint32_t n = r->threads.count;
    if (n && r->threads.items[n - 1].number < number) return n;
    return (uint32_t)HB_LOWER_BOUND(r->threads.items, n, number, number);
}

hb_thread_records *hb_records_find_thread(const hb_records *r, uint32_t number)
{
    uint32_t at = thread_place(r, number);
    return at < r->threads.count && r->threads.items[at].number == number ? &r->threads.items[at]
                                                                          : NULL;
}

/* Made if need be; NULL without memory. */
static hb_thread_records *thread_of(hb_records *r, const hb_events_info *info)
{
    uint32_t at = thread_place(r, info->thread);
    if (at == r->threads.count || r->threads.items[at].number != info->thread) {
        if (!HB_APPEND(&r->threads)) return NULL;
        hb_thread_records *from = &r->threads.items[at];
        memmove(from + 1, from, (r->threads.count - 1 - at) * sizeof *from);
        *from = (hb_thread_records){.number = info->thread, .tid = info->tid};
    }
    hb_thread_records *t = &r->threads.items[at];
    memcpy(t->name, info->thread_name, sizeof t->name);
    t->name[sizeof t->name - 1] = '\0';
    return t;
}

static uint32_t part_place(const hb_thread_records *t, uint32_t sequence)
{
    uint32_t n = t->parts.count;
    if (n && t->parts.items[n - 1].sequence < sequence) return n;
    return (uint32_t)HB_LOWER_BOUND(t->parts.items, n, sequence, sequence);
}

hb_part *hb_records_find(const hb_thread_records *t, uint32_t sequence)
{
    uint32_t at = part_place(t, sequence);
    return at < t->parts.count && t->parts.items[at].sequence == sequence ? &t->parts.items[at]
                                                                          : NULL;
}

bool hb_records_add(hb_records *r, const hb_events_info *info, const hb_part *part, bool *had)
{
    hb_thread_records *t = thread_of(r, info);
    *had = false;
    if (!t) return false;
    uint32_t at = part_place(t, part->sequence);
    *had = at < t->parts.count && t->parts.items[at].sequence == part->sequence;
    if (*had) return false;
    if (!HB_APPEND(&t->parts)) return false;
    memmove(&t->parts.items[at + 1], &t->parts.items[at], (t->parts.count - 1 - at) * sizeof *part);
    t->parts.items[at] = *part;
    r->bytes += part->coded_bytes;
    return true;
}

/* Empty lists have room, so that they are known to be made. */
static bool copy_parts(hb_thread_records *to, const hb_thread_records *from)
{
    *to = *from;
    to->parts.capacity = from->parts.count + 1;
    to->parts.items = malloc((size_t)to->parts.capacity * sizeof *to->parts.items);
    if (!to->parts.items) return false;
    memcpy(to->parts.items, from->parts.items, from->parts.count * sizeof *to->parts.items);
    return true;
}

hb_records *hb_records_copy(const hb_records *r)
{
    hb_records *copy = hb_records_new(r->session);
    bool copied = copy != NULL;
    for (uint32_t i = 0; copied && i < r->threads.count; i++) {
        hb_thread_records *to = HB_APPEND(&copy->threads);
        copied = to && copy_parts(to, &r->threads.items[i]);
    }
    if (copied) return copy;
    hb_records_free_copy(copy);
    return NULL;
}

static int by_first_id(const void *a, const void *b, void *arg)
{
    const hb_records *r = arg;
    const hb_thread_records *x = &r->threads.items[*(const uint32_t *)a];
    const hb_thread_records *y = &r->threads.items[*(const uint32_t *)b];
    uint64_t i = x->parts.count ? x->parts.items[0].first_id : 0;
    uint64_t k = y->parts.count ? y->parts.items[0].first_id : 0;
    return i < k ? -1 : i > k ? 1 : x->number < y->number ? -1 : x->number > y->number;
}

bool hb_records_close(hb_records *r)
{
    free(r->order);
    r->order = malloc(((size_t)r->threads.count + 1) * sizeof *r->order);
    if (!r->order) return false;
    for (uint32_t i = 0; i < r->threads.count; i++)
        r->order[i] = i;
    qsort_r(r->order, r->threads.count, sizeof *r->order, by_first_id, r);
    return true;
}
