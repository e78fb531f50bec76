/* SPDX-License-Identifier: MIT
 *
 * Small traces in a test's directory, to be compared.
 */
#ifndef HB_TEST_COMPARE_TRACES_H
#define HB_TEST_COMPARE_TRACES_H

#include <hipboard/compare.h>

#include "test_dir.h"

static inline const char *path_of(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

/* Calls of one step, in order: name, shapes, microseconds. A slow step takes a tenth more. */
typedef struct call {
    const char *name, *dims;
    double us;
} call;

static inline FILE *begin_trace(const char *name, const char *members)
{
    char path[160];
    snprintf(path, sizeof path, "%s", path_of(name));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{%s\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": [", members);
    return f;
}

static inline void put_event(FILE *f, const char *category, const char *name, double ts, double us,
                             const char *args)
{
    fprintf(f,
            "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 1, \"tid\": 1, "
            "\"ts\": %.3f, \"dur\": %.3f, \"args\": {%s}},\n",
            category, name, ts, us, args);
}

static inline void end_trace(FILE *f)
{
    fprintf(f, "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {}}]}");
    assert_int_equal(fclose(f), 0);
}

/* `steps` steps with all of `calls` up to one without a name. */
static inline const char *write_trace(const char *name, int steps, const call *calls,
                                      const char *members)
{
    FILE *f = begin_trace(name, members);
    double now = 1000;
    for (int step = 0; step < steps; step++) {
        char text[64];
        double begin = now, scale = 1 + 0.01 * (step * 7 % 10);
        for (const call *c = calls; c->name; c++) {
            char args[128];
            snprintf(args, sizeof args, "\"Input Dims\": %s", c->dims ? c->dims : "[]");
            put_event(f, "cpu_op", c->name, now + 1, c->us * scale, args);
            now += c->us * scale + 2;
        }
        snprintf(text, sizeof text, "ProfilerStep#%d", step);
        put_event(f, "user_annotation", text, begin, now - begin, "");
        now += 1;
    }
    end_trace(f);
    return path_of(name);
}

static inline hb_comparison *compare(const char *before, const char *after, bool tree)
{
    hb_comparison *c = NULL;
    hb_compare_options o = HB_COMPARE_OPTIONS_INIT;
    const char *paths[] = {before, after};
    o.tree = tree;
    hb_result result = hb_compare(paths, 2, &o, &c);
    if (result != HB_OK) fail_msg("%s", hb_last_error());
    return c;
}

static const call plain[] = {{"load", NULL, 50}, {"mm", "[[8, 8]]", 100}, {"relu", NULL, 20}, {0}};
static const call slower[] = {{"load", NULL, 50}, {"mm", "[[8, 8]]", 150}, {"relu", NULL, 20}, {0}};

static inline void check_limit(hb_comparison *c, const char *limit, bool beyond_noise,
                               bool expected)
{
    hb_compare_finding finding;
    if (hb_comparison_check(c, 1, limit, beyond_noise, &finding) != HB_OK)
        fail_msg("%s: %s", limit, hb_last_error());
    if (finding.met != expected) fail_msg("%s: %s", limit, finding.reason);
    assert_non_null(strstr(finding.reason, "limit: "));
}

#endif
