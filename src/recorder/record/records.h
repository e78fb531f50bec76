/* SPDX-License-Identifier: MIT
 *
 * Where a session's records are: for each thread its parts, each what one chunk held, in order.
 */
#ifndef HB_RECORD_RECORDS_H
#define HB_RECORD_RECORDS_H

#include "base/vector.h"
#include "record/format.h"

enum hb_part_place {
    HB_PART_CHUNK,  /* a hot chunk, by its index */
    HB_PART_FILE,   /* at an offset of the spool's file */
    HB_PART_MEMORY, /* coded, from malloc */
};

typedef struct hb_part {
    uint32_t sequence;
    uint32_t types; /* 0: unknown */
    uint32_t raw_bytes, coded_bytes;
    uint64_t first_id;
    uint64_t first_tick, last_tick; /* 0 while types are unknown */
    uint8_t place, codec;           /* enum hb_part_place, enum hb_codec */
    uint32_t crc;                   /* of the coded bytes, in recovered files */
    union {
        uint32_t chunk;
        uint64_t offset;
        unsigned char *coded;
    };
} hb_part;

typedef struct hb_thread_records {
    uint32_t number; /* hb_thread_number() */
    int64_t tid;
    HB_VEC(hb_part) parts; /* by sequence */
    char name[32];
} hb_thread_records;

typedef struct hb_records {
    uint32_t session;                  /* number */
    HB_VEC(hb_thread_records) threads; /* by number */
    uint32_t *order;                   /* of their first records: indices; see hb_records_close() */
    uint64_t bytes;                    /* of the parts, coded */
    uint64_t kept_from;                /* of a ring: what ended before goes; ticks */
    struct hb_session *ring; /* its table entry if it goes on (HB_SESSION_RING); or NULL */
    uint32_t snapshots;      /* that are being read: nothing is dropped meanwhile */
    struct hb_records *next; /* the owner's list */
} hb_records;

/** NULL without memory. */
hb_records *hb_records_new(uint32_t session);
/** Frees it with what lies in memory. */
void hb_records_free(hb_records *records);

/** NULL when it has none. */
hb_thread_records *hb_records_find_thread(const hb_records *records, uint32_t number);

/** Puts a part in its place. False when there is one of that sequence, or no memory (*had tells).
 */
bool hb_records_add(hb_records *records, const hb_events_info *info, const hb_part *part,
                    bool *had);

/** NULL when there is none. */
hb_part *hb_records_find(const hb_thread_records *thread, uint32_t sequence);

/** Another that says the same, without what lies in memory being its own. NULL without memory. */
hb_records *hb_records_copy(const hb_records *records);
void hb_records_free_copy(hb_records *copy);

/** No thread will be added any more: puts them in order. False without memory. */
bool hb_records_close(hb_records *records);

/** The threads of a closed session in the order of their first record. */
static inline hb_thread_records *hb_records_nth(const hb_records *records, uint32_t n)
{
    return &records->threads.items[records->order[n]];
}

#endif
