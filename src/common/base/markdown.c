/* SPDX-License-Identifier: MIT */
#include "base/markdown.h"

#include <math.h>

void hb_markdown_text(hb_buf *out, const char *text)
{
    static const char special[] = "\\`*_~[]<>&|#$@";
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (strchr(special, c))
            hb_buf_printf(out, "&#%d;", c);
        else
            hb_buf_append(out, c < ' ' ? " " : text, 1);
    }
}

void hb_markdown_head(hb_buf *out, const char *const *titles, size_t num_titles, size_t num_left)
{
    for (size_t i = 0; i < num_titles; i++)
        hb_markdown_cell(out, titles[i]);
    hb_markdown_end_row(out);
    for (size_t i = 0; i < num_titles; i++)
        hb_buf_str(out, i < num_left ? "|---" : "|---:");
    hb_markdown_end_row(out);
}

void hb_markdown_cell(hb_buf *out, const char *text)
{
    hb_buf_str(out, "| ");
    hb_markdown_text(out, text);
    hb_buf_str(out, " ");
}

void hb_markdown_number(hb_buf *out, double number, int decimals)
{
    if (isnan(number))
        hb_buf_str(out, "| ");
    else
        hb_buf_printf(out, "| %.*f ", decimals, number);
}

void hb_markdown_end_row(hb_buf *out)
{
    hb_buf_str(out, "|\n");
}
