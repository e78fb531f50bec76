/* SPDX-License-Identifier: MIT
 *
 * The options of a command, declared in a table: what is parsed and what --help prints are one.
 */
#ifndef HB_TOOLS_OPTIONS_H
#define HB_TOOLS_OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "command.h"

enum { HELP_WIDTH = 80 }; /* columns of --help */

/** Puts an option's value where it belongs. NULL, or what is wrong with the value. */
typedef const char *(*take_fn)(void *to, const char *value);

typedef struct option_spec {
    char letter;          /* of the short form; 0: there is none */
    const char *name;     /* of the long form */
    const char *argument; /* what --help calls its value; "a|b": only these; NULL: it has none */
    const char *help;
    take_fn take;
    size_t to; /* where in the command's request the value goes */
} option_spec;

/** The last two of an option_spec: a field of `request`, which may be a bool, text or a count, or
 * any field and what fills it. */
#define INTO(field) \
    _Generic(((request *)NULL)->field,    \
        bool: take_flag,                  \
        const char *: take_text,          \
        size_t: take_count,               \
        pattern: take_pattern),           \
        offsetof(request, field)
#define INTO_BY(take, field) take, offsetof(request, field)

/** What rows are chosen by; zeroed: every text matches. */
typedef struct pattern {
    regex_t regex;
    bool given;
} pattern;

bool pattern_matches(const pattern *p, const char *text);
void pattern_free(pattern *p);

const char *take_flag(void *to, const char *value);    /* bool */
const char *take_text(void *to, const char *value);    /* const char *, not copied */
const char *take_count(void *to, const char *value);   /* size_t */
const char *take_pattern(void *to, const char *value); /* pattern */
/** uint64_t, bytes: "4096", "100M"; K, M and G are powers of 1024. */
const char *take_size(void *to, const char *value);
/** int64_t, ns: "1.5", "1.5s", "20ms", "2m"; more than nothing and at most some days. */
const char *take_span(void *to, const char *value);

/** The option that chooses a dialect; "kineto" makes the bool true. */
#define DIALECTS "tensorboard|kineto"
const char *take_kineto(void *to, const char *value);

/** Whether an option's argument lists the words that its value may be: "s|ms|us"; what stands in
 * capitals, "FILE|TIME", is no word by itself. */
bool are_words(const char *argument);

/** Fills `request` by the options of `args`, of which the operands are left. False: the command is
 * done, as --help was asked for or the command line is wrong, and returns args->status. */
bool parse_options(const command *c, arguments *args, void *request);

#endif
