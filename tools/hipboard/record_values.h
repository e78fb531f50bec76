/* SPDX-License-Identifier: MIT
 *
 * Values of `hipboard record`'s options: each function reads one, and returns NULL or what is wrong
 * with it; see options.h.
 */
#ifndef HB_TOOLS_RECORD_VALUES_H
#define HB_TOOLS_RECORD_VALUES_H

#include <stdbool.h>

/** Into an unsigned of enum hb_activity; an int64_t; hb_schedule_params. */
const char *take_activities(void *to, const char *list);
const char *take_sampling(void *to, const char *text);
const char *take_loop(void *to, const char *text);
const char *take_hz(void *to, const char *text);
const char *take_schedule(void *to, const char *text);
/** A signal's number into an int64_t; "2.5" times in percent, likewise. */
const char *take_signal(void *to, const char *text);
const char *take_times(void *to, const char *text);
/** Paths of tables, each behind a colon, which therefore can't be in them. */
typedef struct table_list {
    char paths[4096];
    bool no_libraries, no_communication, torch_names, loaders;
} table_list;
/** hb_profiler_options.operators of it, to be freed; NULL: none are wanted. */
char *list_tables(const table_list *list);
/** Adds one to a table_list: by its full path, since the program may be in another directory. */
const char *take_table(void *to, const char *path);
/** "native" or "torch": into a bool. */
const char *take_torch_names(void *to, const char *text);
/** A regular expression, as a JSON string: into a char *. */
const char *take_expression(void *to, const char *text);
/** Into ring_... of hb_profiler_options. */
const char *take_ring(void *to, const char *text);

#endif
