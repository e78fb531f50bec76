/* SPDX-License-Identifier: MIT
 *
 * Any bytes as runs to be compared: the bytes themselves, the same with other numbers, and what is
 * left of them. Every report is made, every list is in its order, what is said as JSON is JSON; and
 * the bytes serve as conditions as well.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hipboard/compare.h>
#include <hipboard/import.h>

#include "fuzz.h"
#include "json_mutator.h"
#include "json_tree.h"
#include "one_way.h"

enum { RUNS = 3, KINDS = HB_COMPARE_MODULE + 1 };

/* What an input is asked in one way of several; FORMAT: of each report. */
enum question { HOW_MANY, GROUPS, LIMIT, FORMAT };

typedef struct files {
    int fds[RUNS];
    char paths[RUNS][64];
    const char *list[RUNS];
} files;

static void add_file(files *f, int run, const uint8_t *data, size_t size)
{
    f->fds[run] = memfd_create("fuzz", MFD_CLOEXEC);
    CHECK(f->fds[run] >= 0 && write(f->fds[run], data, size) == (ssize_t)size);
    snprintf(f->paths[run], sizeof f->paths[run], "/proc/self/fd/%d", f->fds[run]);
    f->list[run] = f->paths[run];
}

/* Digits stay digits, so that most of what was a trace still is one. */
static void write_files(files *f, const uint8_t *data, size_t size)
{
    uint8_t *other = malloc(size + 1);
    CHECK(other != NULL);
    for (size_t i = 0; i < size; i++)
        other[i] = data[i] >= '1' && data[i] <= '8' && i % 3 == 0 ? data[i] + 1 : data[i];
    add_file(f, 0, data, size);
    add_file(f, 1, other, size);
    add_file(f, 2, data, size - size / 4);
    free(other);
}

/* Half a pair of surrogates stays one, as with Python: cJSON takes none. */
static void check_json(const char *text, size_t size)
{
    const cJSON *root = json_tree(text, size);
    CHECK(root ? cJSON_GetObjectItem(root, "runs") != NULL : strstr(text, "\\ud") != NULL);
}

static void make_reports(hb_comparison *c, bool tree)
{
    for (int way = 0; way < 3 * (KINDS + 1 + tree); way++) {
        hb_compare_report r = HB_COMPARE_REPORT_INIT;
        int kind = way / 3;
        char *text;
        size_t size;
        if (!asks_way(FORMAT + (uint32_t)kind, (uint32_t)way % 3, 3)) continue;
        r.format = (hb_compare_format)(way % 3);
        r.summary = kind == KINDS;
        r.tree = kind > KINDS;
        r.by = kind < KINDS ? (hb_compare_by)kind : HB_COMPARE_STEP;
        r.group = (hb_compare_group)(way % 2 ? HB_GROUP_MODULE : HB_GROUP_SHAPE);
        r.top = (size_t)(kind % 2 * 3);
        CHECK(hb_comparison_text(c, &r, &text, &size) == HB_OK && strlen(text) == size);
        if (r.format == HB_COMPARE_JSON) check_json(text, size);
        hb_free(text);
    }
}

static void check_rows(const hb_difference *rows, size_t count, bool sorted)
{
    for (size_t i = 0; i < count; i++) {
        const hb_difference *d = &rows[i];
        CHECK(d->name && d->shape && d->module && d->measure);
        CHECK(d->before.steps.count || d->after.steps.count);
        CHECK(isnan(d->p) || (d->p >= 0 && d->p <= 1));
        if (!sorted || i == 0 || rows[i - 1].unit != d->unit) continue;
        CHECK(!(fabs(rows[i - 1].change) < fabs(d->change)));
    }
}

static void list_differences(hb_comparison *c)
{
    const hb_difference *rows;
    size_t count;
    for (size_t run = 0; run < hb_comparison_num_runs(c); run++)
        for (int by = 0; by < KINDS; by++)
            for (int group = 0; group <= HB_GROUP_MODULE; group++) {
                if (!asks_way(GROUPS, (uint32_t)group, HB_GROUP_MODULE + 1)) continue;
                CHECK(hb_comparison_differences(c, run, (hb_compare_by)by, (hb_compare_group)group,
                                                &rows, &count) == HB_OK);
                check_rows(rows, count, by != HB_COMPARE_STEP);
            }
}

/* In a report, in one format. */
static void report_limit(hb_comparison *c, const hb_compare_finding *finding, uint32_t format)
{
    hb_compare_report r = HB_COMPARE_REPORT_INIT;
    char *text;
    size_t size;
    r.findings = finding;
    r.num_findings = 1;
    r.format = (hb_compare_format)format;
    CHECK(hb_comparison_text(c, &r, &text, &size) == HB_OK && strlen(text) == size);
    if (r.format == HB_COMPARE_JSON) check_json(text, size);
    hb_free(text);
}

static void check_limits(hb_comparison *c, const uint8_t *data, size_t size)
{
    char text[200];
    const char *const conditions[] = {"step_time > +5%",
                                      "operator:aten::mm < 3ms",
                                      "cpu >= -1us",
                                      "peak_memory > +1pp",
                                      "peak_memory > 1 KB",
                                      "peak_memory:GPU0 <= +1MB",
                                      "gpu_utilization < 50%",
                                      "gpu_utilization > +1pp",
                                      "communication > +1%",
                                      "kernel:k1 > +0.1us",
                                      "memory:aten::empty > 1KB",
                                      "module:L_0 >= -.5 s",
                                      text};
    size_t n = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, n);
    text[n] = 0;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        hb_compare_finding finding;
        hb_result valid = hb_compare_condition_valid(conditions[i]);
        hb_result result = hb_comparison_check(c, 1, conditions[i], i % 2, &finding);
        CHECK(valid == HB_OK || result == valid);
        if (result != HB_OK) continue;
        CHECK(finding.reason && *finding.reason);
        if (asks_way(LIMIT, (uint32_t)i, sizeof conditions / sizeof *conditions))
            report_limit(c, &finding, (uint32_t)(size % 3));
    }
}

static void compare(const files *f, size_t num_runs, const uint8_t *data, size_t size)
{
    hb_compare_options o = HB_COMPARE_OPTIONS_INIT;
    hb_open_options open = HB_OPEN_OPTIONS_INIT;
    hb_comparison *c;
    open.max_memory = 256 << 20;
    o.open = &open;
    o.tree = num_runs == 2;
    o.threads = 1 + size % 2;
    if (size % 3 == 0) o.confidence = 90;
    if (size % 5 == 0 && !o.tree) o.baseline = f->paths[1]; /* a run more: no name is that path */
    hb_result result = hb_compare(f->list, num_runs, &o, &c);
    bool is_pack = size >= 2 && memcmp(data, "PK", 2) == 0; /* of logs, or damaged */
    CHECK(result == HB_OK || result == HB_ERROR_LIMIT || result == HB_ERROR_NO_MEMORY || is_pack);
    if (result != HB_OK) return;
    make_reports(c, o.tree);
    list_differences(c);
    check_limits(c, data, size);
    hb_comparison_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    files f;
    begin_input(data, size);
    write_files(&f, data, size);
    bool of_another_tool = false; /* those have targets of their own */
    for (int i = 0; i < RUNS; i++)
        of_another_tool |= hb_import_knows(f.list[i]);
    if (!of_another_tool && asks_way(HOW_MANY, 0, 2)) compare(&f, 2, data, size);
    if (!of_another_tool && asks_way(HOW_MANY, 1, 2)) compare(&f, RUNS, data, size);
    for (int i = 0; i < RUNS; i++)
        close(f.fds[i]);
    return 0;
}
