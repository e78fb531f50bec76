/* SPDX-License-Identifier: MIT */
#include "rules/advice.h"

#include <inttypes.h>
#include <stdio.h>

#include "rules/name_class.h"

#define MIN_MATH   0.2 /* of the kernels' time; with less it is not worth a line */
#define FEW_MATRIX 0.1 /* of the matrix products' time */

#define NAMED(finding, name, sentence) \
    (snprintf((finding)->text, sizeof(finding)->text, "%s", sentence), (finding)->rule = name)
#define EVIDENCE(finding, ...) snprintf((finding)->evidence, sizeof(finding)->evidence, __VA_ARGS__)

/* A kernel's name is cut: it shall be recognised, not read. */
#define NAME_ARGS(str) (int)HB_MIN((str).len, 60u), (str).s, (str).len > 60 ? "..." : ""

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- who computes, and how they talk ---- */

void hb_distributed_facts_add(hb_distributed_facts *f, hb_str name, uint64_t calls)
{
    unsigned bits = hb_name_bits_of(name);
    if (hb_str_is(name, "DataParallel.forward")) f->data_parallel += calls;
    if (hb_str_is(name, "DistributedDataParallel.forward")) f->distributed_data_parallel += calls;
    if (bits & HB_NAME_NCCL) f->nccl += calls;
    if (bits & HB_NAME_GLOO) f->gloo += calls;
}

bool hb_rule_one_process(const hb_distributed_facts *f, hb_rule_finding *finding)
{
    if (!f->data_parallel || f->gpus < 2) return false;
    *finding = (hb_rule_finding){.weight = 0};
    NAMED(finding, "one-process",
          "One process feeds all GPUs and copies the model to them in every step: a process for "
          "each GPU (DistributedDataParallel, collectives of RCCL) scales better.");
    EVIDENCE(finding, "calls of DataParallel.forward: %" PRIu64 "; GPUs that compute: %u",
             f->data_parallel, f->gpus);
    return true;
}

bool hb_rule_host_collectives(const hb_distributed_facts *f, hb_rule_finding *finding)
{
    bool distributed = f->distributed_data_parallel || f->gloo;
    if (!distributed || !f->gpus || f->nccl || f->communication_kernels) return false;
    *finding = (hb_rule_finding){.weight = 0};
    NAMED(finding, "host-collectives",
          "GPUs exchange data, but no collective of RCCL was recorded: through the host (gloo, "
          "MPI) it takes longer than from GPU to GPU by the backend \"nccl\", which is RCCL on AMD "
          "GPUs.");
    EVIDENCE(finding,
             "collectives of gloo: %" PRIu64 ", of RCCL or NCCL: 0; calls of "
             "DistributedDataParallel.forward: %" PRIu64,
             f->gloo, f->distributed_data_parallel);
    return true;
}

/* ---- matrix products ---- */

static bool is_math(hb_str kernel_class)
{
    return hb_str_is(kernel_class, "gemm") || hb_str_is(kernel_class, "convolution") ||
           hb_str_is(kernel_class, "attention");
}

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
    if (!is_math(kernel_class)) return;
    f->math += time;
    if (matrix == HB_MATRIX_IS_USED) f->used += time;
    if (matrix == HB_MATRIX_IS_UNUSED) f->unused += time;
    if (matrix != HB_MATRIX_IS_USED) keep_longest(&f->longest, &f->longest_time, name, time);
}

bool hb_rule_no_matrix_cores(const hb_math_facts *f, hb_rule_finding *finding)
{
    if (!f->longest.len || !(f->math >= MIN_MATH * f->kernels) || f->used >= FEW_MATRIX * f->math)
        return false;
    *finding = (hb_rule_finding){.weight = percent(f->math - f->used, f->kernels) / 100};
    NAMED(finding, "no-matrix-cores",
          f->unused >= 0.5 * f->math
              ? "Matrix products do not use the matrix cores: half precision and sizes that are "
                "multiples of 16 let the libraries choose kernels that do."
              : "Most of the time goes into matrix products, of whose kernels none is known to use "
                "the matrix cores; whether they could is worth a look.");
    EVIDENCE(finding,
             "GEMM, convolution and attention take %.1f %% of the kernels' time; of that %.1f %% "
             "use matrix cores, %.1f %% do not, %.1f %% is unknown; the longest: %.*s%s",
             percent(f->math, f->kernels), percent(f->used, f->math), percent(f->unused, f->math),
             percent(f->math - f->used - f->unused, f->math), NAME_ARGS(f->longest));
    return true;
}

bool hb_rule_single_precision(const hb_math_facts *f, hb_rule_finding *finding)
{
    if (!f->longest_single.len || !(f->single >= MIN_MATH * f->kernels)) return false;
    *finding = (hb_rule_finding){.weight = percent(f->single, f->kernels) / 100};
    NAMED(finding, "single-precision",
          "Matrix products are of single precision, which matrix cores multiply at a fraction of "
          "their speed for half precision: consider mixed precision.");
    EVIDENCE(finding, "%.1f %% of the kernels' time; the longest: %.*s%s",
             percent(f->single, f->kernels), NAME_ARGS(f->longest_single));
    return true;
}

/* ---- memory ---- */

bool hb_rule_full_memory(int64_t gpu, double peak_bytes, double capacity, hb_rule_finding *finding)
{
    if (!(capacity > 0) || !(peak_bytes > HB_ADVICE_MEMORY * capacity)) return false;
    *finding = (hb_rule_finding){.weight = 0};
    NAMED(finding, "full-memory",
          "A GPU's memory is nearly full: smaller batches, less kept for the backward pass or half "
          "precision would leave some room.");
    EVIDENCE(finding, "allocated at the peak: %.1f %% of the %.1f GiB of GPU %" PRId64,
             percent(peak_bytes, capacity), capacity / 1073741824.0, gpu);
    return true;
}
