/* SPDX-License-Identifier: MIT */
#include "hip/code_objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash_slots.h"
#include "base/lock.h"
#include "base/string_table.h"
#include "gpu/code_metadata.h"

/* ---- HSA's loader; hsa.h, hsa_ven_amd_loader.h ---- */

typedef struct hsa_handle {
    uint64_t handle;
} hsa_handle;

typedef int (*executable_fn)(hsa_handle executable, void *context);
typedef int (*object_fn)(hsa_handle executable, hsa_handle object, void *context);

/* Version 1.03. */
typedef struct hsa_loader {
    void *query_host_address, *query_segment_descriptors, *query_executable;
    int (*each_object)(hsa_handle executable, object_fn fn, void *context);
    int (*object_info)(hsa_handle object, int attribute, void *value);
    void *reader_from_file;
    int (*each_executable)(executable_fn fn, void *context);
} hsa_loader;

enum {
    HSA_EXTENSION_LOADER = 0x201,
    INFO_STORAGE_TYPE = 4,
    INFO_MEMORY_BASE = 5,
    INFO_MEMORY_SIZE = 6,
    INFO_FILE = 7,
    INFO_LOAD_BASE = 9,
    INFO_LOAD_SIZE = 10,
    STORAGE_FILE = 1,
    STORAGE_MEMORY = 2,
};

static bool find_loader(hsa_loader *loader)
{
    int (*table)(uint16_t extension, uint16_t major, size_t size, void *to);
    void *hsa = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *address = hsa ? dlsym(hsa, "hsa_system_get_major_extension_table") : NULL;
    memcpy(&table, &address, sizeof table);
    *loader = (hsa_loader){0};
    bool found = address && table(HSA_EXTENSION_LOADER, 1, sizeof *loader, loader) == 0 &&
                 loader->each_executable && loader->each_object && loader->object_info;
    if (hsa) dlclose(hsa); /* whoever loaded it keeps it */
    return found;
}

/* ---- an object's bytes ---- */

typedef struct storage {
    int fd;        /* of a file; -1: memory */
    uint64_t base; /* of memory */
    uint64_t size;
} storage;

/* The memory is the program's, who may have given it away already: the kernel looks for us. */
static bool read_at(const storage *s, uint64_t offset, void *to, size_t size)
{
    if (offset > s->size || size > s->size - offset) return false;
    if (s->fd >= 0) return pread(s->fd, to, size, (off_t)offset) == (ssize_t)size;
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)(s->base + offset), size};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool find_storage(const hsa_loader *loader, hsa_handle object, storage *s)
{
    uint32_t type = 0;
    *s = (storage){.fd = -1};
    if (loader->object_info(object, INFO_STORAGE_TYPE, &type) != 0) return false;
    if (type == STORAGE_MEMORY)
        return loader->object_info(object, INFO_MEMORY_BASE, &s->base) == 0 &&
               loader->object_info(object, INFO_MEMORY_SIZE, &s->size) == 0;
    if (type != STORAGE_FILE || loader->object_info(object, INFO_FILE, &s->fd) != 0) return false;
    struct stat st;
    if (s->fd < 0 || fstat(s->fd, &st) != 0) return false;
    s->size = (uint64_t)st.st_size;
    return true;
}

/* ---- what is known ---- */

enum { MOST_NOTE_BYTES = 64 << 20 };

typedef struct kernel {
    char *name;
    uint32_t older; /* of the same name: its number; 0: none */
    uint32_t all_vgprs;
    hb_code_resources resources;
} kernel;

static struct {
    hb_bare_lock lock;
    HB_VEC(kernel) kernels; /* their numbers are from 1 */
    hb_slots names;         /* the latest of each */
    HB_VEC(uint64_t) seen;  /* objects that were looked at, sorted */
} known = {.lock = HB_BARE_LOCK_INIT(CODE_OBJECTS)};

static inline bool has_name(const void *kernels, uint32_t number, const void *name)
{
    const kernel *of = kernels;
    const hb_str *wanted = name;
    return strncmp(of[number - 1].name, wanted->s, wanted->len) == 0 &&
           !of[number - 1].name[wanted->len];
}

static uint32_t *slot_of(hb_str name)
{
    return hb_slots_find(&known.names, hb_hash_bytes(name.s, name.len), has_name,
                         known.kernels.items, &name);
}

/* The latest of a name; 0: none. */
static uint32_t latest(hb_str name)
{
    return known.names.size ? *slot_of(name) : 0;
}

static bool make_room(void)
{
    if (hb_slots_have_room(&known.names)) return true;
    if (!hb_slots_double(NULL, &known.names, 1024)) return false;
    for (uint32_t i = 0; i < known.kernels.count; i++) {
        const char *name = known.kernels.items[i].name;
        uint32_t *slot = slot_of((hb_str){name, (uint32_t)strlen(name)});
        known.names.used += *slot == 0;
        *slot = i + 1;
    }
    return true;
}

/* Only gfx908 has AGPRs in a file of their own. */
static bool is_unified(uint32_t elf_flags)
{
    return (elf_flags & 0xff) != 0x30;
}

static bool same(const kernel *k, const hb_code_kernel *c)
{
    return k->all_vgprs == c->vgprs && k->resources.agprs == c->agprs &&
           k->resources.sgprs == c->sgprs && k->resources.lds_bytes == c->lds_bytes;
}

static void add_kernel(void *context, const hb_code_kernel *c)
{
    uint32_t elf_flags = *(const uint32_t *)context;
    hb_str name = {c->name, (uint32_t)c->name_size};
    uint32_t older = latest(name);
    for (uint32_t i = older; i; i = known.kernels.items[i - 1].older)
        if (same(&known.kernels.items[i - 1], c)) return; /* loaded on another device, or again */
    char *copy = strndup(c->name, c->name_size);
    kernel *k = copy && make_room() ? HB_APPEND(&known.kernels) : NULL;
    if (!k) {
        free(copy);
        return;
    }
    uint32_t apart = is_unified(elf_flags) ? HB_MIN(c->agprs, c->vgprs) : 0;
    *k = (kernel){.name = copy,
                  .older = older,
                  .all_vgprs = c->vgprs,
                  .resources = {c->vgprs - apart, c->agprs, c->sgprs, c->lds_bytes}};
    *slot_of(name) = known.kernels.count;
    known.names.used += older == 0;
}

static void read_notes(const storage *s, const Elf64_Phdr *p, uint32_t elf_flags)
{
    size_t size;
    if (p->p_filesz > MOST_NOTE_BYTES) return;
    void *notes = malloc(p->p_filesz + 1);
    if (notes && read_at(s, p->p_offset, notes, p->p_filesz)) {
        const void *note = hb_code_note(notes, p->p_filesz, &size);
        if (note) (void)hb_code_kernels(note, size, add_kernel, &elf_flags);
    }
    free(notes);
}

/* False when that is no code object. */
static bool read_object(const storage *s)
{
    Elf64_Ehdr h;
    Elf64_Phdr p;
    if (!read_at(s, 0, &h, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof p) return false;
    for (uint32_t i = 0; i < h.e_phnum; i++)
        if (read_at(s, h.e_phoff + i * sizeof p, &p, sizeof p) && p.p_type == PT_NOTE)
            read_notes(s, &p, h.e_flags);
    return true;
}

/* Its first segment, headers and notes, as it lies on the device; where the host can see that. */
static void read_loaded(const hsa_loader *loader, hsa_handle object)
{
    storage s = {.fd = -1};
    if (loader->object_info(object, INFO_LOAD_BASE, &s.base) == 0 &&
        loader->object_info(object, INFO_LOAD_SIZE, &s.size) == 0)
        (void)read_object(&s);
}

/* ---- looking ---- */

/* False when it was looked at before. */
static bool is_new(uint64_t object)
{
    size_t low = 0, high = known.seen.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (known.seen.items[middle] < object)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < known.seen.count && known.seen.items[low] == object) return false;
    if (!HB_APPEND(&known.seen)) return false;
    uint64_t *at = &known.seen.items[low];
    memmove(at + 1, at, (known.seen.count - 1 - low) * sizeof *at);
    *at = object;
    return true;
}

static int look_at_object(hsa_handle executable, hsa_handle object, void *context)
{
    const hsa_loader *loader = context;
    uint64_t address = 0;
    storage s;
    (void)executable;
    if (loader->object_info(object, INFO_LOAD_BASE, &address) != 0) return 0;
    if (!find_storage(loader, object, &s)) return 0;
    /* An address may come to hold another object, but hardly one of the same size from the same
     * place. */
    if (!is_new((address ^ s.base) * 0x9e3779b97f4a7c15 + s.size)) return 0;
    if (!read_object(&s)) read_loaded(loader, object);
    return 0;
}

static int look_at_executable(hsa_handle executable, void *context)
{
    const hsa_loader *loader = context;
    loader->each_object(executable, look_at_object, context);
    return 0;
}

static void look(void)
{
    hsa_loader loader;
    if (find_loader(&loader)) loader.each_executable(look_at_executable, &loader);
}

void hb_code_objects_look(void)
{
    hb_bare_lock_take(&known.lock);
    look();
    hb_bare_lock_give(&known.lock);
}

static unsigned find(const char *name, uint32_t all_vgprs, uint32_t lds_bytes,
                     hb_code_resources *resources)
{
    unsigned found = 0;
    const kernel *k;
    for (uint32_t i = latest((hb_str){name, (uint32_t)strlen(name)}); i; i = k->older) {
        k = &known.kernels.items[i - 1];
        if (k->all_vgprs != all_vgprs || k->resources.lds_bytes != lds_bytes) continue;
        *resources = k->resources;
        found++;
    }
    return found;
}

bool hb_code_objects_find(const char *name, uint32_t all_vgprs, uint32_t lds_bytes,
                          hb_code_resources *resources)
{
    hb_bare_lock_take(&known.lock);
    unsigned found = find(name, all_vgprs, lds_bytes, resources);
    if (!found) {
        look();
        found = find(name, all_vgprs, lds_bytes, resources);
    }
    hb_bare_lock_give(&known.lock);
    return found == 1;
}

/* What another thread was just changing is begun anew; its memory is given up. */
void hb_code_objects_after_fork(void)
{
    if (hb_bare_lock_after_fork(&known.lock)) return;
    memset(&known.kernels, 0, sizeof known.kernels);
    known.names = (hb_slots){0};
    memset(&known.seen, 0, sizeof known.seen);
}
