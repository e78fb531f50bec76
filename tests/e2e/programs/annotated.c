/* SPDX-License-Identifier: MIT
 *
 * A small training: annotated DIRECTORY [more]. With `more` its scopes have values, and there are
 * arrows between them, counters, and scopes in a category of their own. Times don't matter here.
 */
#include <pthread.h>
#include <stdio.h>

#include <hipboard/hipboard.h>

static int more;

static void *load_batch(void *step)
{
    const hb_arg args[] = {hb_arg_int("rows", 64), hb_arg_double("ratio", 0.5),
                           hb_arg_bool("shuffled", true), hb_arg_string("file", "a \"b\".npz"),
                           hb_arg_int("External id", 1)};
    hb_scope_info info = {sizeof info, NULL, args, more ? 5 : 0, NULL};
    hb_scope scope = hb_scope_begin("load", &info);
    if (more) {
        HB_SCOPE_WITH("read", .category = "io", HB_ARGS(HB_ARG("bytes", 4096)));
        hb_counter("queue", "rows", 64);
    }
    if (more) hb_flow("batch", *(uint64_t *)step, HB_FLOW_BEGIN);
    hb_scope_end(&scope);
    return NULL;
}

static void train(uint64_t step, hb_module layer)
{
    pthread_t loader;
    pthread_create(&loader, NULL, load_batch, &step);
    pthread_join(loader, NULL);
    HB_SCOPE("forward");
    if (more) hb_flow("batch", step, HB_FLOW_STEP);
    HB_MODULE_GUARD(layer);
    const hb_input inputs[] = {HB_TENSOR(HB_FLOAT32, 64, 8), HB_TENSOR(HB_FLOAT32, 8, 4)};
    const hb_op_info op = {.inputs = inputs, .num_inputs = 2, .flops = 4096};
    const hb_arg tile = hb_arg_int("tile", 16);
    hb_scope_info info = {sizeof info, NULL, &tile, more ? 1 : 0, &op};
    hb_scope mm = hb_scope_begin("aten::mm", &info);
    hb_memory_alloc(HB_DEVICE_CPU, 0, &info, 1024);
    hb_memory_free(HB_DEVICE_CPU, 0, &info, 1024);
    hb_scope_end(&mm);
    if (more) hb_flow("batch", step, HB_FLOW_END);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    more = argc > 2;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.record_shapes = o.profile_memory = o.with_flops = o.with_modules = true;
    o.schedule = hb_schedule_make(.wait = 1, .active = 3, .repeat = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    hb_module layer = hb_module_create("Linear");
    if (!prof || hb_profiler_start(prof) != HB_OK) return 1;
    for (uint64_t step = 0; step < 5; step++) {
        train(step, layer);
        if (hb_profiler_step(prof) != HB_OK) return 1;
    }
    hb_result result = hb_profiler_stop(prof);
    if (result != HB_OK) fprintf(stderr, "%s\n", hb_last_error());
    hb_profiler_destroy(prof);
    return result != HB_OK;
}
