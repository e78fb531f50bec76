/* SPDX-License-Identifier: MIT
 *
 * A pair of events goes round: free, in a stream, waiting, read, free. HIP tells the time between
 * two events as a float of milliseconds, which is exact enough for a moment only as long as the
 * other is not far away: so each device has a base, an event on a stream of hipboard's own that
 * the host sees reached, and that is renewed several times a second.
 */
#include "hip/timing_events.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/guard.h"
#include "base/lock.h"
#include "base/thread_start.h"

enum {
    MAX_MARKS = 8192,        /* a device's that are not yet read */
    MARKS_AT_ONCE = 32,      /* made */
    BASE_NS = 200000000,     /* a base is renewed after that time */
    READ_EVERY_NS = 1000000, /* while there are timings */
    STREAM_NON_BLOCKING = 1, /* hipStreamNonBlocking */
    CAPTURE_STATUS_NONE = 0, /* hipStreamCaptureStatusNone */
    MAX_BUSY_STREAMS = 64,
    DRAIN_MS = 200, /* without any progress */
    FLOAT_STEPS = 1 << 23,
};

typedef struct functions {
    int (*event_create)(void **event, unsigned flags);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event);
    int (*event_elapsed)(float *ms, void *start, void *stop);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_is_capturing)(void *stream, int *status);
    int (*get_last_error)(void);
    int (*get_device)(int *device);
    int (*set_device)(int device);
} functions;

static functions fn;
static const hb_hip *runtime;

typedef struct list {
    hb_timing_event *first, **last;
} list;

typedef struct device {
    hb_timing_event *free;
    uint32_t num_marks;
    /* the reader's */
    void *stream;                  /* NULL: not yet made, as both events */
    void *base, *next;             /* the next base is asked for while the present one serves */
    int64_t base_ns, base_half_ns; /* CLOCK_BOOTTIME of `base`, give or take */
    int64_t renew_ns;              /* CLOCK_BOOTTIME */
    int64_t asked_ns;              /* the same, for `next`; 0: it is not under way */
} device;

static struct {
    hb_bare_lock lock; /* of all below, but for what is the reader's */
    device devices[HB_HIP_MAX_DEVICES];
    list waiting;
    uint32_t generation;
    bool reading, ending;
    pthread_t reader;
    atomic_bool ended;     /* the reader has done all that it will */
    hb_bare_lock hip_lock; /* the reader calls HIP; taken before `lock` */
    list unread;           /* the reader's part of those that wait */
    int paused;            /* captures that are going on */
    _Atomic uint64_t lost;
    _Atomic int64_t uncertainty;
} self = {.lock = HB_BARE_LOCK_INIT(TIMING), .hip_lock = HB_BARE_LOCK_INIT(TIMING_READER)};

static void list_clear(list *l)
{
    l->first = NULL;
    l->last = &l->first;
}

static void list_add(list *l, hb_timing_event *timing)
{
    timing->next = NULL;
    *l->last = timing;
    l->last = &timing->next;
}

static void *pointer(uint64_t value)
{
    return (void *)(uintptr_t)value;
}

static const struct {
    const char *name;
    size_t offset;
} needed[] = {
    {"hipEventCreateWithFlags", offsetof(functions, event_create)},
    {"hipEventRecord", offsetof(functions, event_record)},
    {"hipEventQuery", offsetof(functions, event_query)},
    {"hipEventElapsedTime", offsetof(functions, event_elapsed)},
    {"hipStreamCreateWithFlags", offsetof(functions, stream_create)},
    {"hipStreamIsCapturing", offsetof(functions, stream_is_capturing)},
    {"hipGetLastError", offsetof(functions, get_last_error)},
    {"hipGetDevice", offsetof(functions, get_device)},
    {"hipSetDevice", offsetof(functions, set_device)},
};

bool hb_timing_events_possible(const hb_hip *hip, hb_buf *why)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(needed); i++) {
        void *address;
        hb_hip_symbol(hip, needed[i].name, &address);
        if (address) continue;
        hb_buf_printf(why, "%s has no %s", hip->soname, needed[i].name);
        return false;
    }
    return true;
}

static void begin_lists(void);

void hb_timing_events_init(const hb_hip *hip)
{
    runtime = hip;
    begin_lists();
    for (size_t i = 0; i < HB_ARRAY_LEN(needed); i++)
        hb_hip_symbol(hip, needed[i].name, (char *)&fn + needed[i].offset);
}

/* ---- in the program's threads ---- */

/* What fails here is none of the program's business, which may ask for the thread's last error. */
static bool works(int error)
{
    if (error) fn.get_last_error();
    return error == 0;
}

/* An event belongs to the device that is the thread's when it is made. */
static hb_timing_event *make_marks(int id)
{
    hb_timing_event *made = NULL;
    int present = id;
    if (!works(fn.get_device(&present))) return NULL;
    if (present != id && !works(fn.set_device(id))) return NULL;
    for (int i = 0; i < MARKS_AT_ONCE; i++) {
        hb_timing_event *timing = calloc(1, sizeof *timing);
        if (!timing || !works(fn.event_create(&timing->start, 0)) ||
            !works(fn.event_create(&timing->stop, 0))) {
            free(timing);
            break;
        }
        timing->generation = self.generation;
        timing->next = made;
        made = timing;
    }
    if (present != id) works(fn.set_device(present));
    return made;
}

static void give_back(int id, hb_timing_event *timings, uint32_t are_new)
{
    hb_bare_lock_take(&self.lock);
    device *d = &self.devices[id];
    d->num_marks += are_new;
    while (timings) {
        hb_timing_event *timing = timings;
        timings = timing->next;
        if (timing->generation != self.generation) {
            free(timing);
            continue;
        }
        timing->next = d->free;
        d->free = timing;
    }
    hb_bare_lock_give(&self.lock);
}

static hb_timing_event *take_free(int id, bool *may_make)
{
    hb_bare_lock_take(&self.lock);
    device *d = &self.devices[id];
    hb_timing_event *timing = d->free;
    if (timing) d->free = timing->next;
    *may_make = d->num_marks < MAX_MARKS;
    hb_bare_lock_give(&self.lock);
    return timing;
}

static hb_timing_event *take(int id)
{
    bool may_make;
    hb_timing_event *timing = take_free(id, &may_make);
    if (timing || !may_make) return timing;
    hb_timing_event *made = make_marks(id);
    uint32_t n = 0;
    for (hb_timing_event *m = made; m; m = m->next)
        n++;
    give_back(id, made, n);
    return take_free(id, &may_make);
}

/* Also where a capture of another stream forbids to ask. */
static bool is_capturing(uint64_t stream)
{
    int status = CAPTURE_STATUS_NONE;
    return !works(fn.stream_is_capturing(pointer(stream), &status)) ||
           status != CAPTURE_STATUS_NONE;
}

hb_timing_event *hb_timing_event_begin(uint64_t stream, int id, bool *lost)
{
    *lost = false;
    if (is_capturing(stream)) return NULL;
    hb_timing_event *timing = id >= 0 && id < HB_HIP_MAX_DEVICES ? take(id) : NULL;
    *lost = true;
    if (!timing) return NULL;
    timing->work = (hb_record_work){.device = id};
    timing->stream = stream;
    *lost = !works(fn.event_record(timing->start, pointer(stream)));
    if (!*lost) return timing;
    hb_timing_event_cancel(timing);
    return NULL;
}

void hb_timing_event_cancel(hb_timing_event *timing)
{
    timing->next = NULL;
    give_back(timing->work.device, timing, 0);
}

void hb_timing_event_end(hb_timing_event *timing)
{
    if (!works(fn.event_record(timing->stop, pointer(timing->stream)))) {
        atomic_fetch_add(&self.lost, 1);
        hb_timing_event_cancel(timing);
        return;
    }
    hb_bare_lock_take(&self.lock);
    list_add(&self.waiting, timing);
    hb_bare_lock_give(&self.lock);
}

void hb_timing_events_pause(bool on)
{
    hb_bare_lock_take(&self.hip_lock); /* the reader's present call is over */
    self.paused += on ? 1 : self.paused ? -1 : 0;
    hb_bare_lock_give(&self.hip_lock);
}

void hb_timing_event_missed(void)
{
    atomic_fetch_add(&self.lost, 1);
}

uint64_t hb_timing_events_lost(void)
{
    return atomic_load(&self.lost);
}

int64_t hb_timing_events_uncertainty(void)
{
    return atomic_load(&self.uncertainty);
}

/* ---- in the reader ---- */

enum { NOT_READY = 600 }; /* hipErrorNotReady */

static int make_next(device *d, int id)
{
    if (d->next) return 0;
    int error = fn.set_device(id);
    if (!error && !d->stream) error = fn.stream_create(&d->stream, STREAM_NON_BLOCKING);
    return error ? error : fn.event_create(&d->next, 0);
}

/* Asks rather than waits: HIP 5.7 lets nobody wait for an event while a stream is captured, and a
 * wait has no end while work of the program's is before it. */
static int await_next(const device *d)
{
    enum { AT_ONCE = 100, LOOKS = 150, LOOK_EACH_US = 100 };
    int error = fn.event_query(d->next);
    for (int i = 0; error == NOT_READY && i < LOOKS; i++) {
        if (i >= AT_ONCE) hb_sleep_us(LOOK_EACH_US);
        error = fn.event_query(d->next);
    }
    return error;
}

/* The event's moment lies between two readings of the clock. */
static void use_next(device *d)
{
    void *before = d->base;
    d->base_half_ns = (hb_clock_ns(CLOCK_BOOTTIME) - d->asked_ns) / 2;
    d->base_ns = d->asked_ns + d->base_half_ns;
    d->base = d->next;
    d->next = before;
    d->asked_ns = 0;
}

/* One that others' work held up is better than none. */
static int take_late_base(device *d)
{
    int error = fn.event_query(d->next);
    if (!error && !d->base) use_next(d);
    if (error != NOT_READY) d->asked_ns = 0;
    return error;
}

static int try_base(device *d, int id)
{
    int error = make_next(d, id);
    if (error) return error;
    d->asked_ns = hb_clock_ns(CLOCK_BOOTTIME);
    error = fn.event_record(d->next, d->stream);
    if (!error) error = await_next(d);
    if (!error) use_next(d);
    if (error != NOT_READY) d->asked_ns = 0;
    return error;
}

/* The first try of a stream takes long. */
static int renew_base(device *d, int id)
{
    enum { TRIES = 3, GOOD_NS = 50000 };
    int error = d->asked_ns ? take_late_base(d) : 0;
    for (int i = 0; i < TRIES && !error; i++) {
        error = try_base(d, id);
        if (!error && d->base_half_ns < GOOD_NS) break;
    }
    d->renew_ns = hb_clock_ns(CLOCK_BOOTTIME) + BASE_NS;
    return d->base ? 0 : error;
}

static int64_t ns_of(float ms)
{
    return (int64_t)((double)ms * 1e6);
}

static void note_uncertainty(int64_t ns)
{
    if (ns > atomic_load(&self.uncertainty)) atomic_store(&self.uncertainty, ns);
}

/* The error of HIP. */
static int read_times(hb_timing_event *timing)
{
    device *d = &self.devices[timing->work.device];
    float from_base, lasted;
    int error = 0;
    if (!d->base || hb_clock_ns(CLOCK_BOOTTIME) > d->renew_ns)
        error = renew_base(d, timing->work.device);
    if (!error) error = fn.event_elapsed(&from_base, d->base, timing->start);
    if (!error) error = fn.event_elapsed(&lasted, timing->start, timing->stop);
    if (error) return error;
    note_uncertainty(d->base_half_ns + (int64_t)ceil(fabs((double)from_base) * 1e6 / FLOAT_STEPS));
    timing->work.begin_ns = d->base_ns + ns_of(from_base);
    timing->work.end_ns = timing->work.begin_ns + HB_MAX(ns_of(lasted), 0);
    return 0;
}

/* False: HIP knows that the work is over, but not yet its times. */
static bool report(hb_timing_event *timing)
{
    int error = read_times(timing);
    if (error == NOT_READY) return false;
    if (!error) {
        hb_work_report(&timing->work);
        hb_work_arrived(true);
    } else {
        atomic_fetch_add(&self.lost, 1);
    }
    return true;
}

/* Streams whose oldest timing has not been reached. */
typedef struct busy {
    uint64_t streams[MAX_BUSY_STREAMS];
    int count;
} busy;

static bool is_busy(const busy *b, uint64_t stream)
{
    for (int i = 0; i < b->count; i++)
        if (b->streams[i] == stream) return true;
    return false;
}

/* Reports it when it is over. */
static bool has_reported(busy *b, hb_timing_event *timing)
{
    if (is_busy(b, timing->stream)) return false;
    if (fn.event_query(timing->stop) != NOT_READY && report(timing)) return true;
    if (b->count < MAX_BUSY_STREAMS) b->streams[b->count++] = timing->stream;
    return false;
}

/* Reports those of `timings` that are over; the others stay. False: none is. */
static bool read_marks(list *timings)
{
    busy b = {.count = 0};
    hb_timing_event *timing = timings->first;
    bool any = false;
    list_clear(timings);
    for (hb_timing_event *next; timing; timing = next) {
        next = timing->next;
        if (!has_reported(&b, timing)) {
            list_add(timings, timing);
            continue;
        }
        hb_timing_event_cancel(timing);
        any = true;
    }
    return any;
}

static void take_waiting(list *to)
{
    hb_bare_lock_take(&self.lock);
    if (self.waiting.first) {
        *to->last = self.waiting.first;
        to->last = self.waiting.last;
        list_clear(&self.waiting);
    }
    hb_bare_lock_give(&self.lock);
}

/* Not before there is something to read: of a forked child the program itself calls HIP first. */
static void spare_captures(void)
{
    static __thread bool done;
    if (!done && self.unread.first) {
        hb_hip_spare_captures(runtime);
        done = true;
    }
}

static bool read_some(bool *left)
{
    bool any = false;
    hb_bare_lock_take(&self.hip_lock);
    if (!self.paused) {
        take_waiting(&self.unread);
        spare_captures();
        any = read_marks(&self.unread);
    }
    *left = self.unread.first;
    hb_bare_lock_give(&self.hip_lock);
    return any;
}

static bool is_ending(void)
{
    hb_bare_lock_take(&self.lock);
    bool ending = self.ending;
    hb_bare_lock_give(&self.lock);
    return ending;
}

static void drop_rest(void)
{
    hb_bare_lock_take(&self.hip_lock);
    take_waiting(&self.unread);
    for (hb_timing_event *next, *timing = self.unread.first; timing; timing = next) {
        next = timing->next;
        atomic_fetch_add(&self.lost, 1);
        hb_timing_event_cancel(timing);
    }
    list_clear(&self.unread);
    hb_bare_lock_give(&self.hip_lock);
}

static void *reader_main(void *arg)
{
    bool left = true;
    int idle_ms = 0;
    (void)arg;
    hb_calls_enter_own();
    while (!is_ending() || (left && idle_ms < DRAIN_MS)) {
        if (read_some(&left)) {
            idle_ms = 0;
            continue;
        }
        nanosleep(&(struct timespec){.tv_nsec = READ_EVERY_NS}, NULL);
        idle_ms = is_ending() ? idle_ms + 1 : 0;
    }
    drop_rest();
    atomic_store(&self.ended, true);
    return NULL;
}

/* Of the reader, which calls HIP: at exit no longer than it does something. */
static bool await_reader(void)
{
    hb_patience patience = {0};
    while (hb_guard_is_exiting() && !atomic_load(&self.ended))
        if (!hb_patience_sleep(&patience, self.reader)) return false;
    pthread_join(self.reader, NULL);
    return true;
}

/* ---- life ---- */

static void begin_lists(void)
{
    memset(self.devices, 0, sizeof self.devices);
    list_clear(&self.waiting);
    list_clear(&self.unread);
}

/* Of captures that were going on as the last session ended the end is not heard. */
static void forget_captures(void)
{
    hb_bare_lock_take(&self.hip_lock);
    self.paused = 0;
    hb_bare_lock_give(&self.hip_lock);
}

/* The reader and the events are the parent's. */
void hb_timing_events_after_fork(void)
{
    hb_bare_lock_after_fork(&self.lock);
    hb_bare_lock_after_fork(&self.hip_lock);
    self.reading = false;
    self.paused = 0;
    begin_lists();
}

bool hb_timing_events_enable(bool on)
{
    if (on == self.reading) return true;
    if (on) {
        forget_captures();
        self.ending = false;
        atomic_store(&self.ended, false);
        atomic_store(&self.uncertainty, 0);
        return self.reading = hb_background_thread(&self.reader, "timings", reader_main, NULL) == 0;
    }
    hb_bare_lock_take(&self.lock);
    self.ending = true;
    hb_bare_lock_give(&self.lock);
    self.reading = !await_reader();
    return true;
}

/* How many there were. */
static uint64_t free_all(hb_timing_event *timing)
{
    uint64_t n = 0;
    for (hb_timing_event *next; timing; timing = next, n++) {
        next = timing->next;
        free(timing);
    }
    return n;
}

void hb_timing_events_forget(void)
{
    hb_bare_lock_take(&self.hip_lock);
    hb_bare_lock_take(&self.lock);
    self.generation++;
    for (int i = 0; i < HB_HIP_MAX_DEVICES; i++) {
        free_all(self.devices[i].free);
        self.devices[i] = (device){NULL};
    }
    atomic_fetch_add(&self.lost, free_all(self.waiting.first) + free_all(self.unread.first));
    list_clear(&self.waiting);
    list_clear(&self.unread);
    hb_bare_lock_give(&self.lock);
    hb_bare_lock_give(&self.hip_lock);
}
