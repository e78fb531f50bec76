/* SPDX-License-Identifier: MIT
 *
 * What a program of an earlier release does, compiled with that release's headers: older FILE.
 * Everything that is inlined, passed by value or has a struct_size.
 */
#include <stdio.h>
#include <string.h>

#include <hipboard/analysis.h>
#include <hipboard/event_log.h>

#define CHECK(ok)                                                                 \
    do {                                                                          \
        if (!(ok)) {                                                              \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #ok, hb_last_error()); \
            return 1;                                                             \
        }                                                                         \
    } while (0)

static void work(hb_module layer)
{
    hb_memory_alloc(HB_DEVICE_CPU, 0, &layer, 4096);
    HB_SCOPE("guard");
    HB_FUNCTION_GUARD();
    HB_RECORD_FUNCTION("statement") {
        HB_OP("aten::mm",
              HB_INPUTS(HB_TENSOR(HB_FLOAT32, 2, 3), HB_TENSOR(HB_FLOAT32, 3, 4), HB_INT(7)),
              .flops = hb_flops_mm(2, 3, 4)) {
            HB_MODULE(layer) {
                hb_scalar("loss", 0.5);
            }
        }
    }
    hb_range_push("range");
    hb_range_pop();
    hb_scope by_hand = hb_record_function("by hand");
    hb_scope_end(&by_hand);
    hb_memory_free(HB_DEVICE_CPU, 0, &layer, 4096);
}

/* What lies behind a struct that a newer library knows more of. */
typedef struct guarded_lost {
    hb_lost lost;
    unsigned char behind[256];
} guarded_lost;

static bool untouched(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0xa5) return false;
    return true;
}

static int record(const char *path)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.record_shapes = o.profile_memory = o.with_flops = o.with_modules = true;
    o.schedule = hb_schedule_make(.wait = 1, .active = 2, .repeat = 1);
    hb_profiler *prof = hb_profiler_create(&o);
    hb_module layer = hb_module_create("Linear");
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    for (int step = 0; step < 4; step++) {
        work(layer);
        CHECK(hb_profiler_step(prof) == HB_OK);
    }
    CHECK(hb_profiler_stop(prof) == HB_OK);
    guarded_lost lost;
    memset(&lost, 0xa5, sizeof lost);
    lost.lost.struct_size = sizeof lost.lost;
    CHECK(hb_profiler_lost(prof, &lost.lost) == HB_OK && lost.lost.buffer_full == 0);
    CHECK(untouched(lost.behind, sizeof lost.behind));
    CHECK(hb_export_chrome_trace(prof, path, 0) == HB_OK);
    hb_profiler_destroy(prof);
    return 0;
}

static int read_again(const char *path)
{
    hb_open_options o = HB_OPEN_OPTIONS_INIT;
    hb_trace_file *file;
    CHECK(hb_trace_file_open(path, &o, &file) == HB_OK);
    struct {
        hb_file_event event;
        unsigned char behind[256];
    } guarded;
    memset(&guarded, 0xa5, sizeof guarded);
    CHECK(hb_trace_file_event(file, 0, &guarded.event) == HB_OK);
    CHECK(untouched(guarded.behind, sizeof guarded.behind));
    const hb_operator_stat *ops;
    size_t count;
    CHECK(hb_trace_file_operators(file, false, &ops, &count) == HB_OK && count > 0);
    for (size_t i = 0; i < count; i++)
        printf("%s %llu\n", ops[i].name, (unsigned long long)ops[i].calls);
    hb_trace_file_close(file);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    return record(argv[1]) || read_again(argv[1]);
}
