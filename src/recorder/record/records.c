/* SPDX-License-Identifier: MIT */
#include "record/records.h"

#include <stdlib.h>

#include "base/list.h"

hb_records *hb_records_new(uint32_t session)
{
    hb_records *r = calloc(1, sizeof *r);
    if (r) r->session = session;
    return r;
}

static void free_lists(hb_records *r)
{
    for (uint32_t i = 0; i < r->num_threads; i++)
        free(r->threads[i].parts);
    free(r->threads);
    free(r->order);
    free(r);
}

void hb_records_free(hb_records *r)
{
    if (!r) return;
    for (uint32_t i = 0; i < r->num_threads; i++)
        for (uint32_t k = 0; k < r->threads[i].num_parts; k++)
            if (r->threads[i].parts[k].place == HB_PART_MEMORY) free(r->threads[i].parts[k].coded);
    free_lists(r);
}

void hb_records_free_copy(hb_records *copy)
{
    if (copy) free_lists(copy);
}

/* The first thread of that number or a greater one. New threads have the greatest. */
static uint32_t thread_place(const hb_records *r, uint32_t number)
{
    uint32_t n = r->num_threads;
    if (n && r->threads[n - 1].number < number) return n;
    return (uint32_t)HB_LOWER_BOUND(r->threads, n, number, number);
}

hb_thread_records *hb_records_find_thread(const hb_records *r, uint32_t number)
{
    uint32_t at = thread_place(r, number);
    return at < r->num_threads && r->threads[at].number == number ? &r->threads[at] : NULL;
}

/* Made if need be; NULL without memory. */
static hb_thread_records *thread_of(hb_records *r, const hb_events_info *info)
{
    uint32_t at = thread_place(r, info->thread);
    if (at == r->num_threads || r->threads[at].number != info->thread) {
        void *threads = hb_list_grow(r->threads, r->num_threads, &r->capacity, sizeof *r->threads);
        if (!threads) return NULL;
        r->threads = threads;
        memmove(&r->threads[at + 1], &r->threads[at], (r->num_threads - at) * sizeof *r->threads);
        r->threads[at] = (hb_thread_records){.number = info->thread, .tid = info->tid};
        r->num_threads++;
    }
    hb_thread_records *t = &r->threads[at];
    memcpy(t->name, info->thread_name, sizeof t->name);
    t->name[sizeof t->name - 1] = '\0';
    return t;
}

static uint32_t part_place(const hb_thread_records *t, uint32_t sequence)
{
    uint32_t n = t->num_parts;
    if (n && t->parts[n - 1].sequence < sequence) return n;
    return (uint32_t)HB_LOWER_BOUND(t->parts, n, sequence, sequence);
}

hb_part *hb_records_find(const hb_thread_records *t, uint32_t sequence)
{
    uint32_t at = part_place(t, sequence);
    return at < t->num_parts && t->parts[at].sequence == sequence ? &t->parts[at] : NULL;
}

bool hb_records_add(hb_records *r, const hb_events_info *info, const hb_part *part, bool *had)
{
    hb_thread_records *t = thread_of(r, info);
    *had = false;
    if (!t) return false;
    uint32_t at = part_place(t, part->sequence);
    *had = at < t->num_parts && t->parts[at].sequence == part->sequence;
    if (*had) return false;
    void *parts = hb_list_grow(t->parts, t->num_parts, &t->capacity, sizeof *t->parts);
    if (!parts) return false;
    t->parts = parts;
    memmove(&t->parts[at + 1], &t->parts[at], (t->num_parts - at) * sizeof *part);
    t->parts[at] = *part;
    t->num_parts++;
    r->bytes += part->coded_bytes;
    return true;
}

hb_records *hb_records_copy(const hb_records *r)
{
    hb_records *copy = hb_records_new(r->session);
    if (!copy) return NULL;
    copy->threads = calloc((size_t)r->num_threads + 1, sizeof *copy->threads);
    copy->capacity = copy->threads ? r->num_threads + 1 : 0;
    for (uint32_t i = 0; copy->threads && i < r->num_threads; i++) {
        hb_thread_records *to = &copy->threads[i];
        *to = r->threads[i];
        to->capacity = to->num_parts + 1;
        to->parts = malloc((size_t)to->capacity * sizeof *to->parts);
        copy->num_threads++;
        if (!to->parts) {
            hb_records_free_copy(copy);
            return NULL;
        }
        memcpy(to->parts, r->threads[i].parts, to->num_parts * sizeof *to->parts);
    }
    if (copy->threads) return copy;
    hb_records_free_copy(copy);
    return NULL;
}

static int by_first_id(const void *a, const void *b, void *arg)
{
    const hb_records *r = arg;
    const hb_thread_records *x = &r->threads[*(const uint32_t *)a];
    const hb_thread_records *y = &r->threads[*(const uint32_t *)b];
    uint64_t i = x->num_parts ? x->parts[0].first_id : 0;
    uint64_t k = y->num_parts ? y->parts[0].first_id : 0;
    return i < k ? -1 : i > k ? 1 : x->number < y->number ? -1 : x->number > y->number;
}

bool hb_records_close(hb_records *r)
{
    free(r->order);
    r->order = malloc(((size_t)r->num_threads + 1) * sizeof *r->order);
    if (!r->order) return false;
    for (uint32_t i = 0; i < r->num_threads; i++)
        r->order[i] = i;
    qsort_r(r->order, r->num_threads, sizeof *r->order, by_first_id, r);
    return true;
}
