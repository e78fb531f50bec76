/* SPDX-License-Identifier: MIT */
#include "rules/kernel_class.h"

#include <ctype.h>

/* The tables of kernels.def. */

static const struct {
    hb_str name;
    bool math;
} classes[] = {
#define HB_KERNEL_CLASS(id, name, math) {{name, sizeof name - 1}, math},
#define HB_KERNELS(class, ...)
#define HB_WITHOUT_MATRIX(pattern)
#define HB_WITH_MATRIX(pattern)
#include "rules/kernels.def"
};

static const struct {
    hb_kernel_class_id class;
    const char *patterns[40];
} built_in[] = {
#define HB_KERNEL_CLASS(id, name, math)
#define HB_KERNELS(class, ...) {HB_KERNELS_##class, {__VA_ARGS__}},
#define HB_WITHOUT_MATRIX(pattern)
#define HB_WITH_MATRIX(pattern)
#include "rules/kernels.def"
};

static const char *const uses_none[] = {
#define HB_KERNEL_CLASS(id, name, math)
#define HB_KERNELS(class, ...)
#define HB_WITHOUT_MATRIX(pattern) pattern,
#define HB_WITH_MATRIX(pattern)
#include "rules/kernels.def"
};

static const char *const uses_matrix[] = {
#define HB_KERNEL_CLASS(id, name, math)
#define HB_KERNELS(class, ...)
#define HB_WITHOUT_MATRIX(pattern)
#define HB_WITH_MATRIX(pattern) pattern,
#include "rules/kernels.def"
};

bool hb_kernel_class_is(hb_kernel_class_id id, hb_str name)
{
    return hb_str_is(name, classes[id].name.s);
}

bool hb_kernel_class_is_math(hb_str name)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(classes); i++)
        if (hb_kernel_class_is((hb_kernel_class_id)i, name)) return classes[i].math;
    return false;
}

/* ---- patterns ---- */

static bool is_letter(hb_str s, uint32_t at)
{
    return at < s.len && isalnum((unsigned char)s.s[at]);
}

static bool is_digit(hb_str s, uint32_t at)
{
    return at < s.len && isdigit((unsigned char)s.s[at]);
}

static int lower(char c)
{
    return tolower((unsigned char)c);
}

/* Moves over what pattern[p] stands for, but '*'; false: it is not there. */
static bool step(hb_str pattern, uint32_t p, hb_str name, uint32_t *at)
{
    switch (pattern.s[p]) {
    case '|': return !(is_letter(name, *at) && *at > 0 && is_letter(name, *at - 1));
    case '#':
        if (!is_digit(name, *at)) return false;
        while (is_digit(name, *at))
            ++*at;
        return true;
    case '~': /* its letter is pattern[p + 1] */
        return !(*at > 0 && p + 1 < pattern.len &&
                 lower(name.s[*at - 1]) == lower(pattern.s[p + 1]));
    case '$':
        if (p + 1 == pattern.len) return *at == name.len;
        break;
    default: break;
    }
    return *at < name.len && lower(pattern.s[p]) == lower(name.s[(*at)++]);
}

enum match { MATCHES, NOT_HERE, NOT_BEHIND };

/* At `at`, from pattern[p] on. A failure goes back to the last '*' only: text that an earlier one
 * could take as well was tried by it. NOT_BEHIND: what follows the first '*' is nowhere behind what
 * precedes it, nor then behind the same further on: else a long name that has only the first part,
 * many times, would be read as many times. */
static enum match match_at(hb_str pattern, uint32_t p, hb_str name, uint32_t at)
{
    uint32_t star = UINT32_MAX, from = 0;
    for (;;) {
        if (p >= pattern.len) return MATCHES;
        if (pattern.s[p] == '*') {
            star = ++p;
            from = at;
        } else if (step(pattern, p, name, &at)) {
            p += pattern.s[p] == '~' ? 2 : 1;
        } else {
            if (star == UINT32_MAX) return NOT_HERE;
            if (from >= name.len) return NOT_BEHIND;
            p = star;
            at = ++from;
        }
    }
}

bool hb_kernel_name_matches(hb_str pattern, hb_str name)
{
    if (pattern.len && *pattern.s == '^') return match_at(pattern, 1, name, 0) == MATCHES;
    /* Most names hold nothing of most patterns: look for the first letter only. */
    uint32_t begin = pattern.len > 2 && *pattern.s == '~' ? 2 : 0;
    int first = pattern.len ? lower(pattern.s[begin]) : 0, other = toupper(first);
    bool plain = isalnum(first) || first == '_';
    enum match match = NOT_HERE;
    for (uint32_t at = 0; at <= name.len && match == NOT_HERE; at++) {
        while (plain && at < name.len && name.s[at] != first && name.s[at] != other)
            at++;
        match = match_at(pattern, 0, name, at);
    }
    return match == MATCHES;
}

/* ---- a user's rules ---- */

typedef struct line {
    hb_str text;
    const char *path;
    unsigned number;
} line;

static hb_str next_word(hb_str *text)
{
    while (text->len && isspace((unsigned char)*text->s))
        text->s++, text->len--;
    hb_str word = {text->s, 0};
    while (text->len && !isspace((unsigned char)*text->s))
        text->s++, text->len--, word.len++;
    return word;
}

static bool is_matrix_word(hb_str word)
{
    return word.len == 7 && memcmp(word.s + 1, "matrix", 6) == 0;
}

static void check_word(hb_arena *arena, const line *l, hb_str word)
{
    if ((*word.s == '+' || *word.s == '-') && is_matrix_word(word)) return;
    for (uint32_t i = 0; i < word.len; i++)
        if (!is_letter(word, i) && word.s[i] != '_' && (word.s[i] != '-' || i == 0))
            hb_arena_leave(arena, HB_ERROR_FORMAT,
                           "%s:%u: '%.*s' is no class (letters, digits, _ and -), +matrix or "
                           "-matrix",
                           l->path, l->number, (int)HB_MIN(word.len, 60u), word.s);
}

static void check_pattern(hb_arena *arena, const line *l, hb_str pattern)
{
    for (uint32_t i = 0; i < pattern.len; i++)
        if (is_letter(pattern, i) || (unsigned char)pattern.s[i] >= 0x80 || pattern.s[i] == '#')
            return;
    hb_arena_leave(arena, HB_ERROR_FORMAT,
                   pattern.len ? "%s:%u: the pattern matches every kernel"
                               : "%s:%u: a pattern is missing",
                   l->path, l->number);
}

static void take_line(hb_arena *arena, hb_kernel_rules *rules, const line *l)
{
    hb_str rest = l->text;
    hb_str word = next_word(&rest), pattern, end;
    if (!word.len || *word.s == '#') return;
    pattern = next_word(&rest);
    end = next_word(&rest);
    check_word(arena, l, word);
    check_pattern(arena, l, pattern);
    if (end.len)
        hb_arena_leave(arena, HB_ERROR_FORMAT, "%s:%u: '%.*s' stands behind the pattern", l->path,
                       l->number, (int)HB_MIN(end.len, 60u), end.s);
    *HB_PUSH(arena, &rules->user) = (hb_kernel_rule){word, pattern};
}

void hb_kernel_rules_parse(hb_arena *arena, const char *path, hb_str text, hb_kernel_rules *rules)
{
    line l = {{text.s, 0}, path, 0};
    for (const char *p = text.s, *stop = text.s + text.len; p < stop; p += l.text.len + 1) {
        const char *newline = memchr(p, '\n', (size_t)(stop - p));
        l.text = (hb_str){p, (uint32_t)((newline ? newline : stop) - p)};
        l.number++;
        take_line(arena, rules, &l);
    }
}

/* ---- verdicts ---- */

static hb_str str_of(const char *text)
{
    return (hb_str){text, (uint32_t)strlen(text)};
}

/* Behind the bracket that closes the one at `at`; the end without one. */
static uint32_t skip_brackets(hb_str name, uint32_t at)
{
    int depth = 0;
    for (; at < name.len; at++) {
        depth += (name.s[at] == '(') - (name.s[at] == ')');
        if (depth == 0) return at + 1;
    }
    return at;
}

/* The types that a kernel takes are words of other kernels: a list of them in brackets that neither
 * stands in a template's arguments nor goes on with "::" ends the name. */
static hb_str without_arguments(hb_str name)
{
    static const char anonymous[] = "(anonymous namespace)";
    int depth = 0;
    for (uint32_t i = 0; i < name.len; i++) {
        if (name.s[i] == '<') depth++;
        if (name.s[i] == '>' && depth > 0) depth--;
        if (name.s[i] != '(' || depth > 0 || i == 0) continue;
        hb_str rest = {name.s + i, name.len - i};
        uint32_t end = skip_brackets(name, i);
        bool goes_on = end + 1 < name.len && name.s[end] == ':' && name.s[end + 1] == ':';
        if (!hb_str_begins(rest, anonymous) && !goes_on) return (hb_str){name.s, i};
        i = end - 1;
    }
    return name;
}

hb_str hb_kernel_class_of(const hb_kernel_rules *rules, hb_str name)
{
    for (uint32_t i = 0; rules && i < rules->user.count; i++) {
        const hb_kernel_rule *r = &rules->user.items[i];
        if (!is_matrix_word(r->word) && hb_kernel_name_matches(r->pattern, name)) return r->word;
    }
    hb_str bare = without_arguments(name);
    for (size_t i = 0; i < HB_ARRAY_LEN(built_in); i++)
        for (const char *const *p = built_in[i].patterns; *p; p++)
            if (hb_kernel_name_matches(str_of(*p), bare)) return classes[built_in[i].class].name;
    return classes[HB_KERNELS_OTHER].name;
}

enum { CODE_DISAGREES = HB_MATRIX_IS_UNUSED + 1 };

void hb_kernel_rules_add_code(hb_arena *arena, hb_kernel_rules *rules, hb_str name,
                              hb_matrix_verdict verdict)
{
    bool added;
    hb_string_id id = 0;
    if (rules->code_names.count || hb_texts_init(&rules->code_names))
        id = hb_texts_add(&rules->code_names, name.s, name.len);
    if (!id) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory for kernels' names");
    hb_dict_entry *e = hb_dict_add(arena, &rules->code_verdicts, id, &added);
    if (e->value == HB_MATRIX_IS_UNKNOWN)
        e->value = verdict;
    else if (verdict != HB_MATRIX_IS_UNKNOWN && e->value != verdict)
        e->value = CODE_DISAGREES;
}

void hb_kernel_rules_free(hb_kernel_rules *rules)
{
    hb_texts_free(&rules->code_names);
}

static hb_matrix_verdict code_verdict(const hb_kernel_rules *rules, hb_str name)
{
    if (!rules->code_names.count) return HB_MATRIX_IS_UNKNOWN;
    hb_string_id id = hb_texts_find(&rules->code_names, name.s, name.len);
    const hb_dict_entry *e = id ? hb_dict_get(&rules->code_verdicts, id) : NULL;
    return e && e->value != CODE_DISAGREES ? (hb_matrix_verdict)e->value : HB_MATRIX_IS_UNKNOWN;
}

hb_matrix_verdict hb_kernel_matrix_of(const hb_kernel_rules *rules, hb_str name)
{
    for (uint32_t i = 0; i < rules->user.count; i++) {
        const hb_kernel_rule *r = &rules->user.items[i];
        if (is_matrix_word(r->word) && hb_kernel_name_matches(r->pattern, name))
            return *r->word.s == '+' ? HB_MATRIX_IS_USED : HB_MATRIX_IS_UNUSED;
    }
    hb_matrix_verdict verdict = code_verdict(rules, name);
    if (verdict != HB_MATRIX_IS_UNKNOWN) return verdict;
    hb_str bare = without_arguments(name);
    for (size_t i = 0; i < HB_ARRAY_LEN(uses_none); i++)
        if (hb_kernel_name_matches(str_of(uses_none[i]), bare)) return HB_MATRIX_IS_UNUSED;
    for (size_t i = 0; i < HB_ARRAY_LEN(uses_matrix); i++)
        if (hb_kernel_name_matches(str_of(uses_matrix[i]), bare)) return HB_MATRIX_IS_USED;
    return HB_MATRIX_IS_UNKNOWN;
}
