/* SPDX-License-Identifier: MIT
 *
 * Which functions there are the runtime itself tells (hipApiName()): those that it would report to
 * a profiler. So functions that hipboard has never heard of are recorded, too.
 */
#include "hip/interposed_calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/lock.h"
#include "hip/diagnostics.h"
#include "hip/launches.h"
#include "interpose/dlsym_hook.h"
#include "interpose/got_patch.h"
#include "interpose/trampolines.h"
#include "pace/launch_pace.h"

enum { MAX_FUNCTIONS = 1024, MAX_NAME = 128 };

/* An exported function. `trampoline`: its number + 1; 0: it has none yet. */
typedef struct target {
    const char *name;
    void *real;
    uint32_t cid, trampoline;
} target;

static struct {
    const hb_hip *hip;
    hb_around_call around;
    target *targets; /* by name */
    size_t num_targets;
    uint32_t cids[HB_TRAMPOLINES]; /* of trampolines */
    bool per_thread[HB_TRAMPOLINES];
    unsigned foreign; /* places that are somebody else's */
    int (*get_proc_address)(const char *name, void **function, int version, uint64_t flags,
                            void *found);
} self;

/* ---- calls ---- */

/* By the host's function: two dim3; by the device's: six numbers. */
static hb_launch_args launch_args(enum hb_quick_launch how, const uint64_t *words)
{
    bool host = how == HB_QUICK_HOST;
    return (hb_launch_args){
        .function = hb_arg_pointer(words[0]),
        .stream = words[host ? 7 : 8],
        .grid = (const uint32_t *)&words[1],
        .block = (const uint32_t *)&words[host ? 3 : 4],
        .stride = host ? 1 : 2,
        .lds = (uint32_t)words[host ? 6 : 7],
    };
}

static void begin(hb_frame *f, const hb_call *call)
{
    f->is.per_thread = self.per_thread[call->index];
    hb_hip_call_arrange(f->call, call->words, f->data);
    hb_call_begin(f, f->data);
}

static void begin_launch(hb_frame *f, const hb_call *call, const void *frame)
{
    hb_launch_args a = launch_args(hb_calls_runtime.quick[f->cid], call->words);
    f->work = 0; /* what it makes is told meanwhile */
    f->counted = NULL;
    if (HB_LIKELY(hb_launch_begin(hb_thread_tls, f, &a, frame))) return;
    hb_launch_leave_short_way(f);
    begin(f, call);
}

/* For steps that are counted; also between sessions. */
static void tell_of_launch(const hb_call *call, const hb_hip_call *row)
{
    const void *caller = (const void *)(uintptr_t)call->stack[-1];
    uint64_t what = call->words[hb_hip_call_has_config(row)];
    if (hb_call_is_launch(row) || row->kind == HB_CALL_GRAPH_LAUNCH)
        hb_pace_note(HB_PACE_LAUNCH, what, caller);
    else if (row->kind == HB_CALL_COPY)
        hb_pace_note(HB_PACE_COPY, 0, caller);
    else if (row->kind == HB_CALL_WAIT)
        hb_pace_note(HB_PACE_WAIT, 0, caller);
}

static bool enter(hb_call *call)
{
    uint32_t cid = self.cids[call->index];
    if (HB_UNLIKELY(__atomic_load_n(&hb_pace_is_on, __ATOMIC_RELAXED)))
        tell_of_launch(call, hb_calls_row(cid));
    hb_frame *launch = self.around.before ? NULL : hb_launch_push(cid, HB_FRAME);
    hb_frame *f = launch ? launch : hb_calls_push(cid, HB_FRAME);
    if (!f) return false;
    call->state[0] = (uintptr_t)f;
    call->state[1] = f->correlation;
    if (launch)
        begin_launch(f, call, HB_FRAME);
    else
        begin(f, call);
    if (self.around.before) self.around.before(f);
    return true;
}

/* A session may have ended and another begun meanwhile, and the frame be another call's. */
static void leave(hb_call *call)
{
    hb_frame *f = (hb_frame *)(uintptr_t)call->state[0];
    int error = (int)call->results[0];
    if (hb_calls_top(self.cids[call->index]) != f || f->correlation != call->state[1]) return;
    if (error == 0 && f->is.placed && hb_launch_end(hb_thread_tls, f, true, HB_FRAME)) return;
    hb_launch_leave_short_way(f);
    if (self.around.after) self.around.after(f, error);
    hb_call_end(f, f->data, error);
}

static const hb_call_hooks hooks = {enter, leave, NULL};

/* Whether calls are recorded. Relaxed: who records waits for nothing by it. */
static uint32_t enabled;

/* ---- which functions ---- */

static void add_target(const char *name, uint32_t cid)
{
    void *real;
    hb_hip_symbol(self.hip, name, &real);
    char *copy = real ? strdup(name) : NULL;
    if (copy) self.targets[self.num_targets++] = (target){copy, real, cid, 0};
}

/* HIP 6 exports the first form of a function whose structure has changed under the old name. */
static void add_first_form(const char *name, uint32_t cid)
{
    static const char suffix[] = "R0000";
    char plain[MAX_NAME];
    size_t n = strlen(name), of_suffix = sizeof suffix - 1;
    if (n <= of_suffix || n >= MAX_NAME || strcmp(name + n - of_suffix, suffix) != 0) return;
    memcpy(plain, name, n - of_suffix);
    plain[n - of_suffix] = '\0';
    add_target(plain, cid);
}

/* A function, its twin for per-thread streams, and the names that C++ gives to the two that some
 * releases export under those only. */
static void add_function(const char *name, uint32_t cid)
{
    static const char *const mangled[] = {
        "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_"
        "tS6_j",
        "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_"
        "tS6_",
    };
    char twin[MAX_NAME];
    if (hb_calls_row(cid)->kind == HB_CALL_HIDDEN) return;
    add_target(name, cid);
    snprintf(twin, sizeof twin, "%s_spt", name);
    add_target(twin, cid);
    add_first_form(name, cid);
    for (size_t i = 0; i < HB_ARRAY_LEN(mangled); i++)
        if (strncmp(mangled[i] + 4, name, strlen(name)) == 0) add_target(mangled[i], cid);
}

static uint32_t count_functions(const hb_hip *hip)
{
    uint32_t n = 0;
    for (uint32_t cid = 0; cid < MAX_FUNCTIONS; cid++) {
        const char *name = hip->api_name(cid);
        if (name && strcmp(name, "unknown") != 0) n = cid + 1;
    }
    return n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const target *)a)->name, ((const target *)b)->name);
}

static bool list_functions(hb_buf *why)
{
    uint32_t n = count_functions(self.hip);
    hb_calls_source calls = {.num_functions = n, .name_of = self.hip->api_name, .interposed = true};
    self.targets = calloc((size_t)n * 4 + 1, sizeof *self.targets);
    if (!self.targets || !hb_calls_init(self.hip, &calls)) {
        hb_buf_str(why, "no memory");
        return false;
    }
    for (uint32_t cid = 0; cid < n; cid++) {
        const char *name = self.hip->api_name(cid);
        if (name && strncmp(name, "hip", 3) == 0) add_function(name, cid);
    }
    qsort(self.targets, self.num_targets, sizeof *self.targets, by_name);
    return self.num_targets > 0;
}

/* ---- what stands in for them ---- */

static bool may_stand_in(const char *name)
{
    return strncmp(name, "hip", 3) == 0 || strncmp(name, "_Z", 2) == 0;
}

static target *find_target(const char *name)
{
    target key = {.name = name};
    if (!may_stand_in(name)) return NULL;
    return bsearch(&key, self.targets, self.num_targets, sizeof key, by_name);
}

static hb_bare_lock trampolines_lock = HB_BARE_LOCK_INIT(INTERPOSED);

static void *trampoline_of(target *t)
{
    hb_bare_lock_take(&trampolines_lock);
    uint32_t index =
        t->trampoline ? t->trampoline - 1 : hb_trampoline_new(t->real, &hooks, &enabled);
    if (!t->trampoline && index < HB_TRAMPOLINES) {
        size_t n = strlen(t->name);
        self.cids[index] = t->cid;
        self.per_thread[index] = n > 4 && strcmp(t->name + n - 4, "_spt") == 0;
        t->trampoline = index + 1;
    }
    hb_bare_lock_give(&trampolines_lock);
    return index < HB_TRAMPOLINES ? hb_trampoline_address(index) : NULL;
}

static void *trampoline_at(const void *real)
{
    for (size_t i = 0; i < self.num_targets; i++)
        if (self.targets[i].real == real) return trampoline_of(&self.targets[i]);
    return NULL;
}

/* hipGetProcAddress() gives functions away. */
static int get_proc_address(const char *name, void **function, int version, uint64_t flags,
                            void *found)
{
    int error = self.get_proc_address(name, function, version, flags, found);
    void *trampoline = error == 0 && function && *function ? trampoline_at(*function) : NULL;
    if (trampoline) *function = trampoline;
    return error;
}

static void *stand_in(target *t)
{
    void *trampoline = trampoline_of(t);
    if (!trampoline || strcmp(t->name, "hipGetProcAddress") != 0) return trampoline;
    int (*function)(const char *, void **, int, uint64_t, void *) = get_proc_address;
    memcpy(&self.get_proc_address, &trampoline, sizeof trampoline);
    memcpy(&trampoline, &function, sizeof trampoline);
    return trampoline;
}

static void *replacement(const hb_import *import, void **real)
{
    target *t = find_target(import->name);
    if (!t) return NULL;
    *real = hb_pace_is_stand_in(import->now) ? import->now : t->real;
    return stand_in(t);
}

/* For dlsym(), which may have found another library's function of that name. */
static void *substitute(const char *name, void *found)
{
    target *t = find_target(name);
    return t && found == t->real ? stand_in(t) : NULL;
}

/* ---- life ---- */

static void set_enabled(bool records)
{
    uint32_t counts = __atomic_load_n(&hb_pace_is_on, __ATOMIC_RELAXED);
    __atomic_store_n(&enabled, records || counts, __ATOMIC_RELAXED);
}

bool hb_interpose_possible(const hb_hip *hip, hb_buf *why)
{
    if (!hb_imports_known()) {
        hb_buf_str(why, "hipboard knows too little of this processor's calls");
        return false;
    }
    if (hip->api_name) return true;
    hb_buf_printf(why, "%s does not tell which functions it has (hipApiName)", hip->soname);
    return false;
}

bool hb_interpose_look(void)
{
    bool whole = hb_imports_replace(replacement, NULL, self.targets[0].real, &self.foreign);
    return hb_lookups_interpose() && whole;
}

bool hb_interpose_attach(const hb_hip *hip, const hb_around_call *around, hb_buf *why)
{
    self.hip = hip;
    self.around = *around;
    if (!list_functions(why)) return false;
    hb_lookups_substitute(HB_LOOKUPS_HIP, may_stand_in, substitute);
    set_enabled(false);
    return true;
}

void hb_interpose_after_fork(void)
{
    hb_bare_lock_after_fork(&trampolines_lock);
    __atomic_store_n(&enabled, 0, __ATOMIC_RELAXED);
}

void hb_interpose_enable(bool on)
{
    set_enabled(on);
    if (!on && self.foreign)
        hb_diagnostics_add(
            true,
            "%u places that call HIP had been redirected by another library and were left so: "
            "calls from there may be missing",
            self.foreign);
}
