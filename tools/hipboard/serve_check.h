/* SPDX-License-Identifier: MIT
 *
 * Who may ask `hipboard serve`, and what: decided of texts alone, whatever they are.
 */
#ifndef HB_TOOLS_SERVE_CHECK_H
#define HB_TOOLS_SERVE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** By which names and with which word the server may be asked. */
typedef struct serve_door {
    const char *host;    /* that it listens at, as the user has it */
    const char *machine; /* this machine's name; "": not known */
    const char *token;
} serve_door;

/** What came; "" for headers that did not. */
typedef struct serve_request {
    const char *method, *address, *host, *site, *token;
} serve_request;

/** A status of HTTP, and the sentence that goes with it; status 0: it is let through. */
typedef struct serve_refusal {
    unsigned status;
    const char *text;
} serve_refusal;

serve_refusal serve_check(const serve_door *door, const serve_request *request);

enum { SERVE_TAG = 24 };
/** The ETag of an answer: the same for the same bytes. */
void serve_tag(const char *body, size_t size, char tag[SERVE_TAG]);
/** Whether If-None-Match names it. */
bool serve_has_tag(const char *wanted, const char *tag);

#endif
