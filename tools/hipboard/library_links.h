/* SPDX-License-Identifier: MIT
 *
 * Lists of libraries, as LD_PRELOAD, are separated by blanks, colons or semicolons and have no way
 * to quote them, nor a `$`, after which the loader replaces words of its own as LIB or ORIGIN:
 * libraries whose paths have some are reached by links.
 */
#ifndef HB_TOOLS_LIBRARY_LINKS_H
#define HB_TOOLS_LIBRARY_LINKS_H

#include <limits.h>
#include <stdbool.h>

/** All zero: none. */
typedef struct library_links {
    char dir[32]; /* holds them: 0, 1, ... */
    unsigned count;
} library_links;

/** Puts a path that lists can hold in place of `library`, if it is none. False with errno. */
bool link_library(library_links *links, char library[PATH_MAX]);

void remove_library_links(const library_links *links);

#endif
