/* SPDX-License-Identifier: MIT
 *
 * What calls were given, as AMD's tools write it.
 */
#include "import/rows_shared.h"

/* "12", "0xff"; texts are not terminated, and what is behind a number does not matter. */
static uint64_t number_from(hb_str text, uint32_t at)
{
    uint64_t number = 0;
    if (at + 2 < text.len && text.s[at] == '0' && (text.s[at + 1] | 0x20) == 'x') {
        for (at += 2; at < text.len; at++) {
            unsigned digit = (unsigned char)text.s[at] - '0';
            if (digit > 9) {
                digit = ((unsigned char)text.s[at] | 0x20u) - 'a';
                if (digit > 5) break;
                digit += 10;
            }
            number = number << 4 | digit;
        }
        return number;
    }
    for (; at < text.len; at++) {
        unsigned digit = (unsigned char)text.s[at] - '0';
        if (digit > 9) break;
        number = number * 10 + digit;
    }
    return number;
}

/* "{z=1, y=128, x=2}" or "{z(1) y(128) x(2}" */
static void take_triple(uint32_t to[3], hb_str value)
{
    for (uint32_t i = 0; i + 1 < value.len; i++) {
        int axis = value.s[i] - 'x';
        if (axis < 0 || axis > 2 || (value.s[i + 1] != '=' && value.s[i + 1] != '(')) continue;
        to[axis] = (uint32_t)number_from(value, i + 2);
    }
}

static uint64_t number_of(hb_str value)
{
    return number_from(value, 0);
}

static void take_kind(hb_import_call_args *args, hb_str value)
{
    static const char *const kinds[] = {"HostToHost", "HostToDevice", "DeviceToHost",
                                        "DeviceToDevice", "Default"};
    args->copies = true;
    args->copy_kind = value.len == 1 ? (uint8_t)(value.s[0] - '0') : 4;
    for (uint8_t i = 0; i < HB_ARRAY_LEN(kinds); i++)
        if (hb_str_ends(value, kinds[i])) args->copy_kind = i;
}

/* "void** ptr" is where the result goes, not what it was. */
void hb_import_take_arg(hb_import_call_args *args, hb_str type, hb_str name, hb_str value)
{
    static const char *const grids[] = {"gridDimX", "gridDimY", "gridDimZ"};
    static const char *const blocks[] = {"blockDimX", "blockDimY", "blockDimZ"};
    bool out = hb_str_ends(type, "**");
    for (int i = 0; i < 3; i++) {
        if (hb_str_is(name, grids[i])) args->grid[i] = (uint32_t)number_of(value);
        if (hb_str_is(name, blocks[i])) args->block[i] = (uint32_t)number_of(value);
    }
    if (hb_str_is(name, "numBlocks") || hb_str_is(name, "gridDim")) take_triple(args->grid, value);
    if (hb_str_is(name, "dimBlocks") || hb_str_is(name, "blockDim"))
        take_triple(args->block, value);
    if (hb_str_is(name, "sharedMemBytes")) args->shared_bytes = (uint32_t)number_of(value);
    if (hb_str_is(name, "stream") || hb_str_is(name, "hStream")) args->stream = number_of(value);
    if ((hb_str_is(name, "dst") || hb_str_is(name, "ptr")) && !out) args->ptr = number_of(value);
    if (hb_str_is(name, "src")) args->src = number_of(value);
    if (hb_str_is(name, "sizeBytes") || hb_str_is(name, "size")) args->bytes = number_of(value);
    if (hb_str_is(name, "kind")) take_kind(args, value);
}

uint32_t hb_import_add_args(hb_arena *arena, hb_import_rows *rows, hb_import_call_args *args)
{
    args->has_grid = args->grid[0] && args->block[0];
    for (int i = 0; args->has_grid && i < 3; i++) {
        args->grid[i] = HB_MAX(args->grid[i], 1u);
        args->block[i] = HB_MAX(args->block[i], 1u);
    }
    return hb_import_distinct(arena, &rows->call_args, args);
}
