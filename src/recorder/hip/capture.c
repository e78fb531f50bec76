/* SPDX-License-Identifier: MIT */
#include "hip/capture.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/guard.h"
#include "base/lock.h"
#include "base/process.h"
#include "hip/backend_select.h"
#include "hip/busy_streams.h"
#include "hip/calls.h"
#include "hip/code_objects.h"
#include "hip/device_record.h"
#include "hip/diagnostics.h"
#include "hip/environment.h"
#include "hip/graphs.h"
#include "hip/interposed_calls.h"
#include "hip/kernels.h"
#include "hip/known_devices.h"
#include "hip/late_reports.h"
#include "hip/launches.h"
#include "hip/mempools.h"
#include "hip/reports_wait.h"
#include "hip/synchronize.h"
#include "hip/timing_events.h"
#include "interpose/dlsym_hook.h"
#include "interpose/got_patch.h"
#include "record/strings.h"

static struct {
    hb_bare_lock lock; /* not held by who makes a call, but at the first one under the SDK */
    bool forked;       /* from a process with hipboard in it */
    bool finding;      /* a runtime: what follows is half changed */
    hb_hip hip;
    bool found;                       /* `hip` is a runtime of this process */
    const hb_device_backend *backend; /* attached, or NULL */
    char refusals[1024];              /* why each back-end before it, or all, can't */
    bool prepared;                    /* back-ends, for a runtime of this process */
    bool watching;                    /* look-ups by dlsym(), since there was no runtime yet */
    hb_module_counts modules;         /* when it was last looked */
    /* the present session */
    bool recording, asked_for;
    hb_call_counts at_start;
    uint64_t lost_at_start;
    uint64_t first_work; /* no id of its work is lower, and those of earlier sessions are */
    _Atomic bool gone;   /* the process is exiting, the runtime may be torn down */
} state = {.lock = HB_BARE_LOCK_INIT(DEVICE)};

static hb_bare_lock settling = HB_BARE_LOCK_INIT(HIP_SETTLE); /* taken before state.lock */

/* ---- the back-end ---- */

static uint64_t lost_reports(void)
{
    return state.backend && state.backend->lost ? state.backend->lost() : 0;
}

static void at_exit(void);

static void prepare(const hb_hip *hip)
{
    if (!state.prepared) hb_backends_prepare(hip);
    state.prepared = true;
}

/* A forked child has inherited a runtime whose threads are its parent's, and one that has started
 * may wait for them for ever. It is not called before the child itself does: then it is the
 * program's own doing, and may be a runtime that starts in the child only. */
static bool may_ask(void)
{
    return !state.forked || hb_calls_heard();
}

static void ask_versions(void)
{
    if (!may_ask()) return;
    bool was = hb_calls_enter_own();
    hb_hip_ask_versions(&state.hip);
    hb_calls_leave_own(was);
}

static void attach(void)
{
    hb_buf refusals;
    hb_buf_init(&refusals, sizeof state.refusals - 1);
    prepare(&state.hip);
    if (!state.hip.release) ask_versions();
    state.backend = hb_backend_attach(&state.hip, &refusals);
    if (state.backend) atexit(at_exit); /* after the runtime's own, so it runs before them */
    snprintf(state.refusals, sizeof state.refusals, "%s", hb_buf_text(&refusals));
    hb_buf_free(&refusals);
}

/* Whether libraries were loaded since the last time. Of one that was unloaded the runtime tells
 * nobody: where its kernels were, others may be by now. */
static bool has_news(void)
{
    hb_module_counts before = state.modules;
    state.modules = hb_count_modules();
    if (state.modules.unloaded != before.unloaded) hb_kernels_outdate();
    return state.modules.loaded != before.loaded;
}

/* What another thread is just loading is news the next time, too. */
static void look_again_unless(bool whole)
{
    if (!whole) state.modules.loaded = 0;
}

static void look_at_callers(void)
{
    if (state.backend && state.backend->look) look_again_unless(state.backend->look());
}

/* The runtime may come later, by dlopen(). */
static void find(void)
{
    state.finding = true;
    state.found = hb_hip_find(&state.hip);
    if (state.found) {
        attach();
        look_at_callers();
    } else {
        look_again_unless(hb_lookups_interpose());
    }
    state.finding = false;
    if (!state.found) return;
    if (!state.backend || !state.backend->look) hb_lookups_watch(HB_LOOKUPS_HIP, NULL);
    if (state.backend && state.recording) state.backend->enable(true);
}

static void look(void)
{
    bool news = has_news();
    if (!state.found && (news || state.prepared))
        find();
    else if (news)
        look_at_callers();
}

/* Under lock, outside of sessions. A runtime that is loaded by dlopen() is attached to at once: its
 * functions' addresses, which the program is about to ask for, would be beyond reach later. */
static void look_ahead(void)
{
    hb_hip hip;
    if (state.found || state.prepared || !has_news()) return;
    if (!hb_hip_find(&hip))
        look_again_unless(hb_lookups_interpose());
    else if (state.watching)
        find();
    else
        prepare(&hip);
}

/* Whoever looks a function up may hold locks that another thread, in look(), waits for. */
static void look_if_free(void)
{
    if (!hb_bare_lock_try(&state.lock)) return;
    int error = errno; /* the program's */
    if (state.recording && !state.gone)
        look();
    else if (!state.gone)
        look_ahead();
    errno = error;
    hb_bare_lock_give(&state.lock);
}

/* ---- forked children ---- */

/* Which back-end there is stays, and what it has put into the runtime, which is in the child's
 * memory, too. */
static void after_fork_in_child(void)
{
    bool whole = hb_bare_lock_after_fork(&state.lock) || !state.finding;
    state.forked = true;
    state.recording = state.finding = false;
    if (!whole || (state.backend && state.backend->ends_at_fork)) {
        state.found = false;
        state.backend = NULL;
    }
    hb_calls_after_fork();
    hb_kernels_after_fork();
    hb_pools_after_fork();
    hb_code_objects_after_fork();
    hb_interpose_after_fork();
    hb_timing_events_after_fork();
    hb_diagnostics_after_fork();
    hb_late_after_fork();
    hb_synchronize_after_fork();
    hb_busy_streams_after_fork();
    hb_graphs_after_fork();
    hb_bare_lock_after_fork(&settling);
}

static void register_once(void)
{
    hb_process_at_fork(HB_FORK_DEVICE, (hb_fork_room){.in_child = after_fork_in_child});
}

void hb_device_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
}

void hb_device_prepare(void)
{
    hb_device_init();
    hb_synchronize_prepare();
    hb_bare_lock_take(&state.lock);
    if (!state.found) hb_lookups_watch(HB_LOOKUPS_HIP, look_if_free);
    look_ahead();
    state.watching = !state.found && !state.prepared;
    hb_bare_lock_give(&state.lock);
}

void hb_device_start(bool asked_for, uint32_t kernel_sampling)
{
    hb_bare_lock_take(&state.lock);
    atomic_store(&hb_calls_sampling, kernel_sampling);
    state.recording = true;
    state.asked_for = asked_for;
    hb_diagnostics_clear();
    state.at_start = hb_calls_count();
    state.lost_at_start = lost_reports();
    hb_launches_go_quickly(true); /* these are counted and reported from now on */
    hb_kernels_outdate();
    hb_pools_forget();
    hb_graphs_begin();
    if (!hb_late_reports_pending()) hb_calls_forget_streams();
    bool before = state.found;
    look();
    if (state.backend && !state.gone && may_ask())
        hb_code_objects_look(); /* rather now than at a launch */
    if (before && state.backend && !state.gone) state.backend->enable(true);
    hb_bare_lock_give(&state.lock);
}

void hb_device_look_again(void)
{
    hb_bare_lock_take(&state.lock);
    if (state.recording)
        look();
    else
        look_ahead();
    hb_bare_lock_give(&state.lock);
}

/* ---- the end of a session ---- */

/* What was lost is not to be waited for. */
static uint64_t missing(const hb_call_counts *now)
{
    int64_t made = (int64_t)(now->made - state.at_start.made);
    int64_t arrived = (int64_t)(now->arrived - state.at_start.arrived);
    int64_t lost = (int64_t)(lost_reports() - state.lost_at_start);
    return made > arrived + lost ? (uint64_t)(made - arrived - lost) : 0;
}

static hb_late_wants wants_of(const hb_call_counts *now)
{
    int64_t expected = (int64_t)(now->expected - state.at_start.expected);
    int64_t completed = (int64_t)(now->completed - state.at_start.completed);
    return (hb_late_wants){.missing = missing(now),
                           .expected = expected > completed ? (uint64_t)(expected - completed) : 0,
                           .replays = now->replays != state.at_start.replays};
}

static hb_call_counts count_reports(void)
{
    if (state.backend->flush) state.backend->flush();
    return hb_calls_count();
}

/* Whether as many reports have come as there was work then. */
static bool have_come(hb_call_counts now, const hb_call_counts *then)
{
    now.made = then->made;
    now.expected = then->expected;
    hb_late_wants wants = wants_of(&now);
    return wants.missing == 0 && wants.expected == 0;
}

/* The runtime may report work a moment after the wait for it has returned; `most_ms` may pass
 * without any report. Other threads of the program may launch for ever: of what they launch
 * meanwhile, what comes soon is waited for. */
static hb_call_counts await_reports(int most_ms)
{
    enum { SOON_MS = 300 };
    hb_call_counts now = count_reports(), first = now;
    hb_late_wants wants = wants_of(&now);
    uint64_t last = now.arrived + now.completed;
    int later_ms = 0;
    for (int idle_ms = 0; later_ms < SOON_MS && idle_ms < most_ms;) {
        if (!hb_reports_wait(&wants, &idle_ms)) break;
        now = count_reports();
        if (have_come(now, &first)) later_ms++;
        wants = wants_of(&now);
        if (now.arrived + now.completed != last) idle_ms = 0;
        last = now.arrived + now.completed;
    }
    return now;
}

/* Asks for the devices: that starts the runtime, so only when it runs already or HIP was asked for.
 */
static int count_devices(void)
{
    int count = 0;
    if (!state.hip.get_device_count) return 0;
    bool was = hb_calls_enter_own();
    int error = state.hip.get_device_count(&count);
    hb_calls_leave_own(was);
    if (error == 0 && count > 0) return HB_MIN(count, HB_HIP_MAX_DEVICES);
    (void)hb_known_devices(&count);
    if (count) {
        hb_diagnostics_add(
            true,
            "a device failed, and HIP answers nothing but %s since then: what it did before is "
            "here, what it did when it failed may not be",
            hb_hip_error_name(&state.hip, error));
        return count;
    }
    hb_diagnostics_add(state.asked_for, "HIP has no device (%s): %s",
                       hb_hip_error_name(&state.hip, error), hb_why_no_device());
    return 0;
}

static void put_devices(void)
{
    hb_hip_device device;
    int num_known, count = count_devices();
    const hb_hip_device *known_ones = hb_known_devices(&num_known);
    for (int id = 0; id < count; id++) {
        bool was = hb_calls_enter_own();
        bool known = hb_hip_device_get(&state.hip, id, &device);
        if (!known && id < num_known) {
            device = known_ones[id];
            known = true;
        }
        int32_t node = state.backend->node_of ? state.backend->node_of(id) : -1;
        hb_calls_leave_own(was);
        if (known) hb_device_record_put(id, node, &device);
    }
}

static void put_environment(void)
{
    for (const char *const *name = hb_visibility_variables; *name; name++)
        if (secure_getenv(*name)) hb_put_text(*name, secure_getenv(*name));
}

/* ---- reports after the session's end ---- */

/* The program goes on; who reads the session waits. */
static bool leave_for_later(const hb_call_counts *now)
{
    hb_late_wants wants = wants_of(now);
    bool possible = state.backend->leave_off && state.backend->can_leave_off();
    if (!possible || now->capturing) return false;
    /* Whoever takes a higher id than the last one does so after this, and is not asked. */
    hb_launches_go_quickly(false);
    state.backend->leave_off();
    wants.first_work = state.first_work;
    wants.last_work = hb_calls_last_id();
    return hb_late_open(hb_recording_now.session, &wants);
}

/* Reports are heard until nobody awaits any. */
static void stop_reports(void)
{
    hb_bare_lock_take(&state.lock);
    if (!state.recording && !hb_late_reports_pending() && state.backend && !state.gone)
        state.backend->enable(false);
    hb_bare_lock_give(&state.lock);
}

/* Until all is there, or nothing has come for `most_ms`, or as long as is waited for reports. */
static hb_late_wants await_late(const hb_session *session, int most_ms)
{
    hb_late_wants wants = {0};
    uint64_t progress = 0, last = 0;
    for (int idle_ms = 0; hb_late_awaits(session, &wants, &progress);) {
        if (progress != last) idle_ms = 0;
        last = progress;
        if (idle_ms >= most_ms || !hb_reports_wait(&wants, &idle_ms)) break;
    }
    return wants;
}

/* The devices may also have work to do that nobody asked about, so they are waited for last. */
static void settle(const hb_session *session)
{
    enum { FIRST_MS = 200 };
    hb_late_wants wants = await_late(session, FIRST_MS);
    if (hb_reports_awaited(&wants) && !state.gone && hb_calls_count().capturing == 0) {
        hb_synchronize_begin(&state.hip);
        wants = await_late(session, INT_MAX);
        hb_synchronize_give_up();
    }
    hb_late_close(session);
    if (wants.missing)
        hb_warn("%llu piece%s of device work of a cycle %s not reported by the HIP runtime",
                (unsigned long long)wants.missing, hb_plural(wants.missing),
                wants.missing == 1 ? "was" : "were");
}

void hb_device_settle(const hb_session *session)
{
    hb_bare_lock_take(&settling);
    bool any = hb_late_reports_pending();
    if (any) settle(session);
    if (any) stop_reports();
    hb_bare_lock_give(&settling);
}

void hb_device_forget(const hb_session *session)
{
    bool any = hb_late_reports_pending();
    hb_late_forget(session);
    if (any) stop_reports();
}

/* What the program left to run and nobody asked about is not waited for. */
static bool is_all_reported(const hb_call_counts *now)
{
    hb_late_wants wants = wants_of(now);
    return !hb_reports_awaited(&wants);
}

static void finish_attached(void)
{
    enum { WHILE_BUSY_MS = 300 };
    hb_call_counts now = count_reports();
    bool later = !is_all_reported(&now) && leave_for_later(&now);
    bool wait = !later && !is_all_reported(&now);
    if (wait && now.capturing)
        hb_diagnostics_add(
            true, "the devices were not waited for, since a stream was being captured into a "
                  "graph: work that ran at the end may be missing");
    else if (wait)
        hb_synchronize_begin(&state.hip);
    if (!later) {
        now = await_reports(wait && now.capturing ? WHILE_BUSY_MS : INT_MAX);
        hb_synchronize_give_up();
        hb_synchronize_part(20);
    }
    hb_launches_go_quickly(false);
    if (!later && !hb_late_reports_pending()) state.backend->enable(false);
    if (!later && hb_late_reports_pending()) state.backend->leave_off();
    hb_diagnostics_sampling(atomic_load(&hb_calls_sampling),
                            state.backend->samples ? NULL : state.backend->name);
    uint64_t lost = lost_reports() - state.lost_at_start;
    if (lost)
        hb_diagnostics_add(true, "%llu record%s of device work %s lost by %s",
                           (unsigned long long)lost, hb_plural(lost), lost == 1 ? "was" : "were",
                           state.backend->name);
    if (!later && missing(&now))
        hb_diagnostics_add(
            true, "%llu of %llu pieces of device work were not reported by the HIP runtime",
            (unsigned long long)missing(&now),
            (unsigned long long)(now.made - state.at_start.made));
    bool used = now.seen != state.at_start.seen;
    if (!used) hb_diagnostics_add(state.asked_for, "no HIP call was made while this was recorded");
    if ((!used && !state.asked_for) || !may_ask()) return;
    put_devices();
    ask_versions();
}

static void finish(void)
{
    if (state.backend && !state.gone) finish_attached();
    if (!state.found && state.asked_for)
        hb_diagnostics_add(
            true, "no HIP runtime (libamdhip64) is loaded in this process: there is no HIP in "
                  "this trace");
    if (state.found && !state.backend)
        hb_diagnostics_add(true, "HIP is not captured: %s", state.refusals);
    if (state.backend && state.backend->last_resort && !*hb_backend_forced())
        hb_diagnostics_add(true, "HIP's device work is timed by events, for want of better: %s",
                           state.refusals);
    if (!state.found) return;
    hb_put_number(HB_METADATA_HIP_RUNTIME, state.hip.version);
    hb_put_number(HB_METADATA_HIP_DRIVER, state.hip.driver_version);
    if (state.backend) hb_put_text("hipboard_hip_backend", state.backend->name);
    if (state.backend && state.backend->version)
        hb_put_text("hipboard_hip_backend_version", state.backend->version());
    if (state.backend && state.refusals[0]) hb_put_text("hipboard_hip_refused", state.refusals);
    put_environment();
}

static bool is_attached(void)
{
    return state.recording && state.backend && !state.gone;
}

/* The reports that have come, and were to come, of all launches that were made. */
static bool count_now(hb_call_counts *now)
{
    hb_bare_lock_take(&state.lock);
    bool attached = is_attached();
    if (attached) *now = count_reports();
    hb_bare_lock_give(&state.lock);
    return attached;
}

/* Of a program that goes on launching, for what had been launched by now. */
static void await_finished(void)
{
    enum { MOST_MS = 200, IDLE_MS = 20 };
    hb_call_counts now = {0};
    if (!count_now(&now)) return;
    uint64_t wanted = now.made, last = now.arrived;
    for (int ms = 0, idle = 0; now.arrived < wanted && ms < MOST_MS && idle < IDLE_MS; ms++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (!count_now(&now)) return;
        idle = now.arrived == last ? idle + 1 : 0;
        last = now.arrived;
    }
}

static void tell_sampling(void)
{
    uint32_t each = atomic_load(&hb_calls_sampling);
    if (each > 1 && state.backend->samples) hb_put_number(HB_METADATA_KERNEL_SAMPLING, each);
}

void hb_device_tell(void)
{
    await_finished();
    hb_bare_lock_take(&state.lock);
    if (is_attached() && hb_calls_count().seen != state.at_start.seen && may_ask()) {
        put_devices();
        ask_versions();
        hb_put_number(HB_METADATA_HIP_RUNTIME, state.hip.version);
        hb_put_number(HB_METADATA_HIP_DRIVER, state.hip.driver_version);
        hb_put_text("hipboard_hip_backend", state.backend->name);
        tell_sampling();
        hb_diagnostics_put();
    }
    hb_bare_lock_give(&state.lock);
}

/* Under lock. */
static void stop(void)
{
    if (!state.recording) return;
    state.recording = false;
    finish();
    state.first_work = hb_calls_end_session();
    hb_diagnostics_put();
}

void hb_device_stop(void)
{
    hb_bare_lock_take(&state.lock);
    stop();
    hb_bare_lock_give(&state.lock);
}

static void stop_for_good(void *nothing)
{
    (void)nothing;
    hb_bare_lock_take(&state.lock);
    stop();
    hb_bare_lock_give(&state.lock);
    for (const hb_session *late; (late = hb_late_first());)
        hb_device_settle(late);
    hb_synchronize_part(2000);
    hb_bare_lock_take(&state.lock);
    state.gone = true;
    hb_bare_lock_give(&state.lock);
}

/* A profiler that is still running will stop when the runtime is gone. */
static void at_exit(void)
{
    hb_guard_exits(true); /* it comes before all that else happens then */
    if (!hb_guard_call(stop_for_good, NULL)) state.gone = true;
}
