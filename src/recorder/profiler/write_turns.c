/* SPDX-License-Identifier: MIT */
#include "profiler/write_turns.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_systems.h"
#include "base/string_table.h"

enum { WRITERS = 4, MANY_NODES = 64, LOOK_MS = 20, PATIENCE_MS = 60000 };

static void sleep_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* One of a node's four. -1: others have it, or there is no such place. */
static int try(int number)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/dev/shm/hipboard-%u-writer-%d", (unsigned)geteuid(), number);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0) return -1;
    bool own = fstat(fd, &st) == 0 && st.st_uid == geteuid();
    if (own && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    close(fd);
    return -1;
}

unsigned hb_write_turn_delay_ms(const hb_launcher *launcher, const char *host)
{
    if (launcher->local_size < 1 || launcher->size / launcher->local_size < MANY_NODES) return 0;
    return hb_hash_bytes(host, strlen(host)) % HB_WRITE_TURNS_WINDOW_MS;
}

static void wait_for_node(const hb_launcher *launcher)
{
    char host[HOST_NAME_MAX + 1] = "";
    if (gethostname(host, sizeof host - 1) == 0) sleep_ms(hb_write_turn_delay_ms(launcher, host));
}

static bool is_far(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) >= sizeof dir) return false;
    snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
    return hb_dir_is_network(*dir ? dir : "/");
}

int hb_write_turn_take(const char *path)
{
    hb_launcher launcher;
    if (!hb_launcher_find(&launcher) || launcher.size < 2 || !is_far(path)) return -1;
    wait_for_node(&launcher);
    if (access("/dev/shm", W_OK) != 0) return -1;
    for (unsigned waited = 0; waited < PATIENCE_MS; waited += LOOK_MS) {
        for (int i = 0, turn; i < WRITERS; i++)
            if ((turn = try(i)) >= 0) return turn;
        sleep_ms(LOOK_MS);
    }
    return -1;
}

void hb_write_turn_give(int turn)
{
    if (turn >= 0) close(turn);
}
