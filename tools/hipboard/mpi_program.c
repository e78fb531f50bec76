/* SPDX-License-Identifier: MIT */
#include "mpi_program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the loader's word ---- */

/* The loader that the file names, which has been read into `interpreter`. */
static bool read_interpreter(const char *path, char interpreter[PATH_MAX])
{
    Elf64_Ehdr h;
    Elf64_Phdr p;
    bool found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (pread(fd, &h, sizeof h, 0) == sizeof h && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 &&
        h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_phentsize == sizeof p)
        for (int i = 0; i < h.e_phnum && !found; i++) {
            off_t at = (off_t)(h.e_phoff + (size_t)i * sizeof p);
            if (pread(fd, &p, sizeof p, at) != sizeof p) break;
            if (p.p_type != PT_INTERP || p.p_filesz == 0 || p.p_filesz >= PATH_MAX) continue;
            found = pread(fd, interpreter, p.p_filesz, (off_t)p.p_offset) == (ssize_t)p.p_filesz;
            interpreter[p.p_filesz] = '\0';
        }
    close(fd);
    return found;
}

static bool names_mpi(const char *line)
{
    static const char *const libraries[] = {"libmpi.so.", "libmpich.so.", "libmpi_abi",
                                            "libmpi_cray", "libmpi_usempi"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strstr(line, libraries[i])) return true;
    return false;
}

/* As ldd does, but that the program is never run: the loader lists what it would load. */
static FILE *open_list(const char *loader, const char *path, pid_t *child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
    *child = fork();
    if (*child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0) dup2(null, STDERR_FILENO);
        unsetenv("LD_PRELOAD");
        execl(loader, loader, "--list", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *list = *child > 0 ? fdopen(ends[0], "r") : NULL;
    if (!list) close(ends[0]);
    return list;
}

static bool needs_mpi(const char *path)
{
    char loader[PATH_MAX], line[PATH_MAX * 2];
    pid_t child = -1;
    bool found = false;
    if (!read_interpreter(path, loader)) return false;
    FILE *list = open_list(loader, path, &child);
    while (list && fgets(line, sizeof line, list))
        found = found || names_mpi(line);
    if (list) fclose(list);
    if (child > 0) waitpid(child, NULL, 0);
    return found;
}

/* ---- interpreters ---- */

static bool may_load_mpi(const char *path)
{
    static const char *const names[] = {"python", "sh",    "bash", "dash",    "env",     "numactl",
                                        "perl",   "julia", "lua",  "Rscript", "taskset", "time"};
    char first[2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool script = fd >= 0 && read(fd, first, 2) == 2 && first[0] == '#' && first[1] == '!';
    if (fd >= 0) close(fd);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strcspn(name, "0123456789.");
    for (size_t i = 0; i < sizeof names / sizeof *names && !script; i++)
        script = strlen(names[i]) == n && strncmp(name, names[i], n) == 0;
    return script;
}

/* ---- what is asked ---- */

void find_program(const char *name, char path[PATH_MAX])
{
    const char *all = getenv("PATH");
    snprintf(path, PATH_MAX, "%s", name);
    if (strchr(name, '/') || !all) return;
    for (const char *dir = all; *dir;) {
        size_t n = strcspn(dir, ":");
        int len = snprintf(path, PATH_MAX, "%.*s/%s", (int)n, dir, name);
        if (len < PATH_MAX && access(path, X_OK) == 0) return;
        dir += n + (dir[n] == ':');
    }
    snprintf(path, PATH_MAX, "%s", name);
}

bool wants_mpi(const char *comm, const char *program, bool is_rank)
{
    char path[PATH_MAX];
    if (strcmp(comm, "auto") != 0) return strcmp(comm, "mpi") == 0;
    find_program(program, path);
    return needs_mpi(path) || (is_rank && may_load_mpi(path));
}
