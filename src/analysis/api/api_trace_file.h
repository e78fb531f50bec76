/* SPDX-License-Identifier: MIT
 *
 * What a public handle of a trace holds, for those who fill one.
 */
#ifndef HB_API_API_TRACE_FILE_H
#define HB_API_API_TRACE_FILE_H

#include <hipboard/analysis.h>

#include "base/c_locale.h"
#include "plugin/analysis.h"
#include "trace/trace.h"

/** Analysed at the first call; NULL when the plugin could not, which hb_last_error() tells. */
hb_analysis *hb_trace_file_analysis(hb_trace_file *file);
/** The same of its first part, hb_analysis_begin(): there are steps, their roles and the GPUs. */
const hb_analysis *hb_trace_file_first_part(hb_trace_file *file);
/** hb_trace_file_steps() of that. */
hb_result hb_trace_file_first_steps(hb_trace_file *file, const hb_step_stat **steps, size_t *count);
/** hb_step_summary_add() of that. */
hb_result hb_step_summary_add_first(hb_step_summary *summary, hb_trace_file *file, const char *run,
                                    const char *worker, const char *span);

/** Forms of memory over time. */
typedef enum hb_memory_form { HB_MEMORY_BY_TIME, HB_MEMORY_RAW, HB_MEMORY_PAGE } hb_memory_form;
hb_result hb_memory_text(hb_trace_file *file, const char *device, hb_memory_form form, hb_buf *to);

/** One with an empty trace, to be filled; NULL without memory. */
hb_trace_file *hb_trace_file_new(void);
hb_trace *hb_trace_file_trace(hb_trace_file *file);
/** Its steps are these, from malloc; nothing else is known of it. */
void hb_trace_file_tell_steps(hb_trace_file *file, hb_told_step *steps, uint32_t count);

/** HB_ERROR_UNSUPPORTED of a digest, which has none. */
hb_result hb_trace_file_need_events(const hb_trace_file *file);

/** Of memory: of the trace, and of what was analysed of it. */
uint64_t hb_trace_file_all_bytes(const hb_trace_file *file);

/** From now on the file is closed with them. */
void hb_key_averages_own(hb_key_averages *averages, hb_trace_file *file);

#endif
