/* SPDX-License-Identifier: MIT
 *
 * Traces in a test's own text: events that macros spell, put together.
 */
#ifndef HB_TEST_TRACE_TEXT_H
#define HB_TEST_TRACE_TEXT_H

#include <stdio.h>

/* {MEMBERS"traceEvents":[EVENT,EVENT,...]}; holds until the next one. */
static inline const char *trace_text(const char *members, const char *const *events)
{
    static char text[1 << 16];
    size_t n = (size_t)snprintf(text, sizeof text, "{%s\"traceEvents\":[", members);
    for (size_t i = 0; events[i] && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "," : "", events[i]);
    assert_true(n + 3 < sizeof text);
    snprintf(text + n, sizeof text - n, "]}");
    return text;
}

#define TRACE_WITH(members, ...) trace_text(members, (const char *const[]){__VA_ARGS__, NULL})
#define TRACE(...)               TRACE_WITH("", __VA_ARGS__)

#endif
