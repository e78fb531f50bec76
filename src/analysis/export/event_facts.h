/* SPDX-License-Identifier: MIT
 *
 * What the formats of rocprofv3 have in common: how they call what our events are.
 */
#ifndef HB_EXPORT_EVENT_FACTS_H
#define HB_EXPORT_EVENT_FACTS_H

#include "trace/source.h"

/** "HIP_RUNTIME_API" and its like, by the call's name. */
const char *hb_call_domain(hb_str name);

/** "MEMORY_COPY_HOST_TO_DEVICE" and its like. */
const char *hb_copy_direction_name(const hb_copy_args *copy);

/** Whether a copy's one end is the host. */
bool hb_copies_from_host(const hb_copy_args *copy);
bool hb_copies_to_host(const hb_copy_args *copy);

/** Queue and stream of device work; -1: not known. */
int64_t hb_queue_of(const hb_trace_event *work);
int64_t hb_stream_of(const hb_trace_event *work);

/** The counter in an arg of device work; false: it is none. */
bool hb_counter_in(const hb_arg *arg, double *value);

/** Whether a scope is hipboard's own, made where the program marks nothing. */
bool hb_is_made_up(const hb_trace_event *scope);

/** Whether all GPUs are described, with numbers from 0 on. */
bool hb_gpus_are_described(const hb_trace_info *info);

/** Gives a file the time of what it tells, which its readers take for when that ended. */
void hb_set_file_time(const char *path, int64_t ns);

#endif
