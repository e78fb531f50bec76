/* SPDX-License-Identifier: MIT
 *
 * Reads what digest/rank_bytes.c writes. Nothing of a file is believed before it was checked.
 */
#include "ranks/rank_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/files.h"
#include "base/times.h"

/* ---- numbers ---- */

typedef struct reader {
    hb_arena *arena;
    const char *path;
    const unsigned char *at, *end;
} reader;

_Noreturn static HB_COLD void damaged(const reader *r, const char *what)
{
    hb_arena_leave(r->arena, HB_ERROR_FORMAT, "%s: a digest is damaged: %s", r->path, what);
}

static uint64_t number(reader *r)
{
    uint64_t v;
    if (!hb_varint_get(&r->at, r->end, &v)) damaged(r, "it ends within a number");
    return v;
}

static int64_t signed_number(reader *r)
{
    return hb_unzigzag(number(r));
}

static bool is_time(int64_t ns)
{
    return ns > -HB_MAX_TIME_NS && ns < HB_MAX_TIME_NS;
}

/* A time some way behind another one. */
static int64_t time_behind(reader *r, int64_t before, int64_t by)
{
    if (!is_time(by) || !is_time(before + by)) damaged(r, "a time is out of range");
    return before + by;
}

static int64_t span(reader *r)
{
    uint64_t v = number(r);
    if (v >= (uint64_t)HB_MAX_TIME_NS) damaged(r, "a time is out of range");
    return (int64_t)v;
}

static hb_str text(reader *r)
{
    uint64_t size = number(r);
    if (size > (uint64_t)(r->end - r->at)) damaged(r, "a text is longer than the digest");
    hb_str s = {(const char *)r->at, (uint32_t)size};
    r->at += size;
    return s;
}

/* Of things that take at least a byte each. */
static uint32_t count(reader *r)
{
    uint64_t n = number(r);
    if (n > (uint64_t)(r->end - r->at)) damaged(r, "it counts more than there is room for");
    return (uint32_t)n;
}

static hb_str name(reader *r, const hb_rank_digest *d)
{
    uint64_t n = number(r);
    if (n > d->num_names) damaged(r, "a name is not in its list");
    return d->names[n];
}

/* ---- walking; the bytes were checked ---- */

static hb_rank_walk walk_of(const hb_rank_digest *d, hb_str data, uint32_t count)
{
    const unsigned char *at = (const unsigned char *)data.s;
    return (hb_rank_walk){d, at, at + data.len, 0, 0, d->start, count};
}

hb_rank_walk hb_rank_walk_group(const hb_rank_digest *d, const hb_rank_group *g)
{
    return walk_of(d, g->data, g->count);
}

hb_rank_walk hb_rank_walk_channel(const hb_rank_digest *d, const hb_rank_channel *c)
{
    return walk_of(d, c->data, c->count);
}

static inline uint64_t step_on(hb_rank_walk *w, bool *fine)
{
    uint64_t v = 0;
    *fine &= hb_varint_get(&w->at, w->end, &v);
    return v;
}

static inline int64_t add_to(int64_t a, int64_t b, bool *fine)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum) || !is_time(sum)) *fine = false;
    return *fine ? sum : 0;
}

static bool walk_entry(hb_rank_walk *w, hb_rank_entry *e)
{
    bool fine = true;
    w->sequence = add_to(w->sequence, (int64_t)step_on(w, &fine), &fine);
    uint64_t operation = step_on(w, &fine);
    e->async = step_on(w, &fine) & 1;
    w->bytes = add_to(w->bytes, hb_unzigzag(step_on(w, &fine)), &fine);
    e->start = add_to(w->time, hb_unzigzag(step_on(w, &fine)), &fine);
    e->end = add_to(e->start, (int64_t)step_on(w, &fine), &fine);
    if (!fine || operation > w->digest->num_names || e->end < e->start) return false;
    w->time = e->end;
    e->operation = w->digest->names[operation];
    e->sequence = w->sequence;
    e->bytes = w->bytes;
    return true;
}

static bool walk_message(hb_rank_walk *w, hb_rank_message *m)
{
    bool fine = true;
    w->bytes = add_to(w->bytes, hb_unzigzag(step_on(w, &fine)), &fine);
    m->start = add_to(w->time, hb_unzigzag(step_on(w, &fine)), &fine);
    m->end = add_to(m->start, (int64_t)step_on(w, &fine), &fine);
    uint64_t bits = step_on(w, &fine);
    m->wait_start = m->start;
    m->wait_end = m->end;
    if (bits & 1) {
        m->wait_start = add_to(m->end, hb_unzigzag(step_on(w, &fine)), &fine);
        m->wait_end = add_to(m->wait_start, (int64_t)step_on(w, &fine), &fine);
    }
    if (!fine || m->end < m->start || m->wait_end < m->wait_start) return false;
    m->async = bits >> 1 & 1;
    w->time = m->start;
    m->bytes = w->bytes;
    return true;
}

bool hb_rank_next_as_written(hb_rank_walk *w, hb_rank_entry *entry)
{
    return w->left && w->left-- && walk_entry(w, entry);
}

bool hb_rank_next(hb_rank_walk *w, hb_rank_entry *entry)
{
    if (!hb_rank_next_as_written(w, entry)) return false;
    entry->start = hb_rank_time(w->digest, entry->start);
    entry->end = hb_rank_time(w->digest, entry->end);
    return true;
}

bool hb_rank_next_message(hb_rank_walk *w, hb_rank_message *message)
{
    if (!w->left || !w->left-- || !walk_message(w, message)) return false;
    message->start = hb_rank_time(w->digest, message->start);
    message->end = hb_rank_time(w->digest, message->end);
    message->wait_start = hb_rank_time(w->digest, message->wait_start);
    message->wait_end = hb_rank_time(w->digest, message->wait_end);
    return true;
}

/* ---- parts ---- */

static void read_origin(reader *r, hb_rank_digest *d)
{
    d->host = text(r);
    d->worker = text(r);
    d->file = text(r);
    d->backend = text(r);
    d->rank = signed_number(r);
    d->world = signed_number(r);
    d->pid = signed_number(r);
    d->start = time_behind(r, 0, signed_number(r));
    d->end = time_behind(r, d->start, span(r));
    d->lost = number(r);
    uint64_t method = number(r);
    d->clock_method = method <= HB_RANK_CLOCK_MEASURED ? (int)method : HB_RANK_CLOCK_UNKNOWN;
    d->clock_offset = signed_number(r);
    d->clock_bound = span(r);
}

static void read_names(reader *r, hb_rank_digest *d)
{
    uint32_t n = count(r);
    hb_str *names = HB_NEW_ARRAY(r->arena, hb_str, n + 1);
    names[0] = HB_STR("");
    for (uint32_t i = 1; i <= n; i++)
        names[i] = text(r);
    d->names = names;
    d->num_names = n;
}

static void read_roles(reader *r, int64_t *role)
{
    for (int i = 0; i < HB_ROLE_PARTS; i++)
        role[i] = span(r);
}

static void read_steps(reader *r, hb_rank_digest *d)
{
    uint32_t n = count(r);
    hb_digest_step *steps = HB_NEW_ARRAY(r->arena, hb_digest_step, n + 1);
    int64_t before = 0, end = d->start;
    for (uint32_t i = 0; i < n; i++) {
        hb_digest_step *s = &steps[i];
        before = s->number = time_behind(r, before, signed_number(r));
        s->start = time_behind(r, end, signed_number(r));
        end = s->end = time_behind(r, s->start, span(r));
        read_roles(r, s->role);
    }
    read_roles(r, d->whole);
    d->steps = steps;
    d->num_steps = n;
}

static void read_costs(reader *r, hb_rank_digest *d)
{
    uint32_t n = count(r);
    hb_rank_cost *costs = HB_NEW_ARRAY(r->arena, hb_rank_cost, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        costs[i].name = name(r, d);
        costs[i].device = number(r) & 1;
        costs[i].calls = number(r);
        costs[i].self = time_behind(r, 0, signed_number(r));
        costs[i].total = span(r);
    }
    d->costs = costs;
    d->num_costs = n;
}

static void read_groups(reader *r, hb_rank_digest *d)
{
    uint32_t n = count(r);
    hb_rank_group *groups = HB_NEW_ARRAY(r->arena, hb_rank_group, n + 1);
    hb_rank_entry entry;
    for (uint32_t i = 0; i < n; i++) {
        hb_rank_group *g = &groups[i];
        g->name = name(r, d);
        g->description = name(r, d);
        g->members = name(r, d);
        g->size = number(r);
        g->numbered = number(r) & 1;
        uint64_t entries = number(r);
        g->data = text(r);
        if (entries > g->data.len) damaged(r, "it counts more than there is room for");
        g->count = (uint32_t)entries;
        hb_rank_walk walk = hb_rank_walk_group(d, g);
        while (walk.left)
            if (!hb_rank_next(&walk, &entry)) damaged(r, "a collective");
    }
    d->groups = groups;
    d->num_groups = n;
}

static void read_channels(reader *r, hb_rank_digest *d)
{
    uint32_t n = count(r);
    hb_rank_channel *channels = HB_NEW_ARRAY(r->arena, hb_rank_channel, n + 1);
    hb_rank_message message;
    for (uint32_t i = 0; i < n; i++) {
        hb_rank_channel *c = &channels[i];
        c->group = name(r, d);
        c->description = name(r, d);
        c->sends = number(r) & 1;
        c->peer = signed_number(r);
        c->tag = signed_number(r);
        uint64_t messages = number(r);
        c->data = text(r);
        if (messages > c->data.len) damaged(r, "it counts more than there is room for");
        c->count = (uint32_t)messages;
        hb_rank_walk walk = hb_rank_walk_channel(d, c);
        while (walk.left)
            if (!hb_rank_next_message(&walk, &message)) damaged(r, "a message");
    }
    d->channels = channels;
    d->num_channels = n;
}

static void read_inside(reader *r, hb_rank_digest *d)
{
    uint32_t n = count(r);
    hb_rank_inside *inside = HB_NEW_ARRAY(r->arena, hb_rank_inside, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        inside[i].name = name(r, d);
        inside[i].group = name(r, d);
        inside[i].description = name(r, d);
        inside[i].sequence = span(r);
        inside[i].start = time_behind(r, d->start, signed_number(r));
    }
    d->inside = inside;
    d->num_inside = n;
}

void hb_rank_decode(hb_arena *arena, hb_str bytes, const char *path, hb_rank_digest *d)
{
    const unsigned char *data = (const unsigned char *)bytes.s;
    reader r = {arena, path, data, data + bytes.len};
    *d = (hb_rank_digest){.bytes = bytes};
    read_origin(&r, d);
    read_names(&r, d);
    read_steps(&r, d);
    read_costs(&r, d);
    read_groups(&r, d);
    read_channels(&r, d);
    d->unmatched = number(&r);
    read_inside(&r, d);
}

/* ---- where a file ends ---- */

enum { END_AT = 12 }; /* in the head: 4 bytes, 0 where all of the file was written at once */

uint64_t hb_rank_file_end(const char *head, uint64_t size)
{
    uint32_t end = hb_u32_get(head + END_AT);
    if (!end) return size;
    return end < HB_RANK_FILE_HEAD || end > size ? 0 : end;
}

void hb_rank_file_set_end(char *head, uint64_t end)
{
    hb_u32_put(head + END_AT, (uint32_t)end);
}

/* ---- files ---- */

hb_result hb_rank_records_open(hb_rank_records *records, const char *path, hb_str file)
{
    *records = (hb_rank_records){.path = path, .file = file, .at = HB_RANK_FILE_HEAD};
    if (file.len < HB_RANK_FILE_HEAD || !hb_str_begins(file, HB_RANK_FILE_MAGIC))
        return hb_fail(HB_ERROR_FORMAT, "%s: no digest of ranks (.hbranks)", path);
    uint32_t version = hb_u32_get(file.s + sizeof HB_RANK_FILE_MAGIC - 1);
    if (version == HB_RANK_FILE_VERSION) return HB_OK;
    return hb_fail(HB_ERROR_UNSUPPORTED,
                   "%s: a digest of version %u, and this hipboard reads %d: make it anew of the "
                   "traces, or take the hipboard that wrote it",
                   path, version, HB_RANK_FILE_VERSION);
}

/* By its length those behind a damaged one are found. Where that is what is damaged, nothing behind
 * it fits its checksum. */
bool hb_rank_records_next(hb_rank_records *r, hb_rank_stamp *stamp, hb_str *digest)
{
    for (size_t left; (left = r->file.len - r->at) >= HB_RANK_RECORD_HEAD;) {
        const char *head = r->file.s + r->at;
        uint32_t size = hb_u32_get(head);
        if (size > left - HB_RANK_RECORD_HEAD) break;
        r->at += HB_RANK_RECORD_HEAD + size;
        const char *at = head + HB_RANK_RECORD_HEAD;
        if (size >= HB_RANK_STAMP && hb_crc32c_masked(at, size) == hb_u32_get(head + 4)) {
            *stamp = (hb_rank_stamp){hb_u64_get(at), (int64_t)hb_u64_get(at + 8)};
            *digest = (hb_str){at + HB_RANK_STAMP, size - HB_RANK_STAMP};
            return true;
        }
        r->damaged++;
    }
    r->cut = r->at < r->file.len || !hb_rank_file_end(r->file.s, r->file.len);
    return false;
}

/* ---- directories ---- */

static int is_digests(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && hb_path_ends(entry->d_name, HB_RANK_FILE_SUFFIX);
}

hb_result hb_rank_files_in(const char *directory, hb_rank_list *list)
{
    struct dirent **entries;
    *list = (hb_rank_list){0};
    int n = scandir(directory, &entries, is_digests, alphasort);
    if (n < 0) return HB_OK; /* a pack, or it is gone: its traces are there or not */
    list->items = calloc((size_t)n + 1, sizeof *list->items);
    for (int i = 0; i < n; i++) {
        char *path;
        if (list->items && asprintf(&path, "%s/%s", directory, entries[i]->d_name) >= 0)
            list->items[list->count++] = path;
        free(entries[i]);
    }
    free(entries);
    return list->count == (uint32_t)n ? HB_OK : hb_no_memory();
}

void hb_rank_list_free(hb_rank_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}
