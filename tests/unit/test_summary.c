/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "event_reader.h"
#include "tfevents/event_records.h"

static const hb_event_stamp at = {1.5, 7};

/* What torch 2.13's SummaryWriter hands to its file for the same calls, as Event(wall_time=1.5,
 * step=7, summary=...).SerializeToString().hex(). */
static const char torch_scalar[] = "09000000000000f83f10072a0d0a0b0a046c6f737315cdcccc3d";
static const char torch_text[] =
    "09000000000000f83f10072a350a330a116e6f74652f746578745f73756d6d61727942140807120412020801"
    "420a61202a2a622a2a20c3a94a080a060a0474657874";
static const char torch_histogram[] =
    "09000000000000f83f10072aaa010aa7010a01682aa10109000000000000f03f11000000000000f83f190000"
    "000000001040210000000000001440290000000000801940323808996919155aed3f2b14facdbe24f03f6349"
    "c61505c2f13fba508d319f88f33f333fe81caf7cf53f8545cc9fc0a2f73f794cfae2d3fff93f3a3800000000"
    "00000000000000000000f03f0000000000000000000000000000000000000000000000400000000000000000"
    "000000000000f03f";
static const char torch_histogram_of_zero[] =
    "09000000000000f83f10072a340a320a01682a2d19000000000000f03f3210000000000000000011ea2d8199"
    "97713d3a100000000000000000000000000000f03f";
static const char torch_experiment[] =
    "09000000000000f83f10072a4d0a4b0a145f68706172616d735f2f6578706572696d656e744a330a310a0768"
    "706172616d731226122422060a026c72200322070a036f707420012a080a0612046c6f73732a070a05120361"
    "6363";
static const char torch_layout[] =
    "09000000000000f83f10072a8c010a89010a18637573746f6d5f7363616c6172735f5f636f6e6669675f5f42"
    "5908071200425312370a0454696d6512180a057374657073120f0a07737465702f2e2a0a046c6f737312150a"
    "0462616e641a0d0a0b0a016d12026c6f1a02686912180a064d656d6f7279120e0a047065616b12060a047065"
    "616b4a120a100a0e637573746f6d5f7363616c617273";

/* The buffer holds one record, whose data is `hex`; empties it. */
static void assert_record(hb_buf *buf, const char *hex)
{
    assert_false(buf->failed);
    event_list list = read_bytes(buf->data, buf->size);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.torn, 0);
    free_events(&list);
    size_t size = buf->size - 16;
    char *text = malloc(2 * size + 1);
    for (size_t i = 0; i < size; i++)
        sprintf(text + 2 * i, "%02x", (unsigned char)buf->data[12 + i]);
    assert_string_equal(text, hex);
    free(text);
    hb_buf_free(buf);
}

static void scalars_are_torchs(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 10000);
    hb_event_scalar(&buf, at, "loss", 0.1);
    assert_record(&buf, torch_scalar);
}

static void texts_are_torchs(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 10000);
    hb_event_text(&buf, at, "note", "a **b** \u00e9");
    assert_record(&buf, torch_text);
}

static void histograms_are_torchs(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 10000);
    hb_bucket_counts histogram = {0};
    hb_histogram_add(&histogram, (double[]){1.0, 1.25, 1.5, 1.25}, 4);
    hb_event_histogram(&buf, at, "h", &histogram);
    assert_record(&buf, torch_histogram);
    histogram = (hb_bucket_counts){0};
    hb_histogram_add(&histogram, (double[]){0}, 1);
    hb_event_histogram(&buf, at, "h", &histogram);
    assert_record(&buf, torch_histogram_of_zero);
}

static void the_experiment_is_torchs(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 10000);
    const hb_hparam hparams[] = {HB_HPARAM("lr", 0.1), HB_HPARAM_TEXT("opt", "sgd")};
    hb_event_experiment(&buf, at,
                        &(hb_columns){.hparams = hparams,
                                      .num_hparams = 2,
                                      .metrics = (const char *[]){"loss", "acc"},
                                      .num_metrics = 2});
    assert_record(&buf, torch_experiment);
}

static void the_layout_is_torchs(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 10000);
    const hb_chart time[] = {
        {.title = "steps", .tags = (const char *[]){"step/.*", "loss"}, .num_tags = 2},
        {.title = "band", .tags = (const char *[]){"m", "lo", "hi"}, .num_tags = 3, .margin = true},
    };
    const hb_chart memory = {.title = "peak", .tags = (const char *[]){"peak"}, .num_tags = 1};
    const hb_chart_category categories[] = {
        {.title = "Time", .charts = time, .num_charts = 2},
        {.title = "Memory", .charts = &memory, .num_charts = 1},
    };
    hb_event_layout(&buf, at, categories, 2);
    assert_record(&buf, torch_layout);
}

static void the_least_and_the_greatest_steps_and_values_survive(void **state)
{
    (void)state;
    const int64_t steps[] = {0, -1, INT64_MIN, INT64_MAX};
    const double values[] = {-0.0, INFINITY, -INFINITY, 3.5e38};
    hb_buf buf;
    hb_buf_init(&buf, 10000);
    for (int i = 0; i < 4; i++)
        hb_event_scalar(&buf, (hb_event_stamp){0, steps[i]}, "x", values[i]);
    hb_event_scalar(&buf, at, "x", NAN);
    event_list list = read_bytes(buf.data, buf.size);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(list.events[i]->step, steps[i]);
        assert_true(value_of(&list, i)->simple_value == (float)values[i]);
    }
    assert_true(isnan(value_of(&list, 4)->simple_value));
    free_events(&list);
    hb_buf_free(&buf);
}

static void text_that_is_not_utf8_is_made_so(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 10000);
    hb_event_scalar(&buf, at, "a\xff\xc3\xa9\xc3", 1);
    hb_event_text(&buf, at, "\x80", "\xed\xa0\x80 lone surrogate");
    event_list list = read_bytes(buf.data, buf.size);
    assert_string_equal(value_of(&list, 0)->tag, "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
    assert_string_equal(value_of(&list, 1)->tag, "\xef\xbf\xbd/text_summary");
    const ProtobufCBinaryData *text = &value_of(&list, 1)->tensor->string_val[0];
    const char expected[] = "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd lone surrogate";
    assert_int_equal(text->len, strlen(expected));
    assert_memory_equal(text->data, expected, text->len);
    free_events(&list);
    hb_buf_free(&buf);
}

static void without_memory_there_is_no_record(void **state)
{
    (void)state;
    const hb_hparam hparam = HB_HPARAM("lr", 0.1);
    for (size_t max = 0; max < 60; max++) {
        hb_buf buf;
        hb_buf_init(&buf, max);
        hb_event_session_start(&buf, at, &hparam, 1);
        assert_true(buf.failed);
        assert_int_equal(buf.size, 0);
        hb_buf_free(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_torchs),
        cmocka_unit_test(texts_are_torchs),
        cmocka_unit_test(histograms_are_torchs),
        cmocka_unit_test(the_experiment_is_torchs),
        cmocka_unit_test(the_layout_is_torchs),
        cmocka_unit_test(the_least_and_the_greatest_steps_and_values_survive),
        cmocka_unit_test(text_that_is_not_utf8_is_made_so),
        cmocka_unit_test(without_memory_there_is_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
