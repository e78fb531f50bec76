/* SPDX-License-Identifier: MIT
 *
 * Where hipboard's own tables lie.
 */
#ifndef HB_OPERATORS_SHARED_TABLES_H
#define HB_OPERATORS_SHARED_TABLES_H

#include "ops/op_table.h"

/** Reads hipboard's own tables. HB_ERROR_NOT_FOUND with the folders that were looked at. */
hb_result hb_shared_tables_read(hb_op_table *table, hb_op_error_fn error, void *context);

#endif
