/* SPDX-License-Identifier: MIT
 *
 * What a rank's part in a job was during one cycle, in some kilobytes: its steps and where their
 * time went, each collective and message with when it was entered and left, what its operators
 * took. Made of events in any order, by whoever has them; plugin_format/hbranks.md has the bytes.
 */
#ifndef HB_DIGEST_RANK_DIGEST_H
#define HB_DIGEST_RANK_DIGEST_H

#include "base/arena.h"
#include "base/hash_map.h"
#include "base/string_table.h"
#include "rules/step_roles.h"

#define HB_RANK_FILE_MAGIC  "hbranks\n"
#define HB_RANK_FILE_SUFFIX ".hbranks"
enum {
    HB_RANK_FILE_VERSION = 2,
    HB_RANK_FILE_HEAD = 16,
    HB_RANK_RECORD_HEAD = 8, /* then the stamp, then the digest */
    HB_RANK_STAMP = 16
};

/** What is known of a communication; texts are borrowed until the call returns. */
typedef struct hb_rank_comm {
    hb_str operation;                   /* torch's word: "allreduce", "send" */
    hb_str group, description, members; /* members as torch lists them: "[0, 1]" */
    int64_t sequence;                   /* in its group, from 1; 0: not told */
    int64_t in, out, bytes;             /* elements, -1: not told; bytes: -1 */
    int64_t group_size;                 /* 0: not told */
    int64_t source, dest, tag;          /* ranks of the job, -1: none */
    bool async;
} hb_rank_comm;

/** Where a communication was seen. Of several that tell of the same one is kept. */
typedef enum hb_rank_witness {
    HB_RANK_NO_COMM,
    HB_RANK_ANNOTATION, /* a scope by a name that says so: "gloo:all_reduce" */
    HB_RANK_CALL,       /* a call of the host, with its keys */
    HB_RANK_ENQUEUE,    /* a call of the host that starts a kernel, which is the communication */
    HB_RANK_KERNEL,
} hb_rank_witness;

typedef struct hb_rank_event {
    hb_role role; /* HB_ROLE_TOTAL: a step, whose number stands in `name` */
    hb_rank_witness witness;
    bool open;      /* it had not ended when the recording did */
    bool waits;     /* the host, for communications that were begun before */
    bool device;    /* `track` is a stream's */
    uint32_t track; /* numbers of the caller's choice, host and devices apart */
    hb_str name;    /* borrowed until the call returns */
    int64_t start, end;
    const hb_rank_comm *comm; /* NULL: only its name and times are known */
} hb_rank_event;

/** Who it was. Texts are borrowed. Times are added to `base_ns`. */
typedef struct hb_rank_origin {
    const char *host, *worker, *file, *backend; /* "": not known */
    int64_t rank, world, pid;                   /* -1: not known */
    int64_t base_ns;
    uint64_t lost;                           /* records that the writer says it dropped */
    int clock_method;                        /* enum hb_rank_clock */
    int64_t clock_offset_ns, clock_bound_ns; /* that were added to this rank's times */
} hb_rank_origin;

enum hb_rank_clock {
    HB_RANK_CLOCK_UNKNOWN, /* as it was written */
    HB_RANK_CLOCK_SHARED,  /* the same as the reference's */
    HB_RANK_CLOCK_MEASURED,
};

typedef struct hb_rank_maker hb_rank_maker;

/** NULL without memory. */
hb_rank_maker *hb_rank_maker_new(void);
void hb_rank_maker_free(hb_rank_maker *maker);

/** False without memory: then and from then on. */
bool hb_rank_maker_add(hb_rank_maker *maker, const hb_rank_event *event);
/** An end of an arrow from where a communication began to where it was complete. */
bool hb_rank_maker_flow(hb_rank_maker *maker, uint32_t track, int64_t ns, uint64_t id, bool begins);

/** Appends the digest to `out`. */
hb_result hb_rank_maker_write(hb_rank_maker *maker, const hb_rank_origin *origin, hb_buf *out);

/** The trace's file when its digest was made; zeros: not known. */
typedef struct hb_rank_stamp {
    uint64_t size;
    int64_t changed_ns; /* its st_mtim */
} hb_rank_stamp;

/** Appends a file's head; a digest as a record of such a file, with its length and checksum. */
void hb_rank_file_head(hb_buf *out);
void hb_rank_file_record(hb_buf *out, hb_rank_stamp stamp, const void *digest, size_t size);

#endif
