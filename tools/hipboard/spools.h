/* SPDX-License-Identifier: MIT
 *
 * Records of killed processes, for commands that show what is in a directory.
 */
#ifndef HB_TOOLS_SPOOLS_H
#define HB_TOOLS_SPOOLS_H

/** Says on stderr under the command's name when killed processes left records in a directory or
 * below, and what makes traces of them. */
void tell_spools(const char *name, const char *dir);

#endif
