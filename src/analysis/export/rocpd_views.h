/* SPDX-License-Identifier: MIT
 *
 * Views over the tables of all processes of a rocpd, by the names that queries know.
 */
#ifndef HB_EXPORT_ROCPD_VIEWS_H
#define HB_EXPORT_ROCPD_VIEWS_H

#include <sqlite3.h>

/** Makes them of the tables that are there; SQLite's result. */
int hb_rocpd_create_views(sqlite3 *db);

#endif
