/* SPDX-License-Identifier: MIT */
#include "base/c_locale.h"

#include <pthread.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

locale_t hb_enter_c_locale(void)
{
    pthread_once(&c_locale_once, make_c_locale);
    return c_locale ? uselocale(c_locale) : (locale_t)0;
}

void hb_leave_c_locale(locale_t before)
{
    if (before) uselocale(before);
}
