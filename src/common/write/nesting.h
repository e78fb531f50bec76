/* SPDX-License-Identifier: MIT
 *
 * Which scopes may stand in the plugin's tree of calls. The plugin builds one tree a thread from
 * operators, steps and module frames; it drops what crosses its parent's end, with everything
 * inside left to the grandparent, and never finishes loading when the tree is too deep to be
 * pickled.
 */
#ifndef HB_WRITE_NESTING_H
#define HB_WRITE_NESTING_H

#include "base/base.h"
#include "base/hash_map.h"

/* Module frames and scopes come in different passes but share a tree, so that each has its part of
 * the depth. The plugin was seen to survive 190 nodes and to hang at 200; inside TensorBoard and
 * with other Python versions it may be less. */
enum {
    HB_NEST_SCOPES = 110,
    HB_NEST_MODULES = 40,
    HB_NEST_MAX = HB_NEST_SCOPES,
};

typedef enum hb_nest_place {
    HB_NEST_INSIDE,
    HB_NEST_TOO_DEEP,
    HB_NEST_CROSSING, /* ends after the scope it began in */
} hb_nest_place;

/** The open scopes of one thread; all zero is none. */
typedef struct hb_nest {
    int64_t tid;
    unsigned depth;
    int64_t ends[HB_NEST_MAX];
    uint64_t ids[HB_NEST_MAX];
} hb_nest;

/** Where the scope `id`, [start, end], stands. Scopes come in order of start, parents first. */
hb_nest_place hb_nest_enter(hb_nest *nest, unsigned limit, int64_t start, int64_t end, uint64_t id);

/** The innermost scope inside the tree that is open at `start`; 0 when there is none. */
uint64_t hb_nest_around(hb_nest *nest, int64_t start);

/** A nest for each thread, for passes that mix threads. */
typedef struct hb_nests {
    HB_VEC(hb_nest) list;
    size_t last;
    hb_dict by_tid; /* places in the list */
} hb_nests;

/** The nest of `tid`; NULL when out of memory. */
hb_nest *hb_nests_of(hb_nests *nests, int64_t tid);
void hb_nests_free(hb_nests *nests);

#endif
