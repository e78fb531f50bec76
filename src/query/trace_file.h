/* SPDX-License-Identifier: MIT
 *
 * What a public handle of a trace holds, for those who fill one.
 */
#ifndef HB_QUERY_TRACE_FILE_H
#define HB_QUERY_TRACE_FILE_H

#include <hipboard/analysis.h>
#include <locale.h>

#include "trace/trace.h"

/** Copies a caller's options, of whatever age, over the defaults in `to`; `init` is the macro that
 * fills in struct_size, the first member. NULL is fine. */
hb_result hb_options_take(const void *from, void *to, size_t size, const char *init);

/** One with an empty trace, to be filled; NULL without memory. */
hb_trace_file *hb_trace_file_new(void);
hb_trace *hb_trace_file_trace(hb_trace_file *file);

/** From now on the file is closed with them. */
void hb_key_averages_own(hb_key_averages *averages, hb_trace_file *file);

/** Numbers are read and written with a point, whatever the program's locale; for this thread, until
 * hb_leave_c_locale(). */
locale_t hb_enter_c_locale(void);
void hb_leave_c_locale(locale_t before);

#endif
