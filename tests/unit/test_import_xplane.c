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
        IN_DIR(cut_off_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
