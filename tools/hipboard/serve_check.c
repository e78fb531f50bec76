/* SPDX-License-Identifier: MIT */
#include "serve_check.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_ADDRESS = 4096 /* bytes */ };

/* Whether `host` is what `name` is, with or without a port behind it. */
static bool is_host(const char *host, const char *name)
{
    size_t n = strlen(name);
    return n && strncasecmp(host, name, n) == 0 && (host[n] == 0 || host[n] == ':');
}

static bool is_number(const char *host)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char address[16];
    bool six = *host == '[';
    const char *begin = host + six;
    size_t n = strcspn(begin, six ? "]" : ":");
    const char *rest = begin + n;
    if (n >= sizeof text || (six && *rest++ != ']') || (*rest && *rest != ':')) return false;
    memcpy(text, begin, n);
    text[n] = 0;
    return inet_pton(six ? AF_INET6 : AF_INET, text, address) == 1;
}

/* Another site can make its name lead here, and a browser believes that it is of that site; but it
 * then asks by that name. Any port: it may be another machine's, which leads here by ssh. */
static bool is_own_name(const serve_door *door, const char *host)
{
    return is_number(host) || is_host(host, "localhost") || is_host(host, door->host) ||
           is_host(host, door->machine);
}

/* In the same time whatever is wrong. */
static bool is_token(const char *token, const char *given)
{
    size_t n = strlen(token);
    unsigned other = strlen(given) != n;
    for (size_t i = 0; i < n; i++)
        other |= (unsigned)(token[i] ^ given[other ? 0 : i]);
    return !other;
}

/* The page itself, which tells of no trace. All else is data, however its address is written. */
static bool is_page(const char *address)
{
    static const char *const files[] = {"/", "/index.html", "/page.js", "/page.css"};
    size_t n = strcspn(address, "?");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strlen(files[i]) == n && strncmp(files[i], address, n) == 0) return true;
    return false;
}

serve_refusal serve_check(const serve_door *door, const serve_request *r)
{
    bool data = !is_page(r->address);
    if (r->address[0] != '/') return (serve_refusal){400, "This is no address."};
    if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0)
        return (serve_refusal){405, "Traces can only be read here: GET and HEAD."};
    if (!is_own_name(door, r->host))
        return (serve_refusal){421, "This server is asked by a name that is not its own. Use the "
                                    "address that hipboard serve printed."};
    if (strlen(r->address) > MOST_ADDRESS)
        return (serve_refusal){414, "No address here is that long."};
    if (data && strcmp(r->site, "cross-site") == 0)
        return (serve_refusal){403, "Other sites are not answered."};
    if (data && !is_token(door->token, r->token))
        return (serve_refusal){401, "Open the address that hipboard serve printed: it ends with "
                                    "#token=... and is another one after each start."};
    return (serve_refusal){0, NULL};
}

/* ---- what the asker has already ---- */

void serve_tag(const char *body, size_t size, char tag[SERVE_TAG])
{
    uint64_t sum = 14695981039346656037u ^ size, word;
    size_t i = 0;
    for (; i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, body + i, sizeof word);
        sum = (sum ^ word) * 1099511628211u;
        sum ^= sum >> 29;
    }
    for (; i < size; i++)
        sum = (sum ^ (unsigned char)body[i]) * 1099511628211u;
    snprintf(tag, SERVE_TAG, "\"%016" PRIx64 "\"", sum ^ sum >> 32);
}

bool serve_has_tag(const char *wanted, const char *tag)
{
    return strstr(wanted, tag) || strcmp(wanted, "*") == 0;
}
