/* SPDX-License-Identifier: MIT */
#include "symbols/symbolizer.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/hash_slots.h"
#include "symbols/loaded_code.h"
#include "symbols/perf_map.h"
#include "symbols/symbolizer_process.h"

typedef struct named_pc {
    uint64_t pc;
    uint32_t offset, size; /* in `texts` */
} named_pc;

struct hb_symbolizer {
    hb_slots slots; /* of `known`, by pc; numbers from 1 */
    HB_VEC(named_pc) known;
    hb_buf texts, stack, request;
    hb_symbolizer_process process;
    bool is_own;           /* of this process */
    hb_perf_map *perf_map; /* of one of this process, once it was needed; or NULL */
    bool has_looked;       /* for it */
};

/* ---- one frame's text ---- */

/* The functions of hipboard.hpp, which record: where they are called from is of interest. */
static bool is_own(hb_str linkage_name)
{
    return hb_str_begins(linkage_name, "_ZN8hipboard");
}

/* ';' would end the frame. */
static void put_name(hb_buf *to, hb_str name)
{
    size_t start = to->size;
    hb_buf_append(to, name.s, name.len);
    for (size_t i = start; i < to->size; i++)
        if (to->data[i] == ';') to->data[i] = ',';
}

static void put_frame(hb_buf *to, hb_str file, hb_str line, hb_str function, uint64_t pc)
{
    if (!file.len) file = HB_STR("?");
    hb_buf_append(to, file.s, file.len);
    hb_buf_printf(to, "(%.*s): ", (int)line.len, line.s);
    if (function.len)
        put_name(to, function);
    else
        hb_buf_printf(to, "0x%llx", (unsigned long long)pc);
    hb_buf_append(to, ";", 1);
}

static hb_str str_of(const char *text)
{
    return (hb_str){text, text ? (uint32_t)strlen(text) : 0};
}

/* False: the process's compilers say nothing of it. They are asked where no function is known,
 * even if a library is: what is mapped into a gap of that is taken for its. */
static bool put_frame_by_map(hb_symbolizer *s, uint64_t pc)
{
    if (!s->has_looked) s->perf_map = hb_perf_map_read();
    s->has_looked = true;
    hb_perf_name known = hb_perf_map_find(s->perf_map, pc);
    if (known.function.len) put_frame(&s->texts, known.file, HB_STR("0"), known.function, pc);
    return known.function.len != 0;
}

/* In libstdc++, which C programs don't have. */
extern char *__cxa_demangle(const char *, char *, size_t *, int *) __attribute__((weak));

static void put_frame_by_linker(hb_buf *to, uint64_t pc)
{
    Dl_info info = {0};
    int status = -1;
    if (!dladdr((void *)(uintptr_t)pc, &info)) info = (Dl_info){0};
    hb_str name = str_of(info.dli_sname);
    if (is_own(name)) return;
    char *plain =
        name.len && __cxa_demangle ? __cxa_demangle(info.dli_sname, NULL, NULL, &status) : NULL;
    put_frame(to, str_of(info.dli_fname), HB_STR("0"), plain ? str_of(plain) : name, pc);
    free(plain);
}

/* Up to the next tab. */
static hb_str next_field(hb_str *line)
{
    const char *tab = line->len ? memchr(line->s, '\t', line->len) : NULL;
    hb_str field = {line->s, tab ? (uint32_t)(tab - line->s) : line->len};
    uint32_t used = field.len + (tab ? 1 : 0);
    *line = (hb_str){line->s + used, line->len - used};
    return field;
}

static bool has_function(hb_str answer)
{
    for (int field = 0; field < 3; field++) /* its file, line and linkage name */
        (void)next_field(&answer);
    return next_field(&answer).len > 0;
}

static void put_answer(hb_symbolizer *s, hb_str answer, uint64_t pc)
{
    hb_buf *to = &s->texts;
    if (s->is_own && !has_function(answer) && put_frame_by_map(s, pc)) return;
    if (!answer.len && s->is_own) put_frame_by_linker(to, pc);
    if (!answer.len && !s->is_own) put_frame(to, HB_STR("?"), HB_STR("0"), (hb_str){0}, pc);
    while (answer.len) {
        hb_str file = next_field(&answer), line = next_field(&answer);
        hb_str linkage_name = next_field(&answer), name = next_field(&answer);
        if (!is_own(linkage_name)) put_frame(to, file, line, name, pc);
    }
}

/* ---- the helper ---- */

static void start_process(hb_symbolizer *s, hb_str code)
{
    static atomic_bool told;
    hb_buf own;
    hb_buf_init(&own, (size_t)256 << 20);
    if (!code.s) {
        hb_put_loaded_code(&own);
        code = (hb_str){own.data, (uint32_t)own.size};
    }
    if (!hb_symbolizer_start(&s->process, code) && !atomic_exchange(&told, true))
        hb_warn("call stacks without lines and inlined functions: %s", s->process.reason);
    hb_buf_free(&own);
}

hb_symbolizer *hb_symbolizer_new(hb_str code)
{
    hb_symbolizer *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    hb_buf_init(&s->texts, (size_t)256 << 20);
    hb_buf_init(&s->stack, (size_t)4 << 20);
    hb_buf_init(&s->request, (size_t)4 << 20);
    s->is_own = !code.s;
    start_process(s, code);
    return s;
}

void hb_symbolizer_free(hb_symbolizer *s)
{
    if (!s) return;
    hb_symbolizer_end(&s->process);
    hb_buf_free(&s->texts);
    hb_buf_free(&s->stack);
    hb_buf_free(&s->request);
    hb_perf_map_free(s->perf_map);
    hb_slots_free(&s->slots);
    free(s->known.items);
    free(s);
}

/* ---- the cache ---- */

/* A return address may already be the next line's. */
static uint64_t call_of(uint64_t pc)
{
    return pc - 1;
}

static void lose_process(hb_symbolizer *s)
{
    hb_symbolizer_end(&s->process);
    hb_warn("call stacks without lines and inlined functions: hipboard-symbolizer ended or did not "
            "answer");
}

static inline bool has_pc(const void *symbolizer, uint32_t number, const void *pc)
{
    return ((const hb_symbolizer *)symbolizer)->known.items[number - 1].pc == *(const uint64_t *)pc;
}

static uint32_t *slot_of(const hb_symbolizer *s, uint64_t pc)
{
    return hb_slots_find(&s->slots, hb_hash_number(pc), has_pc, s, &pc);
}

/* Room for one more. */
static bool make_room(hb_symbolizer *s)
{
    if (hb_slots_have_room(&s->slots)) return true;
    if (!hb_slots_double(NULL, &s->slots, 1024)) return false;
    for (uint32_t i = 0; i < s->known.count; i++)
        hb_slots_enter(&s->slots, hb_hash_number(s->known.items[i].pc), i + 1);
    return true;
}

/* Asks for what is not known yet; without memory: false. */
static bool note(hb_symbolizer *s, uint64_t pc)
{
    if (!make_room(s)) return false;
    uint32_t *slot = slot_of(s, pc);
    if (*slot) return true;
    named_pc *added = HB_APPEND(&s->known);
    if (!added) return false;
    added->pc = pc;
    s->slots.used++;
    *slot = s->known.count;
    hb_buf_printf(&s->request, "%llx\n", (unsigned long long)call_of(pc));
    return true;
}

static void take_answer(hb_symbolizer *s, named_pc *of)
{
    hb_str answer = {0};
    if (hb_symbolizer_is_running(&s->process)) {
        answer = hb_symbolizer_answer(&s->process);
        if (!answer.s) lose_process(s);
    }
    of->offset = (uint32_t)s->texts.size;
    put_answer(s, answer, call_of(of->pc));
    of->size = (uint32_t)s->texts.size - of->offset;
}

/* What is not known of a stack yet is asked for in one message. False without memory. */
static bool learn(hb_symbolizer *s, const uint64_t *pcs, uint32_t count)
{
    uint32_t before = s->known.count;
    bool noted = true;
    s->request.size = 0;
    for (uint32_t i = 0; i < count && noted; i++)
        noted = note(s, pcs[i]);
    if (hb_symbolizer_is_running(&s->process) &&
        !hb_symbolizer_send(&s->process, s->request.data, s->request.size))
        lose_process(s);
    for (uint32_t i = before; i < s->known.count; i++)
        take_answer(s, &s->known.items[i]);
    return noted;
}

hb_str hb_symbolizer_stack(hb_symbolizer *s, const uint64_t *pcs, uint32_t count)
{
    uint32_t n = 0;
    s->stack.size = 0;
    s->stack.failed = false;
    while (n < count && pcs[n])
        n++;
    if (!learn(s, pcs, n)) return (hb_str){0};
    for (uint32_t i = 0; i < n && !s->texts.failed; i++) {
        const named_pc *of = &s->known.items[*slot_of(s, pcs[i]) - 1];
        hb_buf_append(&s->stack, s->texts.data + of->offset, of->size);
    }
    return (hb_str){s->stack.data, (uint32_t)s->stack.size};
}
