/* SPDX-License-Identifier: MIT */
#include "record/process_id.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "" when there is none. */
static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0) close(fd);
    text[HB_MAX(n, 0)] = '\0';
}

void hb_process_name(char *name, size_t size)
{
    char buf[4096];
    read_text("/proc/self/cmdline", buf, sizeof buf);
    const char *slash = strrchr(buf, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : buf);
}

/* Field 22 of its stat, counted behind the name, in which anything may stand; field 3 is its state.
 * 0 when there is no such process, or only what its parent has not waited for yet. */
static uint64_t start_time(int64_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    read_text(path, text, sizeof text);
    const char *at = strrchr(text, ')');
    if (at && (strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0)) return 0;
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

hb_process_id hb_process_id_here(void)
{
    struct stat st;
    hb_process_id id = {.pid = getpid()};
    id.start_time = start_time(id.pid);
    if (stat("/proc/self/ns/pid", &st) == 0) id.namespace = st.st_ino;
    read_text("/proc/sys/kernel/random/boot_id", id.boot_id, sizeof id.boot_id);
    id.boot_id[strcspn(id.boot_id, "\n")] = '\0';
    return id;
}

hb_process_life hb_process_life_of(const hb_process_id *id)
{
    hb_process_id here = hb_process_id_here();
    bool known = id->start_time && id->namespace && here.start_time && here.namespace;
    if (!known || id->namespace != here.namespace ||
        strncmp(id->boot_id, here.boot_id, sizeof here.boot_id) != 0)
        return HB_PROCESS_UNKNOWN;
    return start_time(id->pid) == id->start_time ? HB_PROCESS_ALIVE : HB_PROCESS_DEAD;
}
