/* SPDX-License-Identifier: MIT
 *
 * Modules are looked at in two rounds, since the loader may not be asked for anything while it
 * shows its modules: first it is noted which of their imports the tables know; then, outside, what
 * each of these calls, and who stands in for it; then that is put in place. A module is looked at
 * once.
 */
#include "operators/library_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <hipboard/hipboard.h>

#include "base/lock.h"
#include "base/process.h"
#include "base/vector.h"
#include "interpose/dlsym_hook.h"
#include "interpose/got_patch.h"
#include "operators/communication_calls.h"
#include "operators/operator_calls.h"
#include "operators/operator_notes.h"
#include "operators/reported_operators.h"
#include "ops/op_list.h"
#include "pace/launch_pace.h"
#include "record/stack.h"

/* An import that a table knows. */
typedef struct place {
    const hb_op_entry *row;
    uintptr_t base;
    char *module;
    void *now;  /* NULL: not bound yet */
    void *real; /* NULL: nobody can tell */
    void *trampoline;
} place;

static struct {
    hb_bare_lock lock;
    /* Set with release when it is whole, and never freed: look-ups by dlsym() need no lock. Those
     * before it are kept, so that checks for leaks find them. */
    _Atomic(hb_op_table *) table;
    HB_VEC(hb_op_table *) replaced;
    char *attached;    /* the lists that it holds, each with a newline */
    hb_op_texts texts; /* of their files, which may be gone by the next one */
    hb_operator *operators;
    hb_module_counts modules;      /* when it was last looked */
    HB_VEC(uintptr_t) seen, fresh; /* modules, by where they were loaded */
    HB_VEC(place) places;          /* of the round */
    uint32_t unclear;              /* imports of which nobody could tell what they call */
    uint32_t no_room;              /* functions that got no trampoline */
    /* Answers of dlsym() while another thread looked, for too long; counted without the lock. */
    _Atomic uint32_t given_as_they_are;
} self = {.lock = HB_BARE_LOCK_INIT(OPERATORS)};

static hb_op_table *table_now(void)
{
    return atomic_load_explicit(&self.table, memory_order_acquire);
}

const hb_op_table *hb_operators_table(void)
{
    return table_now();
}

/* ---- lists: without memory something is not looked at ---- */

#define APPEND(list, ...)                                  \
    do {                                                   \
        __typeof__((list).items) at_ = HB_APPEND(&(list)); \
        if (at_) *at_ = (__VA_ARGS__);                     \
    } while (0)

static bool has(const uintptr_t *items, uint32_t count, uintptr_t base)
{
    for (uint32_t i = 0; i < count; i++)
        if (items[i] == base) return true;
    return false;
}

/* ---- who stands in ---- */

static bool is_of(const hb_op_entry *row, const char *library)
{
    const char *file = library ? strrchr(library, '/') : NULL;
    file = file ? file + 1 : library;
    return !row->library || (file && strncmp(file, row->library, strlen(row->library)) == 0);
}

/* Of the rows of a symbol the one that is meant for the library. */
static const hb_op_entry *row_for(const hb_op_entry *row, void *real)
{
    Dl_info info = {0};
    if (!dladdr(real, &info)) info.dli_fname = NULL;
    while (row && !is_of(row, info.dli_fname))
        row = row->next;
    return row;
}

static hb_operator *operator_for(const hb_op_entry *rows, void *real)
{
    hb_operator *o = self.operators;
    while (o && (o->real != real || strcmp(o->row->symbol, rows->symbol) != 0))
        o = o->next;
    if (o) return o;
    const hb_op_entry *row = row_for(rows, real);
    if (!row) return NULL;
    o = hb_operator_new(row, real);
    if (!o) {
        self.no_room++;
        return NULL;
    }
    o->next = self.operators;
    return self.operators = o;
}

static void *stand_in(const hb_op_entry *rows, void *real)
{
    hb_operator *o = operator_for(rows, real);
    return o ? hb_trampoline_address(o->trampoline) : NULL;
}

/* ---- calls that are reported ---- */

static void *real_of(const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    void *library = found ? NULL : dlopen("librccl.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return found;
    found = dlsym(library, symbol);
    dlclose(library);
    return found;
}

hb_operator *hb_operators_of(const char *symbol)
{
    const hb_op_table *table = table_now();
    const hb_op_entry *rows = table ? hb_op_table_find(table, symbol) : NULL;
    void *real = rows ? real_of(symbol) : NULL;
    if (!real) return NULL;
    hb_bare_lock_take(&self.lock);
    hb_operator *o = operator_for(rows, real);
    hb_bare_lock_give(&self.lock);
    return o;
}

/* ---- what an import that is not bound yet will call ---- */

/* As the loader looks: among what all see, then among what the module has brought along. Where the
 * two differ it depends on how the module was loaded: when it has been called, it is bound. */
static void *resolve(const place *p)
{
    void *of_all = dlsym(RTLD_DEFAULT, p->row->symbol);
    void *module = dlopen(*p->module ? p->module : NULL, RTLD_LAZY | RTLD_NOLOAD);
    void *own = module ? dlsym(module, p->row->symbol) : NULL;
    if (module) dlclose(module);
    if (of_all && own && of_all != own) return NULL;
    return of_all ? of_all : own;
}

/* ---- rounds ---- */

static bool is_new(uintptr_t base, const char *path)
{
    (void)path;
    if (has(self.seen.items, self.seen.count, base)) return false;
    APPEND(self.fresh, base);
    return true;
}

static bool is_fresh(uintptr_t base, const char *path)
{
    (void)path;
    return has(self.fresh.items, self.fresh.count, base);
}

static place *place_of(const hb_op_entry *row, uintptr_t base, const void *now)
{
    for (uint32_t i = 0; i < self.places.count; i++) {
        place *p = &self.places.items[i];
        if (p->row == row && p->base == base && p->now == now) return p;
    }
    return NULL;
}

/* Of a module that another thread is just loading the imports can't be noted yet. */
static void leave_for_later(uintptr_t base)
{
    uint32_t i = 0;
    while (i < self.fresh.count && self.fresh.items[i] != base)
        i++;
    if (i < self.fresh.count) self.fresh.items[i] = self.fresh.items[--self.fresh.count];
    self.modules.loaded = 0; /* is news the next time, too */
}

static void *note_place(const hb_import *import, void **real)
{
    const hb_op_entry *row = hb_op_table_find(table_now(), import->name);
    (void)real;
    if (row && import->unready) leave_for_later(import->base);
    if (!row || import->unready || hb_trampoline_is(import->now) ||
        place_of(row, import->base, import->now))
        return NULL;
    char *module = strdup(import->module);
    if (module)
        APPEND(self.places,
               (place){.row = row, .base = import->base, .module = module, .now = import->now});
    return NULL;
}

static void *put_in_place(const hb_import *import, void **real)
{
    const hb_op_entry *row = hb_op_table_find(table_now(), import->name);
    const place *p = row ? place_of(row, import->base, import->now) : NULL;
    if (p) *real = p->real;
    return p ? p->trampoline : NULL;
}

static void decide(place *p)
{
    p->real = p->now ? p->now : resolve(p);
    p->trampoline = p->real ? stand_in(p->row, p->real) : NULL;
    self.unclear += !p->real;
}

/* Modules with imports that may be clear later are looked at again. */
static void end_round(void)
{
    for (uint32_t i = 0; i < self.fresh.count; i++) {
        uintptr_t base = self.fresh.items[i];
        bool clear = true;
        for (uint32_t k = 0; k < self.places.count; k++)
            clear = clear && (self.places.items[k].base != base || self.places.items[k].real);
        if (clear) APPEND(self.seen, base);
    }
    for (uint32_t i = 0; i < self.places.count; i++)
        free(self.places.items[i].module);
    self.places.count = self.fresh.count = 0;
}

/* Another interposer's place is what it calls, so none is foreign. */
static void look(void)
{
    unsigned foreign;
    self.unclear = 0;
    hb_imports_replace(note_place, is_new, NULL, &foreign);
    for (uint32_t i = 0; i < self.places.count; i++)
        decide(&self.places.items[i]);
    if (self.places.count) hb_imports_replace(put_in_place, is_fresh, NULL, &foreign);
    end_round();
    if (!hb_lookups_interpose()) self.modules.loaded = 0;
}

/* Where a library was, another may be by now. */
static bool has_news(void)
{
    hb_module_counts before = self.modules;
    self.modules = hb_count_modules();
    bool unloaded = self.modules.unloaded != before.unloaded;
    if (unloaded) self.seen.count = 0;
    return unloaded || self.modules.loaded != before.loaded;
}

/* Whoever looks a function up may hold locks that another thread, in look(), waits for. */
static void look_if_free(void)
{
    if (!hb_bare_lock_try(&self.lock)) return;
    int error = errno; /* the program's */
    if (has_news()) look();
    errno = error;
    hb_bare_lock_give(&self.lock);
}

/* ---- dlsym() ---- */

/* A thread whose library is just being loaded holds the loader's lock, for which another one may
 * wait in look(): then waiting is of no use, but that shows only when it has been tried. */
enum { WAIT_MS = 100, WAITS_IN_VAIN = 5 };

static bool take_to_substitute(void)
{
    static atomic_int in_vain;
    if (atomic_load(&in_vain) >= WAITS_IN_VAIN) return hb_bare_lock_try(&self.lock);
    if (hb_bare_lock_take_within(&self.lock, WAIT_MS)) return true;
    atomic_fetch_add(&in_vain, 1);
    return false;
}

static bool is_known(const char *name)
{
    return hb_op_table_find(table_now(), name) != NULL;
}

static void *substitute(const char *name, void *found)
{
    const hb_op_entry *row = hb_op_table_find(table_now(), name);
    if (!row || hb_trampoline_is(found)) return NULL;
    if (!take_to_substitute()) {
        atomic_fetch_add(&self.given_as_they_are, 1);
        return NULL;
    }
    void *trampoline = stand_in(row, found);
    hb_bare_lock_give(&self.lock);
    return trampoline;
}

/* ---- tables ---- */

static void tell(void *context, const char *file, uint32_t line, uint32_t column, const char *text)
{
    (void)context;
    hb_warn("%s:%u:%u: %s; the line is passed over", file, line, column, text);
}

static hb_result read_list(hb_op_table *table, const char *list)
{
    char own[PATH_MAX] = "";
    if (hb_op_list_has_own(list)) HB_TRY(hb_part_path(HB_OP_FIRST_TABLE, own, sizeof own));
    return hb_op_list_read_kept(table, list, own, &self.texts, tell, NULL);
}

bool hb_tables_name_steps(void)
{
    const hb_op_table *table = table_now();
    for (uint32_t i = 0; table && i < table->rows.count; i++)
        if (table->rows.items[i]->kind == HB_OP_STEP) return true;
    return false;
}

static bool is_attached(const char *list)
{
    size_t size = strlen(list);
    for (const char *at = self.attached; at && *at; at += strcspn(at, "\n") + 1)
        if (strncmp(at, list, size) == 0 && at[size] == '\n') return true;
    return false;
}

/* All that was attached before, and this. */
static hb_result read_anew(const char *list, char **all, hb_op_table **table)
{
    HB_TRY(hb_op_texts_keep(&self.texts, list));
    *table = calloc(1, sizeof **table);
    if (!*table || asprintf(all, "%s%s\n", self.attached ? self.attached : "", list) < 0) {
        free(*table);
        return hb_no_memory();
    }
    hb_result result = read_list(*table, *all);
    if (result == HB_OK) return HB_OK;
    hb_op_table_free(*table);
    free(*table);
    free(*all);
    return result;
}

static hb_result attach(const char *list)
{
    hb_op_table *table;
    char *all;
    if (is_attached(list)) return HB_OK;
    if (!hb_imports_known())
        return hb_fail(HB_ERROR_UNSUPPORTED, "operators of libraries: hipboard knows too little of "
                                             "this processor's calls");
    HB_TRY(read_anew(list, &all, &table));
    free(self.attached);
    self.attached = all;
    self.seen.count = 0; /* the tables know more by now */
    if (table_now()) APPEND(self.replaced, table_now());
    atomic_store_explicit(&self.table, table, memory_order_release);
    hb_stack_leave_out(hb_trampoline_return_address());
    hb_lookups_substitute(HB_LOOKUPS_OPERATORS, is_known, substitute);
    hb_lookups_watch(HB_LOOKUPS_OPERATORS, look_if_free);
    hb_reported_operators_listen();
    (void)has_news();
    look();
    return HB_OK;
}

static void after_fork_in_child(void)
{
    hb_pace_after_fork();
    if (hb_bare_lock_after_fork(&self.lock)) return;
    /* Another thread was amid a round: its lists are given up, and all is looked at anew. */
    memset(&self.places, 0, sizeof self.places);
    memset(&self.seen, 0, sizeof self.seen);
    memset(&self.fresh, 0, sizeof self.fresh);
}

static void register_once(void)
{
    hb_process_at_fork(HB_FORK_OPERATORS, (hb_fork_room){.in_child = after_fork_in_child});
}

hb_result hb_operators_attach(const char *tables)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
    hb_bare_lock_take(&self.lock);
    hb_result result = attach(tables);
    hb_bare_lock_give(&self.lock);
    return result;
}

/* ---- sessions ---- */

void hb_operators_start(void)
{
    hb_bare_lock_take(&self.lock);
    for (hb_operator *o = self.operators; o; o = o->next) {
        atomic_store_explicit(&o->small_calls, 0, memory_order_relaxed);
        atomic_store_explicit(&o->small_flops, 0, memory_order_relaxed);
        atomic_store_explicit(&o->small_ns, 0, memory_order_relaxed);
    }
    (void)has_news();
    look();
    hb_communications_start();
    hb_bare_lock_give(&self.lock);
}

void hb_operators_stop(void)
{
    hb_bare_lock_take(&self.lock);
    hb_operator_notes_put(table_now(), self.operators, self.unclear, self.no_room,
                          atomic_load(&self.given_as_they_are));
    hb_bare_lock_give(&self.lock);
}

/* ---- steps that are found ---- */

void hb_operators_pace(bool (*told_to)(int64_t number))
{
    bool wanted = told_to && !hb_tables_name_steps();
    if (wanted && hb_operators_attach("launches") != HB_OK) {
        hb_warn("steps are not looked for while the program runs: %s", hb_last_error());
        wanted = false;
    }
    hb_pace_watch(wanted ? told_to : NULL);
}
