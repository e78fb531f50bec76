/* SPDX-License-Identifier: MIT
 *
 * Each function of the API has a structure on its stack,
 *
 *     hip_api_data_t data; uint64_t phase_enter_timestamp, phase_data; void (*enter)(), (*exit)();
 *
 * and ends with `if (exit) exit(number, &data)`, which gcc and clang both compile to
 *
 *     mov  exit(%base), %rax;  test %rax, %rax;  je ...;  lea data(%base), %rsi;  mov $number,
 * %edi;  call *%rax
 *
 * So each of hundreds of places tells how far apart the two are. `enter`, eight bytes before, is
 * called alike where there are no arguments to be filled in between. What is not unanimous is not
 * believed.
 */
#include "hip/hook_layout.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

enum {
    MIN_PLACES = 16,
    MIN_SIZE = 512,
    MAX_SIZE = 8192,
    EXIT_AT = 24, /* behind the data */
    ENTER_AT = 16,
    MAX_FUNCTIONS = 2048,
};

/* ---- one place ---- */

typedef struct bytes {
    const uint8_t *start, *end; /* read from the end to the start */
} bytes;

static bool ends_with(bytes *b, const void *what, size_t n)
{
    if ((size_t)(b->end - b->start) < n || memcmp(b->end - n, what, n) != 0) return false;
    b->end -= n;
    return true;
}

static int32_t number_at(const uint8_t *p)
{
    int32_t n;
    memcpy(&n, p, sizeof n);
    return n;
}

/* An operand on the stack. */
typedef struct operand {
    bool from_sp; /* else from the frame pointer */
    int32_t offset;
} operand;

/* Takes `opcode` with a stack operand and that register off the end, in each of the four ways in
 * which it may be written. */
static bool take_operand(bytes *b, uint8_t opcode, uint8_t reg, operand *o)
{
    for (int way = 0; way < 4; way++) {
        bool sp = way & 1, wide = way & 2;
        uint8_t code[4] = {0x48, opcode, (uint8_t)((wide ? 0x80 : 0x40) | reg << 3 | (sp ? 4 : 5)),
                           0x24};
        size_t n = sp ? 4 : 3, tail = wide ? 4 : 1;
        if ((size_t)(b->end - b->start) < n + tail) continue;
        const uint8_t *at = b->end - n - tail;
        if (memcmp(at, code, n) != 0) continue;
        *o = (operand){sp, wide ? number_at(at + n) : (int8_t)at[n]};
        b->end = at;
        return true;
    }
    return false;
}

enum { RAX = 0, RSI = 6 };

static bool take_number(bytes *b)
{
    if (b->end - b->start < 5 || b->end[-5] != 0xbf) return false;
    uint32_t number = (uint32_t)number_at(b->end - 4);
    if (number >= MAX_FUNCTIONS) return false;
    b->end -= 5;
    return true;
}

static bool take_arguments(bytes *b, operand *data)
{
    if (take_number(b)) return take_operand(b, 0x8d, RSI, data);
    return take_operand(b, 0x8d, RSI, data) && take_number(b);
}

static bool take_branch(bytes *b)
{
    size_t n = (size_t)(b->end - b->start);
    if (n >= 2 && b->end[-2] == 0x74)
        b->end -= 2;
    else if (n >= 6 && b->end[-6] == 0x0f && b->end[-5] == 0x84)
        b->end -= 6;
    else
        return false;
    return true;
}

/* How far the function that is called is behind the data that it gets; 0: this is not such a call.
 */
static int32_t distance_at_call(bytes before)
{
    operand data, function;
    if (!take_arguments(&before, &data) || !take_branch(&before)) return 0;
    if (!ends_with(&before, "\x48\x85\xc0", 3)) return 0;
    if (!take_operand(&before, 0x8b, RAX, &function)) return 0;
    return function.from_sp == data.from_sp ? function.offset - data.offset : 0;
}

/* ---- all of them ---- */

/* At most two distances, that of `enter` and that of `exit`. */
typedef struct census {
    int32_t distance[2];
    uint32_t places[2];
    bool doubtful;
} census;

static void count(census *c, int32_t distance)
{
    if (distance < MIN_SIZE || distance > MAX_SIZE + EXIT_AT || distance % 8) return;
    for (int i = 0; i < 2; i++) {
        if (!c->places[i]) c->distance[i] = distance;
        if (c->distance[i] != distance) continue;
        c->places[i]++;
        return;
    }
    c->doubtful = true;
}

static void scan_code(census *c, const uint8_t *code, size_t size)
{
    const uint8_t *end = code + size, *at = code;
    while ((at = memmem(at, (size_t)(end - at), "\xff\xd0", 2))) { /* call *%rax */
        enum { LONGEST = 40 };
        size_t before = HB_MIN((size_t)(at - code), (size_t)LONGEST);
        count(c, distance_at_call((bytes){at - before, at}));
        at += 2;
    }
}

static uint32_t conclude(const census *c)
{
    int exit = c->distance[1] > c->distance[0];
    bool both = c->places[1] != 0;
    if (c->doubtful || c->places[exit] < MIN_PLACES) return 0;
    if (both && c->distance[exit] - c->distance[!exit] != EXIT_AT - ENTER_AT) return 0;
    return (uint32_t)(c->distance[exit] - EXIT_AT);
}

/* ---- the runtime ---- */

typedef struct search {
    uintptr_t base;
    census census;
} search;

static int scan_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    search *s = arg;
    (void)size;
    if (info->dlpi_addr != s->base) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || (p->p_flags & (PF_X | PF_R)) != (PF_X | PF_R)) continue;
        scan_code(&s->census, (const uint8_t *)(s->base + p->p_vaddr), p->p_memsz);
    }
    return 1;
}

uint32_t hb_hook_layout_api_data_size(const hb_hip *hip)
{
#ifdef __x86_64__
    struct link_map *map;
    if (dlinfo(hip->library, RTLD_DI_LINKMAP, &map) != 0) return 0;
    search s = {.base = map->l_addr};
    dl_iterate_phdr(scan_library, &s);
    return conclude(&s.census);
#else
    (void)hip;
    return 0; /* other processors have other code */
#endif
}

uint32_t hb_hook_layout_num_functions(const hb_hip *hip)
{
    uint32_t above = 0;
    if (!hip->api_name) return 0;
    for (uint32_t cid = 0; cid < MAX_FUNCTIONS; cid++) {
        const char *name = hip->api_name(cid);
        if (name && strcmp(name, "unknown") != 0) above = cid + 1;
    }
    return above;
}
