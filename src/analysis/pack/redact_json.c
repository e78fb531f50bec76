/* SPDX-License-Identifier: MIT
 *
 * Strings are looked at wherever they stand, so that damage elsewhere loses nothing, and so is what
 * stands between them and is no JSON: behind a stray quote strings are outside, and what is cut off
 * ends within one.
 */
#include <ctype.h>
#include <stdlib.h>

#include "base/json_scan.h"
#include "pack/redact_files.h"

enum { MAX_KEPT = 64 << 20 }; /* bytes of strings that are known to need nothing */

typedef struct json_redaction {
    hb_redactor *redactor;
    hb_text text;
    hb_sink *to;
    const char *at, *copied;   /* in the window; what is before `copied` is written */
    hb_texts clean;            /* strings without anything to replace */
    hb_texts keys;             /* those met */
    hb_key_class classes[256]; /* of the first of them */
    hb_key_class key_class;    /* of `key`, the last one */
    hb_buf key, plain, out, quoted;
    unsigned depth, environment; /* the depth of the environment that it is in; 0: none */
    bool odd;                    /* something was no JSON */
    hb_result result;
} json_redaction;

static const char *window_end(const json_redaction *j)
{
    return j->text.data + j->text.size;
}

static void write_to(json_redaction *j, const char *end)
{
    size_t size = (size_t)(end - j->copied);
    if (size && !j->redactor->learning && j->result == HB_OK)
        j->result = j->to->write(j->to, j->copied, size);
    j->copied = end;
}

/* More text behind; what is before `*from` is written and goes. Where it stands then is told by
 * `*from`. False at the end. */
static bool more(json_redaction *j, const char **from)
{
    size_t kept = (size_t)(*from - j->text.data), ahead = (size_t)(j->at - *from);
    uint64_t offset = j->text.offset;
    write_to(j, *from);
    bool got = hb_text_more(&j->text, kept);
    *from = j->text.data + kept - (j->text.offset - offset);
    j->copied = *from;
    j->at = *from + ahead;
    return got;
}

/* The closing quote of the string that `*open` begins, which may move. NULL at the end of the text.
 */
static const char *find_quote(json_redaction *j, const char **open)
{
    for (j->at = *open + 1;;) {
        const char *quote = memchr(j->at, '"', (size_t)(window_end(j) - j->at));
        if (!quote) {
            j->at = window_end(j);
            if (!more(j, open)) return NULL;
            j->at = *open + 1; /* an escape may stand across the end */
            continue;
        }
        unsigned slashes = 0;
        while (quote - slashes - 1 > *open && quote[-1 - (ptrdiff_t)slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0) return quote;
        j->at = quote + 1;
    }
}

/* A key stands before a colon. */
static bool is_key(json_redaction *j, const char **open, const char **quote)
{
    ptrdiff_t size = *quote - *open;
    for (j->at = *quote + 1;; j->at++) {
        if (j->at == window_end(j)) {
            bool got = more(j, open);
            *quote = *open + size;
            if (!got) return false;
        }
        if (*j->at != ' ' && *j->at != '\n' && *j->at != '\r' && *j->at != '\t') break;
    }
    return *j->at == ':';
}

static hb_str string_of(hb_buf *buf)
{
    return (hb_str){buf->data ? buf->data : "", (uint32_t)buf->size};
}

static hb_str decode(hb_buf *buf, const char *s, size_t size)
{
    hb_value value = {s, size, HB_JSON_STRING, memchr(s, '\\', size) != NULL};
    buf->size = 0;
    hb_value_decode(&value, buf);
    return string_of(buf);
}

static bool is_number(hb_str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (!isdigit((unsigned char)text.s[i])) return false;
    return true;
}

/* True when j->out has another text. */
static bool redact(json_redaction *j, bool value, hb_str plain)
{
    hb_str key = value ? string_of(&j->key) : (hb_str){"", 0};
    bool changed = hb_redact_text(j->redactor, key, plain, &j->out);
    if (!value || !j->environment || j->redactor->learning || is_number(plain)) return changed;
    j->out.size = 0;
    hb_redactor_replace(j->redactor, HB_REDACTED_ENVIRONMENT, plain, &j->out);
    return true;
}

/* Keys come again and again, and so do most strings, which need nothing. */

static hb_key_class class_of(json_redaction *j)
{
    hb_str key = string_of(&j->key);
    uint32_t known = j->keys.count;
    hb_string_id id = known < HB_ARRAY_LEN(j->classes) ? hb_texts_add(&j->keys, key.s, key.len)
                                                       : hb_texts_find(&j->keys, key.s, key.len);
    if (id && id < known) return j->classes[id];
    hb_key_class class = hb_key_class_of(key);
    if (id) j->classes[id] = class;
    return class;
}

static void set_key(json_redaction *j, const char *s, size_t size)
{
    decode(&j->key, s, size);
    j->key_class = class_of(j);
}

static void forget_key(json_redaction *j)
{
    j->key.size = 0;
    j->key_class = HB_KEY_PLAIN;
}

static bool is_clean(const json_redaction *j, const char *s, size_t size)
{
    bool any = j->environment || j->key_class == HB_KEY_TELLING;
    return !any && hb_texts_find(&j->clean, s, size) != 0;
}

static void take_string(json_redaction *j, const char *open, const char *quote, bool key)
{
    const char *s = open + 1;
    size_t size = (size_t)(quote - s);
    if (key) set_key(j, s, size);
    if (is_clean(j, s, size)) return;
    j->out.size = j->quoted.size = 0;
    if (redact(j, !key, decode(&j->plain, s, size))) {
        write_to(j, open);
        hb_buf_json_string(&j->quoted, j->out.data ? j->out.data : "", j->out.size);
        if (j->result == HB_OK) j->result = j->to->write(j->to, j->quoted.data, j->quoted.size);
        j->copied = quote + 1;
    } else if (!j->environment && j->key_class == HB_KEY_PLAIN && j->clean.bytes < MAX_KEPT) {
        (void)hb_texts_add(&j->clean, s, size);
    }
}

/* Text that is not as JSON quotes it. */
static void take_raw(json_redaction *j, const char *from, const char *end, bool value)
{
    j->out.size = 0;
    j->at = end;
    if (!redact(j, value, (hb_str){from, (uint32_t)(end - from)})) return;
    write_to(j, from);
    if (j->result == HB_OK) j->result = j->to->write(j->to, j->out.data, j->out.size);
    j->copied = end;
}

/* What stands between strings, where a quote too many has turned inside and outside around. */
static bool is_between(const char *s, const char *end)
{
    bool parts = false;
    for (; s < end; s++) {
        if (!strchr(" \t\r\n,:{}[]+-.0123456789", *s)) return false;
        parts |= *s == ',' || *s == ':';
    }
    return parts;
}

static bool take_next_string(json_redaction *j)
{
    const char *open = j->at, *quote = find_quote(j, &open);
    if (!quote) { /* cut off, perhaps within a key: nothing is learnt from it */
        take_raw(j, open + 1, window_end(j), !j->redactor->learning);
        return false;
    }
    if (j->odd && is_between(open + 1, quote)) {
        j->at = open + 1; /* the next quote opens a string */
        return true;
    }
    bool key = is_key(j, &open, &quote);
    take_string(j, open, quote, key);
    j->at = quote + 1;
    return true;
}

static void take_bracket(json_redaction *j)
{
    switch (*j->at) {
    case '{':
    case '[':
        j->depth++;
        if (!j->environment && j->key_class == HB_KEY_ENVIRONMENT) j->environment = j->depth;
        if (*j->at == '{') forget_key(j);
        break;
    case '}':
    case ']':
        if (j->environment == j->depth) j->environment = 0;
        if (j->depth) j->depth--;
        forget_key(j);
        break;
    default: break;
    }
    j->at++;
}

/* ---- what stands between strings ---- */

static bool is_quote_or_bracket(char c)
{
    return c == '"' || c == '{' || c == '}' || c == '[' || c == ']';
}

/* Zeros stand behind the window: nothing begins there. */
static size_t word_size(const char *s)
{
    static const char *const words[] = {"true",     "false", "null", "NaN",
                                        "Infinity", "N/A",   "nan",  "inf"};
    for (size_t i = 0; i < HB_ARRAY_LEN(words); i++)
        if (strncmp(s, words[i], strlen(words[i])) == 0) return strlen(words[i]);
    return 0;
}

/* Behind numbers, words, blanks, colons and commas, or where the last of them begins that may go on
 * behind `end`, the end of a window; `all`: nothing does. What has two points is no number, but an
 * address. */
static const char *behind_plain(const char *s, const char *end, bool all, bool *goes_on)
{
    enum { LONGEST_WORD = 8 };
    enum kind { ODD, GAP, DIGIT, POINT, EXPONENT, WORD, STOP };
    static const uint8_t kinds[256] = {
        [' '] = GAP,      ['\t'] = GAP,     ['\r'] = GAP,  ['\n'] = GAP,          [','] = GAP,
        [':'] = GAP,      ['+'] = DIGIT,    ['-'] = DIGIT, ['0' ... '9'] = DIGIT, ['.'] = POINT,
        ['e'] = EXPONENT, ['E'] = EXPONENT, ['t'] = WORD,  ['f'] = WORD,          ['n'] = WORD,
        ['N'] = WORD,     ['I'] = WORD,     ['i'] = WORD,  ['"'] = STOP,          ['{'] = STOP,
        ['}'] = STOP,     ['['] = STOP,     [']'] = STOP};
    const char *number = NULL, *point = NULL; /* that it is in, and that number's */
    for (const char *p = s; p < end;) {
        size_t size = 1;
        enum kind kind = (enum kind)kinds[(unsigned char)*p];
        if (kind == STOP) return p;
        if (kind == GAP) number = point = NULL;
        if (kind == WORD) size = word_size(p);
        if (kind == ODD || !size || (kind == POINT && point) || (kind == EXPONENT && !number)) {
            *goes_on = kind == WORD && !all && end - p < LONGEST_WORD;
            return number ? number : p;
        }
        if (kind != GAP && !number) number = p;
        if (kind == POINT) point = p;
        p += size;
    }
    *goes_on = !all;
    return number && !all ? number : end;
}

/* What is no JSON, up to the next string or bracket. */
static void take_odd(json_redaction *j)
{
    enum { MOST = 1 << 20 }; /* a file without either is taken in parts */
    const char *from = j->at;
    j->odd = true;
    for (;;) {
        while (j->at < window_end(j) && !is_quote_or_bracket(*j->at))
            j->at++;
        if (j->at < window_end(j) || j->at - from >= MOST || !more(j, &from)) break;
    }
    take_raw(j, from, j->at, false);
}

static void walk(json_redaction *j)
{
    for (bool all = false; j->result == HB_OK;) {
        bool goes_on = false;
        j->at = behind_plain(j->at, window_end(j), all, &goes_on);
        if (goes_on) {
            const char *from = j->at;
            all = !more(j, &from);
        } else if (j->at == window_end(j)) {
            break;
        } else if (!is_quote_or_bracket(*j->at)) {
            take_odd(j);
        } else if (*j->at != '"') {
            take_bracket(j);
        } else if (!take_next_string(j)) {
            break;
        }
    }
    write_to(j, window_end(j));
}

hb_result hb_redact_json(hb_redactor *redactor, const char *path, hb_sink *to)
{
    json_redaction j = {.redactor = redactor, .to = to};
    HB_TRY(hb_redactable_open(&j.text, path));
    j.at = j.copied = j.text.data;
    if (j.text.size >= 3 && memcmp(j.at, "\xef\xbb\xbf", 3) == 0) j.at += 3;
    hb_buf *const buffers[] = {&j.key, &j.plain, &j.out, &j.quoted};
    for (size_t i = 0; i < HB_ARRAY_LEN(buffers); i++)
        hb_buf_init(buffers[i], SIZE_MAX / 4);
    if (!hb_texts_init(&j.clean) || !hb_texts_init(&j.keys)) j.result = hb_no_memory();
    walk(&j);
    if (j.result == HB_OK && j.text.result != HB_OK)
        j.result = hb_fail(j.text.result, "%s: %s", path, j.text.error);
    for (size_t i = 0; i < HB_ARRAY_LEN(buffers); i++) {
        redactor->failed |= buffers[i]->failed;
        hb_buf_free(buffers[i]);
    }
    hb_texts_free(&j.clean);
    hb_texts_free(&j.keys);
    hb_text_close(&j.text);
    return j.result == HB_OK && redactor->failed ? hb_no_memory() : j.result;
}
