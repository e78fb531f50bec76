/* SPDX-License-Identifier: MIT
 *
 * Inflates a gzip stream on a thread of its own, a few blocks ahead of its reader.
 */
#ifndef HB_READ_INFLATE_H
#define HB_READ_INFLATE_H

#include "read/text_window.h"

/** Reads `fd` from its present offset, after the `head_size` bytes already read from it. NULL when
 * there is no memory or no thread. */
hb_inflater *hb_inflater_start(int fd, const char *head, size_t head_size);

/** Copies the next bytes, at most `size`, to `to`; 0 at the end. */
size_t hb_inflater_read(hb_inflater *inflater, char *to, size_t size);

/** After the end: HB_OK, or why the stream ended there. */
hb_result hb_inflater_result(const hb_inflater *inflater, const char **error);

/** Stops the thread, also in the middle. */
void hb_inflater_stop(hb_inflater *inflater);

#endif
