/* SPDX-License-Identifier: MIT
 *
 * Packets of Perfetto's protobuf, as hipboard writes them: messages into a buffer, and rows, each a
 * sequence of packets.
 */
#ifndef HB_WRITE_PFTRACE_PACKETS_H
#define HB_WRITE_PFTRACE_PACKETS_H

#include "base/bytes.h"
#include "base/hash_map.h"
#include "base/string_table.h"
#include "io/out.h"

/** A message that is being made; what does not fit is left out as a whole. */
typedef struct hb_message {
    char *at, *end;
    bool full;
} hb_message;

#define HB_MESSAGE_IN(buffer)                           \
    {                                                   \
        (buffer), (buffer) + sizeof(buffer) - 32, false \
    }

static inline void hb_message_varint(hb_message *m, uint64_t value)
{
    if (m->at >= m->end) {
        m->full = true;
        return;
    }
    m->at = (char *)hb_varint_put((unsigned char *)m->at, value);
}

static inline void hb_message_number(hb_message *m, uint32_t field, uint64_t value)
{
    hb_message_varint(m, (uint64_t)field << 3);
    hb_message_varint(m, value);
}

static inline void hb_message_fixed(hb_message *m, uint32_t field, uint64_t value)
{
    hb_message_varint(m, (uint64_t)field << 3 | 1);
    for (int i = 0; !m->full && i < 8; i++)
        *m->at++ = (char)(value >> (8 * i));
}

static inline void hb_message_bytes(hb_message *m, uint32_t field, const void *bytes, size_t size)
{
    hb_message_varint(m, (uint64_t)field << 3 | 2);
    hb_message_varint(m, size);
    if (m->full || (size_t)(m->end - m->at) < size) {
        m->full = true;
        return;
    }
    memcpy(m->at, bytes, size);
    m->at += size;
}

static inline void hb_message_inside(hb_message *m, uint32_t field, const char *buffer,
                                     const hb_message *inner)
{
    m->full |= inner->full;
    hb_message_bytes(m, field, buffer, (size_t)(inner->at - buffer));
}

/** What event types are called. */
enum { HB_PF_BEGIN = 1, HB_PF_END, HB_PF_INSTANT, HB_PF_COUNTER };

/** A row, and its sequence's state. */
enum { HB_PF_RECENT = 32 };
typedef struct hb_pf_row {
    uint64_t uuid;
    uint32_t sequence;
    int64_t clock;       /* of its last packet */
    uint64_t cleared_at; /* byte of the file at which its tables were empty */
    bool open;           /* its state was written */
    hb_dict names;       /* of texts to numbers */
    uint32_t num_names;
    struct {
        uint64_t key;
        uint64_t number;    /* 0: none */
    } recent[HB_PF_RECENT]; /* of these, found at once */
} hb_pf_row;

typedef struct hb_pf_file {
    hb_out out;
    hb_arena *arena;
    hb_texts texts; /* of names and of args' names */
    hb_dict keys;   /* name_key to text */
    uint32_t num_rows;
    uint64_t bytes;
} hb_pf_file;

/** A row's description: `parent` 0: none. `inside`: further fields of the descriptor, or NULL. */
void hb_pf_describe(hb_pf_file *f, uint64_t uuid, uint64_t parent, hb_str name,
                    const hb_message *inside, const char *buffer);

/** A new row's state; `uuid` is described apart. */
hb_pf_row hb_pf_new_row(hb_pf_file *f, uint64_t uuid);

/** The number of a text in the row's table, which is written where it is not yet. `table`: the
 * field of InternedData. */
enum { HB_PF_CATEGORIES = 1, HB_PF_NAMES = 2, HB_PF_ARGS = 3, HB_PF_STRINGS = 29 };
uint64_t hb_pf_intern(hb_pf_file *f, hb_pf_row *row, uint32_t table, hb_string_id text);

hb_string_id hb_pf_text(hb_pf_file *f, hb_str text);

/** Prepares for an event at `time`, which is none before the row's last: numbers of texts that were
 * given before hold no longer. */
void hb_pf_ready(hb_pf_file *f, hb_pf_row *row, int64_t time);

/** An event: `event` is the rest of the message. */
void hb_pf_event(hb_pf_file *f, hb_pf_row *row, int64_t time, const char *event,
                 const hb_message *message);

#endif
