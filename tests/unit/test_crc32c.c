/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"

/* The examples of RFC 3720, B.4. */
static void gives_the_published_values(void **state)
{
    (void)state;
    unsigned char data[32];
    memset(data, 0, sizeof data);
    assert_int_equal(hb_crc32c(data, sizeof data), 0x8a9136aa);
    memset(data, 0xff, sizeof data);
    assert_int_equal(hb_crc32c(data, sizeof data), 0x62a8ab43);
    for (unsigned char i = 0; i < 32; i++)
        data[i] = i;
    assert_int_equal(hb_crc32c(data, sizeof data), 0x46dd794e);
    for (unsigned char i = 0; i < 32; i++)
        data[i] = 31 - i;
    assert_int_equal(hb_crc32c(data, sizeof data), 0x113fdb5c);
    assert_int_equal(hb_crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(hb_crc32c("", 0), 0);
}

static void masks_as_tensorboard_does(void **state)
{
    (void)state;
    assert_int_equal(hb_crc32c_masked("123456789", 9), 0xc78ab0e5);
}

static void instruction_and_table_agree_at_every_size_and_alignment(void **state)
{
    (void)state;
    hb_crc32c_fn hardware = hb_crc32c_hardware();
    if (!hardware) skip();
    unsigned char data[300];
    srand(1);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)rand();
    for (size_t start = 0; start < 16; start++)
        for (size_t size = 0; start + size <= sizeof data; size++)
            assert_int_equal(hardware(data + start, size), hb_crc32c_table(data + start, size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_published_values),
        cmocka_unit_test(masks_as_tensorboard_does),
        cmocka_unit_test(instruction_and_table_agree_at_every_size_and_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
