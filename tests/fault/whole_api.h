/* SPDX-License-Identifier: MIT
 *
 * A small program that uses the whole interface, and that believes what it is told: each function
 * either does what it says or fails with a text.
 */
#ifndef WHOLE_API_H
#define WHOLE_API_H

#include <stdbool.h>

/** What came of it, as an exit status. */
enum {
    WHOLE_FINE,          /* nothing failed, all is there */
    WHOLE_TOLD,          /* something failed or was lost, and that was said */
    WHOLE_NO_TEXT = 100, /* a failure without a text */
    WHOLE_LOST_SILENTLY, /* all went well, it said, and something is missing */
};

/** Records, writes, reads back; `dir` is an empty directory. Call stacks take most of the time. */
int whole_api(const char *dir, bool stacks);

#endif
