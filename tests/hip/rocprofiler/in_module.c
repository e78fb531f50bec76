/* SPDX-License-Identifier: MIT
 *
 * in_module MODULE ARGUMENTS...: a program that is a module of this one, as those of Python are:
 * what it is linked to is seen by nobody else.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*start)(int, char **);
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *address = module ? dlsym(module, "main") : NULL;
    memcpy(&start, &address, sizeof start);
    if (!start) {
        fprintf(stderr, "%s\n", module ? "no main" : dlerror());
        return 1;
    }
    return start(argc - 1, argv + 1);
}
