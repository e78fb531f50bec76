/* SPDX-License-Identifier: MIT
 *
 * Who waits for the process need not look through the log directory for what it wrote: it is told,
 * in a file that HIPBOARD_WRITTEN names, a line each.
 */
#ifndef HB_PROFILER_WRITTEN_H
#define HB_PROFILER_WRITTEN_H

#define HB_WRITTEN_TRACE  ""
#define HB_WRITTEN_DIGEST "digest of " /* of that trace */

void hb_tell_written(const char *what, const char *path);

#endif
