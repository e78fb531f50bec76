/* SPDX-License-Identifier: MIT
 *
 * What is said of a HIP capture on standard error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "hip/diagnostics.h"
#include "said.h"

static void it_is_said_once(void **state)
{
    said_text s;
    (void)state;
    hb_diagnostics_clear();
    said_begin(&s);
    for (int i = 0; i < 2; i++) {
        hb_diagnostics_add(true, "kernels of %s have no times", "streams");
        hb_diagnostics_add(false, "not on stderr");
        hb_diagnostics_add(true, "copies of %s have no times", "streams");
    }
    assert_string_equal(said_end(&s), "hipboard: kernels of streams have no times\n"
                                      "hipboard: copies of streams have no times\n");
}

/* Of a process that has ever more to say the first 4 kB are enough. */
static void too_much_is_not_said(void **state)
{
    said_text s;
    (void)state;
    said_begin(&s);
    for (int i = 0; i < 200; i++)
        hb_diagnostics_add(true, "reason %03d of many: %0100d", i, i);
    const char *text = said_end(&s);
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_in_range(lines, 30, 40);
    assert_non_null(strstr(text, "reason 029 of"));
    assert_null(strstr(text, "reason 040 of"));
    hb_diagnostics_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_said_once),
        cmocka_unit_test(too_much_is_not_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
