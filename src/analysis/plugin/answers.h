/* SPDX-License-Identifier: MIT
 *
 * The order of rows: by a value, descending; equal ones stay in order.
 */
#ifndef HB_PLUGIN_ANSWERS_H
#define HB_PLUGIN_ANSWERS_H

#include "base/base.h"

typedef struct hb_ranked {
    double value;
    uint32_t index; /* of what was to be ordered */
} hb_ranked;

void hb_rank(hb_ranked *list, uint32_t count);

#endif
