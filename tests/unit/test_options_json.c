/* SPDX-License-Identifier: MIT
 *
 * Profilers made of JSON, as bindings make them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <glob.h>
#include <hipboard/hipboard.h>

#include "test_dir.h"

static size_t files(const char *pattern)
{
    char path[400];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s", dir, pattern);
    size_t n = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return n;
}

static void run_steps(hb_profiler *prof, int steps)
{
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int i = 0; i < steps; i++) {
        HB_SCOPE("step's work");
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
}

static void options_do_what_the_struct_s_do(void **state)
{
    (void)state;
    char json[900];
    snprintf(json, sizeof json,
             "{\"activities\": [\"cpu\"], \"record_shapes\": true, \"with_stack\": null,\n"
             " \"schedule\": {\"wait\": 1, \"warmup\": 1, \"active\": 2, \"repeat\": 2},\n"
             " \"tensorboard_trace_handler\": {\"dir_name\": \"%s\", \"worker_name\": "
             "\"w\\u00e4\", \"use_gzip\": true, \"event_file\": false},\n"
             " \"distributed\": {\"backend\": \"gloo\", \"rank\": 0, \"world_size\": 2},\n"
             " \"max_record_bytes\": 16777216, \"spool_dir\": \"\"}",
             dir);
    hb_profiler *prof = hb_profiler_create_json(json);
    if (!prof) fail_msg("%s", hb_last_error());
    run_steps(prof, 10);
    assert_int_equal(files("w\xc3\xa4.*.pt.trace.json.gz"), 2);
    assert_int_equal(files("*tfevents*"), 0);
}

static void defaults_are_the_structs(void **state)
{
    (void)state;
    char json[400];
    run_steps(hb_profiler_create_json(NULL), 1);
    run_steps(hb_profiler_create_json("{}"), 1);
    snprintf(json, sizeof json, "{\"tensorboard_trace_handler\": {\"dir_name\": \"%s\"}}", dir);
    run_steps(hb_profiler_create_json(json), 1);
    assert_int_equal(files("*.pt.trace.json"), 1);
    assert_int_equal(files("*tfevents*"), 1);
}

/* As bindings write what was not given. */
static void null_is_the_default(void **state)
{
    (void)state;
    char json[700];
    snprintf(json, sizeof json,
             "{\"activities\": null, \"schedule\": null, \"distributed\": null, "
             "\"spool_dir\": null, \"record_shapes\": null, \"max_cycles\": null, "
             "\"tensorboard_trace_handler\": {\"dir_name\": \"%s\", \"worker_name\": null, "
             "\"use_gzip\": null}}",
             dir);
    hb_profiler *prof = hb_profiler_create_json(json);
    if (!prof) fail_msg("%s", hb_last_error());
    run_steps(prof, 1);
    assert_int_equal(files("*.pt.trace.json"), 1);
    prof = hb_profiler_create_json("{\"tensorboard_trace_handler\": null}");
    if (!prof) fail_msg("%s", hb_last_error());
    run_steps(prof, 1);
    assert_int_equal(files("*.pt.trace.json"), 1);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *json, *said;
    } cases[] = {
        {"{\"record_shape\": true}", "\"record_shape\" is no option"},
        {"{\"record_shapes\": 1}", "\"record_shapes\" must be true or false"},
        {"{\"max_cycles\": 1.5}", "\"max_cycles\" must be a whole number"},
        {"{\"max_cycles\": true}", "\"max_cycles\" must be a whole number"},
        {"{\"max_disk_bytes\": -1}", "\"max_disk_bytes\" is out of range"},
        {"{\"trigger_signal\": 3000000000}", "\"trigger_signal\" is out of range"},
        /* the largest that fits is taken, and refused for what it is */
        {"{\"sample_hz\": 2147483647}", "sample_hz 2147483647: at most 1000 is possible"},
        {"{\"sample_hz\": 2147483648}", "\"sample_hz\" is out of range: 2147483648"},
        {"{\"sample_hz\": -1}", "\"sample_hz\" is out of range: -1"},
        {"{\"spool_dir\": 7}", "\"spool_dir\" must be a text"},
        {"{\"spool_dir\": \"a\\u0000b\"}", "NUL"},
        {"{\"schedule\": {\"activ\": 1}}", "\"schedule.activ\" is no option"},
        {"{\"schedule\": {\"wait\": 1}}", "active"},
        {"{\"schedule\": [1, 1]}", "\"schedule\" must be an object"},
        {"{\"activities\": [\"cuda\"]}", "\"activities\" must be a list"},
        {"{\"activities\": \"cpu\"}", "\"activities\" must be a list"},
        {"{\"tensorboard_trace_handler\": {\"dir_name\": \"x\", \"dialect\": \"other\"}}",
         "dialect\" must be"},
        {"[]", "no JSON object"},
        {"{\"with_stack\": true", "options"},
        {"", "options"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(hb_profiler_create_json(cases[i].json));
        if (!strstr(hb_last_error(), cases[i].said))
            fail_msg("%s: %s", cases[i].json, hb_last_error());
    }
}

/* Of a name that is nobody's the first 100 bytes are enough to find it. */
static void long_names_are_cut(void **state)
{
    char json[400], name[201], said[300];
    (void)state;
    for (int length = 99; length <= 200; length += 1 + 99 * (length > 100)) {
        memset(name, 'x', sizeof name);
        name[length] = '\0';
        snprintf(json, sizeof json, "{\"%s\": 1}", name);
        snprintf(said, sizeof said, "options: \"%.100s\" is no option", name);
        assert_null(hb_profiler_create_json(json));
        assert_non_null(strstr(hb_last_error(), said));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(options_do_what_the_struct_s_do),
        IN_DIR(defaults_are_the_structs),
        IN_DIR(null_is_the_default),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
