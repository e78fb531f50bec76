/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { MAX_OPTIONS = 48, MAX_INDENT = 30 };

/* ---- values ---- */

bool pattern_matches(const pattern *p, const char *text)
{
    return !p->given || regexec(&p->regex, text, 0, NULL, 0) == 0;
}

void pattern_free(pattern *p)
{
    if (p->given) regfree(&p->regex);
    p->given = false;
}

const char *take_pattern(void *to, const char *value)
{
    pattern *p = to;
    pattern_free(p);
    p->given = regcomp(&p->regex, value, REG_EXTENDED | REG_NOSUB) == 0;
    return p->given ? NULL : "expected an extended regular expression";
}

const char *take_flag(void *to, const char *value)
{
    (void)value;
    *(bool *)to = true;
    return NULL;
}

const char *take_text(void *to, const char *value)
{
    *(const char **)to = value;
    return NULL;
}

const char *take_size(void *to, const char *text)
{
    static const char units[] = "KMG";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        value *= 1024;
    if (end == text || !(value > 0 && value <= 1e15) || (*end && (!unit || end[1])))
        return "expected as in 100M";
    *(uint64_t *)to = (uint64_t)value;
    return NULL;
}

const char *take_count(void *to, const char *value)
{
    long long n;
    if (!parse_number(value, 0, LLONG_MAX, &n)) return "expected a number, 0 or more";
    *(size_t *)to = (size_t)n;
    return NULL;
}

const char *take_span(void *to, const char *text)
{
    static const char wrong[] = "expected a time as 500ms, 10s or 2m";
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end > text && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) != 0) continue;
        double all = value * units[i].ns;
        if (!(all >= 1 && all <= 1e15)) return wrong;
        *(int64_t *)to = (int64_t)all;
        return NULL;
    }
    return wrong;
}

const char *take_kineto(void *to, const char *value)
{
    *(bool *)to = strcmp(value, "kineto") == 0;
    return NULL;
}

/* Whether `word` is one of "a|b|c". */
static bool is_among(const char *words, const char *word)
{
    for (size_t n = strcspn(word, "|"); !word[n]; words++) {
        if (strncmp(words, word, n) == 0 && (words[n] == '|' || !words[n])) return true;
        words = strchr(words, '|');
        if (!words) break;
    }
    return false;
}

/* ---- --help ---- */

/* "  -o, --output LOGDIR"; returns its length, which is all that `size` 0 asks for. */
static int option_words(const option_spec *o, char *words, size_t size)
{
    char letter[] = {'-', o->letter, ',', ' ', 0};
    return snprintf(words, size, "  %s--%s%s%s", o->letter ? letter : "", o->name,
                    o->argument ? " " : "", o->argument ? o->argument : "");
}

static void print_option(const option_spec *o, int indent)
{
    char words[256];
    int n = option_words(o, words, sizeof words);
    printf("%-*s", indent, words);
    if (n > indent - 2) printf("\n%*s", indent, "");
    print_wrapped(o->help, (size_t)indent, HELP_WIDTH);
}

static void print_help(const command *c)
{
    static const option_spec help = {'h', "help", NULL, "this text", NULL, 0};
    int indent = option_words(&help, NULL, 0) + 2;
    for (const option_spec *o = c->options; o->name; o++) {
        int n = option_words(o, NULL, 0) + 2;
        if (n > indent && n <= MAX_INDENT) indent = n;
    }
    printf("usage: hipboard %s %s\n\n", c->name, c->synopsis);
    print_wrapped(c->about, 0, HELP_WIDTH);
    putchar('\n');
    for (const option_spec *o = c->options; o->name; o++)
        print_option(o, indent);
    print_option(&help, indent);
    if (!c->notes) return;
    putchar('\n');
    print_wrapped(c->notes, 0, HELP_WIDTH);
}

/* ---- parsing ---- */

/* The table as getopt_long() wants it. */
static void declare(const command *c, struct option *longs, char *letters)
{
    if (c->program_follows) *letters++ = '+';
    *letters++ = 'h';
    for (const option_spec *o = c->options; o->name; o++) {
        assert(o < c->options + MAX_OPTIONS);
        *longs++ = (struct option){o->name, o->argument ? required_argument : no_argument, NULL, 0};
        if (o->letter) *letters++ = o->letter;
        if (o->letter && o->argument) *letters++ = ':';
    }
    longs[0] = (struct option){"help", no_argument, NULL, 'h'};
    longs[1] = (struct option){NULL, 0, NULL, 0};
    *letters = 0;
}

static const option_spec *by_letter(const command *c, int letter)
{
    const option_spec *o = c->options;
    while (o->letter != letter)
        o++;
    return o;
}

bool are_words(const char *argument)
{
    return argument && strchr(argument, '|') && islower((unsigned char)*argument);
}

/* The exit status of a wrong value. */
static int take(const command *c, const option_spec *o, void *request, const char *value)
{
    if (are_words(o->argument) && !is_among(o->argument, value))
        return usage_error(c->name, "--%s '%s': expected %s", o->name, value, o->argument);
    const char *wrong = o->take((char *)request + o->to, value);
    return wrong ? usage_error(c->name, "--%s '%s': %s", o->name, value, wrong) : EXIT_FINE;
}

bool parse_options(const command *c, arguments *args, void *request)
{
    struct option longs[MAX_OPTIONS + 2];
    char letters[2 * MAX_OPTIONS + 3];
    int letter, which;
    declare(c, longs, letters);
    opterr = 0;
    optind = 1;
    while ((letter = getopt_long(args->count, args->words, letters, longs, &which)) != -1) {
        if (letter == 'h') {
            print_help(c);
            args->status = EXIT_FINE;
            return false;
        }
        if (letter == '?')
            args->status = usage_error(c->name, "option '%s' is unknown or lacks its value",
                                       args->words[optind - 1]);
        else
            args->status =
                take(c, letter ? by_letter(c, letter) : &c->options[which], request, optarg);
        if (args->status != EXIT_FINE) return false;
    }
    args->words += optind;
    args->count -= optind;
    if (args->count < c->least)
        args->status = usage_error(c->name, "%s", c->wanted);
    else if (args->count > c->most)
        args->status = usage_error(c->name, "'%s': %s", args->words[c->most], c->wanted);
    return args->status == EXIT_FINE;
}
