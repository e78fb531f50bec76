/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/markdown.h"
#include "event_reader.h"
#include "summary/summary_tags.h"

static hb_event_log *event_log;

static int open_log(void **state)
{
    if (make_dir(state) != 0) return -1;
    event_log = hb_event_log_open(dir, NULL);
    return event_log ? 0 : -1;
}

static void assert_scalar(const event_list *list, size_t i, const char *tag, double value)
{
    assert_string_equal(value_of(list, i)->tag, tag);
    assert_true(value_of(list, i)->simple_value == (float)value);
}

static void assert_text(const event_list *list, size_t i, const char *tag, const char *expected)
{
    assert_string_equal(value_of(list, i)->tag, tag);
    const ProtobufCBinaryData *text = &value_of(list, i)->tensor->string_val[0];
    char found[4096];
    snprintf(found, sizeof found, "%.*s", (int)text->len, (const char *)text->data);
    assert_string_equal(found, expected);
}

static void only_known_numbers_are_logged(void **state)
{
    (void)state;
    hb_profile_numbers numbers;
    hb_profile_numbers_init(&numbers);
    numbers.value[HB_PROFILE_STEP_MS] = 12.5;
    numbers.value[HB_PROFILE_LOST_EVENTS] = 0;
    hb_profile_at at = {HB_PROFILE_STEP, 7, 1500000000500000000};
    assert_int_equal(hb_profile_log_numbers(event_log, at, &numbers), HB_OK);
    at.span = HB_PROFILE_CYCLE;
    assert_int_equal(hb_profile_log_numbers(event_log, at, &numbers), HB_OK);
    event_list list = close_and_read(event_log);
    assert_int_equal(list.count, 5);
    assert_scalar(&list, 1, "hipboard_time/step_ms", 12.5);
    assert_scalar(&list, 2, "hipboard_profiler/lost_events", 0);
    assert_scalar(&list, 3, "hipboard_cycle/step_ms", 12.5);
    assert_scalar(&list, 4, "hipboard_cycle/lost_events", 0);
    assert_int_equal(list.events[1]->step, 7);
    assert_true(list.events[1]->wall_time == 1500000000.5);
    free_events(&list);
}

static const char *nth_tag(int i)
{
    return hb_profile_tag((hb_profile_span)(i / HB_PROFILE_NUMBERS),
                          (hb_profile_number)(i % HB_PROFILE_NUMBERS));
}

static void every_number_has_a_tag_of_its_own(void **state)
{
    (void)state;
    enum { ALL = HB_PROFILE_SPANS * HB_PROFILE_NUMBERS };
    hb_profile_numbers numbers;
    for (int i = 0; i < ALL; i++) {
        numbers.value[i % HB_PROFILE_NUMBERS] = i;
        if (i % HB_PROFILE_NUMBERS < HB_PROFILE_NUMBERS - 1) continue;
        hb_profile_at at = {(hb_profile_span)(i / HB_PROFILE_NUMBERS), 1, 0};
        assert_int_equal(hb_profile_log_numbers(event_log, at, &numbers), HB_OK);
    }
    event_list list = close_and_read(event_log);
    assert_int_equal(list.count, 1 + ALL);
    for (int i = 0; i < ALL; i++) {
        assert_scalar(&list, (size_t)i + 1, nth_tag(i), i);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(nth_tag(i), nth_tag(j));
    }
    free_events(&list);
}

static void a_device_has_what_is_known_of_it(void **state)
{
    (void)state;
    const hb_profile_device gpu = {40, NAN, 25, 3.0 * 1048576, 524288};
    const hb_profile_device cpu = {NAN, NAN, NAN, NAN, 0};
    const hb_profile_at step = {HB_PROFILE_STEP, 1, 0}, cycle = {HB_PROFILE_CYCLE, 1, 0};
    assert_int_equal(hb_profile_log_device(event_log, step, "GPU0", &gpu), HB_OK);
    assert_int_equal(hb_profile_log_device(event_log, step, "CPU", &cpu), HB_OK);
    assert_int_equal(hb_profile_log_device(event_log, cycle, "GPU0", &gpu), HB_OK);
    event_list list = close_and_read(event_log);
    assert_int_equal(list.count, 10);
    assert_scalar(&list, 1, "hipboard_gpu/GPU0_utilization_percent", 40);
    assert_scalar(&list, 2, "hipboard_gpu/GPU0_occupancy_percent", 25);
    assert_scalar(&list, 3, "hipboard_memory/GPU0_peak_mib", 3);
    assert_scalar(&list, 4, "hipboard_memory/GPU0_current_mib", 0.5);
    assert_scalar(&list, 5, "hipboard_memory/CPU_current_mib", 0);
    assert_scalar(&list, 6, "hipboard_cycle/GPU0_utilization_percent", 40);
    assert_scalar(&list, 8, "hipboard_cycle/GPU0_peak_mib", 3);
    free_events(&list);
}

static void times_become_histograms(void **state)
{
    (void)state;
    const double ms[] = {1, 2, 3};
    assert_int_equal(hb_profile_log_step_times(event_log, 3, ms, 3), HB_OK);
    assert_int_equal(hb_profile_log_kernel_times(event_log, 3, ms, 2), HB_OK);
    assert_int_equal(hb_profile_log_kernel_times(event_log, 3, NULL, 0), HB_OK);
    event_list list = close_and_read(event_log);
    assert_int_equal(list.count, 3);
    assert_string_equal(value_of(&list, 1)->tag, "hipboard_time/steps_ms");
    assert_true(value_of(&list, 1)->histo->num == 3);
    assert_string_equal(value_of(&list, 2)->tag, "hipboard_gpu/kernels_us");
    assert_true(value_of(&list, 2)->histo->max == 2);
    free_events(&list);
}

static void costs_become_a_table(void **state)
{
    (void)state;
    const hb_profile_cost costs[] = {
        {"void gemm<float, 4>(int*)", 4, 1000},
        {"a|b", 0, 0},
    };
    assert_int_equal(hb_profile_log_costs(event_log, 9, HB_PROFILE_TOP_KERNELS, costs, 2, 4000),
                     HB_OK);
    assert_int_equal(hb_profile_log_costs(event_log, 9, HB_PROFILE_TOP_OPERATORS, NULL, 0, 0),
                     HB_OK);
    event_list list = close_and_read(event_log);
    assert_text(&list, 1, "hipboard/top_kernels/text_summary",
                "| kernel | calls | total ms | mean µs | share % |\n"
                "|---|---:|---:|---:|---:|\n"
                "| void gemm&#60;float, 4&#62;(int&#42;) | 4 | 1.000 | 250.000 | 25.0 |\n"
                "| a&#124;b | 0 | 0.000 | | 0.0 |\n");
    assert_text(&list, 2, "hipboard/top_operators/text_summary",
                "| operator | calls | total ms | mean µs | share % |\n"
                "|---|---:|---:|---:|---:|\n");
    free_events(&list);
}

static void the_other_texts(void **state)
{
    (void)state;
    const hb_profile_pair pairs[] = {{"arch", "gfx90a"}, {"hip\nversion", "6.1_2"}};
    const char *advice[] = {"Use *more* workers.", "Fuse."};
    hb_lost lost = {.struct_size = sizeof lost};
    assert_int_equal(hb_profile_log_environment(event_log, 1, pairs, 2), HB_OK);
    assert_int_equal(hb_profile_log_advice(event_log, 1, advice, 2), HB_OK);
    assert_int_equal(hb_profile_log_advice(event_log, 1, NULL, 0), HB_OK);
    assert_int_equal(hb_profile_log_lost(event_log, 1, &lost), HB_OK);
    lost.buffer_full = 12;
    lost.too_big = 1;
    assert_int_equal(hb_profile_log_lost(event_log, 1, &lost), HB_OK);
    event_list list = close_and_read(event_log);
    assert_int_equal(list.count, 5);
    assert_text(&list, 1, "hipboard/environment/text_summary",
                "| key | value |\n|---|---|\n| arch | gfx90a |\n| hip version | 6.1&#95;2 |\n");
    assert_text(&list, 2, "hipboard/advice/text_summary",
                "- Use &#42;more&#42; workers.\n- Fuse.\n");
    assert_text(&list, 3, "hipboard/advice/text_summary", "Nothing to advise.\n");
    assert_text(&list, 4, "hipboard/lost_data/text_summary",
                "- **12** records did not fit into max&#95;record&#95;bytes and are missing\n"
                "- **1** records have lost what did not fit: over 32 KiB of inputs or stack, over "
                "1 MiB of name, or "
                "a stack where a signal handler had no room to walk it\n");
    free_events(&list);
}

static void expect_columns(const event_list *list, size_t num_metrics, const char *const *metrics,
                           const char *const *titles, size_t num_names, const char *const *names)
{
    Hb__HParamsPluginData *experiment = hparams_of(list, 1, "_hparams_/experiment"),
                          *start = hparams_of(list, 2, "_hparams_/session_start_info");
    assert_int_equal(experiment->experiment->n_metric_infos, num_metrics);
    for (size_t i = 0; i < num_metrics; i++) {
        const Hb__MetricInfo *info = experiment->experiment->metric_infos[i];
        assert_string_equal(info->name->tag, metrics[i]);
        assert_string_equal(info->display_name, titles[i]);
    }
    assert_int_equal(start->session_start_info->n_hparams, num_names);
    assert_int_equal(experiment->experiment->n_hparam_infos, num_names);
    for (size_t i = 0; i < num_names; i++) {
        assert_string_equal(start->session_start_info->hparams[i]->key, names[i]);
        assert_int_equal(experiment->experiment->hparam_infos[i]->differs, i == 0); /* the own */
    }
    hb__hparams_plugin_data__free_unpacked(experiment, NULL);
    hb__hparams_plugin_data__free_unpacked(start, NULL);
}

static void settings_are_the_users_and_the_known_ones(void **state)
{
    (void)state;
    const hb_hparam own[] = {HB_HPARAM("lr", 0.1)};
    const char *const own_metrics[] = {"accuracy"};
    const hb_profile_settings settings = {.arch = "gfx90a",
                                          .compute_units = 104,
                                          .ranks = 2,
                                          .has_steps = true,
                                          .has_gpu = true,
                                          .memory = "GPU0",
                                          .own = own,
                                          .num_own = 1,
                                          .metrics = own_metrics,
                                          .num_metrics = 1};
    assert_int_equal(hb_profile_log_settings(event_log, &settings), HB_OK);
    event_list list = close_and_read(event_log);
    const char *const metrics[] = {"hipboard_cycle/step_ms", "hipboard_cycle/utilization_percent",
                                   "hipboard_cycle/GPU0_peak_mib", "accuracy"};
    const char *const titles[] = {"step ms", "GPU busy %", "peak MiB", ""};
    const char *const names[] = {"lr", "arch", "compute_units", "ranks"};
    expect_columns(&list, 4, metrics, titles, 4, names);
    free_events(&list);
}

static void there_are_no_columns_for_what_is_not_there(void **state)
{
    (void)state;
    const hb_hparam own[] = {HB_HPARAM_TEXT("arch", "mine")}; /* comes before the known one */
    const hb_profile_settings settings = {
        .arch = "gfx90a", .has_steps = true, .own = own, .num_own = 1};
    assert_int_equal(hb_profile_log_settings(event_log, &settings), HB_OK);
    event_list list = close_and_read(event_log);
    const char *const metrics[] = {"hipboard_cycle/step_ms"}, *const titles[] = {"step ms"};
    expect_columns(&list, 1, metrics, titles, 1, (const char *const[]){"arch"});
    free_events(&list);
}

static void text_in_markdown_is_only_text(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 1000);
    hb_markdown_text(&buf, "a::b(c) \xc3\xa9 \\`*_~[]<>&|#$@\t\x01z");
    assert_string_equal(hb_buf_text(&buf),
                        "a::b(c) \xc3\xa9 &#92;&#96;&#42;&#95;&#126;&#91;&#93;&#60;&#62;&#38;"
                        "&#124;&#35;&#36;&#64;  z");
    hb_buf_free(&buf);
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, open_log, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(only_known_numbers_are_logged),
        LOG_TEST(every_number_has_a_tag_of_its_own),
        LOG_TEST(a_device_has_what_is_known_of_it),
        LOG_TEST(times_become_histograms),
        LOG_TEST(costs_become_a_table),
        LOG_TEST(the_other_texts),
        LOG_TEST(settings_are_the_users_and_the_known_ones),
        LOG_TEST(there_are_no_columns_for_what_is_not_there),
        cmocka_unit_test(text_in_markdown_is_only_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
