/* SPDX-License-Identifier: MIT
 *
 * hostile DIR FLAGS: does with the recording interface what it should not, for three cycles. What
 * comes out must still be shown in full.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/hipboard.h>

enum { DEEP = 200, LONG_NAME = 1 << 20 };

static const char *const names[] = {
    "quote\"back\\slash",
    "new\nline\ttab\x01\x1f\x7f",
    "invalid \xff\xc0\xaf utf-8 \xe2\x82",
    "snow \xe2\x98\x83 and \xf0\x9f\x98\x80",
    "ProfilerStep#not a number",
    "enumerate(DataLoader)#\"x\".__next__",
    "Optimizer.step#",
    "N/A ] } , \\u0000",
    "nn.Module: Fake_0",
    "",
    NULL,
};

static void strange_names(void)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hb_scope annotation = hb_record_function(names[i]);
        hb_scope op = hb_op(names[i], NULL);
        hb_scope_end(&op);
        hb_scope_end(&annotation);
    }
    char *name = malloc(LONG_NAME + 1);
    memset(name, 'x', LONG_NAME);
    name[LONG_NAME] = '\0';
    HB_RECORD_FUNCTION_NAMED(name) {
    }
    free(name);
}

static void nest(int depth)
{
    if (depth == 0) return;
    HB_OP("deep") {
        nest(depth - 1);
    }
}

/* The outer end closes the inner scopes; the other ends come too late or from nowhere. */
static void unbalanced(void)
{
    hb_scope outer = hb_record_function("outer"), inner = hb_op("forgotten", NULL);
    hb_range_push("pushed and never popped");
    hb_scope_end(&outer);
    hb_scope_end(&inner);
    hb_scope_end(&outer);
    hb_range_pop();
    hb_range_pop();
}

static hb_scope left_open;

static void *die_inside_a_scope(void *arg)
{
    (void)arg;
    hb_thread_name("short-lived \"thread\" \xff");
    hb_op("left by its thread", NULL);
    left_open = hb_record_function("ended elsewhere");
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, die_inside_a_scope, NULL) != 0) exit(1);
    pthread_join(thread, NULL);
    hb_scope_end(&left_open);
}

static void strange_values(void)
{
    static const int64_t dims[] = {-1, 0, INT64_MAX};
    const hb_input inputs[] = {
        {.kind = HB_INPUT_TENSOR, .dtype = HB_FLOAT32, .count = 3, .dims = dims},
        {.kind = HB_INPUT_FLOAT, .f = 0.0 / 0.0},
        {.kind = HB_INPUT_TENSOR_LIST},
        {.kind = (hb_input_kind)77},
        HB_FLOAT(1e308),
    };
    HB_OP("strange inputs", .inputs = inputs, .num_inputs = 5, .flops = -1.0 / 0.0,
          .sequence_number = UINT64_MAX, .forward_thread = 12345) {
    }
    hb_memory_free(HB_DEVICE_CPU, 7, dims, 4096);
    hb_memory_alloc(HB_DEVICE_CPU, 7, NULL, 0);
    hb_memory_report(&(hb_memory_info){HB_DEVICE_CPU, -1, dims, INT64_MAX, -5, -5, true});
    hb_scalar("not a number \"", 0.0 / 0.0);
    hb_scalar("infinite", 1.0 / 0.0);
    hb_scope nothing = hb_module_call(0);
    hb_scope_end(&nothing);
}

/* Steps 3 and 4 of a cycle have no length worth the name. */
static void step_body(int step)
{
    if (step % 5 > 2) return;
    strange_names();
    nest(DEEP);
    unbalanced();
    threads();
    strange_values();
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 5, .repeat = 2);
    o.on_trace_ready =
        hb_tensorboard_trace_handler(argv[1], "hostile \"host\"", (unsigned)atoi(argv[2]));
    o.record_shapes = o.profile_memory = o.with_stack = o.with_flops = o.with_modules = true;
    hb_profiler *prof = hb_profiler_create(&o);
    hb_profiler_step(prof); /* not started */
    if (hb_profiler_start(prof) != HB_OK) return 1;
    hb_profiler_add_metadata(prof, "quote\" ]", "}]\\\n\xff");
    hb_result broken = hb_profiler_add_metadata_json(prof, "broken", "{\"a\": ");
    for (int step = 0; step < 10; step++) {
        step_body(step);
        hb_profiler_step(prof);
    }
    hb_result result = hb_profiler_stop(prof);
    if (result != HB_OK) fprintf(stderr, "%s\n", hb_last_error());
    hb_profiler_destroy(prof);
    return result == HB_OK && broken == HB_ERROR_FORMAT ? 0 : 1;
}
