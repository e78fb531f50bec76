/* SPDX-License-Identifier: MIT */
#include "import/demangle.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef char *demangler(const char *name, char *buffer, size_t *size, int *status);

/* hipboard is not linked with the C++ library, but most machines have it; it stays. */
static demangler *find_demangler(void)
{
    demangler *fn = NULL;
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&fn, &symbol, sizeof fn);
    return fn;
}

static hb_string_id add(hb_arena *arena, hb_texts *texts, const char *text, size_t size)
{
    hb_string_id id = hb_texts_add(texts, text, size);
    if (!id) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

hb_string_id hb_import_kernel_name(hb_arena *arena, hb_texts *texts, hb_str name)
{
    char mangled[4096];
    int status = -1;
    if (hb_str_ends(name, " [clone .kd]")) name.len -= 12;
    if (hb_str_ends(name, ".kd")) name.len -= 3;
    if (!name.len) return add(arena, texts, "(kernel without name)", 21);
    if (!hb_str_begins(name, "_Z") || name.len >= sizeof mangled)
        return add(arena, texts, name.s, name.len);
    demangler *demangle = find_demangler();
    memcpy(mangled, name.s, name.len);
    mangled[name.len] = 0;
    char *text = demangle ? demangle(mangled, NULL, NULL, &status) : NULL;
    hb_string_id id =
        text ? hb_texts_add(texts, text, strlen(text)) : hb_texts_add(texts, name.s, name.len);
    free(text);
    if (!id) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}
