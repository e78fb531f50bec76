/* SPDX-License-Identifier: MIT */
#include "fault.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

typedef struct fault {
    uint64_t first; /* 0: never */
    uint64_t delay_ns;
    bool onwards;
    uint64_t count; /* events so far; atomic */
} fault;

static fault faults[SIM_FAULT_KINDS];

static const struct {
    const char *word;
    uint64_t delay_ns;
} kinds[] = {
#define FAULT_ROW(kind, word, delay) {word, delay},
    SIM_FAULT_MAP(FAULT_ROW)
#undef FAULT_ROW
};

static bool parse_number(const char **text, uint64_t *value)
{
    char *end;
    if (**text < '0' || **text > '9') return false;
    *value = strtoull(*text, &end, 10);
    *text = end;
    return true;
}

/* KIND:N[+][:NS] at *text; leaves *text behind it. */
static bool parse_fault(const char **text)
{
    for (size_t i = 0; i < SIM_ARRAY_LEN(kinds); i++) {
        size_t length = strlen(kinds[i].word);
        if (strncmp(*text, kinds[i].word, length) != 0 || (*text)[length] != ':') continue;
        fault f = {.delay_ns = kinds[i].delay_ns};
        *text += length + 1;
        if (!parse_number(text, &f.first) || f.first == 0) return false;
        if (**text == '+') f.onwards = true, ++*text;
        if (**text == ':' && (++*text, !parse_number(text, &f.delay_ns))) return false;
        faults[i] = f;
        return true;
    }
    return false;
}

bool sim_fault_plan(const char *text)
{
    const char *rest = text;
    memset(faults, 0, sizeof faults);
    while (rest && *rest) {
        if (!parse_fault(&rest) || (*rest != ',' && *rest != '\0')) {
            sim_warn(
                "SIMHSA_FAULTS: cannot read \"%s\": KIND:N[+][:NS] with KIND alloc, load, queue, "
                "copy, copy_slow or kernel_slow",
                text);
            return false;
        }
        if (*rest == ',') rest++;
    }
    return true;
}

bool sim_fault_strikes(sim_fault_kind kind)
{
    fault *f = &faults[kind];
    if (f->first == 0) return false;
    uint64_t n = __atomic_add_fetch(&f->count, 1, __ATOMIC_RELAXED);
    bool strikes = f->onwards ? n >= f->first : n == f->first;
    if (strikes) SIM_TRACE("fault %s at event %llu", kinds[kind].word, (unsigned long long)n);
    return strikes;
}

uint64_t sim_fault_delay(sim_fault_kind kind)
{
    return sim_fault_strikes(kind) ? faults[kind].delay_ns : 0;
}
