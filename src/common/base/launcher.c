/* SPDX-License-Identifier: MIT */
#include "base/launcher.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

/* Variables of one launcher; NULL: it has none. The first row whose rank is there holds. */
typedef struct variables {
    const char *name, *backend;
    const char *rank, *size[3], *local_rank, *local_size, *node;
    const char *also; /* without which the rank means nothing; NULL: nothing */
} variables;

/* Slurm's stand behind those of MPI's own launchers: an mpirun within an allocation inherits
 * SLURM_PROCID=0 on every rank. A batch script has it, too, and no step. */
static const variables launchers[] = {
    {"Open MPI",
     "mpi",
     "OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_SIZE"},
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     NULL,
     NULL},
    {"MVAPICH",
     "mpi",
     "MV2_COMM_WORLD_RANK",
     {"MV2_COMM_WORLD_SIZE"},
     "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE",
     NULL,
     NULL},
    {"PMI", "mpi", "PMI_RANK", {"PMI_SIZE"}, "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL, NULL},
    {"PMIx",
     "mpi",
     "PMIX_RANK",
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     "SLURM_LOCALID",
     NULL,
     "SLURM_NODEID",
     NULL},
    {"Flux", "mpi", "FLUX_TASK_RANK", {"FLUX_JOB_SIZE"}, "FLUX_TASK_LOCAL_ID", NULL, NULL, NULL},
    {"PALS",
     "mpi",
     "PALS_RANKID",
     {"PALS_SIZE", "PMI_SIZE"},
     "PALS_LOCAL_RANKID",
     "PALS_LOCAL_SIZE",
     "PALS_NODEID",
     NULL},
    {"Slurm",
     "mpi",
     "SLURM_PROCID",
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     "SLURM_LOCALID",
     NULL,
     "SLURM_NODEID",
     "SLURM_STEP_ID"},
    {"torchrun",
     NULL,
     "RANK",
     {"WORLD_SIZE"},
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     "GROUP_RANK",
     NULL},
};

/* What a program that has more rights than its caller is told means nothing. */
static int64_t number(const char *variable)
{
    const char *text = variable ? secure_getenv(variable) : NULL;
    char *end;
    if (!text || *text < '0' || *text > '9') return HB_LAUNCHER_UNKNOWN;
    long long value = strtoll(text, &end, 10);
    return *end || value > INT32_MAX ? HB_LAUNCHER_UNKNOWN : value;
}

static int64_t size_of(const variables *v, int64_t rank)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(v->size); i++)
        if (number(v->size[i]) > rank) return number(v->size[i]);
    return HB_LAUNCHER_UNKNOWN;
}

/* Of nodes that have equally many ranks, one behind the other: as launchers place them unless they
 * are told otherwise. */
static int64_t node_of(const variables *v, const hb_launcher *l)
{
    int64_t node = number(v->node);
    if (node >= 0 || l->local_size < 1 || l->local_rank < 0 || l->rank < l->local_rank) return node;
    return (l->rank - l->local_rank) / l->local_size;
}

static bool take(const variables *v, hb_launcher *l)
{
    int64_t rank = number(v->rank);
    if (rank < 0 || (v->also && !secure_getenv(v->also) && secure_getenv("SLURM_JOB_ID")))
        return false;
    *l = (hb_launcher){.rank = rank,
                       .size = size_of(v, rank),
                       .local_rank = number(v->local_rank),
                       .local_size = number(v->local_size),
                       .name = v->name,
                       .backend = v->backend};
    l->node = node_of(v, l);
    return true;
}

/* The user's own variable tells the rank; what else there is, whoever tells it. */
static bool take_named(const char *variable, hb_launcher *l)
{
    int64_t rank = number(variable);
    if (rank < 0) return false;
    bool others = false;
    for (size_t i = 0; i < HB_ARRAY_LEN(launchers) && !others; i++)
        others = take(&launchers[i], l);
    if (!others)
        *l = (hb_launcher){.size = number("WORLD_SIZE"),
                           .local_rank = HB_LAUNCHER_UNKNOWN,
                           .local_size = HB_LAUNCHER_UNKNOWN,
                           .node = HB_LAUNCHER_UNKNOWN};
    l->rank = rank;
    l->name = "the named variable";
    if (l->size <= rank) l->size = HB_LAUNCHER_UNKNOWN;
    return true;
}

bool hb_launcher_find(hb_launcher *launcher)
{
    const char *variable = secure_getenv(HB_LAUNCHER_RANK_FROM);
    if (variable && *variable && take_named(variable, launcher)) return true;
    for (size_t i = 0; i < HB_ARRAY_LEN(launchers); i++)
        if (take(&launchers[i], launcher)) return true;
    *launcher = (hb_launcher){.rank = HB_LAUNCHER_UNKNOWN,
                              .size = HB_LAUNCHER_UNKNOWN,
                              .local_rank = HB_LAUNCHER_UNKNOWN,
                              .local_size = HB_LAUNCHER_UNKNOWN,
                              .node = HB_LAUNCHER_UNKNOWN};
    return false;
}

/* ---- a rank's first process ---- */

/* Of an environment as /proc has it: "NAME=value", each with a NUL behind it. */
static bool names_a_rank(const char *entry)
{
    const char *own = secure_getenv(HB_LAUNCHER_RANK_FROM);
    size_t n = strcspn(entry, "=");
    if (own && strlen(own) == n && strncmp(entry, own, n) == 0) return true;
    for (size_t i = 0; i < HB_ARRAY_LEN(launchers); i++)
        if (strlen(launchers[i].rank) == n && strncmp(entry, launchers[i].rank, n) == 0)
            return true;
    return false;
}

/* Launchers' own processes have no rank. A parent that can't be asked is one. */
static bool parent_has_a_rank(void)
{
    char path[40], entry[512];
    size_t used = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    FILE *file = fopen(path, "re");
    for (int c; file && !found && (c = getc(file)) != EOF;) {
        if (used < sizeof entry - 1) entry[used++] = (char)c;
        if (c) continue;
        entry[used] = '\0';
        found = names_a_rank(entry);
        used = 0;
    }
    if (file) fclose(file);
    return found;
}

bool hb_launcher_is_first_process(void)
{
    int64_t first = number(HB_LAUNCHER_FIRST);
    return first >= 0 ? first == getpid() : !parent_has_a_rank();
}

/* ---- names ---- */

static int digits(int64_t value)
{
    int n = 1;
    while (value /= 10)
        n++;
    return n;
}

void hb_launcher_worker(char *name, size_t size)
{
    hb_launcher l;
    char host[256];
    hb_host_name(host, sizeof host);
    if (!hb_launcher_find(&l) || l.size == 1) {
        snprintf(name, size, "%s_%d", host, (int)getpid());
        return;
    }
    int width = l.size > 0 ? digits(l.size - 1) : 1;
    int n = snprintf(name, size, "%s_%0*lld", host, width, (long long)l.rank);
    if (n > 0 && (size_t)n < size && !hb_launcher_is_first_process())
        snprintf(name + n, size - (size_t)n, "-%d", (int)getpid());
}
