/* SPDX-License-Identifier: MIT
 *
 * What `hipboard serve` asks of libhipboard-serve, which is loaded for it alone: so nothing else
 * needs libmicrohttpd.
 *
 * Who asks must know a word that is made at each start and told to nobody but the caller (the
 * token), by an address or a name that no other site can pretend to have, and can only read.
 */
#ifndef HB_TOOLS_SERVE_H
#define HB_TOOLS_SERVE_H

#include <hipboard/page.h>

#define SERVE_LIBRARY "libhipboard-serve.so"

typedef struct serve_settings {
    hb_page *page;    /* outlives the server */
    const char *host; /* an address or a name of this machine */
    unsigned port;    /* 0: any that is free */
    const char *token;
} serve_settings;

typedef struct server server;

/** Answers on threads of its own until serve_end(). *port becomes the one that is listened at.
 * False: `reason` says why. `settings` is copied, but for what it points to. */
typedef bool serve_begin_fn(const serve_settings *settings, server **made, unsigned *port,
                            char *reason, size_t size);
/** Lets those who are being answered have their answers first. */
typedef void serve_end_fn(server *s);

#define SERVE_BEGIN "hipboard_serve_begin"
#define SERVE_END   "hipboard_serve_end"

#endif
