/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/guard.h"
#include "base/lock.h"
#include "base/thread_start.h"

/* ---- whose memory this is ---- */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* A page that the kernel empties in every child that gets a copy of this memory. */
typedef struct page {
    uint32_t ours; /* 1 */
    uint32_t word; /* a room's: reads 0 in such a child */
} page;

static page *wiped;

static void make_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    if (madvise(p, size, MADV_WIPEONFORK) != 0) { /* Linux < 4.14 */
        munmap(p, size);
        return;
    }
    wiped = p;
    wiped->ours = 1;
}

/* False in children that no fork handler prepared: made by _Fork() or clone(). */
static bool is_our_process(void)
{
    return !wiped || __atomic_load_n(&wiped->ours, __ATOMIC_RELAXED);
}

/* ---- fork ---- */

static hb_fork_room fork_rooms[HB_FORK_ROOMS];

static void before_fork(void)
{
    hb_locks_fork_begins();
    for (int i = 0; i < HB_FORK_ROOMS; i++)
        if (fork_rooms[i].before) fork_rooms[i].before();
}

static void in_parent(void)
{
    for (int i = HB_FORK_ROOMS; i-- > 0;)
        if (fork_rooms[i].in_parent) fork_rooms[i].in_parent();
    hb_locks_fork_ends();
}

static void in_child(void)
{
    if (wiped) wiped->ours = 1;
    hb_guard_in_child();
    for (int i = HB_FORK_ROOMS; i-- > 0;)
        if (fork_rooms[i].in_child) fork_rooms[i].in_child();
    hb_locks_fork_ends();
}

static void set_up(void)
{
    make_page();
    pthread_atfork(before_fork, in_parent, in_child);
}

static void set_up_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up);
}

uint32_t *hb_process_word(void)
{
    set_up_once();
    return wiped ? &wiped->word : NULL;
}

void hb_process_at_fork(enum hb_fork_order order, hb_fork_room room)
{
    set_up_once();
    fork_rooms[order] = room;
}

/* ---- exit ---- */

static void (*exit_rooms[HB_EXIT_ROOMS])(void);
static bool (*interrupted)(void);

static void run(void *room)
{
    (*(void (**)(void))room)();
}

static void at_exit(void)
{
    if (!is_our_process() || hb_guard_is_inside() || hb_guard_has_left()) return;
    if (interrupted && interrupted()) return;
    hb_guard_exits(true); /* for good: what the program's own handlers call later waits no longer */
    for (int i = 0; i < HB_EXIT_ROOMS; i++)
        if (exit_rooms[i]) (void)hb_guard_call(run, &exit_rooms[i]);
}

/* Asked for anew with each room, to come before what was asked for until then: so the first does
 * all, and the others find little to do. */
void hb_process_at_exit(enum hb_exit_order order, void (*fn)(void))
{
    set_up_once();
    exit_rooms[order] = fn;
    atexit(at_exit);
}

void hb_process_interrupted_when(bool (*fn)(void))
{
    interrupted = fn;
}

/* ---- the last thread ---- */

static bool read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* A process whose first thread has ended is shown as a zombie while others go on. */
static bool main_thread_has_ended(void)
{
    char text[256];
    if (!read_file("/proc/self/stat", text, sizeof text)) return false;
    const char *after_name = strrchr(text, ')');
    return after_name && strncmp(after_name, ") Z", 3) == 0;
}

static bool is_thread_of_ours(const char *tid)
{
    char path[64], name[32];
    int n = snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", tid);
    if (n >= (int)sizeof path || !read_file(path, name, sizeof name)) return false;
    return strncmp(name, HB_THREAD_PREFIX, strlen(HB_THREAD_PREFIX)) == 0;
}

static bool only_ours_are_left(void)
{
    char main_thread[32];
    const struct dirent *entry;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return false;
    snprintf(main_thread, sizeof main_thread, "%d", (int)getpid());
    bool ours = true;
    while (ours && (entry = readdir(tasks)))
        ours = entry->d_name[0] == '.' || strcmp(entry->d_name, main_thread) == 0 ||
               is_thread_of_ours(entry->d_name);
    closedir(tasks);
    return ours;
}

/* As the C library does when the last thread has ended. */
static void *end_program(void *unused)
{
    (void)unused;
    hb_background_takes_signals();
    exit(0);
}

/* On a thread of its own: what is to be done at exit waits for the others. */
void hb_process_end_if_over(void)
{
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    pthread_t thread;
    if (!main_thread_has_ended() || !only_ours_are_left() || atomic_flag_test_and_set(&ending))
        return;
    if (hb_background_thread(&thread, "end", end_program, NULL) == 0)
        pthread_detach(thread);
    else
        atomic_flag_clear(&ending); /* next time */
}
