/* SPDX-License-Identifier: MIT
 *
 * Numbers and strings as Python writes them. The plugin is a Python program; its texts and its JSON
 * are the interface, so "40.0" and "40" are different answers.
 */
#ifndef HB_DOC_PY_TEXT_H
#define HB_DOC_PY_TEXT_H

#include "base/base.h"

/** A number that remembers whether Python would hold it as an int. Integers are exact up to 2^53.
 */
typedef struct hb_num {
    double v;
    bool is_float;
} hb_num;

static inline hb_num hb_int(double v)
{
    return (hb_num){v, false};
}

static inline hb_num hb_float(double v)
{
    return (hb_num){v, true};
}

static inline hb_num hb_num_add(hb_num a, hb_num b)
{
    return (hb_num){a.v + b.v, a.is_float || b.is_float};
}

static inline hb_num hb_num_sub(hb_num a, hb_num b)
{
    return (hb_num){a.v - b.v, a.is_float || b.is_float};
}

/** repr(float): the shortest digits that read back as `v`; "nan", "inf", "-inf". */
void hb_buf_py_float(hb_buf *buf, double v);

/** str() of a number. */
void hb_buf_py_num(hb_buf *buf, hb_num n);

/** The number as json.dumps() writes it: NaN, Infinity, -Infinity are words. */
void hb_buf_json_num(hb_buf *buf, hb_num n);

/** A string as json.dumps() writes it: ASCII only, the rest as \uXXXX with surrogate pairs. Lone
 * surrogates, held as three bytes each, are kept; other invalid bytes become U+FFFD. */
void hb_buf_json_ascii(hb_buf *buf, const char *text, size_t size);

/** round(v, digits) of a Python float: correct for the exact binary value, ties to even. */
double hb_py_round(double v, int digits);

#endif
