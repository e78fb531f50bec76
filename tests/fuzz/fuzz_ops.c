/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a table of functions: each line is a function's or is told of, and what the rows say
 * of a call of any parameters is within bounds.
 */
#include "fuzz.h"
#include "ops/op_call.h"

typedef struct seen {
    uint32_t last_line, told;
} seen;

static void tell(void *context, const char *file, uint32_t line, uint32_t column, const char *text)
{
    seen *s = context;
    (void)file;
    CHECK(line > s->last_line && column >= 1 && text[0]);
    s->last_line = line;
    s->told++;
}

static void check_row(const hb_op_table *table, const hb_op_entry *row)
{
    hb_op_description d;
    uint64_t words[HB_OP_MAX_PARAMS + HB_OP_REGISTERS];
    double flops;
    for (size_t i = 0; i < HB_ARRAY_LEN(words); i++)
        words[i] = i % 3 ? i * 31 : UINT64_MAX / (i + 1);
    CHECK(row->symbol[0] && row->name[0] && row->num_params <= HB_OP_MAX_PARAMS);
    CHECK(hb_op_table_find(table, row->symbol) != NULL);
    hb_op_describe(row, words, NULL, &d);
    CHECK(d.num_tensors <= HB_OP_MAX_INPUTS && d.flops >= 0);
    for (uint32_t i = 0; i < d.num_tensors; i++)
        CHECK(d.tensors[i].num_dims <= HB_OP_MAX_DIMS);
    (void)hb_op_is_small(row, words, &flops);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hb_op_table table = {0};
    seen s = {0};
    CHECK(hb_op_table_read(&table, "fuzz", (const char *)data, size, true, tell, &s) == HB_OK);
    for (uint32_t i = 0; i < table.rows.count; i++)
        check_row(&table, table.rows.items[i]);
    hb_op_table_free(&table);
    return 0;
}
