/* SPDX-License-Identifier: MIT
 *
 * Functions to stand in for functions of other libraries, whatever their parameters: integers,
 * pointers, structures of them and floating-point numbers travel in the registers and stack words
 * in which they came.
 *
 * A trampoline is 16 bytes of code. While nobody records it jumps to the real function, without a
 * frame, as if it were not there. Else it keeps the arguments, asks a hook, and, if the hook wants
 * to know the end, calls the real function from a frame of its own, with copies of the arguments
 * that lie on the stack, and tells another hook the result. It returns as any function does, so
 * that unwinders, exceptions, longjmp() and shadow stacks find what they expect.
 *
 * Not passed on to a function whose end is asked for: more than HB_CALL_STACK_WORDS words of the
 * stack, the upper halves of vectors wider than 16 bytes, and a long double that is the result.
 */
#ifndef HB_INTERPOSE_TRAMPOLINES_H
#define HB_INTERPOSE_TRAMPOLINES_H

#include "base/base.h"

enum { HB_TRAMPOLINES = 1024 };

#if defined(__x86_64__)
enum { HB_CALL_REGISTERS = 6 };
#else
enum { HB_CALL_REGISTERS = 8 };
#endif
enum { HB_CALL_STACK_WORDS = 24, HB_CALL_WORDS = HB_CALL_REGISTERS + HB_CALL_STACK_WORDS };

typedef struct hb_call_vector {
    _Alignas(16) double parts[2];
} hb_call_vector;

/** A call on its way. The assembly of trampolines.c knows where each member lies. */
typedef struct hb_call {
    uint64_t words[32];        /* integers and pointers: registers, then HB_CALL_STACK_WORDS of the
                                  stack, or of whatever lies there */
    hb_call_vector vectors[8]; /* floating-point numbers */
    hb_call_vector float_results[4];
    uint64_t state[2]; /* the hooks' own */
    uint64_t results[2];
    uint64_t spare;        /* a register more that is an argument: x86-64's rax, aarch64's x8 */
    const void *slot;      /* the trampoline */
    const uint64_t *stack; /* the caller's, behind the return address */
    uint32_t index;
} hb_call;

typedef struct hb_call_hooks {
    /** False: the real function goes on in the trampoline's place, and `leave` is not called. */
    bool (*enter)(hb_call *call);
    void (*leave)(hb_call *call);
    /** Or NULL: an exception leaves the function. Not told of longjmp(). */
    void (*abandon)(hb_call *call);
} hb_call_hooks;

/** The number of one more; HB_TRAMPOLINES: there are no more. While `*on` is 0 it jumps on; that is
 * read without any order, and who records waits for nothing by it. Any thread may ask. */
uint32_t hb_trampoline_new(void *real, const hb_call_hooks *hooks, const uint32_t *on);
/** Where a real function returns to whose end is asked for: a frame in the program's stack. */
const void *hb_trampoline_return_address(void);
/** Whether an address is that of a trampoline. */
bool hb_trampoline_is(const void *address);
/** To be called instead of the real function. */
void *hb_trampoline_address(uint32_t index);

#endif
