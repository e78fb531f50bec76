/* SPDX-License-Identifier: MIT
 *
 * What dlsym() finds may depend on who calls it (RTLD_NEXT, RTLD_DEFAULT), which it sees by the
 * address that it will return to. So it is jumped to, not called, wherever that matters.
 */
#include "interpose/dlsym_hook.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "interpose/got_patch.h"

#if defined(__clang__)
#define JUMPS       __attribute__((disable_sanitizer_instrumentation))
#define JUMP_TO(fn) __attribute__((musttail)) return fn
#else
/* Marks of what is executed (-fsanitize-coverage) would stand between the call and the return. */
#if __has_attribute(no_sanitize_coverage)
#define UNMARKED no_sanitize_coverage
#else
#define UNMARKED
#endif
#define JUMPS \
    __attribute__((optimize("O2"), no_sanitize("address", "thread", "undefined"), UNMARKED))
#define JUMP_TO(fn) return fn
#endif

/* `other` is set last, with release: who reads it with acquire sees `knows`. */
static struct {
    _Atomic(void (*)(void)) watch;
    bool (*knows)(const char *name);
    _Atomic(void *(*)(const char *name, void *found)) other;
} rooms[HB_LOOKUPS_ROOMS];

static void *other_of(int room, void *handle, const char *name)
{
    void *(*other)(const char *, void *) =
        atomic_load_explicit(&rooms[room].other, memory_order_acquire);
    if (!other || handle == RTLD_NEXT || !rooms[room].knows(name)) return NULL;
    void *found = dlsym(handle, name);
    return found ? other(name, found) : NULL;
}

/* The other address for it, or NULL. */
static __attribute__((noinline)) void *other_than(void *handle, const char *name)
{
    void *other = NULL;
    for (int i = 0; i < HB_LOOKUPS_ROOMS; i++) {
        void (*watch)(void) = atomic_load_explicit(&rooms[i].watch, memory_order_relaxed);
        if (watch) watch();
    }
    for (int i = 0; i < HB_LOOKUPS_ROOMS && !other; i++)
        other = other_of(i, handle, name);
    return other;
}

JUMPS static void *look_up(void *handle, const char *name)
{
    void *other = other_than(handle, name);
    if (other) return other;
    JUMP_TO(dlsym)(handle, name);
}

static void *replacement(const hb_import *import, void **real)
{
    void *(*ours)(void *, const char *) = look_up, *(*theirs)(void *, const char *) = dlsym;
    void *address;
    if (strcmp(import->name, "dlsym") != 0) return NULL;
    memcpy(real, &theirs, sizeof *real);
    memcpy(&address, &ours, sizeof address);
    return address;
}

bool hb_lookups_interpose(void)
{
    unsigned foreign;
    return hb_imports_replace(replacement, NULL, NULL, &foreign);
}

void hb_lookups_watch(enum hb_lookups_of room, void (*fn)(void))
{
    atomic_store(&rooms[room].watch, fn);
}

void hb_lookups_substitute(enum hb_lookups_of room, bool (*knows)(const char *name),
                           void *(*other)(const char *name, void *found))
{
    rooms[room].knows = knows;
    atomic_store_explicit(&rooms[room].other, other, memory_order_release);
}
