/* SPDX-License-Identifier: MIT
 *
 * Who holds a runtime's hooks, by the code of the function that registers: in each form that
 * compilers give it.
 */
#include "hip_test.h"

#include <dlfcn.h>

#include "hip/hook_holder.h"

extern const void *test_holder;
const void *test_holder;

#define REGISTERS(name, code)                                                    \
    __asm__(".text\n.globl " name "\n.type " name ", @function\n" name ": " code \
            "\nret\n.size " name ", . - " name "\n")

__asm__(".data\n.balign 8\ntest_holders: .quad test_holder\n.text\n");

#define ENTRY    "endbr64\n"
#define FRAME    "push %rbp\nmov %rsp, %rbp\n"
#define STRAIGHT "mov %rdi, test_holder(%rip)\n"
#define ADDRESS  "lea test_holder(%rip), %rax\n"
#define TABLE    "mov test_holders(%rip), %rax\n"

REGISTERS("straight", STRAIGHT);
REGISTERS("straight_entry", ENTRY STRAIGHT);
REGISTERS("straight_frame", FRAME STRAIGHT);
REGISTERS("straight_entry_frame", ENTRY FRAME STRAIGHT);
REGISTERS("straight_atomic", "xchg %rdi, test_holder(%rip)\n");
REGISTERS("address", ADDRESS "mov %rdi, (%rax)\n");
REGISTERS("address_entry_frame", ENTRY FRAME ADDRESS "mov %rdi, (%rax)\n");
REGISTERS("address_atomic", ADDRESS "xchg %rdi, (%rax)\n");
REGISTERS("table", TABLE "mov %rdi, (%rax)\n");
REGISTERS("table_entry_frame", ENTRY FRAME TABLE "mov %rdi, (%rax)\n");
REGISTERS("table_atomic", TABLE "xchg %rdi, (%rax)\n");

/* These may store anything anywhere. */
REGISTERS("second_argument", "mov %rsi, test_holder(%rip)\n");
REGISTERS("second_by_address", ADDRESS "mov %rsi, (%rax)\n");
REGISTERS("second_by_table", TABLE "mov %rsi, (%rax)\n");
REGISTERS("nothing", "nop\n");

static const hb_hip runtime = {.library = RTLD_DEFAULT}; /* this program */

/* Whether it is taken, if anything may be known of it, by whom. */
static void check(const char *registers, const void *holder, const char *by)
{
    static const int ours;
    hb_buf why;
    hb_buf_init(&why, 4096);
    test_holder = holder;
    bool taken = hb_hook_is_taken(&runtime, registers, &ours, &why);
    if (taken != (by != NULL) || (by && !strstr(hb_buf_text(&why), by)))
        fail_msg("%s: %s", registers, why.size ? hb_buf_text(&why) : "free");
    test_holder = &ours;
    assert_false(hb_hook_is_taken(&runtime, registers, &ours, &why));
    hb_buf_free(&why);
}

static void whoever_was_registered_last_is_found(void **state)
{
    static const char *const forms[] = {
        "straight",        "straight_entry",    "straight_frame",      "straight_entry_frame",
        "straight_atomic", "address",           "address_entry_frame", "address_atomic",
        "table",           "table_entry_frame", "table_atomic",
    };
    (void)state;
    void *nobodys = malloc(1);
    Dl_info where; /* of a library's function */
    assert_true(dladdr((const void *)(uintptr_t)hipGetErrorName, &where) && where.dli_fname);
    for (size_t i = 0; i < HB_ARRAY_LEN(forms); i++) {
        check(forms[i], NULL, NULL);
        check(forms[i], where.dli_fbase, where.dli_fname);
        check(forms[i], nobodys, "another tool holds the HIP runtime's hooks");
    }
    free(nobodys);
}

/* No tool that takes hooks is loaded here. */
static void other_code_tells_nothing(void **state)
{
    static const char *const forms[] = {"second_argument", "second_by_address", "second_by_table",
                                        "nothing", "no_such_function"};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(forms); i++)
        check(forms[i], &runtime, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_was_registered_last_is_found),
        cmocka_unit_test(other_code_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
