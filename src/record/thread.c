/* SPDX-License-Identifier: MIT */
#include "record/thread.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/record.h"

bool hb_heavy_fence = true;
__thread hb_thread *hb_thread_tls __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t lost_memory; /* of threads that have no state */

static _Atomic(hb_thread *) all_threads;
static _Atomic uint32_t last_number;
static pthread_key_t exit_key;

/* A page that the system zeroes in any child. Where it can't, fork()'s handlers have to do. */
static uint32_t *records_here;

static void wipe_on_fork(void *memory, size_t bytes)
{
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
    (void)madvise(memory, bytes, MADV_WIPEONFORK);
}

static void make_mark(void)
{
    static uint32_t unwiped;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) wipe_on_fork(p, page);
    records_here = p == MAP_FAILED ? &unwiped : p;
}

bool hb_process_records(void)
{
    return __atomic_load_n(records_here, __ATOMIC_RELAXED);
}

void hb_process_record(void)
{
    __atomic_store_n(records_here, 1, __ATOMIC_RELAXED);
}

/* A scope that its thread died in ends now. */
static void thread_exits(void *arg)
{
    hb_thread *t = arg;
    hb_record_close_all(t);
    hb_thread_tls = NULL;
    atomic_store_explicit(&t->dead, true, memory_order_release);
}

void hb_threads_init(void)
{
    make_mark();
    pthread_key_create(&exit_key, thread_exits);
    hb_heavy_fence = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
}

static hb_thread *reuse_dead(void)
{
    for (hb_thread *t = atomic_load(&all_threads); t; t = t->next) {
        bool dead = true;
        if (atomic_compare_exchange_strong(&t->dead, &dead, false)) return t;
    }
    return NULL;
}

/* Perhaps for a signal handler that interrupted malloc(). */
static hb_thread *allocate(void)
{
    void *p =
        mmap(NULL, sizeof(hb_thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (page <= offsetof(hb_thread, number)) wipe_on_fork(p, page);
    return p;
}

HB_COLD hb_thread *hb_thread_create(void)
{
    hb_thread *t = reuse_dead();
    bool is_new = t == NULL;
    if (is_new) t = allocate();
    if (!t) {
        atomic_fetch_add(&lost_memory, 1);
        return NULL;
    }
    /* A dead thread's losses in the present session still count: lost[] is kept until the next. */
    t->pos = t->end = NULL;
    t->chunk = NULL;
    t->depth = 0;
    t->name[0] = '\0';
    t->number = atomic_fetch_add(&last_number, 1) + 1;
    t->tid = (int64_t)syscall(SYS_gettid);
    if (is_new) {
        hb_thread *head = atomic_load(&all_threads);
        do
            t->next = head;
        while (!atomic_compare_exchange_weak(&all_threads, &head, t));
    }
    pthread_setspecific(exit_key, t);
    hb_thread_tls = t;
    return t;
}

void hb_threads_quiesce(void)
{
#ifdef HB_TSAN
    atomic_thread_fence(memory_order_seq_cst);
#else
    if (!hb_heavy_fence)
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    else
        atomic_thread_fence(memory_order_seq_cst);
#endif
    for (hb_thread *t = atomic_load(&all_threads); t; t = t->next)
        while (t != hb_thread_tls && atomic_load(&t->busy))
            sched_yield();
}

void hb_threads_add_lost(uint32_t epoch, uint64_t lost[HB_LOST_CAUSES])
{
    for (hb_thread *t = atomic_load(&all_threads); t; t = t->next)
        for (int i = 0; t->epoch == epoch && i < HB_LOST_CAUSES; i++)
            lost[i] += t->lost[i];
    lost[HB_LOST_MEMORY] += atomic_exchange(&lost_memory, 0);
}

void hb_threads_after_fork(void)
{
    for (hb_thread *t = atomic_load(&all_threads); t; t = t->next) {
        atomic_store(&t->busy, 0);
        t->epoch = 0;
        if (t != hb_thread_tls) atomic_store(&t->dead, true);
    }
    if (hb_thread_tls) hb_thread_tls->tid = (int64_t)syscall(SYS_gettid);
}

uint64_t hb_thread_number(void)
{
    hb_record_init();
    hb_thread *t = hb_thread_self();
    return t ? t->number : 0;
}

void hb_thread_name(const char *name)
{
    hb_record_init();
    hb_thread *t = hb_thread_self();
    if (!t || !name) return;
    if (!hb_thread_enter(t)) return;
    strncpy(t->name, name, sizeof t->name - 1);
    strncpy(t->name, name, sizeof t->name - 1);
    hb_record_rename_thread(t);
    hb_thread_leave(t);
    hb_thread_leave(t);
}
