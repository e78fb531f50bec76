/* SPDX-License-Identifier: MIT
 *
 * Inputs of which a part is wanted, for commands that read whole ones.
 */
#ifndef HB_TOOLS_CUT_INPUTS_H
#define HB_TOOLS_CUT_INPUTS_H

#include "selection.h"

typedef struct cut_inputs {
    char *directory; /* a temporary one */
    char *pack;      /* in it: the part of all inputs */
    bool left_out;   /* a trace was, or what should have been one; it is said */
} cut_inputs;

/** Makes a pack of what is chosen of traces, log directories and other tools' files. False: nothing
 * is; why was printed. */
bool cut_inputs_make(cut_inputs *cut, const char *who, char *const *paths, size_t count,
                     const selection *s);
/** In any case. */
void cut_inputs_free(cut_inputs *cut);

#endif
