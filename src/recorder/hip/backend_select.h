/* SPDX-License-Identifier: MIT
 *
 * Which back-end captures a HIP runtime: the first of a table that can, or the one that the user
 * named.
 */
#ifndef HB_HIP_BACKEND_SELECT_H
#define HB_HIP_BACKEND_SELECT_H

#include "hip/backend.h"

/** Names the only back-end to be tried. */
#define HB_BACKEND_VARIABLE "HIPBOARD_HIP_BACKEND"

/** All, in the order in which they are tried, NULL at the end. */
extern const hb_device_backend *const hb_backends[];

/** The user's choice; "" when there is none. */
const char *hb_backend_forced(void);

/** Whether it may be used and can capture the runtime; else the reason in `why`. */
bool hb_backend_usable(const hb_device_backend *backend, const hb_hip *hip, hb_buf *why);

/** Before any function of the runtime is called. */
void hb_backends_prepare(const hb_hip *hip);

/** The first that is usable and attaches; NULL when none does. `refusals` gets the reasons of those
 * before it. */
const hb_device_backend *hb_backend_attach(const hb_hip *hip, hb_buf *refusals);

/** When the user's choice is no back-end, a sentence that lists their names; else "". */
void hb_backend_check_forced(hb_buf *why);

#endif
