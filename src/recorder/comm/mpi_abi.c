/* SPDX-License-Identifier: MIT */
#include "comm/mpi_abi.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MPI_5_ABI(name)                                                                   \
    {                                                                                     \
        name, 8, 32, 0, 4, 1, 0, -3, 0x180, 0x200, 0x100, 0x101, 0x102, 4096, 0x247, 0, 0 \
    }
#define MPICH_ABI(name)                                                                            \
    {                                                                                              \
        name, 4, 20, 8, 12, -1, 1, -1, 0x2c000000, 0x0c000000, 0x04000000, 0x44000000, 0x44000001, \
            3, 0x4c00010d, 0, 32                                                                   \
    }
/* Handles are addresses: found by their names. */
#define OPEN_MPI_ABI(name)                                       \
    {                                                            \
        name, 8, 24, 0, 4, 1, 0, -2, 0, 0, 0, 0, 0, 3, 0, 16, 64 \
    }

/* How the names of libraries begin. The first row that fits holds. */
static const struct {
    const char *library;
    hb_mpi_abi abi;
} rows[] = {
    {"libmpi_abi.so", MPI_5_ABI("MPI ABI")},    {"libmpi_abi_", MPI_5_ABI("MPI ABI")},
    {"libmpi.so.40", OPEN_MPI_ABI("Open MPI")}, {"libmpich.so.12", MPICH_ABI("MPICH")},
    {"libmpi.so.12", MPICH_ABI("MPICH ABI")},   {"libmpi.so.0", MPICH_ABI("MVAPICH")},
    {"libmpi_cray", MPICH_ABI("Cray MPICH")},
};

hb_mpi_abi hb_mpi;
bool hb_mpi_is_concurrent = true;

enum { UNDECIDED, DECIDING, KNOWN, UNKNOWN };

/* KNOWN is stored after hb_mpi is filled in: release, and acquire where it is read. */
static atomic_int state;
static const char *why_not = "";

/* ---- functions ---- */

static const char *const libraries[] = {"libmpi.so.40",    "libmpich.so.12",  "libmpi.so.12",
                                        "libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.0"};

/* Programs that load MPI while they run may keep it to themselves. */
static void *find_in_loaded(const char *name)
{
    void *address = NULL;
    for (size_t i = 0; !address && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_NOLOAD | RTLD_LAZY);
        if (!library) continue;
        address = dlsym(library, name);
        dlclose(library);
    }
    return address;
}

static void *find(const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    return address ? address : find_in_loaded(name);
}

void *hb_mpi_real(const char *name)
{
    void *address = find(name);
    if (address) return address;
    fprintf(stderr, "hipboard: the program calls %s, which its MPI does not have\n", name);
    abort();
}

/* ---- which MPI ---- */

static hb_word address_of(const char *symbol)
{
    void *address = dlsym(RTLD_DEFAULT, symbol);
    if (!address) address = find_in_loaded(symbol);
    return (hb_word)address;
}

static bool find_open_mpi_handles(hb_mpi_abi *abi)
{
    abi->request_null = address_of("ompi_request_null");
    abi->type_null = address_of("ompi_mpi_datatype_null");
    abi->comm_null = address_of("ompi_mpi_comm_null");
    abi->comm_world = address_of("ompi_mpi_comm_world");
    abi->comm_self = address_of("ompi_mpi_comm_self");
    abi->type_byte = address_of("ompi_mpi_byte");
    return abi->request_null && abi->type_null && abi->comm_null && abi->comm_world &&
           abi->comm_self;
}

/* Of the library that has it, without its folder. The function may be another tool's, so one is
 * asked for that tools leave alone. */
static const char *library_of(const char *function)
{
    Dl_info info;
    void *address = find(function);
    if (!address || !dladdr(address, &info) || !info.dli_fname) return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static int choose(void)
{
    const char *library = library_of("PMPI_Get_library_version");
    why_not = "the program has no MPI library that is loaded with it";
    if (!library) return UNKNOWN;
    why_not = "its MPI library is none that hipboard knows: Open MPI (libmpi.so.40), MPICH's "
              "family (libmpich.so.12, libmpi.so.12) or MPI's own ABI (libmpi_abi.so)";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strncmp(library, rows[i].library, strlen(rows[i].library)) != 0) continue;
        hb_mpi = rows[i].abi;
        if (hb_mpi.comm_world || find_open_mpi_handles(&hb_mpi)) return KNOWN;
        why_not = "its Open MPI hides its handles";
    }
    return UNKNOWN;
}

bool hb_mpi_is_known(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire), none = UNDECIDED;
    if (now >= KNOWN) return now == KNOWN;
    if (!atomic_compare_exchange_strong(&state, &none, DECIDING)) return false; /* a moment later */
    now = choose();
    atomic_store_explicit(&state, now, memory_order_release);
    return now == KNOWN;
}

const char *hb_mpi_why_not(void)
{
    return hb_mpi_is_known() ? "" : why_not;
}

void hb_mpi_give_up(const char *why)
{
    why_not = why;
    atomic_store_explicit(&state, UNKNOWN, memory_order_release);
}
