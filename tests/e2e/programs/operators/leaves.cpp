// SPDX-License-Identifier: MIT
//
// Calls that are left in other ways than by returning, and calls within calls.
#include <chrono>
#include <csetjmp>
#include <cstdio>
#include <thread>

extern "C" {
int throws(int x);
int jumps(int x, void *back);
int twice(int x);
int once(int x);
}

static void with_exceptions()
{
    for (int i = 0; i < 3; i++) try {
            throws(i);
        } catch (int x) {
            std::printf("caught %d\n", x);
        }
}

static void with_longjmp()
{
    std::jmp_buf back;
    volatile int i = 0;
    if (setjmp(back)) std::printf("back %d\n", static_cast<int>(i));
    if (++i <= 3) jumps(i, &back);
}

int main()
{
    with_exceptions();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::printf("%d\n", once(1));
    with_longjmp();
    std::printf("%d\n", once(2));
    std::printf("%d\n", twice(3));
    std::thread(with_exceptions).join();
}
