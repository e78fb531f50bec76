/* SPDX-License-Identifier: MIT
 *
 * What a program's loader and runtimes are told by its environment, so that they load hipboard's
 * libraries beside those that they are told of already.
 */
#ifndef HB_TOOLS_PROGRAM_ENVIRONMENT_H
#define HB_TOOLS_PROGRAM_ENVIRONMENT_H

/** In front of what is preloaded. */
void preload(const char *library);
/** Behind others: Kokkos loads several, OpenMP's runtime the first that it can use. */
void name_to_kokkos(const char *library);
void name_to_openmp(const char *library);
/** gcc's address checker refuses to run behind another preloaded library. */
void allow_address_checks(void);

#endif
