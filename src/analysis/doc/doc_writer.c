/* SPDX-License-Identifier: MIT */
#include "doc/doc_writer.h"

#include "base/markdown.h"

static void put_blanks(hb_buf *buf, size_t count)
{
    while (count--)
        hb_buf_append(buf, " ", 1);
}

/* Bytes of a control character at `text`; U+0080 to U+009F are some, too. */
static size_t control_length(const char *text)
{
    unsigned char c = (unsigned char)text[0], next = c ? (unsigned char)text[1] : 0;
    if (c == 0xc2 && next >= 0x80 && next < 0xa0) return 2;
    return c < ' ' || c == 0x7f;
}

/* Control characters would break lines, and escape sequences do more than that. */
static void put_plain(hb_buf *buf, const char *text)
{
    while (*text) {
        size_t n = control_length(text);
        hb_buf_append(buf, n ? " " : text, 1);
        text += n ? n : 1;
    }
}

static void put_toned(const hb_doc *doc, hb_tone tone, const char *text)
{
    bool colored = doc->color && tone != HB_TONE_PLAIN;
    if (colored) hb_buf_str(doc->buf, tone == HB_TONE_WORSE ? "\033[31m" : "\033[32m");
    put_plain(doc->buf, text);
    if (colored) hb_buf_str(doc->buf, "\033[0m");
}

void hb_doc_heading(hb_doc *doc, const char *text)
{
    hb_buf_str(doc->buf,
               doc->markdown ? (doc->buf->size ? "\n### " : "### ") : (doc->buf->size ? "\n" : ""));
    if (doc->markdown) {
        hb_markdown_text(doc->buf, text);
    } else {
        if (doc->color) hb_buf_str(doc->buf, "\033[1m");
        put_plain(doc->buf, text);
        if (doc->color) hb_buf_str(doc->buf, "\033[0m");
    }
    hb_buf_str(doc->buf, doc->markdown ? "\n\n" : "\n");
}

void hb_doc_line(hb_doc *doc, hb_tone tone, const char *text)
{
    if (doc->markdown)
        hb_markdown_text(doc->buf, text);
    else
        put_toned(doc, tone, text);
    hb_buf_str(doc->buf, doc->markdown ? "\n\n" : "\n");
}

void hb_doc_item(hb_doc *doc, hb_tone tone, const char *text)
{
    hb_buf_str(doc->buf, doc->markdown ? "- " : "  ");
    if (doc->markdown)
        hb_markdown_text(doc->buf, text);
    else
        put_toned(doc, tone, text);
    hb_buf_str(doc->buf, "\n");
}

/* ---- tables ---- */

/* Characters, not bytes: continuation bytes of UTF-8 take no room. */
static size_t width_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static const hb_grid_cell *cell_at(const hb_grid *g, uint32_t row, uint32_t column)
{
    return &g->cells.items[row * g->columns + column];
}

static void put_cell(const hb_doc *doc, const hb_grid *g, uint32_t column, hb_grid_cell cell,
                     size_t width)
{
    bool last = column + 1 == g->columns, left = last || g->left >> column & 1;
    size_t blanks = last ? 0 : width - width_of(cell.text);
    if (!left) put_blanks(doc->buf, blanks);
    put_toned(doc, cell.tone, cell.text);
    if (left) put_blanks(doc->buf, blanks);
    hb_buf_str(doc->buf, last ? "\n" : "  ");
}

static void put_terminal(hb_doc *doc, hb_arena *arena, const hb_grid *g)
{
    uint32_t rows = g->cells.count / g->columns;
    size_t *widths = HB_NEW_ARRAY(arena, size_t, g->columns);
    for (uint32_t c = 0; c < g->columns; c++) {
        widths[c] = width_of(g->heads[c]);
        for (uint32_t r = 0; r < rows; r++)
            widths[c] = HB_MAX(widths[c], width_of(cell_at(g, r, c)->text));
    }
    for (uint32_t c = 0; c < g->columns; c++)
        put_cell(doc, g, c, (hb_grid_cell){g->heads[c], HB_TONE_PLAIN}, widths[c]);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < g->columns; c++)
            put_cell(doc, g, c, *cell_at(g, r, c), widths[c]);
}

/* The last column first. */
static uint32_t markdown_column(const hb_grid *g, uint32_t place)
{
    return place ? place - 1 : g->columns - 1;
}

static void put_markdown(hb_doc *doc, hb_arena *arena, const hb_grid *g)
{
    uint32_t rows = g->cells.count / g->columns, shown = 0;
    const char **heads = HB_NEW_ARRAY(arena, const char *, g->columns);
    for (uint32_t p = 0; p < g->columns; p++)
        if (!(g->terminal_only >> markdown_column(g, p) & 1))
            heads[shown++] = g->heads[markdown_column(g, p)];
    hb_markdown_head(doc->buf, heads, shown, 1);
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t p = 0; p < g->columns; p++)
            if (!(g->terminal_only >> markdown_column(g, p) & 1))
                hb_markdown_cell(doc->buf, cell_at(g, r, markdown_column(g, p))->text);
        hb_markdown_end_row(doc->buf);
    }
    hb_buf_str(doc->buf, "\n");
}

void hb_doc_grid(hb_doc *doc, hb_arena *arena, const hb_grid *grid)
{
    if (doc->markdown)
        put_markdown(doc, arena, grid);
    else
        put_terminal(doc, arena, grid);
}
