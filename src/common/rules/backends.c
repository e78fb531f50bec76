/* SPDX-License-Identifier: MIT */
#include "rules/backends.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *word, *meant;
} backends[] = {
#define HB_BACKEND(word, meant) {word, meant},
#include "rules/backends.def"
#undef HB_BACKEND
};

const char *hb_backend_of(hb_str word)
{
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strlen(backends[i].word) == word.len &&
            strncasecmp(backends[i].word, word.s, word.len) == 0)
            return backends[i].meant;
    return NULL;
}
