/* SPDX-License-Identifier: MIT
 *
 * The HTTP of `hipboard serve`: who may ask, and what comes back. What is asked for is never the
 * name of a file: hb_page_ask() knows its addresses, and finds traces in its own list.
 */
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "serve.h"
#include "serve_check.h"

enum {
    MOST_HEADERS = 16 << 10, /* bytes of a request as a whole, and of what is read at once */
    MOST_CONNECTIONS = 256,
    PATIENCE = 30, /* seconds without a byte */
    LEAST_TO_COMPRESS = 1024,
};

#define EXPORT __attribute__((visibility("default")))

/* Parts say of which version they are: hb_part_path(). */
const char hipboard_serve_part[] EXPORT = HB_PART;

struct server {
    serve_settings settings;
    struct MHD_Daemon *daemon;
    char machine[256]; /* its name */
};

/* ---- who asks ---- */

static const char *header(struct MHD_Connection *c, const char *name)
{
    const char *value = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
    return value ? value : "";
}

static serve_refusal refuse(const server *s, struct MHD_Connection *c, const char *method,
                            const char *address)
{
    serve_door door = {s->settings.host, s->machine, s->settings.token};
    serve_request request = {method, address, header(c, "Host"), header(c, "Sec-Fetch-Site"),
                             header(c, "X-Hipboard-Token")};
    return serve_check(&door, &request);
}

/* What is said of it has to be said before any of it comes. */
static bool has_body(struct MHD_Connection *c)
{
    const char *size = header(c, "Content-Length");
    return (*size && strcmp(size, "0") != 0) || *header(c, "Transfer-Encoding");
}

/* ---- what comes back ---- */

static void protect(struct MHD_Response *r)
{
    static const char *const headers[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"X-Frame-Options", "DENY"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
         "data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(r, headers[i][0], headers[i][1]);
}

/* Sends `body`, from malloc, and frees it. `tag`: the browser may keep it, and asks whether it is
 * still the same; NULL: it may not. */
static enum MHD_Result send_body(struct MHD_Connection *c, unsigned status, char *body, size_t size,
                                 const char *type, const char *tag, bool packed)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE);
    if (!r) {
        free(body);
        return MHD_NO;
    }
    protect(r);
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", tag ? "private, no-cache" : "no-store");
    if (tag) MHD_add_response_header(r, "ETag", tag);
    if (packed) MHD_add_response_header(r, "Content-Encoding", "gzip");
    if (packed) MHD_add_response_header(r, "Vary", "Accept-Encoding");
    if (status == 405) MHD_add_response_header(r, "Allow", "GET, HEAD");
    enum MHD_Result sent = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return sent;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *text)
{
    char *body;
    int n = asprintf(&body, "%s\n", text);
    if (n < 0) return MHD_NO;
    return send_body(c, status, body, (size_t)n, "text/plain; charset=utf-8", NULL, false);
}

/* A gzip member, from malloc; NULL: there is no memory, or it is not worth it. */
static char *compress_body(const char *body, size_t size, size_t *packed_size)
{
    z_stream z = {0};
    if (size < LEAST_TO_COMPRESS || size > UINT32_MAX / 2 ||
        deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t room = deflateBound(&z, size);
    char *packed = malloc(room);
    z.next_in = (unsigned char *)(uintptr_t)body; /* zlib only reads it */
    z.avail_in = (uInt)size;
    z.next_out = (unsigned char *)packed;
    z.avail_out = (uInt)room;
    bool done = packed && deflate(&z, Z_FINISH) == Z_STREAM_END;
    *packed_size = room - z.avail_out;
    deflateEnd(&z);
    if (done && *packed_size < size) return packed;
    free(packed);
    return NULL;
}

static bool is_binary(const hb_page_answer *answer)
{
    return strcmp(answer->type, "application/octet-stream") == 0;
}

/* Whether who asks is on this machine. */
static bool is_near(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!info || !info->client_addr) return false;
    const struct sockaddr_in *four = (const void *)info->client_addr;
    const struct sockaddr_in6 *six = (const void *)info->client_addr;
    if (four->sin_family == AF_INET) return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return six->sin6_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static enum MHD_Result send_answer(struct MHD_Connection *c, hb_page_answer *answer)
{
    size_t size;
    char tag[SERVE_TAG];
    serve_tag(answer->body, answer->size, tag);
    if (serve_has_tag(header(c, "If-None-Match"), tag)) {
        hb_free(answer->body);
        return send_body(c, 304, NULL, 0, answer->type, tag, false);
    }
    /* Pieces of a timeline that stay on this machine are there before they were compressed. */
    bool takes = strstr(header(c, "Accept-Encoding"), "gzip") && !(is_binary(answer) && is_near(c));
    char *packed = takes ? compress_body(answer->body, answer->size, &size) : NULL;
    if (!packed) return send_body(c, 200, answer->body, answer->size, answer->type, tag, false);
    hb_free(answer->body);
    return send_body(c, 200, packed, size, answer->type, tag, true);
}

static unsigned status_of(hb_result result)
{
    switch (result) {
    case HB_ERROR_INVALID_ARGUMENT: return 400;
    case HB_ERROR_NOT_FOUND: return 404;
    case HB_ERROR_FORMAT: return 422;
    case HB_ERROR_NO_MEMORY:
    case HB_ERROR_STATE: return 503;
    default: return 500;
    }
}

/* A request: its address as it was sent (the library's own has lost its escapes), and whether
 * answer() has been called for it. */
typedef struct request {
    bool begun;
    char address[];
} request;

static void *keep_address(void *context, const char *address, struct MHD_Connection *c)
{
    (void)context;
    (void)c;
    size_t size = strlen(address) + 1;
    request *r = malloc(sizeof *r + size);
    if (!r) return NULL;
    r->begun = false;
    memcpy(r->address, address, size);
    return r;
}

static void forget_address(void *context, struct MHD_Connection *c, void **kept,
                           enum MHD_RequestTerminationCode why)
{
    (void)context;
    (void)c;
    (void)why;
    free(*kept);
    *kept = NULL;
}

/* Called once the head of a request is there, and again when all of it is. What is answered at once
 * is so before a body is read, and ends the connection. */
static enum MHD_Result answer(void *context, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *data_size, void **kept)
{
    server *s = context;
    request *asked = *kept;
    hb_page_answer made;
    (void)url;
    (void)version;
    (void)data;
    if (!asked) return say(c, 503, "There is no memory.");
    serve_refusal r = refuse(s, c, method, asked->address);
    if (r.status || *data_size || has_body(c))
        return say(c, r.status ? r.status : 400, r.status ? r.text : "No body is wanted.");
    if (!asked->begun) {
        asked->begun = true;
        return MHD_YES;
    }
    hb_result result = hb_page_ask(s->settings.page, asked->address + 1, &made);
    if (result != HB_OK) return say(c, status_of(result), hb_last_error());
    return send_answer(c, &made);
}

/* ---- begin and end ---- */

/* Who leaves early, or sends what is no HTTP, is none of the user's worries. */
static void say_nothing(void *context, const char *format, va_list args)
{
    (void)context;
    (void)format;
    (void)args;
}

static struct MHD_Daemon *listen_at(server *s, const struct addrinfo *at)
{
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
                     MHD_USE_POLL | MHD_USE_ERROR_LOG;
    if (at->ai_family == AF_INET6) flags |= MHD_USE_IPv6;
    return MHD_start_daemon(
        flags, (uint16_t)s->settings.port, NULL, NULL, answer, s, MHD_OPTION_EXTERNAL_LOGGER,
        say_nothing, NULL, MHD_OPTION_SOCK_ADDR, at->ai_addr, MHD_OPTION_URI_LOG_CALLBACK,
        keep_address, NULL, MHD_OPTION_NOTIFY_COMPLETED, forget_address, NULL,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MOST_HEADERS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)PATIENCE, MHD_OPTION_END);
}

static bool listen_anywhere(server *s, char *reason, size_t size)
{
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list;
    snprintf(port, sizeof port, "%u", s->settings.port);
    int error = getaddrinfo(s->settings.host, port, &hints, &list);
    if (error) {
        snprintf(reason, size, "%s: %s", s->settings.host, gai_strerror(error));
        return false;
    }
    for (struct addrinfo *at = list; at && !s->daemon; at = at->ai_next) {
        errno = 0;
        s->daemon = listen_at(s, at);
    }
    if (!s->daemon)
        snprintf(reason, size,
                 "cannot listen at port %s of %s: %s; --port names another one, and "
                 "--port 0 takes any",
                 port, s->settings.host, errno ? strerror(errno) : "no reason is known");
    freeaddrinfo(list);
    return s->daemon != NULL;
}

EXPORT serve_begin_fn hipboard_serve_begin;
EXPORT serve_end_fn hipboard_serve_end;

bool hipboard_serve_begin(const serve_settings *settings, server **made, unsigned *port,
                          char *reason, size_t size)
{
    server *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(reason, size, "no memory");
        return false;
    }
    s->settings = *settings;
    gethostname(s->machine, sizeof s->machine - 1);
    if (!listen_anywhere(s, reason, size)) {
        free(s);
        return false;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    *port = info ? info->port : settings->port;
    *made = s;
    return true;
}

void hipboard_serve_end(server *s)
{
    MHD_stop_daemon(s->daemon);
    free(s);
}
