/* SPDX-License-Identifier: MIT */
#include "routes/url.h"

#include <ctype.h>
#include <stdlib.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place: '+' is a blank, %XX a byte; a broken % stays. */
static void decode(char *text)
{
    char *to = text;
    for (const char *p = text; *p; p++) {
        if (*p == '+') {
            *to++ = ' ';
        } else if (*p == '%' && hex(p[1]) >= 0 && hex(p[2]) >= 0) {
            *to++ = (char)(hex(p[1]) << 4 | hex(p[2]));
            p += 2;
        } else {
            *to++ = *p;
        }
    }
    *to = 0;
}

static void add_param(hb_url *url, char *part)
{
    if (!*part || url->num_params == HB_URL_MAX_PARAMS) return;
    char *value = strchr(part, '=');
    if (value) *value++ = 0;
    decode(part);
    if (value) decode(value);
    url->params[url->num_params].name = part;
    url->params[url->num_params++].value = value ? value : "";
}

hb_result hb_url_parse(hb_url *url, const char *text)
{
    *url = (hb_url){0};
    while (*text == '/')
        text++;
    url->text = strdup(text);
    if (!url->text) return hb_no_memory();
    url->route = url->text;
    char *part = strchr(url->text, '?');
    if (part) *part++ = 0;
    while (part) {
        char *next = strchr(part, '&');
        if (next) *next++ = 0;
        add_param(url, part);
        part = next;
    }
    return HB_OK;
}

void hb_url_free(hb_url *url)
{
    free(url->text);
    url->text = NULL;
}

const char *hb_url_get(const hb_url *url, const char *name)
{
    for (int i = 0; i < url->num_params; i++)
        if (strcmp(url->params[i].name, name) == 0) return url->params[i].value;
    return NULL;
}

bool hb_python_int(const char *text, double *value)
{
    const char *p = text, *end = text + strlen(text);
    while (isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    bool negative = *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || *p == '_' || end[-1] == '_') return false;
    *value = 0;
    for (; p < end; p++) {
        if (*p == '_' && p[1] != '_') continue;
        if (!isdigit((unsigned char)*p)) return false;
        *value = *value * 10 + (*p - '0');
    }
    if (negative) *value = -*value;
    return true;
}
