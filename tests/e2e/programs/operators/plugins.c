/* SPDX-License-Identifier: MIT
 *
 * Loads the plug-ins that it is given, each with a library of its own, whose functions have the
 * same names; each must call its own.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_LOCAL | RTLD_LAZY);
        int (*run)(int);
        if (!library) {
            puts(dlerror());
            return 1;
        }
        *(void **)&run = dlsym(library, "run");
        printf("%d\n", run(10));
    }
    return 0;
}
