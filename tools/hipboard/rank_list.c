/* SPDX-License-Identifier: MIT */
#include "rank_list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A number up to what a job can have; NULL when there is none. */
static const char *take_number(const char *text, int64_t *number)
{
    char *end;
    if (*text < '0' || *text > '9') return NULL;
    long long value = strtoll(text, &end, 10);
    if (value > INT32_MAX) return NULL;
    *number = value;
    return end;
}

/* "every:64": 64. */
static bool take_word(const char *text, const char *word, int64_t *number)
{
    size_t n = strlen(word);
    const char *end = strncmp(text, word, n) == 0 ? take_number(text + n, number) : NULL;
    return end && !*end;
}

/* "8" or "8-15", and what is behind it. */
static const char *take_range(const char *text, int64_t *first, int64_t *last)
{
    text = take_number(text, first);
    *last = *first;
    if (text && *text == '-') text = take_number(text + 1, last);
    return text && *last >= *first && (*text == ',' || !*text) ? text : NULL;
}

bool rank_list_is_valid(const char *text)
{
    int64_t first = 0, last = 0;
    if (take_word(text, "every:", &first)) return first > 0;
    if (take_word(text, "node:", &first)) return true;
    do
        text = take_range(text, &first, &last);
    while (text && *text++ == ',');
    return text != NULL;
}

bool rank_list_has(const char *text, const hb_launch_info *process)
{
    int64_t first = 0, last = 0;
    if (take_word(text, "every:", &first)) return process->rank % first == 0;
    if (take_word(text, "node:", &first)) return process->node == first;
    do {
        text = take_range(text, &first, &last);
        if (text && process->rank >= first && process->rank <= last) return true;
    } while (text && *text++ == ',');
    return false;
}
