/* SPDX-License-Identifier: MIT
 *
 * What a profiler is asked to record, as text: lines of KEY=VALUE in the words of Kineto's
 * on-demand configuration, which dynolog sends. plugin_format/control.md is its page.
 */
#ifndef HB_PROFILER_REQUEST_H
#define HB_PROFILER_REQUEST_H

#include "base/base.h"

#define HB_REQUEST_VERSION 1
#define HB_REQUEST_MAX     8192u /* bytes of text */

enum hb_request_detail {
    HB_REQUEST_SHAPES = 1u << 0,
    HB_REQUEST_MEMORY = 1u << 1,
    HB_REQUEST_STACK = 1u << 2,
    HB_REQUEST_FLOPS = 1u << 3,
    HB_REQUEST_MODULES = 1u << 4,
};

typedef struct hb_request {
    int64_t start_ms;    /* Unix time; 0: at once */
    int64_t start_step;  /* a step's number; -1: any */
    int64_t roundup;     /* begin at a multiple of this; 1: at any step */
    int64_t steps;       /* to record; 0: by time */
    int64_t duration_ms; /* 0: by steps; both 0: as the profiler thinks fit */
    unsigned details;    /* what to keep besides what the profiler keeps */
    unsigned unknown;    /* lines whose key is not known, which are passed over */
    char id[80];         /* tells requests of a job from each other; "": none */
    char reason[320];    /* "": none given */
    char log_file[1024]; /* "": where the profiler's handler puts it */
} hb_request;

/** Asks for nothing yet. */
#define HB_REQUEST_INIT ((hb_request){.start_step = -1, .roundup = 1})

/** Reads a request. HB_ERROR_FORMAT names the line and what is wrong with it. */
hb_result hb_request_parse(const char *text, size_t size, hb_request *request);

/** Appends the text that reads as `request`. */
void hb_request_put(hb_buf *text, const hb_request *request);

/** Where a process of that number writes what `log_file` names: with the number before its suffix,
 * as Kineto does, so that processes do not meet; and the number of its request, from the second on.
 * From malloc; NULL without memory. */
char *hb_request_path(const char *log_file, int64_t pid, uint64_t number);

#endif
