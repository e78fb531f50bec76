/* SPDX-License-Identifier: MIT */
#include "record/clock_told.h"

#include <hipboard/comm.h>
#include <stdatomic.h>

#include "base/base.h"
#include "record/process_id.h"
#include "record/record.h"
#include "record/strings.h"

enum { MOST_POINTS = 1000 };

static atomic_uint told_text; /* an interned text; 0: none */

static void put_points(hb_buf *b, const hb_clock_told *told)
{
    for (size_t i = 0; i < told->num_points; i++)
        hb_buf_printf(b, "%s{\"local_ns\": %lld, \"offset_ns\": %lld, \"bound_ns\": %lld}",
                      i ? ", " : "", (long long)told->points[i].local_ns,
                      (long long)told->points[i].offset_ns, (long long)told->points[i].bound_ns);
}

static void put(hb_buf *b, const hb_clock_told *told)
{
    hb_process_id here = hb_process_id_here();
    hb_buf_printf(b, "{\"method\": \"%s\", \"reference_rank\": %lld, \"boot_id\": ",
                  told->shared ? "shared" : "measured", (long long)told->reference_rank);
    hb_buf_json_string(b, here.boot_id, strlen(here.boot_id));
    hb_buf_printf(b, ", \"wall_ns\": %lld, \"wall_bound_ns\": %lld, \"always\": %s, \"points\": [",
                  (long long)told->wall_ns, (long long)told->wall_bound_ns,
                  told->always ? "true" : "false");
    put_points(b, told);
    hb_buf_str(b, "]}");
}

static hb_result check(const hb_clock_told *told)
{
    if (!told->points || !told->num_points || told->num_points > MOST_POINTS)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "clock: %zu points; 1 to %d are expected",
                       told->points ? told->num_points : (size_t)0, MOST_POINTS);
    for (size_t i = 0; i < told->num_points; i++) {
        if (told->points[i].bound_ns < 0)
            return hb_fail(HB_ERROR_INVALID_ARGUMENT, "clock: point %zu: bound_ns is %lld", i,
                           (long long)told->points[i].bound_ns);
        if (i && told->points[i].local_ns <= told->points[i - 1].local_ns)
            return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                           "clock: point %zu is not later than the one before it", i);
    }
    return HB_OK;
}

void hb_clock_told_record(void)
{
    static const char key[] = HB_METADATA_CLOCK;
    unsigned text = atomic_load(&told_text);
    if (text) hb_record_metadata_entry(hb_strings_intern(key, sizeof key - 1), text);
}

hb_result hb_clock_tell(const hb_clock_told *given)
{
    hb_clock_told told = {.struct_size = sizeof told};
    hb_buf b;
    if (!given) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "clock: it is NULL");
    HB_TRY(hb_options_take(given, &told, sizeof told, "its size"));
    HB_TRY(check(&told));
    HB_TRY(hb_record_init());
    hb_buf_init(&b, (size_t)1 << 20);
    put(&b, &told);
    uint32_t text = b.failed ? HB_STRING_DROPPED : hb_strings_intern(b.data, b.size);
    hb_buf_free(&b);
    if (text == HB_STRING_DROPPED) return hb_fail(HB_ERROR_LIMIT, "clock: no room for its text");
    atomic_store(&told_text, text);
    hb_clock_told_record();
    return HB_OK;
}
