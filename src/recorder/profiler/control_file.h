/* SPDX-License-Identifier: MIT
 *
 * A file that is looked at from time to time, and read when it has changed: requests to all
 * processes that share a directory, without a message between them.
 */
#ifndef HB_PROFILER_CONTROL_FILE_H
#define HB_PROFILER_CONTROL_FILE_H

#include "profiler/request.h"

#define HB_CONTROL_FILE_NAME "hipboard.request"

/** How often each process looks: gentle for a thousand of them on a shared file system. */
#define HB_CONTROL_FILE_PERIOD_MS 4000

typedef struct hb_control_file {
    char *path; /* or NULL */
    uint64_t device, inode, size;
    int64_t modified_ns; /* of what was there when it was last looked at; 0: nothing was */
    char text[HB_REQUEST_MAX + 1];
    size_t text_size;
    char why_not[256]; /* a file is passed over; "" */
} hb_control_file;

/** Which file: `named`, or else by the environment, or in the log directory; from malloc, or NULL.
 */
char *hb_control_file_path(const char *named, const char *log_dir);

/** Takes `path`, which is from malloc. What is there now counts as read. */
void hb_control_file_open(hb_control_file *f, char *path);
void hb_control_file_close(hb_control_file *f);

/** Looks. True when a new file came and is in `text`, or is passed over, and `why_not` says why.
 * May wait for the file system. */
bool hb_control_file_look(hb_control_file *f);

/** Puts a request into a log directory, whole or not at all. */
hb_result hb_control_file_put(const char *log_dir, const hb_request *request);

/** When to look for the first time, by CLOCK_MONOTONIC: spread over the period, so that a thousand
 * processes do not look at once. */
int64_t hb_control_file_first_look(void);

#endif
