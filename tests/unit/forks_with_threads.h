/* SPDX-License-Identifier: MIT
 *
 * For programs that fork while other threads run. AddressSanitizer takes none of its locks before a
 * fork (gcc 12; later ones do): a child in which memory is freed may wait for ever for a lock that
 * another thread held. The one that is nearly always it guards the stacks of allocations; without
 * them it is never taken.
 */
#ifndef HB_TEST_FORKS_WITH_THREADS_H
#define HB_TEST_FORKS_WITH_THREADS_H

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "malloc_context_size=0";
}
#endif

#endif
