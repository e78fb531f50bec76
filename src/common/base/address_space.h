/* SPDX-License-Identifier: MIT
 *
 * Address space for more than is ever used.
 */
#ifndef HB_BASE_ADDRESS_SPACE_H
#define HB_BASE_ADDRESS_SPACE_H

#include <stddef.h>

/** Zeroed, private, with mmap's `protection`; NULL when there is none (errno). It takes memory as
 * it is touched, also where the program has all its memory locked (mlockall), and counts nothing of
 * that limit. Ended by munmap(). Signal handlers may call it. */
void *hb_address_space(size_t size, int protection);

#endif
