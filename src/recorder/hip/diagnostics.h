/* SPDX-License-Identifier: MIT
 *
 * What a session's trace says about its HIP capture in words, above all why something is missing.
 * One session is recorded at a time; its calls are made under the lock of device.c.
 */
#ifndef HB_HIP_DIAGNOSTICS_H
#define HB_HIP_DIAGNOSTICS_H

#include "base/base.h"

#define HB_METADATA_HIP_NOTES "hipboard_hip_notes" /* an array of texts */

/** A session begins: it has no notes. */
void hb_diagnostics_clear(void);

/** A note for the session's trace; with `loud` also a line on stderr, once in the process. */
HB_PRINTF(2, 3) void hb_diagnostics_add(bool loud, const char *format, ...);

/** That one in `each` launches was timed; `untimed_by`: a back-end that can't choose, or NULL. */
void hb_diagnostics_sampling(uint32_t each, const char *untimed_by);

/** The session ends: its notes become metadata. */
void hb_diagnostics_put(void);

/** In a forked child. */
void hb_diagnostics_after_fork(void);

/** Metadata of the session. A number of 0 stands for unknown and is left out. */
void hb_put_text(const char *key, const char *text);
void hb_put_number(const char *key, int64_t value);

#endif
