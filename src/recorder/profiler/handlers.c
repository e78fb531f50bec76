/* SPDX-License-Identifier: MIT
 *
 * tensorboard_trace_handler, with names and directories as torch's; and two handlers as one.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/guard.h"
#include "base/launcher.h"
#include "profiler/control.h"

typedef struct tensorboard_handler {
    hb_log_dir *dir; /* NULL: no memory */
    char *worker;
    unsigned flags;
} tensorboard_handler;

typedef struct chained_handlers {
    hb_trace_handler first, second;
} chained_handlers;

static const tensorboard_handler *ours(const hb_trace_handler *handler);
static const chained_handlers *chain_of(const hb_trace_handler *handler);

static bool is_blank(const char *text)
{
    return !text || !*text;
}

/* From malloc. */
static char *worker_or_default(const char *worker)
{
    char name[320];
    if (!is_blank(worker)) return strdup(worker);
    hb_launcher_worker(name, sizeof name);
    return strdup(name);
}

static hb_result check(const char *dir, const char *worker)
{
    if (is_blank(dir))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "tensorboard_trace_handler: the directory is NULL or empty");
    if (worker && strchr(worker, '/'))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "tensorboard_trace_handler: worker name \"%s\" has a '/': put "
                       "directories into dir",
                       worker);
    if (worker && strlen(worker) > 200)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "tensorboard_trace_handler: worker name of %zu bytes: 200 are allowed",
                       strlen(worker));
    return HB_OK;
}

/* Of one process no two are alike, even if the clock stands still or goes backwards. */
static int64_t unique_time(void)
{
    static _Atomic int64_t last; /* orders nothing */
    int64_t before = atomic_load_explicit(&last, memory_order_relaxed), now;
    do {
        now = hb_clock_ns(CLOCK_REALTIME);
        now = HB_MAX(now, before + 1);
    } while (!atomic_compare_exchange_weak_explicit(&last, &before, now, memory_order_relaxed,
                                                    memory_order_relaxed));
    return now;
}

/* From malloc; NULL without memory. */
static char *trace_path(const char *dir, const char *worker, unsigned flags)
{
    char *path;
    int n = asprintf(&path, "%s/%s.%lld.pt.trace.json%s", dir, worker, (long long)unique_time(),
                     flags & HB_GZIP ? ".gz" : "");
    return n < 0 ? NULL : path;
}

/* A request may name a file. */
static hb_result find_place(const hb_profiler *prof, const tensorboard_handler *h,
                            hb_trace_place *place)
{
    char *path = hb_demand_path(prof);
    *place = (hb_trace_place){.dir = path ? NULL : hb_log_dir_share(h->dir),
                              .path = path ? path : trace_path(h->dir->path, h->worker, h->flags),
                              .flags = h->flags};
    if (place->path) return HB_OK;
    hb_log_dir_drop(place->dir);
    return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a file name");
}

hb_result hb_handler_place(const hb_profiler *prof, hb_trace_place *place)
{
    return find_place(prof, ours(&prof->options.on_trace_ready), place);
}

static bool are_one_directory(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static hb_result tensorboard_ready(hb_profiler *prof, void *context)
{
    const tensorboard_handler *h = context, *own = ours(&prof->options.on_trace_ready);
    hb_trace_place place;
    /* The cycle of a profiler that this one yielded to: its numbers go to its own directory, and so
     * has its trace, where that is the same one. */
    bool is_others = own && own != h && chain_of(&prof->options.on_trace_ready) == NULL;
    if (is_others && are_one_directory(own->dir->path, h->dir->path)) return HB_OK;
    HB_TRY(find_place(prof, h, &place));
    if (own != h) place.flags |= HB_NO_EVENT_FILE;
    return hb_worker_submit(prof, prof->last_cycle, &place);
}

static void tensorboard_destroy(void *context)
{
    tensorboard_handler *h = context;
    if (!h) return; /* there was no memory for it */
    hb_log_dir_drop(h->dir);
    free(h->worker);
    free(h);
}

hb_trace_handler hb_tensorboard_trace_handler(const char *dir, const char *worker_name,
                                              unsigned flags)
{
    tensorboard_handler *h = calloc(1, sizeof *h);
    if (h) {
        h->dir = hb_log_dir_new(dir ? dir : "");
        h->worker = worker_or_default(worker_name);
        h->flags = flags;
    }
    return (hb_trace_handler){tensorboard_ready, h, tensorboard_destroy};
}

hb_result hb_handler_call(const hb_trace_handler *handler, hb_profiler *prof)
{
    hb_callback callback;
    if (!handler->fn) return HB_OK;
    hb_callback_begin(&callback);
    hb_result result = handler->fn(prof, handler->context);
    hb_callback_end(&callback);
    return result;
}

static hb_result chain_ready(hb_profiler *prof, void *context)
{
    const chained_handlers *chain = context;
    hb_result first = hb_handler_call(&chain->first, prof);
    hb_result second = hb_handler_call(&chain->second, prof);
    return first != HB_OK ? first : second;
}

void hb_handler_destroy(const hb_trace_handler *handler)
{
    if (handler->destroy) handler->destroy(handler->context);
}

static void chain_destroy(void *context)
{
    chained_handlers *chain = context;
    if (!chain) return;
    hb_handler_destroy(&chain->first);
    hb_handler_destroy(&chain->second);
    free(chain);
}

hb_trace_handler hb_trace_handler_chain(hb_trace_handler first, hb_trace_handler second)
{
    chained_handlers *chain = malloc(sizeof *chain);
    if (chain) {
        *chain = (chained_handlers){first, second};
    } else {
        hb_handler_destroy(&first);
        hb_handler_destroy(&second);
    }
    return (hb_trace_handler){chain_ready, chain, chain_destroy};
}

static const chained_handlers *chain_of(const hb_trace_handler *handler)
{
    return handler->fn == chain_ready ? handler->context : NULL;
}

/* The first tensorboard handler among those that `handler` consists of. */
static const tensorboard_handler *ours(const hb_trace_handler *handler)
{
    const chained_handlers *chain = chain_of(handler);
    if (!chain) return handler->fn == tensorboard_ready ? handler->context : NULL;
    const tensorboard_handler *first = ours(&chain->first);
    return first ? first : ours(&chain->second);
}

bool hb_handler_is_ours(const hb_trace_handler *handler)
{
    return (handler->fn == tensorboard_ready && handler->destroy == tensorboard_destroy) ||
           (handler->fn == chain_ready && handler->destroy == chain_destroy);
}

bool hb_handler_is_own(const hb_trace_handler *handler)
{
    const chained_handlers *chain = chain_of(handler);
    if (chain) return hb_handler_is_own(&chain->first) && hb_handler_is_own(&chain->second);
    return !handler->fn || handler->fn == tensorboard_ready;
}

hb_result hb_handler_check(const hb_trace_handler *handler)
{
    const chained_handlers *chain = chain_of(handler);
    const tensorboard_handler *h = handler->context;
    if (chain) {
        HB_TRY(hb_handler_check(&chain->first));
        return hb_handler_check(&chain->second);
    }
    if (handler->fn != tensorboard_ready && handler->fn != chain_ready) return HB_OK;
    if (!h || !h->dir || !h->worker)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the trace handler");
    if (h->flags & ~(unsigned)(HB_GZIP | HB_DIALECT_KINETO | HB_NO_EVENT_FILE | HB_SKIP_EMPTY |
                               HB_GZIP_BY_ZLIB | HB_PFTRACE))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "tensorboard_trace_handler: flags 0x%x: HB_GZIP, HB_DIALECT_KINETO, "
                       "HB_NO_EVENT_FILE, HB_SKIP_EMPTY, HB_GZIP_BY_ZLIB and HB_PFTRACE are known",
                       h->flags);
    return check(h->dir->path, h->worker);
}

/* For each tensorboard handler in it; the first failure. */
static hb_result each_dir(const hb_trace_handler *handler, hb_result (*fn)(hb_log_dir *dir))
{
    const chained_handlers *chain = chain_of(handler);
    if (!chain)
        return handler->fn == tensorboard_ready ? fn(((tensorboard_handler *)handler->context)->dir)
                                                : HB_OK;
    hb_result first = each_dir(&chain->first, fn);
    hb_result second = first == HB_OK ? each_dir(&chain->second, fn) : HB_OK;
    return first != HB_OK ? first : second;
}

hb_result hb_handler_fix_dirs(const hb_trace_handler *handler)
{
    return each_dir(handler, hb_log_dir_fix);
}

hb_result hb_handler_open_dirs(const hb_trace_handler *handler)
{
    return each_dir(handler, hb_log_dir_open);
}

const char *hb_handler_dir(const hb_trace_handler *handler)
{
    const tensorboard_handler *h = ours(handler);
    return h ? h->dir->path : NULL;
}

hb_kept_file hb_handler_keep_dir(const hb_trace_handler *handler)
{
    const tensorboard_handler *h = ours(handler);
    return h ? hb_log_dir_keep(h->dir) : HB_NO_KEPT_FILE;
}

const char *hb_handler_dir_now(const hb_trace_handler *handler, char buf[HB_LOG_DIR_BUF])
{
    const tensorboard_handler *h = ours(handler);
    return h ? hb_log_dir_path(h->dir, buf) : NULL;
}

bool hb_handler_logs_events(const hb_trace_handler *handler)
{
    const tensorboard_handler *h = ours(handler);
    return h && !(h->flags & HB_NO_EVENT_FILE);
}

const char *hb_handler_worker(const hb_trace_handler *handler)
{
    const tensorboard_handler *h = ours(handler);
    return h ? h->worker : NULL;
}

hb_result hb_export_tensorboard(hb_profiler *prof, const char *dir, const char *worker_name,
                                unsigned flags)
{
    HB_TRY(check(dir, worker_name));
    char *worker = worker_or_default(worker_name);
    char *path = worker ? trace_path(dir, worker, flags) : NULL;
    hb_result result = path ? hb_profiler_check_readable(prof)
                            : hb_fail(HB_ERROR_NO_MEMORY, "no memory for a file name");
    if (result == HB_OK)
        result = hb_cycle_write(prof, prof->last_cycle, path, flags, HB_NEW_FILE, NULL, NULL);
    free(worker);
    free(path);
    return result;
}
