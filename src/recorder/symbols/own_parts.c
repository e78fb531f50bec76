/* SPDX-License-Identifier: MIT */
#include "symbols/own_parts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "installed_places.h"
#include "symbols/loaded_code.h"

/* What a part holds, and behind it its version, up to a NUL or the end of a line. */
static const char mark[] = "hipboard-part ";

/* Folders, from the library's: as installed, and of libraries of their own; as built. Then where it
 * was to be installed, for programs that are linked to the static library. */
static const char *const folders[] = {"/hipboard",
                                      "",
                                      "/../../tools/symbolizer",
                                      "/../../tools/hipboard",
                                      "/../share/hipboard",
                                      "/../../share/hipboard"};
static const char *const installed[] = {PARTS_DIR, SHARE_DIR};

static bool is_trusted(uid_t owner, uid_t installer)
{
    return owner == 0 || owner == geteuid() || owner == installer;
}

hb_result hb_part_check(const char *path, uid_t installer)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return hb_fail(HB_ERROR_NOT_FOUND, "%s is no file", path);
    if (!is_trusted(st.st_uid, installer))
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "%s belongs to user %u, who is not root and did not install libhipboard: "
                       "install all of it as one user",
                       path, (unsigned)st.st_uid);
    if (st.st_mode & S_IWOTH)
        return hb_fail(HB_ERROR_UNSUPPORTED,
                       "%s may be written to by everybody (mode %04o): chmod o-w it, or install "
                       "elsewhere",
                       path, (unsigned)st.st_mode & 07777);
    if (access(path, R_OK) != 0) return hb_fail(HB_ERROR_UNSUPPORTED, "%s may not be read", path);
    return HB_OK;
}

/* Of the file that this code is in: its directory and owner. The loader keeps a path as it found
 * it, from the directory that the program was in then, and of a program what it was called by. */
static bool own_place(char dir[PATH_MAX], uid_t *owner)
{
    Dl_info info;
    struct stat st;
    char mapped[PATH_MAX];
    const void *code = (void *)(uintptr_t)&hb_part_check;
    if (!dladdr(code, &info) || !info.dli_fname) return false;
    bool absolute = *info.dli_fname == '/';
    if (!absolute && !hb_mapped_path(code, mapped)) return false;
    if (!realpath(absolute ? info.dli_fname : mapped, dir) || stat(dir, &st) != 0) return false;
    *strrchr(dir, '/') = '\0';
    *owner = st.st_uid;
    return true;
}

static void read_version(const char *at, const char *end, char version[32])
{
    size_t n = 0;
    while (at < end && *at && *at != '\n' && n < 31)
        version[n++] = *at++;
    version[n] = '\0';
}

/* "": the file does not say. */
static void version_of(const char *path, char version[32])
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *text = MAP_FAILED;
    *version = '\0';
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
        text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0) close(fd);
    if (text == MAP_FAILED) return;
    const char *end = (const char *)text + st.st_size;
    const char *at = memmem(text, (size_t)st.st_size, mark, sizeof mark - 1);
    if (at) read_version(at + sizeof mark - 1, end, version);
    munmap(text, (size_t)st.st_size);
}

static hb_result check_version(const char *path)
{
    char version[32];
    version_of(path, version);
    if (strcmp(version, hb_version()) == 0) return HB_OK;
    return hb_fail(HB_ERROR_UNSUPPORTED,
                   "%s is a part of hipboard %s, and this is libhipboard %s: install all of one "
                   "release",
                   path, *version ? version : "of another release", hb_version());
}

/* Where it may be, place by place. False: there is no room for this path. */
static bool name_place(size_t i, const char *dir, const char *part, char *path, size_t size)
{
    size_t beside = HB_ARRAY_LEN(folders);
    int n = i < beside ? snprintf(path, size, "%s%s/%s", dir, folders[i], part)
                       : snprintf(path, size, "%s/%s", installed[i - beside], part);
    return n > 0 && (size_t)n < size;
}

hb_result hb_part_path(const char *part, char *path, size_t size)
{
    enum { PLACES = HB_ARRAY_LEN(folders) + HB_ARRAY_LEN(installed) };
    char dir[PATH_MAX];
    uid_t installer = 0;
    if (!part || !path || !*part || strchr(part, '/'))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no name of a part, or no place for its path");
    bool known = own_place(dir, &installer);
    size_t refused = PLACES;
    for (size_t i = known ? 0 : HB_ARRAY_LEN(folders); i < PLACES; i++) {
        if (!name_place(i, dir, part, path, size)) continue;
        hb_result result = hb_part_check(path, installer);
        if (result == HB_OK) return check_version(path);
        if (result != HB_ERROR_NOT_FOUND && refused == PLACES) refused = i;
    }
    if (refused < PLACES && name_place(refused, dir, part, path, size)) {
        HB_TRY(hb_part_check(path, installer)); /* which tells why, again */
        return check_version(path);
    }
    return hb_fail(HB_ERROR_NOT_FOUND,
                   "%s is neither in %s/hipboard nor in " PARTS_DIR " or " SHARE_DIR, part,
                   known ? dir : "the library's folder");
}
