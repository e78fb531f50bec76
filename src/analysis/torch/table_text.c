/* SPDX-License-Identifier: MIT
 *
 * PyTorch 2.13 writes the cells of "Source Location" and "Total FLOPs" into each other's columns
 * when a table has both; here they stand below their headers. All else is as torch has it.
 */
#include "torch/table_text.h"

#include <math.h>

enum { SPACING = 2, WIDTH = 12, MAX_COLUMNS = 24, NO_LIMIT_WIDTH = 1 << 20 };

typedef struct column {
    uint32_t width;
    bool left;
} column;

typedef struct table {
    const hb_fn_list *list;
    const hb_averages *averages;
    const hb_table_style *style;
    hb_buf *to;
    column columns[MAX_COLUMNS];
    uint32_t num_columns, column; /* column: of the next cell */
    bool overloads, device_time, memory, device_memory, shapes, stack, flops;
    uint32_t name_width, shapes_width, source_width;
    double flops_scale;
    const char *flops_unit;
    double sum_cpu, sum_device;
    hb_buf cell;
} table;

/* ---- quantities ---- */

void hb_put_time(hb_buf *to, double us, const char *unit)
{
    if (!unit) unit = us >= 1e6 ? "s" : us >= 1e3 ? "ms" : "us";
    double scale = strcmp(unit, "s") == 0 ? 1e6 : strcmp(unit, "ms") == 0 ? 1e3 : 1;
    hb_buf_printf(to, "%.3f%s", us / scale, unit);
}

void hb_put_share(hb_buf *to, double part, double whole)
{
    if (whole == 0)
        hb_buf_str(to, "NaN");
    else
        hb_buf_printf(to, "%.2f%%", part * 100.0 / whole);
}

void hb_put_memory(hb_buf *to, double bytes)
{
    double size = fabs(bytes);
    if (size >= 1024.0 * 1024 * 1024)
        hb_buf_printf(to, "%.2f GB", bytes / (1024.0 * 1024 * 1024));
    else if (size >= 1024.0 * 1024)
        hb_buf_printf(to, "%.2f MB", bytes / (1024.0 * 1024));
    else if (size >= 1024)
        hb_buf_printf(to, "%.2f KB", bytes / 1024);
    else
        hb_buf_printf(to, "%.0f B", bytes + 0.0);
}

const char *hb_flops_unit(double smallest, double *scale)
{
    static const char *const units[] = {"FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"};
    int power = (int)floor(fmax(0, fmin(log10(smallest) / 3, 5)));
    *scale = power ? pow(10, power * -3.0) : 1;
    return units[power];
}

/* ---- characters ---- */

static uint32_t characters(hb_str s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.s[i] & 0xc0) != 0x80;
    return n;
}

/* The place of character number `n`. */
static size_t offset_of(hb_str s, uint32_t n)
{
    size_t i = 0;
    for (; i < s.len; i++)
        if (((unsigned char)s.s[i] & 0xc0) != 0x80 && n-- == 0) break;
    return i;
}

static hb_str text(const table *t, hb_string_id id)
{
    return hb_trace_text(t->list->trace, id);
}

/* ---- rows ---- */

static void blanks(hb_buf *to, uint32_t count, char c)
{
    char *p = hb_buf_reserve(to, count);
    if (!p) return;
    memset(p, c, count);
    to->size += count;
}

static void put_cell(table *t, hb_str s)
{
    const column *c = &t->columns[t->column++];
    uint32_t n = characters(s), pad = n < c->width ? c->width - n : 0;
    if (!c->left) blanks(t->to, pad, ' ');
    hb_buf_append(t->to, s.s, s.len);
    if (c->left) blanks(t->to, pad, ' ');
    blanks(t->to, SPACING, ' ');
}

/* Puts what stands in t->cell, and empties it. */
static void put_made(table *t)
{
    put_cell(t, (hb_str){hb_buf_text(&t->cell), t->cell.size});
    t->cell.size = 0;
}

static void end_row(table *t)
{
    hb_buf_append(t->to, "\n", 1);
    t->column = 0;
}

static void put_dashes(table *t)
{
    for (uint32_t i = 0; i < t->num_columns; i++) {
        blanks(t->to, t->columns[i].width, '-');
        blanks(t->to, SPACING, ' ');
    }
    end_row(t);
}

static void put_time(table *t, double us)
{
    hb_put_time(&t->cell, us, t->style->time_unit);
    put_made(t);
}

static void put_share(table *t, double part, double whole)
{
    hb_put_share(&t->cell, part, whole);
    put_made(t);
}

static void put_memory(table *t, double bytes)
{
    hb_put_memory(&t->cell, bytes);
    put_made(t);
}

static void put_name(table *t, hb_string_id id)
{
    hb_str s = text(t, id);
    uint32_t max = t->style->max_name;
    bool cut = max != UINT32_MAX && characters(s) + 3 >= max;
    hb_buf_append(&t->cell, s.s, cut ? offset_of(s, max - 3) : s.len);
    if (cut) hb_buf_str(&t->cell, "...");
    put_made(t);
}

/* The end of a path that is too long. */
static void put_source(table *t, hb_string_id id)
{
    hb_str s = text(t, id);
    uint32_t n = characters(s), width = t->source_width;
    if (n > width) {
        size_t skip = offset_of(s, n - width + (width > 3 ? 3 : 0));
        if (width > 3) hb_buf_str(&t->cell, "...");
        s = (hb_str){s.s + skip, s.len - skip};
    }
    hb_buf_append(&t->cell, s.s, s.len);
    put_made(t);
}

static void put_shapes(table *t, hb_string_id id)
{
    hb_str s = id ? text(t, id) : (hb_str){"", 0};
    hb_buf_append(&t->cell, s.s, offset_of(s, t->shapes_width));
    put_made(t);
}

static void put_flops(table *t, double flops)
{
    if (flops > 0)
        hb_buf_printf(&t->cell, "%8.3f", flops * t->flops_scale);
    else
        hb_buf_str(&t->cell, "--");
    put_made(t);
}

/* Every frame after the first has a row of its own, and a blank row ends the list. */
static void put_more_frames(table *t, const hb_average *a)
{
    uint32_t source = t->num_columns - 1 - t->flops;
    for (uint32_t i = 1; i <= HB_MAX(a->stack.count, 1); i++) {
        while (t->column < t->num_columns) {
            if (t->column == source && i < a->stack.count)
                put_source(t, a->stack.frames[i]);
            else
                put_made(t);
        }
        end_row(t);
    }
}

static void put_row(table *t, const hb_average *a)
{
    double calls = (double)a->count;
    put_name(t, a->name);
    if (t->overloads) put_name(t, a->overload);
    put_share(t, a->self_cpu, t->sum_cpu);
    put_time(t, a->self_cpu);
    put_share(t, a->cpu_total, t->sum_cpu);
    put_time(t, a->cpu_total);
    put_time(t, a->cpu_total / calls);
    if (t->device_time) {
        put_time(t, a->self_device);
        put_share(t, a->self_device, t->sum_device);
        put_time(t, a->device_total);
        put_time(t, a->device_total / calls);
    }
    if (t->memory) {
        put_memory(t, a->cpu_bytes);
        put_memory(t, a->self_cpu_bytes);
    }
    if (t->device_memory) {
        put_memory(t, a->device_bytes);
        put_memory(t, a->self_device_bytes);
    }
    hb_buf_printf(&t->cell, "%llu", (unsigned long long)a->count);
    put_made(t);
    if (t->shapes) put_shapes(t, a->shapes);
    if (t->stack && a->stack.count)
        put_source(t, a->stack.frames[0]);
    else if (t->stack)
        put_made(t);
    if (t->flops) put_flops(t, a->flops);
    end_row(t);
    if (t->stack) put_more_frames(t, a);
}

/* ---- the whole ---- */

static void add_header(table *t, uint32_t width, bool left, const char *format, const char *device)
{
    t->columns[t->num_columns] = (column){width, left};
    t->num_columns++;
    if (!format) return;
    for (const char *p = format; *p; p++) {
        if (*p == '@')
            hb_buf_str(&t->cell, device);
        else
            hb_buf_append(&t->cell, p, 1);
    }
    put_made(t);
}

/* Appends the headers' row to t->to and remembers the columns. */
static void put_headers(table *t)
{
    static const char *const cpu[] = {"Self CPU %", "Self CPU", "CPU total %", "CPU total",
                                      "CPU time avg"};
    static const char *const device[] = {"Self @", "Self @ %", "@ total", "@ time avg"};
    const char *name = t->style->device;
    add_header(t, t->name_width, false, "Name", name);
    if (t->overloads) add_header(t, t->name_width, false, "Overload Name", name);
    for (size_t i = 0; i < HB_ARRAY_LEN(cpu); i++)
        add_header(t, WIDTH, false, cpu[i], name);
    for (size_t i = 0; i < HB_ARRAY_LEN(device) && t->device_time; i++)
        add_header(t, WIDTH, false, device[i], name);
    if (t->memory) add_header(t, WIDTH, false, "CPU Mem", name);
    if (t->memory) add_header(t, WIDTH, false, "Self CPU Mem", name);
    if (t->device_memory) add_header(t, WIDTH, false, "@ Mem", name);
    if (t->device_memory) add_header(t, WIDTH, false, "Self @ Mem", name);
    add_header(t, WIDTH, false, "# of Calls", name);
    if (t->shapes) add_header(t, t->shapes_width, false, "Input Shapes", name);
    if (t->stack) add_header(t, t->source_width, true, "Source Location", name);
    if (t->flops) add_header(t, WIDTH, false, "Total @", t->flops_unit);
    end_row(t);
}

static void look_at(table *t, const hb_average *a, double *smallest_flops)
{
    t->name_width = HB_MAX(t->name_width, characters(text(t, a->name)));
    t->overloads |= a->overload != 0;
    t->device_time |= a->self_device > 0;
    t->device_memory |= a->self_device_bytes > 0;
    if (a->shapes) {
        uint32_t n = characters(text(t, a->shapes));
        t->shapes_width = HB_MAX(t->shapes_width, n);
        t->shapes |= n > 2;
    }
    for (uint32_t i = 0; i < a->stack.count; i++)
        t->source_width = HB_MAX(t->source_width, characters(text(t, a->stack.frames[i])));
    t->stack |= a->stack.count > 0;
    if (a->flops > 0 && (*smallest_flops == 0 || a->flops < *smallest_flops))
        *smallest_flops = a->flops;
    t->sum_cpu += a->self_cpu;
    if (a->device && !a->annotation) t->sum_device += a->self_device;
}

static uint32_t limited(uint32_t width, uint32_t max)
{
    return HB_MIN(HB_MIN(width + 4, max), (uint32_t)NO_LIMIT_WIDTH);
}

static void measure(table *t)
{
    double smallest_flops = 0;
    for (uint32_t i = 0; i < t->averages->count; i++)
        look_at(t, &t->averages->items[i], &smallest_flops);
    t->name_width = limited(t->name_width, t->style->max_name);
    t->shapes_width = limited(t->shapes_width, t->style->max_shapes);
    t->source_width = limited(t->source_width, t->style->max_source);
    t->memory = t->list->profile_memory;
    t->device_memory = t->device_memory && t->memory && t->list->use_device;
    t->flops = t->list->with_flops && smallest_flops > 0;
    if (t->flops) t->flops_unit = hb_flops_unit(smallest_flops, &t->flops_scale);
}

static void put_banner(table *t, const char *line)
{
    uint32_t length = 0;
    for (uint32_t i = 0; i < t->num_columns; i++)
        length += t->columns[i].width + SPACING;
    blanks(t->to, length - SPACING, '=');
    hb_buf_printf(t->to, "\n%s\n", line);
}

static void put_rows(table *t)
{
    uint64_t printed = 0;
    for (uint32_t i = 0; i < t->averages->count && printed < t->style->row_limit; i++) {
        const hb_average *a = &t->averages->items[i];
        if (t->style->top_level_only && a->nested) continue;
        put_row(t, a);
        printed++;
    }
}

static void put_footer(table *t, const char *name, double us)
{
    hb_buf_printf(t->to, "Self %s time total: ", name);
    hb_put_time(t->to, us, t->style->time_unit);
    hb_buf_str(t->to, "\n");
}

void hb_report_table(const hb_fn_list *list, const hb_averages *averages,
                     const hb_table_style *style, hb_buf *to)
{
    table t = {.list = list, .averages = averages, .style = style};
    hb_buf headers;
    if (!averages->count) return;
    hb_buf_init(&t.cell, SIZE_MAX / 2);
    hb_buf_init(&headers, SIZE_MAX / 2);
    measure(&t);
    t.to = &headers;
    put_headers(&t);
    t.to = to;
    if (style->header) put_banner(&t, style->header);
    if (style->top_level_only) put_banner(&t, "This report only display top-level ops statistics");
    put_dashes(&t);
    hb_buf_append(to, headers.data, headers.size);
    put_dashes(&t);
    put_rows(&t);
    put_dashes(&t);
    put_footer(&t, "CPU", t.sum_cpu);
    if (t.device_time) put_footer(&t, style->device, t.sum_device);
    to->failed |= t.cell.failed || headers.failed;
    hb_buf_free(&headers);
    hb_buf_free(&t.cell);
}

/* ---- the sum over all events ---- */

static void put_time_of(hb_buf *to, const char *before, const char *name, const char *after,
                        double us)
{
    hb_buf_printf(to, "%s%s%s", before, name, after);
    hb_put_time(to, us, NULL);
}

void hb_report_total(const hb_trace *trace, const hb_average *total, const hb_table_style *style,
                     hb_buf *to)
{
    char device[32];
    size_t n = 0;
    for (const char *p = style->device; *p && n + 1 < sizeof device; p++)
        device[n++] = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
    device[n] = 0;
    double calls = total->count ? (double)total->count : 1;
    hb_buf_str(to, "<FunctionEventAvg key=Total");
    put_time_of(to, " self_", "cpu", "_time=", total->self_cpu);
    put_time_of(to, " ", "cpu", "_time=", total->cpu_total / calls);
    put_time_of(to, "  self_", device, "_time=", total->self_device);
    put_time_of(to, " ", device, "_time=", total->device_total / calls);
    hb_buf_printf(to, " input_shapes=%s cpu_memory_usage=%.0f %s_memory_usage=%.0f>\n",
                  total->shapes ? hb_trace_text(trace, total->shapes).s : "",
                  total->cpu_bytes + 0.0, device, total->device_bytes + 0.0);
}
