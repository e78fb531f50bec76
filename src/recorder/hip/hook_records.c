/* SPDX-License-Identifier: MIT
 *
 * Records come on any thread; all of this is counters and hints, each for itself, hence relaxed.
 */
#include "hip/hook_records.h"

#include <stdatomic.h>
#include <time.h>

#include "hip/diagnostics.h"

#define SECOND 1000000000ull

/* Of the session. */
static _Atomic uint32_t strange, repeated, timeless;
static _Atomic uint64_t earliest; /* that work of this session can have begun */
static _Atomic uint64_t latest;   /* a time that has been */

static uint64_t boottime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void count(_Atomic uint32_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* The clocks of host and device differ a little. */
static bool has_been(uint64_t time)
{
    if (time <= atomic_load_explicit(&latest, memory_order_relaxed)) return true;
    uint64_t now = boottime();
    atomic_store_explicit(&latest, now, memory_order_relaxed);
    return time <= now + SECOND;
}

/* A record that is laid out in another way has other things where times should be. */
static bool makes_sense(const hb_hook_activity *a, uint32_t op)
{
    enum { DOMAIN_OPS = 2 };
    return a->domain == DOMAIN_OPS && a->op == op && op <= HB_HOOK_BARRIER &&
           a->begin_ns >= atomic_load_explicit(&earliest, memory_order_relaxed) &&
           has_been(a->begin_ns) && has_been(a->end_ns);
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
    return (a ^ b) * 0x9e3779b97f4a7c15u;
}

/* What takes time is not the same twice: not within one call, and not at one moment. */
static bool is_told_again(const hb_hook_activity *a)
{
    enum { REMEMBERED = 256 };
    static _Atomic uint64_t told[REMEMBERED];
    if (a->end_ns <= a->begin_ns || a->op == HB_HOOK_BARRIER) return false;
    uint64_t sign = mixed(mixed(mixed(mixed(a->id, a->begin_ns), a->end_ns), a->kind), a->bytes);
    sign = mixed(sign ^ (uint64_t)(uint32_t)a->device << 32, a->queue) | 1;
    _Atomic uint64_t *place = &told[sign >> 56];
    return atomic_exchange_explicit(place, sign, memory_order_relaxed) == sign;
}

bool hb_hook_activity_is_sound(const hb_hook_activity *a, uint32_t op)
{
    bool sense = makes_sense(a, op), again = sense && is_told_again(a);
    if (!sense) count(&strange);
    if (again) count(&repeated);
    return sense && !again;
}

/* enum hb_work_kind of the runtime's kind of a command; 0: a marker. */
static uint32_t work_kind(const hb_hook_activity *a)
{
    if (a->op == HB_HOOK_BARRIER) return 0; /* also a graph's, whatever its kind */
    switch (a->kind) {
    case HB_HOOK_KERNEL:
    case HB_HOOK_GRAPH_KERNELS: return HB_WORK_KERNEL;
    case 0x11f3:
    case 0x1201: return HB_WORK_DTOH;
    case 0x11f4:
    case 0x1202: return HB_WORK_HTOD;
    case 0x11f5:
    case 0x1203: return HB_WORK_DTOD;
    case 0x1207: return HB_WORK_FILL;
    case 0x11fe: return 0; /* a marker, which 5.2 reports among the copies */
    default: return a->op == HB_HOOK_COPY && a->bytes ? HB_WORK_DTOD : 0; /* several at a time */
    }
}

/* 7.2 takes the end of what ran before for some copies' end. */
static uint64_t end_of(const hb_hook_activity *a)
{
    bool impossible =
        a->end_ns < a->begin_ns || (a->op == HB_HOOK_COPY && a->end_ns == a->begin_ns);
    if (impossible) count(&timeless);
    return HB_MAX(a->end_ns, a->begin_ns);
}

hb_record_work hb_hook_work(const hb_hook_activity *a, uint64_t work)
{
    uint32_t kind = work_kind(a);
    return (hb_record_work){
        .head.name = HB_STRING_UNNAMED,
        .work = work,
        .begin_ns = (int64_t)a->begin_ns,
        .end_ns = (int64_t)(kind ? end_of(a) : a->end_ns),
        .bytes = a->op == HB_HOOK_COPY ? a->bytes : 0,
        .queue = a->queue,
        .device = a->device,
        .kind = kind,
    };
}

/* ---- sessions ---- */

void hb_hook_activities_start(void)
{
    enum { LONGEST_WORK = 3600 }; /* seconds that what ends now may have begun before */
    uint64_t now = boottime();
    atomic_store(&earliest, now > LONGEST_WORK * SECOND ? now - LONGEST_WORK * SECOND : 1);
    atomic_store(&strange, 0);
    atomic_store(&repeated, 0);
    atomic_store(&timeless, 0);
}

void hb_hook_activities_note(const hb_hip *hip)
{
    int major = hb_hip_release(hip) / 100, minor = hb_hip_release(hip) % 100;
    uint32_t n = atomic_exchange(&strange, 0);
    if (n)
        hb_diagnostics_add(
            true,
            "%u record%s of device work from HIP %d.%d made no sense and %s left out: set "
            "HIPBOARD_HIP_BACKEND=interposition to do without them",
            n, hb_plural(n), major, minor, n == 1 ? "was" : "were");
    n = atomic_exchange(&repeated, 0);
    if (n)
        hb_diagnostics_add(
            true, "%u record%s of device work came a second time from HIP %d.%d: shown once", n,
            hb_plural(n), major, minor);
    n = atomic_exchange(&timeless, 0);
    if (n)
        hb_diagnostics_add(
            false,
            "HIP %d.%d told of %u piece%s of device work that ended before %s began: shown "
            "without duration",
            major, minor, n, hb_plural(n), n == 1 ? "it" : "they");
}
