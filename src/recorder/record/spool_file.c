/* SPDX-License-Identifier: MIT */
#include "record/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "record/codec.h"
#include "record/process_id.h"
#include "record/strings.h"

#define WINDOW    65536u
#define MOST_CODE (16u << 20)

/* ---- bytes ---- */

/* As many as there are. */
static size_t read_some(hb_spool_file *f, uint64_t offset, void *to, size_t bytes)
{
    size_t got = 0;
    while (got < bytes) {
        ssize_t n = pread(f->fd, (char *)to + got, bytes - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && !f->unread) f->unread = errno;
        if (n <= 0) break;
        got += (size_t)n;
    }
    return got;
}

bool hb_spool_file_read(hb_spool_file *f, uint64_t offset, void *to, size_t bytes)
{
    return offset < f->size && bytes <= f->size - offset &&
           read_some(f, offset, to, bytes) == bytes;
}

/* What there is no memory for is not known, which is no reason to take it for damaged. */
static void has_no_room(hb_spool_file *f)
{
    if (!f->unread) f->unread = ENOMEM;
}

static void *room_for(hb_spool_file *f, size_t bytes)
{
    void *room = malloc(HB_MAX(bytes, 1u));
    if (!room) has_no_room(f);
    return room;
}

hb_result hb_spool_file_was_read(const hb_spool_file *f)
{
    if (!f->unread) return HB_OK;
    if (f->unread == ENOMEM) return hb_no_memory();
    return hb_fail_errno(HB_ERROR_IO, f->unread, "%s: can't be read", f->path);
}

/* ---- what was found ---- */

typedef struct found_part {
    hb_events_info info;
    hb_part part;
} found_part;

bool hb_spool_file_add_session(hb_spool_file *f, const hb_session *session, uint64_t state_offset)
{
    hb_found_session found = {.session = *session, .state_offset = state_offset};
    found.session.trace_id[sizeof found.session.trace_id - 1] = '\0';
    found.session.file_name[sizeof found.session.file_name - 1] = '\0';
    hb_buf_append(&f->sessions, &found, sizeof found);
    return !f->sessions.failed;
}

bool hb_spool_file_add_part(hb_spool_file *f, const hb_events_info *info, const hb_part *part)
{
    found_part found = {*info, *part};
    hb_buf_append(&f->parts, &found, sizeof found);
    return !f->parts.failed;
}

bool hb_spool_file_add_names(hb_spool_file *f, uint64_t string_offset, uint64_t offset,
                             uint64_t bytes)
{
    if (bytes == 0 || offset >= f->size || bytes > f->size - offset) return true;
    hb_string_run run = {string_offset, bytes, malloc(bytes), false};
    if (!run.bytes) return false;
    bool read = hb_spool_file_read(f, offset, run.bytes, bytes);
    if (read) hb_buf_append(&f->names, &run, sizeof run);
    if (!read || f->names.failed) free(run.bytes);
    return !f->names.failed;
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_number(const void *a, const void *b)
{
    const hb_found_session *x = a, *y = b;
    int order = COMPARE(x->session.number, y->session.number);
    return order ? order : COMPARE(x->state_offset, y->state_offset);
}

static int by_offset(const void *a, const void *b)
{
    const hb_string_run *x = a, *y = b;
    return COMPARE(x->offset, y->offset);
}

/* A chunk's segment before the chunk, which may be used again by half. */
static int by_place(const void *a, const void *b)
{
    const found_part *x = a, *y = b;
    int order = COMPARE(x->info.session, y->info.session);
    if (order == 0) order = COMPARE(x->info.thread, y->info.thread);
    if (order == 0) order = COMPARE(x->info.sequence, y->info.sequence);
    return order ? order : COMPARE(x->part.codec, y->part.codec);
}

static hb_found_session *find_session(const hb_spool_file *f, uint32_t number)
{
    hb_found_session *all = (hb_found_session *)f->sessions.data;
    size_t low = 0, high = f->sessions.size / sizeof *all;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all[middle].session.number < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool is = low < f->sessions.size / sizeof *all && all[low].session.number == number;
    return is ? &all[low] : NULL;
}

static hb_result join_parts(hb_spool_file *f)
{
    hb_found_session *sessions = (hb_found_session *)f->sessions.data;
    found_part *parts = (found_part *)f->parts.data;
    size_t num_sessions = f->sessions.size / sizeof *sessions, num = f->parts.size / sizeof *parts;
    if (num_sessions) qsort(sessions, num_sessions, sizeof *sessions, by_number);
    if (f->names.size)
        qsort(f->names.data, f->names.size / sizeof(hb_string_run), sizeof(hb_string_run),
              by_offset);
    if (num) qsort(parts, num, sizeof *parts, by_place);
    bool ok = true, had;
    for (size_t i = 0; ok && i < num_sessions; i++)
        ok = (sessions[i].records = hb_records_new(sessions[i].session.number)) != NULL;
    for (size_t i = 0; ok && i < num; i++) {
        hb_found_session *s = find_session(f, parts[i].info.session);
        if (s) ok = hb_records_add(s->records, &parts[i].info, &parts[i].part, &had) || had;
    }
    for (size_t i = 0; ok && i < num_sessions; i++)
        ok = hb_records_close(sessions[i].records);
    hb_buf_free(&f->parts);
    return ok ? HB_OK : hb_no_memory();
}

/* ---- version 3 and later ---- */

static hb_part part_of(const hb_events_info *info, uint64_t offset, uint32_t bytes, uint8_t codec)
{
    return (hb_part){.sequence = info->sequence,
                     .types = info->types,
                     .raw_bytes = bytes,
                     .coded_bytes = bytes,
                     .first_id = info->first_id,
                     .first_tick = info->first_tick,
                     .last_tick = info->last_tick,
                     .place = HB_PART_FILE,
                     .codec = codec,
                     .offset = offset};
}

static bool read_sessions(hb_spool_file *f, uint64_t offset)
{
    for (uint32_t i = 0; i < HB_SESSIONS_PER_CHUNK; i++) {
        hb_session session;
        uint64_t at = offset + sizeof(hb_chunk) + i * sizeof session;
        if (!hb_spool_file_read(f, at, &session, sizeof session)) break;
        if (session.number == 0 || session.state == HB_SESSION_NONE ||
            session.state > HB_SESSION_SAVED)
            continue;
        if (!hb_spool_file_add_session(f, &session, at + offsetof(hb_session, state))) return false;
    }
    return true;
}

/* Each behind the one before, and so the last of a damaged list comes, too. */
static bool read_hot_events(hb_spool_file *f, uint64_t offset)
{
    hb_chunk chunk;
    uint32_t at = 0, next = 0;
    do {
        at = next;
        if (at > HB_CHUNK_BYTES - sizeof chunk) break;
        if (!hb_spool_file_read(f, offset + at, &chunk, sizeof chunk)) break;
        if (chunk.kind != HB_CHUNK_EVENTS) break;
        uint32_t used = HB_MIN(chunk.used, HB_CHUNK_BYTES - at);
        uint32_t bytes = used > sizeof chunk ? (used - (uint32_t)sizeof chunk) & ~7u : 0;
        chunk.events.types = 0;
        chunk.events.first_tick = chunk.events.last_tick = 0;
        hb_part part = part_of(&chunk.events, offset + at + sizeof chunk, bytes, HB_CODEC_HOT);
        if (!hb_spool_file_add_part(f, &chunk.events, &part)) return false;
        next = chunk.next;
    } while (next % 8 == 0 && chunk.used >= sizeof chunk && next == at + chunk.used);
    return true;
}

static bool read_chunk(hb_spool_file *f, uint64_t offset)
{
    hb_chunk chunk;
    if (!hb_spool_file_read(f, offset, &chunk, sizeof chunk)) return true;
    uint32_t used = HB_MIN(chunk.used, HB_CHUNK_BYTES);
    uint32_t bytes = used > sizeof chunk ? used - (uint32_t)sizeof chunk : 0;
    switch (chunk.kind) {
    case HB_CHUNK_EVENTS: return read_hot_events(f, offset);
    case HB_CHUNK_SESSIONS: return read_sessions(f, offset);
    case HB_CHUNK_NAMES:
        return hb_spool_file_add_names(f, chunk.string_offset, offset + sizeof chunk, bytes);
    default: return true;
    }
}

/* A process that is killed while it writes leaves a head without all of its payload, and the chunk
 * that has the same records. */
static bool is_whole(hb_spool_file *f, const hb_segment *s, uint64_t payload)
{
    char *bytes = room_for(f, s->bytes);
    bool whole = bytes && hb_spool_file_read(f, payload, bytes, s->bytes) &&
                 hb_crc32c(bytes, s->bytes) == s->payload_crc;
    free(bytes);
    return whole;
}

static bool read_names(hb_spool_file *f, const hb_segment *s, uint64_t payload)
{
    size_t before = f->names.size;
    if (!hb_spool_file_add_names(f, s->string_offset, payload, s->bytes)) return false;
    if (f->names.size == before) return true;
    hb_string_run *run = (hb_string_run *)(f->names.data + before);
    run->damaged = hb_crc32c(run->bytes, run->size) != s->payload_crc;
    return true;
}

static bool read_events(hb_spool_file *f, const hb_segment *s, uint64_t payload)
{
    if (s->raw_bytes > HB_CHUNK_BYTES || s->bytes > HB_CODEC_MOST(HB_CHUNK_BYTES)) return true;
    if (s->codec != HB_CODEC_RAW && s->codec != HB_CODEC_DELTA) return true;
    if (!is_whole(f, s, payload)) return true;
    hb_part part = part_of(&s->events, payload, s->raw_bytes, (uint8_t)s->codec);
    part.coded_bytes = (uint32_t)s->bytes;
    part.crc = s->payload_crc;
    return hb_spool_file_add_part(f, &s->events, &part);
}

/* The newest; an empty line would be more than one text. */
static bool read_code(hb_spool_file *f, const hb_segment *s, uint64_t payload)
{
    bool is_older = f->code && s->code_number < f->code_number;
    if (is_older || s->bytes > MOST_CODE || !is_whole(f, s, payload)) return true;
    char *code = malloc(s->bytes + 1);
    if (!code) return false;
    bool ok = hb_spool_file_read(f, payload, code, s->bytes);
    code[ok ? s->bytes : 0] = '\0';
    char *empty = strstr(code, "\n\n");
    if (empty) empty[1] = '\0';
    free(f->code);
    f->code = code;
    f->code_number = s->code_number;
    f->view.code = (hb_str){code, (uint32_t)strlen(code)};
    return true;
}

/* Its head is whole. */
static bool read_segment(hb_spool_file *f, const hb_segment *s, uint64_t payload)
{
    bool ok = true;
    switch (s->kind) {
    case HB_SEGMENT_HOT:
        for (uint64_t at = 0; ok && at < s->bytes && payload + at < f->size; at += HB_CHUNK_BYTES)
            ok = read_chunk(f, payload + at);
        return ok;
    case HB_SEGMENT_EVENTS: return read_events(f, s, payload);
    case HB_SEGMENT_NAMES: return read_names(f, s, payload);
    case HB_SEGMENT_CODE: return read_code(f, s, payload);
    default: return true;
    }
}

static bool is_segment(const hb_segment *s)
{
    const size_t skipped = offsetof(hb_segment, payload_crc);
    return s->magic == HB_SEGMENT_MAGIC &&
           s->crc == hb_crc32c((const char *)s + skipped, sizeof *s - skipped);
}

/* The next whole head at or behind *offset, over holes and damage. */
static bool find_segment(hb_spool_file *f, uint64_t *offset, hb_segment *s)
{
    char *window = room_for(f, WINDOW);
    bool found = false;
    while (window && !found && *offset + sizeof *s <= f->size) {
        size_t n = read_some(f, *offset, window, WINDOW), at = 0;
        if (n < sizeof *s) break;
        for (; !found && at + sizeof *s <= n; at += found ? 0 : HB_SEGMENT_ALIGN) {
            memcpy(s, window + at, sizeof *s);
            found = is_segment(s);
            if (found) break;
        }
        *offset += at;
        off_t data = found ? -1 : lseek(f->fd, (off_t)*offset, SEEK_DATA);
        if (data > (off_t)*offset) *offset = (uint64_t)data & ~(uint64_t)7;
        if (!found && data < 0 && errno == ENXIO) break;
    }
    free(window);
    return found;
}

/* Version 3 is the same without some kinds and parts of records. */
static hb_result read_segments(hb_spool_file *f)
{
    hb_segment s;
    uint64_t offset = HB_SPOOL_HEADER_BYTES;
    if (memcmp(&f->head.layout, &hb_spool_layout_here, sizeof f->head.layout) != 0)
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "%s: of other sizes; recover it with the build of "
                       "hipboard that wrote it",
                       f->path);
    while (find_segment(f, &offset, &s)) {
        uint64_t payload = offset + sizeof s + s.padding;
        if (!read_segment(f, &s, payload)) return hb_no_memory();
        uint64_t end = payload + s.bytes;
        if (end < payload || end > f->size) end = payload; /* cut off: what is there was read */
        offset = (end + HB_SEGMENT_ALIGN - 1) / HB_SEGMENT_ALIGN * HB_SEGMENT_ALIGN;
    }
    return HB_OK;
}

/* ---- the view ---- */

/* How many runs begin at or before it. */
static size_t runs_up_to(const hb_spool_file *f, uint64_t offset)
{
    const hb_string_run *runs = (const hb_string_run *)f->names.data;
    size_t low = 0, high = f->names.size / sizeof *runs;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (runs[mid].offset <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* A string stands in several runs when it was written twice; the last may be cut. */
static hb_str string_in(const hb_spool_file *f, uint64_t offset, bool damaged)
{
    const hb_string_run *runs = (const hb_string_run *)f->names.data;
    size_t end = runs_up_to(f, offset);
    for (size_t i = end; i-- > 0 && i + 4 >= end;) {
        uint64_t inside = offset - runs[i].offset;
        hb_str s = {0};
        if (inside < runs[i].size && runs[i].damaged == damaged)
            s = hb_strings_read(runs[i].bytes + inside, runs[i].size - inside);
        if (s.s && s.s[s.len] == '\0') return s;
    }
    return (hb_str){0};
}

static hb_str file_string(const hb_spool_view *view, uint32_t id)
{
    hb_str s = string_in(view->from, hb_strings_offset(id), false);
    return s.s ? s : string_in(view->from, hb_strings_offset(id), true);
}

static const hb_records *file_records(const hb_spool_view *view, const hb_session *session)
{
    static const hb_records none;
    const hb_found_session *found = find_session(view->from, session->number);
    return found ? found->records : &none;
}

static bool file_load(const hb_spool_view *view, uint32_t session, const hb_thread_records *thread,
                      const hb_part *part, char *raw)
{
    hb_spool_file *f = view->from;
    (void)session;
    (void)thread;
    if (part->codec == HB_CODEC_HOT) {
        if (!hb_spool_file_read(f, part->offset, raw, part->raw_bytes)) return false;
        hb_codec_copy_hot(raw, raw, part->raw_bytes);
        return true;
    }
    unsigned char *coded = room_for(f, part->coded_bytes);
    bool ok = coded && hb_spool_file_read(f, part->offset, coded, part->coded_bytes) &&
              hb_crc32c(coded, part->coded_bytes) == part->crc && hb_part_decode(part, coded, raw);
    free(coded);
    return ok;
}

static void file_has_no_room(const hb_spool_view *view)
{
    has_no_room(view->from);
}

/* ---- opening ---- */

static hb_result is_empty(const hb_spool_file *f, const struct stat *st)
{
    enum { SECONDS = 10 }; /* a header is written within microseconds */
    if (time(NULL) - st->st_mtime < SECONDS)
        return hb_fail(HB_ERROR_BUSY, "%s: it is just being made", f->path);
    return hb_fail(HB_ERROR_NOT_FOUND, "%s: nothing was recorded yet", f->path);
}

/* Programs that close all descriptors let go of the lock, but live. */
static hb_result check_life(const hb_spool_file *f, bool locked)
{
    hb_process_life life = f->head.closed ? HB_PROCESS_DEAD : hb_process_life_of(&f->head.process);
    if (life == HB_PROCESS_ALIVE)
        return hb_fail(HB_ERROR_BUSY, "%s: its process %lld is still running", f->path,
                       (long long)f->head.process.pid);
    /* A killed process's child may have its lock still. */
    if (locked && life == HB_PROCESS_UNKNOWN)
        return hb_fail(HB_ERROR_BUSY, "%s: a process holds it", f->path);
    return HB_OK;
}

/* Versions 3 and 4 lack some of what records may say. */
static bool is_segmented(uint32_t version)
{
    return version >= 3 && version <= HB_SPOOL_VERSION;
}

static hb_result read_versions(hb_spool_file *f, const struct stat *st)
{
    hb_spool_header *h = &f->head;
    static const char zeros[sizeof h->magic];
    (void)read_some(f, 0, h, sizeof *h); /* what is missing is zeros */
    if (memcmp(h->magic, zeros, sizeof zeros) == 0) return is_empty(f, st);
    if (memcmp(h->magic, HB_SPOOL_MAGIC, sizeof h->magic) != 0)
        return hb_fail(HB_ERROR_FORMAT, "%s: not a spool of hipboard", f->path);
    if (h->endian != HB_SPOOL_ENDIAN)
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "%s: written on a machine of other byte order; recover it there", f->path);
    if (h->version == 2) return hb_spool_v2_read(f);
    if (!is_segmented(h->version))
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "%s: version %u of the format; this hipboard reads versions 2 to %u: "
                       "recover it with the version that wrote it",
                       f->path, h->version, HB_SPOOL_VERSION);
    return read_segments(f);
}

/* Before anything else is read: of a process that lives it may be out of date a moment later, when
 * the process has made traces of all that, removed the file and ended. */
static hb_result check_life_first(hb_spool_file *f, bool locked)
{
    struct stat st;
    const hb_spool_header *h = &f->head;
    (void)read_some(f, 0, &f->head, sizeof f->head);
    bool ours = memcmp(h->magic, HB_SPOOL_MAGIC, sizeof h->magic) == 0 &&
                h->endian == HB_SPOOL_ENDIAN && is_segmented(h->version);
    if (ours) HB_TRY(check_life(f, locked));
    if (fstat(f->fd, &st) != 0 || st.st_nlink == 0)
        return hb_fail(HB_ERROR_BUSY, "%s: its process has just removed it", f->path);
    f->size = (uint64_t)st.st_size;
    return HB_OK;
}

static hb_result open_file(hb_spool_file *f, const struct stat *seen)
{
    struct stat st;
    /* To mark sessions; of others' files reading does. */
    f->fd = open(f->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (f->fd < 0 && (errno == EACCES || errno == EROFS))
        f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (f->fd < 0 && errno == ENOENT)
        return hb_fail(HB_ERROR_BUSY, "%s: its process has just removed it", f->path);
    bool is_link = f->fd < 0 && errno == ELOOP;
    if (!is_link && (f->fd < 0 || fstat(f->fd, &st) != 0))
        return hb_fail_errno(HB_ERROR_IO, errno, "%s: can't be read", f->path);
    /* Whoever may write to the directory may have put another file there since the walk saw it. */
    if (is_link || !S_ISREG(st.st_mode) || st.st_dev != seen->st_dev || st.st_ino != seen->st_ino)
        return hb_fail(HB_ERROR_BUSY, "%s: another file has just taken its place", f->path);
    f->size = (uint64_t)st.st_size;
    bool locked = flock(f->fd, LOCK_EX | LOCK_NB) != 0;
    HB_TRY(check_life_first(f, locked));
    hb_result result = read_versions(f, &st);
    HB_TRY(hb_spool_file_was_read(f)); /* before anything that it seems to be is believed */
    HB_TRY(result);
    HB_TRY(check_life(f, locked));
    f->head.host_name[sizeof f->head.host_name - 1] = '\0';
    f->head.process_name[sizeof f->head.process_name - 1] = '\0';
    f->head.worker_name[sizeof f->head.worker_name - 1] = '\0';
    return join_parts(f);
}

hb_result hb_spool_file_open(hb_spool_file *f, const char *path, const struct stat *seen)
{
    *f = (hb_spool_file){.path = path, .fd = -1};
    hb_buf_init(&f->sessions, (size_t)1 << 30);
    hb_buf_init(&f->names, (size_t)1 << 30);
    hb_buf_init(&f->parts, (size_t)1 << 40);
    f->view = (hb_spool_view){.head = &f->head,
                              .string = file_string,
                              .records = file_records,
                              .load = file_load,
                              .has_no_room = file_has_no_room,
                              .from = f};
    return open_file(f, seen);
}

void hb_spool_file_close(hb_spool_file *f)
{
    hb_found_session *sessions = (hb_found_session *)f->sessions.data;
    hb_string_run *runs = (hb_string_run *)f->names.data;
    for (size_t i = 0; i < f->sessions.size / sizeof *sessions; i++)
        hb_records_free(sessions[i].records);
    for (size_t i = 0; i < f->names.size / sizeof *runs; i++)
        free(runs[i].bytes);
    hb_buf_free(&f->sessions);
    hb_buf_free(&f->names);
    hb_buf_free(&f->parts);
    free(f->code);
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
}

void hb_spool_file_mark_saved(hb_spool_file *f, hb_found_session *found)
{
    uint32_t saved = found->session.state = HB_SESSION_SAVED;
    if (found->state_offset + sizeof saved <= f->size)
        (void)!pwrite(f->fd, &saved, sizeof saved, (off_t)found->state_offset);
}
