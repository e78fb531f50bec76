/* SPDX-License-Identifier: MIT
 *
 * What a report shows, whatever it looks like.
 */
#ifndef HB_COMPARE_COMPARE_TEXT_H
#define HB_COMPARE_COMPARE_TEXT_H

#include "compare/comparison.h"

/** A row and the run that it is about. */
typedef struct hb_shown {
    const hb_compare_run *run;
    hb_difference *row;
} hb_shown;

typedef struct hb_shown_list {
    HB_VEC(hb_shown) rows;
    size_t left_out;  /* over the report's `top` */
    size_t unchanged; /* ... and what people need not read */
} hb_shown_list;

/** The rows of all runs but the baseline: of steps metric by metric, of all else by effect. Within
 * hb_arena_try(arena). */
void hb_shown_select(hb_comparison *c, hb_arena *arena, const hb_compare_report *report,
                     hb_compare_by by, hb_compare_group group, hb_shown_list *list);

/** The nodes of the call tree that changed most by themselves, of those that the report wants, and
 * what lies above them: marks them in `wanted`. */
void hb_tree_select(hb_arena *arena, const hb_compare_report *report,
                    const hb_tree_difference *nodes, size_t count, bool *wanted);

/** For a terminal or as Markdown. */
void hb_report_print(hb_comparison *c, hb_arena *arena, const hb_compare_report *report,
                     hb_buf *buf);
void hb_report_json(hb_comparison *c, hb_arena *arena, const hb_compare_report *report,
                    hb_buf *buf);

#endif
