/* SPDX-License-Identifier: MIT
 *
 * Where a trace is cut into files: by what a file may hold, by so many steps, at times.
 */
#ifndef HB_TRACE_CUTS_H
#define HB_TRACE_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The larger, the rather a file too large is cut there. */
typedef enum hb_cut_kind {
    HB_CUT_ANYWHERE,
    HB_CUT_PAUSE, /* nothing is open there on the host */
    HB_CUT_STEP,  /* a step begins */
    HB_CUT_TIME,  /* cut in any case */
} hb_cut_kind;

/** A place where a file may begin, and what lies between it and the next one. */
typedef struct hb_cut_place {
    double at;
    uint64_t size;
    hb_cut_kind kind;
} hb_cut_place;

typedef struct hb_cut_rule {
    uint64_t max_size; /* of a file; 0: no limit */
    uint64_t common;   /* of it what each file holds */
    uint64_t steps;    /* 0: any number */
} hb_cut_rule;

/** Sorts them by time. */
void hb_sort_cut_places(hb_cut_place *places, size_t count);

/** The last place that is not after `when`; the first one where all are. */
size_t hb_cut_place_of(const hb_cut_place *places, size_t count, double when);

/** Of the file that begins at places[begin]: where the next one begins; `count`: nowhere. A stretch
 * between two places is never divided. */
size_t hb_next_cut(const hb_cut_place *places, size_t count, size_t begin, const hb_cut_rule *rule);

#endif
