/* SPDX-License-Identifier: MIT */
#include "page/page_moments.h"

#include <math.h>
#include <stdlib.h>

static const hb_page_column columns[] = {{"Device", HB_CELL_TEXT},
                                         {"At", HB_CELL_TIME},
                                         {"Holder", HB_CELL_TEXT},
                                         {"Bytes", HB_CELL_BYTES},
                                         {"Allocations", HB_CELL_COUNT}};
const hb_page_table hb_page_moments_table = HB_PAGE_TABLE("Moments", columns);

enum { MOST_HOLDERS = 20 }; /* at one moment */

hb_result hb_memory_steps_init(hb_memory_steps *steps, size_t allocations)
{
    *steps = (hb_memory_steps){.items = malloc((2 * allocations + 1) * sizeof *steps->items)};
    return hb_texts_init(&steps->names) && steps->items ? HB_OK : hb_no_memory();
}

hb_result hb_memory_steps_add(hb_memory_steps *s, const char *holder, double from, double until,
                              double bytes)
{
    hb_string_id id = hb_texts_add(&s->names, holder, strlen(holder));
    if (!id) return hb_no_memory();
    s->items[s->count++] = (hb_memory_step){from, bytes, id};
    if (!isnan(until)) s->items[s->count++] = (hb_memory_step){until, -bytes, id};
    return HB_OK;
}

void hb_memory_steps_free(hb_memory_steps *steps)
{
    hb_texts_free(&steps->names);
    free(steps->items);
}

static int by_time(const void *x, const void *y)
{
    const hb_memory_step *a = x, *b = y;
    return (a->at > b->at) - (a->at < b->at);
}

typedef struct holding {
    double bytes, count;
    uint32_t holder;
} holding;

static int larger_first(const void *x, const void *y)
{
    const holding *a = x, *b = y;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return (a->holder > b->holder) - (a->holder < b->holder);
}

static void put_one(hb_emitter *out, const hb_memory_steps *s, const char *device, double at,
                    const holding *now, holding *sorted)
{
    uint32_t n = 0;
    double bytes = 0, count = 0;
    for (uint32_t id = 1; id < s->names.count; id++)
        if (now[id].count > 0) sorted[n++] = now[id];
    if (n) qsort(sorted, n, sizeof *sorted, larger_first);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = hb_texts_get(&s->names, sorted[i].holder).s;
        if (i < MOST_HOLDERS) {
            hb_table_row(out, &hb_page_moments_table, device, at, name, sorted[i].bytes,
                         sorted[i].count);
            continue;
        }
        bytes += sorted[i].bytes;
        count += sorted[i].count;
    }
    if (n > MOST_HOLDERS)
        hb_table_row(out, &hb_page_moments_table, device, at, "(others)", bytes, count);
}

hb_result hb_page_put_moments(hb_emitter *out, hb_memory_steps *s, const char *device,
                              double span_us)
{
    holding *now = calloc(s->names.count + 1, sizeof *now);
    holding *sorted = malloc((s->names.count + 1) * sizeof *sorted);
    size_t next = 0;
    if (s->count) qsort(s->items, s->count, sizeof *s->items, by_time);
    for (int k = 0; now && sorted && k < HB_PAGE_MOMENTS; k++) {
        double at = (k + 0.5) * span_us / HB_PAGE_MOMENTS;
        for (; next < s->count && s->items[next].at <= at; next++) {
            const hb_memory_step *step = &s->items[next];
            now[step->holder].holder = step->holder;
            now[step->holder].bytes += step->bytes;
            now[step->holder].count += step->bytes < 0 ? -1 : 1;
        }
        put_one(out, s, device, at, now, sorted);
    }
    hb_result result = now && sorted ? HB_OK : hb_no_memory();
    free(now);
    free(sorted);
    return result;
}
