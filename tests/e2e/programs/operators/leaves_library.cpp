// SPDX-License-Identifier: MIT
#include <csetjmp>

extern "C" {
int inner(int x);
int throws(int x)
{
    throw x;
}
int jumps(int x, void *back)
{
    std::longjmp(*static_cast<std::jmp_buf *>(back), x);
}
int once(int x)
{
    return x + 1;
}
int twice(int x)
{
    return inner(x) * 2;
}
}
