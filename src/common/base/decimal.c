/* SPDX-License-Identifier: MIT */
#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_DIGITS = 15, MOST_DIGITS = 17 };

/* The fewest digits that survive the way to text and back, without trailing zeros, and the exponent
 * of the first. 17 always do, and 15 are the fewest of a number that has all its bits. Whatever the
 * locale has for a point is passed over. */
static int shortest_digits(double value, char digits[MOST_DIGITS], int *exponent)
{
    char text[HB_MAX_DECIMAL], *at = text;
    int n = value < DBL_MIN ? 1 : LEAST_DIGITS;
    do
        snprintf(text, sizeof text, "%.*e", n - 1, value);
    while (strtod(text, NULL) != value && ++n <= MOST_DIGITS);
    for (n = 0; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9') digits[n++] = *at;
    *exponent = atoi(at + 1);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

static char *put_digits(char *p, const char *digits, int n)
{
    memcpy(p, digits, (size_t)n);
    return p + n;
}

static char *put_zeros(char *p, int n)
{
    memset(p, '0', (size_t)n);
    return p + n;
}

static char *put_places(char *p, const char *digits, int n, int exponent)
{
    if (exponent < 0) {
        *p++ = '0';
        *p++ = '.';
        return put_digits(put_zeros(p, -1 - exponent), digits, n);
    }
    if (n <= exponent + 1) return put_zeros(put_digits(p, digits, n), exponent + 1 - n);
    p = put_digits(p, digits, exponent + 1);
    *p++ = '.';
    return put_digits(p, digits + exponent + 1, n - exponent - 1);
}

char *hb_put_decimal(char *p, double value, int exponent)
{
    char digits[MOST_DIGITS];
    int first, n = shortest_digits(fabs(value), digits, &first);
    if (!exponent) exponent = n > LEAST_DIGITS ? n : LEAST_DIGITS;
    if (signbit(value)) *p++ = '-';
    if (first >= -4 && first < exponent) return put_places(p, digits, n, first);
    *p++ = digits[0];
    if (n > 1) {
        *p++ = '.';
        p = put_digits(p, digits + 1, n - 1);
    }
    return p + sprintf(p, "e%c%02d", first < 0 ? '-' : '+', abs(first));
}
