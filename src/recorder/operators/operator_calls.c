/* SPDX-License-Identifier: MIT
 *
 * What a thread has open lies by the stack: a call that was left by longjmp() is found by its
 * address, which is below, or at, that of the next call's. Nothing here takes a lock.
 */
#include "operators/operator_calls.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "interpose/reported_calls.h"
#include "operators/communication_calls.h"
#include "operators/communicators.h"
#include "operators/library_calls.h"
#include "operators/memory_calls.h"
#include "operators/plans.h"
#include "pace/launch_pace.h"
#include "record/record.h"
#include "record/strings.h"
#include "rules/name_class.h"

_Static_assert((int)HB_OP_REGISTERS == (int)HB_CALL_REGISTERS, "tables place parameters alike");
_Static_assert((int)HB_OP_STACK_WORDS == (int)HB_CALL_STACK_WORDS, "and look at no more");

enum { MAX_OPEN = 32, MAX_TOLD = 16 };

typedef struct open_call {
    uintptr_t at; /* the caller's stack pointer */
    const hb_op_entry *row;
    hb_scope scope;
    bool counts; /* its FLOPs are those of all within it */
    bool alone;  /* nothing within it is shown */
} open_call;

/* A thread's, of one session; its memory is kept when it dies, for its successor. */
typedef struct open_calls {
    struct open_calls *next; /* of `all_open` */
    int64_t tid;
    uint32_t epoch;
    uint32_t depth;
    hb_held_calls held;
    /* calls that something else tells of; whether they count, the innermost as bit 0 */
    uint32_t told;
    uint64_t told_counts;
    hb_scope told_scopes[MAX_TOLD];
    open_call calls[MAX_OPEN];
} open_calls;

/* Never taken out. A thread's own memory is none that checks for leaks look through. */
static _Atomic(open_calls *) all_open;

static HB_COLD open_calls *first_of(hb_thread *t)
{
    open_calls *open = calloc(1, sizeof *open);
    if (!open) return NULL;
    open->next = atomic_load(&all_open);
    while (!atomic_compare_exchange_weak(&all_open, &open->next, open)) {
    }
    return t->operators = open;
}

static void begin_anew(open_calls *open, int64_t tid, uint32_t epoch)
{
    open->tid = tid;
    open->epoch = epoch;
    open->depth = open->held.depth = open->held.calls.count = 0;
    open->told = 0;
    open->told_counts = 0;
}

static open_calls *own_calls(void)
{
    hb_thread *t = hb_thread_self();
    open_calls *open = t ? t->operators : NULL;
    if (HB_UNLIKELY(t && !open)) open = first_of(t);
    uint32_t epoch = __atomic_load_n(&hb_enabled_epoch, __ATOMIC_RELAXED);
    if (HB_UNLIKELY(open && (open->epoch != epoch || open->tid != t->tid)))
        begin_anew(open, t->tid, epoch);
    return open;
}

static void close_to(open_calls *open, uint32_t depth)
{
    while (open->depth > depth)
        hb_scope_end(&open->calls[--open->depth].scope);
}

/* Those that the stack has no more. */
static void close_gone(open_calls *open, uintptr_t at)
{
    uint32_t depth = open->depth;
    while (depth && open->calls[depth - 1].at <= at)
        depth--;
    close_to(open, depth);
}

/* ---- records ---- */

static uint32_t kind_name(hb_operator *o, uint64_t primitive)
{
    int kind = hb_dnnl_kind(&o->describers, primitive);
    if (!kind) return o->name;
    uint32_t id = __atomic_load_n(&o->kind_names[kind], __ATOMIC_RELAXED);
    if (HB_UNLIKELY(!id)) {
        const char *name = hb_dnnl_kind_name(&o->describers, kind);
        id = hb_strings_intern(name, strlen(name));
        __atomic_store_n(&o->kind_names[kind], id, __ATOMIC_RELAXED);
    }
    return id;
}

static uint32_t name_of(hb_operator *o, const hb_call *call)
{
    return o->describers.query ? kind_name(o, call->words[0]) : o->name;
}

size_t hb_operator_inputs(const hb_op_description *d, hb_input inputs[HB_OP_MAX_INPUTS])
{
    size_t n = 0;
    for (uint32_t i = 0; i < d->num_tensors; i++) {
        const hb_op_tensor *t = &d->tensors[i];
        if (t->hidden) continue;
        inputs[n++] = t->known ? (hb_input){.kind = HB_INPUT_TENSOR,
                                            .dtype = t->type,
                                            .count = t->num_dims,
                                            .dims = t->dims,
                                            .strides = t->has_strides ? t->strides : NULL}
                               : (hb_input){.kind = HB_INPUT_NONE};
    }
    return n;
}

static hb_op_outside outside_of(hb_operator *o)
{
    return (hb_op_outside){hb_describe_outside, hb_describe_work, hb_communicator_ranks,
                           &o->describers};
}

/* Of a library, for a description: what it then tells of its calls, nobody has called. */
static _Thread_local bool asks;

static void describe(hb_operator *o, const hb_call *call, hb_op_description *d)
{
    hb_op_outside outside = outside_of(o);
    const hb_op_entry *row = o->row;
    d->num_tensors = 0;
    d->flops = 0;
    asks = true;
    if (row->uses == HB_OP_NO_PARAM)
        hb_op_describe(row, call->words, &outside, d);
    else
        hb_plan_recall((uint64_t)hb_op_value(row, call->words, row->uses), d);
    asks = false;
}

/* Where the caller goes on: below what it has put on the stack. */
static const void *caller_of(const hb_call *call)
{
    return (const void *)(uintptr_t)call->stack[-1];
}

static bool makes_plans(const hb_op_entry *row)
{
    return row->makes != HB_OP_NO_PARAM || row->made != HB_OP_NO_PARAM;
}

static hb_scope begin_operator(hb_operator *o, const hb_call *call, open_call *of)
{
    hb_op_description d;
    hb_input inputs[HB_OP_MAX_INPUTS];
    describe(o, call, &d);
    if (of->counts || makes_plans(o->row)) d.flops = 0; /* the work is counted once */
    of->counts = of->counts || d.flops > 0;
    hb_op_info info = {
        .inputs = inputs, .num_inputs = hb_operator_inputs(&d, inputs), .flops = d.flops};
    return hb_record_operator(name_of(o, call), &info, HB_FRAME, caller_of(call));
}

/* ---- steps ---- */

static bool is_recording(void)
{
    return HB_ENABLED() &&
           (__atomic_load_n(&hb_recording_now.flags, __ATOMIC_RELAXED) & HB_SESSION_OPERATORS);
}

static bool (*_Atomic told_of_steps)(int64_t number);
static _Thread_local uintptr_t in_step; /* where the outermost one lies on the stack; 0: in none */

void hb_operators_tell_steps(bool (*fn)(int64_t number))
{
    atomic_store(&told_of_steps, fn);
}

/* The name that a step's call has. A step within another one is a function like any. */
static uint32_t begin_step(hb_operator *o, hb_call *call)
{
    static _Atomic int64_t count;
    uintptr_t at = (uintptr_t)call->stack;
    if (in_step > at) return o->name;
    in_step = at;
    bool (*tell)(int64_t) = atomic_load(&told_of_steps);
    if (!tell && !is_recording()) return 0;
    int64_t number = atomic_fetch_add(&count, 1);
    if (tell && tell(number)) return o->name;
    return is_recording() ? hb_strings_step(number) : 0;
}

static void end_step(const hb_call *call)
{
    if (in_step <= (uintptr_t)call->stack) in_step = 0;
}

static hb_scope begin(hb_operator *o, const hb_call *call, open_calls *open, open_call *of)
{
    switch (o->row->kind) {
    case HB_OP_COLLECTIVE:
    case HB_OP_SEND:
    case HB_OP_RECEIVE:
    case HB_OP_GROUP_END: return hb_communication_begin(o, call, &open->held, caller_of(call));
    case HB_OP_OPERATOR: return begin_operator(o, call, of);
    case HB_OP_MODULE: return hb_module_call(o->module);
    case HB_OP_SILENT: return (hb_scope){0};
    case HB_OP_STEP: return hb_record_annotation((uint32_t)call->state[1]);
    default: return hb_record_annotation(name_of(o, call));
    }
}

/* ---- hooks ---- */

static bool passes_small(hb_operator *o, const hb_call *call)
{
    double flops;
    if (!hb_op_is_small(o->row, call->words, &flops)) return false;
    atomic_fetch_add_explicit(&o->small_calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&o->small_flops, (uint64_t)flops, memory_order_relaxed);
    return true;
}

/* ---- calls that are judged by the time they took ---- */

enum { NOT_SHOWN, SHOWN }; /* else state[0] is the place where its record would have begun */

static bool is_judged_later(const hb_operator *o)
{
    return o->row->least_ns && !atomic_load_explicit(&o->holds, memory_order_relaxed);
}

/* A moment before all such calls, from which on ticks are measured. */
static struct {
    uint64_t ticks;
    int64_t ns;
} early;

static void set_early(void)
{
    early.ticks = hb_ticks();
    early.ns = hb_clock_ns(CLOCK_MONOTONIC);
}

static double ns_since(uint64_t start)
{
    uint64_t now = hb_ticks();
    double passed = (double)(hb_clock_ns(CLOCK_MONOTONIC) - early.ns);
    return now > start ? (double)(now - start) / (double)(now - early.ticks) * passed : 0;
}

static bool await_end(hb_call *call)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_early);
    uintptr_t place = hb_record_place();
    call->state[0] = place > SHOWN ? place : NOT_SHOWN;
    call->state[1] = hb_ticks();
    return call->state[0] != NOT_SHOWN;
}

/* Who waits for a pipe or a socket loads nothing. */
static bool is_of_file(const hb_op_entry *row, const hb_call *call)
{
    struct stat st;
    int error = errno; /* the program's */
    if (row->file == HB_OP_NO_PARAM) return true;
    bool known = fstat((int)hb_op_value(row, call->words, row->file), &st) == 0;
    errno = error;
    return known && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
}

/* Of the first one that has something recorded within it the time is told all the same, and the
 * next ones are recorded from their beginning. */
static void judge(hb_operator *o, const hb_call *call)
{
    double ns = ns_since(call->state[1]);
    if (ns >= (double)o->row->least_ns) {
        if (!is_of_file(o->row, call)) return;
        if (hb_record_annotation_since(o->name, call->state[1], (uintptr_t)call->state[0])) return;
        atomic_store_explicit(&o->holds, true, memory_order_relaxed);
    }
    uint64_t work = (uint64_t)hb_op_work(o->row, call->words);
    atomic_fetch_add_explicit(&o->small_calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&o->small_flops, work, memory_order_relaxed);
    atomic_fetch_add_explicit(&o->small_ns, (uint64_t)ns, memory_order_relaxed);
}

/* False: the call is not shown. A function that calls one of its name, as wrappers do, is one. */
static bool open_one(hb_operator *o, hb_call *call)
{
    open_calls *open = own_calls();
    uintptr_t at = (uintptr_t)call->stack;
    if (!open) return false;
    close_gone(open, at);
    if (o->communicates && !hb_communication_is_due(o, call, &open->held)) return false;
    const open_call *outer = open->depth ? &open->calls[open->depth - 1] : NULL;
    if (open->depth == MAX_OPEN) return false;
    if (outer && (outer->alone || outer->row == o->row)) return false;
    open_call *of = &open->calls[open->depth];
    *of = (open_call){.at = at,
                      .row = o->row,
                      .counts = open->told_counts || (outer && outer->counts),
                      .alone = o->row->alone};
    of->scope = begin(o, call, open, of);
    open->depth++;
    return true;
}

hb_scope *hb_operator_told_begin(hb_str function, double *flops)
{
    open_calls *open = own_calls();
    if (!open) return NULL;
    close_gone(open, (uintptr_t)__builtin_frame_address(0));
    const open_call *outer = open->depth ? &open->calls[open->depth - 1] : NULL;
    bool shown = !asks && !(outer && (outer->alone || hb_str_is(function, outer->row->symbol)));
    if (!shown || open->told_counts || (outer && outer->counts)) *flops = 0;
    open->told_counts = open->told_counts << 1 | (*flops > 0);
    hb_scope *scope = open->told < MAX_TOLD ? &open->told_scopes[open->told] : NULL;
    if (scope) *scope = (hb_scope){0};
    open->told++;
    return shown ? scope : NULL;
}

void hb_operator_told_end(void)
{
    open_calls *open = own_calls();
    if (!open || !open->told) return;
    open->told_counts >>= 1;
    if (--open->told < MAX_TOLD) hb_scope_end(&open->told_scopes[open->told]);
}

static void forget(const hb_op_entry *row, const hb_call *call)
{
    if (row->forgets != HB_OP_NO_PARAM)
        hb_plan_forget((uint64_t)hb_op_value(row, call->words, row->forgets));
}

static hb_operator *by_trampoline[HB_TRAMPOLINES];

/* What is launched is the last parameter that is named. */
static bool tell_of_launch(const hb_op_entry *row, const hb_call *call)
{
    static const enum hb_pace_deed deeds[] = {HB_PACE_LAUNCH, HB_PACE_COPY, HB_PACE_WAIT};
    bool named = row->kind == HB_OP_LAUNCH && row->num_params;
    int64_t what = named ? hb_op_value(row, call->words, row->num_params - 1) : 0;
    hb_pace_note(deeds[row->kind - HB_OP_LAUNCH], (uint64_t)what, caller_of(call));
    return false;
}

/* ---- calls that communicate ---- */

static _Thread_local uint32_t inside;

bool hb_operator_is_inside(void)
{
    return inside > 0;
}

/* What tells of it then, tells of all: of those that are not recorded, too. */
static bool others_tell(const hb_operator *o)
{
    return o->communicates && !inside && hb_is_reported(o->row->symbol);
}

hb_scope hb_operator_reported_begin(hb_operator *o, hb_call *call)
{
    open_call of = {0};
    hb_communication_note(o, call);
    bool wanted = is_recording() && o->row->kind != HB_OP_SILENT;
    open_calls *open = wanted ? own_calls() : NULL;
    if (!open) return (hb_scope){0};
    close_gone(open, (uintptr_t)__builtin_frame_address(0));
    const open_call *outer = open->depth ? &open->calls[open->depth - 1] : NULL;
    if (!hb_communication_is_due(o, call, &open->held)) return (hb_scope){0};
    return outer && outer->alone ? (hb_scope){0} : begin(o, call, open, &of);
}

void hb_operator_reported_end(hb_operator *o, const hb_call *call, hb_scope *scope)
{
    hb_scope_end(scope);
    hb_communication_leave(o, call);
}

static bool enter(hb_call *call)
{
    hb_operator *o = by_trampoline[call->index];
    const hb_op_entry *row = o->row;
    if (row->kind >= HB_OP_LAUNCH) return tell_of_launch(row, call);
    if (row->kind == HB_OP_MEMORY) return hb_memory_call_enter(row, call);
    if (others_tell(o)) return false;
    forget(row, call);
    inside += o->communicates;
    if (o->communicates) hb_communication_note(o, call);
    bool is_step = row->kind == HB_OP_STEP;
    if (is_step) call->state[1] = begin_step(o, call); /* it may begin or end a cycle */
    bool hidden = row->kind == HB_OP_SILENT || (is_step && !call->state[1]);
    bool wanted = is_recording() && !hidden && !passes_small(o, call);
    if (wanted && is_judged_later(o)) return await_end(call);
    bool shown = wanted && open_one(o, call);
    call->state[0] = shown ? SHOWN : NOT_SHOWN;
    return shown || is_step || makes_plans(row) || o->communicates;
}

/* Also of one that an exception leaves. */
static void close_one(const hb_call *call)
{
    open_calls *open = call->state[0] == SHOWN ? own_calls() : NULL;
    uintptr_t at = (uintptr_t)call->stack;
    if (!open) return;
    uint32_t depth = open->depth;
    while (depth && open->calls[depth - 1].at < at)
        depth--;
    if (depth && open->calls[depth - 1].at == at) close_to(open, depth - 1);
}

static void remember(hb_operator *o, const hb_call *call)
{
    const hb_op_entry *row = o->row;
    hb_op_description d;
    uint64_t plan = call->results[0];
    if (row->made != HB_OP_NO_PARAM) plan = (uint64_t)hb_op_value(row, call->words, row->made);
    if (row->makes >= 0 &&
        !hb_op_peek(row, call->words[row->params[row->makes].place], &plan, sizeof plan))
        return;
    describe(o, call, &d);
    hb_plan_remember(plan, &d);
}

static void leave(hb_call *call)
{
    hb_operator *o = by_trampoline[call->index];
    if (o->row->kind == HB_OP_MEMORY) {
        hb_memory_call_leave(o->row, call);
        return;
    }
    close_one(call);
    if (call->state[0] > SHOWN) judge(o, call);
    inside -= o->communicates && inside;
    if (o->communicates) hb_communication_leave(o, call);
    if (o->row->kind == HB_OP_STEP) end_step(call);
    if (makes_plans(o->row)) remember(o, call);
}

static void abandon(hb_call *call)
{
    hb_operator *o = by_trampoline[call->index];
    if (o->row->kind == HB_OP_MEMORY) {
        hb_memory_call_abandon(call);
        return;
    }
    close_one(call);
    if (call->state[0] > SHOWN) judge(o, call);
    inside -= o->communicates && inside;
    end_step(call);
}

static const hb_call_hooks hooks = {enter, leave, abandon};

/* ---- functions ---- */

static uint32_t intern(const char *before, const char *name, const char *behind)
{
    char text[1200];
    const char *mark = *before && before[strlen(before) - 1] != '#' ? "#" : "";
    snprintf(text, sizeof text, "%s%s%s%s", before, mark, name, behind);
    return hb_strings_intern(text, strlen(text));
}

static void give_name(hb_operator *o)
{
    const char *name = o->row->name;
    switch (o->row->kind) {
    case HB_OP_LOADER:
        o->name = intern(hb_known_text(HB_KNOWN_ANY_LOADER).s, name, ".__next__");
        return;
    case HB_OP_OPTIMIZER:
        o->name = intern(hb_known_text(HB_KNOWN_OPTIMIZER_STEP).s, name, ".step");
        return;
    case HB_OP_MODULE: o->module = hb_module_create(name); return;
    default: o->name = intern("", name, "");
    }
}

/* Of plans, communicators and steps it is heard outside of sessions, too, and collectives are
 * counted. */
static const uint32_t *when(const hb_op_entry *row)
{
    static const uint32_t always = 1;
    if (row->kind == HB_OP_MEMORY) return &hb_memory_enabled;
    if (row->kind >= HB_OP_LAUNCH) return &hb_pace_is_on;
    bool kept = makes_plans(row) || row->forgets != HB_OP_NO_PARAM || row->kind == HB_OP_STEP;
    return kept || hb_communication_counts(row) ? &always : &hb_enabled_epoch;
}

hb_operator *hb_operator_new(const hb_op_entry *row, void *real)
{
    hb_operator *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->row = row;
    o->real = real;
    o->communicates = hb_op_communicates(row);
    give_name(o);
    if (hb_describers_wanted(row)) hb_describers_find(&o->describers, real);
    o->trampoline = hb_trampoline_new(real, &hooks, when(row));
    if (o->trampoline == HB_TRAMPOLINES) {
        free(o);
        return NULL;
    }
    by_trampoline[o->trampoline] = o; /* before anybody is given its address */
    if (row->kind >= HB_OP_LAUNCH) hb_pace_stands_in(hb_trampoline_address(o->trampoline));
    return o;
}
