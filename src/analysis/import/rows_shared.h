/* SPDX-License-Identifier: MIT
 *
 * What holds for several tools of AMD: how they count grids, name copies and group calls.
 */
#ifndef HB_IMPORT_ROWS_SHARED_H
#define HB_IMPORT_ROWS_SHARED_H

#include "import/import_set.h"

/** The grid of `items` work-items in blocks of `threads`, rounded up. Not known of empty blocks. */
void hb_import_set_grid(hb_import_launch *launch, const uint64_t items[3],
                        const uint64_t threads[3]);

/** What was copied or filled between GPUs; -1 is the host. */
void hb_import_set_copy(hb_import_launch *launch, int32_t from, int32_t to, uint64_t bytes,
                        bool fills);

/** The same by its name alone, as "CopyHostToDevice" or "FillBuffer"; it keeps its bytes. */
void hb_import_set_named_copy(hb_import_launch *launch, hb_str name, int32_t gpu);

/** Queue and stream -1: not told. */
uint32_t hb_import_lane_at(hb_arena *arena, hb_import_rows *rows, int32_t gpu, int64_t queue,
                           int64_t stream);

/** Adds to a counter's value of a kernel: instances are summed. */
void hb_import_add_value(hb_arena *arena, hb_import_rows *rows, hb_import_work *work,
                         hb_string_id name, double value);

/** Gives a kernel a counter's value, unless it has one of that counter. */
void hb_import_complete_values(hb_arena *arena, hb_import_rows *rows, hb_import_work *work,
                               const hb_import_value *value);

/** Makes numbers that count processors, too, into GPUs' numbers: those on which work ran, in their
 * order. Memory of others is the host's. */
void hb_import_number_gpus(hb_arena *arena, hb_import_rows *rows);

/** By a category's name, as "HIP_RUNTIME_API_EXT" or "rocm_hip_api". */
enum hb_import_part hb_import_part_of(hb_str category);

/** Whether a text has `upper` in it, in whatever case. */
bool hb_import_has_word(hb_str text, const char *upper);

/** Notes a call's argument by its name, as "sizeBytes". The type may be empty; what follows the
 * value is no part of a number. */
void hb_import_take_arg(hb_import_call_args *args, hb_str type, hb_str name, hb_str value);

/** The arguments as an item of the rows' call_args. */
uint32_t hb_import_add_args(hb_arena *arena, hb_import_rows *rows, hb_import_call_args *args);

/** A call that the compiler puts around each launch, or that asks for the last error. */
bool hb_import_is_minor(hb_str call);

#endif
