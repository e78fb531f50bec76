/* SPDX-License-Identifier: MIT */
#include "plugin/answers.h"

#include <stdlib.h>

static int by_value(const void *x, const void *y)
{
    const hb_ranked *m = x, *n = y;
    if (m->value != n->value) return m->value < n->value ? 1 : -1;
    return m->index < n->index ? -1 : 1;
}

void hb_rank(hb_ranked *list, uint32_t count)
{
    if (count) qsort(list, count, sizeof *list, by_value);
}
