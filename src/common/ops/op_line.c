/* SPDX-License-Identifier: MIT */
#include "ops/op_line.h"

#include <stdio.h>

bool hb_op_wrong(hb_op_line *l, const char *where, const char *format, ...)
{
    va_list args;
    if (l->failed) return false;
    l->failed = true;
    l->wrong = where;
    va_start(args, format);
    vsnprintf(l->why, sizeof l->why, format, args);
    va_end(args);
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

hb_str hb_op_take_name(hb_op_line *l)
{
    const char *from = l->at;
    while (l->at < l->end &&
           (is_letter(*l->at) || (l->at > from && *l->at >= '0' && *l->at <= '9')))
        l->at++;
    return (hb_str){from, (uint32_t)(l->at - from)};
}

void hb_op_skip_blanks(hb_op_line *l)
{
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\t'))
        l->at++;
}

bool hb_op_take(hb_op_line *l, char c)
{
    if (l->at == l->end || *l->at != c) return false;
    l->at++;
    return true;
}

int hb_op_param_named(const hb_op_line *l, hb_str name)
{
    for (int i = 0; i < l->row.num_params; i++)
        if (hb_str_is(name, l->params[i].name)) return i;
    return -1;
}
