/* SPDX-License-Identifier: MIT
 *
 * What a kernel's name tells: its class, and whether it uses matrix cores.
 *
 * Rules are lines of two words, a class (or +matrix, -matrix) and a pattern; the first that matches
 * counts, a user's before the built-in ones:
 *
 *     # blank lines and what follows a # at a line's start are passed over
 *     gemm      my_gemm        anywhere in the name, whatever its case
 *     gemm      ^mm_           only at the name's beginning ($: at its end)
 *     norm      layer*norm     * is any text, # a number, | the edge of a word (_ is no letter)
 *     gemm      ~bgemm         "gemm", but not behind a b (as in fbgemm, a library's name)
 *     +matrix   my_gemm_mfma   such kernels use matrix cores; -matrix: they do not
 */
#ifndef HB_RULES_KERNEL_CLASS_H
#define HB_RULES_KERNEL_CLASS_H

#include "base/hash_map.h"
#include "base/string_table.h"

typedef enum hb_kernel_class_id {
#define HB_KERNEL_CLASS(id, name, math) HB_KERNELS_##id,
#define HB_KERNELS(class, ...)
#define HB_WITHOUT_MATRIX(pattern)
#define HB_WITH_MATRIX(pattern)
#include "rules/kernels.def"
    HB_KERNELS_COUNT
} hb_kernel_class_id;

/** Whether a class, which may be a user's, is that one of ours, or one of matrix products. */
bool hb_kernel_class_is(hb_kernel_class_id id, hb_str name);
bool hb_kernel_class_is_math(hb_str name);

typedef struct hb_kernel_rule {
    hb_str word, pattern;
} hb_kernel_rule;

typedef enum hb_matrix_verdict {
    HB_MATRIX_IS_UNKNOWN,
    HB_MATRIX_IS_USED,
    HB_MATRIX_IS_UNUSED,
} hb_matrix_verdict;

typedef struct hb_kernel_rules {
    HB_VEC(hb_kernel_rule) user;
    hb_texts code_names;   /* kernels whose code was looked at; empty: none */
    hb_dict code_verdicts; /* by their ids */
} hb_kernel_rules;

/** Reads a user's rules, whose text must live as long as they. Leaves the arena's analysis with
 * HB_ERROR_FORMAT, "PATH:LINE: ...", when there is something wrong with them. */
void hb_kernel_rules_parse(hb_arena *arena, const char *path, hb_str text, hb_kernel_rules *rules);

/** The class; "other" when no rule knows the name. */
hb_str hb_kernel_class_of(const hb_kernel_rules *rules, hb_str name);
/** What a user says, else what the kernel's code tells, else what its name does. */
hb_matrix_verdict hb_kernel_matrix_of(const hb_kernel_rules *rules, hb_str name);

/** Notes what a kernel's code tells. Code for several architectures that does not agree tells
 * nothing. */
void hb_kernel_rules_add_code(hb_arena *arena, hb_kernel_rules *rules, hb_str name,
                              hb_matrix_verdict verdict);
void hb_kernel_rules_free(hb_kernel_rules *rules);

/** Whether the pattern matches the name. */
bool hb_kernel_name_matches(hb_str pattern, hb_str name);

#endif
