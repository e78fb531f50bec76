/* SPDX-License-Identifier: MIT
 *
 * Names as JSON strings. A program has few names and many events, so the escaped text is kept by
 * the source's name key.
 */
#ifndef HB_WRITE_JSON_NAMES_H
#define HB_WRITE_JSON_NAMES_H

#include "trace/event.h"

typedef struct hb_names hb_names;

/** `kineto`: the name "kernel" is written "Kernel", as Kineto does. NULL when out of memory. */
hb_names *hb_names_new(bool kineto);
void hb_names_free(hb_names *names);

/** The JSON string, quotes included, of `event`'s name; valid until the next call. */
hb_str hb_names_get(hb_names *names, const hb_trace_event *event);

/** hb_is_collective() of `event`'s name, which was got just before. */
bool hb_names_is_collective(hb_names *names, const hb_trace_event *event);

#endif
