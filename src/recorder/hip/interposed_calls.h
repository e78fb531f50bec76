/* SPDX-License-Identifier: MIT
 *
 * Calls of the HIP runtime without its help: the functions themselves are interposed, in all
 * modules of the process and for those who ask dlsym() or hipGetProcAddress() for them. Pointers to
 * functions that were taken before are not seen. Makes frames and records as the runtime's hooks do
 * (calls.h); device work is for others.
 */
#ifndef HB_HIP_INTERPOSED_CALLS_H
#define HB_HIP_INTERPOSED_CALLS_H

#include "hip/calls.h"

/** What a back-end does around a call that is recorded; each may be NULL. */
typedef struct hb_around_call {
    void (*before)(hb_frame *frame);
    void (*after)(hb_frame *frame, int error);
} hb_around_call;

/** Whether the processor's calling convention is known; `why` else. */
bool hb_interpose_possible(const hb_hip *hip, hb_buf *why);

/** Once, then hb_interpose_look(); `around` is kept. Nothing is recorded yet. */
bool hb_interpose_attach(const hb_hip *hip, const hb_around_call *around, hb_buf *why);

/** Records calls, or no more. */
void hb_interpose_enable(bool on);

/** Interposes in the modules that are loaded now; false: in one that is being loaded not yet. */
bool hb_interpose_look(void);

/** In a forked child. */
void hb_interpose_after_fork(void);

#endif
