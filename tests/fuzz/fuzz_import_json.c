/* SPDX-License-Identifier: MIT
 *
 * Rocprofv3's, rocprof's and ONNX Runtime's JSON, and any of Chrome's kind.
 */
#define FORMATS "rocprofv3 JSON", "rocprof JSON", "ONNX Runtime", "Chrome JSON"
#define TAKES_ANY
#include "fuzz_import.h"
#include "json_mutator.h"
