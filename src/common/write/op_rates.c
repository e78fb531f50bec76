/* SPDX-License-Identifier: MIT */
#include "write/op_rates.h"

#include <stdlib.h>

#include "base/times.h"
#include "gpu/peaks.h"
#include "io/number_text.h"
#include "trace/devices.h"
#include "trace/op_work.h"

void hb_op_rates_free(hb_op_rates *r)
{
    free(r->scopes.items);
    free(r->owners.items);
    *r = (hb_op_rates){0};
}

/* ---- the host's side ---- */

static bool add_scope(hb_op_rates *r, uint64_t id)
{
    struct hb_rated_scope *scope = HB_APPEND(&r->scopes);
    if (scope) *scope = (struct hb_rated_scope){id, r->owners.count - 1};
    return scope != NULL;
}

static bool add_owner(hb_op_rates *r, uint64_t id)
{
    struct hb_rated_op *owner = HB_APPEND(&r->owners);
    if (owner) *owner = (struct hb_rated_op){.id = id, .device = -1};
    return owner != NULL;
}

bool hb_op_rates_note(hb_op_rates *r, const hb_trace_event *e)
{
    bool scope = e->kind == HB_EVENT_OP || e->kind == HB_EVENT_USER_ANNOTATION;
    if (!scope || !e->external_id || r->scopes.count == HB_OP_RATES_MAX) return true;
    bool inside = r->owners.count && e->tid == r->tid && e->start_ns < r->end;
    if (!inside) {
        if (!(e->op.flops > 0)) return true;
        if (!add_owner(r, e->external_id)) return false;
        r->tid = e->tid;
        r->end = e->end_ns;
    }
    return add_scope(r, e->external_id);
}

/* ---- the devices' side ---- */

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct hb_rated_scope *)a)->id, y = ((const struct hb_rated_scope *)b)->id;
    return (x > y) - (x < y);
}

static struct hb_rated_op *owner_of(const hb_op_rates *r, uint64_t id)
{
    size_t i = HB_LOWER_BOUND(r->scopes.items, r->scopes.count, id, id);
    return i < r->scopes.count && r->scopes.items[i].id == id
               ? &r->owners.items[r->scopes.items[i].owner]
               : NULL;
}

hb_result hb_op_rates_collect(hb_op_rates *r, hb_source *source)
{
    hb_trace_event e;
    if (!r->scopes.count) return HB_OK;
    qsort(r->scopes.items, r->scopes.count, sizeof *r->scopes.items, by_id);
    HB_TRY(source->begin(source, HB_PASS_DEVICE));
    while (source->next(source, &e)) {
        if (e.kind != HB_EVENT_KERNEL || !e.external_id) continue;
        struct hb_rated_op *op = owner_of(r, e.external_id);
        if (!op) continue;
        if (!op->ns) op->device = e.device;
        hb_add_ns(&op->ns, (int64_t)HB_MIN(hb_event_ns(&e), (uint64_t)INT64_MAX));
    }
    return HB_OK;
}

/* ---- args ---- */

enum { MAX_INPUTS = 16 };

static double bytes_of(const hb_op_args *op)
{
    static const uint32_t bytes[] = {
#define SIZE(id, text, size) size,
        HB_DTYPE_MAP(SIZE)
#undef SIZE
    };
    hb_shape shapes[MAX_INPUTS];
    uint32_t sizes[MAX_INPUTS];
    int n = (int)HB_MIN(op->num_inputs, (uint32_t)MAX_INPUTS);
    for (int i = 0; i < n; i++) {
        const hb_input *in = &op->inputs[i];
        bool tensor = in->kind == HB_INPUT_TENSOR && in->count <= HB_SHAPE_DIMS;
        sizes[i] = tensor && in->dtype < HB_ARRAY_LEN(bytes) ? bytes[in->dtype] : 0;
        shapes[i].count = tensor ? (int)in->count : 0;
        for (int k = 0; k < shapes[i].count; k++)
            shapes[i].dims[k] = in->dims[k];
    }
    return hb_least_bytes(shapes, sizes, n, op->flops);
}

static double peak_of(const hb_trace_info *info, const hb_trace_event *e, int32_t id)
{
    const hb_device_info *d = hb_find_device(info, id);
    hb_peak_type type = HB_PEAK_NONE;
    for (uint32_t i = 0; i < e->op.num_inputs && type == HB_PEAK_NONE; i++)
        if (e->op.inputs[i].kind == HB_INPUT_TENSOR)
            type = hb_peak_type_of_dtype(e->op.inputs[i].dtype);
    if (!d || !d->arch) return 0;
    hb_peak_query query = {.arch = {d->arch, (uint32_t)strlen(d->arch)},
                           .num_cus = d->num_cus,
                           .clock_khz = d->clock_khz,
                           .memory_khz = d->memory_khz,
                           .memory_bus_bits = d->memory_bus_bits};
    hb_peaks peaks = hb_peaks_of(&query);
    return hb_peak_of(&peaks, type);
}

static char *put(char *p, const char *key, double value)
{
    size_t n = strlen(key);
    memcpy(p, key, n);
    p = hb_put_double(p + n, value);
    *p++ = ',';
    *p++ = ' ';
    return p;
}

char *hb_put_op_rates(char *p, const hb_op_rates *r, const hb_trace_info *info,
                      const hb_trace_event *e)
{
    const struct hb_rated_op *op = r->scopes.count ? owner_of(r, e->external_id) : NULL;
    if (!op || op->id != e->external_id || op->ns <= 0 || !(e->op.flops > 0)) return p;
    double bytes = bytes_of(&e->op), peak = peak_of(info, e, op->device);
    double rate = e->op.flops / (double)op->ns * 1e9;
    p = put(p, "\"TFLOP/s\": ", rate / 1e12);
    if (bytes > 0) p = put(p, "\"FLOP/byte\": ", e->op.flops / bytes);
    if (peak > 0) p = put(p, "\"% of peak\": ", 100 * rate / peak);
    return p;
}
