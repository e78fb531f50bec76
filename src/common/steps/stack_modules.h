/* SPDX-License-Identifier: MIT
 *
 * Modules that no mark tells of: methods whose frames stand in the call stacks of what a program
 * called and launched, as "Net::forward". A module's frame reaches from the first of these to the
 * last; it begins anew where one of the places in the method, from which something is called, comes
 * again after another one.
 */
#ifndef HB_STEPS_STACK_MODULES_H
#define HB_STEPS_STACK_MODULES_H

#include "trace/source.h"

/** Metadata: the regular expression (POSIX, extended) that such a frame's function matches, as a
 * JSON string. What its first parenthesis matches, else all that is matched, is the class. */
#define HB_METADATA_MODULE_FRAMES "hipboard_module_frames"

/** Puts a source with these modules around *source, which it then owns, where its metadata ask for
 * them, some frame matches and the program has no modules of its own. */
hb_result hb_put_stack_modules(hb_source **source);

#endif
