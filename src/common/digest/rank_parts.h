/* SPDX-License-Identifier: MIT
 *
 * What a digest is made of, between gathering (rank_maker.c), its sums (rank_sums.c) and its bytes
 * (rank_bytes.c).
 */
#ifndef HB_DIGEST_RANK_PARTS_H
#define HB_DIGEST_RANK_PARTS_H

#include "digest/rank_digest.h"

enum { HB_RANK_OPERATORS = 24 }; /* that a digest keeps, those that cost most */

typedef struct hb_rank_span {
    int64_t start, end;
    hb_string_id name;
    uint32_t track;
    uint32_t comm; /* index + 1; 0: none */
    uint8_t role, witness;
    bool device, waits;
} hb_rank_span;

typedef struct hb_rank_call {
    int64_t start, end;
    int64_t wait_start, wait_end; /* of the call that it was complete in; 0: its own */
    int64_t sequence, bytes, group_size;
    int64_t peer, tag;
    hb_string_id operation, group, description, members;
    uint32_t track;
    uint8_t witness;
    bool is_message, sends, async, left_out, open;
    bool receives_too; /* in one call: a second message */
    int64_t source;
} hb_rank_call;

typedef struct hb_rank_step_times {
    int64_t number, start, end;
    int64_t role[HB_ROLE_PARTS];
} hb_rank_step_times;

typedef struct hb_rank_operator {
    hb_string_id name;
    bool device;
    uint64_t calls;
    int64_t self, total;
} hb_rank_operator;

typedef struct hb_rank_arrow {
    uint64_t id;
    int64_t ns;
    uint32_t track;
    bool begins;
} hb_rank_arrow;

/* What a rank was in when the recording ended. */
typedef struct hb_rank_open {
    hb_string_id name, group, description;
    int64_t sequence, start;
} hb_rank_open;

struct hb_rank_maker {
    hb_arena arena;
    hb_texts texts;
    bool failed;
    HB_VEC(hb_rank_span) spans; /* without steps */
    HB_VEC(hb_rank_call) calls;
    HB_VEC(hb_rank_step_times) steps;
    HB_VEC(hb_rank_arrow) arrows;
    HB_VEC(hb_rank_operator) operators;
    HB_VEC(hb_rank_open) open;
    int64_t whole[HB_ROLE_PARTS]; /* of the steps, or of all where there are none */
    int64_t first, last;          /* of all events, or of MPI's time where there are no steps */
    int64_t begun, ended;         /* when MPI had begun, and began to end */
    hb_buf body, block; /* bytes on their way; here, so that leaving the arena frees them */
};

/** Fills in the steps' roles, the whole's and the operators. May leave the arena. */
void hb_rank_sum(hb_rank_maker *maker);
/** Gives each communication that was begun the times of the call that it was complete in. */
void hb_rank_follow_arrows(hb_rank_maker *maker);

void hb_rank_put(hb_rank_maker *maker, const hb_rank_origin *origin, hb_buf *out);

#endif
