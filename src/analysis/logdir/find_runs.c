/* SPDX-License-Identifier: MIT
 *
 * Finds the runs of a log directory.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "logdir/logdir.h"
#include "read/packed_file.h"
#include "read/zip_index.h"

#define SUFFIX      ".pt.trace.json"
#define PACK_SUFFIX ".hbpack"

/* Bytes before the suffix; false when the name is not a trace's. */
static bool split_suffix(const char *name, size_t *stem)
{
    size_t n = strlen(name);
    if (n && name[n - 1] == '\n')
        n--; /* '$' of a Python pattern stands also before a last newline */
    if (n >= 3 && memcmp(name + n - 3, ".gz", 3) == 0) n -= 3;
    if (n < sizeof SUFFIX - 1 || memcmp(name + n - (sizeof SUFFIX - 1), SUFFIX, sizeof SUFFIX - 1))
        return false;
    *stem = n - (sizeof SUFFIX - 1);
    return memchr(name, '\n', *stem) == NULL;
}

/* "worker" or "worker.digits". */
static bool split_name(hb_profile *p, const char *name)
{
    size_t stem, digits = 0;
    if (!split_suffix(name, &stem)) return false;
    while (digits < stem && isdigit((unsigned char)name[stem - digits - 1]))
        digits++;
    bool has_span = digits && digits < stem && name[stem - digits - 1] == '.';
    p->worker = strndup(name, has_span ? stem - digits - 1 : stem);
    p->raw_span = has_span ? strndup(name + stem - digits, digits) : NULL;
    return true;
}

static char *join(const char *dir, const char *name)
{
    char *path;
    return asprintf(&path, "%s%s%s", dir, strcmp(dir, "/") == 0 ? "" : "/", name) < 0 ? NULL : path;
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Remembers what looks like a trace to others. */
static hb_result add_stray(hb_logdir *logdir, const char *dir, const char *name)
{
    if (!hb_path_ends(name, ".json") && !hb_path_ends(name, ".json.gz")) return HB_OK;
    char **list = realloc(logdir->strays, (logdir->num_strays + 1) * sizeof *list);
    if (list) logdir->strays = list;
    char *path = list ? join(dir, name) : NULL;
    if (!path) return hb_no_memory();
    list[logdir->num_strays++] = path;
    return HB_OK;
}

static hb_result add_profile(hb_logdir *logdir, hb_run *run, const char *dir, const char *name)
{
    hb_profile p = {0};
    if (!split_name(&p, name)) return add_stray(logdir, dir, name);
    hb_profile *list = realloc(run->profiles, (run->num_profiles + 1) * sizeof *list);
    if (list) run->profiles = list;
    p.path = join(dir, name);
    if (!list || !p.path || !p.worker) {
        hb_profile_free_names(&p);
        return hb_no_memory();
    }
    list[run->num_profiles++] = p;
    return HB_OK;
}

/* The run's name is the path from the log directory, or that directory's own name. */
static hb_result add_run(hb_logdir *logdir, const char *dir, hb_run *run)
{
    size_t n = strlen(logdir->path);
    const char *name = dir + n;
    if (!*name) name = strrchr(dir, '/');
    while (*name == '/')
        name++;
    run->name = strdup(name);
    run->dir = strdup(dir);
    hb_run *list = realloc(logdir->runs, (logdir->num_runs + 1) * sizeof *list);
    if (list) logdir->runs = list;
    if (!list || !run->name || !run->dir) return hb_no_memory();
    list[logdir->num_runs++] = *run;
    *run = (hb_run){0};
    return HB_OK;
}

/* A directory that is being scanned, and the one that it is in. */
typedef struct level {
    const struct level *above;
    dev_t device;
    ino_t inode;
} level;

static bool is_loop(const level *l)
{
    for (const level *a = l->above; a; a = a->above)
        if (a->device == l->device && a->inode == l->inode) return true;
    return false;
}

/* ---- packs ---- */

/* The run of a directory that a pack has files of; made if it is not there. */
static hb_result get_run(hb_logdir *logdir, const char *dir, hb_run **run)
{
    hb_run made = {0};
    for (size_t i = logdir->num_runs; i-- > 0;) {
        *run = &logdir->runs[i];
        if (strcmp((*run)->dir, dir) == 0) return HB_OK;
    }
    hb_result result = add_run(logdir, dir, &made);
    hb_run_free(&made);
    *run = logdir->num_runs ? &logdir->runs[logdir->num_runs - 1] : NULL;
    return result;
}

/* `name` is below `dir`, where the pack's files count as being, and in the pack. */
static hb_result add_packed(hb_logdir *logdir, const char *dir, const char *pack, const char *name)
{
    size_t stem;
    hb_run *run = NULL;
    const char *slash = strrchr(name, '/'), *file = slash ? slash + 1 : name;
    char *below = slash ? strndup(name, (size_t)(slash - name)) : NULL;
    char *run_dir = below ? join(dir, below) : strdup(dir);
    char *file_dir = below ? join(pack, below) : strdup(pack);
    hb_result result = run_dir && file_dir ? HB_OK : hb_no_memory();
    if (result == HB_OK && !split_suffix(file, &stem))
        result = add_stray(logdir, file_dir, file);
    else if (result == HB_OK && (result = get_run(logdir, run_dir, &run)) == HB_OK)
        result = add_profile(logdir, run, file_dir, file);
    free(below);
    free(run_dir);
    free(file_dir);
    return result;
}

/* Of a name in the pack what is behind the directory `within`; NULL: it is not there. */
static const char *name_within(const char *name, const char *within)
{
    size_t n = strlen(within);
    if (n == 0) return name;
    return strncmp(name, within, n) == 0 && name[n] == '/' ? name + n + 1 : NULL;
}

/* The files of a pack, or of its directory `within`, as if they stood in `dir`. */
static hb_result scan_pack(hb_logdir *logdir, const char *dir, const char *pack, const char *within)
{
    hb_zip_index index;
    HB_TRY(hb_zip_index_open(&index, pack));
    char *inside = *within ? join(pack, within) : strdup(pack);
    hb_result result = inside ? HB_OK : hb_no_memory();
    for (size_t i = 0; result == HB_OK && i < index.count; i++) {
        const char *name = name_within(index.members[i].name, within);
        if (name) result = add_packed(logdir, dir, inside, name);
    }
    free(inside);
    hb_zip_index_close(&index);
    return result;
}

/* A pack that is given as the log directory: the pack's path, from malloc, and the directory in it
 * that is meant. NULL: it is none. */
static char *split_pack(const char *path, const char **within)
{
    size_t size = hb_pack_part(path);
    char *pack = size ? strndup(path, size) : strdup(path);
    int fd = pack ? hb_open_regular(pack) : -1;
    bool is_pack = fd >= 0 && hb_is_zip(fd);
    if (fd >= 0) close(fd);
    *within = size ? path + size + strspn(path + size, "/") : "";
    if (is_pack) return pack;
    free(pack);
    return NULL;
}

static bool has_directory(const char *pack, const char *within)
{
    hb_zip_index index;
    bool there = *within == 0;
    if (there || hb_zip_index_open(&index, pack) != HB_OK) return there;
    for (size_t i = 0; !there && i < index.count; i++)
        there = name_within(index.members[i].name, within) != NULL;
    hb_zip_index_close(&index);
    return there;
}

bool hb_is_logdir(const char *path)
{
    const char *within;
    if (!path) return false;
    if (is_directory(path)) return true;
    char *pack = split_pack(path, &within);
    bool is = pack && has_directory(pack, within);
    free(pack);
    return is;
}

/* ---- directories ---- */

/* What stands in one directory: its run and the names of its packs. */
typedef struct found {
    hb_run run;
    HB_VEC(char *) packs;
} found;

static hb_result add_file(hb_logdir *logdir, found *f, const char *dir, char *path,
                          const char *name)
{
    if (!hb_path_ends(name, PACK_SUFFIX)) {
        free(path);
        return add_profile(logdir, &f->run, dir, name);
    }
    char **added = HB_APPEND(&f->packs);
    if (!added) {
        free(path);
        return hb_no_memory();
    }
    *added = path;
    return HB_OK;
}

static void free_found(found *f)
{
    hb_run_free(&f->run);
    for (size_t i = 0; i < f->packs.count; i++)
        free(f->packs.items[i]);
    free(f->packs.items);
}

static hb_result scan(hb_logdir *logdir, const char *dir, const level *above);

static hb_result scan_entry(hb_logdir *logdir, found *f, const char *dir, const char *name,
                            const level *here)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return HB_OK;
    char *path = join(dir, name);
    if (!path) return hb_no_memory();
    if (!is_directory(path)) return add_file(logdir, f, dir, path, name);
    hb_result result = scan(logdir, path, here);
    free(path);
    return result;
}

/* Packs come last, as their files may be of the directory's own run. */
static hb_result add_found(hb_logdir *logdir, const char *dir, found *f)
{
    if (f->run.num_profiles) HB_TRY(add_run(logdir, dir, &f->run));
    for (size_t i = 0; i < f->packs.count; i++)
        HB_TRY(scan_pack(logdir, dir, f->packs.items[i], ""));
    return HB_OK;
}

/* Follows symbolic links, as the plugin does, but not to where it came from: two such links make
 * 2^40 directories. */
static hb_result scan(hb_logdir *logdir, const char *dir, const level *above)
{
    found f = {0};
    hb_result result = HB_OK;
    struct stat st;
    DIR *d = opendir(dir);
    if (!d) return HB_OK; /* not there, or not readable: nothing is in it */
    level here = {above, 0, 0};
    if (fstat(dirfd(d), &st) == 0) here.device = st.st_dev, here.inode = st.st_ino;
    if (is_loop(&here)) {
        closedir(d);
        return HB_OK;
    }
    for (struct dirent *e; result == HB_OK && (e = readdir(d)) != NULL;)
        result = scan_entry(logdir, &f, dir, e->d_name, &here);
    closedir(d);
    if (result == HB_OK) result = add_found(logdir, dir, &f);
    free_found(&f);
    return result;
}

/* ---- spans ---- */

static int by_span(const void *x, const void *y)
{
    const hb_profile *p = x, *q = y;
    int order = strcmp(p->worker, q->worker);
    if (order) return order;
    if (!p->raw_span || !q->raw_span) return (p->raw_span != NULL) - (q->raw_span != NULL);
    return strcmp(p->raw_span, q->raw_span);
}

/* A span is the position of its digits among the worker's, sorted as text; of equal ones all have
 * the last position. */
static hb_result number_spans(hb_run *run)
{
    qsort(run->profiles, run->num_profiles, sizeof *run->profiles, by_span);
    for (size_t i = run->num_profiles, next = 0; i-- > 0;) {
        hb_profile *p = &run->profiles[i];
        size_t before = 0;
        for (size_t k = 0; k < i; k++)
            before += run->profiles[k].raw_span && strcmp(run->profiles[k].worker, p->worker) == 0;
        hb_profile *after = i + 1 < run->num_profiles ? p + 1 : NULL;
        bool same = after && p->raw_span && after->raw_span &&
                    strcmp(p->worker, after->worker) == 0 &&
                    strcmp(p->raw_span, after->raw_span) == 0;
        if (!same) next = before + 1;
        if (!p->raw_span)
            p->span = strdup("default");
        else if (asprintf(&p->span, "%zu", next) < 0)
            p->span = NULL;
        if (!p->span) return hb_no_memory();
    }
    return HB_OK;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const hb_run *)x)->name, ((const hb_run *)y)->name);
}

/* Absolute, without "." and "..", links left alone. */
static char *absolute(const char *path)
{
    char cwd[PATH_MAX] = "", *whole, *out;
    if (*path != '/' && !getcwd(cwd, sizeof cwd)) return NULL;
    if (asprintf(&whole, "%s/%s", *path == '/' ? "" : cwd, path) < 0) return NULL;
    out = malloc(strlen(whole) + 2);
    size_t n = 0;
    char *save, *part = out ? strtok_r(whole, "/", &save) : NULL;
    for (; part; part = strtok_r(NULL, "/", &save)) {
        if (strcmp(part, ".") == 0) continue;
        if (strcmp(part, "..") == 0) {
            while (n && out[--n] != '/')
                continue;
            continue;
        }
        n += (size_t)sprintf(out + n, "/%s", part);
    }
    if (out && n == 0) out[n++] = '/';
    if (out) out[n] = 0;
    free(whole);
    return out;
}

hb_result hb_logdir_scan(hb_logdir *logdir)
{
    char *path = absolute(logdir->path);
    if (!path) return hb_no_memory();
    free(logdir->path);
    logdir->path = path;
    const char *within;
    char *pack = split_pack(path, &within);
    hb_result result = pack ? scan_pack(logdir, path, pack, within) : scan(logdir, path, NULL);
    free(pack);
    HB_TRY(result);
    if (logdir->num_runs) qsort(logdir->runs, logdir->num_runs, sizeof *logdir->runs, by_name);
    for (size_t i = 0; i < logdir->num_runs; i++)
        HB_TRY(number_spans(&logdir->runs[i]));
    return HB_OK;
}
