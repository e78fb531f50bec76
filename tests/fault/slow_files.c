/* SPDX-License-Identifier: MIT
 *
 * What a program that is recorded notices of a disk that takes 700 ms for each call, beside the
 * same program on one that does not: nothing. No thread of the program's may make a file call while
 * it records, as counted by who answers the calls; times are printed.
 *
 *     slow_files [MILLISECONDS]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

enum { THREADS = 4, STEPS = 10, SCOPES = 2000, MOST_WAITING = 256 };
enum { FLOOD = 2000000, MOST_BYTES = 16 << 20 };

typedef struct worst {
    long scope_ns, scalar_ns, step_ns;
} worst;

/* Of both processes. */
static struct shared {
    _Atomic int listener, recording[THREADS + 1];
    worst worst[THREADS + 1];
    long calls, by_recording, first_bad, over_limit, lost_otherwise;
} * shared;

static long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "slow_files: %s: %s\n", what, errno ? strerror(errno) : hb_last_error());
    exit(2);
}

/* ---- the program ---- */

static void keep_worst(long *worst_ns, long since_ns)
{
    long took = now_ns() - since_ns;
    if (took > *worst_ns) *worst_ns = took;
}

static void record(worst *w, int n)
{
    long since = now_ns();
    hb_scope s = hb_record_function("slow scope");
    hb_scope_end(&s);
    keep_worst(&w->scope_ns, since);
    since = now_ns();
    hb_scalar("value", n);
    keep_worst(&w->scalar_ns, since);
}

static atomic_int ready;

/* The first of each counts for nothing: it may make the thread known and the event file. */
static void *record_all(void *arg)
{
    int id = (int)(long)arg;
    worst first = {0};
    record(&first, 0);
    atomic_store(&shared->recording[id], gettid());
    atomic_fetch_add(&ready, 1);
    for (int i = 1; i < STEPS * SCOPES; i++) {
        record(&shared->worst[id], i);
        if (i % 100 == 0) usleep(20000); /* the machine has other threads to run */
    }
    atomic_store(&shared->recording[id], 0);
    return NULL;
}

static hb_profiler *start(hb_profiler_options *o, const char *dir)
{
    o->activities = HB_ACTIVITY_CPU;
    o->on_trace_ready = hb_tensorboard_trace_handler(dir, "slow", 0);
    hb_profiler *prof = hb_profiler_create(o);
    errno = 0;
    if (!prof || hb_profiler_start(prof) != HB_OK) die("start");
    return prof;
}

/* More at once than max_record_bytes holds, for a disk that takes none of it meanwhile: what does
 * not fit is counted, and only that is lost. */
static int flood(const char *dir)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hb_lost lost = {.struct_size = sizeof lost};
    o.max_record_bytes = MOST_BYTES;
    hb_profiler *prof = start(&o, dir);
    for (long i = 0; i < FLOOD; i++) {
        hb_scope s = hb_record_function("slow scope");
        hb_scope_end(&s);
    }
    if (hb_profiler_stop(prof) != HB_OK || hb_profiler_lost(prof, &lost) != HB_OK) die("stop");
    shared->over_limit = (long)lost.buffer_full;
    shared->lost_otherwise = (long)(lost.reentrant + lost.memory + lost.interrupted);
    hb_profiler_destroy(prof);
    return 0;
}

static int program(const char *dir)
{
    pthread_t threads[THREADS];
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    hb_profiler *prof = start(&o, dir);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, record_all, (void *)i) != 0) die("a thread");
    while (atomic_load(&ready) < THREADS)
        usleep(1000);
    atomic_store(&shared->recording[THREADS], gettid());
    for (int i = 0; i < STEPS; i++) {
        usleep(400000);
        long since = now_ns();
        if (hb_profiler_step(prof) != HB_OK) die("step");
        keep_worst(&shared->worst[THREADS].step_ns, since);
    }
    atomic_store(&shared->recording[THREADS], 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (hb_profiler_stop(prof) != HB_OK) die("stop");
    hb_profiler_destroy(prof);
    return 0;
}

/* ---- who answers its calls ---- */

#define ASK(call)                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)

/* Of this thread and all that it will start. */
static int ask_about_file_calls(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ASK(read),
        ASK(write),
        ASK(open),
        ASK(openat),
        ASK(close),
        ASK(stat),
        ASK(fstat),
        ASK(lstat),
        ASK(newfstatat),
        ASK(statx),
        ASK(lseek),
        ASK(pread64),
        ASK(pwrite64),
        ASK(readv),
        ASK(writev),
        ASK(access),
        ASK(faccessat),
        ASK(faccessat2),
        ASK(fcntl),
        ASK(flock),
        ASK(fsync),
        ASK(fdatasync),
        ASK(truncate),
        ASK(ftruncate),
        ASK(fallocate),
        ASK(getdents64),
        ASK(rename),
        ASK(renameat),
        ASK(renameat2),
        ASK(link),
        ASK(linkat),
        ASK(unlink),
        ASK(unlinkat),
        ASK(mkdir),
        ASK(mkdirat),
        ASK(fchmod),
        ASK(chmod),
        ASK(fchown),
        ASK(readlink),
        ASK(readlinkat),
        ASK(statfs),
        ASK(fstatfs),
        ASK(dup),
        ASK(dup3),
        ASK(copy_file_range),
        ASK(sendfile),
        ASK(msync),
        ASK(utimensat),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &filter);
}

typedef struct waiting {
    uint64_t id;
    long until_ns;
} waiting;

static bool is_recording(pid_t thread)
{
    for (int i = 0; i <= THREADS; i++)
        if (atomic_load(&shared->recording[i]) == thread) return true;
    return false;
}

static void count(const struct seccomp_notif *call)
{
    shared->calls++;
    if (!is_recording((pid_t)call->pid)) return;
    shared->by_recording++;
    if (shared->by_recording == 1) shared->first_bad = call->data.nr;
}

/* All wait equally long, so they go on in the order in which they came. */
static void answer(int listener, pid_t child, long delay_ns)
{
    waiting queue[MOST_WAITING];
    int n = 0, status;
    for (;;) {
        struct pollfd p = {listener, POLLIN, 0};
        long left = n ? (queue[0].until_ns - now_ns()) / 1000000 : 50;
        int came = poll(&p, 1, left < 0 ? 0 : (int)left);
        struct seccomp_notif call = {0};
        if (came > 0 && (p.revents & POLLIN) && n < MOST_WAITING &&
            ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) {
            count(&call);
            queue[n++] = (waiting){call.id, now_ns() + delay_ns};
        }
        while (n && queue[0].until_ns <= now_ns()) {
            struct seccomp_notif_resp go_on = {.id = queue[0].id,
                                               .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
            ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
            memmove(queue, queue + 1, (size_t)--n * sizeof *queue);
        }
        if (waitpid(child, &status, WNOHANG) != child) continue;
        errno = 0;
        if (status != 0) die("the program failed");
        return;
    }
}

static void run(int (*what)(const char *), const char *dir, long delay_ns)
{
    memset(shared, 0, sizeof *shared);
    atomic_store(&shared->listener, -1);
    pid_t child = fork();
    if (child == 0) {
        int listener = ask_about_file_calls();
        atomic_store(&shared->listener, listener < 0 ? -2 : listener);
        exit(listener < 0 ? 2 : what(dir));
    }
    while (atomic_load(&shared->listener) == -1)
        usleep(1000);
    int of_child = (int)syscall(SYS_pidfd_open, child, 0);
    int listener = (int)syscall(SYS_pidfd_getfd, of_child, atomic_load(&shared->listener), 0);
    if (listener < 0) die("asking about system calls is not possible here");
    answer(listener, child, delay_ns);
    close(listener);
    close(of_child);
}

/* ---- what came of it ---- */

static long scopes_in(const char *dir)
{
    char command[512];
    long n = -1;
    snprintf(command, sizeof command, "cat %s/*.pt.trace.json | grep -o '\"slow scope\"' | wc -l",
             dir);
    FILE *f = popen(command, "r");
    if (!f || fscanf(f, "%ld", &n) != 1) n = -1;
    if (f) pclose(f);
    return n;
}

static bool report(const char *what, const char *dir)
{
    worst w = shared->worst[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (shared->worst[i].scope_ns > w.scope_ns) w.scope_ns = shared->worst[i].scope_ns;
        if (shared->worst[i].scalar_ns > w.scalar_ns) w.scalar_ns = shared->worst[i].scalar_ns;
    }
    long found = scopes_in(dir), made = (long)THREADS * STEPS * SCOPES;
    printf(
        "%-16s %6ld file calls, %ld of threads that record; worst scope %.2f ms, scalar %.2f ms, "
        "step %.2f ms; %ld of %ld scopes in the traces\n",
        what, shared->calls, shared->by_recording, (double)w.scope_ns / 1e6,
        (double)w.scalar_ns / 1e6, (double)w.step_ns / 1e6, found, made);
    if (shared->by_recording) printf("the first was system call %ld\n", shared->first_bad);
    return shared->by_recording == 0 && found == made;
}

static bool report_flood(const char *what, const char *dir)
{
    long found = scopes_in(dir);
    printf("%-16s %d scopes with max_record_bytes = %d: %ld in the trace, %ld over it, %ld lost "
           "otherwise\n",
           what, FLOOD, MOST_BYTES, found, shared->over_limit, shared->lost_otherwise);
    return found + shared->over_limit == FLOOD && shared->lost_otherwise == 0;
}

static bool try_it(const char *what, int (*run_it)(const char *), long delay_ns,
                   bool (*report_it)(const char *, const char *))
{
    char dir[] = "/tmp/hipboard-slow-XXXXXX", command[200];
    if (!mkdtemp(dir)) die("a directory");
    run(run_it, dir, delay_ns);
    bool good = report_it(what, dir);
    fflush(stdout);
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) == 0 && good;
}

int main(int argc, char **argv)
{
    long delay_ns = (argc > 1 ? atol(argv[1]) : 700) * 1000000;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) die("memory");
    bool good = try_it("as it is", program, 0, report);
    good = try_it("each call slow", program, delay_ns, report) && good;
    good = try_it("too much at once", flood, delay_ns, report_flood) && good;
    return good ? 0 : 1;
}
