/* SPDX-License-Identifier: MIT
 *
 * Calls that move data between GPUs, of which rocprofiler-sdk tells: as those that are interposed,
 * by the same rows. A call is told of once: within one that is interposed nothing is heard, and
 * functions that are reported are interposed no more.
 */
#ifndef HB_OPERATORS_REPORTED_OPERATORS_H
#define HB_OPERATORS_REPORTED_OPERATORS_H

/** Again it does nothing. */
void hb_reported_operators_listen(void);

#endif
