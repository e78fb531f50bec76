/* SPDX-License-Identifier: MIT
 *
 * Calls of libraries as operators of a program that marks none: the functions that tables name are
 * interposed wherever a module imports them or asks dlsym() for them. What the tables say of a call
 * becomes the operator's inputs and FLOPs; the call itself goes on as it came.
 */
#ifndef HB_OPERATORS_LIBRARY_CALLS_H
#define HB_OPERATORS_LIBRARY_CALLS_H

#include "ops/op_table.h"

/** Reads tables and interposes what they name: paths between colons, of which "libraries" stands
 * for hipboard's own. For the rest of the process; again with the same ones it does nothing, with
 * others it adds them. Wrong lines are told on stderr and passed over. HB_ERROR_IO: a file can't be
 * read, HB_ERROR_NOT_FOUND: hipboard's own tables are not where they belong. */
hb_result hb_operators_attach(const char *tables);

/** What is attached; NULL: nothing. It stays as it is. */
const hb_op_table *hb_operators_table(void);

/** The operator of a function that is reported and need not be interposed; NULL: no table names it,
 * or it is not there. */
struct hb_operator *hb_operators_of(const char *symbol);

/** A session that wants operators begins: modules that were loaded since are looked at. */
void hb_operators_start(void);

/** Who is told of functions that are steps, as hb_profiler_options.on_operator_step; NULL: nobody.
 */
void hb_operators_tell_steps(bool (*fn)(int64_t number));

/** Who is told of steps that are seen in what the program launches, where no table names any: as
 * hb_profiler_options.on_operator_step; NULL: nobody. */
void hb_operators_pace(bool (*tell)(int64_t number));

/** It ends: what it has to say of its operators becomes metadata. */
void hb_operators_stop(void);

#endif
