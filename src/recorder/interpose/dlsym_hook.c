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
#define JUMPS       __attribute__((optimize("O2"), no_sanitize("address", "thread", "undefined")))
#define JUMP_TO(fn) return fn
#endif

static _Atomic(void (*)(void)) watcher;
static _Atomic(void *(*)(const char *, void *)) substitute;

/* The other address for it, or NULL. */
static __attribute__((noinline)) void *other_than(void *handle, const char *name)
{
    void (*watch)(void) = atomic_load_explicit(&watcher, memory_order_relaxed);
    if (watch) watch();
    void *(*other)(const char *, void *) = atomic_load_explicit(&substitute, memory_order_acquire);
    if (!other || handle == RTLD_NEXT) return NULL;
    if (strncmp(name, "hip", 3) != 0 && strncmp(name, "_Z", 2) != 0) return NULL;
    void *found = dlsym(handle, name);
    return found ? other(name, found) : NULL;
}

JUMPS static void *look_up(void *handle, const char *name)
{
    void *other = other_than(handle, name);
    if (other) return other;
    JUMP_TO(dlsym)(handle, name);
}

static void *replacement(const char *name, void **real)
{
    void *(*ours)(void *, const char *) = look_up, *(*theirs)(void *, const char *) = dlsym;
    void *address;
    if (strcmp(name, "dlsym") != 0) return NULL;
    memcpy(real, &theirs, sizeof *real);
    memcpy(&address, &ours, sizeof address);
    return address;
}

void hb_lookups_interpose(void)
{
    unsigned foreign;
    hb_imports_replace(replacement, NULL, &foreign);
}

void hb_lookups_watch(void (*fn)(void))
{
    atomic_store(&watcher, fn);
}

void hb_lookups_substitute(void *(*fn)(const char *name, void *found))
{
    atomic_store(&substitute, fn);
}
