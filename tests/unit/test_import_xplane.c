/* SPDX-License-Identifier: MIT
 *
 * XSpace of JAX and TensorFlow: a real one, whole and cut off.
 */
#include <zlib.h>

#include "imported.h"

static void a_real_one(void **state)
{
    (void)state;
    hb_import *import = import_with(TEST_DATA "/jax_mi300x.xplane.pb.gz", NULL);
    const hb_imported *p = hb_import_get(import, 0);
    char *text = written_text(import, 0);
    assert_string_equal(p->format, "XPlane");
    assert_string_equal(p->host, "tw003");
    assert_int_equal(p->kernels, 235);
    assert_int_equal(p->linked, 235);
    assert_int_equal(p->gpus, 8);
    assert_int_equal(p->calls, 234);
    /* 3,415 events of the host, and an operator around each of 198 calls that launch for one. */
    assert_int_equal(p->calls + p->ranges, 3415 + 198);
    assert_int_equal(note_of(p, "NO_REGISTERS"), 235);
    assert_int_equal(note_of(p, "NO_GRID"), 0);
    assert_true(p->start_ns > INT64_C(1771595639000000000));
    HAS(text, "\"name\": \"loop_transpose_fusion\"");
    HAS(text, "\"grid\":     [1280, 1, 1], \"block\":     [256, 1, 1]");
    HAS(text, "\"totalGlobalMem\": 206141652992");
    HAS_NOT(text, ".kd\"");
    free(text);
    hb_import_close(import);
}

/* XLA of 2026 on CUDA, where a call is called as the kernel that it launches. */
static void calls_steps_and_fills_of_xla_on_cuda(void **state)
{
    (void)state;
    hb_import *import = import_with(TEST_DATA "/jax_h100.xplane.pb.gz", NULL);
    const hb_imported *p = hb_import_get(import, 0);
    char *text = written_text(import, 0);
    assert_string_equal(p->format, "XPlane");
    assert_int_equal(p->kernels, 79);
    assert_int_equal(p->copies, 50);
    assert_int_equal(p->linked, 129);
    assert_int_equal(p->calls, 174);
    assert_int_equal(count_in(text, "\"name\": \"Memset (Device)\""), 32);
    assert_int_equal(count_in(text, "\"cat\": \"gpu_memcpy\""), 18);
    assert_int_equal(note_of(p, "NO_REGISTERS"), 0);
    assert_int_equal(note_of(p, "NO_GRID"), 0);
    HAS(text, "\"registers per thread\": 168");
    HAS(text, "\"name\": \"NVIDIA H100 80GB HBM3\"");
    HAS(text, "\"warpSize\": 32");
    /* Steps of jax.profiler.StepTraceAnnotation, whole, beside the ranges that they were. */
    assert_string_equal(p->steps, "the program's own");
    for (int i = 0; i < 4; i++) {
        char step[80];
        snprintf(step, sizeof step, "\"user_annotation\",\n    \"name\": \"ProfilerStep#%d\"", i);
        assert_int_equal(count_in(text, step), 1);
    }
    assert_int_equal(count_in(text, "\"name\": \"train\""), 4);
    free(text);
    hb_import_close(import);
}

/* It lies beside what is read. */
static void the_trace_viewers_json_is_refused_with_a_cure(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\"traceEvents\":["
        "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"/device:GPU:0\"}}",
        "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [{\"ph\": \"M\", \"pid\": 1, \"name\": "
        "\"process_name\", \"args\": {\"name\": \"/host:CPU\"}}, {\"ph\": \"M\", \"pid\": 1, "
        "\"name\": \"process_sort_index\", \"args\": {\"sort_index\": 1}}"};
    for (size_t i = 0; i < 2; i++) {
        char text[600];
        snprintf(
            text, sizeof text,
            "%s,{\"ph\":\"X\",\"pid\":1,\"tid\":14,\"ts\":1.5,\"dur\":2,\"name\":\"gemm\"},{}]}",
            heads[i]);
        import_refused(keep_text("vm.trace.json", text), HB_ERROR_FORMAT,
                       "the .xplane.pb beside it is read");
    }
}

static void cut_off_anywhere(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    gzFile file = gzopen(TEST_DATA "/jax_mi300x.xplane.pb.gz", "rb");
    int size = gzread(file, bytes, sizeof bytes);
    gzclose(file);
    assert_true(size > 100000);
    for (int i = 1; i < 40; i++) {
        hb_import *import = NULL;
        const char *path = keep_bytes("x.pb", bytes, (size_t)size * (unsigned)i / 40);
        hb_result result = hb_import_open(&path, 1, NULL, &import);
        assert_true(result == HB_OK || result == HB_ERROR_FORMAT);
        if (result == HB_OK) assert_true(hb_import_get(import, 0)->kernels <= 235);
        hb_import_close(import);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_real_one),
        IN_DIR(calls_steps_and_fills_of_xla_on_cuda),
        IN_DIR(the_trace_viewers_json_is_refused_with_a_cure),
        IN_DIR(cut_off_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
