/* SPDX-License-Identifier: MIT */
#include "selection.h"

#include <stdlib.h>
#include <string.h>

static bool parse_steps(const char *text, selection *to)
{
    const char *colon = strchr(text, ':');
    char *end;
    if (!colon) return false;
    if (colon != text) {
        to->first_step = strtoll(text, &end, 10);
        if (end != colon) return false;
    }
    if (colon[1]) {
        to->last_step = strtoll(colon + 1, &end, 10);
        if (*end) return false;
    }
    return to->first_step <= to->last_step;
}

const char *take_steps(void *to, const char *text)
{
    return parse_steps(text, to) ? NULL : "expected A:B, A no larger than B";
}

/* Seconds before `*text`'s next `stop`, and moves there; nothing there leaves `*us`. */
static bool parse_seconds(const char **text, char stop, double *us)
{
    char *end;
    if (**text != stop) {
        *us = strtod(*text, &end) * 1e6;
        *text = end;
    }
    return **text == stop && *us >= 0 && *us < 1e18;
}

static bool parse_time(const char *text, selection *to)
{
    if (!parse_seconds(&text, ':', &to->start_us)) return false;
    bool open = !*++text;
    return parse_seconds(&text, 0, &to->end_us) && (open || to->start_us < to->end_us);
}

const char *take_time(void *to, const char *text)
{
    return parse_time(text, to) ? NULL : "expected A:B in seconds, A less than B";
}

/* "10steps", "1step" */
static bool parse_step_count(const char *text, uint64_t *count)
{
    char *end;
    long long n = strtoll(text, &end, 10);
    *count = n > 0 ? (uint64_t)n : 0;
    return end > text && (strcmp(end, "steps") == 0 || strcmp(end, "step") == 0);
}

/* "100M" and "100MB", but no number alone, which might be anything. */
static bool parse_size(const char *text, uint64_t *size)
{
    char number[32];
    size_t n = strlen(text);
    if (n && text[n - 1] == 'B') n--;
    if (n == 0 || n >= sizeof number || !strchr("KMG", text[n - 1])) return false;
    memcpy(number, text, n);
    number[n] = 0;
    return !take_size(size, number);
}

const char *take_split(void *to, const char *text)
{
    selection *s = to;
    uint64_t steps;
    int64_t ns;
    size_t n = strlen(text);
    if (parse_size(text, &s->max_size)) return NULL;
    if (parse_step_count(text, &steps) && steps) {
        s->split_steps = steps;
        return NULL;
    }
    if (n && strchr("smh", text[n - 1]) && !take_span(&ns, text)) {
        s->split_us = (double)ns / 1e3;
        return NULL;
    }
    return "expected a size as 100M, steps as 10steps, or a time as 5s";
}

bool is_selected(const selection *s)
{
    return s->first_step != INT64_MIN || s->last_step != INT64_MAX || s->start_us > 0 ||
           s->end_us > 0;
}
