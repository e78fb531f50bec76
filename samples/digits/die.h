/* SPDX-License-Identifier: MIT
 *
 * How this program gives up: one line on stderr and exit status 1.
 */
#ifndef DIGITS_DIE_H
#define DIGITS_DIE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noreturn, format(printf, 1, 2))) static inline void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("digits: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_FAILURE);
}

#endif
