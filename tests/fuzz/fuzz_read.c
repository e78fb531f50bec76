/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a trace: read tolerantly and strictly, analysed, every question asked. What is read
 * strictly and without a defect is compared with cJSON, what several threads read with what one
 * does, events of a known layout with what tokenising them gives. Its conversion is shown.
 *
 * trace.dict is a dictionary for libFuzzer, ops.dict that of another language.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hipboard/analysis.h>
#include <hipboard/import.h>

#include "../unit/raw_events.h"
#include "fuzz.h"
#include "insight/insight.h"
#include "json_mutator.h"
#include "json_tree.h"
#include "normalize/keep_steps.h"
#include "normalize/normalize.h"
#include "one_way.h"
#include "routes/routes_logdir.h"
#include "torch/live_by_owner.h"
#include "torch/memory_timeline.h"
#include "torch/stacks.h"
#include "torch/table_text.h"

/* What an input is asked in one way of several. */
enum question { CHUNKS, GROUPING, RULES, STEPS, STACKS, VIEW };

static void compare_event(const hb_trace *trace, uint32_t i, const cJSON *item)
{
    const hb_row *row = hb_trace_row(trace, i);
    CHECK(((row->flags & HB_ROW_NOT_OBJECT) != 0) == !cJSON_IsObject(item));
    /* cJSON gives the first of equal members, Python and hipboard the last. */
    const cJSON *name = NULL, *ts = NULL;
    for (const cJSON *member = item ? item->child : NULL; member; member = member->next) {
        if (!member->string) continue;
        if (strcmp(member->string, "name") == 0) name = member;
        if (strcmp(member->string, "ts") == 0) ts = member;
    }
    if (!cJSON_IsObject(item)) return;
    CHECK(cJSON_IsString(name) == ((row->flags & HB_ROW_NAME) != 0));
    if (cJSON_IsNumber(ts)) CHECK(hb_plugin_ts(trace, row) == ts->valuedouble);
    if (!cJSON_IsString(name)) return;
    hb_str text = hb_trace_text(trace, row->name);
    /* cJSON ends a text at an escaped NUL and refuses lone surrogates. */
    if (!memchr(text.s, 0, text.len)) CHECK(strcmp(text.s, name->valuestring) == 0);
}

/* NaN, Infinity and lone surrogates are Python's, not JSON's. */
static bool is_plain_json(const char *text)
{
    return !strstr(text, "NaN") && !strstr(text, "Infinity") && !strstr(text, "\\u");
}

static void compare(const hb_trace *trace, const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    if (is_plain_json(text) && strlen(text) == size) {
        const cJSON *root = json_tree(text, size);
        CHECK(root != NULL);
        const cJSON *events = NULL;
        for (const cJSON *m = root->child; m; m = m->next)
            if (m->string && strcmp(m->string, "traceEvents") == 0) events = m;
        if (cJSON_IsArray(events)) {
            uint32_t i = 0;
            CHECK((uint32_t)cJSON_GetArraySize(events) == trace->rows.count);
            for (const cJSON *e = events->child; e; e = e->next)
                compare_event(trace, i++, e);
        }
    }
    free(text);
}

static void ask(hb_analysis *a)
{
    static const char *const questions[] = {"overview",
                                            "operation",
                                            "operation?group_by=OperationAndInputShape",
                                            "operation/table",
                                            "operation/table?group_by=OperationAndInputShape",
                                            "operation/stack?op_name=%61",
                                            "operation/stack?op_name=a&input_shape=%5b%5d&"
                                            "group_by=OperationAndInputShape",
                                            "operation/stack?op_name=a&"
                                            "group_by=OperationAndInputShape",
                                            "kernel",
                                            "kernel/table",
                                            "kernel/table?group_by=Kernel",
                                            "kernel/tc_pie",
                                            "memory",
                                            "memory?start_ts=1&end_ts=2",
                                            "memory_curve",
                                            "memory_events",
                                            "module",
                                            "tree",
                                            "diff",
                                            "diffnode?path=0-1"};
    for (size_t i = 0; i < HB_ARRAY_LEN(questions); i++) {
        hb_url url;
        hb_buf buf;
        CHECK(hb_url_parse(&url, questions[i]) == HB_OK);
        hb_buf_init(&buf, SIZE_MAX / 2);
        hb_emitter out = {&buf, false};
        (void)hb_query_profile(a, a, 1, &url, &out);
        hb_buf_free(&buf);
        hb_url_free(&url);
    }
}

/* What there is to sort by; the last are sorted with stacks. */
static const char *const sort_keys[] = {"input_shapes",
                                        "cpu_time",
                                        "cuda_time",
                                        "count",
                                        "key",
                                        "is_user_annotation",
                                        "overload_name",
                                        "flops",
                                        "self_cuda_memory_usage",
                                        "cpu_time_total",
                                        "self_xpu_time_total",
                                        "is_legacy",
                                        "stack",
                                        "input_shapes",
                                        "stack",
                                        "overload_name"};

static void make_table(hb_arena *arena, hb_trace *trace, uint32_t way, hb_buf *to)
{
    static const hb_table_style styles[] = {{UINT64_MAX, 8, 9, 10, "header", "CUDA", NULL, false},
                                            {3, UINT32_MAX, 2, 3, NULL, "XPU", "ms", true}};
    const hb_table_style *style = &styles[way / 2 % 2];
    hb_group_options grouping = {way & 1, way & 2, way & 4, way & 8 ? 3 : 0};
    hb_fn_list list;
    hb_fn_list_make(&list, arena, trace);
    hb_averages averages = hb_key_averages_make(&list, &grouping);
    CHECK(hb_averages_sort(&averages, arena, trace, sort_keys[way]) == HB_OK);
    hb_report_table(&list, &averages, style, to);
    hb_average total = hb_total_average(&list);
    hb_report_total(trace, &total, style, to);
}

static void tabulate_by(hb_trace *trace, uint32_t way)
{
    hb_arena arena = {0};
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    if (hb_arena_try(&arena)) make_table(&arena, trace, way, &buf);
    hb_buf_free(&buf);
    hb_arena_free(&arena);
}

/* torch's tables: every way to group, and a row an event. */
static void tabulate(hb_trace *trace)
{
    for (uint32_t way = 0; way < HB_ARRAY_LEN(sort_keys); way++)
        if (asks_way(GROUPING, way, HB_ARRAY_LEN(sort_keys))) tabulate_by(trace, way);
}

/* Where time goes by stack; every stack must lead to the root. */
static void stack_up(const hb_fn_list *list)
{
    for (uint32_t way = 0; way < 8; way++) {
        if (!asks_way(STACKS, way, 8)) continue;
        hb_stack_choice choice = {way & 1, way & 2, way & 4};
        hb_stack_tree tree;
        hb_stack_tree_make(&tree, list, &choice);
        for (uint32_t i = 1; i < tree.nodes.count; i++)
            CHECK(tree.nodes.items[i].parent < i);
    }
}

static void account(const hb_fn_list *list, hb_buf *to)
{
    hb_allocations a;
    hb_allocations_make(&a, list);
    hb_fn_stack *stacks = hb_fn_stacks(list, UINT32_MAX);
    for (uint32_t device = 0; device < a.devices.count && device < 3; device++) {
        hb_live_owners holders = hb_live_by_owner(&a, device, a.num_changes - 1, stacks);
        for (uint32_t i = 0; i < holders.count; i++)
            hb_put_scopes(list, holders.items[i].owner, to);
        (void)hb_live_by_owner(&a, device, a.devices.items[device].peak, NULL);
        hb_report_memory_timeline(&a, device, true, to);
        hb_report_memory_timeline(&a, device, false, to);
        hb_report_memory_page(&a, device, to);
    }
}

/* Stacks and memory. */
static void attribute(hb_trace *trace)
{
    hb_arena arena = {0};
    hb_fn_list list;
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    if (hb_arena_try(&arena)) {
        hb_fn_list_make(&list, &arena, trace);
        stack_up(&list);
        account(&list, &buf);
    }
    hb_buf_free(&buf);
    hb_arena_free(&arena);
}

/* A user's rules: a text of several lines with a comment among them, or what the bytes begin with,
 * which is hardly one. */
static hb_str find_rules(const uint8_t *data, size_t size)
{
    const char *start = memmem(data, size, "\n#", 2);
    const char *stop = (const char *)data + size;
    if (!start) return (hb_str){(const char *)data, (uint32_t)HB_MIN(size, 200u)};
    const char *end = memchr(start, '"', (size_t)(stop - start));
    return (hb_str){start, (uint32_t)((end ? end : stop) - start)};
}

/* Beyond the plugin; the bytes serve as a user's rules and as code objects as well. */
static void look_into(hb_trace *trace, const uint8_t *data, size_t size)
{
    hb_insight_code code = {data, size};
    hb_insight_inputs inputs = {.rules_path = "rules", .codes = &code, .num_codes = 1};
    for (uint32_t with_rules = 0; with_rules < 2; with_rules++) {
        hb_insight in;
        if (!asks_way(RULES, with_rules, 2)) continue;
        inputs.rules = with_rules ? find_rules(data, size) : (hb_str){NULL, 0};
        (void)hb_insight_run(&in, trace, &inputs);
        for (uint32_t i = 0; i < in.gaps.count; i++)
            CHECK(in.gaps.items[i].end > in.gaps.items[i].start);
        for (uint32_t i = 1; i < in.causes.count && in.arena.result == HB_OK; i++)
            CHECK(!(in.causes.items[i].total > in.causes.items[i - 1].total));
        hb_insight_free(&in);
    }
}

static void analyse(hb_trace *trace)
{
    hb_analysis analysis;
    if (hb_analysis_run(&analysis, trace) == HB_OK) {
        ask(&analysis);
        hb_worker workers[] = {{"a_1", &analysis}, {"b", &analysis}};
        hb_distributed joint;
        bool exists;
        (void)hb_distributed_run(&joint, workers, 2, &exists);
        hb_distributed_free(&joint);
    }
    hb_analysis_free(&analysis);
}

static void look_at_steps(hb_trace *trace, const uint8_t *data, size_t size)
{
    hb_analysis analysis;
    if (hb_keep_steps(trace, 0, 9) != HB_OK) return;
    look_into(trace, data, size);
    if (hb_analysis_run(&analysis, trace) == HB_OK) ask(&analysis);
    hb_analysis_free(&analysis);
}

/* What is read strictly without a note is what was read tolerantly, and analysed, before. */
static void read_one(const uint8_t *data, size_t size, bool strict)
{
    hb_trace trace;
    hb_read_report report;
    hb_read_options options = {.strict = strict, .check_na = strict, .max_bytes = 256 << 20};
    hb_result result = hb_read_trace_memory((const char *)data, size, &options, &trace, &report);
    if (result == HB_OK) {
        if (strict && report.num_notes == 0) compare(&trace, data, size);
        if (!strict || report.num_notes) analyse(&trace);
        if (!strict) tabulate(&trace);
        if (!strict) attribute(&trace);
        if (!strict) look_into(&trace, data, size);
        if (!strict && asks_way(STEPS, 0, 2)) look_at_steps(&trace, data, size);
    }
    hb_trace_free(&trace);
}

static bool take(void *context, const hb_violation *violation)
{
    (void)context;
    CHECK(violation->path && violation->rule && violation->text && violation->name);
    return true;
}

/* Several threads read what one reads. */
static void read_in_chunks(const char *path, size_t size)
{
    hb_trace alone, together;
    static hb_read_report report[2];
    hb_read_options options = {.num_readers = 1, .max_bytes = 256 << 20};
    hb_result result = hb_read_trace(path, &options, &alone, &report[0]);
    options.num_readers = 3;
    options.chunk_size = (uint32_t)(size / 5 + 1);
    CHECK(hb_read_trace(path, &options, &together, &report[1]) == result);
    CHECK(alone.rows.count == together.rows.count || result != HB_OK);
    CHECK(alone.strings.count == together.strings.count || result != HB_OK);
    CHECK(memcmp(report[0].counts, report[1].counts, sizeof report[0].counts) == 0 ||
          result != HB_OK);
    hb_trace_free(&alone);
    hb_trace_free(&together);
}

static void read_events(const uint8_t *data, size_t size, bool strict)
{
    hb_trace trace;
    hb_read_report report;
    raw_events found = {.strict = strict};
    hb_read_options options = {.strict = strict,
                               .check_na = strict,
                               .max_bytes = 256 << 20,
                               .event = compare_raw_event,
                               .context = &found};
    (void)hb_read_trace_memory((const char *)data, size, &options, &trace, &report);
    CHECK(found.wrong == 0);
    hb_trace_free(&trace);
}

/* As the terminal's commands read it. */
static void read_unified(const uint8_t *data, size_t size)
{
    hb_trace trace;
    hb_read_report report;
    hb_read_options options = {.max_bytes = 256 << 20};
    if (hb_read_trace_memory((const char *)data, size, &options, &trace, &report) == HB_OK &&
        hb_normalize(&trace) == HB_OK) {
        analyse(&trace);
        look_into(&trace, data, size);
    }
    hb_trace_free(&trace);
}

/* As `hipboard view` reads it. */
static void view(const char *path)
{
    hb_open_options options = HB_OPEN_OPTIONS_INIT;
    hb_trace_file *file;
    hb_insights *insights;
    const hb_operator_stat *operators;
    size_t count;
    options.unify = true;
    if (hb_trace_file_open(path, &options, &file) != HB_OK) return;
    (void)hb_trace_file_operators(file, true, &operators, &count);
    if (hb_insights_create(file, NULL, &insights) == HB_OK) hb_insights_destroy(insights);
    hb_trace_file_close(file);
}

/* What only files can be asked. */
static void use_file(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (asks_way(CHUNKS, 0, 2)) read_in_chunks(path, size);
    hb_open_options options = HB_OPEN_OPTIONS_INIT;
    options.max_memory = 256 << 20;
    if (!hb_import_knows(path)) {
        (void)hb_check(path, &options, take, NULL);
        if (asks_way(VIEW, 0, 2)) view(path);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin_input(data, size);
    use_file(data, size);
    read_events(data, size, false);
    read_events(data, size, true);
    read_one(data, size, false);
    read_one(data, size, true);
    if (asks_way(VIEW, 1, 2)) read_unified(data, size);
    return 0;
}
