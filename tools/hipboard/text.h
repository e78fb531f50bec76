/* SPDX-License-Identifier: MIT
 *
 * Texts as all commands read and print them.
 */
#ifndef HB_TOOLS_TEXT_H
#define HB_TOOLS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** What was allocated, or the end of the program. */
void *must(void *memory);

bool ends_with(const char *text, const char *suffix);

/** Of ranks: a .hbranks file, by its name. */
bool is_digests(const char *path);

/** Without "path: " in front, which is said already. */
const char *text_behind(const char *text, const char *path);

/** A trace file's name without directory and suffixes; from malloc. */
char *trace_stem(const char *path);

/** Of "runs" and "runs/" a pack's name is "runs.hbpack", of what has no name of its own, as ".",
 * too; from malloc. */
char *pack_name(const char *path);

/** Valid UTF-8 whatever the text is: names come from files. */
void print_json_string(const char *text);

/** In full precision; null where it is none. */
void print_json_number(double value);

/** A JSON string, from behind its opening quote on, as a line of text. Returns what follows the
 * closing one. */
const char *print_json_text(const char *c, FILE *to);

/** Quoted where needed. */
void print_csv_field(const char *text);

/** Words from `indent` columns on, lines of at most `width` columns and a newline. A '\n' stays a
 * line's end; lines but the first are indented. */
void print_wrapped(const char *text, size_t indent, size_t width);

/** What a noun of `n` things ends with. */
static inline const char *plural(unsigned long long n)
{
    return n == 1 ? "" : "s";
}

#endif
