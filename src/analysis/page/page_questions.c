/* SPDX-License-Identifier: MIT
 *
 * What is asked about slices by a client that holds an outline of them only.
 */
#include <stdlib.h>

#include "page/page_views.h"

enum { MOST_PLACES = 100000 };

static hb_result number_of(const hb_url *url, const char *name, int64_t *number)
{
    const char *text = hb_url_get(url, name);
    char *end;
    if (!text) return HB_OK;
    *number = strtoll(text, &end, 10);
    if (*end || end == text || *number < 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "%s=%s is not a number", name, text);
    return HB_OK;
}

hb_result hb_page_window(const hb_timeline *timeline, const hb_url *url, hb_slice_window *window)
{
    *window = (hb_slice_window){0, timeline->end - timeline->start + 1, 0};
    HB_TRY(number_of(url, "from", &window->from));
    HB_TRY(number_of(url, "to", &window->to));
    HB_TRY(number_of(url, "cell", &window->cell));
    if (window->to < window->from)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "the window ends before it begins");
    return HB_OK;
}

typedef struct place {
    hb_slice slice;
    uint32_t lane;
} place;

static void put_place(hb_emitter *out, const place *p)
{
    hb_emit_open(out, '[');
    hb_emit_int(out, p->lane);
    hb_emit_finite(out, (double)p->slice.start);
    hb_emit_finite(out, (double)p->slice.end);
    hb_emit_int(out, p->slice.name);
    hb_emit_int(out, p->slice.row);
    hb_emit_close(out, ']');
}

static int by_time(const void *x, const void *y)
{
    const place *a = x, *b = y;
    if (a->slice.start != b->slice.start) return a->slice.start < b->slice.start ? -1 : 1;
    return (a->lane > b->lane) - (a->lane < b->lane);
}

/* ---- names ---- */

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool holds(hb_str name, const char *text, size_t size)
{
    for (size_t at = 0; at + size <= name.len; at++) {
        size_t i = 0;
        while (i < size && fold(name.s[at + i]) == fold(text[i]))
            i++;
        if (i == size) return true;
    }
    return false;
}

/* By index of names whether it is asked for; free() it. NULL without memory. */
static bool *mark_names(const hb_timeline *t, const char *text, bool exact)
{
    bool *marked = calloc(t->names.count + 1, sizeof *marked);
    for (uint32_t i = 0; marked && i < t->names.count; i++) {
        hb_str name = hb_trace_text(t->trace, t->names.items[i].text);
        marked[i] = exact ? hb_str_is(name, text) : holds(name, text, strlen(text));
    }
    return marked;
}

static uint64_t count_marked(const hb_timeline *t, const bool *marked)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < t->num_slices; i++)
        count += marked[hb_slice_of(t, t->rows[i]).name];
    return count;
}

/* All of them, by time; free() them. */
static place *find_marked(const hb_timeline *t, const bool *marked, uint64_t count)
{
    place *found = malloc((count + 1) * sizeof *found);
    uint64_t n = 0;
    for (uint32_t l = 0; found && l < t->lanes.count; l++) {
        const hb_lane *lane = &t->lanes.items[l];
        for (uint32_t i = 0; i < lane->count; i++) {
            hb_slice s = hb_slice_at(t, lane, i);
            if (marked[s.name]) found[n++] = (place){s, l};
        }
    }
    if (found) qsort(found, n, sizeof *found, by_time);
    return found;
}

static hb_result put_found(const hb_timeline *t, const bool *marked, uint64_t most, hb_emitter *out)
{
    uint64_t count = count_marked(t, marked);
    place *found = find_marked(t, marked, count);
    if (!found) return hb_no_memory();
    hb_emit_member(out, "count", (double)count);
    hb_emit_open_key(out, "hits", '[');
    for (uint64_t i = 0; i < HB_MIN(count, most); i++)
        put_place(out, &found[i]);
    hb_emit_close(out, ']');
    free(found);
    return HB_OK;
}

hb_result hb_page_find_slices(hb_page_trace *trace, const hb_url *url, hb_emitter *out)
{
    hb_timeline *t;
    const char *text = hb_url_get(url, "text"), *exact = hb_url_get(url, "exact");
    int64_t most = MOST_PLACES;
    if (!text || !*text) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "parameter text is missing");
    HB_TRY(number_of(url, "most", &most));
    HB_TRY(hb_page_timeline(trace, &t));
    bool *marked = mark_names(t, text, exact && strcmp(exact, "1") == 0);
    if (!marked) return hb_no_memory();
    hb_result result = put_found(t, marked, (uint64_t)HB_MIN(most, MOST_PLACES), out);
    free(marked);
    return result;
}

/* ---- sums ---- */

typedef struct sum {
    uint64_t count;
    int64_t within, longest;
} sum;

static void add_lane(const hb_timeline *t, const hb_lane *lane, const hb_slice_window *w, sum *sums)
{
    for (uint32_t i = hb_lane_find(t, lane, w->from); i < lane->count; i++) {
        hb_slice s = hb_slice_at(t, lane, i);
        if (s.start >= w->to) return;
        sum *to = &sums[s.name];
        to->count++;
        to->within += HB_MIN(s.end, w->to) - HB_MAX(s.start, w->from);
        to->longest = HB_MAX(to->longest, s.end - s.start);
    }
}

/* Behind the number that the text begins with; NULL: it begins with none. */
static const char *take_index(const char *text, unsigned long *index)
{
    char *end;
    if (*text < '0' || *text > '9') return NULL;
    *index = strtoul(text, &end, 10);
    return end;
}

/* "0-3,7" of the lanes. */
static hb_result add_lanes(const hb_timeline *t, const char *lanes, const hb_slice_window *w,
                           sum *sums)
{
    for (const char *at = lanes; at && *at;) {
        unsigned long from = 0;
        const char *end = take_index(at, &from);
        unsigned long to = from;
        if (end && *end == '-') end = take_index(end + 1, &to);
        if (!end || (*end && *end != ','))
            return hb_fail(HB_ERROR_INVALID_ARGUMENT, "lanes=%s are not numbers", lanes);
        for (unsigned long l = from; l <= to && l < t->lanes.count; l++)
            add_lane(t, &t->lanes.items[l], w, sums);
        at = *end ? end + 1 : end;
    }
    return HB_OK;
}

hb_result hb_page_sum_slices(hb_page_trace *trace, const hb_url *url, hb_emitter *out)
{
    hb_timeline *t;
    hb_slice_window window;
    HB_TRY(hb_page_timeline(trace, &t));
    HB_TRY(hb_page_window(t, url, &window));
    sum *sums = calloc(t->names.count + 1, sizeof *sums);
    if (!sums) return hb_no_memory();
    hb_result result = add_lanes(t, hb_url_get(url, "lanes"), &window, sums);
    hb_emit_open_key(out, "rows", '[');
    for (uint32_t i = 0; i < t->names.count; i++) {
        if (!sums[i].count) continue;
        hb_emit_open(out, '[');
        hb_emit_int(out, i);
        hb_emit_finite(out, (double)sums[i].count);
        hb_emit_finite(out, (double)sums[i].within);
        hb_emit_finite(out, (double)sums[i].longest);
        hb_emit_close(out, ']');
    }
    hb_emit_close(out, ']');
    free(sums);
    return result;
}

/* ---- rows ---- */

enum { MOST_ROWS = 200 };

hb_result hb_page_place_rows(hb_page_trace *trace, const hb_url *url, hb_emitter *out)
{
    hb_timeline *t;
    uint32_t rows[MOST_ROWS];
    size_t count = 0;
    HB_TRY(hb_page_timeline(trace, &t));
    for (const char *at = hb_url_get(url, "rows"), *end; at && *at && count < MOST_ROWS; at = end) {
        unsigned long row;
        end = take_index(at, &row);
        if (!end) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "rows=%s are not numbers", at);
        rows[count++] = (uint32_t)row;
        end += *end == ',';
    }
    hb_emit_open_key(out, "places", '[');
    for (uint32_t l = 0; l < t->lanes.count; l++)
        for (uint32_t i = 0; i < t->lanes.items[l].count; i++) {
            const hb_lane *lane = &t->lanes.items[l];
            uint32_t row = t->rows[lane->first + i];
            for (size_t k = 0; k < count; k++)
                if (rows[k] == row) put_place(out, &(place){hb_slice_of(t, row), l});
        }
    hb_emit_close(out, ']');
    return HB_OK;
}
