/* SPDX-License-Identifier: MIT */
#include "record/alarm.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/files.h"
#include "base/lock.h"
#include "base/process.h"

enum call_state { NONE, BEING_WRITTEN, THERE };

struct hb_alarm {
    atomic_bool taken;
    pid_t pid; /* a forked child's rings are not for the parent */
    /* Held open for as long as the process lives. A pipe, since its end can be told from whatever
     * the program opens after it has closed all descriptors. */
    hb_kept_file reader, writer;
    /* Who finds NONE writes `call` and releases THERE; the listener acquires THERE, copies, and
     * releases NONE. */
    _Atomic uint32_t state;
    atomic_ullong others;
    hb_alarm_call call;
};

static hb_alarm alarms[8];
static hb_lock lock = HB_LOCK_INIT(ALARMS); /* taking, giving and watching */

_Atomic(hb_alarm *) hb_alarm_of_metric, hb_alarm_of_hip;
static _Atomic(hb_alarm *) alarm_of_signal;

/* Written before hb_alarm_of_metric is released, and not while one is set: see watch_metric. */
static hb_alarm_limit metric;
static atomic_bool metric_beyond; /* it rings when the limit is passed, not as long as it is */

static struct {
    int number;
    struct sigaction before; /* read by the handler */
} watched;

/* ---- taking and giving ---- */

/* The parent's alarms are not the child's; their pipes would wake the parent. */
static void after_fork_in_child(void)
{
    hb_lock_init(&lock, HB_LOCK_ALARMS);
    atomic_store(&hb_alarm_of_metric, NULL);
    atomic_store(&hb_alarm_of_hip, NULL);
    atomic_store(&alarm_of_signal, NULL);
    for (size_t i = 0; i < HB_ARRAY_LEN(alarms); i++) {
        if (!alarms[i].pid) continue;
        hb_kept_file_close(&alarms[i].reader);
        hb_kept_file_close(&alarms[i].writer);
        alarms[i].pid = 0;
        atomic_store(&alarms[i].state, NONE);
        atomic_store(&alarms[i].taken, false);
    }
}

static void watch_forks(void)
{
    hb_process_at_fork(HB_FORK_ALARMS, (hb_fork_room){.in_child = after_fork_in_child});
}

static bool open_pipe(hb_alarm *a)
{
    int ends[2];
    if (a->pid && hb_kept_file_is_there(&a->reader) && hb_kept_file_is_there(&a->writer))
        return true;
    hb_kept_file_close(&a->reader); /* one of them may be left */
    hb_kept_file_close(&a->writer);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    a->reader = hb_kept_file_of(ends[0]);
    a->writer = hb_kept_file_of(ends[1]);
    return true;
}

static hb_alarm *take(void)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(alarms); i++) {
        hb_alarm *a = &alarms[i];
        if (atomic_load(&a->taken)) continue;
        if (!open_pipe(a)) return NULL;
        a->pid = getpid();
        atomic_store(&a->others, 0);
        atomic_store(&a->state, NONE);
        atomic_store(&a->taken, true);
        return a;
    }
    return NULL;
}

hb_alarm *hb_alarm_take(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    hb_lock_take(&lock);
    hb_alarm *a = take();
    hb_lock_give(&lock);
    return a;
}

/* ---- ringing and hearing ---- */

void hb_alarm_wake(hb_alarm *alarm)
{
    int error = errno;
    /* Into a pipe that the program has closed one end of, SIGPIPE would be what comes. */
    if (hb_kept_file_is_there(&alarm->writer) && hb_kept_file_is_there(&alarm->reader)) {
        ssize_t n = write(alarm->writer.fd, "", 1); /* a full pipe wakes as well */
        (void)n;
    }
    errno = error;
}

static void ring(hb_alarm *alarm, const char *reason, const double *value)
{
    uint32_t none = NONE;
    if (!atomic_load(&alarm->taken) || alarm->pid != getpid()) return;
    if (atomic_compare_exchange_strong(&alarm->state, &none, BEING_WRITTEN)) {
        size_t n = strnlen(reason, HB_ALARM_REASON - 1);
        memcpy(alarm->call.reason, reason, n);
        alarm->call.reason[n] = '\0';
        alarm->call.has_value = value != NULL;
        alarm->call.value = value ? *value : 0;
        atomic_store_explicit(&alarm->state, THERE, memory_order_release);
    } else {
        atomic_fetch_add(&alarm->others, 1);
    }
    hb_alarm_wake(alarm);
}

void hb_alarm_ring(hb_alarm *alarm, const char *reason)
{
    ring(alarm, reason, NULL);
}

int hb_alarm_fd(const hb_alarm *alarm)
{
    return hb_kept_file_is_there(&alarm->reader) ? alarm->reader.fd : -1;
}

bool hb_alarm_heard(hb_alarm *alarm, hb_alarm_call *call)
{
    char bytes[64];
    int fd = hb_alarm_fd(alarm);
    while (fd >= 0 && read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        continue;
    if (atomic_load_explicit(&alarm->state, memory_order_acquire) != THERE) return false;
    *call = alarm->call;
    call->others = atomic_exchange(&alarm->others, 0);
    atomic_store_explicit(&alarm->state, NONE, memory_order_release);
    return true;
}

bool hb_alarm_heard_text(hb_alarm *alarm, char text[HB_ALARM_TEXT])
{
    hb_alarm_call call;
    if (!hb_alarm_heard(alarm, &call)) return false;
    int n = snprintf(text, HB_ALARM_TEXT, "%s", call.reason);
    if (call.has_value) n += snprintf(text + n, HB_ALARM_TEXT - (size_t)n, " = %.6g", call.value);
    if (call.others)
        snprintf(text + n, HB_ALARM_TEXT - (size_t)n, " (and %llu more)",
                 (unsigned long long)call.others);
    return true;
}

/* ---- what rings by itself ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool hb_alarm_limit_parse(const char *text, hb_alarm_limit *limit)
{
    char *end;
    size_t n = strcspn(text, "<>"), name = n;
    while (name && is_blank(text[name - 1]))
        name--;
    if (!text[n] || name == 0 || name >= sizeof limit->name) return false;
    *limit = (hb_alarm_limit){.above = text[n] == '>'};
    memcpy(limit->name, text, name);
    locale_t before = hb_enter_c_locale();
    limit->limit = strtod(text + n + 1, &end);
    hb_leave_c_locale(before);
    return end > text + n + 1 && *end == '\0' && isfinite(limit->limit);
}

void hb_alarm_watch_metric(hb_alarm *alarm, const hb_alarm_limit *limit)
{
    hb_lock_take(&lock);
    if (!atomic_load(&hb_alarm_of_metric)) { /* else another profiler's is being looked at */
        metric = *limit;
        atomic_store(&metric_beyond, false);
        atomic_store_explicit(&hb_alarm_of_metric, alarm, memory_order_release);
    }
    hb_lock_give(&lock);
}

/* Comparisons that raise no floating-point flags, of a program that may trap them. */
void hb_alarm_metric(const char *name, double value)
{
    hb_alarm *a = atomic_load_explicit(&hb_alarm_of_metric, memory_order_acquire);
    if (!a || !name || strcmp(name, metric.name) != 0) return;
    bool within =
        metric.above ? islessequal(value, metric.limit) : isgreaterequal(value, metric.limit);
    if (atomic_exchange(&metric_beyond, !within) || within) return;
    ring(a, metric.name, &value);
}

void hb_alarm_watch_hip(hb_alarm *alarm)
{
    atomic_store(&hb_alarm_of_hip, alarm);
}

void hb_alarm_hip_failed(const char *call, int error)
{
    enum { NOT_READY = 600 }; /* an answer, of queries */
    char text[HB_ALARM_REASON];
    hb_alarm *a = atomic_load(&hb_alarm_of_hip);
    if (!a || error == NOT_READY) return;
    snprintf(text, sizeof text, "%.100s failed with error %d", call, error);
    ring(a, text, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    static const char reason[] = "signal";
    hb_alarm *a = atomic_load(&alarm_of_signal);
    if (a) ring(a, reason, NULL);
    if (watched.before.sa_flags & SA_SIGINFO) {
        if (watched.before.sa_sigaction) watched.before.sa_sigaction(number, info, context);
    } else if (watched.before.sa_handler != SIG_DFL && watched.before.sa_handler != SIG_IGN) {
        watched.before.sa_handler(number);
    }
}

static hb_result install(hb_alarm *alarm, int number)
{
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    if (atomic_load(&alarm_of_signal))
        return hb_fail(HB_ERROR_BUSY, "another profiler of this process waits for signal %d",
                       watched.number);
    ours.sa_sigaction = on_signal;
    sigemptyset(&ours.sa_mask);
    if (sigaction(number, NULL, &watched.before) != 0 || sigaction(number, &ours, NULL) != 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "trigger_signal %d: it cannot be caught; SIGUSR2 is %d", number, SIGUSR2);
    watched.number = number;
    atomic_store(&alarm_of_signal, alarm);
    return HB_OK;
}

hb_result hb_alarm_watch_signal(hb_alarm *alarm, int number)
{
    hb_lock_take(&lock);
    hb_result result = install(alarm, number);
    hb_lock_give(&lock);
    return result;
}

/* Unless the program has put a handler of its own there since. */
static void uninstall(void)
{
    struct sigaction now;
    if (sigaction(watched.number, NULL, &now) == 0 && now.sa_sigaction == on_signal)
        sigaction(watched.number, &watched.before, NULL);
}

/* Nothing rings it by itself any more. */
static void unwatch(const hb_alarm *alarm)
{
    hb_alarm *of_metric = (hb_alarm *)(uintptr_t)alarm, *of_hip = of_metric;
    hb_lock_take(&lock);
    atomic_compare_exchange_strong(&hb_alarm_of_metric, &of_metric, NULL);
    atomic_compare_exchange_strong(&hb_alarm_of_hip, &of_hip, NULL);
    if (atomic_load(&alarm_of_signal) == alarm) {
        uninstall();
        atomic_store(&alarm_of_signal, NULL);
    }
    hb_lock_give(&lock);
}

void hb_alarm_give(hb_alarm *alarm)
{
    if (!alarm) return;
    unwatch(alarm);
    atomic_store(&alarm->taken, false);
}
