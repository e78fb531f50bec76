/* SPDX-License-Identifier: MIT */
#include "rules/collective_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* To torch's group of MPI a barrier is one, and not a reduction of nothing. */
#define MPI_ALL(plugin)     "mpi:" plugin
#define MPI_ROOT(plugin)    "mpi:" plugin
#define MPI_UNKNOWN(plugin) "mpi:" plugin
#define MPI_GROUP(plugin)   "mpi:" plugin
#define MPI_BARRIER(plugin) "mpi:barrier"

static const hb_collective_name rows[] = {
#define HB_COLLECTIVE_NAME(word, torch, plugin, waits, bus) \
    {word,                                                  \
     torch,                                                 \
     sizeof(plugin) > 1 ? "gloo:" plugin : "",              \
     sizeof(plugin) > 1 ? "nccl:" plugin : "",              \
     sizeof(plugin) > 1 ? MPI_##waits(plugin) : "",         \
     HB_COLLECTIVE_WAITS_##waits,                           \
     HB_COLLECTIVE_BUS_##bus},
#include "rules/collective_names.def"
#undef HB_COLLECTIVE_NAME
};

enum { LONGEST = 40 };

static bool begins(hb_str name, const char *prefix)
{
    size_t n = strlen(prefix);
    return name.len > n && memcmp(name.s, prefix, n) == 0;
}

bool hb_collective_is_mpi_s(hb_str name)
{
    return begins(name, "MPI_");
}

static hb_str behind(hb_str name, size_t n)
{
    return (hb_str){name.s + n, name.len - (uint32_t)n};
}

static hb_str without_library(hb_str name)
{
    const char *colon = memrchr(name.s, ':', name.len);
    if (colon) return behind(name, (size_t)(colon + 1 - name.s));
    if (hb_collective_is_mpi_s(name)) return behind(name, 4);
    if (begins(name, "nccl")) return behind(name, 4);
    return name;
}

static const hb_collective_name *find(const char *word)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].word, word) == 0) return &rows[i];
    return NULL;
}

const hb_collective_name *hb_collective_of(hb_str name)
{
    char word[LONGEST + 1];
    size_t n = 0;
    hb_str bare = without_library(name);
    if (bare.len > 2 && memcmp(bare.s + bare.len - 2, "_c", 2) == 0) bare.len -= 2;
    if (bare.len > LONGEST) return NULL;
    for (uint32_t i = 0; i < bare.len; i++)
        if (bare.s[i] != '_') word[n++] = (char)tolower((unsigned char)bare.s[i]);
    word[n] = '\0';
    const hb_collective_name *found = find(word);
    return found || *word != 'i' ? found : find(word + 1);
}

bool hb_collectives_differ(hb_str a, hb_str b)
{
    const hb_collective_name *x = hb_collective_of(a), *y = hb_collective_of(b);
    return x && y && x->waits != HB_COLLECTIVE_WAITS_GROUP &&
           y->waits != HB_COLLECTIVE_WAITS_GROUP && strcmp(x->torch, y->torch) != 0;
}

/* torch reduces and scatters by RCCL only where it is given one tensor, and has a name for that, by
 * which readers know it: TraceLens no other one. */
const char *hb_collective_key(hb_str call, const hb_collective_name *collective)
{
    bool is = begins(call, "nccl") && strcmp(collective->word, "reducescatter") == 0;
    return is ? "_reduce_scatter_base" : collective->torch;
}

/* Others give a list of sizes: "MPI_Alltoallv", "ncclAllToAllv", and this one of MPI's. */
bool hb_collective_splits_evenly(hb_str name)
{
    const hb_collective_name *c = hb_collective_of(name);
    if (!c) return false;
    char last = c->word[strlen(c->word) - 1];
    if (strcmp(c->word, "reducescatter") == 0) return !hb_collective_is_mpi_s(name);
    return last != 'v' && last != 'w';
}

bool hb_collective_starts_kernel(hb_str name)
{
    return begins(name, "nccl") || hb_str_is(name, HB_COLLECTIVE_SCOPE);
}
