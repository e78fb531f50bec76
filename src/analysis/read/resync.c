/* SPDX-License-Identifier: MIT
 *
 * Finding one's place in a text: where the next event begins when nothing tells.
 */
#include "read/json_units.h"

/* Moves to the next opening brace from `from` on. */
static bool find_brace(hb_reader *r, uint64_t from)
{
    for (;;) {
        const char *p = r->text->data + (from - r->text->offset);
        if (p < r->scan.end && (p = memchr(p, '{', (size_t)(r->scan.end - p))) != NULL) {
            hb_reader_move_to(r, p);
            return true;
        }
        from = HB_MAX(from, r->text->offset + r->text->size);
        r->pos = r->text->size;
        r->scan.at = r->scan.end;
        if (!hb_reader_more(r)) return false;
    }
}

/* Arguments are objects as well; of events each has a phase. */
static bool looks_like_event(hb_reader *r)
{
    hb_raw_event raw;
    const char *end;
    do
        end = hb_parse_event(&r->scan, hb_reader_at(r) + 1, !r->options->strict, &raw);
    while (!end && r->text->size < HB_MAX_PLAIN_EVENT && hb_reader_more(r));
    r->num_pending = 0;
    const char *upto = end ? end : HB_MIN(r->scan.at, r->scan.end);
    r->searched += (uint64_t)(upto - hb_reader_at(r));
    return end && raw.present >> HB_SLOT_PH & 1;
}

bool hb_find_event(hb_reader *r, uint64_t from, uint64_t limit)
{
    while (r->searched < HB_MAX_SEARCH && find_brace(r, from) && hb_reader_offset(r) < limit) {
        from = hb_reader_offset(r) + 1;
        if (looks_like_event(r)) return true;
    }
    return false;
}

/* Behind the name stand a colon and a bracket. */
static bool is_list(const char *p)
{
    p = hb_scan_space(p);
    return *p == ':' && *hb_scan_space(p + 1) == '[';
}

bool hb_find_list(hb_reader *r)
{
    static const char name[] = "\"traceEvents\"";
    enum { SIZE = sizeof name - 1, BEHIND = 64 };
    for (;;) {
        const char *p = hb_reader_at(r), *end = r->scan.end;
        while ((p = memmem(p, (size_t)(end - p), name, SIZE)) != NULL && !is_list(p + SIZE))
            p++;
        if (p) {
            hb_reader_move_to(r, p);
            return true;
        }
        /* What stands at the end may be the beginning of it. */
        size_t left = (size_t)(end - hb_reader_at(r));
        r->pos += left - HB_MIN(left, SIZE + BEHIND);
        r->scan.at = r->scan.end;
        if (!hb_reader_more(r)) return false;
    }
}
