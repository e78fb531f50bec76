/* SPDX-License-Identifier: MIT
 *
 * The printer of floating-point numbers: the shortest text that reads back as the same number.
 */
#ifndef HB_BASE_DECIMAL_H
#define HB_BASE_DECIMAL_H

enum { HB_MAX_DECIMAL = 32 };

/** Writes a finite number at `p`, without a NUL, and returns the end: "0.1", "12", "1e-05", "-0".
 * From 10^exponent on, `exponent` > 0, and below 0.0001 with an exponent; 0: where there are no
 * digits for all places before the point, as printf's %g has it of 15 digits or more. */
char *hb_put_decimal(char *p, double value, int exponent);

#endif
