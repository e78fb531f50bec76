/* SPDX-License-Identifier: MIT */
#include "device/device.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "device/backend.h"
#include "device/calls.h"
#include "device/kernels.h"
#include "record/strings.h"

/* In the order in which they are tried. */
static const hb_device_backend *const backends[] = {
    &hb_hooks_by_tracer,
    &hb_hooks_by_function,
};

static struct {
    pthread_mutex_t lock;
    hb_hip hip;
    bool found;                       /* `hip` is a runtime of this process */
    const hb_device_backend *backend; /* attached, or NULL */
    char refusals[1024];              /* why each back-end before it, or all, can't */
    unsigned long long libraries;     /* loaded so far, when it was last looked */
    /* the present session */
    bool recording, asked_for;
    hb_call_counts at_start;
    hb_buf notes; /* a JSON array's entries */
    bool gone;    /* the process is exiting, the runtime may be torn down */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what is said ---- */

/* In the trace's metadata; with `loud` also on stderr, once in the process. */
static HB_PRINTF(2, 3) void note(bool loud, const char *format, ...)
{
    static char said[2048];
    char text[1280];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hb_buf_str(&state.notes, state.notes.size ? ", " : "");
    hb_buf_json_string(&state.notes, text, strlen(text));
    size_t used = strlen(said), size = strlen(text);
    if (!loud || strstr(said, text) || used + size + 2 > sizeof said) return;
    memcpy(said + used, text, size);
    said[used + size] = '\n';
    hb_warn("%s", text);
}

static void put_metadata(const char *key, const char *json)
{
    hb_record_metadata_entry(hb_strings_intern(key, strlen(key)),
                             hb_strings_intern(json, strlen(json)));
}

static void put_text(const char *key, const char *text)
{
    hb_buf json;
    hb_buf_init(&json, 1 << 16);
    hb_buf_json_string(&json, text, strlen(text));
    put_metadata(key, hb_buf_text(&json));
    hb_buf_free(&json);
}

static void put_number(const char *key, int64_t value)
{
    char json[24];
    if (value == 0) return;
    snprintf(json, sizeof json, "%lld", (long long)value);
    put_metadata(key, json);
}

/* ---- the back-end ---- */

static void choose(const hb_hip *hip, const hb_device_backend **chosen, hb_buf *refusals)
{
    *chosen = NULL;
    for (size_t i = 0; i < HB_ARRAY_LEN(backends) && !*chosen; i++) {
        hb_buf why;
        hb_buf_init(&why, 1024);
        if (backends[i]->probe(hip, &why))
            *chosen = backends[i];
        else
            hb_buf_printf(refusals, "%s%s: %s", refusals->size ? "; " : "", backends[i]->name,
                          hb_buf_text(&why));
        hb_buf_free(&why);
    }
}

static void at_exit(void);

static void attach(void)
{
    const hb_device_backend *backend;
    hb_buf refusals;
    hb_buf_init(&refusals, sizeof state.refusals - 1);
    choose(&state.hip, &backend, &refusals);
    if (backend && backend->attach(&state.hip, &refusals)) {
        state.backend = backend;
        atexit(at_exit); /* after the runtime's own, so it runs before them */
    }
    snprintf(state.refusals, sizeof state.refusals, "%s", hb_buf_text(&refusals));
    hb_buf_free(&refusals);
}

static int count_libraries(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_adds;
    return 1;
}

static void look(void)
{
    unsigned long long libraries = 0;
    if (state.found) return;
    dl_iterate_phdr(count_libraries, &libraries);
    if (libraries == state.libraries) return;
    state.libraries = libraries;
    state.found = hb_hip_find(&state.hip);
    if (state.found) attach();
    if (state.backend && state.recording) state.backend->enable(true);
}

void hb_device_start(bool asked_for)
{
    pthread_mutex_lock(&state.lock);
    state.recording = true;
    state.asked_for = asked_for;
    hb_buf_free(&state.notes);
    hb_buf_init(&state.notes, 1 << 16);
    state.at_start = hb_calls_count();
    hb_kernels_outdate();
    bool before = state.found;
    look();
    if (before && state.backend && !state.gone) state.backend->enable(true);
    pthread_mutex_unlock(&state.lock);
}

void hb_device_look_again(void)
{
    pthread_mutex_lock(&state.lock);
    if (state.recording) look();
    pthread_mutex_unlock(&state.lock);
}

/* ---- the end of a session ---- */

static void synchronize(uint64_t devices)
{
    int present = 0;
    if (!state.hip.device_synchronize || !state.hip.set_device) return;
    bool was = hb_calls_enter_own();
    if (state.hip.get_device) state.hip.get_device(&present);
    for (int id = 0; id < HB_HIP_MAX_DEVICES; id++) {
        if (!(devices >> id & 1)) continue;
        if (state.hip.set_device(id) == 0) state.hip.device_synchronize();
    }
    state.hip.set_device(present);
    hb_calls_leave_own(was);
}

static uint64_t missing(const hb_call_counts *now)
{
    uint64_t made = now->made - state.at_start.made;
    uint64_t arrived = now->arrived - state.at_start.arrived;
    return made > arrived ? made - arrived : 0;
}

/* A copy that the host does itself is never reported. */
static uint64_t awaited(const hb_call_counts *now)
{
    uint64_t hoped = now->hoped - state.at_start.hoped;
    uint64_t came = now->came - state.at_start.came;
    return missing(now) + (hoped > came ? hoped - came : 0);
}

/* The runtime may report work a moment after the wait for it has returned; of a graph's work nobody
 * knows how much there is. */
static hb_call_counts await_reports(void)
{
    hb_call_counts now = hb_calls_count();
    int patience_ms = now.replays != state.at_start.replays ? 10 : 0;
    uint64_t last = now.arrived + now.came;
    for (int idle_ms = 0; idle_ms < (awaited(&now) ? 50 : patience_ms); idle_ms++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        now = hb_calls_count();
        if (now.arrived + now.came != last) idle_ms = 0;
        last = now.arrived + now.came;
    }
    return now;
}

static const char *why_no_device(void)
{
    int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return "the driver is there, but shows none to this process (see HIP_VISIBLE_DEVICES, "
               "ROCR_VISIBLE_DEVICES)";
    }
    return errno == EACCES ? "no permission to open /dev/kfd; the user must be in its group, "
                             "usually \"render\""
                           : "there is no /dev/kfd, so no AMD GPU driver";
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
    note(state.asked_for, "HIP has no device (%s): %s", hb_hip_error_name(&state.hip, error),
         why_no_device());
    return 0;
}

static void put_device(int id, const hb_hip_device *d)
{
    uint32_t name = hb_strings_intern(d->name, strlen(d->name));
    uint32_t arch = hb_strings_intern(d->arch, strlen(d->arch));
    hb_thread *t = hb_record_enter();
    if (!t) return;
    hb_record_device *r = (hb_record_device *)hb_record_reserve(t, sizeof *r);
    if (r) {
        *r = (hb_record_device){
            .total_global_mem = d->total_global_mem,
            .shared_mem_per_block = (uint64_t)HB_MAX(d->shared_mem_per_block, 0),
            .shared_mem_per_cu = (uint64_t)HB_MAX(d->shared_mem_per_cu, 0),
            .arch = arch,
            .id = id,
            .compute_major = d->compute_major,
            .compute_minor = d->compute_minor,
            .max_threads_per_block = d->max_threads_per_block,
            .max_threads_per_cu = d->max_threads_per_cu,
            .regs_per_block = d->regs_per_block,
            .warp_size = d->warp_size,
            .num_cus = d->num_cus,
        };
        hb_record_head(&r->head, HB_RECORD_DEVICE, 0, name, sizeof *r);
        r->head.start = hb_ticks();
        hb_record_commit(t, &r->head);
    }
    hb_thread_leave(t);
}

static void put_devices(void)
{
    hb_hip_device device;
    int count = count_devices();
    for (int id = 0; id < count; id++) {
        bool was = hb_calls_enter_own();
        bool known = hb_hip_device_get(&state.hip, id, &device);
        hb_calls_leave_own(was);
        if (known) put_device(id, &device);
    }
}

static void put_environment(void)
{
    static const char *const names[] = {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);
        if (value) put_text(names[i], value);
    }
}

static void finish_attached(void)
{
    hb_call_counts now = hb_calls_count();
    if (now.capturing)
        note(true, "the devices were not waited for, since a stream was being captured into a "
                   "graph: work that ran at the end may be missing");
    else
        synchronize(atomic_exchange(&hb_calls_devices, 0));
    now = await_reports();
    state.backend->enable(false);
    if (missing(&now))
        note(true, "%llu of %llu pieces of device work were not reported by the HIP runtime",
             (unsigned long long)missing(&now),
             (unsigned long long)(now.made - state.at_start.made));
    uint64_t replays = now.replays - state.at_start.replays;
    if (replays > 1 && state.backend->loses_replays)
        note(true,
             "HIP %d.%d reports the work of a graph for its first run only; graphs were run "
             "%llu times",
             hb_hip_release(&state.hip) / 100, hb_hip_release(&state.hip) % 100,
             (unsigned long long)replays);
    bool used = now.seen != state.at_start.seen;
    if (!used) note(state.asked_for, "no HIP call was made while this was recorded");
    if (used || state.asked_for) put_devices();
}

static void finish(void)
{
    if (state.backend && !state.gone) finish_attached();
    if (!state.found && state.asked_for)
        note(true, "no HIP runtime (libamdhip64) is loaded in this process: there is no HIP in "
                   "this trace");
    if (state.found && !state.backend) note(true, "HIP is not captured: %s", state.refusals);
    if (!state.found) return;
    put_number(HB_METADATA_HIP_RUNTIME, state.hip.version);
    put_number(HB_METADATA_HIP_DRIVER, state.hip.driver_version);
    if (state.backend) put_text("hipboard_hip_backend", state.backend->name);
    if (state.backend && state.refusals[0]) put_text("hipboard_hip_refused", state.refusals);
    put_environment();
}

static void put_notes(void)
{
    hb_buf json;
    if (state.notes.size == 0) return;
    hb_buf_init(&json, 1 << 16);
    hb_buf_printf(&json, "[%s]", hb_buf_text(&state.notes));
    put_metadata("hipboard_hip_notes", hb_buf_text(&json));
    hb_buf_free(&json);
}

/* Under lock. */
static void stop(void)
{
    if (!state.recording) return;
    state.recording = false;
    finish();
    put_notes();
}

void hb_device_stop(void)
{
    pthread_mutex_lock(&state.lock);
    stop();
    pthread_mutex_unlock(&state.lock);
}

/* A profiler that is still running will stop when the runtime is gone. */
static void at_exit(void)
{
    pthread_mutex_lock(&state.lock);
    stop();
    state.gone = true;
    pthread_mutex_unlock(&state.lock);
}
