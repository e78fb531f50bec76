/* SPDX-License-Identifier: MIT */
#include "record_outcome.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "capture.h"
#include "mpi_program.h"
#include "rank_digests.h"
#include "text.h"

/* Where the time begins in a trace's name, "<worker>.<time in ns>.pt.trace.json": at the name's
 * begin where no worker stands before it. NULL of another file. */
static const char *time_in_name(const char *name)
{
    const char *time = strstr(name, ".pt.trace.json");
    while (time && time > name && time[-1] != '.')
        time--;
    return time;
}

static bool is_trace_since(const char *name, int64_t start_ns)
{
    const char *time = time_in_name(name);
    return time && strtoll(time, NULL, 10) >= start_ns;
}

static bool is_spool(const char *name)
{
    return name[0] == '.' && ends_with(name, ".hbspool");
}

/* Of the environment that a process's program began with. */
static bool was_told(long pid, const char *name, const char *value)
{
    char path[64], wanted[128], part[65536];
    size_t kept = 0, size = (size_t)snprintf(wanted, sizeof wanted, "%s=%s", name, value) + 1;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/environ", pid);
    FILE *file = fopen(path, "re");
    for (size_t n; file && !found && (n = fread(part + kept, 1, sizeof part - kept, file)) > 0;) {
        size_t all = kept + n;
        found = memmem(part, all, wanted, size) != NULL;
        kept = all < size ? all : size; /* it may lie across two parts */
        memmove(part, part + all - kept, kept);
    }
    if (file) fclose(file);
    return found;
}

/* Spools are named ".<host>_<pid>.<time in ns>.hbspool". */
static long process_of(const char *spool)
{
    const char *pid = NULL;
    for (const char *p = spool; (p = strchr(p, '_'));)
        pid = ++p;
    return pid ? strtol(pid, NULL, 10) : 0;
}

bool run_has_processes(const char *run)
{
    struct dirent *entry;
    bool found = false;
    DIR *list = opendir("/proc");
    while (list && !found && (entry = readdir(list))) {
        long pid = strtol(entry->d_name, NULL, 10);
        found = pid > 0 && pid != getpid() && was_told(pid, CAPTURE_RUN, run);
    }
    if (list) closedir(list);
    return found;
}

/* "<host>_<rank>.<time>.pt.trace.json", not one of a helper's, "<host>_<rank>-<pid>". */
static bool is_of_rank(const char *name, int64_t rank)
{
    const char *time = time_in_name(name);
    if (!time || time == name) return false;
    const char *end = time - 1, *digits = end;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    return digits < end && digits > name && digits[-1] == '_' && strtoll(digits, NULL, 10) == rank;
}

/* ---- what there is ---- */

typedef struct found {
    unsigned spools, traces; /* traces made since then */
    unsigned running;        /* of the spools: of this run's processes */
    hb_rank_study *study;    /* with the digests of the rank's traces; NULL: none */
} found;

int open_written(char name[64])
{
    int fd = memfd_create("hipboard-written", MFD_CLOEXEC);
    name[0] = '\0';
    if (fd >= 0) snprintf(name, 64, "/proc/%d/fd/%d", (int)getpid(), fd);
    return fd;
}

/* ---- what processes have told ---- */

/* From malloc; NULL: nothing. */
static char *read_told(const recorded_run *r)
{
    struct stat st;
    if (r->written < 0 || fstat(r->written, &st) != 0 || st.st_size <= 0) return NULL;
    char *text = malloc((size_t)st.st_size + 1);
    ssize_t n = text ? pread(r->written, text, (size_t)st.st_size, 0) : -1;
    if (n >= 0) text[n] = '\0';
    if (n > 0) return text;
    free(text);
    return NULL;
}

static bool has_digest(const char *told, const char *path)
{
    char line[PATH_MAX + 20];
    snprintf(line, sizeof line, "digest of %s\n", path);
    return told && strstr(told, line) != NULL;
}

/* Whoever wrote a trace has made its digest, but for what was killed, or where that failed. */
static void see_trace(const recorded_run *r, const char *name, const char *told, found *n)
{
    char path[PATH_MAX];
    n->traces++;
    if (!n->study || !is_of_rank(name, r->rank)) return;
    snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 300, r->full_dir, name);
    if (!has_digest(told, path)) add_digest(n->study, path);
}

/* Whatever their names say, these are this run's. */
static void look_at_names(const recorded_run *r, char *told, found *n)
{
    char *next;
    for (char *line = told; line && (next = strchr(line, '\n')); line = next) {
        *next++ = '\0';
        const char *slash = strrchr(line, '/');
        size_t length = slash ? (size_t)(slash - line) : 0;
        bool here = length == strlen(r->full_dir) && strncmp(line, r->full_dir, length) == 0;
        if (here) see_trace(r, slash + 1, next, n);
    }
}

static bool is_alive(long pid)
{
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

/* In a directory of this node's those of ranks that still run are nobody's to recover, for which
 * the whole log directory would be looked through. Elsewhere nothing is known of a process, and one
 * that was killed with the program may still be dying. */
static void look_at_spool(const recorded_run *r, const char *name, bool is_local, found *n)
{
    n->spools += !is_local || r->killed || !is_alive(process_of(name));
    n->running += was_told(process_of(name), CAPTURE_RUN, r->run);
}

static void look_at_directory(const recorded_run *r, const char *dir, const char *told, found *n)
{
    struct dirent *entry;
    DIR *list = opendir(dir);
    bool own = strcmp(dir, r->full_dir) == 0;
    while (list && (entry = readdir(list))) {
        if (is_spool(entry->d_name)) look_at_spool(r, entry->d_name, !own, n);
        if (own && is_trace_since(entry->d_name, r->start_ns)) see_trace(r, entry->d_name, told, n);
    }
    if (list) closedir(list);
}

/* A rank whose program ended by itself lists nothing of the job's directory: of a job's thousand
 * each would list what all have written. */
static found look_into(const recorded_run *r)
{
    found n = {0};
    char place[PATH_MAX];
    bool elsewhere = hb_spool_directory(r->full_dir, place, sizeof place) == HB_OK &&
                     strcmp(place, r->full_dir) != 0;
    char *told = read_told(r);
    if (r->rank >= 0 && r->digest_dir) (void)hb_rank_study_create(NULL, &n.study);
    if (r->rank >= 0 && !r->killed) look_at_names(r, told, &n);
    if (n.traces == 0) look_at_directory(r, r->full_dir, told, &n);
    if (elsewhere) look_at_directory(r, place, told, &n);
    free(told);
    if (elsewhere && r->rank <= 0 && n.spools == 0) (void)rmdir(place); /* if it is empty */
    return n;
}

/* Where the promise of recover ends has to be known before something is killed. */
void tell_spool_place(const recorded_run *r)
{
    char place[PATH_MAX];
    if (r->quiet || !r->speaks) return;
    if (hb_spool_directory(r->full_dir, place, sizeof place) != HB_OK) return;
    if (strcmp(place, r->full_dir) == 0) return;
    fprintf(stderr,
            "hipboard: what is recorded is kept in %s of each node until it is a trace; what a "
            "killed job leaves there is lost with the node's files: hipboard recover%s%s %s, on "
            "that node\n",
            place, getenv("HIPBOARD_SPOOL") ? " --spool " : "",
            getenv("HIPBOARD_SPOOL") ? getenv("HIPBOARD_SPOOL") : "", r->dir);
}

static void report_recovered(const hb_recovered *r, void *unused)
{
    (void)unused;
    if (!r->trace) fprintf(stderr, "hipboard: %s: %s\n", r->spool, text_behind(r->error, r->spool));
}

/* Whether the file is an ELF program that no loader takes part in. */
static bool is_static(const char *path)
{
    bool is = false;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || (size_t)st.st_size < sizeof(Elf64_Ehdr)) {
        if (fd >= 0) close(fd);
        return false;
    }
    const char *base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (base == MAP_FAILED) return false;
    const Elf64_Ehdr *h = (const void *)base;
    size_t headers = (size_t)h->e_phnum * sizeof(Elf64_Phdr);
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
        h->e_phoff <= (size_t)st.st_size && headers <= (size_t)st.st_size - h->e_phoff) {
        const Elf64_Phdr *p = (const void *)(base + h->e_phoff);
        is = h->e_phnum > 0;
        for (int i = 0; i < h->e_phnum; i++)
            is = is && p[i].p_type != PT_INTERP;
    }
    munmap((void *)(uintptr_t)base, (size_t)st.st_size);
    return is;
}

/* Whether the kernel gives it rights that its caller has not: the loader then loads nothing of the
 * caller's into it. */
static bool has_other_rights(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return false;
    return ((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
           ((st.st_mode & S_ISGID) && st.st_gid != getgid()) ||
           (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

static const char *why_nothing(const char *program)
{
    char path[PATH_MAX];
    find_program(program, path);
    if (is_static(path)) return "it is statically linked, so that nothing can be loaded into it";
    if (has_other_rights(path))
        return "it runs with other rights than yours (setuid, setgid or capabilities), so that "
               "nothing can be loaded into it; record it as the user that it runs as";
    return "while it was recorded it made no HIP call, called no library whose calls are operators "
           "and marked nothing by roctx or hipboard, or its processes could not write there and "
           "have "
           "said so; `hipboard info` says what can be captured here";
}

static void explain_nothing(const char *program)
{
    fprintf(stderr, "hipboard: nothing was recorded of %s: %s\n", program, why_nothing(program));
}

/* ---- libraries that are part of the program ---- */

typedef struct linked_in {
    char first[100];
    unsigned count;
} linked_in;

static void count_linked_in(void *context, const hb_known_operator *known)
{
    linked_in *l = context;
    if (!known->linked_in) return;
    if (l->count++ == 0) snprintf(l->first, sizeof l->first, "%s", known->symbol);
}

static void tell_of_linked_in(const recorded_run *r, const char *program)
{
    char path[PATH_MAX];
    linked_in l = {"", 0};
    if (r->quiet || !r->operators) return;
    find_program(program, path);
    (void)hb_known_operators(path, r->operators, count_linked_in, &l);
    if (!l.count) return;
    fprintf(stderr,
            "hipboard: %u function%s whose calls are operators %s linked into %s itself, as %s: "
            "such calls are not seen (hipboard info --ops)\n",
            l.count, plural(l.count), l.count == 1 ? "is" : "are", program, l.first);
}

void tell_outcome(const recorded_run *r, const char *program)
{
    found n = look_into(r);
    /* Of processes that were killed; those of others that still run are left alone. */
    if (n.spools) {
        (void)hb_recover(r->full_dir, r->export_flags | HB_SKIP_EMPTY, report_recovered, NULL);
        hb_rank_study_destroy(n.study);
        n = look_into(r);
    }
    /* Where that cannot be done `hipboard ranks` reads the traces, so nothing is said. */
    if (n.study) (void)keep_digests(n.study, r->digest_dir);
    hb_rank_study_destroy(n.study);
    unsigned traces = n.traces;
    if (!r->speaks) return;
    if (traces) tell_of_linked_in(r, program);
    /* A child that was forked just before the end may have no records yet. */
    if (traces == 0 && (n.running || run_has_processes(r->run)))
        fprintf(stderr,
                "hipboard: %s has ended, and left processes; their traces come at their ends\n",
                program);
    else if (traces == 0 && r->waits_to_be_asked)
        fprintf(stderr, "hipboard: nothing was recorded of %s: see `hipboard trigger`\n", program);
    else if (traces == 0)
        explain_nothing(program);
    else if (!r->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "hipboard: %u trace%s in %s; look at %s with: tensorboard --logdir %s\n",
                traces, plural(traces), r->dir, traces == 1 ? "it" : "them", r->dir);
}
