/* SPDX-License-Identifier: MIT
 *
 * What a cycle's numbers suggest, in sentences: the plugin's rules, as far as they are not about
 * PyTorch's own classes, in words for native programs, and some for AMD's GPUs.
 */
#ifndef HB_SUMMARY_CYCLE_FACTS_H
#define HB_SUMMARY_CYCLE_FACTS_H

#include "digest/digest.h"

typedef HB_VEC(const char *) hb_cycle_advice;

/** The sentences are the numbers' arena's. */
hb_cycle_advice hb_cycle_advise(hb_cycle_numbers *numbers, const hb_trace_info *info);

#endif
