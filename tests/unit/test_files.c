/* SPDX-License-Identifier: MIT
 *
 * Files as they are opened, made, grown and kept; and on which file systems they may be mapped.
 */
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include "base/file_systems.h"
#include "test_dir.h"

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void make_file(const char *name)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "12345", 5), 5);
    close(fd);
}

/* ---- what is told of failures ---- */

static void failures_say_what_one_can_do(void **state)
{
    static const struct {
        int error;
        const char *mend;
    } cases[] = {
        {ENOSPC, " (free some space there or choose another directory)"},
        {EDQUOT, " (free some space there or choose another directory)"},
        {EACCES, " (choose a directory that this user may write to)"},
        {EPERM, " (choose a directory that this user may write to)"},
        {EROFS, " (choose a directory that this user may write to)"},
        {ENOTDIR, " (a file is in the way; move it or choose another directory)"},
        {EEXIST, " (a file is in the way; move it or choose another directory)"},
        {EFBIG, " (it is over the limit on the size of files, ulimit -f)"},
        {EISDIR, " (name a file in it)"},
        {ENAMETOOLONG, " (choose a shorter name)"},
        {EIO, ""},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char expected[256];
        snprintf(expected, sizeof expected, "cannot write 'a/b'%s: %s", cases[i].mend,
                 strerror(cases[i].error));
        assert_int_equal(hb_fail_file(cases[i].error, "write", "a/b"), HB_ERROR_IO);
        assert_string_equal(hb_last_error(), expected);
    }
}

static void directories_are_made_with_their_parents(void **state)
{
    static const char *const names[] = {"a", "a/b/c", "a/b/c", "x/", "y//z", "a/./e"};
    struct stat st;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        assert_int_equal(hb_make_directories(path_of(names[i])), HB_OK);
        assert_int_equal(stat(path_of(names[i]), &st), 0);
        assert_true(S_ISDIR(st.st_mode));
    }
    assert_int_equal(hb_make_directories("/"), HB_OK);
    assert_int_equal(hb_make_directories(""), HB_ERROR_IO);
    assert_string_equal(hb_last_error(), "cannot create directory '': No such file or directory");
    make_file("f");
    for (int deeper = 0; deeper < 2; deeper++) {
        char expected[700];
        snprintf(expected, sizeof expected,
                 "cannot create directory '%s' (a file is in the way; move it or choose another "
                 "directory): File exists",
                 path_of("f"));
        assert_int_equal(hb_make_directories(path_of(deeper ? "f/g" : "f")), HB_ERROR_IO);
        assert_string_equal(hb_last_error(), expected);
    }
}

/* ---- opening ---- */

static void make_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/socket", dir);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

static void what_is_no_file_is_not_read(void **state)
{
    static const struct {
        const char *name, *is;
    } cases[] = {{"fifo", "a FIFO"}, {"socket", "a socket"}, {"/dev/null", "a device"}};
    struct stat st;
    int fd = 77;
    (void)state;
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    make_socket();
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        const char *path = *cases[i].name == '/' ? cases[i].name : path_of(cases[i].name);
        char expected[700];
        snprintf(expected, sizeof expected, "cannot read '%s': it is %s, not a file", path,
                 cases[i].is);
        assert_int_equal(hb_open_to_read(path, &fd, &st), HB_ERROR_IO);
        assert_string_equal(hb_last_error(), expected);
        errno = 0;
        assert_int_equal(hb_open_regular(path), -1);
        assert_int_equal(errno, EINVAL);
    }
    assert_int_equal(hb_open_to_read(path_of("absent"), &fd, &st), HB_ERROR_IO);
    assert_int_equal(fd, -1);
    assert_int_equal(hb_open_regular(path_of("absent")), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(hb_open_regular(dir), -1);
    assert_int_equal(errno, EINVAL);
}

static void assert_is_read(const char *path, off_t size)
{
    struct stat st;
    int fd;
    assert_int_equal(hb_open_to_read(path, &fd, &st), HB_OK);
    if (size) assert_int_equal(st.st_size, size);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0); /* which was for a FIFO's writer */
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
}

static void files_directories_and_ones_own_pipes_are_read(void **state)
{
    int pipes[2], fd;
    char path[64];
    (void)state;
    make_file("f");
    assert_is_read(path_of("f"), 5);
    assert_is_read(dir, 0);
    assert_int_equal(pipe(pipes), 0);
    for (int self = 0; self < 2; self++) {
        snprintf(path, sizeof path, self ? "/proc/self/fd/%d" : "/dev/fd/%d", pipes[0]);
        assert_is_read(path, 0);
    }
    close(pipes[0]);
    close(pipes[1]);
    assert_true((fd = hb_open_regular(path_of("f"))) >= 0);
    close(fd);
}

/* A number below 3 would be what others print to. */
static void files_have_no_number_of_a_standard_stream(void **state)
{
    (void)state;
    for (int number = 0; number < 3; number++) {
        int kept = dup(number), fd;
        close(number);
        fd = hb_open_file(path_of("f"), O_RDWR | O_CREAT, 0640);
        bool is_free = fcntl(number, F_GETFD) < 0;
        dup2(kept, number);
        close(kept);
        assert_true(fd > 2 && is_free);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        close(fd);
    }
    assert_int_equal(hb_open_file(path_of("no/f"), O_RDWR | O_CREAT, 0640), -1);
    assert_int_equal(errno, ENOENT);
}

/* ---- growing ---- */

static void files_grow_to_their_limit(void **state)
{
    struct rlimit before, limit;
    char bytes[20] = "";
    ssize_t written[3];
    bool may[3];
    (void)state;
    int fd = open(path_of("f"), O_WRONLY | O_CREAT, 0600), error;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){1000, before.rlim_max};
    assert_int_equal(ftruncate(fd, 979), 0);
    lseek(fd, 979, SEEK_SET);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 3; i++)
        may[i] = hb_may_grow_to(999 + (uint64_t)i);
    error = errno;
    written[0] = hb_write_behind(fd, 979, bytes, 20);
    written[1] = hb_write_behind(fd, 999, bytes, 20);
    errno = 0;
    written[2] = hb_write_behind(fd, 1000, bytes, 20);
    int last = errno;
    setrlimit(RLIMIT_FSIZE, &before);
    assert_true(may[0] && may[1] && !may[2]);
    assert_int_equal(error, EFBIG);
    assert_int_equal(written[0], 20);
    assert_int_equal(written[1], 1);
    assert_int_equal(written[2], -1);
    assert_int_equal(last, EFBIG);
    close(fd);
}

/* ---- names ---- */

static void ends_of_paths(void **state)
{
    (void)state;
    assert_true(hb_path_ends("a.gz", ".gz") && hb_path_ends(".gz", ".gz") && hb_path_ends("a", ""));
    assert_false(hb_path_ends("gz", ".gz") || hb_path_ends("a.gz.", ".gz") ||
                 hb_path_ends("", "x") || hb_path_ends("a.g", "a.gz"));
}

static const char *host; /* NULL: it has none that fits */

int gethostname(char *name, size_t size)
{
    if (!host) return -1;
    memcpy(name, host, HB_MIN(size, strlen(host) + 1)); /* what is cut has no end */
    return 0;
}

static void a_host_s_name_is_a_part_of_a_file_s(void **state)
{
    static const char *const cases[][2] = {{"node-1", "node-1"},
                                           {"a/\n\x1f d", "a___ d"},
                                           {"1234567890", "1234567"},
                                           {"1234567", "1234567"},
                                           {NULL, "localho"}};
    char name[8];
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        host = cases[i][0];
        hb_host_name(name, sizeof name);
        assert_int_equal(strncmp(name, cases[i][1], 7), 0);
        assert_int_equal(strlen(name), strnlen(cases[i][1], 7));
    }
}

/* ---- kept files ---- */

static void a_kept_file_is_out_of_the_way_and_known_again(void **state)
{
    (void)state;
    make_file("f");
    make_file("g");
    hb_kept_file kept = hb_kept_file_of(open(path_of("f"), O_RDONLY));
    assert_true(kept.fd >= 100);
    assert_int_equal(fcntl(kept.fd, F_GETFD), FD_CLOEXEC);
    assert_true(hb_kept_file_is_there(&kept));
    int number = kept.fd, other = open(path_of("g"), O_RDONLY);
    assert_true(other < 100); /* the first number is free again */
    close(number);
    assert_false(hb_kept_file_is_there(&kept));
    assert_int_equal(dup2(other, number), number); /* the program's own has its number now */
    assert_false(hb_kept_file_is_there(&kept));
    assert_int_equal(hb_kept_file_close(&kept), 0);
    assert_int_equal(kept.fd, -1);
    assert_true(fcntl(number, F_GETFD) >= 0);
    kept = hb_kept_file_of(other);
    number = kept.fd;
    assert_int_equal(hb_kept_file_close(&kept), 0);
    assert_int_equal(fcntl(number, F_GETFD), -1);
    assert_int_equal(hb_kept_file_of(-1).fd, -1);
    assert_int_equal(hb_kept_file_of(number).fd, -1);
}

/* ---- file systems ---- */

static long type_of_all;

int statfs(const char *path, struct statfs *fs)
{
    if (strcmp(path, "nowhere") == 0) return -1;
    *fs = (struct statfs){.f_type = type_of_all};
    return 0;
}

/* By the kernel's own numbers, where <linux/magic.h> has them. */
static void what_may_be_mapped(void **state)
{
    static const unsigned network[] = {NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC,
                                       0xfe534d42,      0x0bd00bd0,      0x47504653,
                                       0x65735546,      0x00c36400,      0x19830326,
                                       AFS_SUPER_MAGIC, V9FS_MAGIC,      0xaad7aaea};
    static const unsigned copying[] = {BTRFS_SUPER_MAGIC, 0xca451a4e, 0x2fc12fc1,
                                       NILFS_SUPER_MAGIC};
    static const unsigned local[] = {EXT4_SUPER_MAGIC,      0x58465342 /* XFS */, TMPFS_MAGIC,
                                     OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,     RAMFS_MAGIC};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(network); i++) {
        type_of_all = (long)network[i];
        assert_true(hb_dir_is_network("d") && !hb_dir_is_mappable("d"));
        type_of_all = (int)network[i]; /* as it is told where a long has 32 bits */
        assert_true(hb_dir_is_network("d") && !hb_dir_is_mappable("d"));
    }
    for (size_t i = 0; i < HB_ARRAY_LEN(copying); i++) {
        type_of_all = (long)copying[i];
        assert_true(!hb_dir_is_network("d") && !hb_dir_is_mappable("d"));
    }
    for (size_t i = 0; i < HB_ARRAY_LEN(local); i++) {
        type_of_all = (long)local[i];
        assert_true(!hb_dir_is_network("d") && hb_dir_is_mappable("d"));
    }
    assert_true(hb_dir_is_network("nowhere") && !hb_dir_is_mappable("nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_say_what_one_can_do),
        IN_DIR(directories_are_made_with_their_parents),
        IN_DIR(what_is_no_file_is_not_read),
        IN_DIR(files_directories_and_ones_own_pipes_are_read),
        IN_DIR(files_have_no_number_of_a_standard_stream),
        IN_DIR(files_grow_to_their_limit),
        cmocka_unit_test(ends_of_paths),
        cmocka_unit_test(a_host_s_name_is_a_part_of_a_file_s),
        IN_DIR(a_kept_file_is_out_of_the_way_and_known_again),
        cmocka_unit_test(what_may_be_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
