/* SPDX-License-Identifier: MIT
 *
 * Steps of many traces on one screen: all together, the ranks that stand out, the slowest.
 */
#ifndef HB_TOOLS_STEP_TABLES_H
#define HB_TOOLS_STEP_TABLES_H

#include <hipboard/analysis.h>

#include "table.h"

/** `style->top`: of the longer tables. Prints nothing where there are no steps. */
hb_result print_step_tables(hb_step_summary *summary, const table_style *style);

#endif
