/* SPDX-License-Identifier: MIT */
#include "parallel.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "text.h"

/* Handles and numbers are words: each has a register of its own, of which MPI takes as much as it
 * needs. */
typedef uintptr_t word;

/* What the families of MPI differ in. Open MPI's handles are addresses of what has these names. */
typedef struct family {
    const char *library;
    word world, byte, no_status;
    const char *world_name, *byte_name;
} family;

static const family families[] = {
    {"libmpi.so.40", 0, 0, 0, "ompi_mpi_comm_world", "ompi_mpi_byte"},
    {"libmpich.so.12", 0x44000000, 0x4c00010d, 1, NULL, NULL},
    {"libmpi.so.12", 0x44000000, 0x4c00010d, 1, NULL, NULL},
    {"libmpi_cray.so.12", 0x44000000, 0x4c00010d, 1, NULL, NULL},
};
enum { FAMILIES = sizeof families / sizeof *families };

static struct {
    void *library;
    word world, byte, no_status;
} mpi;

enum { TAG = 7, LARGEST = 1 << 30 }; /* of one message, in bytes */

/* ---- calls ---- */

#define CALL(name, type, ...) (((type)dlsym(mpi.library, name))(__VA_ARGS__))
typedef int (*init_fn)(int *, char ***);
typedef int (*number_fn)(word, int *);
typedef int (*send_fn)(const void *, int, word, int, int, word);
typedef int (*receive_fn)(void *, int, word, int, int, word, word);
typedef int (*end_fn)(void);

static bool is_whole(void)
{
    static const char *const names[] = {"MPI_Init", "MPI_Comm_rank", "MPI_Comm_size",
                                        "MPI_Send", "MPI_Recv",      "MPI_Finalize"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!dlsym(mpi.library, names[i])) return false;
    return mpi.world && mpi.byte;
}

/* Its parts find each other among what all of the program sees. */
static bool load(const family *f)
{
    mpi.library = dlopen(f->library, RTLD_NOW | RTLD_GLOBAL);
    if (!mpi.library) return false;
    mpi.world = f->world_name ? (word)dlsym(mpi.library, f->world_name) : f->world;
    mpi.byte = f->byte_name ? (word)dlsym(mpi.library, f->byte_name) : f->byte;
    mpi.no_status = f->no_status;
    if (is_whole()) return true;
    dlclose(mpi.library);
    return false;
}

/* Open MPI's processes can talk by Open MPI only; all others are tried with the others first. */
static bool find(const char *launcher)
{
    bool open_mpi = launcher && strcmp(launcher, "Open MPI") == 0;
    for (int i = 0; i < FAMILIES; i++)
        if (load(&families[open_mpi ? i : FAMILIES - 1 - i])) return true;
    return false;
}

static parallel alone(const char *name, const hb_launch_info *launch, const char *why)
{
    if (launch->rank <= 0)
        fprintf(stderr, "hipboard %s: %s: rank 0 does all the work\n", name, why);
    return (parallel){.size = 1, .idle = launch->rank > 0};
}

/* ---- for commands ---- */

/* torchrun has no MPI; what Slurm tells a batch script is not that of a step of several processes.
 */
static bool has_processes(const hb_launch_info *launch)
{
    if (launch->world_size < 2 || !launch->launcher) return false;
    if (strcmp(launch->launcher, "torchrun") == 0) return false;
    return strcmp(launch->launcher, "Slurm") != 0 || getenv("SLURM_STEP_NUM_TASKS");
}

parallel parallel_begin(const char *name)
{
    hb_launch_info launch = HB_LAUNCH_INFO_INIT;
    parallel p = {.size = 1};
    if (hb_launch_info_get(&launch) != HB_OK || !has_processes(&launch)) return p;
    if (!find(launch.launcher)) return alone(name, &launch, "no MPI that is known was found");
    if (CALL("MPI_Init", init_fn, NULL, NULL) != 0 ||
        CALL("MPI_Comm_rank", number_fn, mpi.world, &p.rank) != 0 ||
        CALL("MPI_Comm_size", number_fn, mpi.world, &p.size) != 0)
        return alone(name, &launch, "MPI does not begin");
    if (p.size == launch.world_size) return p;
    CALL("MPI_Finalize", end_fn);
    return alone(name, &launch, "the launcher is another MPI's than the library");
}

bool parallel_send(const char *bytes, size_t size)
{
    uint64_t all = size;
    if (CALL("MPI_Send", send_fn, &all, sizeof all, mpi.byte, 0, TAG, mpi.world) != 0) return false;
    for (size_t at = 0; at < size; at += LARGEST) {
        int part = size - at < LARGEST ? (int)(size - at) : LARGEST;
        if (CALL("MPI_Send", send_fn, bytes + at, part, mpi.byte, 0, TAG, mpi.world) != 0)
            return false;
    }
    return true;
}

char *parallel_receive(int from, size_t *size)
{
    uint64_t all = 0;
    if (CALL("MPI_Recv", receive_fn, &all, sizeof all, mpi.byte, from, TAG, mpi.world,
             mpi.no_status) != 0)
        return NULL;
    char *bytes = must(malloc((size_t)all + 1));
    for (size_t at = 0; at < all; at += LARGEST) {
        int part = all - at < LARGEST ? (int)(all - at) : LARGEST;
        if (CALL("MPI_Recv", receive_fn, bytes + at, part, mpi.byte, from, TAG, mpi.world,
                 mpi.no_status) == 0)
            continue;
        free(bytes);
        return NULL;
    }
    *size = (size_t)all;
    return bytes;
}

void parallel_end(const parallel *p)
{
    if (p->size > 1) CALL("MPI_Finalize", end_fn);
}
