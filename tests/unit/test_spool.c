/* SPDX-License-Identifier: MIT
 *
 * What processes leave is recovered: all of it, once, whatever the file has become meanwhile.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>
#include <zlib.h>

#include <cmocka.h>
#include <hipboard/analysis.h>
#include <hipboard/hipboard.h>

#include "forks_with_threads.h"
#include "record/codec.h"
#include "record/session.h"
#include "test_dir.h"
#include "written_trace.h"

/* ---- helpers ---- */

static int count_files(const char *ending, char *path)
{
    int n = 0;
    DIR *list = opendir(dir);
    for (struct dirent *e; (e = readdir(list));) {
        size_t have = strlen(e->d_name), want = strlen(ending);
        if (have < want || strcmp(e->d_name + have - want, ending) != 0) continue;
        if (path) snprintf(path, PATH_MAX, "%s/%s", dir, e->d_name);
        n++;
    }
    closedir(list);
    return n;
}

static void remove_traces(void)
{
    char path[PATH_MAX];
    while (count_files(".pt.trace.json", path))
        unlink(path);
    while (count_files(".hbspool", path))
        unlink(path);
}

static cJSON *only_trace(void)
{
    char path[PATH_MAX];
    assert_int_equal(count_files(".pt.trace.json", path), 1);
    return load_trace(path);
}

static hb_profiler *start(const char *worker)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, worker, 0);
    o.with_modules = o.profile_memory = true;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

/* `program` in a child that is killed when it returns. */
static void killed(void (*program)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        program();
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
}

static void read_file(const char *path, hb_buf *bytes)
{
    gzFile f = gzopen(path, "rb");
    assert_non_null(f);
    hb_buf_init(bytes, (size_t)1 << 30);
    char block[65536];
    for (int n; (n = gzread(f, block, sizeof block)) > 0;)
        hb_buf_append(bytes, block, (size_t)n);
    gzclose(f);
}

static void write_spool(const hb_buf *bytes, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.%s.hbspool", dir, name);
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, f), bytes->size);
    fclose(f);
}

static void put32(hb_buf *bytes, size_t offset, uint32_t value)
{
    memcpy(bytes->data + offset, &value, sizeof value);
}

static uint32_t get32(const hb_buf *bytes, size_t offset)
{
    uint32_t value;
    memcpy(&value, bytes->data + offset, sizeof value);
    return value;
}

/* ---- version 2 ---- */

static void a_spool_of_version_2_is_recovered(void **state)
{
    (void)state;
    hb_buf bytes;
    read_file(TEST_DATA "/spool_v2.hbspool.gz", &bytes);
    write_spool(&bytes, "old");
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *t = only_trace();
    assert_int_equal(count_named(t, "survivor"), 10);
    assert_int_equal(count_named(t, "filler"), 2999 + 1);
    assert_int_equal(count_named(t, "nn.Module: KilledNet_0"), 10);
    assert_int_equal(count_named(t, "nn.Module: Linear_0"), 10);
    assert_int_equal(count_named(t, "[memory]"), 10);
    assert_int_equal(count_named(t, "load"), 5);
    assert_int_equal(count_named(t, "open at the end"), 1);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(t, "note")),
                        "made before the end");
    cJSON_Delete(t);
    hb_buf_free(&bytes);
    assert_int_equal(count_files(".hbspool", NULL), 0);
}

/* Where version 2 has its lists: in the header, of sessions and of names; in chunks, the next of a
 * thread and the next thread. */
static void lists_that_lead_astray_end(void **state)
{
    (void)state;
    enum { CHUNK = 65536, FIRST_SESSION = 92, NEXT = 12, NEXT_THREAD = 16, OLDER = 4, HEADER = 80 };
    for (int far = 0; far < 2; far++) { /* in circles, or out of the file */
        hb_buf bytes;
        read_file(TEST_DATA "/spool_v2.hbspool.gz", &bytes);
        uint32_t session = get32(&bytes, FIRST_SESSION);
        assert_in_range(session, 1, bytes.size / CHUNK - 1);
        put32(&bytes, session * CHUNK + HEADER + OLDER, far ? UINT32_MAX - 15 : session);
        for (uint32_t i = 1; i < bytes.size / CHUNK; i++) {
            put32(&bytes, i * CHUNK + NEXT, far ? UINT32_MAX - 15 : i);
            put32(&bytes, i * CHUNK + NEXT_THREAD, far ? UINT32_MAX - 15 : i);
        }
        write_spool(&bytes, "astray");
        assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
        cJSON *t = only_trace();
        assert_in_range(count_named(t, "survivor"), 0, 10);
        cJSON_Delete(t);
        hb_buf_free(&bytes);
        remove_traces();
    }
}

/* A chunk that the list of another kind leads to is no part of it. */
static void chunks_of_another_kind_are_not_read(void **state)
{
    (void)state;
    enum { CHUNK = 65536, KIND = 0, NEXT = 12, EVENTS = 1 };
    hb_buf bytes;
    uint32_t changed = 0;
    read_file(TEST_DATA "/spool_v2.hbspool.gz", &bytes);
    for (uint32_t i = 1; i < bytes.size / CHUNK; i++) {
        uint32_t next = get32(&bytes, i * CHUNK + NEXT);
        if (get32(&bytes, i * CHUNK + KIND) != EVENTS || !next) continue;
        put32(&bytes, next * CHUNK + KIND, 77);
        changed++;
    }
    assert_in_range(changed, 1, bytes.size / CHUNK - 1);
    write_spool(&bytes, "changed");
    hb_buf_free(&bytes);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *t = only_trace();
    assert_in_range(count_named(t, "filler"), 1, 2999);
    cJSON_Delete(t);
    remove_traces();
}

/* ---- version 4 ---- */

static int count_with(const cJSON *trace, const char *name, const char *dims)
{
    int n = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        const cJSON *args = cJSON_GetObjectItem(event, "args");
        char *text = cJSON_PrintUnformatted(cJSON_GetObjectItem(args, "Input Dims"));
        n += text && strcmp(text_of(event, "name"), name) == 0 && strcmp(text, dims) == 0;
        cJSON_free(text);
    }
    return n;
}

/* All inputs stand in it in full. */
static void a_spool_of_version_4_is_recovered(void **state)
{
    (void)state;
    hb_buf bytes;
    read_file(TEST_DATA "/spool_v4.hbspool.gz", &bytes);
    write_spool(&bytes, "old");
    hb_buf_free(&bytes);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *t = only_trace();
    assert_int_equal(count_with(t, "aten::mm", "[[64,32],[32,8]]"), 1000);
    assert_int_equal(count_with(t, "aten::mm", "[[64,16],[16,8]]"), 1000);
    assert_int_equal(count_with(t, "aten::add", "[[64,8],[],[]]"), 2000);
    assert_int_equal(count_with(t, "aten::conv2d", "[[1,3,8,8],[]]"), 2000);
    cJSON_Delete(t);
    remove_traces();
}

/* ---- the present version ---- */

enum { SCOPES = 20000 };

static void record_some(void)
{
    hb_profiler *prof = start("victim");
    hb_module net = hb_module_create("Net");
    hb_profiler_add_metadata(prof, "note", "kept");
    HB_MODULE(net) {
        for (int i = 0; i < SCOPES; i++)
            HB_RECORD_FUNCTION("survivor") {
                if (i % 100 == 0) hb_memory_alloc(HB_DEVICE_CPU, 0, &i, 100);
            }
    }
    hb_record_function("open at the end");
}

static void records_in_the_log_and_in_chunks_are_recovered(void **state)
{
    (void)state;
    killed(record_some);
    char path[PATH_MAX];
    struct stat st;
    assert_int_equal(count_files(".hbspool", path), 1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *t = only_trace();
    assert_int_equal(count_named(t, "survivor"), SCOPES);
    assert_int_equal(count_named(t, "[memory]"), SCOPES / 100);
    assert_int_equal(count_named(t, "nn.Module: Net_0"), 1);
    assert_int_equal(count_named(t, "open at the end"), 1);
    cJSON_Delete(t);
    assert_int_equal(count_files(".hbspool", NULL), 0);
}

static uint64_t seed = 1;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Some bytes are others, or the end is missing: what is written is JSON, and no more than there
 * was. Both results come: traces, and files in which nothing is found. */
static void damaged_spools_do_not_crash_recovery(void **state)
{
    (void)state;
    enum { ROUNDS = 60 / FEWER };
    char path[PATH_MAX];
    hb_buf whole;
    killed(record_some);
    assert_int_equal(count_files(".hbspool", path), 1);
    read_file(path, &whole);
    int traces = 0, complete = 0;
    for (int round = 0; round < ROUNDS; round++) {
        remove_traces();
        hb_buf bytes;
        hb_buf_init(&bytes, whole.max);
        hb_buf_append(&bytes, whole.data, whole.size);
        for (int i = 0; i < 8; i++) {
            /* Mostly where headers are. */
            size_t at = random_below((uint32_t)(whole.size / 4096)) * 4096 + random_below(400);
            if (at < bytes.size && round % 4) bytes.data[at] ^= (char)(1 + random_below(255));
        }
        if (round % 4 == 0) bytes.size = random_below((uint32_t)whole.size);
        write_spool(&bytes, "damaged");
        (void)hb_recover(dir, 0, NULL, NULL);
        if (count_files(".pt.trace.json", NULL)) {
            cJSON *t = only_trace();
            int n = count_named(t, "survivor");
            assert_in_range(n, 0, SCOPES);
            traces++;
            complete += n == SCOPES;
            cJSON_Delete(t);
        }
        hb_buf_free(&bytes);
    }
    hb_buf_free(&whole);
    assert_in_range(traces, ROUNDS / 4, ROUNDS);
    assert_in_range(complete, 1, ROUNDS - 1);
    remove_traces();
}

static int failing_read, reads; /* the n-th of the process's; 0: none */

/* In place of the C library's, also for hipboard: the disk, or the server, does not answer. */
ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    if (++reads == failing_read) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, to, size, at);
}

static atomic_int segments_written; /* of records, by the spool's writer */

/* In place of the C library's. */
ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
    const hb_segment *segment = from;
    ssize_t n = syscall(SYS_pwrite64, fd, from, size, at);
    if (size > sizeof *segment && segment->magic == HB_SEGMENT_MAGIC &&
        segment->kind == HB_SEGMENT_EVENTS && n == (ssize_t)size)
        atomic_fetch_add(&segments_written, 1);
    return n;
}

/* What the writer did not come to yet is read where it was recorded: in memory. */
static void record_until_it_must_be_read_back(int scopes)
{
    enum { ENOUGH = 4 };
    atomic_store(&segments_written, 0);
    for (int i = 0; i < scopes; i++)
        HB_RECORD_FUNCTION("survivor") {
        }
    for (int ms = 0; ms < 60000 && atomic_load(&segments_written) < ENOUGH; ms++)
        usleep(1000);
    assert_true(atomic_load(&segments_written) >= ENOUGH);
}

static void put_old_spool(const hb_buf *bytes)
{
    char path[PATH_MAX];
    struct utimbuf long_ago = {1000000000, 1000000000};
    remove_traces();
    write_spool(bytes, "unread");
    assert_int_equal(count_files(".hbspool", path), 1);
    assert_int_equal(utime(path, &long_ago), 0);
}

static void note_failure(const hb_recovered *r, void *arg)
{
    assert_int_equal(r->result, HB_ERROR_IO);
    assert_non_null(strstr(r->error, strerror(EIO)));
    ++*(int *)arg;
}

/* Whichever read fails: what is there is not taken for damaged, or for nothing, and removed. */
static void what_cannot_be_read_is_kept(void **state)
{
    (void)state;
    enum { MOST_ROUNDS = 8 };
    char path[PATH_MAX];
    hb_buf whole;
    killed(record_some);
    assert_int_equal(count_files(".hbspool", path), 1);
    read_file(path, &whole);
    put_old_spool(&whole);
    reads = 0;
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    int all = reads, step = HB_MAX(1, all / MOST_ROUNDS);
    assert_true(all > 5);
    for (int n = 1; n <= all; n += n < 10 ? 1 : step) {
        int failures = 0;
        put_old_spool(&whole);
        reads = 0;
        failing_read = n;
        hb_result result = hb_recover(dir, 0, note_failure, &failures);
        failing_read = 0;
        if (result != HB_ERROR_IO || failures != 1 || count_files(".hbspool", NULL) != 1 ||
            count_files(".pt.trace.json", NULL) != 0)
            fail_msg("read %d of %d: %d, %d failures told", n, all, result, failures);
        assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
        cJSON *t = only_trace();
        assert_int_equal(count_named(t, "survivor"), SCOPES);
        cJSON_Delete(t);
    }
    remove_traces();
    hb_buf_free(&whole);
}

static bool count_survivors(const hb_event *event, void *arg)
{
    *(int *)arg += strcmp(event->name, "survivor") == 0;
    return true;
}

/* Of what is asked of a cycle that was saved. */
static void an_answer_without_what_cannot_be_read_back_is_an_error(void **state)
{
    (void)state;
    enum { MANY = 60000 };
    char path[PATH_MAX];
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = dir;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    record_until_it_must_be_read_back(MANY);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    snprintf(path, sizeof path, "%s/t.pt.trace.json", dir);
    for (int failing = 1; failing >= 0; failing--) {
        hb_trace_file *file = NULL;
        hb_key_averages *averages = NULL;
        int found = 0;
        hb_result expected = failing ? HB_ERROR_IO : HB_OK;
        failing_read = failing * 2, reads = 0;
        assert_int_equal(hb_export_chrome_trace(prof, path, 0), expected);
        assert_int_equal(access(path, F_OK), failing ? -1 : 0);
        failing_read = failing * 2, reads = 0;
        assert_int_equal(hb_profiler_events(prof, count_survivors, &found), expected);
        assert_int_equal(found == MANY, !failing);
        failing_read = failing * 2, reads = 0;
        assert_int_equal(hb_profiler_trace(prof, 0, &file), expected);
        failing_read = failing * 2, reads = 0;
        assert_int_equal(hb_profiler_key_averages(prof, NULL, &averages), expected);
        assert_int_equal(hb_key_averages_count(averages), !failing);
        hb_key_averages_destroy(averages);
        hb_trace_file_close(file);
    }
    failing_read = 0;
    hb_profiler_destroy(prof);
}

/* Nor is a trace made without what a disk that hiccups does not give back: it stays for later. */
static void a_cycle_that_cannot_be_read_back_stays(void **state)
{
    (void)state;
    enum { MANY = 60000 };
    hb_profiler *prof = start("victim");
    record_until_it_must_be_read_back(MANY);
    reads = 0;
    failing_read = 2;
    assert_int_equal(hb_profiler_stop(prof), HB_ERROR_IO);
    assert_true(reads >= failing_read);
    failing_read = 0;
    assert_non_null(strstr(hb_last_error(), "records can't be read back from"));
    assert_non_null(strstr(hb_last_error(), strerror(EIO)));
    hb_profiler_destroy(prof);
    assert_int_equal(count_files(".pt.trace.json", NULL), 0);
    assert_int_equal(count_files(".hbspool", NULL), 1);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *t = only_trace();
    assert_int_equal(count_named(t, "survivor"), MANY);
    cJSON_Delete(t);
    assert_int_equal(count_files(".hbspool", NULL), 0);
}

/* Its process died while making it. */
static void a_spool_without_a_header_goes_when_it_is_old(void **state)
{
    (void)state;
    static char zeros[1 << 20];
    hb_buf bytes = {.data = zeros, .size = sizeof zeros};
    char path[PATH_MAX];
    write_spool(&bytes, "headless");
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_ERROR_NOT_FOUND);
    assert_int_equal(count_files(".hbspool", path), 1);
    struct utimbuf long_ago = {1000000000, 1000000000};
    assert_int_equal(utime(path, &long_ago), 0);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_ERROR_NOT_FOUND);
    assert_int_equal(count_files(".hbspool", NULL), 0);
}

/* Its lock is still held. */
static void a_killed_process_with_a_living_child_is_recovered(void **state)
{
    (void)state;
    int status, ready[2], end[2];
    char byte;
    assert_int_equal(pipe(ready) | pipe(end), 0);
    pid_t pid = fork();
    if (pid == 0) {
        record_some();
        if (fork() == 0) {
            close(end[1]);
            (void)!write(ready[1], "", 1);
            (void)!read(end[0], &byte, 1); /* until the test ends */
            _exit(0);
        }
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_ERROR_NOT_FOUND);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *t = only_trace();
    assert_int_equal(count_named(t, "survivor"), SCOPES);
    cJSON_Delete(t);
    close(end[1]);
    close(end[0]);
    close(ready[0]);
    close(ready[1]);
}

/* Both profilers' names are new while both are there. */
static void record_under_another(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.yields = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "outer", 0);
    hb_profiler *outer = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(outer), HB_OK);
    hb_profiler *own = start("inner");
    HB_RECORD_FUNCTION("new while both are there") {
    }
    hb_profiler_stop(own);
    hb_profiler_destroy(own);
    HB_RECORD_FUNCTION("new while both are there") {
    }
}

static void names_of_overlapping_profilers_are_in_both_spools(void **state)
{
    (void)state;
    killed(record_under_another);
    char path[PATH_MAX];
    assert_int_equal(count_files(".hbspool", NULL), 1);
    while (count_files(".pt.trace.json", path))
        unlink(path);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    DIR *list = opendir(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(list));) {
        if (!strstr(e->d_name, ".pt.trace.json")) continue;
        hb_buf text;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        read_file(path, &text);
        n += strstr(hb_buf_text(&text), "new while both are there") != NULL;
        assert_null(strstr(hb_buf_text(&text), "(name lost)"));
        hb_buf_free(&text);
    }
    closedir(list);
    assert_int_equal(n, 1);
}

/* ---- call stacks ---- */

static bool spool_has(const char *text)
{
    char path[PATH_MAX];
    hb_buf bytes;
    if (count_files(".hbspool", path) != 1) return false;
    read_file(path, &bytes);
    bool has = memmem(bytes.data, bytes.size, text, strlen(text)) != NULL;
    hb_buf_free(&bytes);
    return has;
}

__attribute__((noinline)) static void record_with_stacks(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "victim", 0);
    o.with_stack = true;
    hb_profiler_start(hb_profiler_create(&o));
    for (int i = 0; i < 3; i++) {
        hb_scope s = hb_record_function("of somebody");
        hb_scope_end(&s);
    }
    for (int i = 0; i < 600 && !spool_has("/test_spool\nbuild-id"); i++)
        usleep(100000); /* it is written after a second */
}

static int count_stacks_with_names(const cJSON *trace)
{
    int n = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        const char *stack = text_of(cJSON_GetObjectItem(event, "args"), "Call stack");
        n += strcmp(text_of(event, "name"), "of somebody") == 0 && strstr(stack, "test_spool.c(") &&
             strstr(stack, ": record_with_stacks;");
    }
    return n;
}

/* Changes a digit of what the file has of mapped code: of the last build id. */
static void damage_code(hb_buf *spool)
{
    bool found = false;
    for (size_t at = 0; at + sizeof(hb_segment) <= spool->size; at += HB_SEGMENT_ALIGN) {
        hb_segment *s = (hb_segment *)(spool->data + at);
        if (s->magic != HB_SEGMENT_MAGIC || s->kind != HB_SEGMENT_CODE) continue;
        char *text = (char *)(s + 1) + s->padding, *digit = text + s->bytes;
        while (digit > text + 8 && memcmp(digit - 8, "build-id", 8) != 0)
            digit--;
        digit = strchr(digit, '\n') - 1;
        *digit = *digit == '0' ? '1' : '0';
        found = true;
    }
    assert_true(found);
}

/* What the dead process had mapped is in its spool: its addresses are no other's. What is damaged
 * of that is not believed. */
static void stacks_of_a_killed_process_have_names(void **state)
{
    (void)state;
    char path[PATH_MAX];
    hb_buf whole;
    killed(record_with_stacks);
    assert_int_equal(count_files(".hbspool", path), 1);
    read_file(path, &whole);
    for (int damaged = 0; damaged < 2; damaged++) {
        assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
        cJSON *t = only_trace();
        assert_int_equal(count_named(t, "of somebody"), 3);
        assert_int_equal(count_stacks_with_names(t), damaged ? 0 : 3);
        cJSON_Delete(t);
        remove_traces();
        damage_code(&whole);
        put_old_spool(&whole);
    }
    hb_buf_free(&whole);
    remove_traces();
}

/* Longer than until mapped code would be written. */
static void record_without_stacks(void)
{
    start("victim");
    HB_RECORD_FUNCTION("of somebody") {
    }
    for (int i = 0; i < 15; i++)
        usleep(100000);
}

static void without_stacks_no_mapped_code_is_kept(void **state)
{
    (void)state;
    killed(record_without_stacks);
    assert_int_equal(count_files(".hbspool", NULL), 1);
    assert_false(spool_has("build-id"));
    remove_traces();
}

/* ---- threads that end ---- */

enum { SHORT_LIVED = 30 };

static void *record_once(void *arg)
{
    HB_RECORD_FUNCTION("in a thread that ended") {
    }
    pthread_barrier_wait(arg); /* each has a chunk of its own */
    return NULL;
}

/* Their chunks are more than the file has, so that some lie in memory: they are written although
 * nobody fills them up, while the session goes on. */
static void record_in_threads_that_end(void)
{
    pthread_t threads[SHORT_LIVED];
    pthread_barrier_t all_have_recorded;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "victim", 0);
    o.max_record_bytes = 4 << 20; /* a fifth of its 64 chunks are in the file */
    hb_profiler_start(hb_profiler_create(&o));
    pthread_barrier_init(&all_have_recorded, NULL, SHORT_LIVED);
    for (int i = 0; i < SHORT_LIVED; i++)
        pthread_create(&threads[i], NULL, record_once, &all_have_recorded);
    for (int i = 0; i < SHORT_LIVED; i++)
        pthread_join(threads[i], NULL);
    const hb_session *session = hb_recording_now.session;
    for (int ms = 0; ms < 60000 && __atomic_load_n(&session->in_memory, __ATOMIC_RELAXED); ms++)
        usleep(1000);
}

static void what_ended_threads_recorded_survives_a_kill(void **state)
{
    (void)state;
    killed(record_in_threads_that_end);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *t = only_trace();
    assert_int_equal(count_named(t, "in a thread that ended"), SHORT_LIVED);
    assert_null(cJSON_GetObjectItem(t, "hipboard_lost_by_kill"));
    cJSON_Delete(t);
}

static void *record_in_turn(void *arg)
{
    (void)arg;
    HB_RECORD_FUNCTION("in its turn") {
    }
    return NULL;
}

static void record_in_threads_in_turn(void)
{
    pthread_t thread;
    start("victim");
    for (int i = 0; i < SHORT_LIVED; i++) {
        pthread_create(&thread, NULL, record_in_turn, NULL);
        pthread_join(thread, NULL);
    }
}

/* Each goes on in the chunk of the one before, which is written to the file when it is full. */
static void what_threads_recorded_in_one_chunk_survives_a_kill(void **state)
{
    (void)state;
    killed(record_in_threads_in_turn);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *t = only_trace();
    assert_int_equal(count_named(t, "in its turn"), SHORT_LIVED);
    assert_null(cJSON_GetObjectItem(t, "hipboard_lost_by_kill"));
    cJSON_Delete(t);
    remove_traces();
}

/* ---- a child made without fork()'s handlers ---- */

static void a_child_without_handlers_does_not_touch_its_parents_records(void **state)
{
    (void)state;
    int status;
    hb_profiler *prof = start("parent");
    hb_scope open = hb_record_function("of the parent");
    for (int i = 0; i < 100; i++)
        HB_RECORD_FUNCTION("before") {
        }
    pid_t pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) {
        hb_scope_end(&open);
        for (int i = 0; i < 100000; i++)
            HB_RECORD_FUNCTION("of the child") {
            }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (int i = 0; i < 100; i++)
        HB_RECORD_FUNCTION("after") {
        }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    cJSON *t = only_trace();
    assert_int_equal(count_named(t, "before"), 100);
    assert_int_equal(count_named(t, "after"), 100);
    assert_int_equal(count_named(t, "of the child"), 0);
    assert_int_equal(count_named(t, "of the parent"), 1);
    cJSON_Delete(t);
}

/* ---- the last trace saved, the spool goes ---- */

static void exit_leaves_no_spool_when_all_is_saved(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        hb_profiler *prof = start("saved");
        HB_RECORD_FUNCTION("work") {
        }
        hb_profiler_stop(prof);
        exit(0);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(".pt.trace.json", NULL), 1);
    assert_int_equal(count_files(".hbspool", NULL), 0);
}

/* ---- coding ---- */

static size_t random_record(char *at)
{
    hb_record *r = (hb_record *)at;
    bool plain = random_below(3);
    r->type = (uint8_t)(plain ? 1 + random_below(2) : 1 + random_below(14));
    r->flags = plain ? 0 : (uint8_t)random_below(256);
    r->units = (uint16_t)(3 + (plain ? 0 : random_below(40)));
    r->name = random_below(10) ? random_below(20) : random_below(1u << 30);
    r->start = random_below(50) ? random_below(1u << 20) : seed;
    r->end = random_below(10) ? r->start + random_below(1u << 16) : 0;
    for (uint64_t *w = (uint64_t *)(r + 1); w < (uint64_t *)r + r->units; w++)
        *w = random_below(4) ? random_below(100) : seed;
    return (size_t)r->units * 8;
}

static void coded_records_come_back(void **state)
{
    (void)state;
    enum { MOST = 65536 };
    uint64_t *raw = malloc(MOST), *back = malloc(MOST);
    unsigned char *coded = malloc(HB_CODEC_MOST(MOST));
    for (int round = 0; round < 300; round++) {
        size_t bytes = 0, wanted = random_below(MOST - 1000);
        while (bytes < wanted)
            bytes += random_record((char *)raw + bytes);
        size_t n = hb_codec_encode((char *)raw, bytes, coded);
        assert_in_range(n, 0, HB_CODEC_MOST(bytes));
        assert_true(hb_codec_decode(coded, n, (char *)back, bytes));
        assert_memory_equal(raw, back, bytes);
        if (bytes) assert_false(hb_codec_decode(coded, n, (char *)back, bytes - 8));
        if (n) coded[random_below((uint32_t)n)] ^= (unsigned char)(1 + random_below(255));
        (void)hb_codec_decode(coded, n, (char *)back, bytes); /* as the sanitizers see it */
    }
    free(raw);
    free(back);
    free(coded);
}

/* ---- snapshots, and dropping ---- */

static bool count_scopes(hb_snapshot *s, int *n)
{
    uint64_t id;
    const hb_records *records = s->view.records(&s->view, &s->session);
    *n = 0;
    for (uint32_t i = 0; i < records->threads.count; i++) {
        hb_cursor c = hb_cursor_open(&s->view, records, hb_records_nth(records, i), HB_TYPES_ALL);
        for (const hb_record *r; (r = hb_cursor_next(&c, &id));)
            *n += r->type == HB_RECORD_ANNOTATION;
        hb_cursor_close(&c);
    }
    return true;
}

static void a_session_that_goes_on_is_seen_and_cut(void **state)
{
    (void)state;
    hb_spool spool;
    hb_session *session;
    hb_snapshot *s;
    int n;
    hb_record_init();
    hb_spool_options options = {dir, "flight", 64 << 20};
    assert_int_equal(hb_spool_open(&spool, &options), HB_OK);
    assert_int_equal(hb_session_begin(&spool, 0, 0, &session), HB_OK);
    for (int i = 0; i < SCOPES; i++)
        HB_RECORD_FUNCTION("seen") {
        }
    hb_scope open = hb_record_function("open");
    assert_int_equal(hb_session_snapshot(&spool, session, &s), HB_OK);
    HB_RECORD_FUNCTION("after") {
    }
    count_scopes(s, &n);
    assert_int_equal(n, SCOPES + 1);
    hb_snapshot_close(s);
    uint64_t horizon = hb_ticks();
    /* Until the chunks of before are written, they can't go. */
    for (n = SCOPES; n >= SCOPES;) {
        hb_session_drop(&spool, session, horizon, UINT64_MAX, &session->start);
        assert_int_equal(hb_session_snapshot(&spool, session, &s), HB_OK);
        count_scopes(s, &n);
        hb_snapshot_close(s);
    }
    assert_in_range(n, 2, SCOPES - 1);
    hb_scope_end(&open);
    hb_session_end(session);
    hb_session_release(&spool, session);
    hb_spool_close(&spool, false);
    assert_int_equal(count_files(".hbspool", NULL), 0);
}

static uint64_t kept_bytes(hb_spool *spool)
{
    hb_lock_take(&spool->lock);
    uint64_t bytes = spool->kept_bytes;
    hb_lock_give(&spool->lock);
    return bytes;
}

static void record_more(void)
{
    for (int i = 0; i < SCOPES / 10; i++)
        HB_RECORD_FUNCTION("kept") {
        }
    usleep(1000);
}

enum { MANY = 1024 };

static bool has_descriptors(void)
{
    int fd = 0;
    while (fd < MANY && fcntl(fd, F_GETFD) < 0)
        fd++;
    return fd < MANY;
}

/* As daemons do, which then open what they want: none of it may be the spool. */
static void record_without_descriptors(void)
{
    start("victim");
    for (int fd = 0; fd < MANY; fd++)
        close(fd);
    for (int i = 0; i < 2 * SCOPES; i++)
        HB_RECORD_FUNCTION("survivor") {
        }
    char path[PATH_MAX];
    for (int ms = 0; ms < 5000 && !has_descriptors(); ms++)
        usleep(1000);
    snprintf(path, sizeof path, "%s/no_descriptor_of_the_program", dir);
    if (fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0)
        (void)!open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
}

static void a_file_opened_again_is_none_of_the_programs_descriptors(void **state)
{
    (void)state;
    killed(record_without_descriptors);
    assert_int_equal(count_files("no_descriptor_of_the_program", NULL), 1);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *t = only_trace();
    assert_int_equal(count_named(t, "survivor"), 2 * SCOPES);
    cJSON_Delete(t);
    remove_traces();
}

static atomic_int refusals; /* that are left; nobody else asks for the disk's room */

/* In place of the C library's. */
int fstatvfs(int fd, struct statvfs *fs)
{
    (void)fd;
    *fs = (struct statvfs){.f_frsize = 4096,
                           .f_bavail = atomic_fetch_sub(&refusals, 1) > 0 ? 0 : 1u << 30};
    return 0;
}

/* Where a disk had no room for the first chunks, and has it now, they come to what they are
 * otherwise. */
static void chunks_that_had_no_room_come_later(void **state)
{
    (void)state;
    hb_spool spool;
    uint32_t chunks = 0;
    hb_record_init();
    hb_spool_options options = {dir, "small", 64 << 20};
    refusals = 1;
    assert_int_equal(hb_spool_open(&spool, &options), HB_OK);
    for (int ms = 0; ms < 60000 && atomic_load(&refusals) >= 0; ms++)
        usleep(1000);
    for (int ms = 0; ms < 60000 && chunks <= HB_SPOOL_HOT / 2; ms++, usleep(1000))
        chunks = atomic_load(&spool.pool.in_file);
    assert_int_equal(chunks, HB_SPOOL_HOT);
    hb_spool_close(&spool, false);
}

/* It would be dropped to make room for what is recorded meanwhile; and is afterwards. */
static void what_a_snapshot_reads_is_not_dropped(void **state)
{
    (void)state;
    enum { MOST = 4 << 20 };
    hb_spool spool;
    hb_session *session;
    hb_snapshot *s;
    int before, n;
    hb_record_init();
    hb_spool_options options = {dir, "flight", MOST};
    assert_int_equal(hb_spool_open(&spool, &options), HB_OK);
    assert_int_equal(hb_session_begin(&spool, HB_SESSION_RING, 0, &session), HB_OK);
    while (kept_bytes(&spool) < MOST / 5 * 2)
        record_more();
    assert_int_equal(hb_session_snapshot(&spool, session, &s), HB_OK);
    count_scopes(s, &before);
    for (int i = 0; i < 5000 && kept_bytes(&spool) < MOST / 5 * 3; i++)
        record_more();
    assert_true(kept_bytes(&spool) >= MOST / 5 * 3);
    count_scopes(s, &n);
    assert_int_equal(n, before);
    hb_snapshot_close(s);
    while (kept_bytes(&spool) > MOST / 2)
        record_more();
    hb_session_end(session);
    hb_session_release(&spool, session);
    hb_spool_close(&spool, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_spool_of_version_2_is_recovered),
        IN_DIR(lists_that_lead_astray_end),
        IN_DIR(chunks_of_another_kind_are_not_read),
        IN_DIR(a_spool_of_version_4_is_recovered),
        IN_DIR(records_in_the_log_and_in_chunks_are_recovered),
        IN_DIR(damaged_spools_do_not_crash_recovery),
        IN_DIR(what_cannot_be_read_is_kept),
        IN_DIR(a_cycle_that_cannot_be_read_back_stays),
        IN_DIR(an_answer_without_what_cannot_be_read_back_is_an_error),
        IN_DIR(a_spool_without_a_header_goes_when_it_is_old),
        IN_DIR(a_killed_process_with_a_living_child_is_recovered),
        IN_DIR(names_of_overlapping_profilers_are_in_both_spools),
        IN_DIR(stacks_of_a_killed_process_have_names),
        IN_DIR(without_stacks_no_mapped_code_is_kept),
        IN_DIR(what_ended_threads_recorded_survives_a_kill),
        IN_DIR(what_threads_recorded_in_one_chunk_survives_a_kill),
        IN_DIR(a_child_without_handlers_does_not_touch_its_parents_records),
        IN_DIR(exit_leaves_no_spool_when_all_is_saved),
        cmocka_unit_test(coded_records_come_back),
        IN_DIR(a_session_that_goes_on_is_seen_and_cut),
        IN_DIR(what_a_snapshot_reads_is_not_dropped),
        IN_DIR(chunks_that_had_no_room_come_later),
        IN_DIR(a_file_opened_again_is_none_of_the_programs_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
