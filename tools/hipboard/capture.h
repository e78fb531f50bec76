/* SPDX-License-Identifier: MIT
 *
 * What `hipboard record` tells libhipboard-capture.so, by environment variables.
 */
#ifndef HB_TOOLS_CAPTURE_H
#define HB_TOOLS_CAPTURE_H

#include <stdio.h>

#define CAPTURE_LIBRARY "libhipboard-capture.so"

#define CAPTURE_DIR        "HIPBOARD_CAPTURE_DIR"
#define CAPTURE_ACTIVITIES "HIPBOARD_CAPTURE_ACTIVITIES" /* enum hb_activity, as a number */
#define CAPTURE_FLAGS      "HIPBOARD_CAPTURE_FLAGS"      /* enum hb_export_flags */

static inline void capture_complain(const char *why)
{
    fprintf(stderr, "hipboard: this process is not recorded: %s\n", why);
}

#endif
