/* SPDX-License-Identifier: MIT
 *
 * Some ranks of a job, as --ranks names them: "0,8-15", "every:64", "node:0".
 */
#ifndef HB_TOOLS_RANK_LIST_H
#define HB_TOOLS_RANK_LIST_H

#include <stdbool.h>

#include <hipboard/hipboard.h>

#define RANK_LIST_EXPECTED "expected ranks as 0,8-15, every:64 or node:0"

/** Whether `text` is such a list. */
bool rank_list_is_valid(const char *text);

/** Whether the process is of a rank that a valid list names. */
bool rank_list_has(const char *text, const hb_launch_info *process);

#endif
