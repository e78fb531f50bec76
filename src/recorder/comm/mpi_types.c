/* SPDX-License-Identifier: MIT */
#include "comm/mpi_types.h"

#include <stdatomic.h>
#include <string.h>

enum { MPI_NAME_BYTES = 512 };

static const struct {
    const char *name;
    hb_dtype dtype;
} known[] = {
    {"MPI_FLOAT", HB_FLOAT32},
    {"MPI_REAL", HB_FLOAT32},
    {"MPI_REAL4", HB_FLOAT32},
    {"MPI_DOUBLE", HB_FLOAT64},
    {"MPI_REAL8", HB_FLOAT64},
    {"MPI_DOUBLE_PRECISION", HB_FLOAT64},
    {"MPI_INT", HB_INT32},
    {"MPI_INT32_T", HB_INT32},
    {"MPI_INTEGER", HB_INT32},
    {"MPI_INTEGER4", HB_INT32},
    {"MPI_LONG", HB_INT64},
    {"MPI_INT64_T", HB_INT64},
    {"MPI_LONG_LONG", HB_INT64},
    {"MPI_LONG_LONG_INT", HB_INT64},
    {"MPI_INTEGER8", HB_INT64},
    {"MPI_SHORT", HB_INT16},
    {"MPI_INT16_T", HB_INT16},
    {"MPI_INTEGER2", HB_INT16},
    {"MPI_CHAR", HB_UINT8},
    {"MPI_BYTE", HB_UINT8},
    {"MPI_UINT8_T", HB_UINT8},
    {"MPI_UNSIGNED_CHAR", HB_UINT8},
    {"MPI_SIGNED_CHAR", HB_INT8},
    {"MPI_INT8_T", HB_INT8},
    {"MPI_CHARACTER", HB_UINT8},
    {"MPI_C_BOOL", HB_BOOL},
    {"MPI_CXX_BOOL", HB_BOOL},
    {"MPI_C_COMPLEX", HB_COMPLEX64},
    {"MPI_C_FLOAT_COMPLEX", HB_COMPLEX64},
    {"MPI_COMPLEX", HB_COMPLEX64},
    {"MPI_COMPLEX8", HB_COMPLEX64},
    {"MPI_C_DOUBLE_COMPLEX", HB_COMPLEX128},
    {"MPI_DOUBLE_COMPLEX", HB_COMPLEX128},
    {"MPI_COMPLEX16", HB_COMPLEX128},
};

hb_mpi_known_type hb_mpi_known_types[1 << HB_MPI_TYPE_BITS];

static int64_t size_of(hb_word handle)
{
    static int (*_Atomic size)(hb_word, int *);
    int bytes = 0;
    if (!size) size = (int (*)(hb_word, int *))hb_mpi_real("PMPI_Type_size");
    return size(handle, &bytes) == 0 && bytes > 0 ? bytes : 0;
}

/* Made of no numbers, addresses and types. */
static bool is_mpi_s_own(hb_word handle)
{
    typedef int (*envelope_fn)(hb_word, int *, int *, int *, int *);
    static _Atomic(envelope_fn) envelope;
    int numbers = 1, addresses = 1, types = 1, how = 0;
    if (!envelope) envelope = (envelope_fn)hb_mpi_real("PMPI_Type_get_envelope");
    return envelope(handle, &numbers, &addresses, &types, &how) == 0 && numbers == 0 &&
           addresses == 0 && types == 0;
}

static hb_dtype dtype_of(hb_word handle)
{
    typedef int (*name_fn)(hb_word, char *, int *);
    static _Atomic(name_fn) name_of;
    char name[MPI_NAME_BYTES] = "";
    int length = 0;
    if (!name_of) name_of = (name_fn)hb_mpi_real("PMPI_Type_get_name");
    if (name_of(handle, name, &length) != 0) return HB_NONE;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].dtype;
    return HB_NONE;
}

/* One of two at one place that are new at once is left out, until it comes again. */
static void keep(hb_word handle, hb_mpi_type type)
{
    hb_word none = 0;
    hb_mpi_known_type *place = hb_mpi_type_place(handle);
    if (!atomic_compare_exchange_strong(&place->handle, &none, -1)) return;
    place->type = type;
    atomic_store_explicit(&place->handle, handle, memory_order_release);
}

hb_mpi_type hb_mpi_type_asked(hb_word handle)
{
    if (!handle || handle == hb_mpi.type_null) return (hb_mpi_type){HB_NONE, 0};
    hb_mpi_type type = {HB_NONE, size_of(handle)};
    if (!is_mpi_s_own(handle)) return type;
    type.dtype = dtype_of(handle);
    keep(handle, type);
    return type;
}
