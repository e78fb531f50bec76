/* SPDX-License-Identifier: MIT
 *
 * log_profile DIR NAME...: a made-up profile of three steps; the names are those of its kernels.
 */
#include <stdio.h>
#include <stdlib.h>

#include "summary/summary_tags.h"

static void check(hb_result result)
{
    if (result == HB_OK) return;
    fprintf(stderr, "log_profile: %s\n", hb_last_error());
    exit(1);
}

static void log_numbers(hb_event_log *log, hb_profile_span span, int step, double first)
{
    const hb_profile_at at = {span, step, 1750000000000000000 + step};
    hb_profile_numbers numbers;
    for (int i = 0; i < HB_PROFILE_NUMBERS; i++)
        numbers.value[i] = first + i;
    check(hb_profile_log_numbers(log, at, &numbers));
    check(
        hb_profile_log_device(log, at, "GPU0", &(hb_profile_device){10, 20, 30, 1 << 20, 2 << 20}));
    check(
        hb_profile_log_device(log, at, "GPU1", &(hb_profile_device){40, 50, 60, 3 << 20, 4 << 20}));
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    hb_event_log *log = hb_event_log_open(argv[1], NULL);
    if (!log) check(HB_ERROR_IO);
    const hb_hparam own[] = {HB_HPARAM("workers", 2), HB_HPARAM("batch", 64)};
    const hb_profile_settings settings = {.arch = "gfx90a",
                                          .has_steps = true,
                                          .has_gpu = true,
                                          .memory = "GPU0",
                                          .own = own,
                                          .num_own = 2};
    check(hb_profile_log_settings(log, &settings));
    check(hb_profile_log_layout(log));
    for (int step = 5; step < 8; step++)
        log_numbers(log, HB_PROFILE_STEP, step, 100 * step);
    log_numbers(log, HB_PROFILE_CYCLE, 7, 1000);

    hb_profile_cost *costs = calloc((size_t)argc, sizeof *costs);
    for (int i = 2; i < argc; i++)
        costs[i - 2] = (hb_profile_cost){argv[i], (uint64_t)i, 1000.0 * i};
    check(hb_profile_log_costs(log, 7, HB_PROFILE_TOP_KERNELS, costs, (size_t)argc - 2, 100000));
    free(costs);
    const char *const advice[] = {"Use num_workers > 0 & pinned <memory>."};
    check(hb_profile_log_advice(log, 7, advice, 1));
    check(hb_event_log_close(log));
    return 0;
}
