/* SPDX-License-Identifier: MIT
 *
 * One event a processor, which follows the threads that its opener starts. Each has a ring that the
 * kernel writes and the library's thread empties.
 */
#include "sampling/host_samples.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/thread_start.h"
#include "record/record.h"

/* What an ordinary user may lock for each processor, by default: a page and these. */
enum { RING_PAGES = 128, MOST_FRAMES = 127, MOST_THREADS = 4096, COMM_SIZE = 16 };

typedef struct ring {
    int fd;
    struct perf_event_mmap_page *page;
} ring;

/* As the kernel writes it, by the attributes below. */
typedef struct taken {
    struct perf_event_header head;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time; /* CLOCK_BOOTTIME */
    uint64_t count;
    uint64_t ips[MOST_FRAMES + 8];
} taken;

static struct {
    hb_bare_lock lock;
    unsigned hz;
    char why[200]; /* not: "" */
    ring *rings;
    uint32_t count;
    size_t page_bytes;
    uint64_t num_taken, num_lost;
    struct {
        uint32_t tid;
        bool own;            /* the library's */
    } threads[MOST_THREADS]; /* by tid, modulo */
} self = {.lock = HB_BARE_LOCK_INIT(SAMPLES)};

/* ---- opening ---- */

static int open_on(int cpu, unsigned hz)
{
    struct perf_event_attr a = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof a,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_freq = hz,
        .freq = 1,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
        .disabled = 1,
        .inherit = 1,
        .inherit_thread = 1, /* threads, and no child processes */
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .exclude_callchain_kernel = 1,
        .use_clockid = 1,
        .clockid = CLOCK_BOOTTIME,
        .sample_max_stack = MOST_FRAMES,
    };
    return (int)syscall(SYS_perf_event_open, &a, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_all(void)
{
    size_t bytes = self.page_bytes * (1 + RING_PAGES);
    for (uint32_t i = 0; i < self.count; i++) {
        munmap(self.rings[i].page, bytes);
        close(self.rings[i].fd);
    }
    free(self.rings);
    self.rings = NULL;
    self.count = 0;
}

static bool open_all(unsigned hz)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    size_t bytes = self.page_bytes * (1 + RING_PAGES);
    self.rings = calloc((size_t)HB_MAX(cpus, 1), sizeof *self.rings);
    for (int cpu = 0; self.rings && cpu < cpus; cpu++) {
        int fd = open_on(cpu, hz);
        if (fd < 0 && errno == ENODEV) continue; /* not in use */
        void *at =
            fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) {
            int error = errno;
            if (fd >= 0) close(fd);
            close_all();
            errno = error;
            return false;
        }
        self.rings[self.count++] = (ring){fd, at};
    }
    return self.count > 0;
}

static int read_paranoia(void)
{
    int level = -1;
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (file && fscanf(file, "%d", &level) != 1) level = -1;
    if (file) fclose(file);
    return level;
}

void hb_samples_open(unsigned hz)
{
    if (self.hz || !hz) return;
    hb_bare_lock_take(&self.lock);
    self.hz = hz;
    self.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    bool opened = open_all(hz);
    int error = errno;
    hb_bare_lock_give(&self.lock);
    if (opened) return;
    errno = error;
    bool refused = errno == EACCES || errno == EPERM;
    if (refused)
        snprintf(
            self.why, sizeof self.why,
            "the kernel does not let this process (perf_event_open; perf_event_paranoid is %d, "
            "wanted is 2 or less; containers forbid it by default)",
            read_paranoia());
    else
        snprintf(self.why, sizeof self.why, "perf_event_open: %s", strerror(errno));
    hb_warn("the program is not sampled: %s", self.why);
}

/* ---- emptying ---- */

static bool is_own_thread(uint32_t tid)
{
    char path[64], comm[COMM_SIZE + 1] = "";
    size_t at = tid % MOST_THREADS;
    if (self.threads[at].tid == tid) return self.threads[at].own;
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(comm, 1, COMM_SIZE, file) : 0;
    if (file) fclose(file);
    bool own = n && strncmp(comm, HB_THREAD_PREFIX, sizeof HB_THREAD_PREFIX - 1) == 0;
    self.threads[at].tid = tid;
    self.threads[at].own = own;
    return own;
}

/* The kernel puts marks among the addresses: which side's frames follow. */
static uint32_t without_marks(const taken *t, uint64_t pcs[MOST_FRAMES])
{
    uint32_t n = 0;
    uint64_t count = HB_MIN(t->count, (uint64_t)HB_ARRAY_LEN(t->ips));
    for (uint64_t i = 0; i < count && n < MOST_FRAMES; i++)
        if (t->ips[i] < PERF_CONTEXT_MAX) pcs[n++] = t->ips[i];
    if (!n) pcs[n++] = t->ip;
    pcs[0]++; /* as a return address, which the others are */
    return n;
}

/* In the order of each ring; who reads the records puts them in order. */
static void keep(const taken *t)
{
    uint64_t pcs[MOST_FRAMES];
    if (t->pid != (uint32_t)getpid() || is_own_thread(t->tid)) return;
    hb_record_sample sample = {.tid = t->tid, .hz = self.hz, .time = (int64_t)t->time};
    size_t addresses = without_marks(t, pcs) * sizeof *pcs, bytes = sizeof sample + addresses;
    hb_thread *thread = hb_record_enter();
    hb_record *r = thread ? hb_record_reserve(thread, (uint32_t)bytes) : NULL;
    if (r) {
        hb_record_head(&sample.head, HB_RECORD_SAMPLE, 0, HB_STRING_UNNAMED, bytes);
        sample.head.start = hb_ticks();
        memcpy(r, &sample, sizeof sample);
        memcpy((char *)r + sizeof sample, pcs, addresses);
        hb_record_commit(thread, r);
        self.num_taken++;
    }
    if (thread) hb_thread_leave(thread);
}

/* A record may go on at the ring's beginning. */
static void copy_out(const ring *r, uint64_t from, void *to, size_t bytes)
{
    size_t size = self.page_bytes * RING_PAGES, at = from % size;
    size_t first = HB_MIN(bytes, size - at);
    const char *data = (const char *)r->page + self.page_bytes;
    memcpy(to, data + at, first);
    memcpy((char *)to + first, data, bytes - first);
}

/* Behind an id, where a sample has its thread. */
static uint64_t lost_of(const taken *t)
{
    uint64_t lost;
    memcpy(&lost, &t->pid, sizeof lost);
    return lost;
}

static void empty(const ring *r)
{
    uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = r->page->data_tail;
    taken t;
    while (tail < head) {
        copy_out(r, tail, &t.head, sizeof t.head);
        if (t.head.size < sizeof t.head) break;
        copy_out(r, tail, &t, HB_MIN((size_t)t.head.size, sizeof t));
        if (t.head.type == PERF_RECORD_SAMPLE) keep(&t);
        if (t.head.type == PERF_RECORD_LOST) self.num_lost += lost_of(&t);
        tail += t.head.size;
    }
    __atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

static void drain(void)
{
    for (uint32_t i = 0; i < self.count; i++)
        empty(&self.rings[i]);
}

void hb_samples_drain(void)
{
    if (!hb_bare_lock_try(&self.lock)) return;
    drain();
    hb_bare_lock_give(&self.lock);
}

/* ---- sessions ---- */

static void switch_all(unsigned long to)
{
    for (uint32_t i = 0; i < self.count; i++)
        ioctl(self.rings[i].fd, to, 0);
}

void hb_samples_start(void)
{
    if (!self.count) return;
    hb_bare_lock_take(&self.lock);
    for (uint32_t i = 0; i < self.count; i++) /* of the time before */
        self.rings[i].page->data_tail =
            __atomic_load_n(&self.rings[i].page->data_head, __ATOMIC_ACQUIRE);
    self.num_taken = self.num_lost = 0;
    switch_all(PERF_EVENT_IOC_ENABLE);
    hb_bare_lock_give(&self.lock);
}

static void put_metadata(void)
{
    char text[320];
    if (self.why[0])
        snprintf(text, sizeof text, "{\"hz\": %u, \"refused\": \"%s\"}", self.hz, self.why);
    else
        snprintf(text, sizeof text, "{\"hz\": %u, \"taken\": %llu, \"lost\": %llu}", self.hz,
                 (unsigned long long)self.num_taken, (unsigned long long)self.num_lost);
    hb_record_metadata_entry(hb_strings_intern(HB_METADATA_SAMPLES, sizeof HB_METADATA_SAMPLES - 1),
                             hb_strings_intern(text, strlen(text)));
}

void hb_samples_stop(void)
{
    if (!self.hz) return;
    hb_bare_lock_take(&self.lock);
    if (self.count) {
        switch_all(PERF_EVENT_IOC_DISABLE);
        drain();
    }
    put_metadata();
    hb_bare_lock_give(&self.lock);
}

void hb_samples_after_fork(void)
{
    hb_bare_lock_after_fork(&self.lock);
    close_all();
    self.hz = 0;
    self.why[0] = '\0';
}
