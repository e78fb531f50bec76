/* SPDX-License-Identifier: MIT
 *
 * Files with code objects, mapped.
 */
#ifndef HB_INSIGHT_CODE_FILES_H
#define HB_INSIGHT_CODE_FILES_H

#include "insight/insight.h"

/** Maps the files into `inputs` and looks for a C++ library's demangler. Unmap them in any case. */
hb_result hb_code_files_map(hb_insight_inputs *inputs, const char *const *paths, size_t count);
void hb_code_files_unmap(hb_insight_inputs *inputs);

#endif
