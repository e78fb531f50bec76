/* SPDX-License-Identifier: MIT
 *
 * What a session's trace says of its operators in words: what was only counted, and what is not
 * there.
 */
#ifndef HB_OPERATORS_OPERATOR_NOTES_H
#define HB_OPERATORS_OPERATOR_NOTES_H

#include "operators/operator_calls.h"

#define HB_METADATA_OPERATORS "hipboard_operators" /* functions that were interposed */
#define HB_METADATA_OPERATORS_SMALL \
    "hipboard_operators_small"                               /* {"cblas_sdot": {"calls": 3, ...}} */
#define HB_METADATA_OPERATOR_NOTES "hipboard_operator_notes" /* texts */

void hb_operator_notes_put(const hb_op_table *table, hb_operator *operators, uint32_t unclear,
                           uint32_t no_room, uint32_t given_as_they_are);

#endif
