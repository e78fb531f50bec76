/* SPDX-License-Identifier: MIT
 *
 * Markdown that TensorBoard's Text tab and GitHub show alike.
 */
#ifndef HB_BASE_MARKDOWN_H
#define HB_BASE_MARKDOWN_H

#include "base/base.h"

/** Text that is shown as it is: what Markdown, HTML or GitHub would take for something else becomes
 * a character reference, control characters become blanks. */
void hb_markdown_text(hb_buf *out, const char *text);

/** A table's head; the first `num_left` columns are flush left, the others flush right. */
void hb_markdown_head(hb_buf *out, const char *const *titles, size_t num_titles, size_t num_left);

/** A row is its cells and then hb_markdown_end_row(). */
void hb_markdown_cell(hb_buf *out, const char *text);
/** Empty when the number is NaN. */
void hb_markdown_number(hb_buf *out, double number, int decimals);
void hb_markdown_end_row(hb_buf *out);

#endif
