/* SPDX-License-Identifier: MIT */
#include "hip/reports_wait.h"

#include <stdatomic.h>
#include <time.h>

#include "base/base.h"
#include "hip/synchronize.h"

/* What idle devices had done was once waited for, and not reported. A hint: of no order. */
static _Atomic bool in_vain;

/* A copy that the host does itself is never reported, and of the work of a graph that was made
 * before the session nobody knows how much there is. */
bool hb_reports_awaited(const hb_late_wants *wants)
{
    return wants->missing || wants->expected || wants->replays;
}

/* How long, in ms, to wait without any progress when the devices have nothing more to do. What is
 * missing will be reported, but the thread of the runtime that does so may get its turn seconds
 * late on a busy machine. Where all of that was waited for in vain, it is not again. */
static int patience_for(const hb_late_wants *wants)
{
    enum { MISSING_MS = 5000, MISSING_AFTER_VAIN_MS = 300, EXPECTED_MS = 50, REPLAYS_MS = 10 };
    if (wants->missing && !atomic_load(&in_vain))
        return HB_MIN(MISSING_MS, HB_MAX(hb_synchronize_setting_ms(), MISSING_AFTER_VAIN_MS));
    if (wants->missing) return MISSING_AFTER_VAIN_MS;
    return wants->expected ? EXPECTED_MS : wants->replays ? REPLAYS_MS : 0;
}

static void tell_waiting(uint64_t missing, int patience)
{
    static _Atomic bool told;
    if (!atomic_exchange(&told, true))
        hb_warn("waiting for GPUs: %llu piece%s of their work %s not reported yet; at most %d s "
                "after each report (HIPBOARD_GPU_PATIENCE; said once)",
                (unsigned long long)missing, hb_plural(missing), missing == 1 ? "is" : "are",
                patience / 1000);
}

bool hb_reports_wait(const hb_late_wants *wants, int *idle_ms)
{
    enum { TELL_AFTER_MS = 2000 };
    int busy = hb_reports_awaited(wants) ? hb_synchronize_patience_ms() : 0;
    if (*idle_ms >= (busy ? busy : patience_for(wants))) {
        if (busy)
            hb_synchronize_give_up();
        else if (wants->missing)
            atomic_store(&in_vain, true);
        return false;
    }
    if (busy && *idle_ms == TELL_AFTER_MS) tell_waiting(wants->missing, busy);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    ++*idle_ms;
    /* The other time begins when the devices have nothing to do. */
    if (busy && hb_synchronize_patience_ms() == 0) *idle_ms = 0;
    return true;
}
