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
    return parse_seconds(&text, ':', &to->start_us) && *text++ == ':' &&
           parse_seconds(&text, 0, &to->end_us) && (to->end_us == 0 || to->start_us < to->end_us);
}

const char *take_time(void *to, const char *text)
{
    return parse_time(text, to) ? NULL : "expected A:B in seconds, A less than B";
}
