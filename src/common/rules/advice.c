/* SPDX-License-Identifier: MIT */
#include "rules/advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "rules/name_class.h"

#define FEW_MATRIX 0.1 /* of the matrix products' time */

/* The tables of advice.def. */
static const struct {
    const char *name, *sentence;
    double threshold;
} rules[] = {
#define HB_ADVICE(id, name, threshold, unit, sentence) {name, sentence, threshold},
#include "rules/advice.def"
};

const char *hb_advice_name(hb_advice_id id)
{
    return rules[id].name;
}

double hb_advice_threshold(hb_advice_id id)
{
    return rules[id].threshold;
}

void hb_advice_sentence(char *to, size_t size, hb_advice_id id, ...)
{
    const char *p = rules[id].sentence;
    size_t used = 0;
    va_list facts;
    va_start(facts, id);
    while (*p && used + 1 < size) {
        const char *slot = strstr(p, "{}");
        size_t n = slot ? (size_t)(slot - p) : strlen(p);
        const char *fact = slot ? va_arg(facts, const char *) : "";
        int wrote = snprintf(to + used, size - used, "%.*s%s", (int)n, p, fact);
        used = HB_MIN(used + (size_t)HB_MAX(wrote, 0), size - 1);
        p += n + (slot ? 2 : 0);
    }
    va_end(facts);
}

static hb_rule_finding finding_of(hb_advice_id id)
{
    hb_rule_finding f = {.rule = hb_advice_name(id)};
    hb_advice_sentence(f.text, sizeof f.text, id);
    return f;
}

#define EVIDENCE(finding, ...) snprintf((finding)->evidence, sizeof(finding)->evidence, __VA_ARGS__)

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- who computes, and how they talk ---- */

void hb_distributed_facts_add(hb_distributed_facts *f, hb_str name, uint64_t calls)
{
    unsigned bits = hb_name_class_of(name);
    if (hb_name_is(HB_KNOWN_DP_FORWARD, name)) f->data_parallel += calls;
    if (hb_name_is(HB_KNOWN_DDP_FORWARD, name)) f->distributed_data_parallel += calls;
    if (bits & HB_NAME_NCCL) f->nccl += calls;
    if (bits & HB_NAME_GLOO) f->gloo += calls;
}

bool hb_rule_one_process(const hb_distributed_facts *f, hb_rule_finding *finding)
{
    if (!f->data_parallel || f->gpus < hb_advice_threshold(HB_ADVICE_ONE_PROCESS)) return false;
    *finding = finding_of(HB_ADVICE_ONE_PROCESS);
    EVIDENCE(finding, "calls of DataParallel.forward: %" PRIu64 "; GPUs that compute: %u",
             f->data_parallel, f->gpus);
    return true;
}

bool hb_rule_host_collectives(const hb_distributed_facts *f, hb_rule_finding *finding)
{
    bool distributed = f->distributed_data_parallel || f->gloo;
    if (!distributed || !f->gpus || f->nccl || f->communication_kernels) return false;
    *finding = finding_of(HB_ADVICE_HOST_COLLECTIVES);
    EVIDENCE(finding,
             "collectives of gloo: %" PRIu64 ", of RCCL or NCCL: 0; calls of "
             "DistributedDataParallel.forward: %" PRIu64,
             f->gloo, f->distributed_data_parallel);
    return true;
}

/* ---- matrix products ---- */

/* Tensile writes the data types in front: S is single precision. */
static bool is_single(hb_str name)
{
    return hb_kernel_name_matches(HB_STR("^Cijk_A*_B*_SB_"), name) ||
           hb_kernel_name_matches(HB_STR("^Cijk_A*_B*_S_B_"), name);
}

static void keep_longest(hb_str *longest, double *longest_time, hb_str name, double time)
{
    if (longest->len && time <= *longest_time) return;
    *longest = name;
    *longest_time = time;
}

void hb_math_facts_add(hb_math_facts *f, hb_str name, hb_str kernel_class, hb_matrix_verdict matrix,
                       double time)
{
    f->kernels += time;
    if (is_single(name)) {
        f->single += time;
        keep_longest(&f->longest_single, &f->longest_single_time, name, time);
    }
    if (!hb_kernel_class_is_math(kernel_class)) return;
    f->math += time;
    if (matrix == HB_MATRIX_IS_USED) f->used += time;
    if (matrix == HB_MATRIX_IS_UNUSED) f->unused += time;
    if (matrix != HB_MATRIX_IS_USED) keep_longest(&f->longest, &f->longest_time, name, time);
}

bool hb_rule_no_matrix_cores(const hb_math_facts *f, hb_rule_finding *finding)
{
    if (!f->longest.len ||
        !(f->math >= hb_advice_threshold(HB_ADVICE_NO_MATRIX_CORES) * f->kernels) ||
        f->used >= FEW_MATRIX * f->math)
        return false;
    *finding = finding_of(f->unused >= 0.5 * f->math ? HB_ADVICE_NO_MATRIX_CORES
                                                     : HB_ADVICE_UNKNOWN_MATRIX_CORES);
    finding->weight = percent(f->math - f->used, f->kernels) / 100;
    EVIDENCE(finding,
             "GEMM, convolution and attention take %.1f %% of the kernels' time; of that %.1f %% "
             "use matrix cores, %.1f %% do not, %.1f %% is unknown; the longest: %.*s%s",
             percent(f->math, f->kernels), percent(f->used, f->math), percent(f->unused, f->math),
             percent(f->math - f->used - f->unused, f->math), HB_CUT_NAME(f->longest));
    return true;
}

bool hb_rule_single_precision(const hb_math_facts *f, hb_rule_finding *finding)
{
    if (!f->longest_single.len ||
        !(f->single >= hb_advice_threshold(HB_ADVICE_SINGLE_PRECISION) * f->kernels))
        return false;
    *finding = finding_of(HB_ADVICE_SINGLE_PRECISION);
    finding->weight = percent(f->single, f->kernels) / 100;
    EVIDENCE(finding, "%.1f %% of the kernels' time; the longest: %.*s%s",
             percent(f->single, f->kernels), HB_CUT_NAME(f->longest_single));
    return true;
}

/* ---- memory ---- */

bool hb_rule_full_memory(int64_t gpu, double peak_bytes, double capacity, hb_rule_finding *finding)
{
    if (!(capacity > 0) || !(peak_bytes > hb_advice_threshold(HB_ADVICE_MEMORY) * capacity))
        return false;
    *finding = finding_of(HB_ADVICE_MEMORY);
    EVIDENCE(finding, "allocated at the peak: %.1f %% of the %.1f GiB of GPU %" PRId64,
             percent(peak_bytes, capacity), capacity / 1073741824.0, gpu);
    return true;
}
