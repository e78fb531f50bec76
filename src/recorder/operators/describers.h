/* SPDX-License-Identifier: MIT
 *
 * Libraries whose calls take opaque descriptors are asked what these are: by their own functions.
 */
#ifndef HB_OPERATORS_DESCRIBERS_H
#define HB_OPERATORS_DESCRIBERS_H

#include "ops/op_call.h"

enum { HB_DNNL_KINDS = 32 };

/** The functions of one library that answer; NULL of those that it has not. */
typedef struct hb_describers {
    int (*layout_attribute)(uint64_t layout, int which, void *to, size_t size, size_t *got);
    int (*tensor_size)(uint64_t descriptor, int *dims);
    int (*tensor)(uint64_t descriptor, int *type, int *dims, int *strides);
    int (*primitive_desc)(uint64_t primitive, const void **desc);
    const void *(*query_md)(const void *desc, int what, int index);
    int (*query)(const void *desc, int what, int index, void *to);
    int (*query_of_md)(const void *md, int what, void *to); /* of oneDNN 3 */
    int (*comm_size)(uint64_t comm, int *ranks);
    int (*comm_rank)(uint64_t comm, int *rank);
    const char *(*comm_error)(int result);
    int (*comm_version)(int *version);
} hb_describers;

/** Whether a row asks anybody. */
bool hb_describers_wanted(const hb_op_entry *row);

/** Those of the library that `function` is of. The loader is asked: not where it may be locked. */
void hb_describers_find(hb_describers *d, const void *function);

/** For hb_op_outside: `context` is a hb_describers. */
void hb_describe_outside(void *context, enum hb_op_describer who, uint64_t handle,
                         hb_op_tensor *tensor);
double hb_describe_work(void *context, uint64_t handle);

/** Which kind of oneDNN's primitives one is, by the library's number below HB_DNNL_KINDS, or 0;
 * and what that is called. */
int hb_dnnl_kind(const hb_describers *d, uint64_t primitive);
const char *hb_dnnl_kind_name(const hb_describers *d, int kind);

#endif
