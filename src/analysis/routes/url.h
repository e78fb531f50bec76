/* SPDX-License-Identifier: MIT
 *
 * "route?name=value&..." taken apart.
 */
#ifndef HB_ROUTES_URL_H
#define HB_ROUTES_URL_H

#include "base/base.h"

enum { HB_URL_MAX_PARAMS = 32 };

typedef struct hb_url {
    char *text; /* all the strings below */
    const char *route;
    struct {
        const char *name, *value;
    } params[HB_URL_MAX_PARAMS];
    int num_params;
} hb_url;

hb_result hb_url_parse(hb_url *url, const char *text);
void hb_url_free(hb_url *url);
/** The first value of that name; NULL: none. */
const char *hb_url_get(const hb_url *url, const char *name);

/** Python's int(): false when it would raise. */
bool hb_python_int(const char *text, double *value);

#endif
