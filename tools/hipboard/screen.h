/* SPDX-License-Identifier: MIT
 *
 * What a text takes on the screen.
 */
#ifndef HB_TOOLS_SCREEN_H
#define HB_TOOLS_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/** Columns that UTF-8 text takes: 2 for wide characters, 0 for combining ones. */
size_t screen_width(const char *text);

/** Bytes of the UTF-8 character that `text` begins with; 0: it begins with none. */
size_t screen_character(const char *text);

/** Copies at most `width` columns, with "..." where it was cut. Control characters, which could
 * break lines or steer the terminal, become blanks, and invalid bytes '?'. */
void screen_fit(char *to, size_t size, const char *text, size_t width);

/** Columns of the terminal that stdout is; 0: it is none. */
size_t screen_columns(void);

/** Whether stdout is a terminal that shows bold text and nobody minds. */
bool screen_is_styled(void);

#endif
