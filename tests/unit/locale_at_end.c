/* SPDX-License-Identifier: MIT
 *
 * Linked to every unit test: numbers are read and written with points for as long as a function of
 * ours runs, and then the program's locale is its own again. Where main() left by pthread_exit() a
 * thread of ours ends the program, which has a locale of its own.
 */
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((destructor)) static void check_locale(void)
{
    if (gettid() != getpid() || uselocale((locale_t)0) == LC_GLOBAL_LOCALE) return;
    fprintf(stderr, "the locale of the main thread is not what it was\n");
    _exit(1);
}
