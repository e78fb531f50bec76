// SPDX-License-Identifier: MIT
//
// stack FILE writes the call stack of one scope to FILE.
#include <hipboard/analysis.hpp>
#include <unistd.h>

__attribute__((noinline)) static void work()
{
    auto scope = hipboard::record_function("work"); // LINE
    usleep(2000);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    auto options = hipboard::default_options();
    options.with_stack = true;
    hipboard::profiler prof(options);
    prof.start();
    work(); // LINE
    prof.stop();
    hipboard::export_stacks(prof, argv[1]);
}
