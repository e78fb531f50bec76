/* SPDX-License-Identifier: MIT
 *
 * A user's program, outside the tree: annotated FILE writes one trace to FILE.
 */
#include <cstdint>
#include <string>

#include <hipboard/hipboard.hpp>

using hipboard::arg;

enum way { FORWARD = 3, BACKWARD = 7 };
enum class level : unsigned char { high = 200 };

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    hipboard::profiler prof;
    prof.start();
    {
        const std::string path = "a b";
        const std::size_t bytes = 4096;
        auto read = hipboard::record_function(
            "read",
            {arg("bytes", bytes), arg("ratio", 0.25F), arg("cached", true), arg("path", path),
             arg("kind", "npz"), arg("offset", std::int16_t{-7}), arg("most", UINT64_MAX),
             arg("way", BACKWARD), arg("level", level::high)},
            "io");
        hb_flow("batch", 7, HB_FLOW_BEGIN);
    }
    auto plain = hipboard::record_function("plain", {arg("rows", 2)});
    plain.end();
    hb_counter("queue", "rows", 3);
    prof.stop();
    prof.export_chrome_trace(argv[1], HB_DIALECT_KINETO);
    return 0;
}
