/* SPDX-License-Identifier: MIT
 *
 * Rules of advice, apart from how their facts are found: in a cycle's numbers, in a trace's rows,
 * or as the plugin finds them, whose thresholds these are.
 */
#ifndef HB_RULES_ADVICE_H
#define HB_RULES_ADVICE_H

#include "base/utf8.h"
#include "rules/kernel_class.h"

typedef enum hb_advice_id {
#define HB_ADVICE(id, name, threshold, unit, sentence) HB_ADVICE_##id,
#include "rules/advice.def"
    HB_ADVICE_COUNT
} hb_advice_id;

const char *hb_advice_name(hb_advice_id id);
/** From where on it is given. */
double hb_advice_threshold(hb_advice_id id);
/** The sentence, with a text for each "{}" in it, in order. */
void hb_advice_sentence(char *to, size_t size, hb_advice_id id, ...);

/** For "%.*s%s": a kernel's name in advice is cut, it shall be recognised, not read. */
#define HB_CUT_NAME(str) \
    (int)hb_utf8_cut((str).s, (str).len, 60), (str).s, (str).len > 60 ? "..." : ""

/** What to do, and the figures that say so; in whole sentences. */
typedef struct hb_rule_finding {
    const char *rule; /* a short name */
    char text[400], evidence[600];
    double weight; /* share of the time that it is about */
} hb_rule_finding;

/* ---- who computes, and how they talk ---- */

typedef struct hb_distributed_facts {
    uint64_t data_parallel, distributed_data_parallel; /* calls of the models' forward */
    uint64_t nccl, gloo;                               /* collectives on the host's threads */
    bool communication_kernels;
    unsigned gpus; /* that computed something */
} hb_distributed_facts;

/** Counts `calls` of an operator or scope of that name. */
void hb_distributed_facts_add(hb_distributed_facts *facts, hb_str name, uint64_t calls);

bool hb_rule_one_process(const hb_distributed_facts *facts, hb_rule_finding *finding);
bool hb_rule_host_collectives(const hb_distributed_facts *facts, hb_rule_finding *finding);

/* ---- matrix products ---- */

typedef struct hb_math_facts {
    double kernels;            /* time of all kernels */
    double math, used, unused; /* ... of those of matrix products; with and without matrix cores */
    double single;             /* ... of those known to multiply in single precision */
    hb_str longest, longest_single; /* the first: of those not known to use matrix cores */
    double longest_time, longest_single_time;
} hb_math_facts;

/** Counts the kernels of a name; times in whatever unit. */
void hb_math_facts_add(hb_math_facts *facts, hb_str name, hb_str kernel_class,
                       hb_matrix_verdict matrix, double time);

bool hb_rule_no_matrix_cores(const hb_math_facts *facts, hb_rule_finding *finding);
bool hb_rule_single_precision(const hb_math_facts *facts, hb_rule_finding *finding);

/* ---- memory ---- */

/** `capacity`: 0 when it is not known. */
bool hb_rule_full_memory(int64_t gpu, double peak_bytes, double capacity, hb_rule_finding *finding);

#endif
