/* SPDX-License-Identifier: MIT
 *
 * What a table's row says of one call: no memory is taken, no lock, no system call but for rows
 * that are read with care.
 */
#ifndef HB_OPS_OP_CALL_H
#define HB_OPS_OP_CALL_H

#include "ops/op_table.h"

typedef struct hb_op_tensor {
    bool known, hidden;
    bool has_strides;
    uint8_t num_dims;
    hb_dtype type;
    int64_t dims[HB_OP_MAX_DIMS], strides[HB_OP_MAX_DIMS];
} hb_op_tensor;

typedef struct hb_op_description {
    uint32_t num_tensors;
    double flops; /* 0: unknown */
    hb_op_tensor tensors[HB_OP_MAX_INPUTS];
} hb_op_description;

/** Who knows more than the table: fills in what `handle` is, or leaves it unknown. The last two may
 * be NULL. */
typedef struct hb_op_outside {
    void (*describe)(void *context, enum hb_op_describer who, uint64_t handle,
                     hb_op_tensor *tensor);
    /** FLOPs; 0: unknown. */
    double (*work)(void *context, uint64_t handle);
    /** How many a communicator has; 0: unknown. */
    double (*ranks)(void *context, uint64_t handle);
    void *context;
} hb_op_outside;

/** A parameter as a whole number; 0 of what can't be read. `words`: integer registers, then the
 * stack. */
int64_t hb_op_value(const hb_op_entry *row, const uint64_t *words, int param);

/** The word at `address`, of `bytes` (4 or 8); false where there is none. */
bool hb_op_peek(const hb_op_entry *row, uint64_t address, void *to, size_t bytes);

/** `outside` may be NULL. Inputs that make no sense are unknown. */
void hb_op_describe(const hb_op_entry *row, const uint64_t *words, const hb_op_outside *outside,
                    hb_op_description *d);

/** What the formula for the call's work, or bytes, comes to without its inputs; 0 of none. */
double hb_op_work(const hb_op_entry *row, const uint64_t *words);

/** Whether the call's work is known to be less than the row's least, so that it is only counted;
 * `flops` is how much it is then. */
bool hb_op_is_small(const hb_op_entry *row, const uint64_t *words, double *flops);

#endif
