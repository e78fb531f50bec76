// SPDX-License-Identifier: MIT
//
// For -fno-exceptions: failures are results. no_exceptions FILE writes one trace to FILE.
#include <cstring>

#include <hipboard/analysis.hpp>

int main(int argc, char **argv)
{
    auto wrong = hipboard::default_options();
    wrong.schedule = hipboard::schedule().active(0).wait(1);
    if (argc != 2 || hipboard::profiler(wrong) || !std::strstr(hb_last_error(), "active")) return 1;
    hipboard::profiler prof;
    if (!prof || prof.start() != HB_OK || prof.start() == HB_OK) return 2;
    {
        HB_SCOPE("outer");
        auto inner = hipboard::record_function(HB_SITE("inner"));
    }
    if (prof.stop() != HB_OK || !hipboard::table(prof, "nonsense").empty()) return 3;
    return prof.export_chrome_trace(argv[1], HB_DIALECT_KINETO) == HB_OK ? 0 : 4;
}
