/* SPDX-License-Identifier: MIT
 *
 * rocprofv3's JSON: what its tables tell (rocprofv3_json.c) to who reads its records
 * (rocprofv3_records.c).
 */
#ifndef HB_IMPORT_ROCPROFV3_H
#define HB_IMPORT_ROCPROFV3_H

#include "import/id_index.h"
#include "import/import_set.h"
#include "import/json_cursor.h"

/* A kind of record: its category and the names of its calls. */
typedef struct hb_rocprofv3_kind {
    hb_string_id category;
    enum hb_import_part part;
    HB_VEC(hb_string_id) operations;
} hb_rocprofv3_kind;

typedef struct hb_rocprofv3_symbol {
    hb_string_id name;
    int64_t vgprs, agprs, sgprs; /* -1: not told */
} hb_rocprofv3_symbol;

/** A process's. */
typedef struct hb_rocprofv3 {
    hb_import *import;
    hb_arena *arena;
    hb_json_cursor c;
    char *text;
    hb_import_process *p;
    hb_id_index agents, symbols, markers, counters, dispatches;
    HB_VEC(int32_t) gpus; /* by agent; -1: no GPU */
    HB_VEC(hb_rocprofv3_symbol) symbol_list;
    HB_VEC(hb_rocprofv3_kind) kinds;
} hb_rocprofv3;

#define HB_EACH_MEMBER(c, key) \
    for (bool at_first_ = true; hb_json_next_member((c), &at_first_, &(key));)
#define HB_EACH_ELEMENT(c) for (bool first_ = true; hb_json_next_element((c), &first_);)

/** {"handle": 7} or 7; -1: not told. */
int64_t hb_rocprofv3_handle(hb_rocprofv3 *r);

void hb_rocprofv3_read_buffers(hb_rocprofv3 *r);
void hb_rocprofv3_read_callbacks(hb_rocprofv3 *r);

#endif
