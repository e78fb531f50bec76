/* SPDX-License-Identifier: MIT
 *
 * Quantities and verdicts in words, for all texts of a comparison.
 */
#ifndef HB_DOC_PHRASES_H
#define HB_DOC_PHRASES_H

#include <hipboard/compare.h>

#include "base/base.h"

/** "2.531 ms", "1.500 MiB", "82.1 %", "6"; four digits, in the unit that fits. */
void hb_put_quantity(hb_buf *buf, double value, hb_unit unit);
/** The same with a sign; of ratios in percentage points. */
void hb_put_change(hb_buf *buf, double change, hb_unit unit);
/** "+48.2 %" of `before`; "" when that is 0 or nothing changed from it. */
void hb_put_percent(hb_buf *buf, double before, double change);

const char *hb_verdict_words(hb_verdict verdict);
/** For JSON. */
const char *hb_verdict_key(hb_verdict verdict);
const char *hb_unit_key(hb_unit unit);

#endif
