/* SPDX-License-Identifier: MIT */
#include "pack/redactor.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "rules/worker_host.h"

const char *hb_redaction_name(hb_redaction_kind kind)
{
    static const char *const names[] = {
#define HB_REDACTION_NAME(name, text) [HB_REDACTED_##name] = text,
        HB_REDACTION_MAP(HB_REDACTION_NAME)
#undef HB_REDACTION_NAME
    };
    return names[kind];
}

bool hb_redactor_init(hb_redactor *r)
{
    *r = (hb_redactor){.learning = true};
    return hb_texts_init(&r->texts) && hb_texts_init(&r->places);
}

void hb_redactor_free(hb_redactor *r)
{
    hb_texts_free(&r->texts);
    hb_texts_free(&r->places);
    free(r->findings.items);
    *r = (hb_redactor){0};
}

void hb_redactor_begin_file(hb_redactor *r, const char *name)
{
    r->place = hb_texts_add(&r->places, name, strlen(name));
    r->failed |= r->place == 0;
    r->file++;
}

/* ---- what was found ---- */

enum { MAX_FOUND = 4096 }; /* bytes; of longer ones the beginning is taken for all */

typedef struct keyed_text {
    char bytes[1 + MAX_FOUND];
    size_t size;
} keyed_text;

static void make_key(keyed_text *key, hb_redaction_kind kind, hb_str text)
{
    key->size = 1 + HB_MIN(text.len, (size_t)MAX_FOUND);
    key->bytes[0] = (char)kind;
    memcpy(key->bytes + 1, text.s, key->size - 1);
}

/* One for each text, by its number. */
static bool grow(hb_redactor *r, hb_string_id id)
{
    while (r->findings.count <= id)
        if (!HB_APPEND(&r->findings)) return false;
    return true;
}

static bool is_name_kind(hb_redaction_kind kind)
{
    return kind == HB_REDACTED_HOST || kind == HB_REDACTED_USER;
}

/* 0: without memory. */
static hb_string_id get(hb_redactor *r, hb_redaction_kind kind, hb_str text)
{
    keyed_text key;
    make_key(&key, kind, text);
    uint32_t before = r->texts.count;
    hb_string_id id = hb_texts_add(&r->texts, key.bytes, key.size);
    if (!id || !grow(r, id)) {
        r->failed = true;
        return 0;
    }
    if (r->texts.count != before)
        r->findings.items[id] = (hb_redaction_found){.number = ++r->counts[kind]};
    if (text.len && is_name_kind(kind)) r->begins_name[(unsigned char)text.s[0]] = true;
    return id;
}

hb_redaction_kind hb_redaction_kind_of(const hb_redactor *r, hb_string_id id, hb_str *found)
{
    hb_str key = hb_texts_get(&r->texts, id);
    *found = (hb_str){key.s + 1, key.len - 1};
    return (hb_redaction_kind)key.s[0];
}

void hb_redaction_text(const hb_redactor *r, hb_string_id id, char *text)
{
    char largest[16];
    hb_str found;
    hb_redaction_kind kind = hb_redaction_kind_of(r, id, &found);
    int width = snprintf(largest, sizeof largest, "%u", r->counts[kind]);
    /* As wide as the largest, so that hosts keep their order where they are sorted as texts. */
    snprintf(text, 32, "%s-%0*u", hb_redaction_name(kind), is_name_kind(kind) ? width : 1,
             r->findings.items[id].number);
}

void hb_redactor_replace(hb_redactor *r, hb_redaction_kind kind, hb_str found, hb_buf *out)
{
    char text[32];
    hb_string_id id = get(r, kind, found);
    if (!id) return;
    hb_redaction_found *f = &r->findings.items[id];
    f->count++;
    if (!f->place) f->place = r->place;
    if (f->last_file != r->file) f->files++;
    f->last_file = r->file;
    hb_redaction_text(r, id, text);
    hb_buf_str(out, text);
}

/* ---- hosts and users ---- */

static bool is_known(const hb_redactor *r, hb_redaction_kind kind, hb_str name)
{
    keyed_text key;
    make_key(&key, kind, name);
    return hb_texts_find(&r->texts, key.bytes, key.size) != 0;
}

/* Names that everybody has: they tell nothing, and stand for other things in texts. Nor do two
 * letters say which word they are. */
static bool is_findable(hb_str name)
{
    enum { LEAST = 3 };
    static const char *const common[] = {
        "localhost", "root", "user", "users", "ubuntu", "admin",   "runner",   "work",
        "home",      "app",  "host", "node",  "data",   "default", "worker",   "rank",
        "test",      "main", "gpu",  "cpu",   "train",  "step",    "profiler", "linux"};
    for (size_t i = 0; i < HB_ARRAY_LEN(common); i++)
        if (name.len == strlen(common[i]) && strncasecmp(name.s, common[i], name.len) == 0)
            return false;
    return name.len >= LEAST;
}

void hb_redactor_learn(hb_redactor *r, hb_redaction_kind kind, hb_str name)
{
    if (!r->learning || name.len == 0 || hb_str_is(name, "localhost")) return;
    get(r, kind, name);
    /* A host is known by its first name, too. */
    const char *dot = memchr(name.s, '.', name.len);
    if (kind == HB_REDACTED_HOST && dot && !isdigit((unsigned char)name.s[0]))
        hb_redactor_learn(r, kind, (hb_str){name.s, (uint32_t)(dot - name.s)});
}

/* How many of the first `size` letters' last ones are digits. */
static uint32_t trailing_digits(hb_str name, uint32_t size)
{
    uint32_t n = 0;
    while (n < size && isdigit((unsigned char)name.s[size - n - 1]))
        n++;
    return n;
}

/* The name of a file: "worker", "[.time].pt.trace.json", by which it is a trace, and the rest. Of
 * another file all of it is the first. */
typedef struct name_parts {
    hb_str worker, mark, rest;
} name_parts;

static name_parts parts_of(hb_str name)
{
    static const char suffix[] = ".pt.trace.json";
    uint32_t n = name.len, behind = name.len, digits;
    for (uint32_t i = 0; i < name.len; i++)
        if (hb_str_begins((hb_str){name.s + i, name.len - i}, suffix)) n = i;
    if (n < name.len) {
        behind = n + (uint32_t)strlen(suffix);
        digits = trailing_digits(name, n);
        if (digits && digits < n && name.s[n - digits - 1] == '.') n -= digits + 1;
    }
    return (name_parts){
        {name.s, n}, {name.s + n, behind - n}, {name.s + behind, name.len - behind}};
}

/* What several numbers follow is known without any of them. */
static hb_str host_of_worker(hb_str worker)
{
    hb_str host = hb_worker_host(worker);
    for (hb_str shorter = host; shorter.len; shorter = hb_worker_host(host))
        host = shorter;
    return host;
}

/* "events.out.tfevents.1795256296.host.4711.0": the host, which may have dots. */
static hb_str host_of_event_file(hb_str name)
{
    const char *word = "tfevents.", *p = memmem(name.s, name.len, word, strlen(word));
    const char *end = name.s + name.len, *stop;
    if (!p) return (hb_str){NULL, 0};
    p += strlen(word);
    while (p < end && isdigit((unsigned char)*p))
        p++;
    if (p == end || *p++ != '.') return (hb_str){NULL, 0};
    /* Two numbers follow; what has none is a host to its end. */
    stop = end;
    for (int i = 0; i < 2; i++) {
        const char *digits = stop;
        while (digits > p && isdigit((unsigned char)digits[-1]))
            digits--;
        if (digits > p && digits < stop && digits[-1] == '.') stop = digits - 1;
    }
    return (hb_str){p, (uint32_t)(stop - p)};
}

/* Of a path. */
static hb_str last_part(hb_str path)
{
    const char *slash = path.len ? memrchr(path.s, '/', path.len) : NULL;
    uint32_t before = slash ? (uint32_t)(slash + 1 - path.s) : 0;
    return (hb_str){path.s + before, path.len - before};
}

static hb_str host_of_file(const name_parts *name)
{
    return name->mark.len ? host_of_worker(name->worker) : host_of_event_file(name->worker);
}

void hb_redactor_learn_file_name(hb_redactor *r, hb_str name)
{
    name_parts parts = parts_of(last_part(name));
    hb_redactor_learn(r, HB_REDACTED_HOST, host_of_file(&parts));
}

void hb_redact_file_name(hb_redactor *r, hb_str name, hb_buf *out)
{
    name_parts parts = parts_of(last_part(name));
    hb_str host = host_of_file(&parts), none = {"", 0};
    const char *from = name.s, *end = parts.worker.s + parts.worker.len;
    if (host.len && is_known(r, HB_REDACTED_HOST, host)) {
        hb_redact_text(r, none, (hb_str){from, (uint32_t)(host.s - from)}, out);
        hb_redactor_replace(r, HB_REDACTED_HOST, host, out);
        from = host.s + host.len;
    }
    hb_redact_text(r, none, (hb_str){from, (uint32_t)(end - from)}, out);
    /* It has to stay a trace, whatever else, as an address, would end there. */
    hb_buf_append(out, parts.mark.s, parts.mark.len);
    hb_redact_text(r, none, parts.rest, out);
}

typedef struct sorted_name {
    hb_str name;
    hb_string_id id;
} sorted_name;

static int by_name(const void *x, const void *y)
{
    const hb_str *a = &((const sorted_name *)x)->name, *b = &((const sorted_name *)y)->name;
    int order = memcmp(a->s, b->s, HB_MIN(a->len, b->len));
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* "node1.example.org" is "node1", which is sorted before it. */
static bool is_same_host(hb_str name, hb_str full)
{
    return name.len && full.len > name.len && full.s[name.len] == '.' &&
           memcmp(full.s, name.s, name.len) == 0;
}

static void number_kind(hb_redactor *r, hb_redaction_kind kind)
{
    sorted_name *list = calloc(r->texts.count + 1, sizeof *list);
    uint32_t n = 0, number = 0;
    hb_str first = {NULL, 0};
    r->failed |= !list;
    for (hb_string_id id = 1; list && id < r->texts.count; id++) {
        list[n].id = id;
        n += hb_redaction_kind_of(r, id, &list[n].name) == kind;
    }
    if (n) qsort(list, n, sizeof *list, by_name);
    for (uint32_t i = 0; i < n; i++) {
        bool same = kind == HB_REDACTED_HOST && is_same_host(first, list[i].name);
        if (!same) first = list[i].name;
        r->findings.items[list[i].id].number = same ? number : ++number;
    }
    r->counts[kind] = number;
    free(list);
}

void hb_redactor_learnt(hb_redactor *r)
{
    number_kind(r, HB_REDACTED_HOST);
    number_kind(r, HB_REDACTED_USER);
    r->learning = false;
    r->file = 0;
}

/* ---- finding them ---- */

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("-._", c));
}

size_t hb_redactor_match(const hb_redactor *r, hb_str text, hb_redaction_kind *kind)
{
    enum { MOST = 255, MOST_PARTS = 16 }; /* of a host's name */
    uint32_t ends[MOST_PARTS], n = 0;
    if (!text.len || !r->begins_name[(unsigned char)text.s[0]]) return 0;
    for (uint32_t i = 1; i <= text.len && i <= MOST && n < MOST_PARTS; i++) {
        bool ends_here = i == text.len || !isalnum((unsigned char)text.s[i]);
        if (ends_here) ends[n++] = i;
        if (i < text.len && !is_name_byte(text.s[i])) break;
    }
    while (n) {
        hb_str name = {text.s, ends[--n]};
        for (*kind = HB_REDACTED_HOST; *kind <= HB_REDACTED_USER; (*kind)++)
            if (is_findable(name) && is_known(r, *kind, name)) return name.len;
    }
    return 0;
}
