/* SPDX-License-Identifier: MIT
 *
 * Which traces there are, and which of them are still what they were.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/utf8.h"
#include "base/vector.h"
#include "page/page_traces.h"

enum { LOOK_EVERY_MS = 1000 };

/* What is found, until it is the page's. */
typedef struct finding {
    hb_page *page;
    hb_page_trace **items;
    uint32_t count, capacity;
    hb_result result;
} finding;

/* ---- names ---- */

/* Names of files may be any bytes; addresses and JSON are UTF-8. */
static char *as_utf8(char *text)
{
    char *valid = text ? malloc(3 * strlen(text) + 1) : NULL;
    if (valid) hb_utf8_replace(valid, text, strlen(text));
    free(text);
    return valid;
}

/* The parts that there are. */
static char *make_id(const hb_page_trace *t)
{
    char *id = NULL;
    const char *slash = *t->run && *t->worker ? "/" : "", *dot = *t->span ? "/" : "";
    if (asprintf(&id, "%s%s%s%s%s", t->run, slash, t->worker, dot, t->span) < 0) return NULL;
    return as_utf8(id);
}

static int by_id(const void *x, const void *y)
{
    const hb_page_trace *a = *(hb_page_trace *const *)x, *b = *(hb_page_trace *const *)y;
    int order = strcmp(a->id, b->id);
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Those of one name, which are sorted: all but the first get a number. */
static hb_result number(hb_page_trace **same, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        char *id = NULL;
        if (asprintf(&id, "%s#%zu", same[0]->id, i + 1) < 0) return hb_no_memory();
        free(same[i]->id);
        same[i]->id = id;
    }
    return HB_OK;
}

/* No two have one; a number may make two names one again. */
static hb_result tell_apart(finding *f)
{
    hb_page_trace **sorted = malloc((f->count + 1) * sizeof *sorted);
    hb_result result = sorted ? HB_OK : hb_no_memory();
    for (bool again = true; result == HB_OK && again;) {
        again = false;
        if (f->count) memcpy(sorted, f->items, f->count * sizeof *sorted);
        qsort(sorted, f->count, sizeof *sorted, by_id);
        for (size_t i = 0, n; result == HB_OK && i < f->count; i += n) {
            for (n = 1; i + n < f->count && strcmp(sorted[i]->id, sorted[i + n]->id) == 0;)
                n++;
            if (n == 1) continue;
            result = number(&sorted[i], n);
            again = true;
        }
    }
    free(sorted);
    return result;
}

/* ---- traces ---- */

void hb_page_free_trace(hb_page_trace *t)
{
    hb_page_unread(t);
    pthread_mutex_destroy(&t->lock);
    free(t->id);
    free(t->run);
    free(t->worker);
    free(t->span);
    free(t->path);
    free(t->error);
    free(t);
}

/* Of a path within a pack: the pack's. Zero: there is no such file. */
static hb_file_stamp stamp_of(const char *path)
{
    struct stat st;
    char *shorter = NULL;
    int error = stat(path, &st) == 0 ? 0 : errno;
    while (error == ENOTDIR) {
        if (!shorter) shorter = strdup(path);
        char *slash = shorter ? strrchr(shorter, '/') : NULL;
        if (!slash) break;
        *slash = 0;
        error = stat(shorter, &st) == 0 ? 0 : errno;
    }
    free(shorter);
    if (error) return (hb_file_stamp){0};
    return (hb_file_stamp){st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (uint64_t)st.st_size, st.st_ino};
}

/* Of one path and name: whether nothing has changed. */
static bool is_same(const hb_page_trace *a, const hb_page_trace *b)
{
    const hb_file_stamp *x = &a->stamp, *y = &b->stamp;
    return strcmp(a->span, b->span) == 0 && x->seconds == y->seconds && x->ns == y->ns &&
           x->size == y->size && x->inode == y->inode;
}

static hb_page_trace *new_trace(hb_page *page, const hb_logdir_file *file)
{
    hb_page_trace *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->page = page;
    t->run = strdup(file->run);
    t->worker = strdup(file->worker);
    t->span = strdup(file->span);
    t->path = strdup(file->path);
    t->stamp = stamp_of(file->path);
    hb_page_lock_init(&t->lock);
    if (t->run && t->worker && t->span && t->path) t->id = make_id(t);
    if (t->id) return t;
    hb_page_free_trace(t);
    return NULL;
}

static bool add(void *context, const hb_logdir_file *file)
{
    finding *f = context;
    hb_page_trace *t = new_trace(f->page, file), **added = t ? HB_APPEND(f) : NULL;
    if (!added) {
        if (t) hb_page_free_trace(t);
        f->result = hb_no_memory();
        return false;
    }
    t->place = f->count - 1;
    *added = t;
    return true;
}

/* ---- paths ---- */

static hb_result add_logdir(finding *f, const char *path)
{
    hb_logdir *logdir;
    size_t before = f->count;
    HB_TRY(hb_logdir_open(path, NULL, &logdir));
    hb_logdir_files(logdir, add, f);
    hb_logdir_close(logdir);
    if (f->result == HB_OK && f->count == before && !f->page->live)
        return hb_fail(HB_ERROR_NOT_FOUND,
                       "%s: no file in it or below is named *.pt.trace.json[.gz]", path);
    return f->result;
}

/* A file's name without what all traces' names end with. */
static hb_result add_file(finding *f, const char *path)
{
    static const char *const ends[] = {".gz", ".json", ".trace", ".pt"};
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash ? slash + 1 : path);
    if (!name) return hb_no_memory();
    for (size_t i = 0; i < HB_ARRAY_LEN(ends); i++) {
        size_t n = strlen(name), cut = strlen(ends[i]);
        if (n > cut && strcmp(name + n - cut, ends[i]) == 0) name[n - cut] = 0;
    }
    add(f, &(hb_logdir_file){"", name, "", path});
    free(name);
    return f->result;
}

static hb_result look(finding *f)
{
    struct stat st;
    for (size_t i = 0; i < f->page->num_paths; i++) {
        const char *path = f->page->paths[i];
        bool piped = strcmp(path, "-") == 0, logdir = !piped && hb_is_logdir(path);
        /* A path that goes on behind a file is one in a pack. */
        if (!piped && !logdir && stat(path, &st) != 0 && errno != ENOTDIR) {
            if (f->page->live && f->page->generation) continue; /* it may come again */
            return hb_fail_errno(HB_ERROR_NOT_FOUND, errno, "%s", path);
        }
        HB_TRY(logdir ? add_logdir(f, path) : add_file(f, path));
    }
    return tell_apart(f);
}

/* ---- from what was there to what is there ---- */

/* A file may have been named twice. */
static int by_path(const void *x, const void *y)
{
    const hb_page_trace *a = *(hb_page_trace *const *)x, *b = *(hb_page_trace *const *)y;
    int order = strcmp(a->path, b->path);
    return order ? order : strcmp(a->id, b->id);
}

/* Under the page's lock: of what is found, takes the old ones in place of equal new ones, which are
 * left in `old` in their place; true: there were others. */
static bool keep_old(finding *f, hb_page_trace **old, size_t count)
{
    bool changed = f->count != count;
    if (count) qsort(old, count, sizeof(hb_page_trace *), by_path);
    for (size_t i = 0; i < f->count; i++) {
        hb_page_trace *fresh = f->items[i];
        hb_page_trace **same =
            count ? bsearch(&fresh, old, count, sizeof(hb_page_trace *), by_path) : NULL;
        bool kept = same && (*same)->listed && is_same(*same, fresh);
        changed |= !kept || (*same)->place != i;
        if (!kept) continue;
        f->items[i] = *same;
        f->items[i]->place = i;
        *same = fresh;
    }
    return changed;
}

/* Those that nobody uses go; the others with their last user. */
static void drop(hb_page *page, hb_page_trace **list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&page->lock);
        list[i]->listed = false;
        bool used = list[i]->users > 0;
        pthread_mutex_unlock(&page->lock);
        if (!used) hb_page_free_trace(list[i]);
    }
}

static int64_t now_ms(clockid_t clock)
{
    return hb_clock_ns(clock) / 1000000;
}

/* A browser may have a live page open since before this process: a list of its own must not have a
 * number that one of the last process had. Lists change once a second at most, ms are enough. */
static uint64_t first_generation(const hb_page *page)
{
    return page->live ? (uint64_t)now_ms(CLOCK_REALTIME) : 1;
}

static hb_result find(hb_page *page)
{
    finding f = {.page = page};
    hb_result result = look(&f);
    if (result != HB_OK) {
        drop(page, f.items, f.count);
        free(f.items);
        return result;
    }
    pthread_mutex_lock(&page->lock);
    hb_page_trace **old = page->traces;
    size_t count = page->num_traces;
    bool changed = keep_old(&f, old, count);
    if (!page->generation)
        page->generation = first_generation(page);
    else if (changed)
        page->generation++;
    for (size_t i = 0; i < f.count; i++)
        f.items[i]->listed = true;
    page->traces = f.items;
    page->num_traces = f.count;
    pthread_mutex_unlock(&page->lock);
    drop(page, old, count);
    free(old);
    return HB_OK;
}

hb_result hb_page_find(hb_page *page)
{
    pthread_mutex_lock(&page->finding);
    hb_result result = find(page);
    page->found_at = now_ms(CLOCK_MONOTONIC);
    pthread_mutex_unlock(&page->finding);
    return result;
}

/* Who comes while another one looks does with what was there. */
hb_result hb_page_refresh(hb_page *page)
{
    hb_result result = HB_OK;
    if (!page->live || pthread_mutex_trylock(&page->finding) != 0) return HB_OK;
    if (now_ms(CLOCK_MONOTONIC) - page->found_at >= LOOK_EVERY_MS) {
        result = find(page);
        page->found_at = now_ms(CLOCK_MONOTONIC);
    }
    pthread_mutex_unlock(&page->finding);
    return result;
}

void hb_page_keep_run(hb_page *page, const char *run)
{
    size_t kept = 0;
    for (size_t i = 0; i < page->num_traces; i++) {
        hb_page_trace *t = page->traces[i];
        if (strcmp(t->run, run) != 0) {
            page->one_run = true;
            hb_page_free_trace(t);
            continue;
        }
        t->place = kept;
        page->traces[kept++] = t;
    }
    page->num_traces = kept;
}

void hb_page_forget(hb_page *page)
{
    drop(page, page->traces, page->num_traces);
    free(page->traces);
    page->traces = NULL;
    page->num_traces = 0;
}
