/* SPDX-License-Identifier: MIT
 *
 * The text that torch.profiler's table() prints.
 */
#ifndef HB_TORCH_TABLE_TEXT_H
#define HB_TORCH_TABLE_TEXT_H

#include "torch/key_averages.h"

typedef struct hb_table_style {
    uint64_t row_limit;                        /* UINT64_MAX: all */
    uint32_t max_name, max_shapes, max_source; /* characters; UINT32_MAX: no limit */
    const char *header;                        /* NULL: none */
    const char *device;                        /* as torch names it in upper case: "CUDA" */
    const char *time_unit;                     /* "s", "ms", "us"; NULL: by size */
    bool top_level_only;
} hb_table_style;

void hb_report_table(const hb_fn_list *list, const hb_averages *averages,
                     const hb_table_style *style, hb_buf *to);

/** total_average() as Python prints it, and a newline. */
void hb_report_total(const hb_trace *trace, const hb_average *total, const hb_table_style *style,
                     hb_buf *to);

/* ---- how torch writes quantities ---- */
void hb_put_time(hb_buf *to, double us, const char *unit);
void hb_put_share(hb_buf *to, double part, double whole);
void hb_put_memory(hb_buf *to, double bytes);
/** "FLOPs" ... "PFLOPs", and what to multiply by. */
const char *hb_flops_unit(double smallest, double *scale);

#endif
