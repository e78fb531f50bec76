/* SPDX-License-Identifier: MIT
 *
 * A file's text as the plugin hands it to its Trace view. It mends a text once, when it loads it: a
 * bare N/A becomes a string, and an end of the profiled window that is days away is left out.
 */
#include <stdlib.h>

#include "base/files.h"
#include "base/json_members.h"
#include "base/memory_share.h"
#include "logdir/logdir.h"
#include "read/text_window.h"

/* ---- N/A ---- */

/* Of such a file every N/A without quotes around it is a value, else it is lost. */
static void quote_na(const hb_buf *from, hb_buf *to)
{
    const char *p = from->data, *end = p + from->size, *done = p;
    while ((p = memmem(p, (size_t)(end - p), "N/A", 3))) {
        bool quoted = (p > from->data && p[-1] == '"') || (p + 3 < end && p[3] == '"');
        if (!quoted) {
            hb_buf_append(to, done, (size_t)(p - done));
            hb_buf_str(to, "\"N/A\"");
            done = p + 3;
        }
        p += 3;
    }
    hb_buf_append(to, done, (size_t)(end - done));
}

/* ---- an event that is left out ---- */

typedef struct search {
    uint32_t wanted, at;
    const char *before; /* the end of the one before, or NULL */
    const char *start, *end, *next;
} search;

static bool look(void *context, const hb_value *element)
{
    search *s = context;
    uint32_t at = s->at++;
    if (at < s->wanted) s->before = element->s + element->size;
    if (at == s->wanted) {
        s->start = element->s;
        s->end = element->s + element->size;
    }
    if (at > s->wanted) s->next = element->s;
    return at <= s->wanted;
}

static void leave_out(hb_buf *text, uint32_t event)
{
    search s = {.wanted = event};
    char *zeros = hb_buf_reserve(text, HB_SCAN_PADDING);
    if (!zeros || text->size > UINT32_MAX) return;
    memset(zeros, 0, HB_SCAN_PADDING);
    const char *object = hb_scan_space(text->data);
    uint32_t size = (uint32_t)(text->data + text->size - object);
    hb_value events = hb_json_member((hb_str){object, size}, "traceEvents");
    if (events.type != HB_JSON_ARRAY) return;
    hb_json_each((hb_str){events.s, (uint32_t)events.size}, look, &s);
    if (!s.start) return;
    const char *from = s.before ? s.before : s.start, *to = !s.before && s.next ? s.next : s.end;
    size_t kept = (size_t)(from - text->data), rest = (size_t)(text->data + text->size - to);
    memmove(text->data + kept, to, rest);
    text->size = kept + rest;
}

/* ---- all of it ---- */

static hb_result read_file(const hb_profile *profile, hb_buf *to)
{
    hb_text text;
    bool gzip = hb_path_ends(profile->path, ".gz");
    HB_TRY(hb_text_open(&text, profile->path, gzip ? HB_TEXT_GZIP : HB_TEXT_PLAIN));
    hb_result result = hb_text_read_all(&text, profile->path, to);
    hb_text_close(&text);
    return result;
}

hb_result hb_profile_text(const hb_profile *profile, hb_buf *to)
{
    HB_TRY(read_file(profile, to));
    if (profile->bare_na) {
        hb_buf mended;
        hb_buf_init(&mended, hb_memory_share());
        quote_na(to, &mended);
        hb_buf_free(to);
        *to = mended;
    }
    if (!to->failed && profile->analysis.wrong_end != HB_NO_ROW)
        leave_out(to, profile->analysis.wrong_end);
    return to->failed ? hb_no_memory() : HB_OK;
}
