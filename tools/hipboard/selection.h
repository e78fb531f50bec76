/* SPDX-License-Identifier: MIT
 *
 * Which part of a trace, and in how many files, as convert, export, pack and report ask for it.
 */
#ifndef HB_TOOLS_SELECTION_H
#define HB_TOOLS_SELECTION_H

#include <stdint.h>

#include "options.h"

typedef struct selection {
    int64_t first_step, last_step; /* INT64_MIN and INT64_MAX: all */
    double start_us, end_us;       /* 0: no limit */
    uint64_t max_size;             /* 0: no limit */
    uint64_t split_steps;          /* of a file; 0: any number */
    double split_us;
} selection;

#define SELECT_ALL                                      \
    {                                                   \
        .first_step = INT64_MIN, .last_step = INT64_MAX \
    }

const char *take_steps(void *selection, const char *text);
const char *take_time(void *selection, const char *text);
const char *take_split(void *selection, const char *text);

/** Whether something was asked for. */
bool is_selected(const selection *s);

/** The options for `selection`, a field of the command's request; the first ones without sizes. */
#define CHOICE_OPTIONS                                                                       \
    {0, "steps", "A:B", "only steps A to B, both included; either may be left out",          \
     INTO_BY(take_steps, selection)},                                                        \
    {                                                                                        \
        0, "time", "A:B",                                                                    \
            "only what began from A to B seconds after the first event; either may be left " \
            "out",                                                                           \
            INTO_BY(take_time, selection)                                                    \
    }
#define SPLIT_OPTION                                                                             \
    {                                                                                            \
        0, "split", "HOW",                                                                       \
            "cut into files of at most so many bytes each, as 100M (where a step begins, if it " \
            "can be), of so many steps, as 10steps, or of so much time, as 5s; it may be given " \
            "once for each",                                                                     \
            INTO_BY(take_split, selection)                                                       \
    }
#define SELECTION_OPTIONS                                                                      \
    CHOICE_OPTIONS, SPLIT_OPTION,                                                              \
    {                                                                                          \
        0, "max-size", "SIZE",                                                                 \
            "as --split SIZE: files of at most SIZE bytes before compression (K, M, G: times " \
            "1024), cut where a step begins or, without steps, where nothing runs; a single "  \
            "step that is larger stays whole",                                                 \
            INTO_BY(take_size, selection.max_size)                                             \
    }

/** Copies it into options that have such fields. */
#define SELECT(options, selection)                                                                 \
    ((options)->first_step = (selection).first_step, (options)->last_step = (selection).last_step, \
     (options)->start_us = (selection).start_us, (options)->end_us = (selection).end_us,           \
     (options)->max_size = (selection).max_size, (options)->split_steps = (selection).split_steps, \
     (options)->split_us = (selection).split_us)

#endif
