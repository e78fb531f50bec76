/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "event_reader.h"
#include "forks_with_threads.h"
#include "tfevents/event_file.h"
#include "tfevents/event_records.h"

static void put_scalar(hb_event_file *file, int64_t step)
{
    hb_buf *buf = hb_event_file_buffer(file);
    assert_non_null(buf);
    hb_event_scalar(buf, (hb_event_stamp){1.5, step}, "loss", (double)step);
    assert_false(buf->failed);
}

/* ---- framing ---- */

static void a_frame_is_length_crc_data_crc(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 1000);
    size_t start = hb_record_begin(&buf);
    hb_buf_str(&buf, "123456789");
    hb_record_end(&buf, start);
    assert_int_equal(buf.size, 25);
    assert_memory_equal(buf.data, "\x09\0\0\0\0\0\0\0", 8);
    assert_int_equal(little_endian((unsigned char *)buf.data + 8, 4),
                     hb_crc32c_masked(buf.data, 8));
    assert_memory_equal(buf.data + 12, "123456789", 9);
    assert_memory_equal(buf.data + 21, "\xe5\xb0\x8a\xc7", 4);
    hb_buf_free(&buf);
}

static void a_record_without_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    for (size_t max = 0; max < 50; max++) {
        hb_buf buf;
        hb_buf_init(&buf, max);
        size_t start = hb_record_begin(&buf);
        hb_buf_append(&buf, "0123456789012345678901234567890123", 34);
        hb_record_end(&buf, start);
        assert_true(buf.failed);
        assert_int_equal(buf.size, 0);
        hb_buf_free(&buf);
    }
}

static void whole_records_are_told_from_a_torn_one(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 1000);
    for (int i = 0; i < 3; i++) {
        size_t start = hb_record_begin(&buf);
        hb_buf_str(&buf, "four");
        hb_record_end(&buf, start);
    }
    assert_int_equal(buf.size, 60);
    for (size_t size = 0; size <= 60; size++)
        assert_int_equal(hb_record_whole(buf.data, size), size / 20 * 20);
    hb_buf_free(&buf);
}

/* ---- names and directories ---- */

static void the_name_is_what_tensorboard_looks_for(void **state)
{
    (void)state;
    hb_event_file file;
    time_t before = time(NULL);
    assert_int_equal(hb_event_file_open(&file, dir, ".mine"), HB_OK);
    char host[HOST_NAME_MAX + 1], rest[600], expected[600];
    gethostname(host, sizeof host);
    long long seconds;
    assert_int_equal(strncmp(file.path, dir, strlen(dir)), 0);
    assert_int_equal(
        sscanf(file.path + strlen(dir), "/events.out.tfevents.%10lld.%599s", &seconds, rest), 2);
    assert_in_range(seconds, before, time(NULL));
    snprintf(expected, sizeof expected, "%s.%d.", host, (int)getpid());
    assert_int_equal(strncmp(rest, expected, strlen(expected)), 0);
    assert_string_equal(rest + strlen(rest) - 5, ".mine");
    assert_int_equal(hb_event_file_close(&file), HB_OK);
}

static void it_begins_with_the_version_and_the_time(void **state)
{
    (void)state;
    hb_event_file file;
    double before = (double)time(NULL);
    assert_int_equal(hb_event_file_open(&file, dir, ""), HB_OK);
    event_list list = read_events(file.path); /* there before anything else is written */
    assert_int_equal(list.count, 1);
    assert_int_equal(list.events[0]->what_case, HB__EVENT__WHAT_FILE_VERSION);
    assert_string_equal(list.events[0]->file_version, "brain.Event:2");
    assert_true(list.events[0]->wall_time >= before && list.events[0]->wall_time < before + 60);
    free_events(&list);
    assert_int_equal(hb_event_file_close(&file), HB_OK);
}

static void files_of_one_moment_have_names_of_their_own(void **state)
{
    (void)state;
    hb_event_file files[20];
    for (int i = 0; i < 20; i++)
        assert_int_equal(hb_event_file_open(&files[i], dir, ""), HB_OK);
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 20);
    for (int i = 0; i < 20; i++)
        assert_int_equal(hb_event_file_close(&files[i]), HB_OK);
}

/* Whatever number comes next, a file of that name is there already. */
static void the_file_of_somebody_else_is_left_alone(void **state)
{
    (void)state;
    hb_event_file file;
    assert_int_equal(hb_event_file_open(&file, dir, ""), HB_OK);
    unsigned number = (unsigned)atoi(strrchr(file.path, '.') + 1);
    assert_int_equal(hb_event_file_close(&file), HB_OK);

    char host[HOST_NAME_MAX + 1], theirs[1024];
    gethostname(host, sizeof host);
    for (int second = 0; second < 20; second++) {
        snprintf(theirs, sizeof theirs, "%s/events.out.tfevents.%010lld.%s.%d.%u", dir,
                 (long long)time(NULL) + second, host, (int)getpid(), number + 1);
        FILE *out = fopen(theirs, "w");
        assert_non_null(out);
        fputs("theirs", out);
        fclose(out);
    }
    assert_int_equal(hb_event_file_open(&file, dir, ""), HB_OK);
    assert_int_equal(atoi(strrchr(file.path, '.') + 1), number + 2);
    assert_int_equal(hb_event_file_close(&file), HB_OK);
    struct stat status;
    assert_int_equal(stat(theirs, &status), 0);
    assert_int_equal(status.st_size, strlen("theirs"));
}

static void missing_directories_are_made(void **state)
{
    (void)state;
    char deep[600], path[700];
    snprintf(deep, sizeof deep, "%s/a/b//c/", dir);
    hb_event_file file;
    assert_int_equal(hb_event_file_open(&file, deep, ""), HB_OK);
    assert_int_equal(hb_event_file_close(&file), HB_OK);
    assert_int_equal(remove(file.path), 0);
    for (const char *sub = "a/b/c"; strlen(sub) > 0; sub = strlen(sub) == 5   ? "a/b"
                                                           : strlen(sub) == 3 ? "a"
                                                                              : "") {
        snprintf(path, sizeof path, "%s/%s", dir, sub);
        assert_int_equal(rmdir(path), 0);
    }
}

static void impossible_directories_are_named_in_the_error(void **state)
{
    (void)state;
    hb_event_file file;
    assert_int_equal(hb_event_file_open(&file, "/dev/null/run", ""), HB_ERROR_IO);
    assert_non_null(strstr(hb_last_error(), "'/dev/null'"));
    assert_non_null(strstr(hb_last_error(), "a file is in the way"));
    assert_int_equal(hb_event_file_open(&file, "", ""), HB_ERROR_IO);
    char endless[PATH_MAX + 10];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_int_equal(hb_event_file_open(&file, endless, ""), HB_ERROR_IO);
}

static void a_directory_one_may_not_write_is_an_error(void **state)
{
    (void)state;
    char closed[300];
    snprintf(closed, sizeof closed, "%s/closed", dir);
    assert_int_equal(mkdir(closed, 0555), 0);
    assert_int_equal(chmod(dir, 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && setuid(65534)) _exit(3); /* root may write everywhere */
        hb_event_file file;
        if (hb_event_file_open(&file, closed, "") != HB_ERROR_IO) _exit(1);
        _exit(strstr(hb_last_error(), "Permission denied") && strstr(hb_last_error(), closed) ? 0
                                                                                              : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(rmdir(closed), 0);
}

/* ---- full disks ---- */

/* Lets files of this process grow to `bytes` and no further, as a full disk does. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_is_an_error_and_leaves_whole_records(void **state)
{
    (void)state;
    hb_event_file file;
    assert_int_equal(hb_event_file_open(&file, dir, ""), HB_OK);
    for (int step = 1; step <= 100; step++)
        put_scalar(&file, step);
    limit_files(1000);
    assert_int_equal(hb_event_file_unsent(&file), 100);
    assert_int_equal(hb_event_file_flush(&file), HB_ERROR_IO);
    assert_non_null(strstr(hb_last_error(), file.path));
    event_list list = read_events(file.path);
    assert_true(list.torn > 0); /* else the test is not one */
    size_t whole = list.count;
    free_events(&list);
    assert_int_equal(whole + hb_event_file_unsent(&file), 1 + 100);
    assert_int_equal(hb_event_file_close(&file), HB_ERROR_IO);
    limit_files(RLIM_INFINITY);

    list = read_events(file.path);
    assert_int_equal(list.torn, 0);
    assert_int_equal(list.count, whole);
    free_events(&list);
}

static void refuse_first_record(rlim_t room)
{
    char run[300], renamed[300];
    snprintf(run, sizeof run, "%s/run", dir);
    snprintf(renamed, sizeof renamed, "%s/renamed", dir);
    assert_int_equal(mkdir(run, 0700), 0);
    hb_kept_file in = hb_kept_file_of(open(run, O_PATH | O_DIRECTORY | O_CLOEXEC));
    assert_int_equal(rename(run, renamed), 0);
    hb_event_file file;
    limit_files(room);
    assert_int_equal(hb_event_file_open_in(&file, &in, run, ""), HB_ERROR_IO);
    limit_files(RLIM_INFINITY);
    assert_string_equal(file.path, "");
    assert_int_equal(list_dir(renamed, NULL, NULL, 0), 0);
    for (int step = 1; step <= 2; step++)
        put_scalar(&file, step); /* it waits */
    assert_int_equal(hb_event_file_unsent(&file), 2);
    assert_int_equal(hb_event_file_flush(&file), HB_ERROR_IO);
    assert_int_equal(hb_event_file_unsent(&file), 2);
    assert_int_equal(hb_event_file_close(&file), HB_OK);
    hb_kept_file_close(&in);
    assert_int_equal(rmdir(renamed), 0);
}

/* Each try would leave one. Of the record there may be room for a part. */
static void a_file_without_room_for_its_first_record_is_removed_wherever_it_is(void **state)
{
    (void)state;
    for (rlim_t room = 0; room <= 20; room += 10)
        refuse_first_record(room);
}

static void with_room_again_the_file_goes_on_without_a_gap(void **state)
{
    (void)state;
    hb_event_file file;
    assert_int_equal(hb_event_file_open(&file, dir, ""), HB_OK);
    limit_files(1000);
    for (int step = 1; step <= 60; step++) {
        put_scalar(&file, step);
        hb_event_file_flush(&file);
    }
    limit_files(RLIM_INFINITY);
    assert_int_equal(hb_event_file_flush(&file), HB_OK);
    put_scalar(&file, 61);
    assert_int_equal(hb_event_file_close(&file), HB_OK);

    event_list list = read_events(file.path);
    assert_int_equal(list.torn, 0);
    assert_int_equal(list.count, 62);
    for (size_t i = 1; i < list.count; i++)
        assert_int_equal(list.events[i]->step, i);
    free_events(&list);
}

static void what_waits_for_room_is_bounded(void **state)
{
    (void)state;
    hb_event_file file;
    assert_int_equal(hb_event_file_open(&file, dir, ""), HB_OK);
    limit_files(1000);
    hb_buf *buf;
    int64_t accepted = 0;
    while ((buf = hb_event_file_buffer(&file)) && accepted < 1000000)
        hb_event_scalar(buf, (hb_event_stamp){1.5, ++accepted}, "loss", 0);
    assert_true(accepted > 100000 && accepted < 1000000);
    assert_in_range(file.pending.capacity, HB_EVENT_FILE_BACKLOG, 4 * HB_EVENT_FILE_BACKLOG);
    limit_files(RLIM_INFINITY);
    assert_int_equal(hb_event_file_flush(&file), HB_OK);
    assert_non_null(hb_event_file_buffer(&file));
    assert_int_equal(hb_event_file_close(&file), HB_OK);

    event_list list = read_events(file.path);
    assert_int_equal(list.count, accepted + 1);
    free_events(&list);
}

/* The program has closed it, and somebody put a link, a FIFO or another file in its place. */
static void it_is_not_found_again_in_what_has_taken_its_place(void **state)
{
    (void)state;
    char secret[300];
    snprintf(secret, sizeof secret, "%s/secret", dir);
    for (int kind = 0; kind < 3; kind++) {
        hb_event_file file;
        struct stat status;
        assert_int_equal(hb_event_file_open(&file, dir, ""), HB_OK);
        assert_int_equal(unlink(file.path), 0);
        close(open(secret, O_WRONLY | O_CREAT | O_TRUNC, 0600));
        if (kind == 0) assert_int_equal(symlink(secret, file.path), 0);
        if (kind == 1) assert_int_equal(mkfifo(file.path, 0666), 0);
        if (kind == 2) assert_int_equal(link(secret, file.path), 0);
        close(file.file.fd);
        put_scalar(&file, 1);
        alarm(300);
        assert_int_equal(hb_event_file_close(&file), HB_ERROR_IO);
        alarm(0);
        assert_non_null(strstr(hb_last_error(), file.path));
        assert_int_equal(stat(secret, &status), 0);
        assert_int_equal(status.st_size, 0);
    }
}

static void closed_by_the_program_it_is_found_again(void **state)
{
    (void)state;
    hb_event_file file;
    assert_int_equal(hb_event_file_open(&file, dir, ""), HB_OK);
    close(file.file.fd);
    put_scalar(&file, 1);
    assert_int_equal(hb_event_file_close(&file), HB_OK);
    event_list list = read_events(file.path);
    assert_int_equal(list.count, 2);
    free_events(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_length_crc_data_crc),
        cmocka_unit_test(a_record_without_memory_leaves_nothing_behind),
        cmocka_unit_test(whole_records_are_told_from_a_torn_one),
        IN_DIR(the_name_is_what_tensorboard_looks_for),
        IN_DIR(it_begins_with_the_version_and_the_time),
        IN_DIR(files_of_one_moment_have_names_of_their_own),
        IN_DIR(the_file_of_somebody_else_is_left_alone),
        IN_DIR(missing_directories_are_made),
        IN_DIR(impossible_directories_are_named_in_the_error),
        IN_DIR(a_directory_one_may_not_write_is_an_error),
        IN_DIR(a_full_disk_is_an_error_and_leaves_whole_records),
        IN_DIR(a_file_without_room_for_its_first_record_is_removed_wherever_it_is),
        IN_DIR(with_room_again_the_file_goes_on_without_a_gap),
        IN_DIR(what_waits_for_room_is_bounded),
        IN_DIR(it_is_not_found_again_in_what_has_taken_its_place),
        IN_DIR(closed_by_the_program_it_is_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
