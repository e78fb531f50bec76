/* SPDX-License-Identifier: MIT
 *
 * What moves data between the ranks of a distributed run.
 */
#ifndef HB_RULES_BACKENDS_H
#define HB_RULES_BACKENDS_H

#include "base/str.h"

/** torch's word for what a user calls a backend, a constant text; NULL: it is none. */
const char *hb_backend_of(hb_str word);

#endif
