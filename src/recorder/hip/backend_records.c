/* SPDX-License-Identifier: MIT
 *
 * HIP up to 5.2 reports device work by two callbacks: one on the launching thread when the work is
 * made, with a number for it, the other with that number and times when it is done.
 *
 * Devices take times only when told to. The runtime's own way to tell them, a callback for some
 * function's calls, is not taken: streams that are made while there is one never call back
 * (hipStreamAddCallback() and all that waits for it hang). Nor are calls reported by callbacks,
 * then: they are interposed. A setting of the runtime has the times taken without harm, but it is
 * read once, when the runtime starts.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "hip/backend.h"
#include "hip/diagnostics.h"
#include "hip/hook_holder.h"
#include "hip/hook_records.h"
#include "hip/hook_versions.h"
#include "hip/interposed_calls.h"

#define REGISTERS     "hipInitActivityCallback"
#define TIMES_SETTING "HIP_FORCE_QUEUE_PROFILING"

static const hb_hip *runtime;
static struct {
    void (*init)(void *id_callback, void *op_callback, void *arg);
    bool (*enable)(uint32_t op, bool on);
} hooks;

/* ---- times ---- */

static bool times_set; /* by us, in time */

/* In the environment that the process began with. */
static bool times_set_at_start(void)
{
    hb_buf text;
    bool set = false;
    char part[4096];
    ssize_t n;
    int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    hb_buf_init(&text, 1 << 20);
    hb_buf_append(&text, "", 1);
    while ((n = read(fd, part, sizeof part)) > 0)
        hb_buf_append(&text, part, (size_t)n);
    close(fd);
    static const char setting[] = "\0" TIMES_SETTING "=1";
    if (!text.failed) set = memmem(text.data, text.size, setting, sizeof setting) != NULL;
    hb_buf_free(&text);
    return set;
}

/* HIP starts HSA when it starts. */
static bool runtime_has_started(void)
{
    uint16_t version;
    int (*ask)(int what, void *value);
    void *hsa = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!hsa) return false;
    void *address = dlsym(hsa, "hsa_system_get_info");
    memcpy(&ask, &address, sizeof ask);
    bool started = ask && ask(0, &version) == 0;
    dlclose(hsa);
    return started;
}

/* Others could read the environment while it is changed. */
static bool is_only_thread(void)
{
    int threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return false;
    for (struct dirent *d; (d = readdir(tasks));)
        threads += d->d_name[0] != '.';
    closedir(tasks);
    return threads == 1;
}

static bool has_times(hb_buf *why)
{
    if (times_set || times_set_at_start()) return true;
    hb_buf_str(why,
               "the HIP runtime was already running, or other threads were, when the profiler "
               "was made, and without " TIMES_SETTING "=1 in the environment it takes no times");
    return false;
}

/* ---- work ---- */

/* Kernels launched through addresses that the program had before there was a profiler: the last
 * record ids without a call, by their lower bits, and how many of them were kernels. */
enum { ORPHANS = 256 };
static _Atomic uint64_t orphans[ORPHANS];
static _Atomic uint32_t unseen;

static void on_work_made(uint64_t record_id)
{
    if (hb_calls_innermost())
        hb_call_made_work(record_id + 1);
    else
        atomic_store_explicit(&orphans[record_id % ORPHANS], record_id + 1, memory_order_relaxed);
}

static void count_if_orphan(uint64_t record_id)
{
    if (atomic_load_explicit(&orphans[record_id % ORPHANS], memory_order_relaxed) == record_id + 1)
        atomic_fetch_add(&unseen, 1);
}

static void note_unseen(void)
{
    uint32_t n = atomic_exchange(&unseen, 0);
    if (n)
        hb_diagnostics_add(
            true,
            "%u kernel%s launched by calls that are not seen, as of functions whose addresses "
            "the program had before the profiler was made",
            n, n == 1 ? " was" : "s were");
}

static void on_work_done(uint32_t op, void *record, void *arg)
{
    const hb_hook_activity *a = record;
    (void)arg;
    if (!hb_hook_activity_is_sound(a, op)) return;
    hb_record_work work = hb_hook_work(a, a->id + 1);
    hb_work_report(&work);
    if (work.kind == HB_WORK_KERNEL) count_if_orphan(a->id);
    hb_work_arrived(true);
}

/* ---- the back-end ---- */

static void prepare(const hb_hip *hip)
{
    enum { LAST_RELEASE = 502 };
    if (hip->release == 0 || hip->release > LAST_RELEASE || times_set) return;
    if (!runtime_has_started() && is_only_thread()) times_set = setenv(TIMES_SETTING, "1", 1) == 0;
}

static const void *our_callback(void)
{
    return (const void *)(uintptr_t)on_work_made;
}

static bool probe(const hb_hip *hip, hb_buf *why)
{
    void *hook;
    hb_hook_version version;
    if (!hb_hook_version_of(hip, &version, why)) return false;
    hb_hip_symbol(hip, REGISTERS, &hook);
    if (version.by_record && hook)
        return !hb_hook_is_taken(hip, REGISTERS, our_callback(), why) &&
               hb_interpose_possible(hip, why) && has_times(why);
    hb_buf_printf(why, "HIP %d.%d reports its work in another way", hb_hip_release(hip) / 100,
                  hb_hip_release(hip) % 100);
    return false;
}

static bool attach(const hb_hip *hip, hb_buf *why)
{
    static const hb_around_call nothing;
    runtime = hip;
    hb_hip_symbol(hip, REGISTERS, &hooks.init);
    hb_hip_symbol(hip, "hipEnableActivityCallback", &hooks.enable);
    if (!hooks.init || !hooks.enable) {
        hb_buf_printf(why, "%s lacks one of the hooks", hip->soname);
        return false;
    }
    if (!hb_interpose_attach(hip, &nothing, why)) return false;
    hooks.init((void *)on_work_made, (void *)on_work_done, NULL);
    return true;
}

static void enable(bool on)
{
    if (on) hb_hook_activities_start();
    for (uint32_t op = HB_HOOK_DISPATCH; op <= HB_HOOK_BARRIER; op++)
        hooks.enable(op, on);
    hb_interpose_enable(on);
    if (on) return;
    note_unseen();
    hb_hook_activities_note(runtime);
}

const hb_device_backend hb_hooks_by_record = {
    .name = "activity-hooks",
    .summary =
        "HIP calls by interposition, device work by the runtime's hooks up to 5.2 (run with 5.2.3)",
    .prepare = prepare,
    .probe = probe,
    .attach = attach,
    .enable = enable,
    .look = hb_interpose_look,
};
