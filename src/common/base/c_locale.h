/* SPDX-License-Identifier: MIT
 *
 * Points in numbers.
 */
#ifndef HB_BASE_C_LOCALE_H
#define HB_BASE_C_LOCALE_H

#include <locale.h>

/** Numbers are read and written with a point, whatever the program's locale; for this thread, until
 * hb_leave_c_locale(). */
locale_t hb_enter_c_locale(void);
void hb_leave_c_locale(locale_t before);

#endif
