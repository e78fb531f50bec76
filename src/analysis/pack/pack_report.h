/* SPDX-License-Identifier: MIT
 *
 * What packing and unpacking tell, as it comes together.
 */
#ifndef HB_PACK_PACK_REPORT_H
#define HB_PACK_PACK_REPORT_H

#include <hipboard/pack.h>

#include "base/string_table.h"
#include "pack/redactor.h"

typedef struct hb_report_builder {
    hb_pack_report public;
    hb_texts texts; /* hold what the report points to */
    HB_VEC(hb_pack_member) members;
    hb_redaction *redactions;
    bool failed; /* out of memory */
} hb_report_builder;

/** NULL without memory. */
hb_report_builder *hb_report_new(void);

/** `name` NULL: left out, for `left_out`. */
void hb_report_add(hb_report_builder *report, const hb_pack_member *member);
void hb_report_add_redactions(hb_report_builder *report, const hb_redactor *redactor);

/** Hands it out when `result` is HB_OK and somebody wants it, else frees it. */
hb_result hb_report_end(hb_report_builder *report, hb_result result, hb_pack_report **out);

#endif
