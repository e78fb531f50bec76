/* SPDX-License-Identifier: MIT
 *
 * JSON tokens. Accepts what Python's parser accepts, and, noting each on the way, some of what
 * broken writers make: control characters in strings, invalid escapes and UTF-8, a bare N/A.
 *
 * Scanning relies on HB_SCAN_PADDING zeros after the text. A function returns the place after the
 * token, or NULL with hb_scan.at and hb_scan.why set; hb_scan_cut() tells whether the text merely
 * ended too early.
 */
#ifndef HB_BASE_JSON_SCAN_H
#define HB_BASE_JSON_SCAN_H

#include "base/base.h"

typedef enum hb_json {
    HB_JSON_NONE, /* not there */
    HB_JSON_NULL,
    HB_JSON_FALSE,
    HB_JSON_TRUE,
    HB_JSON_INT,
    HB_JSON_FLOAT,
    HB_JSON_STRING,
    HB_JSON_ARRAY,
    HB_JSON_OBJECT,
} hb_json;

typedef struct hb_value {
    const char *s; /* a string's characters without the quotes; else the whole text */
    size_t size;
    uint8_t type; /* hb_json */
    bool escaped; /* a string with backslashes */
} hb_value;

/* What Python's json.loads() would have stumbled over: name, meaning */
#define HB_JSON_DEFECT_MAP(X)                                            \
    X(CONTROL, "control character in a string")                          \
    X(BAD_ESCAPE, "invalid backslash escape")                            \
    X(BAD_UTF8, "invalid UTF-8")                                         \
    X(SURROGATE, "UTF-8 encoded surrogate")                              \
    X(BARE_NA, "N/A without quotes")                                     \
    X(INNER_NA, "N/A inside a longer string, in a file with a bare N/A") \
    X(QUOTE, "unescaped quote in a string")                              \
    X(TRAILING_COMMA, "comma before the closing bracket")                \
    X(DAMAGED, "not JSON: left out, up to the next whole event")         \
    X(CUT, "the text ends too early")                                    \
    X(EXTRA, "text after the end")                                       \
    X(BARE_ARRAY, "a list of events without an object around")

typedef enum hb_json_defect {
#define HB_JSON_DEFECT_ENUM(name, text) HB_JSON_DEFECT_##name,
    HB_JSON_DEFECT_MAP(HB_JSON_DEFECT_ENUM)
#undef HB_JSON_DEFECT_ENUM
        HB_JSON_DEFECT_COUNT
} hb_json_defect;

enum { HB_SCAN_PADDING = 32 };

/** As deep as Python 3's parser goes with its default recursion limit. */
enum { HB_SCAN_MAX_DEPTH = 990 };

typedef struct hb_scan {
    const char *end; /* of the text, where the zeros begin */
    const char *at;  /* of the failure */
    const char *why; /* a constant text */
    bool check_na;   /* note N/A inside strings */
    void (*defect)(void *context, hb_json_defect defect, const char *at);
    void *context;
} hb_scan;

static inline const char *hb_scan_fail(hb_scan *scan, const char *at, const char *why)
{
    scan->at = at;
    scan->why = why;
    return NULL;
}

/** After a failure: more text might have helped. */
static inline bool hb_scan_cut(const hb_scan *scan)
{
    return scan->at >= scan->end || (size_t)(scan->end - scan->at) < 16;
}

const char *hb_scan_space_slow(const char *p);
static inline const char *hb_scan_space(const char *p)
{
    if (HB_LIKELY((unsigned char)*p > ' ')) return p;
    if (*p == ' ' && (unsigned char)p[1] > ' ') return p + 1;
    return hb_scan_space_slow(p);
}

/** `p` is behind the opening quote. */
const char *hb_scan_string(hb_scan *scan, const char *p, hb_value *value);

/** Any value; containers are checked and skipped. */
const char *hb_scan_value(hb_scan *scan, const char *p, hb_value *value);

/** The eight bytes at `p`, each its digit's number as far as they are digits: *count of them, from
 * the lowest byte on. */
static inline uint64_t hb_json_digits(const char *p, unsigned *count)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word ^= UINT64_C(0x3030303030303030);
    /* The high bit of each byte above 9; a carry goes into those behind it only. */
    uint64_t others = ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);
    *count = others ? (unsigned)__builtin_ctzll(others) >> 3 : 8;
    return word;
}

/** Of INT and FLOAT values. */
double hb_value_double(const hb_value *value);

/** False of what is no INT, or has more than 18 digits. */
bool hb_value_int(const hb_value *value, int64_t *result);

/** The UTF-16 unit that "\uXXXX" at `p` is, or -1. Padded as what is scanned. */
int hb_scan_unit(const char *p);

/** A string's characters with its escapes resolved, lone surrogates as three bytes each. Appends.
 */
void hb_value_decode(const hb_value *value, hb_buf *buf);

/** The elements of a list that was scanned before; -1 when it is none. Sets *nested when one of
 * them is a list with lists in it. */
int hb_list_count(const hb_value *list, bool *nested);

/** `value` is a string with exactly this text. */
bool hb_value_is(const hb_value *value, const char *text);

/** null, or not there. */
static inline bool hb_value_is_null(const hb_value *value)
{
    return value->type == HB_JSON_NONE || value->type == HB_JSON_NULL;
}

#endif
