/* SPDX-License-Identifier: MIT */
#include "record_values.h"

#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "options.h"
#include "text.h"

const char *take_activities(void *to, const char *list)
{
    static const char wrong[] = "expected some of cpu, hip, comm: cpu,hip";
    unsigned *activities = to;
    char copy[32], *rest = copy;
    if (snprintf(copy, sizeof copy, "%s", list) >= (int)sizeof copy) return wrong;
    for (char *one; (one = strsep(&rest, ","));) {
        if (strcmp(one, "cpu") == 0)
            *activities |= HB_ACTIVITY_CPU;
        else if (strcmp(one, "hip") == 0)
            *activities |= HB_ACTIVITY_HIP;
        else if (strcmp(one, "comm") == 0)
            *activities |= HB_ACTIVITY_COMM;
        else
            return wrong;
    }
    return NULL;
}

const char *take_sampling(void *to, const char *text)
{
    char *end;
    int64_t each = strtoll(text, &end, 10);
    if (end == text || *end || each < 1 || each > UINT32_MAX) return "expected a number from 1 on";
    *(int64_t *)to = each;
    return NULL;
}

static bool parse_schedule_word(const char *word, hb_schedule_params *p)
{
    struct {
        const char *name;
        int64_t *value;
    } const words[] = {{"wait", &p->wait},
                       {"warmup", &p->warmup},
                       {"active", &p->active},
                       {"repeat", &p->repeat},
                       {"skip_first", &p->skip_first}};
    const char *equals = strchr(word, '=');
    if (!equals) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].name);
        char *end;
        if ((size_t)(equals - word) != n || strncmp(word, words[i].name, n) != 0) continue;
        *words[i].value = strtoll(equals + 1, &end, 10);
        return end > equals + 1 && !*end && *words[i].value >= 0 && *words[i].value < INT32_MAX;
    }
    return false;
}

static bool parse_schedule(const char *text, hb_schedule_params *p)
{
    char copy[128], *rest = copy;
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy) return false;
    *p = (hb_schedule_params){0};
    for (char *word; (word = strsep(&rest, ","));)
        if (!parse_schedule_word(word, p)) return false;
    return p->active > 0;
}

const char *take_loop(void *to, const char *text)
{
    long long number;
    if (!parse_number(text, 1, 1000000, &number)) return "expected a loop's number, from 1 on";
    *(int64_t *)to = number;
    return NULL;
}

const char *take_hz(void *to, const char *text)
{
    long long number;
    if (!parse_number(text, 1, 1000, &number)) return "expected a number from 1 to 1000";
    *(int64_t *)to = number;
    return NULL;
}

const char *take_schedule(void *to, const char *text)
{
    if (parse_schedule(text, to)) return NULL;
    return "expected wait=N,warmup=N,active=N,repeat=N,skip_first=N, of which only active is "
           "needed "
           "and must not be 0";
}

/* "30s", "100steps", "64MiB". */
char *list_tables(const table_list *list)
{
    char *all;
    bool none = list->no_libraries && list->no_communication && !list->loaders && !*list->paths;
    const char *own = !list->no_libraries
                          ? list->no_communication ? "libraries:without=communication" : "libraries"
                      : list->no_communication ? ""
                                               : "communication";
    const char *names = list->torch_names ? ":names=torch" : "";
    const char *loaders = list->loaders ? ":loaders" : "";
    if (none || asprintf(&all, "%s%s%s%s", own, loaders, list->paths, names) < 0) return NULL;
    return all;
}

const char *take_torch_names(void *to, const char *text)
{
    *(bool *)to = strcmp(text, "torch") == 0;
    return NULL;
}

const char *take_table(void *to, const char *path)
{
    table_list *list = to;
    char full[PATH_MAX];
    size_t used = strlen(list->paths);
    if (!realpath(path, full) || access(full, R_OK) != 0) return "no file that can be read";
    if (strpbrk(full, ":\n")) return "a table's path must not have a colon in it";
    int n = snprintf(list->paths + used, sizeof list->paths - used, ":%s", full);
    if (n > 0 && (size_t)n < sizeof list->paths - used) return NULL;
    list->paths[used] = '\0';
    return "too many tables, or too long paths";
}

const char *take_expression(void *to, const char *text)
{
    static const char wrong[] = "expected a regular expression, as '([A-Za-z_]+)::forward'";
    regex_t compiled;
    if (!*text || regcomp(&compiled, text, REG_EXTENDED) != 0) return wrong;
    regfree(&compiled);
    char *json = malloc(6 * strlen(text) + 3), *at = json;
    if (!json) return "no memory";
    *at++ = '"';
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == '"' || c == '\\')
            at += sprintf(at, "\\u%04x", c);
        else
            *at++ = *text;
    }
    memcpy(at, "\"", 2);
    *(char **)to = json;
    return NULL;
}

const char *take_ring(void *to, const char *text)
{
    static const struct {
        const char *unit;
        double bytes; /* 0: steps */
    } units[] = {{"steps", 0},  {"step", 0},      {"B", 1},
                 {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    hb_profiler_options *ring = to;
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end > text && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) != 0) continue;
        double bytes = value * units[i].bytes;
        if (!(value >= 1 && (bytes > 0 ? bytes <= 1e15 : value <= 1e6)))
            return "expected from 1 step to 1000000, or some bytes";
        ring->ring_bytes = (uint64_t)bytes;
        ring->ring_steps = bytes > 0 ? 0 : (int64_t)value;
        return NULL;
    }
    return take_span(&ring->ring_ns, text) ? "expected a time, steps or bytes, as 30s, 100steps "
                                             "or 64MiB"
                                           : NULL;
}

const char *take_signal(void *to, const char *text)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
                   {"USR2", SIGUSR2}, {"WINCH", SIGWINCH}, {"URG", SIGURG}};
    long long number;
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (strcasecmp(name, signals[i].name) != 0) continue;
        *(int64_t *)to = signals[i].number;
        return NULL;
    }
    if (!parse_number(text, 1, SIGRTMAX, &number)) return "expected a signal, as USR2";
    *(int64_t *)to = number;
    return NULL;
}

/* "2.5": so many times the median; kept in percent. */
const char *take_times(void *to, const char *text)
{
    char *end;
    double times = strtod(text, &end);
    if (end == text || *end || !(times > 1 && times <= 1e6))
        return "expected a number over 1, as 3";
    *(int64_t *)to = (int64_t)(times * 100);
    return NULL;
}
