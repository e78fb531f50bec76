/* SPDX-License-Identifier: MIT
 *
 * Spools of version 2: chunks of 64 KiB, linked by their numbers. Lists of damaged files may run in
 * circles: a chunk is read once.
 */
#include <stdlib.h>

#include "record/spool_file.h"

enum { EVENTS = 1, SESSION = 2, STRINGS = 3 };

typedef struct header_v2 {
    char magic[8];
    uint32_t version, endian;
    uint32_t chunk_bytes, chunk_header_bytes, session_bytes, record_header_bytes;
    uint16_t places[20]; /* of the fields below */
    int64_t pid, created_unix_ns;
    uint32_t num_chunks, first_session, first_strings, reserved;
    char host_name[256], process_name[256], worker_name[512];
} header_v2;

typedef struct chunk_v2 {
    uint32_t kind, used, session, next, next_thread, thread;
    int64_t tid;
    uint64_t first_id, string_offset;
    char thread_name[32];
} chunk_v2;

typedef struct session_v2 {
    uint32_t number, older, state, flags, first_thread, finalized;
    int64_t cycle, slice_ns;
    hb_clock_pair start, later[2];
    uint32_t newest, reserved;
    uint64_t lost[6];
    char trace_id[40];
} session_v2;

typedef struct reader {
    hb_spool_file *file;
    uint32_t num_chunks;
    uint8_t *seen; /* of each chunk */
} reader;

static uint64_t offset_of(uint32_t index)
{
    return (uint64_t)index * HB_CHUNK_BYTES;
}

/* A chunk of that kind that was not read before. */
static bool take(reader *r, uint32_t index, uint32_t kind, chunk_v2 *chunk)
{
    if (index == 0 || index >= r->num_chunks || r->seen[index]) return false;
    if (!hb_spool_file_read(r->file, offset_of(index), chunk, sizeof *chunk) || chunk->kind != kind)
        return false;
    r->seen[index] = 1;
    return true;
}

/* A run of names takes several chunks; the others of it have no header. */
static bool read_strings(reader *r, uint32_t index)
{
    chunk_v2 chunk;
    while (take(r, index, STRINGS, &chunk)) {
        uint64_t most = (uint64_t)(r->num_chunks - index) * HB_CHUNK_BYTES;
        uint64_t used = HB_MIN((uint64_t)chunk.used, most);
        uint64_t bytes = used > sizeof chunk ? used - sizeof chunk : 0;
        if (!hb_spool_file_add_names(r->file, chunk.string_offset, offset_of(index) + sizeof chunk,
                                     bytes))
            return false;
        index = chunk.next;
    }
    return true;
}

static bool read_thread(reader *r, uint32_t index, uint32_t session, uint32_t *next_thread)
{
    chunk_v2 chunk;
    for (uint32_t sequence = 0; take(r, index, EVENTS, &chunk); sequence++) {
        if (chunk.session != session) break;
        if (sequence == 0) *next_thread = chunk.next_thread;
        uint32_t used = HB_MIN(chunk.used, HB_CHUNK_BYTES) & ~7u;
        uint32_t bytes = used > sizeof chunk ? used - (uint32_t)sizeof chunk : 0;
        hb_events_info info = {.session = session,
                               .thread = chunk.thread,
                               .sequence = sequence,
                               .tid = chunk.tid,
                               .first_id = chunk.first_id};
        memcpy(info.thread_name, chunk.thread_name, sizeof info.thread_name);
        hb_part part = {.sequence = sequence,
                        .raw_bytes = bytes,
                        .coded_bytes = bytes,
                        .first_id = chunk.first_id,
                        .place = HB_PART_FILE,
                        .codec = HB_CODEC_HOT,
                        .offset = offset_of(index) + sizeof chunk};
        if (!hb_spool_file_add_part(r->file, &info, &part)) return false;
        index = chunk.next;
    }
    return true;
}

static bool read_threads(reader *r, const session_v2 *session)
{
    uint32_t index = session->first_thread;
    while (index) {
        uint32_t next = 0;
        if (!read_thread(r, index, session->number, &next)) return false;
        index = next;
    }
    return true;
}

static bool read_session(reader *r, uint32_t index, uint32_t *older)
{
    session_v2 s;
    uint64_t at = offset_of(index) + sizeof(chunk_v2);
    if (!hb_spool_file_read(r->file, at, &s, sizeof s)) return true;
    *older = s.older;
    hb_session session = {.number = s.number,
                          .state = s.state,
                          .flags = s.flags,
                          .cycle = s.cycle,
                          .slice_ns = s.slice_ns,
                          .start = s.start,
                          .later = {s.later[0], s.later[1]},
                          .newest = s.newest};
    memcpy(session.lost, s.lost, sizeof s.lost);
    memcpy(session.trace_id, s.trace_id, sizeof session.trace_id);
    return hb_spool_file_add_session(r->file, &session, at + offsetof(session_v2, state)) &&
           read_threads(r, &s);
}

static bool read_sessions(reader *r, uint32_t index)
{
    chunk_v2 chunk;
    while (take(r, index, SESSION, &chunk)) {
        uint32_t older = 0;
        if (!read_session(r, index, &older)) return false;
        index = older;
    }
    return true;
}

static bool is_known(const header_v2 *h)
{
    static const uint16_t places[20] = {
        offsetof(chunk_v2, kind),          offsetof(chunk_v2, used),
        offsetof(chunk_v2, session),       offsetof(chunk_v2, next),
        offsetof(chunk_v2, next_thread),   offsetof(chunk_v2, first_id),
        offsetof(chunk_v2, string_offset), offsetof(chunk_v2, tid),
        offsetof(session_v2, number),      offsetof(session_v2, older),
        offsetof(session_v2, state),       offsetof(session_v2, first_thread),
        offsetof(session_v2, start),       offsetof(session_v2, later),
        offsetof(hb_record, start),        offsetof(hb_record, end),
        offsetof(hb_record, name),         offsetof(hb_record, type),
        offsetof(hb_record, flags),        offsetof(hb_record, units),
    };
    return h->chunk_bytes == HB_CHUNK_BYTES && h->chunk_header_bytes == sizeof(chunk_v2) &&
           h->session_bytes == sizeof(session_v2) && h->record_header_bytes == sizeof(hb_record) &&
           memcmp(h->places, places, sizeof places) == 0;
}

static void take_header(hb_spool_file *f, const header_v2 *h)
{
    f->head.process = (hb_process_id){.pid = h->pid};
    f->head.created_unix_ns = h->created_unix_ns;
    memcpy(f->head.host_name, h->host_name, sizeof f->head.host_name);
    memcpy(f->head.process_name, h->process_name, sizeof f->head.process_name);
    memcpy(f->head.worker_name, h->worker_name, sizeof f->head.worker_name);
}

hb_result hb_spool_v2_read(hb_spool_file *f)
{
    header_v2 h;
    if (!hb_spool_file_read(f, 0, &h, sizeof h))
        return hb_fail(HB_ERROR_FORMAT, "%s: %llu bytes are too few for a spool", f->path,
                       (unsigned long long)f->size);
    if (!is_known(&h))
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "%s: of other sizes; recover it with the build of hipboard that wrote it",
                       f->path);
    take_header(f, &h);
    uint64_t chunks = HB_MIN(f->size / HB_CHUNK_BYTES, (uint64_t)h.num_chunks);
    reader r = {.file = f, .num_chunks = (uint32_t)chunks};
    r.seen = calloc((size_t)chunks + 1, 1);
    bool ok = r.seen && read_strings(&r, h.first_strings) && read_sessions(&r, h.first_session);
    free(r.seen);
    return ok ? HB_OK : hb_no_memory();
}
