/* SPDX-License-Identifier: MIT
 *
 * The socket by which a process's own user, and root, reach its profiler: where it lies, who may
 * connect, and what is said over it. plugin_format/control.md is its page.
 */
#ifndef HB_PROFILER_CONTROL_SOCKET_H
#define HB_PROFILER_CONTROL_SOCKET_H

#include <sys/types.h>

#include "base/base.h"
#include "base/files.h"

/** What a client and a server say first. */
#define HB_CONTROL_GREETING "hipboard 1\n"

/** A listening socket in the file system. */
typedef struct hb_control_socket {
    hb_kept_file socket;    /* none: nobody can connect */
    hb_kept_file directory; /* that it lies in */
    uint64_t device, inode; /* of its name */
    char name[128];         /* in the directory */
} hb_control_socket;

#define HB_NO_CONTROL_SOCKET \
    ((hb_control_socket){.socket = HB_NO_KEPT_FILE, .directory = HB_NO_KEPT_FILE})

/** In the user's runtime directory, or where there is none, in `log_dir` (which may be NULL).
 * HB_ERROR_IO says why there is none. */
hb_result hb_control_listen(hb_control_socket *s, const char *log_dir);

/** Removes its name, if it is still there; changes nothing in `s`. */
void hb_control_remove_name(const hb_control_socket *s);
/** Closes it and removes its name. In a forked child, `ours` false: closes it only. */
void hb_control_close(hb_control_socket *s, bool ours);

/** The next client that may ask for something; -1: there is none now. Never waits. */
int hb_control_accept(const hb_control_socket *s);

/** Connects to the profiler of a process of whose user we are, or as root. -1 with
 * hb_last_error(). */
int hb_control_connect(int64_t pid, const char *log_dir);

#endif
