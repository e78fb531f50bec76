/* SPDX-License-Identifier: MIT
 *
 * Where the parts of hipboard lie that are files of their own: helper programs, libraries that are
 * loaded into recorded programs, tables. One rule for all, and for all ways to install: beside the
 * library (prefix, package, wheel), in the build tree, where it was to be installed. A part says of
 * which version it is, and one of another version is refused.
 */
#ifndef HB_SYMBOLS_OWN_PARTS_H
#define HB_SYMBOLS_OWN_PARTS_H

#include <sys/types.h>

#include "base/base.h"

#define HB_PART_SYMBOLIZER "hipboard-symbolizer"

/** What another user than who installed the library could have put there is not started:
 * HB_ERROR_UNSUPPORTED, with the reason. HB_ERROR_NOT_FOUND of what is no file. */
hb_result hb_part_check(const char *path, uid_t installer);

#endif
