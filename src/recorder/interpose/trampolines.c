/* SPDX-License-Identifier: MIT */
#include "interpose/trampolines.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unwind.h>

/* What the assembly reaches by name. */
#define BY_NAME __attribute__((visibility("hidden"), used))

/* The assembly knows its size, and where `real` and `on` are. */
typedef struct trampoline {
    void *real;
    const hb_call_hooks *hooks;
    const uint32_t *on;
    uint64_t unused;
} trampoline;

extern trampoline hb_trampoline_slots[HB_TRAMPOLINES];
BY_NAME trampoline hb_trampoline_slots[HB_TRAMPOLINES];

extern const char hb_trampoline_code[] __attribute__((visibility("hidden")));
extern const char hb_trampoline_returns[] __attribute__((visibility("hidden")));
bool hb_trampoline_enter(hb_call *call);
void hb_trampoline_leave(hb_call *call);
_Unwind_Reason_Code hb_trampoline_unwound(int version, _Unwind_Action actions,
                                          _Unwind_Exception_Class class,
                                          struct _Unwind_Exception *exception,
                                          struct _Unwind_Context *context);

/* ---- the code ---- */

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

#define CODE_BYTES 16 /* of each trampoline */
#define COUNT      1024
#define STACK      192 /* bytes of stack words that are passed on; the call lies behind them */
#define FRAME      704
#define VECTORS    256
#define FLOATS     384
#define RESULTS    464
#define SPARE      480
#define SLOT       488
#define CALLER     496
#define ON         16 /* in a slot, as the next: */
#define SLOT_BYTES 32
#define SLOT_SHIFT 5

_Static_assert(COUNT == HB_TRAMPOLINES && STACK == 8 * HB_CALL_STACK_WORDS, "as in the assembly");
_Static_assert(HB_CALL_WORDS * 8 <= VECTORS, "the call has room for all words");
_Static_assert(offsetof(hb_call, vectors) == VECTORS, "as in the assembly");
_Static_assert(offsetof(hb_call, float_results) == FLOATS, "as in the assembly");
_Static_assert(offsetof(hb_call, results) == RESULTS, "as in the assembly");
_Static_assert(offsetof(hb_call, spare) == SPARE, "as in the assembly");
_Static_assert(offsetof(hb_call, slot) == SLOT, "as in the assembly");
_Static_assert(offsetof(hb_call, stack) == CALLER, "as in the assembly");
_Static_assert(STACK + sizeof(hb_call) <= FRAME && FRAME % 16 == 0, "as in the assembly");
_Static_assert(sizeof(trampoline) == SLOT_BYTES && offsetof(trampoline, on) == ON,
               "as in the assembly");

/* Of a call, seen from the stack pointer. */
#define AT(offset) TEXT(STACK) "+" TEXT(offset)

#if defined(__x86_64__)

/* Only r11 is nobody's: neither an argument nor kept by who is called. (r10 is an argument of
 * functions within functions only, which no library exports.) */
#define INTEGERS(op)   op("rdi", 0) op("rsi", 8) op("rdx", 16) op("rcx", 24) op("r8", 32) op("r9", 40)
#define KEEP(reg, at)  "    mov %" reg ", " TEXT(STACK) "+" #at "(%rsp)\n"
#define BRING(reg, at) "    mov " TEXT(STACK) "+" #at "(%rsp), %" reg "\n"
#define VECTOR_REGISTERS(op, base)                                                           \
    op("0", base, 0) op("1", base, 16) op("2", base, 32) op("3", base, 48) op("4", base, 64) \
        op("5", base, 80) op("6", base, 96) op("7", base, 112)
#define KEEP_VECTOR(n, base, at)  "    movaps %xmm" n ", " AT(base) "+" #at "(%rsp)\n"
#define BRING_VECTOR(n, base, at) "    movaps " AT(base) "+" #at "(%rsp), %xmm" n "\n"
#define BRING_ALL                           \
    INTEGERS(BRING)                         \
    VECTOR_REGISTERS(BRING_VECTOR, VECTORS) \
    "    mov " AT(SPARE) "(%rsp), %rax\n"
#define BRING_SLOT "    mov " AT(SLOT) "(%rsp), %r11\n"

/* clang-format off */
__asm__(
    ".pushsection .text\n"
    "    .p2align 4\n"
    "    .globl hb_trampoline_code\n"
    "    .hidden hb_trampoline_code\n"
    "    .type hb_trampoline_code, @function\n"
    "hb_trampoline_code:\n"
    "    .cfi_startproc\n"
    "    .cfi_personality 0x1b, hb_trampoline_unwound\n" /* 32 bits, from here */
    "    .set index, 0\n"
    "    .rept " TEXT(COUNT) "\n"
    "    .p2align 4\n"
    "    endbr64\n"
    "    mov $index, %r11d\n"
    "    jmp hb_trampoline_common\n"
    "    .set index, index + 1\n"
    "    .endr\n"
    "    .p2align 4\n"
    "hb_trampoline_common:\n"
    "    shl $" TEXT(SLOT_SHIFT) ", %r11\n"
    "    push %rax\n" /* how many vectors there are, of functions that take any number */
    "    .cfi_adjust_cfa_offset 8\n"
    "    lea hb_trampoline_slots(%rip), %rax\n"
    "    add %rax, %r11\n"
    "    mov " TEXT(ON) "(%r11), %rax\n"
    "    cmpl $0, (%rax)\n"
    "    pop %rax\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    jne 1f\n"
    "    jmp *(%r11)\n"
    "1:  push %rbp\n"
    "    .cfi_def_cfa_offset 16\n"
    "    .cfi_offset %rbp, -16\n"
    "    mov %rsp, %rbp\n"
    "    .cfi_def_cfa_register %rbp\n"
    "    sub $" TEXT(FRAME) ", %rsp\n"
    INTEGERS(KEEP)
    VECTOR_REGISTERS(KEEP_VECTOR, VECTORS)
    "    mov %rax, " AT(SPARE) "(%rsp)\n"
    "    mov %r11, " AT(SLOT) "(%rsp)\n"
    "    lea 16(%rbp), %rax\n"
    "    mov %rax, " AT(CALLER) "(%rsp)\n"
    "    lea " TEXT(STACK) "(%rsp), %rdi\n"
    "    call hb_trampoline_enter\n"
    "    test %al, %al\n"
    "    jne 2f\n"
    /* in our place: */
    BRING_ALL
    BRING_SLOT
    "    .cfi_remember_state\n"
    "    leave\n"
    "    .cfi_def_cfa %rsp, 8\n"
    "    .cfi_restore %rbp\n"
    "    jmp *(%r11)\n"
    "    .cfi_restore_state\n"
    /* with our end: */
    "2:\n"
    BRING_ALL
    BRING_SLOT
    "    call *(%r11)\n"
    "    .globl hb_trampoline_returns\n"
    "    .hidden hb_trampoline_returns\n"
    "hb_trampoline_returns:\n"
    "    mov %rax, " AT(RESULTS) "(%rsp)\n"
    "    mov %rdx, " AT(RESULTS) "+8(%rsp)\n"
    "    movaps %xmm0, " AT(FLOATS) "(%rsp)\n"
    "    movaps %xmm1, " AT(FLOATS) "+16(%rsp)\n"
    "    lea " TEXT(STACK) "(%rsp), %rdi\n"
    "    call hb_trampoline_leave\n"
    "    mov " AT(RESULTS) "(%rsp), %rax\n"
    "    mov " AT(RESULTS) "+8(%rsp), %rdx\n"
    "    movaps " AT(FLOATS) "(%rsp), %xmm0\n"
    "    movaps " AT(FLOATS) "+16(%rsp), %xmm1\n"
    "    leave\n"
    "    .cfi_def_cfa %rsp, 8\n"
    "    .cfi_restore %rbp\n"
    "    ret\n"
    "    .cfi_endproc\n"
    "    .size hb_trampoline_code, . - hb_trampoline_code\n"
    "    .popsection\n");
/* clang-format on */

#elif defined(__aarch64__)

/* x16 and x17 are nobody's: what links programs may change them at any call. */
#define BASE            "    add x16, sp, #" TEXT(STACK) "\n"
#define INTEGERS(op)    op("x0", "x1", 0) op("x2", "x3", 16) op("x4", "x5", 32) op("x6", "x7", 48)
#define KEEP(a, b, at)  "    stp " a ", " b ", [x16, #" #at "]\n"
#define BRING(a, b, at) "    ldp " a ", " b ", [x16, #" #at "]\n"
#define VECTOR_REGISTERS(op)                                                           \
    op("q0", "q1", VECTORS, 0) op("q2", "q3", VECTORS, 32) op("q4", "q5", VECTORS, 64) \
        op("q6", "q7", VECTORS, 96)
#define KEEP_VECTORS(a, b, base, at)  "    stp " a ", " b ", [x16, #" TEXT(base) "+" #at "]\n"
#define BRING_VECTORS(a, b, base, at) "    ldp " a ", " b ", [x16, #" TEXT(base) "+" #at "]\n"
#define BRING_ALL \
    BASE INTEGERS(BRING) VECTOR_REGISTERS(BRING_VECTORS) "    ldr x8, [x16, #" TEXT(SPARE) "]\n"
/* Behind BASE. */
#define BRING_REAL                          \
    "    ldr x16, [x16, #" TEXT(SLOT) "]\n" \
                                      "    ldr x16, [x16]\n"

/* clang-format off */
__asm__(
    ".pushsection .text\n"
    "    .p2align 4\n"
    "    .globl hb_trampoline_code\n"
    "    .hidden hb_trampoline_code\n"
    "    .type hb_trampoline_code, %function\n"
    "hb_trampoline_code:\n"
    "    .cfi_startproc\n"
    "    .cfi_personality 0x1b, hb_trampoline_unwound\n" /* 32 bits, from here */
    "    .set index, 0\n"
    "    .rept " TEXT(COUNT) "\n"
    "    .p2align 4\n"
    "    hint #34\n" /* bti c: a place that may be jumped to */
    "    mov x17, #index\n"
    "    b hb_trampoline_common\n"
    "    .set index, index + 1\n"
    "    .endr\n"
    "    .p2align 4\n"
    "hb_trampoline_common:\n"
    "    adrp x16, hb_trampoline_slots\n"
    "    add x16, x16, :lo12:hb_trampoline_slots\n"
    "    add x17, x16, x17, lsl #" TEXT(SLOT_SHIFT) "\n"
    "    ldr x16, [x17, #" TEXT(ON) "]\n"
    "    ldr w16, [x16]\n"
    "    cbnz w16, 1f\n"
    "    ldr x16, [x17]\n"
    "    br x16\n"
    "1:  stp x29, x30, [sp, #-16]!\n"
    "    .cfi_def_cfa_offset 16\n"
    "    .cfi_offset x29, -16\n"
    "    .cfi_offset x30, -8\n"
    "    mov x29, sp\n"
    "    .cfi_def_cfa_register x29\n"
    "    sub sp, sp, #" TEXT(FRAME) "\n"
    BASE
    INTEGERS(KEEP)
    VECTOR_REGISTERS(KEEP_VECTORS)
    "    str x8, [x16, #" TEXT(SPARE) "]\n"
    "    str x17, [x16, #" TEXT(SLOT) "]\n"
    "    add x9, x29, #16\n"
    "    str x9, [x16, #" TEXT(CALLER) "]\n"
    "    mov x0, x16\n"
    "    bl hb_trampoline_enter\n"
    "    tst w0, #0xff\n"
    "    b.ne 2f\n"
    BRING_ALL
    BRING_REAL
    "    .cfi_remember_state\n"
    "    mov sp, x29\n"
    "    ldp x29, x30, [sp], #16\n"
    "    .cfi_def_cfa sp, 0\n"
    "    .cfi_restore x29\n"
    "    .cfi_restore x30\n"
    "    br x16\n"
    "    .cfi_restore_state\n"
    "2:\n"
    BRING_ALL
    BRING_REAL
    "    blr x16\n"
    "    .globl hb_trampoline_returns\n"
    "    .hidden hb_trampoline_returns\n"
    "hb_trampoline_returns:\n"
    BASE
    "    stp x0, x1, [x16, #" TEXT(RESULTS) "]\n"
    "    stp q0, q1, [x16, #" TEXT(FLOATS) "]\n"
    "    stp q2, q3, [x16, #" TEXT(FLOATS) "+32]\n"
    "    mov x0, x16\n"
    "    bl hb_trampoline_leave\n"
    BASE
    "    ldp x0, x1, [x16, #" TEXT(RESULTS) "]\n"
    "    ldp q0, q1, [x16, #" TEXT(FLOATS) "]\n"
    "    ldp q2, q3, [x16, #" TEXT(FLOATS) "+32]\n"
    "    mov sp, x29\n"
    "    ldp x29, x30, [sp], #16\n"
    "    .cfi_def_cfa sp, 0\n"
    "    .cfi_restore x29\n"
    "    .cfi_restore x30\n"
    "    ret\n"
    "    .cfi_endproc\n"
    "    .size hb_trampoline_code, . - hb_trampoline_code\n"
    "    .popsection\n");
/* clang-format on */

#else /* nothing is interposed there: hb_imports_known() */

const char hb_trampoline_code[1], hb_trampoline_returns[1];

#endif

/* ---- what the code calls ---- */

/* Pages are multiples of it. */
#define SMALLEST_PAGE 4096u

/* The stack may end behind the parameters, as that of a fiber does: what lies in another page than
 * the first word is looked at only if that page is there. */
static size_t words_there(const volatile uint64_t *stack)
{
    size_t left = (SMALLEST_PAGE - (uintptr_t)stack % SMALLEST_PAGE) / sizeof *stack;
    unsigned char there;
    if (HB_LIKELY(left >= HB_CALL_STACK_WORDS)) return HB_CALL_STACK_WORDS;
    void *next = (void *)(uintptr_t)(stack + left);
    int saved = errno;
    bool ends = mincore(next, SMALLEST_PAGE, &there) != 0 && errno == ENOMEM;
    errno = saved;
    return ends ? left : HB_CALL_STACK_WORDS;
}

/* What lies behind the parameters may be anything, also what a sanitizer forbids to touch;
 * volatile, or the compiler makes it a memcpy(), which asks the sanitizer. */
__attribute__((no_sanitize("address", "thread"))) static void copy_stack(
    uint64_t *words, const volatile uint64_t *stack)
{
    size_t n = words_there(stack);
    for (size_t i = 0; i < HB_CALL_STACK_WORDS; i++)
        words[i] = i < n ? stack[i] : 0;
}

/* What is passed on lies before the call, in the assembly's frame. */
BY_NAME bool hb_trampoline_enter(hb_call *call)
{
    const trampoline *t = call->slot;
    uint64_t *words = call->words + HB_CALL_REGISTERS;
    call->index = (uint32_t)(t - hb_trampoline_slots);
    copy_stack(words, call->stack);
    if (!t->hooks->enter(call)) return false;
    memcpy((char *)call - STACK, words, STACK);
    return true;
}

BY_NAME void hb_trampoline_leave(hb_call *call)
{
    ((const trampoline *)call->slot)->hooks->leave(call);
}

typedef uintptr_t context_fn(struct _Unwind_Context *context);

/* A function of whatever unwinds: it is a library that the program may have, and this one need not.
 * NULL of one that is linked into the program. */
static context_fn *unwinders(const void *code, const char *name)
{
    Dl_info info;
    void *function = NULL;
    context_fn *found;
    void *library = dladdr(code, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (library) function = dlsym(library, name);
    if (library) dlclose(library);
    memcpy(&found, &function, sizeof found);
    return found;
}

/* A frame that an exception passes, or a thread's cancellation, ends with it. The stack pointer of
 * the frame is what unwinders call the CFA of the one that it called. */
BY_NAME _Unwind_Reason_Code hb_trampoline_unwound(int version, _Unwind_Action actions,
                                                  _Unwind_Exception_Class class,
                                                  struct _Unwind_Exception *exception,
                                                  struct _Unwind_Context *context)
{
    const void *unwinder = __builtin_return_address(0);
    (void)version, (void)class, (void)exception;
    if (!(actions & _UA_CLEANUP_PHASE)) return _URC_CONTINUE_UNWIND;
    context_fn *ip = unwinders(unwinder, "_Unwind_GetIP");
    context_fn *cfa = unwinders(unwinder, "_Unwind_GetCFA");
    if (!ip || !cfa || ip(context) != (uintptr_t)hb_trampoline_returns) return _URC_CONTINUE_UNWIND;
    hb_call *call = (hb_call *)(cfa(context) + STACK);
    const trampoline *t = call->slot;
    if (t->hooks->abandon) t->hooks->abandon(call);
    return _URC_CONTINUE_UNWIND;
}

/* ---- giving them away ---- */

uint32_t hb_trampoline_new(void *real, const hb_call_hooks *hooks, const uint32_t *on)
{
    static _Atomic uint32_t given;
    uint32_t index = atomic_fetch_add(&given, 1);
    if (index >= HB_TRAMPOLINES) {
        atomic_store(&given, HB_TRAMPOLINES);
        return HB_TRAMPOLINES;
    }
    hb_trampoline_slots[index] = (trampoline){.real = real, .hooks = hooks, .on = on};
    return index;
}

bool hb_trampoline_is(const void *address)
{
    return (uintptr_t)address - (uintptr_t)hb_trampoline_code < (size_t)COUNT * CODE_BYTES;
}

const void *hb_trampoline_return_address(void)
{
    return hb_trampoline_returns;
}

void *hb_trampoline_address(uint32_t index)
{
    return (void *)(uintptr_t)(hb_trampoline_code + (size_t)index * CODE_BYTES);
}
