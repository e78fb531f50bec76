/* SPDX-License-Identifier: MIT */
#include "debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* ---- what is expected of the modules ---- */

typedef struct expected {
    uint64_t start;
    char *build_id;
} expected;

struct debug_info {
    Dwfl *dwfl;
    expected *expected;
    size_t num_expected;
};

debug_info *debug_info_new(void)
{
    return calloc(1, sizeof(debug_info));
}

bool debug_info_expect(debug_info *info, uint64_t start, const char *build_id)
{
    expected *more = realloc(info->expected, (info->num_expected + 1) * sizeof *more);
    if (!more) return false;
    info->expected = more;
    char *id = strdup(build_id);
    if (id) more[info->num_expected++] = (expected){start, id};
    return id != NULL;
}

/* What is kept of a module: whether it is what the process had mapped, and its code's units. */
typedef struct unit_range {
    Dwarf_Addr start, end;
    Dwarf_Die *unit;
} unit_range;

typedef struct module_facts {
    bool other_file;
    bool listed;
    unit_range *units; /* in order, made when first needed */
    size_t num_units;
} module_facts;

static bool is_build_id(Dwfl_Module *module, const char *expected_id)
{
    const unsigned char *bits;
    GElf_Addr where;
    Dwarf_Addr bias;
    if (!dwfl_module_getelf(module, &bias)) return true;
    int n = dwfl_module_build_id(module, &bits, &where);
    if (n <= 0 || strlen(expected_id) != 2 * (size_t)n) return false;
    for (int i = 0; i < n; i++) {
        char byte[3];
        snprintf(byte, sizeof byte, "%02x", bits[i]);
        if (memcmp(expected_id + 2 * (size_t)i, byte, 2) != 0) return false;
    }
    return true;
}

static bool is_other_file(const debug_info *info, Dwfl_Module *module)
{
    Dwarf_Addr start, end;
    dwfl_module_info(module, NULL, &start, &end, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < info->num_expected; i++)
        if (info->expected[i].start >= start && info->expected[i].start < end)
            return !is_build_id(module, info->expected[i].build_id);
    return false;
}

/* NULL when nothing can be said by this module. */
static module_facts *facts_of(const debug_info *info, Dwfl_Module *module)
{
    void **kept;
    dwfl_module_info(module, &kept, NULL, NULL, NULL, NULL, NULL, NULL);
    if (!*kept) {
        module_facts *facts = calloc(1, sizeof *facts);
        if (facts) facts->other_file = is_other_file(info, module);
        *kept = facts;
    }
    module_facts *facts = *kept;
    return facts && !facts->other_file ? facts : NULL;
}

static int forget_facts(Dwfl_Module *module, void **kept, const char *name, Dwarf_Addr start,
                        void *arg)
{
    (void)module, (void)name, (void)start, (void)arg;
    module_facts *facts = *kept;
    if (facts) free(facts->units);
    free(facts);
    *kept = NULL;
    return DWARF_CB_OK;
}

bool debug_info_open(debug_info *info, const char *maps, size_t size)
{
    static char *debuginfo_path; /* NULL: the default */
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf,
        .find_debuginfo = dwfl_build_id_find_debuginfo, /* local files only */
        .debuginfo_path = &debuginfo_path,
    };
    FILE *file = size ? fmemopen((void *)(uintptr_t)maps, size, "r") : NULL;
    info->dwfl = dwfl_begin(&callbacks);
    bool ok = file && info->dwfl && dwfl_linux_proc_maps_report(info->dwfl, file) == 0 &&
              dwfl_report_end(info->dwfl, NULL, NULL) == 0;
    if (file) fclose(file);
    return ok;
}

void debug_info_free(debug_info *info)
{
    if (info->dwfl) {
        dwfl_getmodules(info->dwfl, forget_facts, NULL, 0);
        dwfl_end(info->dwfl);
    }
    for (size_t i = 0; i < info->num_expected; i++)
        free(info->expected[i].build_id);
    free(info->expected);
    free(info);
}

/* ---- an address's functions ---- */

static const char *function_name(Dwarf_Die *die)
{
    static const unsigned names[] = {DW_AT_MIPS_linkage_name, DW_AT_linkage_name, DW_AT_name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Dwarf_Attribute attribute;
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));
        if (name) return name;
    }
    return NULL;
}

/* The line that an inlined function was called from. */
static void call_site(Dwarf_Die *cu, Dwarf_Die *inlined, const char **file, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    Dwarf_Files *files;
    size_t n;
    *line = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
        *line = (int)value;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(cu, &files, &n) == 0 && value < n)
        *file = dwarf_filesrc(files, value, NULL, NULL);
}

/* The entries around `pc`, innermost first, as they lie in the code. What dwarf_getscopes() gives
 * goes on, behind an inlined function, with where that was written instead. */
static int scopes_at(Dwarf_Die *cu, Dwarf_Addr pc, Dwarf_Die **scopes)
{
    Dwarf_Die *innermost = NULL;
    int n = dwarf_getscopes(cu, pc, &innermost);
    if (n > 0) n = dwarf_getscopes_die(&innermost[0], scopes);
    free(innermost);
    return n;
}

static int by_start(const void *a, const void *b)
{
    const unit_range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static bool add_unit(module_facts *facts, unit_range range)
{
    if ((facts->num_units & (facts->num_units - 1)) == 0) { /* a power of two: full */
        size_t capacity = facts->num_units ? 2 * facts->num_units : 1;
        unit_range *more = realloc(facts->units, capacity * sizeof *more);
        if (!more) return false;
        facts->units = more;
    }
    facts->units[facts->num_units++] = range;
    return true;
}

static void list_units(module_facts *facts, Dwfl_Module *module)
{
    Dwarf_Addr bias, base;
    facts->listed = true;
    for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias));) {
        unit_range r = {.unit = unit};
        for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &r.start, &r.end)) > 0;)
            if (!add_unit(facts, r)) return;
    }
    if (facts->num_units) qsort(facts->units, facts->num_units, sizeof *facts->units, by_start);
}

static Dwarf_Die *find_unit(const module_facts *facts, Dwarf_Addr address)
{
    const unit_range *ranges = facts->units;
    size_t low = 0, high = facts->num_units;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < ranges[low - 1].end ? ranges[low - 1].unit : NULL;
}

/* The compilation unit that `pc` is in. gcc leaves a table of them (.debug_aranges), out of which
 * elfutils also gives the unit before a gap. clang leaves none: for its modules one is made. */
static Dwarf_Die *unit_at(module_facts *facts, Dwfl_Module *module, uint64_t pc, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, pc, bias);
    if (unit && dwarf_haspc(unit, pc - *bias) > 0) return unit;
    if (!dwfl_module_getdwarf(module, bias)) return NULL;
    if (!facts->listed) list_units(facts, module);
    return find_unit(facts, pc - *bias);
}

/* The functions around `pc` in its compilation unit; false when it tells of none. */
static bool put_functions(Dwarf_Die *unit, Dwarf_Addr pc, const char *file, int line,
                          void (*put)(const char *file, int line, const char *function))
{
    Dwarf_Die *scopes = NULL;
    int n = scopes_at(unit, pc, &scopes);
    bool found = false;
    for (int i = 0; i < n; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
        put(file, line, function_name(&scopes[i]));
        found = true;
        if (tag == DW_TAG_subprogram) break;
        call_site(unit, &scopes[i], &file, &line);
    }
    free(scopes);
    return found;
}

void debug_info_frames(debug_info *info, uint64_t address,
                       void (*put)(const char *file, int line, const char *function))
{
    Dwfl_Module *module = dwfl_addrmodule(info->dwfl, address);
    module_facts *facts = module ? facts_of(info, module) : NULL;
    if (!facts) return;
    Dwarf_Addr bias = 0;
    int line = 0;
    Dwarf_Die *unit = unit_at(facts, module, address, &bias);
    Dwarf_Line *source = unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
    const char *file = source ? dwarf_linesrc(source, NULL, NULL) : NULL;
    if (source) dwarf_lineno(source, &line);
    if (unit && put_functions(unit, address - bias, file, line, put)) return;
    if (!file) file = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    put(file, line, dwfl_module_addrname(module, address));
}
