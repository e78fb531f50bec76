/* SPDX-License-Identifier: MIT */
#include "profiler/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/lock.h"
#include "base/process.h"
#include "base/thread_start.h"
#include "profiler/arbitration.h"
#include "profiler/control_file.h"
#include "profiler/control_socket.h"
#include "profiler/cycles.h"
#include "record/alarm.h"

enum {
    MAX_CLIENTS = 8,
    MAX_NEWS = 8,
    PATIENCE_S = 5, /* for a client to say what it wants */
};

typedef struct hb_control hb_control;

typedef struct client {
    int fd;         /* -1: none */
    uint64_t waits; /* for the cycle of this request; 0: still asking */
    int64_t until;  /* CLOCK_MONOTONIC; only while asking */
    size_t size;
    char text[HB_REQUEST_MAX];
} client;

/* What those who wait are to be told. */
typedef struct news {
    uint64_t number;
    char *line; /* from malloc */
} news;

/* Belongs to the thread; what others touch is under `lock`. Lives until both the profiler and the
 * thread have let go of it: the thread may be away in a file system that does not answer. */
struct hb_control {
    hb_profiler *prof; /* while the thread is neither away nor finished when it is to end */
    hb_alarm *alarm;   /* from its beginning to its end */
    pthread_t thread;
    hb_control_socket socket;
    hb_control_file file;
    client clients[MAX_CLIENTS];
    int64_t look_at; /* the file, CLOCK_MONOTONIC */
    bool file_news;

    hb_lock lock;
    hb_news changed;
    atomic_bool running;         /* from start to end; also read without the lock */
    bool given_up;               /* it stands still, and may still look at all that it has */
    bool ending, away, finished; /* the thread: is to end; looks at a file; has ended */
    atomic_bool at_once;         /* a ring is written now, whatever else was asked for */
    uint64_t rounds;             /* in which it has looked for all that asks */
    unsigned holders;
    news news[MAX_NEWS];
    size_t num_news;
};

/* As many as there are alarms. */
static _Atomic(hb_control *) serving[8];

/* One entry; NULL: one that is free. */
static void change_serving(hb_control *from, hb_control *to)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(serving); i++) {
        hb_control *there = from;
        if (atomic_compare_exchange_strong(&serving[i], &there, to)) return;
    }
}

/* ---- life of the structure ---- */

/* Under the lock, which it gives. */
static void let_go(hb_control *c)
{
    bool last = --c->holders == 0;
    hb_lock_give(&c->lock);
    if (!last) return;
    for (size_t i = 0; i < c->num_news; i++)
        free(c->news[i].line);
    hb_control_file_close(&c->file);
    free(c);
}

/* Whoever ends the thread does not wait for it while it is away. */
static void set_away(hb_control *c, bool away)
{
    hb_lock_take(&c->lock);
    c->away = away;
    hb_news_tell(&c->changed);
    hb_lock_give(&c->lock);
}

/* Those who wait for it see the rings written that were asked for before it. */
static void count_round(hb_control *c)
{
    hb_lock_take(&c->lock);
    c->rounds++;
    hb_news_tell(&c->changed);
    hb_lock_give(&c->lock);
}

static bool is_to_end(hb_control *c)
{
    hb_lock_take(&c->lock);
    bool ending = c->ending;
    hb_lock_give(&c->lock);
    return ending;
}

/* ---- answers ---- */

static void hang_up(client *k)
{
    if (k->fd >= 0) close(k->fd);
    k->fd = -1;
}

/* Never waits: who does not read what he asked for does not get it. */
static void say(client *k, const char *line)
{
    if (k->fd < 0) return;
    if (send(k->fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) hang_up(k);
}

static void refuse(client *k, const char *why)
{
    char line[1200];
    snprintf(line, sizeof line, "error %s\n", why);
    say(k, line);
    hang_up(k);
}

static void tell_those_who_wait(hb_control *c, uint64_t number, const char *line)
{
    for (int i = 0; i < MAX_CLIENTS; i++) {
        client *k = &c->clients[i];
        if (k->fd < 0 || k->waits != number) continue;
        say(k, line);
        hang_up(k);
    }
}

static void tell_news(hb_control *c)
{
    for (;;) {
        hb_lock_take(&c->lock);
        news first = c->num_news ? c->news[0] : (news){0};
        if (c->num_news) memmove(c->news, c->news + 1, --c->num_news * sizeof *c->news);
        hb_lock_give(&c->lock);
        if (!first.line) return;
        tell_those_who_wait(c, first.number, first.line);
        free(first.line);
    }
}

void hb_control_written(hb_profiler *prof, uint64_t number, const char *path, const char *error)
{
    hb_control *c = prof->control;
    char *line = NULL;
    if (!c) return; /* nobody could ask */
    if (asprintf(&line, error ? "error %s\n" : "written %s\n", error ? error : path) < 0) return;
    hb_lock_take(&c->lock);
    bool room = c->running && c->num_news < MAX_NEWS;
    if (room) {
        c->news[c->num_news++] = (news){number, line};
        hb_alarm_wake(c->alarm);
    }
    hb_lock_give(&c->lock);
    if (!room) free(line);
}

/* ---- requests ---- */

/* What the cycle needs is put in place here, so that no thread of the program waits for it. */
static hb_result ask(hb_control *c, hb_request *request, uint64_t *number)
{
    hb_profiler *prof = c->prof;
    HB_TRY(hb_cycles_prepare(prof));
    hb_arbitration_lock(prof);
    uint64_t before = prof->demand.phase == HB_DEMAND_ASKED ? prof->demand.number : 0;
    hb_result result = hb_demand_ask(prof, request, number);
    hb_arbitration_unlock(prof);
    if (result == HB_OK && before)
        tell_those_who_wait(c, before, "error another request came before it began\n");
    return result;
}

static void ask_for(hb_request *request, const char *source, const char *why)
{
    char reason[sizeof request->reason];
    snprintf(reason, sizeof reason, "%.250s%s%.*s", source, *why ? ": " : "",
             (int)(sizeof reason - 260), why);
    memcpy(request->reason, reason, sizeof reason);
}

static void answer(hb_control *c, client *k)
{
    hb_request request;
    uint64_t number;
    size_t greeting = strlen(HB_CONTROL_GREETING);
    if (k->size < greeting || memcmp(k->text, HB_CONTROL_GREETING, greeting) != 0) {
        refuse(k, "expected \"hipboard 1\" first");
        return;
    }
    hb_result result = hb_request_parse(k->text + greeting, k->size - greeting, &request);
    if (result == HB_OK) {
        char why[sizeof request.reason];
        memcpy(why, request.reason, sizeof why);
        ask_for(&request, "hipboard trigger", why);
        result = ask(c, &request, &number);
    }
    if (result != HB_OK) {
        refuse(k, hb_last_error());
        return;
    }
    k->waits = number;
    say(k, HB_CONTROL_GREETING);
    say(k, c->prof->demand.stepless ? "accepted the program has marked no step so far, and "
                                      "what was asked for begins with one\n"
                                    : "accepted\n");
}

/* An empty line ends a request, as does the end of what the client sends. */
static bool is_whole(const client *k)
{
    return (k->size >= 2 && memcmp(k->text + k->size - 2, "\n\n", 2) == 0) ||
           k->size == sizeof k->text;
}

static void listen_to(hb_control *c, client *k)
{
    ssize_t n = recv(k->fd, k->text + k->size, sizeof k->text - k->size, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (k->waits) { /* has said all; gone, or chatting */
        if (n <= 0) hang_up(k);
        k->size = 0;
        return;
    }
    if (n > 0) k->size += (size_t)n;
    if (n < 0)
        hang_up(k);
    else if (n == 0 || is_whole(k))
        answer(c, k);
}

/* NULL: all are taken, and who comes now waits outside. */
static client *free_client(hb_control *c)
{
    for (int i = 0; i < MAX_CLIENTS; i++)
        if (c->clients[i].fd < 0) return &c->clients[i];
    return NULL;
}

static void welcome(hb_control *c)
{
    client *k;
    while ((k = free_client(c)) && (k->fd = hb_control_accept(&c->socket)) >= 0) {
        k->waits = 0;
        k->size = 0;
        k->until = hb_clock_ns(CLOCK_MONOTONIC) + PATIENCE_S * INT64_C(1000000000);
    }
}

/* ---- what else asks ---- */

static void hear_alarm(hb_control *c)
{
    char why[HB_ALARM_TEXT];
    uint64_t number;
    if (!hb_alarm_heard_text(c->alarm, why)) return;
    hb_request request = HB_REQUEST_INIT;
    ask_for(&request, why, "");
    if (hb_ring_is_about_to_be_written(c->prof) || hb_demand_is_awaited(c->prof)) return;
    hb_result result = ask(c, &request, &number);
    if (result == HB_ERROR_STATE) hb_demand_warn_dropped(why);
    /* one more while one is recorded is no news */
    if (result == HB_ERROR_BUSY) hb_demand_warn_waits(c->prof, why);
}

static void hear_file(hb_control *c)
{
    hb_request request;
    uint64_t number;
    if (!c->file_news) return;
    c->file_news = false;
    const char *why = c->file.why_not;
    hb_result result =
        *why ? HB_ERROR_STATE : hb_request_parse(c->file.text, c->file.text_size, &request);
    if (result == HB_OK) {
        char reason[sizeof request.reason];
        memcpy(reason, request.reason, sizeof reason);
        ask_for(&request, "request file", reason);
        result = ask(c, &request, &number);
    }
    if (result != HB_OK)
        hb_warn("'%s' is passed over: %s", c->file.path, *why ? why : hb_last_error());
}

/* ---- the thread ---- */

static int64_t serve(hb_control *c)
{
    hb_profiler *prof = c->prof;
    int64_t now = hb_clock_ns(CLOCK_MONOTONIC), due = INT64_MAX;
    welcome(c);
    for (int i = 0; i < MAX_CLIENTS; i++) {
        client *k = &c->clients[i];
        if (k->fd >= 0) listen_to(c, k);
        if (k->fd >= 0 && !k->waits && now >= k->until) refuse(k, "no request came");
        if (k->fd >= 0 && !k->waits) due = HB_MIN(due, k->until);
    }
    hear_alarm(c);
    hear_file(c);
    due = HB_MIN(due, hb_ring_wanted(&prof->options) ? hb_ring_mind(prof, atomic_load(&c->at_once))
                                                     : hb_demand_mind(prof));
    tell_news(c);
    return due;
}

static void wait_for_something(hb_control *c, int64_t due)
{
    struct pollfd fds[MAX_CLIENTS + 2];
    nfds_t n = 0;
    int alarm = hb_alarm_fd(c->alarm);
    if (alarm >= 0) fds[n++] = (struct pollfd){.fd = alarm, .events = POLLIN};
    if (free_client(c) && hb_kept_file_is_there(&c->socket.socket))
        fds[n++] = (struct pollfd){.fd = c->socket.socket.fd, .events = POLLIN};
    for (int i = 0; i < MAX_CLIENTS; i++)
        if (c->clients[i].fd >= 0)
            fds[n++] = (struct pollfd){.fd = c->clients[i].fd, .events = POLLIN};
    if (c->file.path) due = HB_MIN(due, c->look_at);
    if (alarm < 0) due = HB_MIN(due, hb_clock_ns(CLOCK_MONOTONIC) + INT64_C(500000000));
    int64_t left_ms = 3600000;
    if (due != INT64_MAX)
        left_ms = HB_MAX(due - hb_clock_ns(CLOCK_MONOTONIC) + 999999, 0) / 1000000;
    (void)poll(fds, n, (int)HB_MIN(left_ms, HB_PROCESS_LOOK_MS));
    hb_process_end_if_over();
}

/* Without the profiler: the file system may not answer. */
static void look_at_file(hb_control *c)
{
    int64_t now = hb_clock_ns(CLOCK_MONOTONIC);
    if (!c->file.path || now < c->look_at) return;
    set_away(c, true);
    c->file_news = hb_control_file_look(&c->file);
    set_away(c, false);
    c->look_at = now + HB_CONTROL_FILE_PERIOD_MS * INT64_C(1000000);
}

static void finish(hb_control *c)
{
    char why[HB_ALARM_TEXT];
    tell_news(c);
    if (hb_alarm_heard_text(c->alarm, why)) hb_demand_warn_dropped(why);
    for (int i = 0; i < MAX_CLIENTS; i++)
        if (c->clients[i].fd >= 0) refuse(&c->clients[i], "the profiler has stopped");
    change_serving(c, NULL);
    hb_control_close(&c->socket, true);
    hb_alarm_give(c->alarm);
    hb_lock_take(&c->lock);
    c->finished = true;
    hb_news_tell(&c->changed);
    let_go(c); /* with that: who sees it may start the next thread */
}

static void *work(void *arg)
{
    hb_control *c = arg;
    int64_t due = 0;
    for (;;) {
        if (!c->file_news) wait_for_something(c, due);
        look_at_file(c);
        if (is_to_end(c)) break;
        due = serve(c);
        count_round(c);
    }
    finish(c);
    return NULL;
}

/* ---- beginning and end ---- */

/* A program with rights that its caller has not takes no orders. */
static void open_doors(hb_control *c, const hb_profiler *prof)
{
    if (getauxval(AT_SECURE)) return;
    const char *dir = hb_handler_dir(&prof->options.on_trace_ready);
    if (dir) (void)hb_make_directories(dir);
    if (hb_control_listen(&c->socket, dir) != HB_OK) hb_warn("%s", hb_last_error());
    hb_control_file_close(&c->file); /* of the time before, with what came amid its end */
    c->file_news = false;
    hb_control_file_open(&c->file, hb_control_file_path(prof->control_file, dir));
    c->look_at = hb_control_file_first_look();
}

static hb_result watch(const hb_profiler *prof, hb_control *c)
{
    const hb_profiler_options *o = &prof->options;
    if (o->trigger_hip_errors) hb_alarm_watch_hip(c->alarm);
    if (prof->trigger_metric.name[0]) hb_alarm_watch_metric(c->alarm, &prof->trigger_metric);
    return o->trigger_signal ? hb_alarm_watch_signal(c->alarm, o->trigger_signal) : HB_OK;
}

/* Nobody who connects to the parent is to reach a child, nor to wait for it after the parent's end.
 */
static void after_fork_in_child(void)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(serving); i++) {
        hb_control *c = atomic_exchange(&serving[i], NULL);
        if (!c) continue;
        hb_control_close(&c->socket, false);
        for (int k = 0; k < MAX_CLIENTS; k++)
            hang_up(&c->clients[k]);
    }
}

static void watch_forks(void)
{
    hb_process_at_fork(HB_FORK_CONTROL, (hb_fork_room){.in_child = after_fork_in_child});
}

static hb_control *new_control(hb_profiler *prof)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    hb_control *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->prof = prof;
    c->socket = HB_NO_CONTROL_SOCKET;
    c->holders = 1;
    for (int i = 0; i < MAX_CLIENTS; i++)
        c->clients[i].fd = -1;
    hb_lock_init(&c->lock, HB_LOCK_CONTROL);
    return c;
}

static hb_result start(hb_control *c)
{
    c->alarm = hb_alarm_take();
    if (!c->alarm) return hb_fail(HB_ERROR_LIMIT, "no descriptors for being triggered");
    hb_result result = watch(c->prof, c);
    if (result == HB_OK) {
        open_doors(c, c->prof);
        c->ending = c->finished = false;
        c->holders = 2; /* the profiler and the thread */
        c->running = true;
        change_serving(NULL, c);
        int error = hb_background_thread(&c->thread, "control", work, c);
        if (!error) {
            pthread_detach(c->thread);
            return HB_OK;
        }
        result = hb_fail_errno(HB_ERROR_NO_MEMORY, error, "no thread for being triggered");
        c->running = false;
        c->holders = 1;
        change_serving(c, NULL);
        hb_control_close(&c->socket, true);
    }
    hb_alarm_give(c->alarm);
    return result;
}

/* Under the lock, which is not held meanwhile: the thread of the time before is gone. One that only
 * looked at its file soon goes on, and is then waited for; not one that stands still. */
static bool is_alone(hb_control *c)
{
    enum { LOOKS = 10, LOOK_MS = 10 };
    for (int looks = LOOKS; looks > 0 && c->holders > 1; looks -= c->away || c->given_up)
        (void)hb_news_wait(&c->changed, &c->lock, LOOK_MS);
    return c->holders == 1;
}

hb_result hb_control_start(hb_profiler *prof)
{
    if (!hb_demand_wanted(&prof->options)) return HB_OK;
    if (!prof->control) prof->control = new_control(prof);
    hb_control *c = prof->control;
    if (!c) return hb_no_memory();
    if (c->running) return HB_OK;
    hb_lock_take(&c->lock);
    bool alone = is_alone(c);
    hb_lock_give(&c->lock);
    if (alone) return start(c);
    hb_warn("'%s' is on a file system that does not answer: the profiler can't be triggered",
            c->file.path);
    return HB_OK;
}

/* Under the lock, which is not held meanwhile. At exit no longer than the thread does something. */
static bool await_end(hb_control *c)
{
    hb_patience patience = {0};
    bool in_vain, goes = true;
    while (!c->finished && !c->away && goes)
        goes = hb_patience_wait(&patience, &c->changed, &c->lock, c->thread, &in_vain);
    return goes;
}

bool hb_control_end(hb_profiler *prof)
{
    hb_control *c = prof->control;
    if (!c || !c->running) return !c || !c->given_up;
    hb_lock_take(&c->lock);
    c->running = false;
    c->ending = true;
    hb_alarm_wake(c->alarm);
    c->given_up = !await_end(c);
    if (!c->finished) hb_control_remove_name(&c->socket);
    hb_lock_give(&c->lock);
    return !c->given_up;
}

void hb_control_free(hb_profiler *prof)
{
    hb_control *c = prof->control;
    if (!c) return;
    prof->control = NULL;
    hb_lock_take(&c->lock);
    let_go(c);
}

void hb_control_wake(const hb_profiler *prof)
{
    const hb_control *c = prof->control;
    if (c && atomic_load(&c->running)) hb_alarm_wake(c->alarm);
}

/* Under the lock. The round that is under way may have looked for alarms before; the next one has
 * not. Away it most often only looks at its file. False when the thread does not come round. */
static bool await_rounds(hb_control *c)
{
    hb_patience patience = {0};
    uint64_t wanted = c->rounds + 2;
    bool in_vain = false;
    while (c->rounds < wanted && !c->finished && !(c->away && in_vain)) {
        hb_alarm_wake(c->alarm);
        if (!hb_patience_wait(&patience, &c->changed, &c->lock, c->thread, &in_vain)) return false;
    }
    return c->rounds >= wanted;
}

/* One may be written, and one more be asked for that waits for it. */
void hb_control_settle(hb_profiler *prof, bool at_once)
{
    hb_control *c = prof && prof->pid == getpid() ? prof->control : NULL;
    if (!c || !c->running || !hb_ring_wanted(&prof->options) || prof->paused) return;
    if (hb_control_is_this_thread(prof)) return;
    for (int i = 0; i < 2; i++) {
        atomic_store(&c->at_once, at_once);
        hb_lock_take(&c->lock);
        bool came_round = await_rounds(c);
        hb_lock_give(&c->lock);
        atomic_store(&c->at_once, false);
        if (!came_round || !hb_ring_is_read(prof)) break;
        if (i == 0) hb_worker_wait(prof);
    }
}

bool hb_control_is_this_thread(const hb_profiler *prof)
{
    return prof->control && pthread_equal(prof->control->thread, pthread_self());
}

/* The thread is the parent's, and so is what lies in the file system. */
void hb_control_forget(hb_profiler *prof)
{
    hb_control *c = prof->control;
    if (!c) return;
    hb_control_file_close(&c->file);
    free(c);
    prof->control = NULL;
}

bool hb_control_alarm(const hb_profiler *prof, const char *reason)
{
    hb_control *c = prof->control;
    if (!c || !atomic_load(&c->running)) return false;
    hb_alarm_ring(c->alarm, reason);
    return true;
}
