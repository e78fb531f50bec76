/* SPDX-License-Identifier: MIT
 *
 * Broken texts of JSON, written anew as they were meant.
 */
#include "convert/convert.h"

static const hb_value *repaired_at(const hb_raw_event *raw, const char *s)
{
    for (uint32_t i = 0; i < raw->num_repaired; i++)
        if (raw->repaired[i].s == s) return &raw->repaired[i];
    return NULL;
}

void hb_ignore_defect(void *context, hb_json_defect defect, const char *at)
{
    (void)context;
    (void)defect;
    (void)at;
}

/* Writes a string anew; returns where the text goes on. */
static const char *clean_string(hb_scan *scan, const hb_raw_event *raw, const char *p, hb_buf *out,
                                hb_buf *decoded)
{
    hb_value value;
    const hb_value *repaired = repaired_at(raw, p);
    const char *next = repaired ? p + repaired->size + 1 : hb_scan_string(scan, p, &value);
    if (!next) return NULL;
    decoded->size = 0;
    if (repaired) {
        value = *repaired;
        value.escaped = memchr(value.s, '\\', value.size) != NULL;
    }
    hb_value_decode(&value, decoded);
    hb_buf_json_string(out, decoded->data ? decoded->data : "", decoded->size);
    return next;
}

/* Which scanning relies on; not counted. */
static bool add_zeros(hb_buf *buf)
{
    char *p = hb_buf_reserve(buf, HB_TEXT_ZEROS);
    if (p) memset(p, 0, HB_TEXT_ZEROS);
    return p != NULL;
}

bool hb_clean_json(const hb_raw_event *raw, hb_str text, hb_buf *out)
{
    const char *end = text.s + text.len;
    hb_scan scan = {.end = end + HB_SCAN_SLACK, .defect = hb_ignore_defect};
    hb_buf decoded;
    if (raw->num_repaired > HB_MAX_REPAIRED) return false;
    hb_buf_init(&decoded, SIZE_MAX / 4);
    const char *p = text.s;
    while (p && p < end) {
        if (*p == '"') {
            p = clean_string(&scan, raw, p + 1, out, &decoded);
        } else if (end - p >= 3 && memcmp(p, "N/A", 3) == 0) {
            hb_buf_str(out, "\"N/A\"");
            p += 3;
        } else {
            hb_buf_append(out, p++, 1);
        }
    }
    bool ok = p && !decoded.failed && !out->failed && add_zeros(out);
    hb_buf_free(&decoded);
    return ok;
}

bool hb_clean_event(const hb_raw_event *raw, hb_str text, hb_buf *out, hb_raw_event *again)
{
    if (!hb_clean_json(raw, text, out)) return false;
    hb_scan scan = {.end = out->data + out->size, .defect = hb_ignore_defect};
    return hb_parse_event(&scan, out->data + 1, false, again);
}
