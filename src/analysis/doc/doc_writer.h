/* SPDX-License-Identifier: MIT
 *
 * What a report is written on: the same headings, lines and tables for a terminal or as Markdown.
 */
#ifndef HB_DOC_DOC_WRITER_H
#define HB_DOC_DOC_WRITER_H

#include "base/arena.h"

typedef struct hb_doc {
    hb_buf *buf;
    bool markdown, color;
} hb_doc;

typedef enum hb_tone { HB_TONE_PLAIN, HB_TONE_WORSE, HB_TONE_BETTER } hb_tone;

typedef struct hb_grid_cell {
    const char *text;
    hb_tone tone;
} hb_grid_cell;

/** A table. The last column is left-aligned and may be long; Markdown shows it first. */
typedef struct hb_grid {
    const char *const *heads;
    uint32_t columns;
    uint32_t left;              /* columns before the last that are left-aligned: a set of bits */
    uint32_t terminal_only;     /* columns that Markdown leaves out: a set of bits */
    HB_VEC(hb_grid_cell) cells; /* row after row */
} hb_grid;

void hb_doc_heading(hb_doc *doc, const char *text);
/** A paragraph, or a line of a list. */
void hb_doc_line(hb_doc *doc, hb_tone tone, const char *text);
void hb_doc_item(hb_doc *doc, hb_tone tone, const char *text);
void hb_doc_grid(hb_doc *doc, hb_arena *arena, const hb_grid *grid);

#endif
