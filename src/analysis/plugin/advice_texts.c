/* SPDX-License-Identifier: MIT
 *
 * The plugin's recommendations, in its order and its words: the texts are a part of its answers.
 */
#include <stdlib.h>

#include "plugin/analysis.h"
#include "rules/advice.h"

#define LINK(text, url) "<a href=\"" url "\" target=\"_blank\">" text "</a>"

#define LOADING                                    \
    LINK("enable multi-processes on data loading", \
         "https://pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading")
#define DDP                                                     \
    LINK("use DistributedDataParallel instead of DataParallel", \
         "https://pytorch.org/docs/stable/notes/cuda.html#cuda-nn-ddp-instead")
/* The address is a Python tuple's text there, and so it is here. */
#define COMPRESSION \
    LINK("Gradient Compression", "('https://pytorch.org/docs/stable/ddp_comm_hooks.html',)")
#define ACCUMULATION                                                \
    LINK("Gradient Accumulation", "https://towardsdatascience.com/" \
                                  "what-is-gradient-accumulation-in-deep-learning-ec034122cfa")
#define LAMB               \
    LINK("LAMB optimizer", \
         "https://nvidia.github.io/apex/optimizers.html#apex.optimizers.FusedLAMB")
#define AMP        LINK("Automatic Mixed Precision", "https://pytorch.org/docs/stable/amp.html")
#define CHECKPOINT LINK("Gradient Checkpoint", "https://pytorch.org/docs/stable/checkpoint.html")

static void add(hb_analysis *a, hb_buf *buf)
{
    char *text = hb_arena_alloc(&a->arena, buf->size + 1);
    memcpy(text, buf->data, buf->size);
    *HB_PUSH(&a->arena, &a->advice) = text;
    buf->size = 0;
}

static void slow_loading(hb_analysis *a, hb_buf *buf)
{
    double ratio = a->average[HB_ROLE_LOADER].v / a->average[HB_ROLE_TOTAL].v;
    if (!(ratio > hb_advice_threshold(HB_ADVICE_LOADING))) return;
    hb_buf_printf(
        buf,
        "This run has high time cost on input data loading. %.1f%% of the step time is in "
        "DataLoader. You could try to set num_workers on DataLoader's construction and " LOADING
        ".",
        ratio * 100);
    add(a, buf);
}

static void use_ddp(hb_analysis *a, hb_buf *buf)
{
    if (!a->use_dp || a->num_used_devices < 2) return;
    hb_buf_str(buf, "It is recommended to " DDP " to do multi-GPU training.");
    add(a, buf);
}

/* float("<major>.<minor>"), as the plugin compares capabilities. */
static double capability(hb_analysis *a, const hb_prop *prop)
{
    hb_buf text;
    hb_buf_init(&text, 4096);
    hb_prop_capability(&text, prop);
    char *end = NULL;
    const char *s = hb_buf_text(&text);
    double value = strtod(s, &end);
    bool ok = *s && end && *end == 0;
    hb_buf_free(&text);
    if (!ok) hb_reject_trace(a, "deviceProperties: the compute capability is not a number");
    return value;
}

static const hb_prop *prop_at(hb_analysis *a, int64_t index)
{
    if (index < 0) index += a->props.count;
    if (index < 0 || index >= a->props.count)
        hb_reject_trace(a, "deviceProperties has no entry %lld", (long long)index);
    if (!a->props.items[index].is_object)
        hb_reject_trace(a, "deviceProperties: entry %lld is not an object", (long long)index);
    return &a->props.items[index];
}

static void use_nccl(hb_analysis *a, hb_buf *buf)
{
    if (!a->use_ddp || a->has_nccl || !a->props.present) return;
    if (a->props.odd) hb_reject_trace(a, "deviceProperties is not a list");
    for (uint32_t i = 0; i < a->props.count; i++) {
        const hb_prop *prop = prop_at(a, i);
        if (hb_value_is_null(&prop->major) || hb_value_is_null(&prop->minor) ||
            !(capability(a, prop) >= 3.5))
            continue;
        hb_buf_str(buf, "Nccl backend is currently the fastest and highly recommended backend when "
                        "using DDP for training.");
        add(a, buf);
        return;
    }
}

static void much_communication(hb_analysis *a, hb_buf *buf)
{
    double ratio = a->average[HB_ROLE_COMMUNICATION].v / a->average[HB_ROLE_TOTAL].v;
    if (!(ratio > hb_advice_threshold(HB_ADVICE_COMMUNICATION))) return;
    hb_buf_printf(
        buf,
        "This run has high time cost on communication. %.1f%% of the step time is in "
        "communication. You could try " COMPRESSION " or " ACCUMULATION
        " or increase the batch size. Note: Gradient accumulation will increase global effective "
        "batch size, which may hurt model convergence and accuracy. For such case, you may want to "
        "evaluate " LAMB ".",
        ratio * 100);
    add(a, buf);
}

static void idle_gpus(hb_analysis *a, hb_buf *buf)
{
    uint32_t idle = 0, seen = 0;
    for (uint32_t i = 0; i < a->num_gpus; i++)
        idle += a->gpus[i].utilization < hb_advice_threshold(HB_ADVICE_UTILIZATION);
    if (!idle) return;
    hb_buf_str(buf, "GPU ");
    size_t before = buf->size;
    for (uint32_t i = 0; i < a->num_gpus; i++) {
        char text[16];
        if (!(a->gpus[i].utilization < hb_advice_threshold(HB_ADVICE_UTILIZATION))) continue;
        seen++;
        hb_buf_str(buf, seen == 1 ? "" : seen == idle ? "and " : ", ");
        hb_buf_str(buf, hb_gpu_text(&a->gpus[i], text));
    }
    hb_buf_str(buf, buf->size - before == 1 ? " has" : " have");
    hb_buf_str(buf,
               " low utilization. You could try to increase batch size to improve. Note: "
               "Increasing batch size may affect the speed and stability of model convergence.");
    add(a, buf);
}

static void use_amp(hb_analysis *a, hb_buf *buf)
{
    hb_num major;
    const hb_prop *first = prop_at(a, 0);
    if (hb_value_is_null(&first->major)) return;
    if (!hb_value_number(&first->major, &major))
        hb_reject_trace(a, "deviceProperties: computeMajor is not a number");
    if (!(major.v >= 7) || !a->has_role[HB_ROLE_KERNEL] || a->tc_used_ratio != 0 ||
        !(a->tc_eligible_ratio > 0))
        return;
    hb_buf_printf(buf,
                  "Kernels with %.0f%% time are launched by Tensor Cores eligible operators. "
                  "You could enable " AMP " to speedup by using FP16.",
                  hb_py_round(a->tc_eligible_ratio * 100, 0));
    add(a, buf);
}

/* ---- memory near the limit ---- */

typedef struct peak {
    hb_key device;
    double bytes;
} peak;

typedef HB_VEC(peak) peaks;

static peaks find_peaks(hb_analysis *a)
{
    peaks list = {0};
    hb_dict places = {0};
    bool added;
    for (uint32_t i = 0; i < a->memory.count; i++) {
        const hb_memory_record *r = &a->memory.items[i];
        const hb_memory_row *m = hb_trace_memory(a->trace, hb_trace_row(a->trace, r->row));
        unsigned type = HB_MIN(m->device_type, 2); /* those that the plugin does not know are one */
        if (r->allocated != r->allocated && !r->allocated_bad) continue;
        if (r->allocated_bad)
            hb_reject_trace(a, "event %u: Total Allocated is not a number", r->row);
        hb_dict_entry *e = hb_dict_add(&a->arena, &places, (uint64_t)m->device << 2 | type, &added);
        if (added) {
            e->value = list.count;
            *HB_PUSH(&a->arena, &list) = (peak){hb_trace_key_at(a->trace, m->device), 0};
        }
        peak *p = &list.items[e->value];
        if (r->allocated > p->bytes) p->bytes = r->allocated;
    }
    return list;
}

/* The CPU's records are looked at as well; their device -1 is the last entry to Python. */
static void full_memory(hb_analysis *a, hb_buf *buf)
{
    peaks list = find_peaks(a);
    for (uint32_t i = 0; i < list.count; i++) {
        hb_num total;
        if (hb_key_tag(list.items[i].device) != HB_KEY_TAG_INT)
            hb_reject_trace(a, "a memory event's Device Id is no index of deviceProperties");
        int64_t id = hb_key_value(list.items[i].device);
        const hb_prop *prop = prop_at(a, id);
        if (hb_value_is_null(&prop->memory)) continue;
        if (!hb_value_number(&prop->memory, &total))
            hb_reject_trace(a, "deviceProperties: totalGlobalMem is not a number");
        if (!(list.items[i].bytes > total.v * hb_advice_threshold(HB_ADVICE_MEMORY))) continue;
        if (total.v == 0) hb_reject_trace(a, "deviceProperties: totalGlobalMem is 0");
        hb_buf_printf(
            buf,
            "Device memory usage is at the limit of device memory capacity (%.1f%% of "
            "%.1fGB on GPU%lld). To get better value of your GPU or to use larger batch size "
            "for training, please refer to " CHECKPOINT " or " AMP ".",
            list.items[i].bytes / total.v * 100, total.v / 1024 / 1024 / 1024, (long long)id);
        add(a, buf);
        return;
    }
}

void hb_analyze_advice(hb_analysis *a)
{
    slow_loading(a, &a->text);
    use_ddp(a, &a->text);
    use_nccl(a, &a->text);
    much_communication(a, &a->text);
    idle_gpus(a, &a->text);
    if (a->props.odd) hb_reject_trace(a, "deviceProperties is not a list");
    if (a->props.present) {
        use_amp(a, &a->text);
        full_memory(a, &a->text);
    }
}
