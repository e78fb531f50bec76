/* SPDX-License-Identifier: MIT
 *
 * What names mean, asked once for each distinct one.
 */
#include "plugin/analysis.h"

unsigned hb_name_class_slow(hb_analysis *a, hb_string_id name)
{
    if (name >= a->num_name_bits) {
        uint32_t count = HB_MAX(name + 1, a->trace->strings.count) + 64;
        uint16_t *bits = HB_NEW_ARRAY(&a->arena, uint16_t, count);
        if (a->num_name_bits) memcpy(bits, a->name_bits, a->num_name_bits * sizeof *bits);
        a->name_bits = bits;
        a->num_name_bits = count;
    }
    return a->name_bits[name] = (uint16_t)hb_name_class_of(hb_trace_text(a->trace, name));
}

const char *hb_type_text(hb_type type)
{
    static const char *const texts[] = {[HB_TYPE_OPERATOR] = "Operator",
                                        [HB_TYPE_PYTHON] = "Python",
                                        [HB_TYPE_STEP] = "ProfilerStep",
                                        [HB_TYPE_MODULE] = "Module",
                                        [HB_TYPE_ANNOTATION] = "user_annotation",
                                        [HB_TYPE_PL_MODULE] = "pl_module",
                                        [HB_TYPE_PL_PROFILE] = "pl_profile",
                                        [HB_TYPE_BACKWARD] = "backward",
                                        [HB_TYPE_MEMORY] = NULL};
    return texts[type];
}
