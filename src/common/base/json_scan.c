/* SPDX-License-Identifier: MIT */
#include "base/json_scan.h"

#include <stdlib.h>

#include "base/utf8.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* ---- 16 bytes at a time ---- */

#if defined(__SSE2__)
/* Bits of the bytes that end a run of string characters: quote, backslash, below space. Bit 16 up:
 * bytes above 127. Reads up to 15 bytes past the text, into its zeros. */
static inline uint32_t special_bits(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    uint32_t stops = (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(low, quote), slash));
    return stops | (uint32_t)_mm_movemask_epi8(v) << 16;
}

static inline uint32_t space_bits(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i a =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\n')));
    __m128i b = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\t')),
                             _mm_cmpeq_epi8(v, _mm_set1_epi8('\r')));
    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(a, b));
}
#else
static inline uint32_t special_bits(const char *p)
{
    uint32_t bits = 0;
    for (int i = 0; i < 16; i++) {
        unsigned char c = (unsigned char)p[i];
        bits |= (uint32_t)(c < 0x20 || c == '"' || c == '\\') << i | (uint32_t)(c >> 7) << (i + 16);
    }
    return bits;
}

static inline uint32_t space_bits(const char *p)
{
    uint32_t bits = 0;
    for (int i = 0; i < 16; i++)
        bits |= (uint32_t)(p[i] == ' ' || p[i] == '\n' || p[i] == '\t' || p[i] == '\r') << i;
    return bits;
}
#endif

const char *hb_scan_space_slow(const char *p)
{
    for (;; p += 16) {
        uint32_t other = ~space_bits(p) & 0xffff;
        if (other) return p + __builtin_ctz(other);
    }
}

/* ---- strings ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int hex4(const char *p)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

int hb_scan_unit(const char *p)
{
    return p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : -1;
}

/* `p` is at the backslash. An invalid escape is a backslash and whatever follows. */
static const char *scan_escape(hb_scan *scan, const char *p)
{
    char c = p[1];
    if (c == 'u' && hex4(p + 2) >= 0) return p + 6;
    if (c != 0 && c != 'u' && strchr("\"\\/bfnrt", c)) return p + 2;
    if (scan->end - p < 6) return hb_scan_fail(scan, scan->end, "the text ends in an escape");
    scan->defect(scan->context, HB_JSON_DEFECT_BAD_ESCAPE, p);
    return p + 1;
}

static void check_utf8(hb_scan *scan, const char *text, const char *end)
{
    const unsigned char *p = (const unsigned char *)text, *stop = (const unsigned char *)end;
    while (p < stop) {
        size_t n = hb_utf8_length(p, (size_t)(stop - p));
        hb_json_defect defect = HB_JSON_DEFECT_BAD_UTF8;
        if (n == 0 && stop - p >= 3 && p[0] == 0xed && p[1] >= 0xa0 && p[1] <= 0xbf &&
            (p[2] & 0xc0) == 0x80) {
            defect = HB_JSON_DEFECT_SURROGATE;
            n = 3;
            scan->defect(scan->context, defect, (const char *)p);
        } else if (n == 0) {
            n = 1;
            scan->defect(scan->context, defect, (const char *)p);
        }
        p += n;
    }
}

/* The plugin's repair puts quotes around each N/A that has none beside it, also in a string. */
static void check_na(hb_scan *scan, const char *text, const char *end)
{
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), "N/A", 3)) != NULL; p += 3)
        if (p[-1] != '"' && p[3] != '"') scan->defect(scan->context, HB_JSON_DEFECT_INNER_NA, p);
}

const char *hb_scan_string(hb_scan *scan, const char *p, hb_value *value)
{
    const char *start = p;
    bool wide = false;
    value->escaped = false;
    for (;;) {
        uint32_t bits = special_bits(p), stops = bits & 0xffff;
        if (!stops) {
            wide |= bits != 0;
            p += 16;
            continue;
        }
        int n = __builtin_ctz(stops);
        wide |= ((bits >> 16) & ((1u << n) - 1)) != 0;
        p += n;
        if (HB_LIKELY(*p == '"')) break;
        if (*p == '\\') {
            value->escaped = true;
            p = scan_escape(scan, p);
            if (!p) return NULL;
        } else {
            if (p >= scan->end) return hb_scan_fail(scan, scan->end, "the text ends in a string");
            scan->defect(scan->context, HB_JSON_DEFECT_CONTROL, p);
            p++;
        }
    }
    if (HB_UNLIKELY(wide)) check_utf8(scan, start, p);
    if (HB_UNLIKELY(scan->check_na)) check_na(scan, start, p);
    value->s = start;
    value->size = (size_t)(p - start);
    value->type = HB_JSON_STRING;
    return p + 1;
}

/* ---- numbers and words ---- */

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static const char *scan_word(hb_scan *scan, const char *p, hb_value *value)
{
    static const struct {
        const char *text;
        uint8_t size, type;
    } words[] = {{"null", 4, HB_JSON_NULL},      {"true", 4, HB_JSON_TRUE},
                 {"false", 5, HB_JSON_FALSE},    {"NaN", 3, HB_JSON_FLOAT},
                 {"Infinity", 8, HB_JSON_FLOAT}, {"-Infinity", 9, HB_JSON_FLOAT},
                 {"N/A", 3, HB_JSON_STRING}};
    size_t left = p < scan->end ? (size_t)(scan->end - p) : 0;
    for (size_t i = 0; i < HB_ARRAY_LEN(words); i++)
        if (left < words[i].size && memcmp(p, words[i].text, left) == 0)
            return hb_scan_fail(scan, scan->end, "the text ends in a word");
    for (size_t i = 0; i < HB_ARRAY_LEN(words); i++)
        if (strncmp(p, words[i].text, words[i].size) == 0) {
            *value = (hb_value){p, words[i].size, words[i].type, false};
            if (words[i].type == HB_JSON_STRING)
                scan->defect(scan->context, HB_JSON_DEFECT_BARE_NA, p);
            return p + words[i].size;
        }
    return hb_scan_fail(scan, p, "expected a value");
}

static const char *scan_number(hb_scan *scan, const char *p, hb_value *value)
{
    const char *start = p;
    uint8_t type = HB_JSON_INT;
    if (*p == '-') p++;
    if (!is_digit(*p)) return scan_word(scan, start, value);
    if (*p == '0') {
        p++;
        if (is_digit(*p)) return hb_scan_fail(scan, p, "a number begins with 0");
    } else {
        while (is_digit(*p))
            p++;
    }
    if (*p == '.') {
        if (!is_digit(*++p)) return hb_scan_fail(scan, p, "expected a digit after the point");
        while (is_digit(*p))
            p++;
        type = HB_JSON_FLOAT;
    }
    if ((*p | 0x20) == 'e') {
        p++;
        if (*p == '+' || *p == '-') p++;
        if (!is_digit(*p)) return hb_scan_fail(scan, p, "expected a digit in the exponent");
        while (is_digit(*p))
            p++;
        type = HB_JSON_FLOAT;
    }
    *value = (hb_value){start, (size_t)(p - start), type, false};
    return p;
}

/* Exact when the digits fit into 53 bits and the power of ten is exact as well. */
static bool fast_double(const hb_value *v, double *result)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *p = v->s, *end = p + v->size;
    bool negative = *p == '-';
    if (end - p > 19) return false;
    uint64_t digits = 0;
    int scale = 0;
    bool point = false;
    for (p += negative; p < end; p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        if (!is_digit(*p)) return false;
        digits = digits * 10 + (uint64_t)(*p - '0');
        scale += point;
    }
    if (digits >> 53) return false;
    double d = (double)digits / powers[scale];
    *result = negative ? -d : d;
    return true;
}

double hb_value_double(const hb_value *value)
{
    double result;
    if (HB_LIKELY(fast_double(value, &result))) return result;
    /* What follows a number in the text cannot be taken for a part of it. */
    return strtod(value->s, NULL);
}

bool hb_value_int(const hb_value *value, int64_t *result)
{
    if (value->type != HB_JSON_INT) return false;
    const char *p = value->s, *end = p + value->size;
    bool negative = *p == '-';
    p += negative;
    if (end - p > 18) return false;
    int64_t v = 0;
    for (; p < end; p++)
        v = v * 10 + (*p - '0');
    *result = negative ? -v : v;
    return true;
}

/* ---- containers ---- */

/* One bit a level: set for an object. A loop, not a recursion: depth must not cost stack. */
typedef struct levels {
    uint64_t bits[(HB_SCAN_MAX_DEPTH + 63) / 64];
    int depth;
} levels;

static bool push(levels *l, bool object)
{
    if (l->depth == HB_SCAN_MAX_DEPTH) return false;
    uint64_t bit = (uint64_t)1 << (l->depth & 63);
    if (object)
        l->bits[l->depth >> 6] |= bit;
    else
        l->bits[l->depth >> 6] &= ~bit;
    l->depth++;
    return true;
}

static inline bool in_object(const levels *l)
{
    return l->bits[(l->depth - 1) >> 6] >> ((l->depth - 1) & 63) & 1;
}

static const char *scan_key(hb_scan *scan, const char *p)
{
    hb_value key;
    if (*p != '"') return hb_scan_fail(scan, p, "expected a member's name");
    p = hb_scan_string(scan, p + 1, &key);
    if (!p) return NULL;
    p = hb_scan_space(p);
    if (*p != ':') return hb_scan_fail(scan, p, "expected ':'");
    return hb_scan_space(p + 1);
}

static inline const char *scan_scalar(hb_scan *scan, const char *p, hb_value *value)
{
    return *p == '"' ? hb_scan_string(scan, p + 1, value) : scan_number(scan, p, value);
}

/* `p` is at the opening bracket. */
static const char *scan_container(hb_scan *scan, const char *p)
{
    levels l;
    hb_value ignored;
    l.depth = 0;
    for (;;) {
        /* at a value */
        bool open = *p == '[' || *p == '{';
        if (open) {
            char close = *p == '{' ? '}' : ']';
            if (!push(&l, *p == '{')) return hb_scan_fail(scan, p, "nested too deeply");
            p = hb_scan_space(p + 1);
            if (*p != close) {
                if (close == '}' && !(p = scan_key(scan, p))) return NULL;
                continue;
            }
        } else {
            p = scan_scalar(scan, p, &ignored);
            if (!p) return NULL;
            p = hb_scan_space(p);
        }
        /* behind a value, or at the bracket that closes an empty container */
        while (*p == (in_object(&l) ? '}' : ']')) {
            p++;
            if (--l.depth == 0) return p;
            p = hb_scan_space(p);
        }
        if (*p != ',') return hb_scan_fail(scan, p, "expected ',' or a closing bracket");
        p = hb_scan_space(p + 1);
        if (in_object(&l) && !(p = scan_key(scan, p))) return NULL;
    }
}

const char *hb_scan_value(hb_scan *scan, const char *p, hb_value *value)
{
    if (*p == '"') return hb_scan_string(scan, p + 1, value);
    if (*p != '[' && *p != '{') return scan_number(scan, p, value);
    const char *end = scan_container(scan, p);
    if (!end) return NULL;
    *value = (hb_value){p, (size_t)(end - p), *p == '[' ? HB_JSON_ARRAY : HB_JSON_OBJECT, false};
    return end;
}

static void ignore_defect(void *context, hb_json_defect defect, const char *at)
{
    (void)context;
    (void)defect;
    (void)at;
}

int hb_list_count(const hb_value *list, bool *nested)
{
    int count = 0;
    *nested = false;
    if (list->type != HB_JSON_ARRAY) return -1;
    hb_scan scan = {.end = list->s + list->size, .defect = ignore_defect};
    const char *p = hb_scan_space(list->s + 1);
    while (*p != ']') {
        hb_value v;
        if (!(p = hb_scan_value(&scan, p, &v))) return -1;
        *nested |= v.type == HB_JSON_ARRAY && memchr(v.s + 1, '[', v.size - 1);
        count++;
        p = hb_scan_space(p);
        if (*p == ',') p = hb_scan_space(p + 1);
    }
    return count;
}

/* ---- decoding ---- */

static void append_code(hb_buf *buf, unsigned c)
{
    char b[4];
    size_t n;
    if (c < 0x80) {
        b[0] = (char)c;
        n = 1;
    } else if (c < 0x800) {
        b[0] = (char)(0xc0 | c >> 6);
        b[1] = (char)(0x80 | (c & 0x3f));
        n = 2;
    } else if (c < 0x10000) {
        b[0] = (char)(0xe0 | c >> 12);
        b[1] = (char)(0x80 | (c >> 6 & 0x3f));
        b[2] = (char)(0x80 | (c & 0x3f));
        n = 3;
    } else {
        b[0] = (char)(0xf0 | c >> 18);
        b[1] = (char)(0x80 | (c >> 12 & 0x3f));
        b[2] = (char)(0x80 | (c >> 6 & 0x3f));
        b[3] = (char)(0x80 | (c & 0x3f));
        n = 4;
    }
    hb_buf_append(buf, b, n);
}

/* `p` is at "\u" and four hex digits; a high and a low surrogate are one character. */
static const char *decode_unit(const char *p, const char *end, hb_buf *buf)
{
    unsigned c = (unsigned)hex4(p + 2);
    p += 6;
    if (c >= 0xd800 && c < 0xdc00 && end - p >= 6) {
        int low = hb_scan_unit(p);
        if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (unsigned)(low - 0xdc00);
            p += 6;
        }
    }
    append_code(buf, c);
    return p;
}

void hb_value_decode(const hb_value *value, hb_buf *buf)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *p = value->s, *end = p + value->size;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        if (!slash) slash = end;
        hb_buf_append(buf, p, (size_t)(slash - p));
        p = slash;
        if (p == end) return;
        const char *found = end - p > 1 && p[1] ? strchr(from, p[1]) : NULL;
        if (found) {
            hb_buf_append(buf, &to[found - from], 1);
            p += 2;
        } else if (end - p >= 6 && p[1] == 'u' && hex4(p + 2) >= 0) {
            p = decode_unit(p, end, buf);
        } else {
            hb_buf_append(buf, p++, 1);
        }
    }
}

bool hb_value_is(const hb_value *value, const char *text)
{
    return value->type == HB_JSON_STRING && !value->escaped && value->size == strlen(text) &&
           memcmp(value->s, text, value->size) == 0;
}
