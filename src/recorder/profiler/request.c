/* SPDX-License-Identifier: MIT */
#include "profiler/request.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/files.h"

/* A piece of the text; not terminated. */
typedef struct piece {
    const char *s;
    size_t n;
} piece;

/* What the value of a key is, and where it goes. */
typedef enum key_kind {
    KEY_NUMBER,  /* 0 or more */
    KEY_SECONDS, /* milliseconds are kept */
    KEY_DETAIL,  /* yes or no; sets a bit */
    KEY_TEXT,
    KEY_VERSION,
    KEY_IGNORED, /* known, and of no use here */
} key_kind;

typedef struct key {
    const char *name;
    key_kind kind;
    size_t to;    /* offset in hb_request */
    size_t most;  /* KEY_TEXT: bytes with the NUL */
    unsigned bit; /* KEY_DETAIL */
} key;

#define TO(field)   offsetof(hb_request, field)
#define TEXT(field) KEY_TEXT, TO(field), sizeof((hb_request *)NULL)->field, 0

static const key keys[] = {
    {"PROFILE_START_TIME", KEY_NUMBER, TO(start_ms), 0, 0},
    {"PROFILE_START_ITERATION", KEY_NUMBER, TO(start_step), 0, 0},
    {"PROFILE_START_ITERATION_ROUNDUP", KEY_NUMBER, TO(roundup), 0, 0},
    {"ACTIVITIES_ITERATIONS", KEY_NUMBER, TO(steps), 0, 0},
    {"ACTIVITIES_DURATION_MSECS", KEY_NUMBER, TO(duration_ms), 0, 0},
    {"ACTIVITIES_DURATION_SECS", KEY_SECONDS, TO(duration_ms), 0, 0},
    {"ACTIVITIES_LOG_FILE", TEXT(log_file)},
    {"REQUEST_TRACE_ID", TEXT(id)},
    {"PROFILE_REPORT_INPUT_SHAPES", KEY_DETAIL, 0, 0, HB_REQUEST_SHAPES},
    {"PROFILE_PROFILE_MEMORY", KEY_DETAIL, 0, 0, HB_REQUEST_MEMORY},
    {"PROFILE_WITH_STACK", KEY_DETAIL, 0, 0, HB_REQUEST_STACK},
    {"PROFILE_WITH_FLOPS", KEY_DETAIL, 0, 0, HB_REQUEST_FLOPS},
    {"PROFILE_WITH_MODULES", KEY_DETAIL, 0, 0, HB_REQUEST_MODULES},
    {"ACTIVITIES_WARMUP_PERIOD_SECS", KEY_IGNORED, 0, 0, 0}, /* there is nothing to warm up */
    {"ACTIVITIES_WARMUP_ITERATIONS", KEY_IGNORED, 0, 0, 0},
    {"HIPBOARD_REQUEST_VERSION", KEY_VERSION, 0, 0, 0},
    {"HIPBOARD_REASON", TEXT(reason)},
};

static piece trim(piece p)
{
    while (p.n && isspace((unsigned char)p.s[0]))
        p.s++, p.n--;
    while (p.n && isspace((unsigned char)p.s[p.n - 1]))
        p.n--;
    return p;
}

static bool is(piece p, const char *text)
{
    return strlen(text) == p.n && strncasecmp(p.s, text, p.n) == 0;
}

static hb_result wrong(unsigned line, const key *k, piece value, const char *wanted)
{
    return hb_fail(HB_ERROR_FORMAT, "request: line %u: %s=%.*s: expected %s", line, k->name,
                   (int)HB_MIN(value.n, 60), value.s, wanted);
}

static bool to_number(piece value, int64_t *number)
{
    int64_t n = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.s[i] < '0' || value.s[i] > '9' || n > INT64_MAX / 100) return false;
        n = n * 10 + (value.s[i] - '0');
    }
    *number = n;
    return value.n > 0;
}

static bool to_bool(piece value, bool *yes)
{
    static const char *const words[] = {"no", "yes", "n", "y", "false", "true", "f", "t", "0", "1"};
    for (size_t i = 0; i < HB_ARRAY_LEN(words); i++) {
        *yes = i % 2;
        if (is(value, words[i])) return true;
    }
    return false;
}

static hb_result take_number(hb_request *r, const key *k, piece value, unsigned line)
{
    int64_t number;
    if (!to_number(value, &number)) return wrong(line, k, value, "a whole number");
    if (k->kind == KEY_VERSION) {
        if (number <= HB_REQUEST_VERSION) return HB_OK;
        return wrong(line, k, value, "1: this hipboard is older than who asks it");
    }
    *(int64_t *)((char *)r + k->to) =
        k->kind == KEY_SECONDS ? HB_MIN(number, INT64_MAX / 1000) * 1000 : number;
    return HB_OK;
}

static hb_result take_text(hb_request *r, const key *k, piece value, unsigned line)
{
    char *to = (char *)r + k->to;
    if (value.n >= k->most) return wrong(line, k, value, "less text");
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.s[i] < ' ' || value.s[i] == 0x7f)
            return wrong(line, k, (piece){"", 0}, "text without control characters");
    memcpy(to, value.s, value.n);
    to[value.n] = '\0';
    return HB_OK;
}

static hb_result take(hb_request *r, const key *k, piece value, unsigned line)
{
    bool yes;
    switch (k->kind) {
    case KEY_TEXT: return take_text(r, k, value, line);
    case KEY_IGNORED: return HB_OK;
    case KEY_DETAIL:
        if (!to_bool(value, &yes)) return wrong(line, k, value, "true or false");
        r->details = yes ? r->details | k->bit : r->details & ~k->bit;
        return HB_OK;
    default: return take_number(r, k, value, line);
    }
}

static hb_result take_line(hb_request *r, piece text, unsigned line)
{
    const char *comment = memchr(text.s, '#', text.n);
    if (comment) text.n = (size_t)(comment - text.s);
    text = trim(text);
    if (text.n == 0) return HB_OK;
    const char *equals = memchr(text.s, '=', text.n);
    if (!equals)
        return hb_fail(HB_ERROR_FORMAT, "request: line %u: expected KEY=VALUE, got \"%.*s\"", line,
                       (int)HB_MIN(text.n, 60), text.s);
    piece name = trim((piece){text.s, (size_t)(equals - text.s)});
    piece value = trim((piece){equals + 1, text.n - (size_t)(equals + 1 - text.s)});
    for (size_t i = 0; i < HB_ARRAY_LEN(keys); i++)
        if (is(name, keys[i].name)) return take(r, &keys[i], value, line);
    r->unknown++; /* of a newer Kineto, or of no use here */
    return HB_OK;
}

static hb_result check_range(const hb_request *r)
{
    if (r->duration_ms > INT32_MAX || r->steps > INT32_MAX)
        return hb_fail(HB_ERROR_FORMAT,
                       "request: %lld steps, %lld ms: at most 2147483647 of either are recorded",
                       (long long)r->steps, (long long)r->duration_ms);
    return HB_OK;
}

/* Kineto takes these for .json files, and so do those who look for them. */
static hb_result check_log_file(const char *path)
{
    if (!*path || hb_path_ends(path, ".json") || hb_path_ends(path, ".json.gz")) return HB_OK;
    return hb_fail(HB_ERROR_FORMAT,
                   "request: ACTIVITIES_LOG_FILE=%s: expected a name that ends in .json or "
                   ".json.gz",
                   path);
}

hb_result hb_request_parse(const char *text, size_t size, hb_request *request)
{
    *request = HB_REQUEST_INIT;
    if (size > HB_REQUEST_MAX)
        return hb_fail(HB_ERROR_FORMAT, "request: %zu bytes: at most %u are read", size,
                       HB_REQUEST_MAX);
    unsigned line = 0;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end ? (size_t)(end - (text + at)) : size - at;
        HB_TRY(take_line(request, (piece){text + at, n}, ++line));
        at += n + 1;
    }
    if (request->roundup < 1) request->roundup = 1;
    HB_TRY(check_range(request));
    return check_log_file(request->log_file);
}

void hb_request_put(hb_buf *text, const hb_request *r)
{
    hb_buf_printf(text, "HIPBOARD_REQUEST_VERSION=%d\n", HB_REQUEST_VERSION);
    for (size_t i = 0; i < HB_ARRAY_LEN(keys); i++) {
        const key *k = &keys[i];
        const char *at = (const char *)r + k->to;
        if (k->kind == KEY_TEXT && *at) hb_buf_printf(text, "%s=%s\n", k->name, at);
        if (k->kind == KEY_DETAIL && (r->details & k->bit))
            hb_buf_printf(text, "%s=true\n", k->name);
        if (k->kind != KEY_NUMBER) continue;
        int64_t number = *(const int64_t *)at, without = k->to == TO(roundup) ? 1 : 0;
        if (k->to == TO(start_step)) without = -1;
        if (number != without) hb_buf_printf(text, "%s=%lld\n", k->name, (long long)number);
    }
}

char *hb_request_path(const char *log_file, int64_t pid, uint64_t number)
{
    static const char *const suffixes[] = {".pt.trace.json.gz", ".pt.trace.json", ".json.gz",
                                           ".json"};
    size_t stem = strlen(log_file);
    for (size_t i = 0; i < HB_ARRAY_LEN(suffixes); i++) {
        if (!hb_path_ends(log_file, suffixes[i])) continue;
        stem -= strlen(suffixes[i]);
        break;
    }
    char *path, count[24] = "";
    if (number > 1) snprintf(count, sizeof count, ".%llu", (unsigned long long)number);
    int n = asprintf(&path, "%.*s_%lld%s%s", (int)stem, log_file, (long long)pid, count,
                     log_file + stem);
    return n < 0 ? NULL : path;
}
