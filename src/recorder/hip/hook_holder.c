/* SPDX-License-Identifier: MIT */
#include "hip/hook_holder.h"

#include <dlfcn.h>

/* ---- where it is stored ---- */

static bool begins_with(const uint8_t **at, const void *what, size_t n)
{
    if (memcmp(*at, what, n) != 0) return false;
    *at += n;
    return true;
}

/* Behind a displacement, which counts from the instruction's end. */
static const void *relative(const uint8_t **at)
{
    int32_t displacement;
    memcpy(&displacement, *at, sizeof displacement);
    *at += sizeof displacement;
    return *at + displacement;
}

/* The first argument goes into a variable of the library: by its address, by an address in a table,
 * or straight; plainly, or as an atomic variable. */
static const void *const *variable_of(const uint8_t *code)
{
    const void *address;
    (void)begins_with(&code, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
    (void)begins_with(&code, "\x55\x48\x89\xe5", 4); /* push %rbp; mov %rsp, %rbp */
    if (begins_with(&code, "\x48\x89\x3d", 3) ||     /* mov %rdi, x(%rip) */
        begins_with(&code, "\x48\x87\x3d", 3))       /* xchg %rdi, x(%rip) */
        return relative(&code);
    if (begins_with(&code, "\x48\x8d\x05", 3)) /* lea x(%rip), %rax */
        address = relative(&code);
    else if (begins_with(&code, "\x48\x8b\x05", 3)) /* mov x(%rip), %rax */
        address = *(const void *const *)relative(&code);
    else
        return NULL;
    /* mov or xchg %rdi, (%rax) */
    bool stored = begins_with(&code, "\x48\x89\x38", 3) || begins_with(&code, "\x48\x87\x38", 3);
    return stored ? address : NULL;
}

/* Who is registered, or NULL; false: that can't be found out. */
static bool find_holder(const hb_hip *hip, const char *registers, const void **holder)
{
    const uint8_t *code;
    *holder = NULL;
#ifdef __x86_64__
    hb_hip_symbol(hip, registers, &code);
    const void *const *variable = code ? variable_of(code) : NULL;
    if (!variable) return false;
    *holder = __atomic_load_n(variable, __ATOMIC_ACQUIRE); /* with the runtime's store */
    return true;
#else
    (void)hip, (void)registers, (void)code;
    return false; /* other processors have other code */
#endif
}

/* ---- who that is ---- */

static const char *roctracer(void)
{
    static const char *const libraries[] = {"libroctracer64.so.4", "libroctracer64.so"};
    for (size_t i = 0; i < HB_ARRAY_LEN(libraries); i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue;
        dlclose(library);
        return libraries[i];
    }
    return NULL;
}

/* Many programs are linked to roctracer and never use it: it takes the hooks when it is told to
 * listen. */
bool hb_hook_is_taken(const hb_hip *hip, const char *registers, const void *ours, hb_buf *why)
{
    Dl_info where;
    const void *holder;
    if (!find_holder(hip, registers, &holder)) {
        const char *other = roctracer();
        if (other)
            hb_buf_printf(
                why,
                "%s is loaded in this process and may hold the HIP runtime's hooks, which "
                "have one holder",
                other);
        return other != NULL;
    }
    if (!holder || holder == ours) return false;
    bool known = dladdr(holder, &where) && where.dli_fname;
    hb_buf_printf(why, "%s holds the HIP runtime's hooks, which have one holder",
                  known ? where.dli_fname : "another tool");
    return true;
}
