/* SPDX-License-Identifier: MIT */
#include "program_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void preload(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    char *all;
    if (!others || !*others)
        setenv("LD_PRELOAD", library, 1);
    else if (asprintf(&all, "%s:%s", library, others) >= 0) {
        setenv("LD_PRELOAD", all, 1);
        free(all);
    }
}

static void name_behind(const char *variable, const char *library, char between)
{
    const char *others = getenv(variable);
    char *all = NULL;
    if (others && *others && asprintf(&all, "%s%c%s", others, between, library) < 0) return;
    setenv(variable, all ? all : library, 1);
    free(all);
}

void name_to_kokkos(const char *library)
{
    name_behind("KOKKOS_TOOLS_LIBS", library, ';');
}

void name_to_openmp(const char *library)
{
    name_behind("OMP_TOOL_LIBRARIES", library, ':');
}

/* gcc's address checker refuses to run behind another preloaded library. What it is afraid of, a
 * malloc() before its own, is not in ours. */
void allow_address_checks(void)
{
    static const char order[] = "verify_asan_link_order=0";
    const char *own = getenv("ASAN_OPTIONS");
    char *all;
    if (!own || !*own)
        setenv("ASAN_OPTIONS", order, 1);
    else if (!strstr(own, "verify_asan_link_order") && asprintf(&all, "%s:%s", own, order) >= 0) {
        setenv("ASAN_OPTIONS", all, 1);
        free(all);
    }
}
