/* SPDX-License-Identifier: MIT
 *
 * What is known of plans, layouts and other objects of libraries, by their addresses: told by the
 * call that made them, asked for by those that use them. Any thread; no locks.
 */
#ifndef HB_OPERATORS_PLANS_H
#define HB_OPERATORS_PLANS_H

#include "ops/op_call.h"

/** Of an object that is there already, this takes its place. Without memory it stays unknown. */
void hb_plan_remember(uint64_t object, const hb_op_description *description);
/** An object that is none any more: another may get its address. */
void hb_plan_forget(uint64_t object);
/** False: nothing is known of it. */
bool hb_plan_recall(uint64_t object, hb_op_description *description);

#endif
