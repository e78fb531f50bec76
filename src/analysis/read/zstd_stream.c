/* SPDX-License-Identifier: MIT */
#include "read/zstd_stream.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct hb_zstd {
    void *library, *stream;
    void *(*create)(void);
    size_t (*free_stream)(void *stream);
    size_t (*decompress)(void *stream, hb_zstd_out *out, hb_zstd_in *in);
    unsigned (*is_error)(size_t code);
};

bool hb_begins_as_zstd(const void *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0;
}

static bool find(const hb_zstd *z, const char *name, void *function)
{
    void *symbol = dlsym(z->library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool load(hb_zstd *z)
{
    z->library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return z->library && find(z, "ZSTD_createDStream", &z->create) &&
           find(z, "ZSTD_freeDStream", &z->free_stream) &&
           find(z, "ZSTD_decompressStream", &z->decompress) &&
           find(z, "ZSTD_isError", &z->is_error);
}

hb_result hb_zstd_open(hb_zstd **zstd)
{
    hb_zstd *z = calloc(1, sizeof *z);
    *zstd = NULL;
    if (!z) return hb_no_memory();
    hb_result result = HB_OK;
    if (!load(z))
        result = hb_fail(HB_ERROR_UNSUPPORTED, "compressed by zstd, and there is no libzstd.so.1: "
                                               "install it (Debian: libzstd1), or unpack the file "
                                               "by zstd -d");
    else if (!(z->stream = z->create()))
        result = hb_no_memory();
    if (result == HB_OK)
        *zstd = z;
    else
        hb_zstd_close(z);
    return result;
}

void hb_zstd_close(hb_zstd *z)
{
    if (!z) return;
    if (z->stream) z->free_stream(z->stream);
    if (z->library) dlclose(z->library);
    free(z);
}

const char *hb_zstd_step(hb_zstd *z, hb_zstd_in *in, hb_zstd_out *out, bool *whole)
{
    size_t code = z->decompress(z->stream, out, in);
    if (z->is_error(code)) return "damaged zstd stream";
    *whole = code == 0;
    return NULL;
}
