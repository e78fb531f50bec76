/* SPDX-License-Identifier: MIT
 *
 * What rocprof (v1) says alike in its database and its JSON.
 */
#ifndef HB_IMPORT_ROCPROF1_H
#define HB_IMPORT_ROCPROF1_H

#include "import/import_set.h"

/** An event, of whatever table. */
typedef struct hb_rocprof1_event {
    int64_t start, end, pid, tid; /* of the program */
    int64_t device, queue, stream;
    uint64_t correlation; /* 0: none */
    hb_str name, args;
} hb_rocprof1_event;

typedef struct hb_rocprof1 {
    hb_import *import;
    HB_VEC(hb_import_process *) processes;
} hb_rocprof1;

/** NULL: it has no times, or is to be left out. */
hb_import_work *hb_rocprof1_add_work(hb_rocprof1 *r, const hb_rocprof1_event *e, bool copies);
hb_import_host *hb_rocprof1_add_host(hb_rocprof1 *r, const hb_rocprof1_event *e,
                                     enum hb_import_part part);
hb_import_process *hb_rocprof1_process(hb_rocprof1 *r, int64_t pid);

/** All was read. */
void hb_rocprof1_finish(hb_rocprof1 *r);

#endif
